//! Finds the peer process of a connection and its parent processes (PERM-9), as the operating system reports
//! them.
//!
//! The lookup happens once per connection, when it is first needed, and is limited in time. What can't be
//! determined is unknown. It isn't authentication: any program of the user can be the peer process, so it is
//! shown to the user, and a grant that was given to another program requires a new approval.

mod program;
mod socket;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use gatehouse_model::approval::PeerProcess;
use gatehouse_tools::Peer;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

pub(crate) use self::socket::LoopbackTarget;

/// After this time the peer process stays unknown.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of recent peer processes that are remembered, latest first: most connections come from one of
/// them.
const MAX_RECENT: usize = 32;

/// Looks up peer processes.
#[derive(Default)]
pub(crate) struct PeerResolver {
    recent: Mutex<VecDeque<u32>>,
}

/// The two socket addresses of a connection, with the cached peer process.
pub(crate) struct ConnectionPeer {
    remote: SocketAddr,
    local: SocketAddr,
    peer: OnceCell<Peer>,
}

impl ConnectionPeer {
    /// `remote` is the client's address, `local` is ours.
    pub(crate) fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self { remote, local, peer: OnceCell::new() }
    }

    /// The peer process. Looked up on the first call.
    pub(crate) async fn peer(&self, resolver: &PeerResolver) -> Peer {
        let resolve = || async {
            let found = tokio::time::timeout(LOOKUP_TIMEOUT, resolver.resolve(self.remote, self.local)).await;
            found.ok().flatten().unwrap_or_else(Peer::unseen)
        };
        self.peer.get_or_init(resolve).await.clone()
    }
}

impl PeerResolver {
    /// The program that listens at an address, if it is certain which one.
    pub(crate) async fn listener(&self, target: LoopbackTarget) -> Option<PeerProcess> {
        let find = async { inspect_process(socket::listener(target).await?).await };
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, find).await.ok().flatten()?;
        found.seen_from.map(|seen| (*seen).clone())
    }

    async fn resolve(&self, remote: SocketAddr, local: SocketAddr) -> Option<Peer> {
        let recent: Vec<u32> = self.recent.lock().iter().copied().collect();
        let pid = socket::owner(remote, local, recent).await?;
        self.remember(pid);
        inspect_process(pid).await
    }

    /// Tries this process first for the next connections.
    pub(crate) fn remember(&self, pid: u32) {
        let mut recent = self.recent.lock();
        recent.retain(|known| *known != pid);
        recent.push_front(pid);
        recent.truncate(MAX_RECENT);
    }
}

/// Describes a process and its parents; `None` if it no longer exists. Gatehouse's own programs only forward
/// for others, so the process that started them is reported instead.
pub async fn inspect_process(pid: u32) -> Option<Peer> {
    tokio::task::spawn_blocking(move || program::process_chain(pid)).await.ok().flatten()
}

/// The folder that a process works in, without links; `None` if the system doesn't tell, or the folder isn't there for
/// Gatehouse.
pub async fn working_folder(pid: u32) -> Option<PathBuf> {
    tokio::task::spawn_blocking(move || program::working_folder(pid)).await.ok().flatten()
}
