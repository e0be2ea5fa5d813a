//! Whether an address goes to a host (PERM-5).
//!
//! Parsers disagree about addresses, so a yes needs one that is written plainly: nothing before an `@`,
//! no backslash, no blanks, and the host to the letter as it stands in the condition. A no needs that
//! no reading of the host is the one of the condition.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::Held;
use crate::places::is_of_network;

/// Schemes whose addresses name a host on the network as the URL standard reads it, and their usual ports.
const NETWORK: [(&str, u16); 5] = [("http", 80), ("https", 443), ("ws", 80), ("wss", 443), ("ftp", 21)];

/// Where an address has to go.
#[derive(Debug)]
pub(super) struct Wanted {
    host: Host<String>,
    /// The usual port of the address's scheme where absent.
    port: Option<u16>,
}

impl Wanted {
    /// `None` where the text is no host.
    pub(super) fn new(host: &str, port: Option<u16>) -> Option<Self> {
        Some(Self { host: read(host)?, port })
    }
}

fn read(text: &str) -> Option<Host<String>> {
    Host::parse(text.trim_end_matches('.')).ok()
}

pub(super) fn host_is(text: &str, wanted: &Wanted) -> Held {
    let odd = |c: char| c == '\\' || c.is_whitespace() || c.is_control();
    let Ok(url) = Url::parse(text) else { return Held::Unknown };
    if text.contains(odd) || !url.username().is_empty() || url.password().is_some() {
        return Held::Unknown;
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Held::Unknown };
    let Some(host) = url.host_str().map(str::to_ascii_lowercase) else {
        let is_file = scheme.eq_ignore_ascii_case("file");
        // Some readers take `file:////host/share` for a share.
        return if is_file && !is_of_network(text) { Held::No } else { Held::Unknown };
    };
    let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // Some old readers look for the `@` beyond the end of the authority.
    if authority.contains(['@', '%']) || (!after.starts_with('/') && after.contains('@')) {
        return Held::Unknown;
    }
    let written = without_port(authority, &url);
    if !is_exactly(&host, &wanted.host) {
        return if may_be(&host, written, &wanted.host) { Held::Unknown } else { Held::No };
    }
    if !written.eq_ignore_ascii_case(&host) {
        return Held::Unknown;
    }
    // What another scheme does with a host (a file share, a script) is its own affair.
    let Some((_, usual)) = NETWORK.iter().find(|(scheme, _)| *scheme == url.scheme()) else {
        return Held::Unknown;
    };
    match (url.port().unwrap_or(*usual), wanted.port) {
        (port, None) if port == *usual => Held::Yes,
        // No port was named, so a deny is for all of them.
        (_, None) => Held::Unknown,
        (port, Some(wanted)) => {
            if port == wanted {
                Held::Yes
            } else {
                Held::No
            }
        }
    }
}

fn is_exactly(host: &str, wanted: &Host<String>) -> bool {
    host.strip_suffix('.').unwrap_or(host) == wanted.to_string()
}

/// The host of an authority without its port, be it the usual one or not.
fn without_port<'a>(authority: &'a str, url: &Url) -> &'a str {
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let written = authority.strip_suffix(port.as_str()).unwrap_or(authority);
    let usual = [":80", ":443", ":21"].iter().find_map(|port| written.strip_suffix(port));
    usual.unwrap_or(written).trim_end_matches(':')
}

/// Whether another reader could come to the host of the condition.
fn may_be(host: &str, written: &str, wanted: &Host<String>) -> bool {
    let again = [
        read(host),
        read(written),
        // An older rule for names writes some letters in two, and leaves out joiners.
        read(&written.replace('ß', "ss").replace('ς', "σ").replace(['\u{200c}', '\u{200d}'], "")),
    ];
    again.iter().flatten().any(|host| host == wanted || is_the_same_address(host, wanted))
}

/// An IPv4 address within an IPv6 one is the same place.
fn is_the_same_address(a: &Host<String>, b: &Host<String>) -> bool {
    match (a, b) {
        (Host::Ipv6(six), Host::Ipv4(four)) | (Host::Ipv4(four), Host::Ipv6(six)) => {
            within(*six) == Some(*four)
        }
        _ => false,
    }
}

/// A host as a deny compares it: without a dot at its end, and an IPv4 address within an IPv6 one as that address.
pub(crate) fn plain(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => {
            within(*address).map_or_else(|| format!("[{address}]"), |four| four.to_string())
        }
    }
}

fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}
