//! OAuth sign-in to remote servers (AUTH-1 to AUTH-9): the user's settings, and the state that everyone
//! may see. No token, code, verifier or secret is ever in these types: secrets are `${secret:NAME}`.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::error::UserError;
use crate::time::Timestamp;

/// How a server is signed in to. The default finds everything out by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SignInSettings {
    /// Whether Gatehouse never signs in here; a 401 is then a failure like any other.
    pub off: bool,
    /// A client that is registered already (AUTH-2); registered or described by a document where absent.
    pub client: Option<RegisteredClient>,
    /// Scopes to ask for in the place of those that the server names.
    pub scopes: Vec<String>,
    /// The redirect URI that the registration demands: `http` on this machine, with a port. An
    /// ephemeral port of 127.0.0.1 where absent.
    pub redirect: Option<String>,
    /// Endpoints of an authorization server that cannot be discovered (AUTH-3).
    pub endpoints: Option<SignInEndpoints>,
    /// What proves who signs in.
    pub with: SignInMethod,
}

impl SignInSettings {
    /// The fields that refer to secrets, with their values: `secret` and `key`.
    pub fn secrets(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let client = self.client.as_ref().and_then(|client| client.secret.as_deref());
        let (company, key) = match &self.with {
            SignInMethod::Enterprise { secret, .. } => (secret.as_deref(), None),
            SignInMethod::ClientKey { key, .. } => (None, Some(key.as_str())),
            SignInMethod::Browser | SignInMethod::ClientSecret => (None, None),
        };
        [("secret", client), ("companySecret", company), ("key", key)]
            .into_iter()
            .filter_map(|(name, value)| Some(name).zip(value))
    }

    /// The same settings with every secret left out, whether it is a reference or a literal value.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut settings = self.clone();
        if let Some(client) = &mut settings.client {
            client.secret = None;
        }
        match &mut settings.with {
            SignInMethod::Enterprise { secret, .. } => *secret = None,
            SignInMethod::ClientKey { key, .. } => key.clear(),
            SignInMethod::Browser | SignInMethod::ClientSecret => {}
        }
        settings
    }

    /// Whether both lead to the same token endpoint of the same server, which is sent the secrets: their
    /// endpoints are equal, and so is the method with its issuer.
    #[must_use]
    pub fn has_same_token_endpoint(&self, other: &Self) -> bool {
        self.endpoints == other.endpoints && self.without_secrets().with == other.without_secrets().with
    }

    /// Everything that is wrong with the settings.
    #[must_use]
    pub fn problems(&self) -> Vec<SignInProblem> {
        use SignInProblem as P;
        let mut found = Vec::new();
        let mut check = |is_wrong: bool, problem: P| {
            if is_wrong {
                found.push(problem);
            }
        };
        check(self.redirect.as_deref().is_some_and(|address| !is_redirect(address)), P::BadRedirect);
        if let Some(endpoints) = &self.endpoints {
            check(!is_safe(&endpoints.authorize), P::BadAuthorize);
            check(!is_safe(&endpoints.token), P::BadToken);
            check(endpoints.revoke.as_deref().is_some_and(|address| !is_safe(address)), P::BadRevoke);
        }
        let client = self.client.as_ref();
        check(client.is_some_and(|client| client.id.trim().is_empty()), P::NoClientId);
        let is_client = match &self.with {
            SignInMethod::Browser => false,
            SignInMethod::ClientSecret => {
                check(client.is_none_or(|client| client.secret.is_none()), P::NoClientSecret);
                true
            }
            SignInMethod::ClientKey { key, .. } => {
                check(key.is_empty(), P::NoKey);
                true
            }
            SignInMethod::Enterprise { issuer, client, .. } => {
                check(!is_safe(issuer), P::BadIssuer);
                check(client.trim().is_empty(), P::NoCompanyClientId);
                false
            }
        };
        check(client.is_none() && is_client, P::NoClientToSignInAs);
        check(client.is_none() && !is_client && self.endpoints.is_some(), P::NoClientForEndpoints);
        found
    }

    /// The first of what is wrong with the settings, as a sentence; `None` if they are valid.
    #[must_use]
    pub fn validation_error(&self) -> Option<String> {
        self.problems().first().map(|problem| problem.sentence().to_owned())
    }
}

/// One thing that is wrong with the settings of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInProblem {
    /// The redirect URI does not lead to a port of this machine.
    BadRedirect,
    /// The authorization endpoint is neither encrypted nor on this machine.
    BadAuthorize,
    /// The token endpoint is neither encrypted nor on this machine.
    BadToken,
    /// The revocation endpoint is neither encrypted nor on this machine.
    BadRevoke,
    /// The issuer is neither encrypted nor on this machine.
    BadIssuer,
    /// The client id is empty.
    NoClientId,
    /// The client id at the identity provider is empty.
    NoCompanyClientId,
    /// The client is to sign in by itself and is not there.
    NoClientToSignInAs,
    /// The endpoints are set and the client is not.
    NoClientForEndpoints,
    /// The client is to sign in by itself and has no secret.
    NoClientSecret,
    /// The client is to sign in with a key and has none.
    NoKey,
}

impl SignInProblem {
    /// JSON pointer to the field within the settings; the field may be absent.
    #[must_use]
    pub fn pointer(self) -> &'static str {
        match self {
            Self::BadRedirect => "/redirect",
            Self::BadAuthorize => "/endpoints/authorize",
            Self::BadToken => "/endpoints/token",
            Self::BadRevoke => "/endpoints/revoke",
            Self::BadIssuer => "/with/issuer",
            Self::NoClientId | Self::NoClientToSignInAs | Self::NoClientForEndpoints => "/client/id",
            Self::NoCompanyClientId => "/with/client",
            Self::NoClientSecret => "/client/secret",
            Self::NoKey => "/with/key",
        }
    }

    /// The problem as an English sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::BadRedirect => "“redirect” must be like http://127.0.0.1:8976/callback.",
            Self::BadAuthorize => {
                "“authorize” must begin with https://, or be an http:// address of this machine."
            }
            Self::BadToken => "“token” must begin with https://, or be an http:// address of this machine.",
            Self::BadRevoke => "“revoke” must begin with https://, or be an http:// address of this machine.",
            Self::BadIssuer => "“issuer” must begin with https://, or be an http:// address of this machine.",
            Self::NoClientId => "The client id is empty.",
            Self::NoCompanyClientId => "The client id at the identity provider is empty.",
            Self::NoClientToSignInAs => "To sign in as the client itself, its id is needed.",
            Self::NoClientForEndpoints => "Where the endpoints are set, the client id is needed too.",
            Self::NoClientSecret => "To sign in as the client itself, its id and secret are needed.",
            Self::NoKey => "To sign in with a key, the private key is needed.",
        }
    }
}

/// Whether an address is encrypted or on this machine.
fn is_safe(address: &str) -> bool {
    let is_encrypted = address.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    let is_clean = !address.contains(|c: char| c.is_whitespace() || c.is_control());
    is_clean && (is_encrypted || is_local(address))
}

/// Whether an address is `http` on this machine, without a user name. A backslash is refused: some programs
/// take it for a slash, others for a part of a user name.
fn is_local(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let port = ["127.0.0.1", "localhost", "[::1]"].iter().find_map(|host| authority.strip_prefix(host));
    port.is_some_and(|port| port.is_empty() || port.strip_prefix(':').and_then(port_number).is_some())
}

/// Whether a redirect URI leads to this machine, and to a port that can be listened on.
fn is_redirect(address: &str) -> bool {
    let rest = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
        .iter()
        .find_map(|start| address.strip_prefix(start));
    let port = rest.and_then(|rest| rest.split('/').next()).and_then(port_number);
    port.is_some_and(|port| port != 0)
        && !address.contains(['?', '#'])
        && !address.contains(char::is_whitespace)
}

/// A port in digits alone: numbers that are parsed may also have a sign.
fn port_number(digits: &str) -> Option<u16> {
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A client that is registered with the authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisteredClient {
    /// `client_id`
    pub id: String,
    /// `client_secret`, as `${secret:NAME}`; absent for a public client.
    #[serde(default)]
    pub secret: Option<String>,
    /// How it proves itself at the token endpoint; found out where absent.
    #[serde(default)]
    pub method: Option<TokenEndpointAuthMethod>,
}

/// `token_endpoint_auth_method`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum TokenEndpointAuthMethod {
    /// `client_secret_basic`
    ClientSecretBasic,
    /// `client_secret_post`
    ClientSecretPost,
    /// `none`
    None,
}

/// Endpoints as the user knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignInEndpoints {
    /// Authorization endpoint.
    pub authorize: String,
    /// Token endpoint.
    pub token: String,
    /// Revocation endpoint (RFC 7009).
    #[serde(default)]
    pub revoke: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(tag = "with", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SignInMethod {
    /// The user, in the browser.
    #[default]
    Browser,
    /// The client itself with its secret (extension `client-credentials`).
    ClientSecret,
    /// The client itself with a signed assertion (RFC 7523).
    ClientKey {
        /// Private key in PEM, as `${secret:NAME}`.
        key: String,
        /// `RS256`, `ES256` and their like.
        algorithm: String,
    },
    /// The user's sign-in at the company (extension `enterprise-managed-authorization`): an id token of
    /// the identity provider is exchanged for a grant.
    Enterprise {
        /// Issuer of the identity provider.
        issuer: String,
        /// `client_id` at the identity provider.
        client: String,
        /// `client_secret` there, as `${secret:NAME}`.
        #[serde(default)]
        secret: Option<String>,
    },
}

/// The sign-in of one server as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "is", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SignInState {
    /// Nobody is signed in.
    Out {
        /// Why the last attempt came to nothing, if there was one.
        problem: Option<UserError>,
    },
    /// The browser was opened and its answer is waited for.
    Waiting {
        /// Host of the authorization server, for the user to compare.
        host: String,
        /// When the attempt ends by itself.
        until: Timestamp,
    },
    /// Signed in.
    In {
        /// Who, as far as the authorization server says so.
        account: Option<String>,
        /// Authorization server.
        issuer: String,
        /// What was granted.
        scopes: Vec<String>,
        /// When the present token expires; `None` means that it does not say.
        expires: Option<Timestamp>,
        /// Whether it is renewed without the user.
        renews: bool,
    },
}

/// A sign-in that began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignInStart {
    /// The address that the user has to visit; `None` when no browser is needed and all is done.
    pub address: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SignOutResult {
    /// Whether the authorization server took the tokens back too.
    pub revoked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_invalid_sign_in_settings() {
        let redirect = |address: &str| {
            SignInSettings { redirect: Some(address.into()), ..Default::default() }.validation_error()
        };
        for sound in ["http://127.0.0.1:8976/callback", "http://localhost:1", "http://[::1]:80/"] {
            assert_eq!(redirect(sound), None, "{sound}");
        }
        for wrong in [
            "",
            "https://127.0.0.1:80/",
            "http://127.0.0.1/cb",
            "http://127.0.0.1:0/",
            "http://a.b:80/",
            "http://127.0.0.1:80/?a=b",
            "http://127.0.0.1:80@evil.example/",
            "http://127.0.0.1:65536/",
            "http://127.0.0.1:+80/",
            "http://127.0.0.1:80/a b",
        ] {
            assert!(redirect(wrong).is_some(), "{wrong}");
        }
        let endpoints = |authorize: &str| SignInSettings {
            client: Some(RegisteredClient { id: "c".into(), secret: None, method: None }),
            endpoints: Some(SignInEndpoints {
                authorize: authorize.into(),
                token: "https://a.example/token".into(),
                revoke: None,
            }),
            ..Default::default()
        };
        assert_eq!(endpoints("https://a.example/authorize").validation_error(), None);
        assert_eq!(endpoints("http://localhost:9/authorize").validation_error(), None);
        assert!(endpoints("http://a.example/authorize").validation_error().is_some());
        assert!(endpoints("http://localhost.evil.example/").validation_error().is_some());
        let known = SignInSettings { client: None, ..endpoints("https://a.example/authorize") };
        assert!(known.validation_error().is_some());
    }

    #[test]
    fn only_encrypted_addresses_and_those_of_this_machine_are_safe() {
        for (address, safe) in [
            ("https://a.example/token", true),
            ("https://a.example:8443", true),
            ("http://localhost", true),
            ("http://localhost/token?a=b#c", true),
            ("http://localhost?a=b", true),
            ("http://localhost:9/token", true),
            ("http://127.0.0.1:9", true),
            ("http://[::1]/token", true),
            ("http://[::1]:9/token", true),
            ("https://", false),
            ("https://a.example/a b", false),
            ("https://a.example/a\u{0}b", false),
            ("http://a.example/token", false),
            ("http://localhost:x@evil.example/", false),
            ("http://localhost:9@evil.example/", false),
            ("http://localhost:@evil.example/", false),
            ("http://localhost@evil.example/", false),
            ("http://127.0.0.1:80@evil.example", false),
            ("http://[::1]@evil.example/", false),
            ("http://[::1]:1@evil.example/", false),
            ("http://localhost:9\\@evil.example/", false),
            ("http://localhost\\.evil.example/", false),
            ("http://localhost.evil.example/", false),
            ("http://127.0.0.1.evil.example/", false),
            ("http://127.0.0.10/", false),
            ("http://localhost:", false),
            ("http://localhost:+9/", false),
            ("http://localhost:65536/", false),
            ("http://localhost:%39/", false),
            ("http:localhost", false),
            ("", false),
        ] {
            assert_eq!(is_safe(address), safe, "{address}");
        }
    }

    #[test]
    fn names_every_problem_of_a_sign_in() {
        use SignInProblem as P;
        let client = |id: &str, secret: Option<&str>| {
            Some(RegisteredClient { id: id.into(), secret: secret.map(Into::into), method: None })
        };
        let with = |client, with| SignInSettings { client, with, ..Default::default() };
        let key = |key: &str| SignInMethod::ClientKey { key: key.into(), algorithm: "ES256".into() };
        let enterprise = |issuer: &str, client: &str| SignInMethod::Enterprise {
            issuer: issuer.into(),
            client: client.into(),
            secret: None,
        };
        let endpoints = SignInEndpoints {
            authorize: "http://a.example/x".into(),
            token: "https://".into(),
            revoke: Some("https://a b".into()),
        };
        for (settings, problems) in [
            (SignInSettings::default(), vec![]),
            (with(None, SignInMethod::ClientSecret), vec![P::NoClientSecret, P::NoClientToSignInAs]),
            (with(client("c", None), SignInMethod::ClientSecret), vec![P::NoClientSecret]),
            (with(client("c", Some("${secret:a}")), SignInMethod::ClientSecret), vec![]),
            (with(client(" ", None), SignInMethod::Browser), vec![P::NoClientId]),
            (with(client("c", None), key("")), vec![P::NoKey]),
            (with(None, key("${secret:key}")), vec![P::NoClientToSignInAs]),
            (with(None, enterprise("", "")), vec![P::BadIssuer, P::NoCompanyClientId]),
            (with(None, enterprise("https://i.example", "d")), vec![]),
            (
                SignInSettings { endpoints: Some(endpoints), ..Default::default() },
                vec![P::BadAuthorize, P::BadToken, P::BadRevoke, P::NoClientForEndpoints],
            ),
        ] {
            assert_eq!(settings.problems(), problems, "{settings:?}");
        }
    }
}
