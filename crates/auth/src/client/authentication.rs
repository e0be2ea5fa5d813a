//! OAuth clients and how they authenticate to a token endpoint.

use gatehouse_model::Secret;
use gatehouse_model::sign_in::TokenEndpointAuthMethod;

/// Client authentication method.
#[derive(Clone, Debug)]
pub(crate) enum ClientAuth {
    /// None: a public client.
    None,
    /// `client_secret_basic`
    Basic(Secret),
    /// `client_secret_post`
    Post(Secret),
    /// `private_key_jwt`
    Key {
        /// PEM.
        key: Secret,
        /// JWS algorithm, for example `RS256`.
        algorithm: String,
    },
}

impl ClientAuth {
    /// Chooses the method for a client with this secret: the agreed one, else one that the server offers.
    /// Without a secret the client is public.
    pub(crate) fn with(
        secret: Option<Secret>,
        agreed: Option<TokenEndpointAuthMethod>,
        offered: &[String],
    ) -> Self {
        let Some(secret) = secret else { return Self::None };
        let offers = |method: &str| offered.iter().any(|offer| offer == method);
        match agreed {
            Some(TokenEndpointAuthMethod::ClientSecretBasic) => Self::Basic(secret),
            Some(TokenEndpointAuthMethod::ClientSecretPost) => Self::Post(secret),
            Some(TokenEndpointAuthMethod::None) => Self::None,
            None if offered.is_empty() || offers("client_secret_basic") => Self::Basic(secret),
            None if offers("client_secret_post") => Self::Post(secret),
            None if offers("none") => Self::None,
            None => Self::Basic(secret),
        }
    }
}

/// Origin of a client id. Only a registered one can be discarded when the server refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientSource {
    /// Entered by the user.
    Entered,
    /// The URL of a Client ID Metadata Document.
    Document,
    /// Dynamically registered by Gatehouse.
    Registered,
}

/// An OAuth client at an authorization server.
#[derive(Clone, Debug)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    pub(crate) auth: ClientAuth,
    pub(crate) source: ClientSource,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_client_authentication_method() {
        let with = |agreed, offered: &[&str]| {
            let offered: Vec<String> = offered.iter().map(|offer| (*offer).to_owned()).collect();
            ClientAuth::with(Some(Secret::new("s")), agreed, &offered)
        };
        assert!(matches!(with(None, &[]), ClientAuth::Basic(_)));
        assert!(matches!(with(None, &["client_secret_post", "client_secret_basic"]), ClientAuth::Basic(_)));
        assert!(matches!(with(None, &["none", "client_secret_post"]), ClientAuth::Post(_)));
        assert!(matches!(with(None, &["none"]), ClientAuth::None));
        assert!(matches!(
            with(Some(TokenEndpointAuthMethod::ClientSecretPost), &["client_secret_basic"]),
            ClientAuth::Post(_)
        ));
        assert!(matches!(
            ClientAuth::with(None, Some(TokenEndpointAuthMethod::ClientSecretBasic), &[]),
            ClientAuth::None
        ));
    }
}
