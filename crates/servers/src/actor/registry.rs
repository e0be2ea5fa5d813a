//! State that all actors of a manager share: the event sink, the set of running servers, and a
//! revision number that increases with every change. It holds no connections.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatehouse_mcp_client::ForwardedNotification;
use gatehouse_model::{Event, EventSink, ServerId};
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

/// State that all actors share.
pub(crate) struct SharedRegistry {
    events: Arc<dyn EventSink>,
    revision: watch::Sender<u64>,
    running: Mutex<BTreeSet<ServerId>>,
    notifications: broadcast::Sender<ServerNotification>,
}

/// A notification of a server that is passed on to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerNotification {
    pub server: ServerId,
    pub notification: ForwardedNotification,
}

/// Capacity of the broadcast channel; slower receivers miss notifications.
const NOTIFICATIONS: usize = 1024;

impl SharedRegistry {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Self {
        Self {
            events,
            revision: watch::Sender::new(0),
            running: Mutex::new(BTreeSet::new()),
            notifications: broadcast::Sender::new(NOTIFICATIONS),
        }
    }

    pub(crate) fn emit(&self, event: Event) {
        self.events.emit(event);
    }

    /// Broadcasts a notification of a server.
    pub(crate) fn notify(&self, server: &ServerId, notification: ForwardedNotification) {
        if self.notifications.send(ServerNotification { server: server.clone(), notification }).is_err() {
            tracing::trace!("nobody listens for notifications of servers");
        }
    }

    pub(crate) fn notifications(&self) -> broadcast::Receiver<ServerNotification> {
        self.notifications.subscribe()
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
