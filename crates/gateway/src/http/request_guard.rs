//! Request guard: checks on the request head, made before any byte of the body is read.
//!
//! A web page must not reach the gateway through the user's own browser, so `Host` and `Origin` are checked
//! (DNS rebinding, cross-site requests), and every request needs a token. A check that can't be made fails.

use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{StatusCode, Uri};

use crate::http::allowed_hosts::{self, AllowedHosts, RequestAuthority, is_loopback_name};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::single_header::{SingleHeader, single_header};

/// Checks that the request is addressed to this gateway and doesn't come from a foreign web page. Returns the address
/// that it uses.
pub(crate) fn check_origin<'a>(
    uri: &'a Uri,
    headers: &'a HeaderMap,
    port: u16,
    hosts: &AllowedHosts,
) -> Result<RequestAuthority<'a>, HttpRpcError> {
    let host = match single_header(headers, &HOST) {
        SingleHeader::One(host) => host,
        SingleHeader::None => uri.authority().map(|authority| authority.as_str()).unwrap_or_default(),
        SingleHeader::Unusable => "",
    };
    // A target in absolute form (or that of CONNECT) names a host too, and other programs go by that one.
    let is_target_ours = uri.authority().is_none_or(|target| hosts.check(target.as_str(), port).is_some())
        && uri.scheme_str().is_none_or(|scheme| scheme == "http");
    let authority = hosts
        .check(host, port)
        .filter(|_| is_target_ours)
        .ok_or_else(|| forbidden("The Host header does not name this gateway."))?;
    match single_header(headers, &ORIGIN) {
        SingleHeader::None => Ok(authority),
        SingleHeader::One(origin) if is_loopback_origin(origin) => Ok(authority),
        SingleHeader::One(_) | SingleHeader::Unusable => {
            Err(forbidden("Requests from this Origin are not allowed."))
        }
    }
}

fn forbidden(message: &'static str) -> HttpRpcError {
    HttpRpcError::new(StatusCode::FORBIDDEN, -32600, message)
}

fn is_loopback_origin(origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return false;
    }
    allowed_hosts::split(authority).is_some_and(|(host, _)| is_loopback_name(host))
}

/// The credentials of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials<'a> {
    Missing,
    BearerToken(&'a str),
    /// There are some, but not one bearer token.
    Unusable,
}

/// The credentials in the `Authorization` header.
pub(crate) fn credentials(headers: &HeaderMap) -> Credentials<'_> {
    match bearer_token(headers) {
        Some(token) => Credentials::BearerToken(token),
        None if headers.contains_key(AUTHORIZATION) => Credentials::Unusable,
        None => Credentials::Missing,
    }
}

/// The bearer token of the `Authorization` header.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let SingleHeader::One(value) = single_header(headers, &AUTHORIZATION) else {
        return None;
    };
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The error for a request without a token. The metadata at this address say how a client can ask for one.
pub(crate) fn missing_token(metadata: &str) -> HttpRpcError {
    HttpRpcError::new(
        StatusCode::UNAUTHORIZED,
        -32600,
        "A token is needed: add this client in Gatehouse and send its token as \"Authorization: Bearer …\", or ask for access by OAuth.",
    )
    .with_challenge(format!("Bearer resource_metadata=\"{metadata}\""))
}

/// The error for an access token that isn't valid here or any more. A client can refresh it, or ask for access again.
pub(crate) fn ended_access(metadata: &str) -> HttpRpcError {
    const WHY: &str = "The access token has expired, was revoked, or is for another resource. Refresh it, or ask for access again.";
    HttpRpcError::new(StatusCode::UNAUTHORIZED, -32600, WHY).with_challenge(format!(
        "Bearer error=\"invalid_token\", error_description=\"{WHY}\", resource_metadata=\"{metadata}\""
    ))
}

/// The error for a token of nobody. A client that was given a token has no use for OAuth, so it isn't led there: it would
/// go on sending the same token.
pub(crate) fn unknown_token() -> HttpRpcError {
    const WHY: &str = "Gatehouse knows no client with this token. Give the client its present token, which Gatehouse can make anew; to use OAuth instead, send no Authorization header.";
    HttpRpcError::new(StatusCode::UNAUTHORIZED, -32600, WHY)
        .with_challenge(format!("Bearer error=\"invalid_token\", error_description=\"{WHY}\""))
}

/// What narrows a bridge's requests; see `clients/bridge_bindings.rs`.
const BINDING: HeaderName = HeaderName::from_static("gatehouse-binding");

/// The credential of a bridge, if the request has one.
pub(crate) fn bridge_credential(headers: &HeaderMap) -> Result<Option<&str>, HttpRpcError> {
    match single_header(headers, &BINDING) {
        SingleHeader::None => Ok(None),
        SingleHeader::One(credential) => Ok(Some(credential)),
        SingleHeader::Unusable => Err(unknown_binding()),
    }
}

/// The error for the credential of a bridge that doesn't count, or no longer.
pub(crate) fn unknown_binding() -> HttpRpcError {
    HttpRpcError::new(
        StatusCode::UNAUTHORIZED,
        -32600,
        "The header Gatehouse-Binding has expired or is not this client's: ask for another one, or leave it out.",
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
    is_content_type(headers, "application/json")
}

/// Whether the `Content-Type` is this one, with any parameters.
pub(crate) fn is_content_type(headers: &HeaderMap, media_type: &str) -> bool {
    match single_header(headers, &CONTENT_TYPE) {
        SingleHeader::One(value) => {
            value.split(';').next().is_some_and(|own| own.trim().eq_ignore_ascii_case(media_type))
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

    fn check(headers: &HeaderMap) -> Result<(), HttpRpcError> {
        check_origin(&Uri::from_static("/mcp"), headers, 7000, &AllowedHosts::default()).map(drop)
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
            let found = check(&headers(&[("host", host)]));
            assert_eq!(found.is_ok(), allowed, "{host}");
        }
        let twice = headers(&[("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")]);
        assert!(check(&twice).is_err());
        assert!(check(&HeaderMap::new()).is_err());
    }

    #[test]
    fn accepts_only_targets_on_own_hosts() {
        for (target, allowed) in [
            ("/mcp", true),
            ("*", true),
            ("http://127.0.0.1:7000/mcp", true),
            ("http://localhost:7000/mcp", true),
            ("127.0.0.1:7000", true),
            ("http://evil.example/mcp", false),
            ("http://evil.example:7000/mcp", false),
            ("http://127.0.0.1:7001/mcp", false),
            ("http://127.0.0.1/mcp", false),
            ("http://user@127.0.0.1:7000/mcp", false),
            ("ftp://127.0.0.1:7000/mcp", false),
            ("evil.example:443", false),
        ] {
            let headers = headers(&[("host", "127.0.0.1:7000")]);
            let target_uri = Uri::from_static(target);
            let found = check_origin(&target_uri, &headers, 7000, &AllowedHosts::default());
            assert_eq!(found.is_ok(), allowed, "{target}");
        }
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
            assert_eq!(check(&both).is_ok(), allowed, "{origin}");
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
