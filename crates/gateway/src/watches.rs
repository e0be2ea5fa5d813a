//! Resource subscriptions of clients, per session or per listening stream. Each holds one subscription at the
//! server, which is released when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::ServerId;
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::door::ToolDoor;

/// A resource and its server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Watched {
    pub(crate) server: ServerId,
    /// Its URI at the server.
    pub(crate) target: String,
}

/// The resources that one session or stream subscribed to, with the URIs that the client knows them by.
#[derive(Default)]
pub(crate) struct Watches(Mutex<HashMap<Watched, String>>);

impl Watches {
    pub(crate) fn has(&self, watched: &Watched) -> bool {
        self.0.lock().contains_key(watched)
    }

    /// Adds a subscription; `false` if it exists.
    pub(crate) fn enter(&self, watched: Watched, uri: String) -> bool {
        self.0.lock().insert(watched, uri).is_none()
    }

    /// Removes a subscription; `false` if there is none.
    pub(crate) fn leave(&self, watched: &Watched) -> bool {
        self.0.lock().remove(watched).is_some()
    }

    /// The URI that the client knows a resource by.
    pub(crate) fn uri(&self, watched: &Watched) -> Option<String> {
        self.0.lock().get(watched).cloned()
    }

    /// All URIs, sorted.
    pub(crate) fn uris(&self) -> Vec<String> {
        let mut uris: Vec<String> = self.0.lock().values().cloned().collect();
        uris.sort();
        uris
    }

    /// Releases all subscriptions.
    pub(crate) fn end(&self, door: &Arc<dyn ToolDoor>, tasks: &TaskTracker) {
        for (watched, _) in self.0.lock().drain() {
            give_back(door, tasks, watched);
        }
    }
}

/// Releases one subscription at the server.
pub(crate) fn give_back(door: &Arc<dyn ToolDoor>, tasks: &TaskTracker, watched: Watched) {
    tasks.spawn(door.unwatch(watched.server, watched.target));
}
