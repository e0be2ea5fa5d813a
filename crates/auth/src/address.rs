//! Addresses: how a server's is written as a resource, what a resource covers, and which addresses
//! are of this machine or of a private network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// A server's address as `http` or `https`, without a fragment.
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

/// The resource that an address is, as it is written in requests: the canonical form, and no slash
/// where there is no path.
pub(crate) fn resource(url: &Url) -> String {
    let text = url.as_str();
    if url.path() == "/" && url.query().is_none() {
        return text.strip_suffix('/').unwrap_or(text).to_owned();
    }
    text.to_owned()
}

/// Whether a resource is the server itself or a part of the same host that the server lies below.
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

/// Whether an address names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The address that a host is, where it is no name.
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    }
}

/// Whether an address is one of the public internet.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // What counts is where an address leads that has another one inside.
    if let Some(inner) = address.to_ipv4() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    let within = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => within(high, low),
        [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_canonical() {
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
    fn a_resource_covers_what_lies_below_it() {
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

    #[test]
    fn public_addresses() {
        for public in ["1.1.1.1", "100.63.0.1", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.20.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
