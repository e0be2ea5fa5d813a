//! What all actors of a manager share: where events go, who runs, and the number that rises with
//! every change. It holds no connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_model::{Event, EventSink, ServerId};
use parking_lot::Mutex;
use tokio::sync::watch;

/// Shared by all actors.
pub(crate) struct Roster {
    events: Arc<dyn EventSink>,
    revision: watch::Sender<u64>,
    running: Mutex<BTreeSet<ServerId>>,
}

impl Roster {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Self {
        Self { events, revision: watch::Sender::new(0), running: Mutex::new(BTreeSet::new()) }
    }

    /// Publishes an event.
    pub(crate) fn emit(&self, event: Event) {
        self.events.emit(event);
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
