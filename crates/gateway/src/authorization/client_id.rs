//! Client ids. A client is identified by the address of its Client ID Metadata Document, or by what it registered.
//!
//! Registering stores nothing: the id itself carries the name and the redirect URIs, and they are checked again each time
//! that it is used. So nobody can fill a list, a registration never expires, and an id that somebody made by hand says
//! no more than one that was registered, which everybody may do.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{BoxFuture, UserText};
use serde_json::{Value, json};
use url::Url;

use crate::authorization::client_metadata::{ClientMetadata, ReadMetadata};
use crate::authorization::oauth_error::OAuthError;

/// What the id of a registration begins with.
const REGISTERED_PREFIX: &str = "registered.";

/// Maximum length of an id, in bytes.
const MAX_ID_BYTES: usize = 4096;

/// Maximum length of the address of a document, in bytes.
const MAX_DOCUMENT_URL_BYTES: usize = 512;

/// Fetches Client ID Metadata Documents, from the public internet only.
pub trait ClientDocuments: Send + Sync {
    /// Fetches the JSON document at an https address, without following redirects. The error says why there is none.
    fn fetch(&self, address: String) -> BoxFuture<'static, Result<Value, UserText>>;
}

/// A client id that is well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientIdentifier {
    /// The address of a document, which has to be fetched.
    Document(Url),
    /// A registration.
    Registered(ClientMetadata),
}

impl ClientIdentifier {
    pub(crate) fn parse(id: &str) -> Option<Self> {
        match id.strip_prefix(REGISTERED_PREFIX) {
            Some(content) if id.len() <= MAX_ID_BYTES => {
                let json = URL_SAFE_NO_PAD.decode(content.split_once('.')?.1).ok()?;
                ClientMetadata::read(&json).ok().map(|read| Self::Registered(read.metadata))
            }
            Some(_) => None,
            None => document_url(id).map(Self::Document),
        }
    }
}

/// An address that can be a client id: https with a path, in its normal spelling.
fn document_url(id: &str) -> Option<Url> {
    let url = Url::parse(id).ok()?;
    let is_usable = id.len() <= MAX_DOCUMENT_URL_BYTES
        && url.as_str() == id
        && url.scheme() == "https"
        && url.path() != "/"
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    is_usable.then_some(url)
}

/// Reads the document of a client. It has to name its own address as the client id.
pub(crate) fn read_document(document: &Value, address: &Url) -> Result<ClientMetadata, OAuthError> {
    let ReadMetadata { client_id, metadata } = ClientMetadata::read(document.to_string().as_bytes())?;
    if client_id.as_deref() != Some(address.as_str()) {
        return Err(OAuthError::new(
            "invalid_client_metadata",
            "The client_id in the document is not the document's own address.",
        ));
    }
    Ok(metadata)
}

/// A new registration: the response of RFC 7591.
pub(crate) fn register(body: &[u8], nonce: [u8; 8]) -> Result<Value, OAuthError> {
    let ClientMetadata { name, redirect_uris } = ClientMetadata::read(body)?.metadata;
    let mut uris: Vec<&str> = Vec::new();
    for uri in &redirect_uris {
        if !uris.contains(&uri.as_str()) {
            uris.push(uri.as_str());
        }
    }
    let content = json!({ "client_name": name, "redirect_uris": uris }).to_string();
    let id = format!("{REGISTERED_PREFIX}{}.{}", hex::encode(nonce), URL_SAFE_NO_PAD.encode(content));
    if id.len() > MAX_ID_BYTES {
        return Err(OAuthError::new("invalid_client_metadata", "The name and redirect URIs are too long."));
    }
    let mut response = json!({
        "client_id": id,
        "redirect_uris": uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    if !name.is_empty() {
        response["client_name"] = name.into();
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registration_is_in_its_id() {
        let body =
            br#"{"client_name":"Agent","redirect_uris":["http://127.0.0.1:7/cb","https://x.example/"]}"#;
        let response = register(body, [1; 8]).unwrap();
        let id = response["client_id"].as_str().unwrap();
        let Some(ClientIdentifier::Registered(metadata)) = ClientIdentifier::parse(id) else {
            panic!("{id}")
        };
        assert_eq!(metadata.name, "Agent");
        assert_eq!(
            metadata.redirect_uris.iter().map(|uri| uri.as_str()).collect::<Vec<_>>(),
            ["http://127.0.0.1:7/cb"]
        );
        assert_eq!(response["redirect_uris"], json!(["http://127.0.0.1:7/cb"]));
        assert_ne!(register(body, [2; 8]).unwrap()["client_id"], response["client_id"]);
        for broken in ["registered.", "registered.00.e30", "registered.00.!!", "registered.00"] {
            assert_eq!(ClientIdentifier::parse(broken), None, "{broken}");
        }
        let long = "x".repeat(900);
        let uris: Vec<String> = (0..6).map(|n| format!("http://127.0.0.1/{n}{long}")).collect();
        let huge = json!({ "redirect_uris": uris }).to_string();
        assert_eq!(register(huge.as_bytes(), [0; 8]).unwrap_err().code, "invalid_client_metadata");
    }

    #[test]
    fn documents_have_plain_https_addresses() {
        for (id, usable) in [
            ("https://app.example/client.json", true),
            ("https://app.example/a?b=c", true),
            ("https://app.example/", false),
            ("https://app.example", false),
            ("http://app.example/client.json", false),
            ("https://app.example/a/../client.json", false),
            ("https://APP.example/client.json", false),
            ("https://app.example:443/client.json", false),
            ("https://user@app.example/client.json", false),
            ("https://app.example/client.json#x", false),
            ("app", false),
            ("", false),
        ] {
            assert_eq!(ClientIdentifier::parse(id).is_some(), usable, "{id}");
        }
    }

    #[test]
    fn document_names_itself() {
        let address = Url::parse("https://app.example/client.json").unwrap();
        let document = |id: &str| json!({ "client_id": id, "redirect_uris": ["http://localhost/cb"] });
        assert!(read_document(&document(address.as_str()), &address).is_ok());
        assert!(read_document(&document("https://app.example/other.json"), &address).is_err());
    }
}
