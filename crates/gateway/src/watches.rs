//! Which resources a client is told of: per session, or per listening stream. Each stands for one
//! watch at the server, which is given back when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::ServerId;
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::door::ToolDoor;

/// A resource where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Watched {
    /// Whose it is.
    pub(crate) server: ServerId,
    /// Its URI there.
    pub(crate) target: String,
}

/// The resources that one listener is told of, with the URIs that it knows them by.
#[derive(Default)]
pub(crate) struct Watches(Mutex<HashMap<Watched, String>>);

impl Watches {
    /// Whether this one is watched.
    pub(crate) fn has(&self, watched: &Watched) -> bool {
        self.0.lock().contains_key(watched)
    }

    /// Enters one; `false` when it is there already.
    pub(crate) fn enter(&self, watched: Watched, uri: String) -> bool {
        self.0.lock().insert(watched, uri).is_none()
    }

    /// Takes one out; `false` when it is not there.
    pub(crate) fn leave(&self, watched: &Watched) -> bool {
        self.0.lock().remove(watched).is_some()
    }

    /// The URI that the listener knows a resource by.
    pub(crate) fn uri(&self, watched: &Watched) -> Option<String> {
        self.0.lock().get(watched).cloned()
    }

    /// All URIs, in order.
    pub(crate) fn uris(&self) -> Vec<String> {
        let mut uris: Vec<String> = self.0.lock().values().cloned().collect();
        uris.sort();
        uris
    }

    /// Gives all of them back.
    pub(crate) fn end(&self, door: &Arc<dyn ToolDoor>, tasks: &TaskTracker) {
        for (watched, _) in self.0.lock().drain() {
            give_back(door, tasks, watched);
        }
    }
}

/// Gives one watch back to the server.
pub(crate) fn give_back(door: &Arc<dyn ToolDoor>, tasks: &TaskTracker, watched: Watched) {
    tasks.spawn(door.unwatch(watched.server, watched.target));
}
