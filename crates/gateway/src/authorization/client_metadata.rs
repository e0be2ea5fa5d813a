//! What a client says of itself, in its Client ID Metadata Document or when it registers (RFC 7591). Nothing of it is
//! verified.

use gatehouse_common::invisible_chars::one_line;
use serde::Deserialize;

use crate::authorization::oauth_error::OAuthError;
use crate::authorization::redirect_uri::ClientRedirectUri;

/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 48;

/// Maximum number of redirect URIs that are read.
const MAX_REDIRECT_URIS: usize = 32;

/// A client's metadata, as far as they matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientMetadata {
    /// Cleaned of invisible characters; empty if it gives itself none.
    pub(crate) name: String,
    /// At least one.
    pub(crate) redirect_uris: Vec<ClientRedirectUri>,
}

/// The members of the JSON object that are read.
#[derive(Deserialize)]
struct MetadataObject {
    client_id: Option<String>,
    client_name: Option<String>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
}

/// Metadata that were read, with the client id in them.
pub(crate) struct ReadMetadata {
    pub(crate) client_id: Option<String>,
    pub(crate) metadata: ClientMetadata,
}

impl ClientMetadata {
    /// Reads the JSON object. Redirect URIs that aren't on this computer are left out, since a client may list those of
    /// its other versions.
    ///
    /// # Errors
    /// With a code of RFC 7591, if the client can't be served.
    pub(crate) fn read(json: &[u8]) -> Result<ReadMetadata, OAuthError> {
        let refused = |description| OAuthError::new("invalid_client_metadata", description);
        let object: MetadataObject = serde_json::from_slice(json)
            .map_err(|_| refused("The metadata are no JSON object with members of the right types."))?;
        if object.token_endpoint_auth_method.is_some_and(|method| method != "none") {
            return Err(refused(
                "Only public clients are served: token_endpoint_auth_method must be \"none\".",
            ));
        }
        let lacks = |list: Option<Vec<String>>, value: &str| {
            list.is_some_and(|list| !list.is_empty() && !list.iter().any(|one| one == value))
        };
        if lacks(object.grant_types, "authorization_code") || lacks(object.response_types, "code") {
            return Err(refused(
                "Only the grant type authorization_code with the response type code is served.",
            ));
        }
        let uris = object.redirect_uris.iter().take(MAX_REDIRECT_URIS);
        let redirect_uris: Vec<ClientRedirectUri> =
            uris.filter_map(|uri| ClientRedirectUri::parse(uri)).collect();
        if redirect_uris.is_empty() {
            return Err(OAuthError::new(
                "invalid_redirect_uri",
                "At least one of redirect_uris must be http on 127.0.0.1, [::1] or localhost; other hosts and schemes are not served.",
            ));
        }
        let name = one_line(object.client_name.as_deref().unwrap_or_default(), MAX_NAME_CHARS);
        Ok(ReadMetadata { client_id: object.client_id, metadata: Self { name, redirect_uris } })
    }

    /// Whether a code may go there.
    pub(crate) fn allows(&self, redirect_uri: &ClientRedirectUri) -> bool {
        self.redirect_uris.iter().any(|registered| redirect_uri.is_covered_by(registered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(json: &str) -> Result<String, &'static str> {
        ClientMetadata::read(json.as_bytes()).map(|read| read.metadata.name).map_err(|error| error.code)
    }

    #[test]
    fn reads_public_clients_with_loopback_redirects() {
        let ok = r#""redirect_uris":["https://vscode.dev/redirect","http://127.0.0.1/"]"#;
        for (json, expected) in [
            (format!("{{{ok}}}"), Ok("")),
            (format!(r#"{{{ok},"client_name":" VS\u202e  Code "}}"#), Ok("VS Code")),
            (
                format!(
                    r#"{{{ok},"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}}"#
                ),
                Ok(""),
            ),
            (
                format!(r#"{{{ok},"token_endpoint_auth_method":"private_key_jwt"}}"#),
                Err("invalid_client_metadata"),
            ),
            (format!(r#"{{{ok},"grant_types":["client_credentials"]}}"#), Err("invalid_client_metadata")),
            (format!(r#"{{{ok},"response_types":["token"]}}"#), Err("invalid_client_metadata")),
            (format!(r#"{{{ok},"client_name":7}}"#), Err("invalid_client_metadata")),
            (r#"{"redirect_uris":["cursor://x/y"]}"#.to_owned(), Err("invalid_redirect_uri")),
            (r#"{"redirect_uris":["https://evil.example/"]}"#.to_owned(), Err("invalid_redirect_uri")),
            ("{}".to_owned(), Err("invalid_redirect_uri")),
            ("[]".to_owned(), Err("invalid_client_metadata")),
            ("no json".to_owned(), Err("invalid_client_metadata")),
        ] {
            assert_eq!(code(&json), expected.map(str::to_owned), "{json}");
        }
    }
}
