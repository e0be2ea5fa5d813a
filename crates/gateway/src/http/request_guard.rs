//! Request guard: checks on the request head, made before any byte of the body is read.
//!
//! A web page must not reach the gateway through the user's own browser, so `Host` and `Origin` are checked
//! (DNS rebinding, cross-site requests), and every request needs a token. A check that can't be made fails.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::{StatusCode, Uri};

use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::single_header::{SingleHeader, single_header};

/// Checks that the request is addressed to this endpoint and doesn't come from a foreign web page.
pub(crate) fn check_origin(uri: &Uri, headers: &HeaderMap, port: u16) -> Result<(), HttpRpcError> {
    let host = match single_header(headers, &HOST) {
        SingleHeader::One(host) => host,
        SingleHeader::None => uri.authority().map(|authority| authority.as_str()).unwrap_or_default(),
        SingleHeader::Unusable => "",
    };
    if !is_our_authority(host, port) {
        return Err(forbidden("The Host header does not name this gateway."));
    }
    match single_header(headers, &ORIGIN) {
        SingleHeader::None => Ok(()),
        SingleHeader::One(origin) if is_loopback_origin(origin) => Ok(()),
        SingleHeader::One(_) | SingleHeader::Unusable => {
            Err(forbidden("Requests from this Origin are not allowed."))
        }
    }
}

fn forbidden(message: &'static str) -> HttpRpcError {
    HttpRpcError::new(StatusCode::FORBIDDEN, -32600, message)
}

fn is_our_authority(authority: &str, port: u16) -> bool {
    let (host, given) = match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => (host, parse_port(digits)),
        Some(_) | None => (authority, Some(80)),
    };
    is_our_name(host) && given == Some(port)
}

fn is_loopback_origin(origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return false;
    }
    match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => is_our_name(host) && parse_port(digits).is_some(),
        Some(_) | None => is_our_name(authority),
    }
}

/// Whether a host name is one that local clients and pages use, compared literally. This is stricter than
/// `ip_address::is_loopback`: other spellings of loopback addresses aren't needed for the gateway.
fn is_our_name(host: &str) -> bool {
    host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost")
}

fn parse_port(digits: &str) -> Option<u16> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The bearer token of the `Authorization` header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let SingleHeader::One(value) = single_header(headers, &AUTHORIZATION) else {
        return None;
    };
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The error for a missing or unknown token.
pub(crate) fn unauthorized() -> HttpRpcError {
    HttpRpcError::new(
        StatusCode::UNAUTHORIZED,
        -32600,
        "A token is needed: add this client in Gatehouse and send its token as \"Authorization: Bearer …\".",
    )
}

pub(crate) fn too_many_connections() -> HttpRpcError {
    HttpRpcError::new(
        StatusCode::TOO_MANY_REQUESTS,
        -32600,
        "Too many connections are open at once. Close some, or wait for their calls to end.",
    )
}

/// Whether the `Content-Type` is JSON. Requiring it also rejects HTML forms, which can't send it.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    match single_header(headers, &CONTENT_TYPE) {
        SingleHeader::One(value) => {
            value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        }
        SingleHeader::None | SingleHeader::Unusable => false,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn accepts_only_own_loopback_hosts() {
        for (host, allowed) in [
            ("127.0.0.1:7000", true),
            ("localhost:7000", true),
            ("LocalHost:7000", true),
            ("[::1]:7000", true),
            ("127.0.0.1:7001", false),
            ("127.0.0.1", false),
            ("localhost", false),
            ("[::1]", false),
            ("127.0.0.2:7000", false),
            ("0.0.0.0:7000", false),
            ("::1:7000", false),
            ("localhost.:7000", false),
            ("x.localhost:7000", false),
            ("[::ffff:127.0.0.1]:7000", false),
            ("localhost.evil.example:7000", false),
            ("evil.example:7000", false),
            ("evil.example", false),
            ("user@127.0.0.1:7000", false),
            ("127.0.0.1:+7000", false),
            ("127.0.0.1:07000", true),
            ("", false),
        ] {
            let found = check_origin(&Uri::from_static("/mcp"), &headers(&[("host", host)]), 7000);
            assert_eq!(found.is_ok(), allowed, "{host}");
        }
        let twice = headers(&[("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")]);
        assert!(check_origin(&Uri::from_static("/mcp"), &twice, 7000).is_err());
        assert!(check_origin(&Uri::from_static("/mcp"), &HeaderMap::new(), 7000).is_err());
    }

    #[test]
    fn accepts_only_loopback_origins() {
        for (origin, allowed) in [
            ("http://127.0.0.1", true),
            ("http://127.0.0.1:7000", true),
            ("http://localhost:6274", true),
            ("https://localhost:3000", true),
            ("http://[::1]:80", true),
            ("null", false),
            ("", false),
            ("https://evil.example", false),
            ("http://localhost.", false),
            ("http://x.localhost:3000", false),
            ("http://127.0.0.2", false),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1.evil.example:80", false),
            ("http://127.0.0.1:x", false),
            ("http://127.0.0.1/", false),
            ("file://localhost", false),
            ("http://user@localhost", false),
            ("vscode-webview://localhost", false),
        ] {
            let both = headers(&[("host", "127.0.0.1:7000"), ("origin", origin)]);
            assert_eq!(check_origin(&Uri::from_static("/mcp"), &both, 7000).is_ok(), allowed, "{origin}");
        }
    }

    #[test]
    fn reads_token_from_single_bearer_header() {
        for (pairs, token) in [
            (vec![("authorization", "Bearer abc")], Some("abc")),
            (vec![("authorization", "bearer abc")], Some("abc")),
            (vec![("authorization", "Basic abc")], None),
            (vec![("authorization", "Bearer")], None),
            (vec![("authorization", "Bearer a"), ("authorization", "Bearer b")], None),
            (vec![], None),
        ] {
            assert_eq!(bearer_token(&headers(&pairs)), token, "{pairs:?}");
        }
    }
}
