//! Reads id token claims, without verifying the signature. The account name is for display only; no decision
//! depends on it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_common::invisible_chars::one_line;
use gatehouse_model::{Secret, Timestamp};
use serde::Deserialize;
use serde_json::Value;

/// Maximum length of a displayed account name, in characters.
const MAX_NAME_CHARS: usize = 80;

/// The id token claims that are used.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: Option<String>,
    pub(crate) aud: Option<Value>,
    pub(crate) exp: Option<f64>,
    pub(crate) nonce: Option<String>,
    email: Option<Value>,
    preferred_username: Option<Value>,
    sub: Option<Value>,
}

impl Claims {
    /// Parses the claims of an id token without verifying them.
    pub(crate) fn decode_unverified(id_token: &Secret) -> Option<Self> {
        let body = id_token.reveal().split('.').nth(1)?;
        let body = URL_SAFE_NO_PAD.decode(body.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&body).ok()
    }

    /// The account name for display: the first of `email`, `preferred_username` and `sub` that is present.
    pub(crate) fn account(&self) -> Option<String> {
        [&self.email, &self.preferred_username, &self.sub]
            .into_iter()
            .filter_map(|claim| claim.as_ref()?.as_str())
            .map(|name| one_line(name, MAX_NAME_CHARS))
            .find(|name| !name.is_empty())
    }

    /// Whether the `aud` claim contains this client id.
    pub(crate) fn is_for(&self, client: &str) -> bool {
        match &self.aud {
            Some(Value::String(one)) => one == client,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(client)),
            _ => false,
        }
    }

    /// The `exp` claim.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        #[allow(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        self.exp.map(|seconds| Timestamp((seconds * 1000.0) as i64))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> Secret {
        Secret::new(format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string())))
    }

    #[test]
    fn account_prefers_email_and_strips_invisible_chars() {
        let account = |claims: Value| Claims::decode_unverified(&token(&claims)).unwrap().account();
        assert_eq!(account(json!({"sub": "1", "email": "a@b.example"})).as_deref(), Some("a@b.example"));
        assert_eq!(
            account(json!({"sub": "1", "email": "", "preferred_username": "ann"})).as_deref(),
            Some("ann")
        );
        assert_eq!(account(json!({"sub": "a\u{202e}b\nc"})).as_deref(), Some("ab c"));
        assert_eq!(account(json!({"sub": "x".repeat(200)})).unwrap().len(), MAX_NAME_CHARS);
        assert_eq!(account(json!({"email": 5})), None);
        assert!(Claims::decode_unverified(&Secret::new("nonsense")).is_none());
    }

    #[test]
    fn reads_audience_and_expiry() {
        let claims = Claims::decode_unverified(&token(&json!({"aud": ["x", "me"], "exp": 10}))).unwrap();
        assert!(claims.is_for("me") && !claims.is_for("you"));
        assert_eq!(claims.expires(), Some(Timestamp(10_000)));
    }
}
