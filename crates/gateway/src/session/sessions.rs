//! Sessions of the stateful revisions: the client of each, its calls in flight, the server requests to it, and its streams
//! (`sessions/streams.rs`).
//!
//! A session belongs to the client that opened it and is invisible to all others. When it ends, and how it is found, is in
//! `session/client_sessions.rs`.

mod roots;
mod streams;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ServerId, SessionId};
use gatehouse_store::{SavedSession, SavedSessionId};
use gatehouse_tools::{
    Caller, CancelReason, CatalogViewKey, ForwardedNotification, Narrowing, NotificationKind, Peer,
    ProtocolFamily, ServerNotification, ServerRequestResult, ServerSelection, Viewer,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::roots::RootsRequests;
use self::streams::SessionStreams;
use crate::clients::capabilities::ClientCapabilities;
use crate::clients::client_state::ClientState;
use crate::clients::tool_list_use::ToolListUse;
use crate::revision::Revision;
use crate::session::event_log::EventLog;
use crate::session::identity::{ResumableSession, SessionIdentity, SessionInit};
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscriptions, updated_params};
use crate::session::snapshots::{SessionSnapshot, SnapshotOrder};

/// Maximum number of calls in flight per session.
const MAX_CALLS_IN_FLIGHT: usize = 1024;

/// Maximum number of open server requests to the client per session.
const MAX_SERVER_REQUESTS: usize = 64;

/// Maximum number of URL elicitations per session whose end is announced to the client; the newest count.
const MAX_ELICITATIONS: usize = 64;

/// Maximum total length of the subscribed URIs that are saved of a session, in bytes. The rest isn't restored.
const MAX_SAVED_URI_BYTES: usize = 16 * 1024;

pub(crate) struct Session {
    /// Unique, also among those of the same session before it was resumed: what is limited to a session ends with the run
    /// of Gatehouse.
    pub(crate) id: SessionId,
    /// The id as its client knows it, the value of `Mcp-Session-Id`.
    pub(crate) header: Box<str>,
    /// `None` if it can't be resumed after a restart.
    pub(crate) saved_as: Option<SavedSessionId>,
    /// The client that opened the session.
    pub(crate) client: Arc<ClientState>,
    /// What narrows its view of the catalog.
    pub(super) narrowing: Mutex<Narrowing>,
    /// The servers of the endpoint at which it was opened. At any other endpoint it doesn't exist.
    pub(crate) servers: ServerSelection,
    /// The negotiated revision.
    pub(crate) revision: Revision,
    /// The declared client capabilities.
    pub(crate) client_capabilities: ClientCapabilities,
    /// The only stream of an HTTP+SSE session, on which everything is sent. With Streamable HTTP, each call may have
    /// its own.
    pub(crate) only_stream: Option<Arc<EventLog>>,
    /// The resources that the client subscribed to.
    pub(crate) resource_subscriptions: ResourceSubscriptions,
    /// Cancelled when the session ends. The cancel tokens of its calls are children of this one.
    pub(crate) ended: CancellationToken,
    client_info: Option<String>,
    /// The numbers of its streams are higher. They are part of ids of events that the client may still use after a
    /// restart, so this is random in a resumed session.
    first_number: u64,
    opened_at: Instant,
    /// Milliseconds from `opened_at` to the last use.
    last_used_ms: AtomicU64,
    calls: Mutex<HashMap<Box<str>, CallCancellation>>,
    server_requests: Mutex<ServerRequests>,
    pub(crate) roots: RootsRequests,
    log_level: Mutex<Option<LogLevel>>,
    elicitations: Mutex<VecDeque<ElicitationRef>>,
    streams: Mutex<SessionStreams>,
    tool_list: ToolListUse,
    /// Which of its states was saved.
    pub(crate) snapshots: SnapshotOrder,
    /// What the client saw of the catalog when it was last told of changed lists.
    view: Mutex<CatalogViewKey>,
}

/// A URL elicitation of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ElicitationRef {
    pub(crate) server: ServerId,
    /// The `elicitationId` that the server gave it.
    pub(crate) id: String,
}

/// Open server requests to the client.
struct ServerRequests {
    /// Part of the ids of the requests. It's different for each session, also after a restart, so that a late
    /// response to a request of another session answers none of this one.
    mark: u64,
    /// Number of the most recent request.
    last_number: u64,
    open: HashMap<String, oneshot::Sender<ServerRequestResult>>,
}

impl ServerRequests {
    fn new() -> Self {
        Self { mark: RandomState::new().hash_one(()), last_number: 0, open: HashMap::new() }
    }
}

/// A server request to the client that waits for its response.
pub(crate) struct OpenRequest {
    /// The id that the gateway gave the request.
    pub(crate) id: String,
    pub(crate) response: oneshot::Receiver<ServerRequestResult>,
}

impl Session {
    pub(super) fn new(identity: SessionIdentity, client: Arc<ClientState>, init: SessionInit) -> Self {
        let SessionIdentity { id, header, saved_as } = identity;
        let SessionInit { servers, revision, client_capabilities, client_info, narrowing, view, only_stream } =
            init;
        let streams = SessionStreams::new(only_stream.clone());
        Self {
            ended: client.disconnected.child_token(),
            id,
            header,
            saved_as,
            client,
            narrowing: Mutex::new(narrowing),
            servers,
            revision,
            client_capabilities,
            only_stream,
            resource_subscriptions: ResourceSubscriptions::default(),
            log_level: Mutex::default(),
            elicitations: Mutex::default(),
            client_info,
            first_number: 0,
            opened_at: Instant::now(),
            last_used_ms: AtomicU64::new(0),
            calls: Mutex::default(),
            server_requests: Mutex::new(ServerRequests::new()),
            roots: RootsRequests::default(),
            streams: Mutex::new(streams),
            tool_list: ToolListUse::default(),
            view: Mutex::new(view),
            snapshots: SnapshotOrder::default(),
        }
    }

    /// A session from before. Every list may have changed since.
    pub(super) fn resumed(resumable: ResumableSession, client: Arc<ClientState>) -> Self {
        let ResumableSession { identity, init, saved, first_number } = resumable;
        let streams = SessionStreams::resumed(first_number);
        Self {
            first_number,
            log_level: Mutex::new(saved.log_level),
            resource_subscriptions: ResourceSubscriptions::to_restore(saved.subscriptions),
            streams: Mutex::new(streams),
            ..Self::new(identity, client, init)
        }
    }

    /// The caller identity for calls in this session from the given peer process.
    pub(crate) fn caller(&self, peer: Peer) -> Caller {
        Caller {
            client: Arc::clone(&self.client.entry),
            narrowing: self.narrowing.lock().clone(),
            session: Some(self.id.clone()),
            client_info: self.client_info.clone(),
            peer,
            protocol_family: ProtocolFamily::Stateful,
            user_run: None,
        }
    }

    /// The client as it sees the catalog in this session.
    pub(crate) fn viewer(&self) -> Viewer {
        Viewer { client: self.client.entry.id.clone(), narrowing: self.narrowing.lock().clone() }
    }

    /// How the client identified itself in `initialize`.
    pub(crate) fn client_info(&self) -> Option<&str> {
        self.client_info.as_deref()
    }

    /// Whether the client wants log messages of this level: until it sets one, it gets what servers send by themselves.
    pub(crate) fn wants_log(&self, level: LogLevel) -> bool {
        self.log_level().is_none_or(|min_level| level >= min_level)
    }

    /// The least severe level of log messages that the client wants; `None` until the client sets it.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock()
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock() = Some(level);
    }

    /// What has to be saved now. `None` if the session has ended: its subscriptions were released then.
    pub(crate) fn snapshot(&self) -> Option<SessionSnapshot> {
        let snapshot = self.snapshots.take(|| {
            let mut subscriptions = self.resource_subscriptions.uris_to_save();
            let mut bytes = 0;
            subscriptions.retain(|uri| {
                bytes += uri.len();
                bytes <= MAX_SAVED_URI_BYTES
            });
            SavedSession { log_level: self.log_level(), subscriptions }
        });
        (!self.ended.is_cancelled()).then_some(snapshot)
    }

    /// Records a use of the session.
    pub(super) fn touch(&self) {
        let millis = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_used_ms.store(millis, Ordering::Relaxed);
    }

    pub(super) fn last_used(&self) -> Instant {
        self.opened_at + Duration::from_millis(self.last_used_ms.load(Ordering::Relaxed))
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.calls.lock().is_empty() || self.streams.lock().is_notification_stream_read()
    }

    /// Registers a call under its request id. `None` if that id is in flight or the session has too many
    /// calls.
    pub(crate) fn register_call(self: &Arc<Self>, id: &str) -> Option<InFlightCall> {
        let cancellation = CallCancellation {
            token: self.ended.child_token(),
            reason: CancelReason::default(),
            by_client: CancellationToken::new(),
        };
        let mut calls = self.calls.lock();
        if calls.len() >= MAX_CALLS_IN_FLIGHT || calls.contains_key(id) {
            return None;
        }
        calls.insert(id.into(), cancellation.clone());
        Some(InFlightCall { session: Arc::clone(self), id: id.into(), cancellation })
    }

    /// Cancels the call with this request id for its client, if it is in flight.
    pub(crate) fn cancel_call(&self, id: &str, reason: Option<&str>) {
        let found = self.calls.lock().get(id).cloned();
        if let Some(cancellation) = found {
            if let Some(reason) = reason {
                cancellation.reason.set(reason);
            }
            cancellation.by_client.cancel();
            cancellation.token.cancel();
        }
    }

    /// Registers a server request to the client. `None` if too many are open.
    pub(crate) fn open_request(&self) -> Option<OpenRequest> {
        let mut server_requests = self.server_requests.lock();
        if server_requests.open.len() >= MAX_SERVER_REQUESTS {
            return None;
        }
        server_requests.last_number += 1;
        let id = format!("gatehouse-{:016x}-{}", server_requests.mark, server_requests.last_number);
        let (sender, response) = oneshot::channel();
        server_requests.open.insert(id.clone(), sender);
        Some(OpenRequest { id, response })
    }

    /// Removes a server request. `true` if it was still open.
    pub(crate) fn withdraw_request(&self, id: &str) -> bool {
        self.server_requests.lock().open.remove(id).is_some()
    }

    /// Delivers the client's response to a server request.
    pub(crate) fn handle_response(&self, id: &str, response: ServerRequestResult) {
        let open = self.server_requests.lock().open.remove(id);
        if open.is_none_or(|open| open.send(response).is_err()) {
            tracing::debug!("a client responded to an unknown request, or too late");
        }
    }

    /// Records that the client was asked to open the page of a server's URL elicitation, so that it is told when the
    /// user has finished with it.
    pub(crate) fn remember_elicitation(&self, elicitation: ElicitationRef) {
        let mut elicitations = self.elicitations.lock();
        if elicitations.len() == MAX_ELICITATIONS {
            elicitations.pop_front();
        }
        elicitations.push_back(elicitation);
    }

    /// Passes on a notification of a server, if it is for this client.
    pub(super) fn notify(&self, notification: &ServerNotification) {
        let ServerNotification { server, notification: ForwardedNotification { kind, params } } =
            notification;
        let is_served = match &self.servers {
            ServerSelection::All => true,
            ServerSelection::One(one) => one == server,
        };
        match kind {
            NotificationKind::ResourceUpdated { uri } => {
                let resource = ResourceRef { server: server.clone(), target: uri.clone() };
                if let Some(uri) = self.resource_subscriptions.uri(&resource) {
                    let params = updated_params(params, &uri, None);
                    self.push_notification("notifications/resources/updated", &params);
                }
            }
            NotificationKind::Log { level } => {
                if is_served && self.wants_log(*level) {
                    self.push_notification("notifications/message", params);
                }
            }
            NotificationKind::ElicitationCompleted { id } => {
                let elicitation = ElicitationRef { server: server.clone(), id: id.clone() };
                if self.elicitations.lock().contains(&elicitation) {
                    self.push_notification("notifications/elicitation/complete", params);
                }
            }
            // See `notify_task`.
            NotificationKind::TaskStatus { .. } => {}
            // Where all servers are served, a client can't know which server it comes from.
            NotificationKind::Custom { method } => {
                if is_served && self.servers != ServerSelection::All {
                    self.push_notification(method, params);
                }
            }
        }
    }

    /// Notifies the client that a resource may have changed since an earlier run of Gatehouse.
    pub(crate) fn notify_restored(&self, uri: &str) {
        self.push_notification("notifications/resources/updated", &updated_params("{}", uri, None));
    }

    /// Records that the client calls a tool. Returns whether this shows for the first time that its list is old.
    pub(crate) fn mark_tool_called(&self) -> bool {
        let is_stale = self.tool_list.called();
        if is_stale {
            self.client.list_became_stale();
        }
        is_stale
    }

    pub(super) fn end(&self) {
        self.ended.cancel();
        // Ended without the lock, which whoever hears of the end of a stream may need.
        let streams = std::mem::take(&mut *self.streams.lock());
        streams.end();
        if self.tool_list.listed() {
            self.client.list_no_longer_stale();
        }
        self.client.session_closed();
    }
}

/// How a call in flight is cancelled.
#[derive(Clone)]
pub(crate) struct CallCancellation {
    /// Cancels the call. Cancelled by the client and by the end of its session.
    pub(crate) token: CancellationToken,
    /// The reason that the client gives.
    pub(crate) reason: CancelReason,
    /// Cancelled if the client itself cancelled the call, which then gets no response.
    pub(crate) by_client: CancellationToken,
}

/// Registration of a call in flight. Removed on drop.
pub(crate) struct InFlightCall {
    session: Arc<Session>,
    id: Box<str>,
    pub(crate) cancellation: CallCancellation,
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        self.session.calls.lock().remove(&self.id);
        self.session.touch();
    }
}

#[cfg(test)]
pub(super) mod tests;
