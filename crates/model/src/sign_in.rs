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
    /// Who signs in.
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

    /// What is wrong with the settings, as a sentence; `None` if they are valid.
    #[must_use]
    pub fn validation_error(&self) -> Option<String> {
        let web = |name: &str, address: &str| {
            let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
            let sound = address.len() > "https://".len() && address.starts_with("https://")
                || local.iter().any(|start| {
                    address
                        .strip_prefix(start)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
                });
            (!sound).then(|| {
                format!("“{name}” must begin with https://, or be an http:// address of this machine.")
            })
        };
        let redirect = self.redirect.as_deref().and_then(redirect_error);
        let endpoints = self.endpoints.as_ref().and_then(|endpoints| {
            web("authorize", &endpoints.authorize)
                .or_else(|| web("token", &endpoints.token))
                .or_else(|| endpoints.revoke.as_deref().and_then(|revoke| web("revoke", revoke)))
        });
        let issuer = match &self.with {
            SignInMethod::Enterprise { issuer, .. } => web("issuer", issuer),
            SignInMethod::Browser | SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } => None,
        };
        let client = self.client.as_ref();
        let nameless = (client.is_some_and(|client| client.id.trim().is_empty()))
            .then(|| "The client id is empty.".to_owned());
        let alone = match self.with {
            SignInMethod::ClientSecret if client.is_none_or(|client| client.secret.is_none()) => {
                Some("To sign in as the client itself, its id and secret are needed.".to_owned())
            }
            SignInMethod::ClientKey { .. } if client.is_none() => {
                Some("To sign in as the client itself, its id is needed.".to_owned())
            }
            _ => None,
        };
        let known = (self.endpoints.is_some() && client.is_none())
            .then(|| "Where the endpoints are set, the client id is needed too.".to_owned());
        redirect.or(endpoints).or(issuer).or(nameless).or(alone).or(known)
    }
}

/// A redirect URI has to lead to this machine, and to a port that can be listened on.
fn redirect_error(address: &str) -> Option<String> {
    let rest = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"]
        .iter()
        .find_map(|start| address.strip_prefix(start));
    let port =
        rest.and_then(|rest| rest.split(['/', '?', '#']).next()).and_then(|port| port.parse::<u16>().ok());
    let sound = port.is_some_and(|port| port != 0) && !address.contains(['?', '#']);
    (!sound).then(|| "“redirect” must be like http://127.0.0.1:8976/callback.".to_owned())
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

/// Who signs in, and with what.
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

/// What came of a sign-out.
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
        assert!(
            SignInSettings { with: SignInMethod::ClientSecret, ..Default::default() }
                .validation_error()
                .is_some()
        );
    }
}
