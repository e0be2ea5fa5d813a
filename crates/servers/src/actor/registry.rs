//! State that all actors of a manager share: the event sink, the set of running servers, and a
//! revision number that increases with every change. It holds no connections.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::{Event, EventSink, ServerId};
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

/// State that all actors share.
pub(crate) struct SharedRegistry {
    events: Arc<dyn EventSink>,
    revision: watch::Sender<u64>,
    running: Mutex<BTreeSet<ServerId>>,
    updates: broadcast::Sender<ResourceUpdate>,
}

/// The server announced that a resource changed (`notifications/resources/notify_resource_update`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUpdate {
    pub server: ServerId,
    /// The resource's URI on that server.
    pub uri: String,
}

/// Capacity of the broadcast channel; slower receivers miss updates.
const UPDATES: usize = 1024;

impl SharedRegistry {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Self {
        Self {
            events,
            revision: watch::Sender::new(0),
            running: Mutex::new(BTreeSet::new()),
            updates: broadcast::Sender::new(UPDATES),
        }
    }

    pub(crate) fn emit(&self, event: Event) {
        self.events.emit(event);
    }

    /// Broadcasts that a resource changed.
    pub(crate) fn notify_resource_update(&self, server: &ServerId, uri: &str) {
        if self.updates.send(ResourceUpdate { server: server.clone(), uri: uri.to_owned() }).is_err() {
            tracing::trace!("nobody listens for resources that change");
        }
    }

    pub(crate) fn updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.updates.subscribe()
    }

    /// Increments the revision: the state that can be read has changed.
    pub(crate) fn changed(&self) {
        self.revision.send_modify(|revision| *revision = revision.wrapping_add(1));
    }

    pub(crate) fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Records whether a server is running. Emits events only if that changed.
    pub(crate) fn set_running(&self, server: &ServerId, runs: bool) {
        let (changed, all) = {
            let mut running = self.running.lock();
            let changed = if runs { running.insert(server.clone()) } else { running.remove(server) };
            (changed, running.iter().cloned().collect())
        };
        if changed {
            let server = server.clone();
            self.emit(if runs { Event::ServerStarted { server } } else { Event::ServerStopped { server } });
            self.emit(Event::RunningServers { servers: all });
        }
    }
}
