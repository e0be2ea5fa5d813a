//! The host names under which the gateway may be addressed: its own loopback names, and further ones that the operator
//! allowed, such as the name of a container's host or a forwarded port (GATE-3).
//!
//! Only the check of the `Host` header depends on it. The gateway listens on loopback alone, whatever is allowed here.

use std::sync::Arc;

use arc_swap::ArcSwap;

/// Further host names that the operator allowed. They can be replaced at any time.
#[derive(Debug, Default)]
pub struct AllowedHosts {
    further: ArcSwap<Vec<AllowedHost>>,
}

/// One further name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowedHost {
    /// In lower case. An IPv6 address has its brackets.
    host: String,
    /// The gateway's own port where absent.
    port: Option<u16>,
}

/// Where a request is addressed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestAuthority<'a> {
    host: &'a str,
    port: u16,
}

impl RequestAuthority<'_> {
    /// The origin of URLs that lead here by the same name.
    pub(crate) fn origin(self) -> String {
        let host = self.host.to_ascii_lowercase();
        if self.port == 80 { format!("http://{host}") } else { format!("http://{host}:{}", self.port) }
    }
}

impl AllowedHosts {
    /// Whether a text names a host, as `host` or `host:port`: no pattern, no user, no path.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        AllowedHost::parse(text).is_some()
    }

    /// Replaces the further names. What isn't valid is left out.
    pub fn set(&self, hosts: &[String]) {
        self.further.store(Arc::new(hosts.iter().filter_map(|host| AllowedHost::parse(host)).collect()));
    }

    /// Checks an authority, as in the `Host` header of a request to the gateway with this port.
    pub(crate) fn check<'a>(&self, authority: &'a str, own_port: u16) -> Option<RequestAuthority<'a>> {
        let (host, port) = split(authority)?;
        let port = port.unwrap_or(80);
        let is_own = is_loopback_name(host) && port == own_port;
        let is_further = || {
            self.further.load().iter().any(|further| {
                further.host.eq_ignore_ascii_case(host) && further.port.unwrap_or(own_port) == port
            })
        };
        (is_own || is_further()).then_some(RequestAuthority { host, port })
    }
}

impl AllowedHost {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = split(text)?;
        let is_name = host.len() <= 253
            && host.split('.').all(|label| {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
                (1..=63).contains(&label.len()) && label.bytes().all(is_plain)
            });
        let is_address = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
        let is_valid = (is_name || is_address) && port != Some(0);
        is_valid.then(|| Self { host: host.to_ascii_lowercase(), port })
    }
}

/// Splits an authority into host and port; `None` if the port isn't one.
pub(crate) fn split(authority: &str) -> Option<(&str, Option<u16>)> {
    match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.ends_with(']') => Some((host, Some(parse_port(digits)?))),
        Some(_) | None => Some((authority, None)),
    }
}

fn parse_port(digits: &str) -> Option<u16> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Whether a host name is one that local clients and pages use, compared literally. This is stricter than
/// `ip_address::is_loopback`: other spellings of loopback addresses aren't needed for the gateway.
pub(crate) fn is_loopback_name(host: &str) -> bool {
    host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hosts_with_or_without_port() {
        for (text, valid) in [
            ("host.docker.internal", true),
            ("Host.Docker.Internal:8080", true),
            ("devbox", true),
            ("192.168.1.7:9000", true),
            ("[fd00::1]:9000", true),
            ("", false),
            ("*", false),
            ("*.internal", false),
            ("a..b", false),
            ("host.", false),
            ("host:", false),
            ("host:0", false),
            ("host:65536", false),
            ("host:80:80", false),
            ("user@host", false),
            ("http://host", false),
            ("host/path", false),
            ("host name", false),
            ("höst", false),
            ("fd00::1", false),
            ("[fd00::1", false),
        ] {
            assert_eq!(AllowedHosts::is_valid(text), valid, "{text}");
        }
    }

    #[test]
    fn only_allowed_names_with_their_ports_pass() {
        let hosts = AllowedHosts::default();
        hosts.set(&["host.docker.internal".to_owned(), "tunnel.example:443".to_owned(), "*".to_owned()]);
        let check = |authority: &str| hosts.check(authority, 7000).map(|found| found.origin());
        for (authority, origin) in [
            ("127.0.0.1:7000", Some("http://127.0.0.1:7000")),
            ("LocalHost:07000", Some("http://localhost:7000")),
            ("Host.Docker.Internal:7000", Some("http://host.docker.internal:7000")),
            ("tunnel.example:443", Some("http://tunnel.example:443")),
            ("host.docker.internal", None),
            ("host.docker.internal:7001", None),
            ("tunnel.example:7000", None),
            ("x.tunnel.example:443", None),
            ("localhost:443", None),
            ("*:7000", None),
        ] {
            assert_eq!(check(authority).as_deref(), origin, "{authority}");
        }
        hosts.set(&[]);
        assert_eq!(check("host.docker.internal:7000"), None);
    }
}
