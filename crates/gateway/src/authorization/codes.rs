//! Authorization codes: each is valid for a minute, once, and for one client, redirect URI, PKCE challenge and resource.

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_common::constant_time;
use gatehouse_model::{ClientId, Secret, Timestamp, UserError};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::clients::token;

/// How long a code is valid.
const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// How long a code is remembered, so that its second use is noticed.
const USED_CODE_LIFETIME: Duration = Duration::from_secs(10 * 60);

const CODE_PREFIX: &str = "gatehouse_ac_";

/// What a person allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedAccess {
    /// Name that the client gives itself.
    pub(crate) name: String,
    /// Its OAuth client id.
    pub(crate) client_id: String,
    /// The client in the list that had this id. If the user has revoked it since, the code is worthless.
    pub(crate) known: Option<ClientId>,
    pub(crate) redirect_uri: String,
    pub(crate) challenge: PkceChallenge,
    /// Name of the only server that access is for.
    pub(crate) server: Option<String>,
}

/// A PKCE challenge of the method S256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PkceChallenge(String);

impl PkceChallenge {
    /// Parses a challenge; `None` if it isn't a SHA-256 in base64url.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).is_ok_and(|hash| hash.len() == 32).then(|| Self(text.to_owned()))
    }

    /// Whether the challenge was made of this verifier.
    pub(crate) fn is_met_by(&self, verifier: &str) -> bool {
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_valid = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        is_valid && constant_time::is_equal(challenge.as_bytes(), self.0.as_bytes())
    }
}

/// What a code stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TakenCode {
    /// It was used now for the first time.
    Fresh(AllowedAccess),
    /// It was used before, and these tokens came from it.
    Used { family: Option<String> },
    /// It was never issued, or has expired.
    Unknown,
}

struct RememberedCode {
    /// What it stands for; `None` once it was used.
    allowed: Option<AllowedAccess>,
    /// The tokens that came from it.
    family: Option<String>,
    issued: Timestamp,
}

/// The codes that were issued lately, by their SHA-256.
#[derive(Default)]
pub(crate) struct AuthorizationCodes(Mutex<HashMap<[u8; 32], RememberedCode>>);

impl AuthorizationCodes {
    /// Makes a code. One that its client has not used yet ends: it could bring back what the user revokes meanwhile.
    pub(crate) fn issue(&self, allowed: AllowedAccess, now: Timestamp) -> Result<Secret, UserError> {
        let code = Secret::new(format!("{CODE_PREFIX}{}", token::generate()?.reveal()));
        let mut codes = self.0.lock();
        codes.retain(|_, other| {
            let is_replaced =
                other.allowed.as_ref().is_some_and(|other| other.client_id == allowed.client_id);
            now < other.issued.plus(USED_CODE_LIFETIME) && !is_replaced
        });
        codes.insert(
            digest(code.reveal()),
            RememberedCode { allowed: Some(allowed), family: None, issued: now },
        );
        Ok(code)
    }

    /// Uses a code up.
    pub(crate) fn take(&self, code: &str, now: Timestamp) -> TakenCode {
        let mut codes = self.0.lock();
        let Some(issued) = codes.get_mut(&digest(code)) else { return TakenCode::Unknown };
        match issued.allowed.take() {
            Some(allowed) if now < issued.issued.plus(CODE_LIFETIME) => TakenCode::Fresh(allowed),
            Some(_) => TakenCode::Unknown,
            None => TakenCode::Used { family: issued.family.take() },
        }
    }

    /// Records which tokens came from a code.
    pub(crate) fn record_family(&self, code: &str, family: &str) {
        if let Some(issued) = self.0.lock().get_mut(&digest(code)) {
            issued.family = Some(family.to_owned());
        }
    }
}

fn digest(code: &str) -> [u8; 32] {
    Sha256::digest(code.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    fn allowed() -> AllowedAccess {
        AllowedAccess {
            name: "Agent".into(),
            client_id: "https://app.example/c".into(),
            known: None,
            redirect_uri: "http://127.0.0.1:1/".into(),
            challenge: PkceChallenge::parse(CHALLENGE).unwrap(),
            server: None,
        }
    }

    #[test]
    fn challenge_of_rfc_7636_is_met_by_its_verifier_alone() {
        let challenge = PkceChallenge::parse(CHALLENGE).unwrap();
        assert!(challenge.is_met_by(VERIFIER));
        for other in ["", CHALLENGE, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"] {
            assert!(!challenge.is_met_by(other), "{other}");
        }
        for bad in
            ["", "short", VERIFIER.trim_end_matches('k'), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="]
        {
            assert_eq!(PkceChallenge::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn code_is_valid_once_and_for_a_minute() {
        let codes = AuthorizationCodes::default();
        let now = Timestamp(0);
        let code = codes.issue(allowed(), now).unwrap();
        assert_eq!(codes.take("gatehouse_ac_other", now), TakenCode::Unknown);
        assert_eq!(codes.take(code.reveal(), now), TakenCode::Fresh(allowed()));
        codes.record_family(code.reveal(), "f");
        assert_eq!(codes.take(code.reveal(), now), TakenCode::Used { family: Some("f".into()) });
        assert_eq!(codes.take(code.reveal(), now), TakenCode::Used { family: None });
        let replaced = codes.issue(allowed(), now).unwrap();
        let late = codes.issue(allowed(), now).unwrap();
        assert_eq!(codes.take(replaced.reveal(), now), TakenCode::Unknown);
        assert_eq!(codes.take(late.reveal(), now.plus(CODE_LIFETIME)), TakenCode::Unknown);
    }
}
