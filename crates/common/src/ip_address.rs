//! Classification of network destinations: which IP addresses are on the public internet, and which URLs
//! stay on this machine.
//!
//! An address that is not public belongs to this machine or a private network, or has a special meaning:
//! destinations chosen by a remote party must not lead there (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

/// Addresses of `localhost` and the names below it.
const LOOPBACK: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];

/// The IP address that is the host of a URL, if it is not a name.
#[must_use]
pub fn ip_literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    }
}

/// Whether the host of a URL is this machine: a loopback address, also one mapped into IPv6, or
/// `localhost` and the names below it, also with the trailing dot of a fully qualified name.
///
/// RFC 6761 reserves these names, but not every resolver obeys it. A caller that sends secrets to such a
/// name without encryption has to connect to the addresses of [`pinned_loopback`].
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
            ip_literal(url).is_some_and(|address| address.to_canonical().is_loopback())
        }
        None => false,
    }
}

/// The name of this machine that is the host of a URL, if it is one ([`is_loopback`]), and where to connect to for it
/// without using a resolver. The port is taken from the URL.
#[must_use]
pub fn pinned_loopback(url: &Url) -> Option<(&str, &'static [SocketAddr])> {
    let Some(Host::Domain(name)) = url.host() else { return None };
    let addresses: &'static [SocketAddr] = &LOOPBACK;
    is_loopback(url).then_some((name, addresses))
}

/// Whether requests to a URL cannot be read in transit: https, or http to this machine.
#[must_use]
pub fn is_https_or_loopback(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(url),
        _ => false,
    }
}

/// Whether an address is on the public internet. An address that embeds another one (mapped, NAT64,
/// 6to4, Teredo) is public if the embedded one is.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // Ranges that are deprecated or reserved are no valid destinations either.
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [224..=255, ..]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped, NAT64 and 6to4: the embedded address counts.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Teredo embeds the addresses of its server and, inverted, of its client.
        [0x2001, 0, high, low, .., client_high, client_low] => {
            embedded(high, low) && embedded(!client_high, !client_low)
        }
        // Protocol assignments and documentation.
        [0x2001, 0..=0x1ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // All other public addresses are in 2000::/3.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_urls_stay_on_this_machine_and_which_nobody_reads_on_the_way() {
        for (url, loopback, unread) in [
            ("http://localhost/", true, true),
            ("http://LocalHost:80/a?b", true, true),
            ("http://localhost./", true, true),
            ("http://localhost../", true, true),
            ("http://app.localhost:3000/", true, true),
            ("http://a.b.localhost./", true, true),
            ("http://127.0.0.1:1/", true, true),
            ("http://127.255.255.254/", true, true),
            ("http://0x7f.1/", true, true),
            ("http://2130706433/", true, true),
            ("http://[::1]:80/", true, true),
            ("http://[::ffff:127.0.0.1]/", true, true),
            ("https://localhost/", true, true),
            ("ws://localhost/", true, false),
            ("ftp://127.0.0.1/", true, false),
            ("https://example.org/", false, true),
            ("https://10.0.0.1/", false, true),
            ("http://example.org/", false, false),
            ("http://localhost.example/", false, false),
            ("http://localhost.evil.example/", false, false),
            ("http://notlocalhost/", false, false),
            ("http://127.0.0.1.evil.example/", false, false),
            ("http://localhost@evil.example/", false, false),
            ("http://evil.example/localhost", false, false),
            ("http://0.0.0.0/", false, false),
            ("http://10.0.0.1/", false, false),
            ("http://128.0.0.1/", false, false),
            ("http://[::]/", false, false),
            ("http://[::127.0.0.1]/", false, false),
            ("http://[::ffff:10.0.0.1]/", false, false),
            ("http://[64:ff9b::7f00:1]/", false, false),
            ("http://[fe80::1]/", false, false),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("data:text/html,localhost", false, false),
        ] {
            let parsed = Url::parse(url).unwrap();
            assert_eq!((is_loopback(&parsed), is_https_or_loopback(&parsed)), (loopback, unread), "{url}");
        }
    }

    #[test]
    fn names_of_this_machine_need_no_resolver() {
        for (url, pinned) in [
            ("http://localhost:1/", Some("localhost")),
            ("http://App.Localhost./a", Some("app.localhost.")),
            ("http://127.0.0.1/", None),
            ("http://[::1]/", None),
            ("http://localhost.example/", None),
            ("data:,localhost", None),
        ] {
            let parsed = Url::parse(url).unwrap();
            let found = pinned_loopback(&parsed);
            assert_eq!(found.map(|(name, _)| name), pinned, "{url}");
            assert!(found.is_none_or(|(_, addresses)| addresses.iter().all(|at| at.ip().is_loopback())));
        }
    }

    #[test]
    fn hosts_that_are_addresses_are_told_from_names() {
        for (url, address) in [
            ("http://10.0.0.1/", Some("10.0.0.1")),
            ("http://0x0a.1/", Some("10.0.0.1")),
            ("http://[fd00::1]:1/", Some("fd00::1")),
            ("http://localhost/", None),
            ("http://10.0.0.1.example/", None),
            ("data:,x", None),
        ] {
            let expected: Option<IpAddr> = address.map(|address| address.parse().unwrap());
            assert_eq!(ip_literal(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        let public = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450:4001:82a::200e",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:0808:0808::1",
            // The server 8.8.8.8, the client 1.1.1.1 inverted.
            "2001:0:808:808:0:0:fefe:fefe",
        ];
        let private = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "169.254.0.0",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::8.8.8.8",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001:2::1",
            "2001:20::1",
            "2001:db8::1",
            "2001:10::1",
            "2002:a9fe:a9fe::1",
            "2002:0a00:0001::1",
            "2002:7f00:0001::1",
            // The server 10.0.0.1; then the client 192.168.0.1 inverted.
            "2001:0:a00:1:0:0:fefe:fefe",
            "2001:0:808:808:0:0:3f57:fffe",
            "3fff::1",
            "3fff:fff:ffff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in private {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
