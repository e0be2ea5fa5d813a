//! What all actors of a manager share: where events go, who runs, and the number that rises with
//! every change. It holds no connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::{Event, EventSink, ServerId};
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

/// Shared by all actors.
pub(crate) struct Roster {
    events: Arc<dyn EventSink>,
    revision: watch::Sender<u64>,
    running: Mutex<BTreeSet<ServerId>>,
    updates: broadcast::Sender<Updated>,
}

/// A resource changed, as its server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The server.
    pub server: ServerId,
    /// The resource's URI there.
    pub uri: String,
}

/// Updates that wait for whoever is slow to take them.
const UPDATES: usize = 1024;

impl Roster {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Self {
        Self {
            events,
            revision: watch::Sender::new(0),
            running: Mutex::new(BTreeSet::new()),
            updates: broadcast::Sender::new(UPDATES),
        }
    }

    /// Publishes an event.
    pub(crate) fn emit(&self, event: Event) {
        self.events.emit(event);
    }

    /// Tells those who listen of a resource that changed.
    pub(crate) fn updated(&self, server: &ServerId, uri: &str) {
        if self.updates.send(Updated { server: server.clone(), uri: uri.to_owned() }).is_err() {
            tracing::trace!("nobody listens for resources that change");
        }
    }

    pub(crate) fn updates(&self) -> broadcast::Receiver<Updated> {
        self.updates.subscribe()
    }

    /// Something that can be read has changed.
    pub(crate) fn changed(&self) {
        self.revision.send_modify(|revision| *revision = revision.wrapping_add(1));
    }

    pub(crate) fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// A server runs, or no longer does. Says so once.
    pub(crate) fn runs(&self, server: &ServerId, runs: bool) {
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
