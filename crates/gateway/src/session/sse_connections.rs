//! The open connections of HTTP+SSE (2024-11-05): each is one stream of events, to whose session the client posts
//! messages. A connection and its session end together.
//!
//! Their number needs no limit of its own: each holds one of the client's connections, which are limited.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gatehouse_model::ClientId;
use gatehouse_tools::{Narrowing, ServerSelection, Viewer};
use parking_lot::Mutex;

use crate::clients::client_state::ClientState;
use crate::session::event_log::EventLog;
use crate::session::sessions::Session;

/// One connection.
pub(crate) struct SseConnection {
    /// The `sessionId` in the address for messages.
    pub(crate) id: String,
    /// The client that opened it.
    pub(crate) client: Arc<ClientState>,
    /// What narrows the view of the bridge that opened it.
    pub(crate) narrowing: Narrowing,
    /// The servers of the endpoint.
    pub(crate) servers: ServerSelection,
    /// The stream.
    pub(crate) log: Arc<EventLog>,
    /// Set by `initialize`.
    pub(crate) session: OnceLock<Arc<Session>>,
}

/// The open connections.
#[derive(Default)]
pub(crate) struct SseConnections(Mutex<HashMap<String, Arc<SseConnection>>>);

impl SseConnections {
    pub(crate) fn insert(&self, connection: &Arc<SseConnection>) {
        self.0.lock().insert(connection.id.clone(), Arc::clone(connection));
    }

    /// The connection with this id, if it belongs to this client, endpoint and bridge.
    pub(crate) fn find(
        &self,
        id: &str,
        viewer: &Viewer,
        servers: &ServerSelection,
    ) -> Option<Arc<SseConnection>> {
        let open = self.0.lock();
        open.get(id)
            .filter(|connection| {
                connection.client.entry.id == viewer.client
                    && connection.narrowing.is_same_bridge(&viewer.narrowing)
                    && connection.servers == *servers
            })
            .cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// Ends the streams of one client that were opened with an invalidated token.
    pub(crate) fn end_for_client(&self, client: &ClientId) {
        self.end_where(|connection| {
            connection.client.entry.id == *client && connection.client.disconnected.is_cancelled()
        });
    }

    pub(crate) fn end_all(&self) {
        self.end_where(|_| true);
    }

    fn end_where(&self, is_ended: impl Fn(&SseConnection) -> bool) {
        let ended: Vec<_> =
            self.0.lock().extract_if(|_, connection| is_ended(connection)).map(|(_, ended)| ended).collect();
        for connection in ended {
            connection.log.end();
        }
    }
}
