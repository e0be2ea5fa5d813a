//! The address of a registry and the URLs below it.
//!
//! A person chooses the address, so a registry within a company may be at a private one. It has to be https, or http on this
//! computer: nobody on the way may change what the entries say is to be run.

use gatehouse_common::ip_address::is_https_or_loopback;
use url::Url;

use super::error::RegistryError;

/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;
/// Longest text that is searched for, in characters.
const MAX_SEARCH_CHARS: usize = 200;
/// Longest cursor, in bytes.
const MAX_CURSOR_BYTES: usize = 1024;
/// Entries of a page.
const PAGE_ENTRIES: &str = "30";

/// The address of a registry as it is kept, without a slash at its end.
///
/// # Errors
/// If it may not be used.
pub fn registry_address(text: &str) -> Result<String, RegistryError> {
    base(text).map(|url| url.as_str().trim_end_matches('/').to_owned())
}

fn base(text: &str) -> Result<Url, RegistryError> {
    let text = text.trim();
    if text.len() > MAX_ADDRESS_BYTES {
        return Err(RegistryError::BadAddress);
    }
    let url = Url::parse(text).map_err(|_| RegistryError::BadAddress)?;
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if is_plain && is_https_or_loopback(&url) { Ok(url) } else { Err(RegistryError::BadAddress) }
}

/// The URL of a list of the newest versions of entries whose names contain a text.
pub(super) fn search_url(address: &str, text: &str, cursor: Option<&str>) -> Result<Url, RegistryError> {
    let mut url = below(address, &["servers"])?;
    let text: String = text.trim().chars().take(MAX_SEARCH_CHARS).collect();
    {
        let mut query = url.query_pairs_mut();
        query.append_pair("version", "latest").append_pair("limit", PAGE_ENTRIES);
        if !text.is_empty() {
            query.append_pair("search", &text);
        }
        if let Some(cursor) = cursor.filter(|cursor| cursor.len() <= MAX_CURSOR_BYTES) {
            query.append_pair("cursor", cursor);
        }
    }
    Ok(url)
}

/// The URL of all versions of an entry.
pub(super) fn versions_url(address: &str, name: &str) -> Result<Url, RegistryError> {
    below(address, &["servers", name, "versions"])
}

/// The URL of one version of an entry.
pub(super) fn version_url(address: &str, name: &str, version: &str) -> Result<Url, RegistryError> {
    below(address, &["servers", name, "versions", version])
}

fn below(address: &str, segments: &[&str]) -> Result<Url, RegistryError> {
    let mut url = base(address)?;
    url.path_segments_mut()
        .map_err(|()| RegistryError::BadAddress)?
        .pop_if_empty()
        .push("v0.1")
        .extend(segments);
    Ok(url)
}

/// The host with its port, for messages.
pub(super) fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_https_and_loopback_addresses() {
        let table = [
            ("https://registry.example", Some("https://registry.example")),
            (" https://registry.example/mcp/ ", Some("https://registry.example/mcp")),
            ("http://127.0.0.1:4711", Some("http://127.0.0.1:4711")),
            ("http://localhost:4711/", Some("http://localhost:4711")),
            ("https://10.0.0.7/registry", Some("https://10.0.0.7/registry")),
            ("http://registry.example", None),
            ("http://localhost.example", None),
            ("https://me:secret@registry.example", None),
            ("https://registry.example/?a=b", None),
            ("https://registry.example/#a", None),
            ("file:///etc/hosts", None),
            ("registry.example", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(registry_address(text).ok().as_deref(), expected, "{text}");
        }
        assert!(registry_address(&format!("https://a.example/{}", "x".repeat(3000))).is_err());
    }

    #[test]
    fn encodes_names_and_versions() {
        let url = version_url("https://r.example/base/", "io.github.a/b", "1.0.0+build/../x").unwrap();
        assert_eq!(
            url.as_str(),
            "https://r.example/base/v0.1/servers/io.github.a%2Fb/versions/1.0.0+build%2F..%2Fx"
        );
        let url = versions_url("https://r.example", "a/b?c").unwrap();
        assert_eq!(url.as_str(), "https://r.example/v0.1/servers/a%2Fb%3Fc/versions");
        let url = search_url("https://r.example", " a&b ", Some("x:1")).unwrap();
        assert_eq!(
            url.as_str(),
            "https://r.example/v0.1/servers?version=latest&limit=30&search=a%26b&cursor=x%3A1"
        );
    }
}
