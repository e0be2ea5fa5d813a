//! Where a connection was seen from (PERM-9): the program at its other end and the programs that started it,
//! as the operating system tells.
//!
//! It is looked up once for each connection, by whoever needs it first, and never holds a connection up for
//! long. What cannot be found out is unknown. Nothing is decided by it alone: any program of the user can
//! stand there, so it is shown to the user, and a grant that was given to another program asks again.

mod program;
mod socket;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_tools::Peer;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// After this time the other end stays unknown.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many processes are remembered, the latest first: most connections come from one that was seen before.
const REMEMBERED: usize = 32;

/// Finds out who is at the other end.
#[derive(Default)]
pub(crate) struct Watch {
    latest: Mutex<VecDeque<u32>>,
}

/// The two ends of one connection.
pub(crate) struct Ends {
    far: SocketAddr,
    near: SocketAddr,
    peer: OnceCell<Peer>,
}

impl Ends {
    /// The ends of a connection: the client's and ours.
    pub(crate) fn new(far: SocketAddr, near: SocketAddr) -> Self {
        Self { far, near, peer: OnceCell::new() }
    }

    /// Who is at the other end. Looks it up at the first time.
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

/// What a process is and who started it; `None` when it is gone. Gatehouse's own programs only pass on what
/// others say, so whoever started them stands in their place.
pub async fn of_process(pid: u32) -> Option<Peer> {
    tokio::task::spawn_blocking(move || program::chain(pid)).await.ok().flatten()
}
