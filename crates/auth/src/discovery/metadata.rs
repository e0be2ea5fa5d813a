//! Protected-resource metadata (RFC 9728) and authorization-server metadata (RFC 8414, OpenID Connect
//! Discovery). Unused fields aren't parsed, so that errors in them don't matter.

use serde::Deserialize;
use url::Url;

/// Protected-resource metadata.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    /// The resource identifier.
    pub(crate) resource: String,
    /// Issuers that the resource accepts tokens from.
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// Authorization-server metadata.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Option<Url>,
    pub(crate) registration_endpoint: Option<Url>,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) grant_types_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    pub(crate) authorization_response_iss_parameter_supported: Option<bool>,
    pub(crate) client_id_metadata_document_supported: Option<bool>,
}

impl ServerMetadata {
    /// Whether PKCE with S256 is supported.
    pub(crate) fn has_s256(&self) -> bool {
        contains_word(self.code_challenge_methods_supported.as_deref(), "S256")
    }

    /// Whether the `offline_access` scope (refresh tokens) is supported.
    pub(crate) fn has_offline_access(&self) -> bool {
        contains_word(self.scopes_supported.as_deref(), "offline_access")
    }

    /// Whether authorization responses contain `iss` (RFC 9207).
    pub(crate) fn has_iss_parameter(&self) -> bool {
        self.authorization_response_iss_parameter_supported.unwrap_or(false)
    }

    /// Whether a grant type is supported. If the metadata doesn't say, it is assumed to be.
    pub(crate) fn can_grant(&self, grant: &str) -> bool {
        self.grant_types_supported.as_deref().is_none_or(|all| all.iter().any(|one| one == grant))
    }

    /// Client authentication methods of the token endpoint. Empty if the metadata doesn't say, which means
    /// `client_secret_basic` (RFC 8414 section 2).
    pub(crate) fn methods(&self) -> Vec<String> {
        self.token_endpoint_auth_methods_supported.clone().unwrap_or_default()
    }
}

fn contains_word(list: Option<&[String]>, word: &str) -> bool {
    list.is_some_and(|list| list.iter().any(|one| one == word))
}
