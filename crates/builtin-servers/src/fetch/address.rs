//! Decides which addresses `Fetch` may connect to. A name is resolved once, the addresses are
//! checked, and only those that pass are given to the connection, so that no second look-up can
//! return another address (DNS rebinding).

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Whether an address may be connected to.
pub(super) type AddressRule = fn(IpAddr) -> bool;

/// Resolves names.
pub(super) trait Lookup: Send + Sync {
    /// All addresses of a name.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
pub(super) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
        })
    }
}

/// An address that the rule rejects; for a name, all of its addresses are rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Fetch does not connect to {}, which is not on the public internet. If it should, the user can allow private addresses in this server's settings.",
    self.place()
)]
pub(super) struct AddressRefused {
    /// The name, unless the URL contained the address itself.
    pub(super) name: Option<String>,
    pub(super) address: IpAddr,
}

impl AddressRefused {
    fn place(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} (its address is {})", self.address),
            None => self.address.to_string(),
        }
    }

    /// Finds this error among the sources of an error of the HTTP client.
    pub(super) fn find_in<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
    }
}

/// Resolves names for the HTTP client, leaving out the addresses that the rule rejects.
pub(super) struct CheckedResolver {
    pub(super) rule: AddressRule,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for CheckedResolver {
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
                    Err(AddressRefused { name: Some(name), address: *address }.into())
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
