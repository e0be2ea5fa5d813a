//! The addresses of providers and the URLs below them.
//!
//! The user enters the address, so it may be private. Keys and conversations go there, so it has to be https; http is for
//! this computer and private networks, where model servers seldom have a certificate, and the connection itself is
//! held to such addresses ([`super::http`]).

use gatehouse_common::ip_address::{ip_literal, is_loopback, is_public};
use gatehouse_model::{ErrorCode, UserError};
use url::{Host, Url};

use super::error::bad_address;

/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 2048;
/// Ends of names that no public resolver answers for (RFC 6762, RFC 8375, ICANN's `.internal`, common in routers).
const PRIVATE_SUFFIXES: [&str; 5] = [".local", ".home.arpa", ".internal", ".lan", ".home"];

/// Reads the address of a provider as the user enters it: `https`, or `http` for this computer or a private network,
/// without user name, query and fragment.
///
/// # Errors
/// [`ErrorCode::BadRequest`] with the rule.
pub fn check_base_url(text: &str) -> Result<Url, UserError> {
    let refused = || UserError::new(ErrorCode::BadRequest, bad_address());
    let text = text.trim();
    let url = Some(text)
        .filter(|text| text.len() <= MAX_ADDRESS_BYTES)
        .and_then(|text| Url::parse(text).ok())
        .ok_or_else(refused)?;
    if is_allowed(&url) { Ok(url) } else { Err(refused()) }
}

/// Whether a provider may be at this address.
pub(super) fn is_allowed(url: &Url) -> bool {
    let is_plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain
        && match url.scheme() {
            "https" => url.has_host(),
            "http" => is_loopback(url) || is_private(url),
            _ => false,
        }
}

/// Whether the host of a URL is in a private network: an address that isn't public, or a name that only a local
/// resolver knows.
fn is_private(url: &Url) -> bool {
    if let Some(address) = ip_literal(url) {
        return !is_public(address) && !address.is_unspecified() && !address.is_multicast();
    }
    let Some(Host::Domain(name)) = url.host() else { return false };
    let name = name.trim_end_matches('.');
    !name.is_empty() && (!name.contains('.') || PRIVATE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// A URL below the address. The first segments are left out where the address ends with them already, as in
/// `https://api.anthropic.com/v1`.
pub(super) fn below(base: &Url, segments: &[&str]) -> Option<Url> {
    let mut url = base.clone();
    let last = base.path_segments().and_then(|mut path| path.rfind(|segment| !segment.is_empty()));
    let is_repeated = segments.len() > 1 && last.is_some_and(|last| segments.first() == Some(&last));
    url.path_segments_mut().ok()?.pop_if_empty().extend(segments.iter().skip(usize::from(is_repeated)));
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_https_and_private_http() {
        for (text, is_allowed) in [
            ("https://api.openai.com/v1", true),
            (" https://api.anthropic.com ", true),
            ("https://10.0.0.7/v1", true),
            ("http://localhost:11434/v1", true),
            ("http://127.0.0.1:1234/v1", true),
            ("http://[::1]:1234", true),
            ("http://app.localhost/", true),
            ("http://192.168.1.20:11434/v1", true),
            ("http://10.1.2.3/v1", true),
            ("http://[fd00::1]:8080/", true),
            ("http://100.64.0.9/", true),
            ("http://nas:11434/v1", true),
            ("http://NAS.local:11434/v1", true),
            ("http://gpu.home.arpa/", true),
            ("http://api.openai.com/v1", false),
            ("http://8.8.8.8/", false),
            ("http://[2606:4700:4700::1111]/", false),
            ("http://0.0.0.0:11434/", false),
            ("http://224.0.0.1/", false),
            ("http://localhost.example/", false),
            ("http://local.example.com/", false),
            ("http://127.0.0.1.evil.example/", false),
            ("https://me:secret@api.openai.com/", false),
            ("https://me@api.openai.com/", false),
            ("https://api.openai.com/v1?key=a", false),
            ("https://api.openai.com/v1#a", false),
            ("ws://localhost/", false),
            ("file:///etc/passwd", false),
            ("api.openai.com", false),
            ("", false),
        ] {
            assert_eq!(check_base_url(text).is_ok(), is_allowed, "{text}");
        }
        let long = format!("https://a.example/{}", "x".repeat(3000));
        assert_eq!(check_base_url(&long).map_err(|error| error.code), Err(ErrorCode::BadRequest));
    }

    #[test]
    fn builds_urls_below_address() {
        for (base, segments, expected) in [
            ("https://a.example/v1", &["chat", "completions"][..], "https://a.example/v1/chat/completions"),
            ("https://a.example/v1/", &["models"], "https://a.example/v1/models"),
            ("https://a.example", &["v1", "messages"], "https://a.example/v1/messages"),
            ("https://a.example/v1/", &["v1", "messages"], "https://a.example/v1/messages"),
            (
                "https://a.example/x/v1beta",
                &["v1beta", "models", "m:x"],
                "https://a.example/x/v1beta/models/m:x",
            ),
            ("https://a.example/models", &["models"], "https://a.example/models/models"),
            (
                "https://a.example",
                &["v1beta", "models", "a/../b:x"],
                "https://a.example/v1beta/models/a%2F..%2Fb:x",
            ),
        ] {
            let url = below(&Url::parse(base).unwrap(), segments).unwrap();
            assert_eq!(url.as_str(), expected);
        }
    }
}
