//! Which addresses `Fetch` may connect to. A name is looked up once, what it led to is checked, and
//! only what passed is handed to the connection, so that no second look-up can lead elsewhere.

use std::error::Error;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Whether an address may be connected to.
pub(super) type Rule = fn(IpAddr) -> bool;

/// Finds the addresses of a name.
pub(super) trait Lookup: Send + Sync {
    /// All of them.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// As the system does it.
pub(super) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
        })
    }
}

/// An address, or all those of a name, that the rule refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Fetch does not connect to {}, which is not on the public internet. If it should, the user can allow private addresses in this server's settings.",
    self.place()
)]
pub(super) struct Refused {
    /// The name, where it was not an address itself.
    pub(super) name: Option<String>,
    /// The address.
    pub(super) address: IpAddr,
}

impl Refused {
    fn place(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} (its address is {})", self.address),
            None => self.address.to_string(),
        }
    }

    /// Finds a refusal among the causes of a fault of the HTTP client.
    pub(super) fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
    }
}

/// Looks names up for the HTTP client and leaves out what the rule refuses.
pub(super) struct Checked {
    pub(super) rule: Rule,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let rule = self.rule;
        let name = name.as_str().to_owned();
        let found = self.lookup.lookup(name.clone());
        Box::pin(async move {
            let found = found.await?;
            let (allowed, refused): (Vec<IpAddr>, Vec<IpAddr>) =
                found.into_iter().partition(|address| rule(*address));
            match refused.first() {
                Some(address) if allowed.is_empty() => {
                    Err(Refused { name: Some(name), address: *address }.into())
                }
                _ => {
                    let addresses: Addrs =
                        Box::new(allowed.into_iter().map(|address| SocketAddr::new(address, 0)));
                    Ok(addresses)
                }
            }
        })
    }
}

/// Whether an address is one of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // What is no longer or not yet in use is no place of a web page either.
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
        // Mapped, as a NAT64 gateway makes them, and 6to4: what counts is where they lead.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Teredo holds the addresses of its server and, inverted, of its client.
        [0x2001, 0, high, low, .., client_high, client_low] => {
            embedded(high, low) && embedded(!client_high, !client_low)
        }
        // Protocols' own, and documentation.
        [0x2001, 0..=0x1ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Everything else that is public lies in 2000::/3.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
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
            "2002:0a00:0001::1",
            "2002:7f00:0001::1",
            // The server 10.0.0.1; then the client 192.168.0.1 inverted.
            "2001:0:a00:1:0:0:fefe:fefe",
            "2001:0:808:808:0:0:3f57:fffe",
            "3fff::1",
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
