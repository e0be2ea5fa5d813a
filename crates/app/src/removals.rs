//! What the user removed and can still bring back: a server with its secrets and permissions, a profile with the
//! servers of its projects, or a rule. A removal takes effect at once; only what can't be made again is kept for a
//! while. What is left of it goes when that time is over or Gatehouse quits, and after a crash at the next start, since
//! then no server has it.
//!
//! Nothing of this is written to the disk, so nobody can change what an undo brings back.

use std::time::Duration;

use gatehouse_model::profile::ProjectEntry;
use gatehouse_model::{ErrorCode, Profile, RemovalId, ServerConfig, ServerId, UserError, message};
use gatehouse_servers::{LastState, ListPosition};
use gatehouse_tools::RemovedPermissions;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// For how long a removal can be undone. Longer than any notice about it is shown.
pub(crate) const UNDO_TIME: Duration = Duration::from_secs(30);
/// Most removals that can be undone at the same time; further ones are final.
const MAX_PENDING: usize = 32;

/// Something that was removed.
pub(crate) enum RemovedItem {
    Server(Box<RemovedServer>),
    Profile(Box<RemovedProfile>),
    Rule(RemovedPermissions),
}

/// A server that was removed; its secrets and its sign-in are still stored.
pub(crate) struct RemovedServer {
    pub(crate) config: ServerConfig,
    /// Where it was in the list of servers.
    pub(crate) position: ListPosition,
    pub(crate) last: LastState,
    pub(crate) permissions: RemovedPermissions,
}

/// A profile that was removed, with the servers of its projects.
pub(crate) struct RemovedProfile {
    pub(crate) profile: Profile,
    pub(crate) entries: Vec<ProjectEntry>,
    pub(crate) servers: Vec<RemovedServer>,
}

impl RemovedItem {
    /// The servers whose secrets are still stored.
    pub(crate) fn servers(&self) -> &[RemovedServer] {
        match self {
            Self::Server(server) => std::slice::from_ref(&**server),
            Self::Profile(removed) => &removed.servers,
            Self::Rule(_) => &[],
        }
    }

    fn permissions(&mut self) -> Vec<&mut RemovedPermissions> {
        match self {
            Self::Server(server) => vec![&mut server.permissions],
            Self::Profile(removed) => {
                removed.servers.iter_mut().map(|server| &mut server.permissions).collect()
            }
            Self::Rule(permissions) => vec![permissions],
        }
    }
}

struct PendingRemoval {
    id: RemovalId,
    item: RemovedItem,
}

/// The removals that can still be undone, oldest first.
#[derive(Default)]
pub(crate) struct Removals {
    pending: Mutex<Vec<PendingRemoval>>,
    quitting: CancellationToken,
    tasks: TaskTracker,
}

impl Removals {
    /// Takes a removal out, the last one where none is named. The caller holds the lock of the servers, so that what is
    /// kept isn't deleted meanwhile.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is none, or it is too late.
    pub(crate) fn take(&self, wanted: Option<&RemovalId>) -> Result<(RemovalId, RemovedItem), UserError> {
        let mut pending = self.pending.lock();
        let place = place_of(&pending, wanted)?;
        let PendingRemoval { id, item } = pending.remove(place);
        Ok((id, item))
    }

    /// Looks at a removal that stays, the last one where none is named.
    ///
    /// # Errors
    /// As for [`Removals::take`].
    pub(crate) fn look_at<T>(
        &self,
        wanted: Option<&RemovalId>,
        look: impl FnOnce(&RemovedItem) -> T,
    ) -> Result<(RemovalId, T), UserError> {
        let pending = self.pending.lock();
        let place = place_of(&pending, wanted)?;
        let removal = pending.get(place).ok_or_else(no_removal)?;
        Ok((removal.id.clone(), look(&removal.item)))
    }

    /// Puts a removal back that couldn't be undone; it still ends when it would have.
    pub(crate) fn put_back(&self, id: RemovalId, item: RemovedItem) {
        self.pending.lock().push(PendingRemoval { id, item });
    }

    /// Everything is paused: allows with a limited lifetime end for good, also those that were removed (PERM-13).
    pub(crate) fn drop_temporary_allows(&self) {
        for removal in self.pending.lock().iter_mut() {
            removal.item.permissions().into_iter().for_each(RemovedPermissions::drop_temporary_allows);
        }
    }

    /// The servers that can come back.
    pub(crate) fn servers(&self) -> Vec<ServerConfig> {
        let pending = self.pending.lock();
        let servers = pending.iter().flat_map(|removal| removal.item.servers());
        servers.map(|removed| removed.config.clone()).collect()
    }

    /// The list of servers as it would be if every removal was undone, the last one first.
    pub(crate) fn full_list(&self, servers: &[ServerConfig]) -> Vec<ServerId> {
        let mut list = ids(servers);
        let pending = self.pending.lock();
        for removed in pending.iter().flat_map(|removal| removal.item.servers()).rev() {
            list.insert(removed.position.index_in(&list), removed.config.id.clone());
        }
        list
    }

    /// Adds a removal, unless there are too many or the random numbers fail.
    pub(crate) fn add(&self, item: RemovedItem) -> Result<RemovalId, RemovedItem> {
        let mut pending = self.pending.lock();
        match getrandom::u64() {
            Ok(bits) if pending.len() < MAX_PENDING && !self.quitting.is_cancelled() => {
                let id = RemovalId::from_random(bits);
                pending.push(PendingRemoval { id: id.clone(), item });
                Ok(id)
            }
            Ok(_) | Err(_) => Err(item),
        }
    }

    /// Runs what completes a removal when it is too late for an undo, or when Gatehouse quits.
    pub(crate) fn when_due(&self, complete: impl Future<Output = ()> + Send + 'static) {
        let quitting = self.quitting.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = quitting.cancelled() => {}
                () = tokio::time::sleep(UNDO_TIME) => {}
            }
            complete.await;
        });
    }

    /// Completes every removal.
    pub(crate) async fn shutdown(&self) {
        self.quitting.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// The ids of servers, in their order.
pub(crate) fn ids(servers: &[ServerConfig]) -> Vec<ServerId> {
    servers.iter().map(|config| config.id.clone()).collect()
}

/// Where a removal is among those that can still be undone.
fn place_of(pending: &[PendingRemoval], wanted: Option<&RemovalId>) -> Result<usize, UserError> {
    let place = match wanted {
        Some(id) => pending.iter().position(|removal| removal.id == *id),
        None => pending.len().checked_sub(1),
    };
    place.ok_or_else(no_removal)
}

fn no_removal() -> UserError {
    UserError::new(ErrorCode::NotFound, message!("error.app.noRemoval"))
        .with_hint(message!("error.app.noRemovalHint"))
}
