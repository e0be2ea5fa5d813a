//! Which addresses `Fetch` may connect to. A name is looked up once, what it led to is checked, and
//! only what passed is handed to the connection, so that no second look-up can lead elsewhere.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
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
