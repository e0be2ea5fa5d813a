//! URL patterns for remote servers: `https://*.example.com:8443/mcp/*`.
//!
//! Scheme, host, port and path of the parsed URL are compared separately, so that no part of a URL
//! can be mistaken for another. An invalid pattern is an error, not a pattern that matches nothing.

use std::net::IpAddr;

use serde::Deserialize;
use url::{Host, Url};
use wildmatch::WildMatch;

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct UrlPattern {
    scheme: Scheme,
    host: HostPattern,
    /// `None` if the pattern has no port.
    port: Option<PortPattern>,
    /// `None` if the pattern has no path or matches every path.
    path: Option<WildMatch>,
}

/// Interpretation of a pattern without a port, and of paths that servers interpret differently:
/// narrow for allow rules, wide for deny rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithoutPort {
    /// The default port of the URL's scheme. For allow rules.
    Usual,
    /// Every port. For deny rules.
    Any,
}

#[derive(Debug, PartialEq, Eq)]
enum Scheme {
    Any,
    /// `http` or `ws`
    Plain,
    /// `https` or `wss`
    Tls,
}

#[derive(Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// All hosts below a domain, which is stored with a leading dot.
    Below(String),
    Name(String),
    Address(IpAddr),
}

#[derive(Debug, PartialEq, Eq)]
enum PortPattern {
    Any,
    This(u16),
}

/// Why a pattern is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the url pattern {0:?} {1}")]
pub(super) struct UrlPatternError(String, &'static str);

impl TryFrom<String> for UrlPattern {
    type Error = UrlPatternError;

    fn try_from(text: String) -> Result<Self, UrlPatternError> {
        Self::read(&text).map_err(|why| UrlPatternError(text, why))
    }
}

impl UrlPattern {
    fn read(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.trim().split_once("://").ok_or("does not begin with a scheme and “://”")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "*" => Scheme::Any,
            "http" | "ws" => Scheme::Plain,
            "https" | "wss" => Scheme::Tls,
            _ => return Err("has a scheme that is none of http, https, ws, wss and *"),
        };
        if rest.contains(['?', '#', '\\']) {
            return Err("may only have a scheme, a host, a port and a path");
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => (&rest[..at], Some(&rest[at..])),
            None => (rest, None),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            Some(_) | None => (authority, None),
        };
        Ok(Self {
            scheme,
            host: host_pattern(host)?,
            port: port.map(port_pattern).transpose()?,
            path: path.filter(|path| *path != "/*").map(|path| WildMatch::new(&normalize_path(path))),
        })
    }

    /// Whether the pattern matches this URL.
    pub(super) fn matches(&self, url: &Url, without_port: WithoutPort) -> bool {
        let scheme = match url.scheme() {
            "http" | "ws" => Scheme::Plain,
            "https" | "wss" => Scheme::Tls,
            _ => return false,
        };
        let port = match (&self.port, without_port) {
            (Some(PortPattern::Any), _) | (None, WithoutPort::Any) => true,
            (Some(PortPattern::This(port)), _) => url.port_or_known_default() == Some(*port),
            // The URL parser omits the default port of a scheme.
            (None, WithoutPort::Usual) => url.port().is_none(),
        };
        port && (self.scheme == Scheme::Any || self.scheme == scheme)
            && url.host().is_some_and(|host| self.host.matches(&host))
            && self.path.as_ref().is_none_or(|path| match without_port {
                WithoutPort::Any if is_ambiguous(url.path()) => true,
                WithoutPort::Usual if is_ambiguous(url.path()) => false,
                WithoutPort::Any | WithoutPort::Usual => path.matches(&normalize_path(url.path())),
            })
    }
}

/// Whether servers interpret a path differently: some collapse `//` or decode an escaped slash,
/// others don't.
fn is_ambiguous(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["//", "%2f", "%5c"].iter().any(|piece| path.contains(piece))
}

/// Normalises the percent-encoding of a path: visible characters are decoded, unless they have a
/// meaning in a path or a pattern; all others are escaped in upper case.
fn normalize_path(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = String::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(hex_byte);
        let meant = escape.unwrap_or(byte);
        let keeps_escape = escape.is_some() && b"%/\\*?".contains(&meant);
        if meant.is_ascii_graphic() && !keeps_escape {
            out.push(char::from(meant));
        } else {
            out.push_str(&format!("%{meant:02X}"));
        }
        at += if escape.is_some() { 3 } else { 1 };
    }
    out
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let mut byte = [0];
    hex::decode_to_slice(digits, &mut byte).ok()?;
    let [byte] = byte;
    Some(byte)
}

impl HostPattern {
    fn matches(&self, host: &Host<&str>) -> bool {
        let address = match host {
            Host::Domain(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                return match self {
                    Self::Any => true,
                    Self::Below(domain) => name.len() > domain.len() && name.ends_with(domain.as_str()),
                    Self::Name(pattern) => name == pattern,
                    Self::Address(_) => false,
                };
            }
            Host::Ipv4(address) => IpAddr::V4(*address),
            Host::Ipv6(address) => IpAddr::V6(*address),
        };
        match self {
            Self::Any => true,
            Self::Address(pattern) => *pattern == address.to_canonical(),
            Self::Below(_) | Self::Name(_) => false,
        }
    }
}

fn host_pattern(text: &str) -> Result<HostPattern, &'static str> {
    const WRONG: &str = "has a host that is none of *, a name, *. and a name, and an address";
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    let below = text.strip_prefix("*.");
    // Parsed like the host of a URL: lower case, Punycode, normalised IP addresses.
    let host = Host::parse(below.unwrap_or(text)).map_err(|_| WRONG)?;
    match (host, below) {
        (Host::Domain(name), _) if name.contains('*') => Err(WRONG),
        (Host::Domain(name), below) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            Ok(if below.is_some() {
                HostPattern::Below(format!(".{name}"))
            } else {
                HostPattern::Name(name.to_owned())
            })
        }
        (Host::Ipv4(address), None) => Ok(HostPattern::Address(address.into())),
        (Host::Ipv6(address), None) => Ok(HostPattern::Address(IpAddr::V6(address).to_canonical())),
        (Host::Ipv4(_) | Host::Ipv6(_), Some(_)) => Err(WRONG),
    }
}

fn port_pattern(text: &str) -> Result<PortPattern, &'static str> {
    if text == "*" {
        return Ok(PortPattern::Any);
    }
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| digits)
        .map(PortPattern::This)
        .ok_or("has a port that is neither * nor a number")
}
