//! The documents that say how to sign in: protected-resource metadata (RFC 9728) and
//! authorization-server metadata (RFC 8414, OpenID Connect Discovery). Fields that nobody here uses
//! are not read, so that nothing wrong in them matters.

use serde::Deserialize;
use url::Url;

/// What a protected resource says of itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    /// Its identifier.
    pub(crate) resource: String,
    /// Issuers that it takes tokens of.
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    /// Scopes that it knows.
    pub(crate) scopes_supported: Option<Vec<String>>,
}

/// What an authorization server says of itself.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerMetadata {
    /// Its identifier.
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
    /// Whether it takes proof keys hashed with SHA-256.
    pub(crate) fn has_s256(&self) -> bool {
        says(self.code_challenge_methods_supported.as_deref(), "S256")
    }

    /// Whether it gives tokens that renew others for it.
    pub(crate) fn has_offline_access(&self) -> bool {
        says(self.scopes_supported.as_deref(), "offline_access")
    }

    /// Whether it names itself in each answer of the browser (RFC 9207).
    pub(crate) fn names_itself(&self) -> bool {
        self.authorization_response_iss_parameter_supported.unwrap_or(false)
    }

    /// Whether a grant type may be asked for; nothing said means that it may.
    pub(crate) fn may_grant(&self, grant: &str) -> bool {
        self.grant_types_supported.as_deref().is_none_or(|all| all.iter().any(|one| one == grant))
    }

    /// The ways in which a client may prove itself; `client_secret_basic` where nothing is said.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.token_endpoint_auth_methods_supported.clone().unwrap_or_default()
    }
}

fn says(list: Option<&[String]>, word: &str) -> bool {
    list.is_some_and(|list| list.iter().any(|one| one == word))
}
