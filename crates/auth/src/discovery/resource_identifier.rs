//! Server addresses as OAuth resource identifiers, and which servers a resource identifier covers (RFC 8707,
//! RFC 9728).

use url::Url;

/// A server's address as an `http` or `https` URL without fragment; `ws` and `wss` addresses are converted.
pub(crate) fn server_url(address: &str) -> Option<Url> {
    let address = address.trim();
    let web = match address.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("ws") => format!("http:{rest}"),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("wss") => format!("https:{rest}"),
        _ => address.to_owned(),
    };
    let mut url = Url::parse(&web).ok()?;
    url.set_fragment(None);
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// The canonical resource identifier of an address, as sent in requests: without a trailing slash if the path
/// is empty.
pub(crate) fn resource(url: &Url) -> String {
    let text = url.as_str();
    if url.path() == "/" && url.query().is_none() {
        return text.strip_suffix('/').unwrap_or(text).to_owned();
    }
    text.to_owned()
}

/// Whether a resource identifier is the server's address or a path prefix of it on the same origin.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.fragment().is_some() || resource.origin() != server.origin() || !resource.origin().is_tuple()
    {
        return false;
    }
    if resource.query().is_some() && resource.query() != server.query() {
        return false;
    }
    let above = resource.path().trim_end_matches('/');
    server.path().strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonicalizes_resource_identifiers() {
        for (address, expected) in [
            ("HTTPS://MCP.Example:443/Mcp#part", "https://mcp.example/Mcp"),
            ("https://mcp.example", "https://mcp.example"),
            ("https://mcp.example/", "https://mcp.example"),
            ("https://mcp.example/mcp/", "https://mcp.example/mcp/"),
            ("wss://mcp.example/ws?a=b", "https://mcp.example/ws?a=b"),
            ("ws://localhost:9/ws", "http://localhost:9/ws"),
        ] {
            assert_eq!(resource(&server_url(address).unwrap()), expected);
        }
        assert!(server_url("ftp://mcp.example").is_none());
        assert!(server_url("mcp.example").is_none());
    }

    #[test]
    fn resource_covers_only_paths_below_it() {
        let server = server_url("https://mcp.example/a/mcp").unwrap();
        for covering in [
            "https://mcp.example",
            "https://mcp.example/",
            "https://mcp.example/a",
            "https://mcp.example/a/mcp",
        ] {
            assert!(covers(covering, &server), "{covering}");
        }
        for other in [
            "https://mcp.example/a/mc",
            "https://mcp.example/a/mcp/more",
            "https://mcp.example:8443/a/mcp",
            "http://mcp.example/a/mcp",
            "https://evil.example/a/mcp",
            "https://mcp.example/a/mcp#x",
            "https://mcp.example/a/mcp?x=y",
            "mcp.example",
        ] {
            assert!(!covers(other, &server), "{other}");
        }
    }
}
