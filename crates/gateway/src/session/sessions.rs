//! Sessions of the stateful revisions: the client of each, its calls in flight, and the streams that can be
//! resumed.
//!
//! A session belongs to the client that opened it and is invisible to all others. It ends when it is deleted
//! (HTTP DELETE), after a day of inactivity, when its client opens too many sessions and it is the longest
//! idle one, or when its client's token becomes invalid. After a restart, and after an end for another reason than the
//! first and the last one, a request with its id resumes it (`session/saved_sessions.rs`).

mod roots;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_mcp_wire::raw::quoted;
use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientId, ServerId, SessionId};
use gatehouse_store::{SavedSession, SavedSessionId};
use gatehouse_tools::{
    Caller, CancelReason, CatalogViewKey, ForwardedNotification, Narrowing, NotificationKind, Peer,
    ProtocolFamily, ServerNotification, ServerRequestResult, ServerSelection, TaskNotice, Viewer,
};
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::roots::RootsRequests;
use crate::clients::capabilities::ClientCapabilities;
use crate::clients::client_state::ClientState;
use crate::clients::tool_list_use::ToolListUse;
use crate::revision::Revision;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::EventLog;
use crate::session::identity::{ResumableSession, SessionIdentity, SessionInit};
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscriptions, updated_params};
use crate::session::snapshots::{SessionSnapshot, SnapshotOrder};

/// A session that was unused for this long ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of sessions per client. Opening another one ends the longest idle one.
const MAX_SESSIONS_PER_CLIENT: usize = 64;

/// Maximum number of calls in flight per session.
const MAX_CALLS_IN_FLIGHT: usize = 1024;

/// Maximum number of open server requests to the client per session.
const MAX_SERVER_REQUESTS: usize = 64;

/// Maximum number of URL elicitations per session whose end is announced to the client; the newest count.
const MAX_ELICITATIONS: usize = 64;

/// How long a finished stream can be resumed.
const FINISHED_STREAM_TTL: Duration = Duration::from_secs(300);

/// Maximum number of finished streams that are stored per session, and below their maximum total size in bytes.
const MAX_FINISHED_STREAMS: usize = 64;
const MAX_FINISHED_STREAM_BYTES: usize = 16 * 1024 * 1024;

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
    narrowing: Mutex<Narrowing>,
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

#[derive(Default)]
struct SessionStreams {
    /// Number of the most recent stream.
    last_number: u64,
    numbered: VecDeque<(u64, Arc<EventLog>)>,
    notification_stream: Option<Arc<EventLog>>,
    /// Lists that changed without certainty that the client knows: there was no GET stream to notify it, or
    /// the notification is in the current GET stream and hasn't been read.
    unannounced: ChangedLists,
    /// Streams without events, in place of those that the client lost at a restart.
    replacements: Vec<Arc<EventLog>>,
}

impl Session {
    fn new(identity: SessionIdentity, client: Arc<ClientState>, init: SessionInit) -> Self {
        let SessionIdentity { id, header, saved_as } = identity;
        let SessionInit { servers, revision, client_capabilities, client_info, narrowing, view, only_stream } =
            init;
        let streams =
            SessionStreams { notification_stream: only_stream.clone(), ..SessionStreams::default() };
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
    fn resumed(resumable: ResumableSession, client: Arc<ClientState>) -> Self {
        let ResumableSession { identity, init, saved, first_number } = resumable;
        let streams = SessionStreams {
            last_number: first_number,
            unannounced: ChangedLists::ALL,
            ..SessionStreams::default()
        };
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
    fn touch(&self) {
        let millis = u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_used_ms.store(millis, Ordering::Relaxed);
    }

    fn last_used(&self) -> Instant {
        self.opened_at + Duration::from_millis(self.last_used_ms.load(Ordering::Relaxed))
    }

    fn is_busy(&self) -> bool {
        !self.calls.lock().is_empty()
            || self.streams.lock().notification_stream.as_ref().is_some_and(|log| log.has_reader())
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
    fn notify(&self, notification: &ServerNotification) {
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

    /// Writes a notification to the GET stream.
    pub(crate) fn push_notification(&self, method: &str, params: &str) {
        let log = self.streams.lock().notification_stream.clone();
        // The GET stream can't be resumed, so events without a reader would be stored in vain.
        if let Some(log) = log.filter(|log| log.is_expecting_reader()) {
            let method = quoted(method);
            let text = format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#);
            log.push(std::iter::once(text.as_bytes()));
        }
    }

    /// The number for a new stream.
    pub(crate) fn next_stream(&self) -> u64 {
        let mut streams = self.streams.lock();
        streams.last_number += 1;
        streams.last_number
    }

    /// Stores a stream so that it can be resumed while the session lasts, and drops expired ones.
    pub(crate) fn store_stream(&self, number: u64, log: &Arc<EventLog>) {
        let mut streams = self.streams.lock();
        if self.ended.is_cancelled() {
            log.discard();
            return;
        }
        streams.numbered.push_back((number, Arc::clone(log)));
        streams.prune();
    }

    /// Drops finished streams that have expired.
    fn prune_streams(&self) {
        self.streams.lock().prune();
    }

    /// A stored stream.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<EventLog>> {
        let streams = self.streams.lock();
        streams.numbered.iter().find(|(other, _)| *other == number).map(|(_, log)| Arc::clone(log))
    }

    /// A stream in place of one that the client lost at a restart: what it would have carried is lost, and no stream of
    /// this run has its number. The GET stream, unless the client reads that already.
    pub(crate) fn replace_lost_stream(&self, number: u64) -> Option<Arc<EventLog>> {
        let mut streams = self.streams.lock();
        let is_of_this_run = (self.first_number..=streams.last_number).contains(&number);
        if self.first_number == 0 || is_of_this_run {
            return None;
        }
        if !streams.notification_stream.as_ref().is_some_and(|log| log.is_expecting_reader()) {
            drop(streams);
            return Some(self.open_notification_stream());
        }
        streams.replacements.retain(|log| log.is_expecting_reader());
        let log = EventLog::transient();
        if self.ended.is_cancelled() {
            log.end();
        }
        streams.replacements.push(Arc::clone(&log));
        Some(log)
    }

    /// Starts the GET stream, which carries what doesn't belong to a request. Ends the previous one.
    pub(crate) fn open_notification_stream(&self) -> Arc<EventLog> {
        let log = EventLog::transient();
        let mut streams = self.streams.lock();
        // While they are locked: the end of the session either came before, or finds this stream among them.
        if self.ended.is_cancelled() {
            log.end();
        }
        let previous = streams.notification_stream.replace(Arc::clone(&log));
        if previous.as_ref().is_some_and(|previous| previous.is_drained()) {
            streams.unannounced = ChangedLists::default();
        }
        push_list_changes(&log, streams.unannounced);
        if streams.unannounced.tools {
            self.tool_list.announced();
        }
        drop(streams);
        if let Some(previous) = previous {
            previous.end();
        }
        log
    }

    /// Notifies the client of changed lists.
    pub(crate) fn notify_lists_changed(&self, changed: ChangedLists) {
        let mut streams = self.streams.lock();
        if let Some(log) = streams.notification_stream.clone() {
            if log.is_drained() {
                streams.unannounced = ChangedLists::default();
            }
            // Changes whose notification wasn't read yet aren't announced again.
            push_list_changes(&log, changed.without(streams.unannounced));
            if changed.tools && log.has_reader() {
                self.tool_list.announced();
            }
        }
        streams.unannounced = streams.unannounced.or(changed);
    }

    /// Records that the client has just read these lists. Returns whether it had an old tool list before.
    pub(crate) fn mark_lists_read(&self, read: ChangedLists) -> bool {
        let mut streams = self.streams.lock();
        streams.unannounced = streams.unannounced.without(read);
        drop(streams);
        let was_stale = read.tools && self.tool_list.listed();
        if was_stale {
            self.client.list_no_longer_stale();
        }
        was_stale
    }

    /// Records that the client calls a tool. Returns whether this shows for the first time that its list is old.
    pub(crate) fn mark_tool_called(&self) -> bool {
        let is_stale = self.tool_list.called();
        if is_stale {
            self.client.list_became_stale();
        }
        is_stale
    }

    fn end(&self) {
        self.ended.cancel();
        let SessionStreams { numbered, notification_stream, replacements, .. } =
            std::mem::take(&mut *self.streams.lock());
        for log in notification_stream.into_iter().chain(replacements) {
            log.end();
        }
        // Calls that are being cancelled hold their logs for a while longer.
        for (_, log) in numbered {
            log.discard();
        }
        if self.tool_list.listed() {
            self.client.list_no_longer_stale();
        }
        self.client.session_closed();
    }
}

fn push_list_changes(log: &EventLog, changed: ChangedLists) {
    for method in changed.methods() {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        log.push(std::iter::once(text.as_bytes()));
    }
}

impl SessionStreams {
    fn prune(&mut self) {
        let now = Instant::now();
        self.numbered.retain(|(_, log)| {
            let is_expired = log.ended_at().is_some_and(|at| now.duration_since(at) >= FINISHED_STREAM_TTL);
            if is_expired {
                log.discard();
            }
            !log.is_discarded()
        });
        let finished = |streams: &Self| {
            let logs = streams.numbered.iter().filter(|(_, log)| log.ended_at().is_some());
            logs.fold((0, 0), |(count, bytes), (_, log)| (count + 1, bytes + log.bytes()))
        };
        loop {
            let (count, bytes) = finished(self);
            if count <= MAX_FINISHED_STREAMS && bytes <= MAX_FINISHED_STREAM_BYTES {
                return;
            }
            let oldest = self.numbered.iter().position(|(_, log)| log.ended_at().is_some());
            let Some((_, log)) = oldest.and_then(|oldest| self.numbered.remove(oldest)) else { return };
            log.discard();
        }
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

#[derive(Default)]
pub(crate) struct ClientSessions {
    /// By the id that the client knows.
    open: RwLock<HashMap<Box<str>, Arc<Session>>>,
}

pub(crate) struct OpenedSession {
    pub(crate) session: Arc<Session>,
    /// The session that was ended to make room for it.
    pub(crate) evicted: Option<Arc<Session>>,
}

impl ClientSessions {
    /// Opens a session. If its client has too many, ends the longest idle one and returns it too; sessions in
    /// use are ended last.
    pub(crate) fn open(
        &self,
        identity: SessionIdentity,
        client: &Arc<ClientState>,
        init: SessionInit,
    ) -> OpenedSession {
        let session = Arc::new(Session::new(identity, Arc::clone(client), init));
        Self::insert(self.open.write(), session)
    }

    /// Resumes a session. As [`Self::open`], but `None` if another request has resumed it.
    pub(crate) fn resume(
        &self,
        resumable: ResumableSession,
        client: &Arc<ClientState>,
    ) -> Option<OpenedSession> {
        let open = self.open.write();
        if open.contains_key(&resumable.identity.header) {
            return None;
        }
        let session = Arc::new(Session::resumed(resumable, Arc::clone(client)));
        Some(Self::insert(open, session))
    }

    fn insert(
        mut open: RwLockWriteGuard<'_, HashMap<Box<str>, Arc<Session>>>,
        session: Arc<Session>,
    ) -> OpenedSession {
        let client = &session.client;
        let mut own: Vec<&Arc<Session>> =
            open.values().filter(|other| other.client.entry.id == client.entry.id).collect();
        let evicted = if own.len() >= MAX_SESSIONS_PER_CLIENT {
            own.sort_by_key(|other| (other.is_busy(), other.last_used()));
            own.first().map(|oldest| oldest.header.clone())
        } else {
            None
        };
        let evicted = evicted.and_then(|oldest| open.remove(&oldest));
        open.insert(session.header.clone(), Arc::clone(&session));
        drop(open);
        session.client.session_opened();
        if let Some(ended) = &evicted {
            ended.end();
        }
        OpenedSession { session, evicted }
    }

    /// The session with this id, if it belongs to this client, endpoint and bridge and hasn't ended. Counts as a use.
    pub(crate) fn find(&self, id: &str, viewer: &Viewer, servers: &ServerSelection) -> Option<Arc<Session>> {
        let session = self.open.read().get(id).cloned()?;
        let is_usable = session.client.entry.id == viewer.client
            && session.narrowing.lock().is_same_bridge(&viewer.narrowing)
            && session.servers == *servers
            && !session.ended.is_cancelled();
        if is_usable {
            session.touch();
        }
        is_usable.then_some(session)
    }

    /// The most verbose log level that any session requested.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.open.read().values().filter_map(|session| session.log_level()).min()
    }

    /// Ends the session that its client knows by this id, and returns it; `None` if there is none.
    pub(crate) fn end(&self, header: &str) -> Option<Arc<Session>> {
        let ended = self.open.write().remove(header)?;
        ended.end();
        Some(ended)
    }

    /// Ends sessions that were idle for too long and those of disconnected clients, and returns them.
    pub(crate) fn end_idle(&self) -> Vec<Arc<Session>> {
        let now = Instant::now();
        self.end_where(|session| {
            session.client.disconnected.is_cancelled()
                || !session.is_busy() && now.duration_since(session.last_used()) >= IDLE_TIMEOUT
        })
    }

    /// Drops finished streams that have expired, in all sessions.
    pub(crate) fn prune_streams(&self) {
        for session in self.open.read().values() {
            session.prune_streams();
        }
    }

    /// Ends the sessions of one client that were opened with an invalidated token, and returns them.
    pub(crate) fn end_for_client(&self, client: &ClientId) -> Vec<Arc<Session>> {
        self.end_where(|session| {
            session.client.entry.id == *client && session.client.disconnected.is_cancelled()
        })
    }

    /// Ends all sessions and returns them.
    pub(crate) fn end_all(&self) -> Vec<Arc<Session>> {
        self.end_where(|_| true)
    }

    fn end_where(&self, is_ended: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let ended: Vec<_> = self
            .open
            .write()
            .extract_if(|_, session| is_ended(session))
            .map(|(_, session)| session)
            .collect();
        for session in &ended {
            session.end();
        }
        ended
    }

    /// Passes a notification of a server on to the sessions that it is for, and whose client `sees` the server.
    pub(crate) fn notify(
        &self,
        notification: &ServerNotification,
        sees: &dyn Fn(&Viewer, &ServerId) -> bool,
    ) {
        for session in self.open.read().values() {
            if sees(&session.viewer(), &notification.server) {
                session.notify(notification);
            }
        }
    }

    /// Passes on what a server says of a task to the session of the call that became it.
    pub(crate) fn notify_task(&self, notice: &TaskNotice) {
        let open = self.open.read();
        let session = open.values().find(|session| Some(&session.id) == notice.session.as_ref());
        if let Some(session) = session {
            session.push_notification("notifications/tasks/status", notice.params.get());
        }
    }

    /// Notifies the sessions whose clients see something else of the catalog now.
    pub(crate) fn notify_views_changed(&self, view_of: &dyn Fn(&Viewer) -> CatalogViewKey) {
        for session in self.open.read().values() {
            session.update_view(view_of(&session.viewer()));
        }
    }

    /// Notifies all sessions of changed lists; `changed` says which of the lists of some servers changed.
    pub(crate) fn notify_lists_changed(&self, changed: impl Fn(&ServerSelection) -> ChangedLists) {
        for session in self.open.read().values() {
            session.notify_lists_changed(changed(&session.servers));
        }
    }
}

#[cfg(test)]
mod tests;
