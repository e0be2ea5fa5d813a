//! Whether a URL goes to a given host (PERM-5).
//!
//! URL parsers disagree, so `Yes` requires an unambiguous URL: no user info, no backslash, no white space or
//! control characters, and the host written exactly as in the condition. `No` requires that no interpretation
//! of the host equals the condition's host.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::ConditionOutcome;
use crate::uri_destination::is_network_uri;

/// Network schemes whose authority is parsed as the URL standard does, with their default ports.
const NETWORK: [(&str, u16); 5] = [("http", 80), ("https", 443), ("ws", 80), ("wss", 443), ("ftp", 21)];

/// The host and port that a condition requires.
#[derive(Debug)]
pub(super) struct HostCondition {
    host: Host<String>,
    /// If absent, the default port of the URL's scheme.
    port: Option<u16>,
}

impl HostCondition {
    /// `None` if the text isn't a valid host.
    pub(super) fn new(host: &str, port: Option<u16>) -> Option<Self> {
        Some(Self { host: read(host)?, port })
    }
}

fn read(text: &str) -> Option<Host<String>> {
    Host::parse(text.trim_end_matches('.')).ok()
}

pub(super) fn match_host(text: &str, wanted: &HostCondition) -> ConditionOutcome {
    let odd = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    let Ok(url) = Url::parse(text) else { return ConditionOutcome::Unknown };
    if text.contains(odd) || !url.username().is_empty() || url.password().is_some() {
        return ConditionOutcome::Unknown;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return ConditionOutcome::Unknown };
    let Some(host) = url.host_str().map(str::to_ascii_lowercase) else {
        let is_file = scheme.eq_ignore_ascii_case("file");
        // Some parsers read `file:////host/share` as a network share.
        return if is_file && !is_network_uri(text) {
            ConditionOutcome::No
        } else {
            ConditionOutcome::Unknown
        };
    };
    let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // Some old parsers look for the `@` beyond the end of the authority.
    if authority.contains(['@', '%']) || (!after.starts_with('/') && after.contains('@')) {
        return ConditionOutcome::Unknown;
    }
    let written = without_port(authority, &url);
    if !is_exactly(&host, &wanted.host) {
        return if may_name_host(&host, written, &wanted.host) {
            ConditionOutcome::Unknown
        } else {
            ConditionOutcome::No
        };
    }
    if !written.eq_ignore_ascii_case(&host) {
        return ConditionOutcome::Unknown;
    }
    // How other schemes use the host (file share, script) is unknown.
    let Some((_, usual)) = NETWORK.iter().find(|(scheme, _)| *scheme == url.scheme()) else {
        return ConditionOutcome::Unknown;
    };
    match (url.port().unwrap_or(*usual), wanted.port) {
        (port, None) if port == *usual => ConditionOutcome::Yes,
        // The condition has no port: an allow covers only the default port, a deny covers all ports.
        (_, None) => ConditionOutcome::Unknown,
        (port, Some(wanted)) => {
            if port == wanted {
                ConditionOutcome::Yes
            } else {
                ConditionOutcome::No
            }
        }
    }
}

fn is_exactly(host: &str, wanted: &Host<String>) -> bool {
    host.strip_suffix('.').unwrap_or(host) == wanted.to_string()
}

/// The host part of an authority, without the port (default or not).
fn without_port<'a>(authority: &'a str, url: &Url) -> &'a str {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let written = authority.strip_suffix(port.as_str()).unwrap_or(authority);
    let usual = [":80", ":443", ":21"].iter().find_map(|port| written.strip_suffix(port));
    usual.unwrap_or(written).trim_end_matches(':')
}

/// Whether another parser could read the host as the condition's host.
fn may_name_host(host: &str, written: &str, wanted: &Host<String>) -> bool {
    let again = [
        read(host),
        read(written),
        // IDNA 2003 maps `ß` to `ss` and `ς` to `σ`, and drops zero-width joiners.
        read(&written.replace('ß', "ss").replace('ς', "σ").replace(['\u{200c}', '\u{200d}'], "")),
    ];
    again.iter().flatten().any(|host| host == wanted || is_same_address(host, wanted))
}

/// An IPv4-mapped or otherwise embedded IPv6 address reaches the same host as the IPv4 address in it.
fn is_same_address(a: &Host<String>, b: &Host<String>) -> bool {
    match (a, b) {
        (Host::Ipv6(six), Host::Ipv4(four)) | (Host::Ipv4(four), Host::Ipv6(six)) => {
            embedded_ipv4(*six) == Some(*four)
        }
        _ => false,
    }
}

/// Normalizes a host for comparison by denies: no trailing dot, and an IPv4 address embedded in IPv6 as IPv4.
pub(crate) fn plain(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => {
            embedded_ipv4(*address).map_or_else(|| format!("[{address}]"), |four| four.to_string())
        }
    }
}

fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}
