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
use std::time::Duration;

use gatehouse_tools::Peer;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// After this time the peer process stays unknown.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of recent peer processes that are remembered, latest first: most connections come from a process
/// that was seen before.
const REMEMBERED: usize = 32;

/// Looks up peer processes.
#[derive(Default)]
pub(crate) struct Watch {
    latest: Mutex<VecDeque<u32>>,
}

/// The two socket addresses of a connection, with the cached peer process.
pub(crate) struct Ends {
    far: SocketAddr,
    near: SocketAddr,
    peer: OnceCell<Peer>,
}

impl Ends {
    /// `far` is the client's address, `near` is ours.
    pub(crate) fn new(far: SocketAddr, near: SocketAddr) -> Self {
        Self { far, near, peer: OnceCell::new() }
    }

    /// The peer process. Looked up on the first call.
    pub(crate) async fn peer(&self, watch: &Watch) -> Peer {
        let look = || async {
            let found = tokio::time::timeout(PATIENCE, watch.look(self.far, self.near)).await;
            found.ok().flatten().unwrap_or_else(Peer::unseen)
        };
        self.peer.get_or_init(look).await.clone()
    }
}

impl Watch {
    async fn look(&self, far: SocketAddr, near: SocketAddr) -> Option<Peer> {
        let latest: Vec<u32> = self.latest.lock().iter().copied().collect();
        let pid = socket::owner(far, near, latest).await?;
        self.remember(pid);
        of_process(pid).await
    }

    fn remember(&self, pid: u32) {
        let mut latest = self.latest.lock();
        latest.retain(|known| *known != pid);
        latest.push_front(pid);
        latest.truncate(REMEMBERED);
    }
}

/// Describes a process and its parents; `None` if it no longer exists. Gatehouse's own programs only forward
/// for others, so the process that started them is reported instead.
pub async fn of_process(pid: u32) -> Option<Peer> {
    tokio::task::spawn_blocking(move || program::chain(pid)).await.ok().flatten()
}
