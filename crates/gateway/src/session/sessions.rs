//! Sessions of the stateful revisions: the client of each, its calls in flight, and the streams that can be
//! resumed.
//!
//! A session belongs to the client that opened it and is invisible to all others. It ends when it is deleted
//! (HTTP DELETE), after a day of inactivity, when its client opens too many sessions and it is the longest
//! idle one, or when its client's token becomes invalid.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientId, SessionId};
use gatehouse_tools::{Caller, Peer, ProtocolFamily, ServerRequestResult};
use parking_lot::{Mutex, RwLock};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clients::capabilities::ClientCapabilities;
use crate::clients::client_state::ClientState;
use crate::revision::Revision;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::EventLog;
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscriptions};

/// A session that was unused for this long ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of sessions per client. Opening another one ends the longest idle one.
const MAX_SESSIONS_PER_CLIENT: usize = 64;

/// Maximum number of calls in flight per session.
const MAX_CALLS_IN_FLIGHT: usize = 1024;

/// Maximum number of open server requests to the client per session.
const MAX_SERVER_REQUESTS: usize = 64;

/// How long a finished stream can be resumed.
const FINISHED_STREAM_TTL: Duration = Duration::from_secs(300);

/// Maximum number of finished streams that are stored per session, and below their maximum total size in bytes.
const MAX_FINISHED_STREAMS: usize = 64;
const MAX_FINISHED_STREAM_BYTES: usize = 16 * 1024 * 1024;

pub(crate) struct Session {
    pub(crate) id: SessionId,
    /// The client that opened the session.
    pub(crate) client: Arc<ClientState>,
    /// The negotiated revision.
    pub(crate) revision: Revision,
    /// The declared client capabilities.
    pub(crate) client_capabilities: ClientCapabilities,
    /// The resources that the client subscribed to.
    pub(crate) resource_subscriptions: ResourceSubscriptions,
    /// Cancelled when the session ends. The cancel tokens of its calls are children of this one.
    pub(crate) ended: CancellationToken,
    client_info: Option<String>,
    opened_at: Instant,
    /// Milliseconds from `opened_at` to the last use.
    last_used_ms: AtomicU64,
    calls: Mutex<HashMap<Box<str>, CancellationToken>>,
    server_requests: Mutex<ServerRequests>,
    log_level: Mutex<Option<LogLevel>>,
    streams: Mutex<SessionStreams>,
}

/// Open server requests to the client.
#[derive(Default)]
struct ServerRequests {
    /// Number of the most recent request.
    last_number: u64,
    open: HashMap<String, oneshot::Sender<ServerRequestResult>>,
}

/// A server request to the client that waits for its response.
pub(crate) struct OpenRequest {
    /// The id that the gateway gave the request.
    pub(crate) id: String,
    pub(crate) response: oneshot::Receiver<ServerRequestResult>,
}

/// What `initialize` determines about a session.
pub(crate) struct SessionInit {
    /// The negotiated revision.
    pub(crate) revision: Revision,
    /// The declared client capabilities.
    pub(crate) client_capabilities: ClientCapabilities,
    /// Name and version that the client identifies itself with.
    pub(crate) client_info: Option<String>,
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
}

impl Session {
    fn new(id: SessionId, client: Arc<ClientState>, init: SessionInit) -> Self {
        let SessionInit { revision, client_capabilities, client_info } = init;
        Self {
            ended: client.disconnected.child_token(),
            id,
            client,
            revision,
            client_capabilities,
            resource_subscriptions: ResourceSubscriptions::default(),
            log_level: Mutex::default(),
            client_info,
            opened_at: Instant::now(),
            last_used_ms: AtomicU64::new(0),
            calls: Mutex::default(),
            server_requests: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    /// The caller identity for calls in this session from the given peer process.
    pub(crate) fn caller(&self, peer: Peer) -> Caller {
        Caller {
            client: Arc::clone(&self.client.entry),
            session: Some(self.id.clone()),
            client_info: self.client_info.clone(),
            peer,
            protocol_family: ProtocolFamily::Stateful,
        }
    }

    /// How the client identified itself in `initialize`.
    pub(crate) fn client_info(&self) -> Option<&str> {
        self.client_info.as_deref()
    }

    /// The least severe level of log messages that the client wants; `None` until the client sets it.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock()
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock() = Some(level);
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
        let cancel = self.ended.child_token();
        let mut calls = self.calls.lock();
        if calls.len() >= MAX_CALLS_IN_FLIGHT || calls.contains_key(id) {
            return None;
        }
        calls.insert(id.into(), cancel.clone());
        Some(InFlightCall { session: Arc::clone(self), id: id.into(), cancel })
    }

    /// Cancels the call with this request id, if it is in flight.
    pub(crate) fn cancel_call(&self, id: &str) {
        let found = self.calls.lock().get(id).cloned();
        if let Some(cancel) = found {
            cancel.cancel();
        }
    }

    /// Registers a server request to the client. `None` if too many are open.
    pub(crate) fn open_request(&self) -> Option<OpenRequest> {
        let mut server_requests = self.server_requests.lock();
        if server_requests.open.len() >= MAX_SERVER_REQUESTS {
            return None;
        }
        server_requests.last_number += 1;
        let id = format!("gatehouse-{}", server_requests.last_number);
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

    /// Notifies the client that a resource changed, if it subscribed to it.
    pub(crate) fn notify_resource_updated(&self, resource: &ResourceRef) {
        let Some(uri) = self.resource_subscriptions.uri(resource) else { return };
        let log = self.streams.lock().notification_stream.clone();
        // The GET stream can't be resumed, so events without a reader would be stored in vain.
        if let Some(log) = log.filter(|log| log.is_expecting_reader()) {
            let uri = serde_json::Value::from(uri);
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            );
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

    /// Starts the GET stream, which carries what doesn't belong to a request. Ends the previous one.
    pub(crate) fn open_notification_stream(&self) -> Arc<EventLog> {
        let log = EventLog::transient();
        if self.ended.is_cancelled() {
            log.end();
        }
        let mut streams = self.streams.lock();
        let previous = streams.notification_stream.replace(Arc::clone(&log));
        if previous.as_ref().is_some_and(|previous| previous.is_drained()) {
            streams.unannounced = ChangedLists::default();
        }
        push_list_changes(&log, streams.unannounced);
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
        }
        streams.unannounced = streams.unannounced.or(changed);
    }

    /// Records that the client has just read these lists.
    pub(crate) fn mark_lists_read(&self, read: ChangedLists) {
        let mut streams = self.streams.lock();
        streams.unannounced = streams.unannounced.without(read);
    }

    fn end(&self) {
        self.ended.cancel();
        let SessionStreams { numbered, notification_stream, .. } = std::mem::take(&mut *self.streams.lock());
        if let Some(log) = notification_stream {
            log.end();
        }
        // Calls that are being cancelled hold their logs for a while longer.
        for (_, log) in numbered {
            log.discard();
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

/// Registration of a call in flight. Removed on drop.
pub(crate) struct InFlightCall {
    session: Arc<Session>,
    id: Box<str>,
    pub(crate) cancel: CancellationToken,
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        self.session.calls.lock().remove(&self.id);
        self.session.touch();
    }
}

#[derive(Default)]
pub(crate) struct ClientSessions {
    open: RwLock<HashMap<SessionId, Arc<Session>>>,
}

pub(crate) struct OpenedSession {
    pub(crate) session: Arc<Session>,
    /// The session that was ended to make room for it.
    pub(crate) evicted: Option<Arc<Session>>,
}

impl ClientSessions {
    /// Opens a session. If its client has too many, ends the longest idle one and returns it too; sessions in
    /// use are ended last.
    pub(crate) fn open(&self, id: SessionId, client: &Arc<ClientState>, init: SessionInit) -> OpenedSession {
        let session = Arc::new(Session::new(id.clone(), Arc::clone(client), init));
        let mut open = self.open.write();
        let mut own: Vec<&Arc<Session>> =
            open.values().filter(|other| other.client.entry.id == client.entry.id).collect();
        let evicted = if own.len() >= MAX_SESSIONS_PER_CLIENT {
            own.sort_by_key(|other| (other.is_busy(), other.last_used()));
            own.first().map(|oldest| oldest.id.clone())
        } else {
            None
        };
        let evicted = evicted.and_then(|oldest| open.remove(&oldest));
        open.insert(id, Arc::clone(&session));
        drop(open);
        client.session_opened();
        if let Some(ended) = &evicted {
            ended.end();
        }
        OpenedSession { session, evicted }
    }

    /// The session with this id, if it belongs to this client and hasn't ended. Counts as a use.
    pub(crate) fn find(&self, id: &str, client: &ClientState) -> Option<Arc<Session>> {
        let session = self.open.read().get(&SessionId::new(id)).cloned()?;
        let is_usable = session.client.entry.id == client.entry.id && !session.ended.is_cancelled();
        if is_usable {
            session.touch();
        }
        is_usable.then_some(session)
    }

    /// The most verbose log level that any session requested.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.open.read().values().filter_map(|session| session.log_level()).min()
    }

    /// Ends a session. Returns `false` if it has already ended.
    pub(crate) fn end(&self, session: &Session) -> bool {
        let removed = self.open.write().remove(&session.id);
        if let Some(removed) = &removed {
            removed.end();
        }
        removed.is_some()
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

    /// Notifies the sessions that subscribed to a resource.
    pub(crate) fn notify_resource_updated(&self, resource: &ResourceRef) {
        for session in self.open.read().values() {
            session.notify_resource_updated(resource);
        }
    }

    /// Notifies all sessions of changed lists.
    pub(crate) fn notify_lists_changed(&self, changed: ChangedLists) {
        for session in self.open.read().values() {
            session.notify_lists_changed(changed);
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ClientEntry, Timestamp};
    use gatehouse_tools::{ByteBudget, ByteLimits};
    use tokio::time::advance;

    use super::*;

    fn client(id: &str) -> Arc<ClientState> {
        Arc::new(ClientState::new(ClientEntry {
            id: ClientId::new(id),
            name: "Agent".into(),
            token_sha256: String::new(),
            created: Timestamp(0),
        }))
    }

    fn open(sessions: &ClientSessions, id: &str, client: &Arc<ClientState>) -> Arc<Session> {
        let revision = Revision::V2025November;
        let client_capabilities = ClientCapabilities::default();
        let init = SessionInit { revision, client_capabilities, client_info: None };
        sessions.open(SessionId::new(id), client, init).session
    }

    fn ids(ended: &[Arc<Session>]) -> Vec<&str> {
        ended.iter().map(|session| session.id.as_str()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn ends_sessions_idle_for_a_day() {
        let (sessions, client) = (ClientSessions::default(), client("cli-1"));
        let listening = open(&sessions, "listening", &client);
        let reader = listening.open_notification_stream().read();
        let calling = open(&sessions, "calling", &client);
        let registration = calling.register_call("1").unwrap();
        open(&sessions, "used", &client);
        open(&sessions, "idle", &client);
        advance(IDLE_TIMEOUT / 2).await;
        assert!(sessions.find("used", &client).is_some());
        advance(IDLE_TIMEOUT / 2).await;
        assert_eq!(ids(&sessions.end_idle()), ["idle"]);
        // Both stop being busy. The idle time starts over when the last call ends.
        drop(reader);
        drop(registration);
        let mut ended = sessions.end_idle();
        ended.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(ids(&ended), ["listening"]);
        advance(IDLE_TIMEOUT).await;
        assert_eq!(sessions.end_idle().len(), 2);
        assert!(sessions.find("calling", &client).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn hides_sessions_of_disconnected_client() {
        let (sessions, client) = (ClientSessions::default(), client("cli-1"));
        open(&sessions, "previous", &client);
        client.disconnected.cancel();
        open(&sessions, "after", &client);
        assert!(sessions.find("previous", &client).is_none());
        assert!(sessions.find("after", &client).is_none());
        assert_eq!(sessions.end_idle().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_finished_streams() {
        let (sessions, client) = (ClientSessions::default(), client("cli-1"));
        let session = open(&sessions, "s", &client);
        let budget = ByteBudget::new(ByteLimits::default());
        let add_running = || {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &budget, &client.entry.id);
            session.store_stream(number, &log);
            number
        };
        let add_finished = |text: &str| {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &budget, &client.entry.id);
            log.finish(std::iter::once(text.as_bytes()));
            session.store_stream(number, &log);
            number
        };
        let running = add_running();
        let first = add_finished("x");
        for _ in 1..MAX_FINISHED_STREAMS {
            add_finished("x");
        }
        assert!(session.stream(first).is_some());
        add_finished("x");
        assert!(session.stream(first).is_none());
        // The total size is limited too.
        let large = "x".repeat(MAX_FINISHED_STREAM_BYTES / 2);
        let (one, two) = (add_finished(&large), add_finished(&large));
        assert!(session.stream(one).is_none());
        assert!(session.stream(two).is_some());
        advance(FINISHED_STREAM_TTL).await;
        add_finished("x");
        assert!(session.stream(two).is_none());
        assert!(session.stream(running).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_unread_streams_over_all_sessions_of_a_client() {
        let sessions = ClientSessions::default();
        let (busy, other) = (client("cli-1"), client("cli-2"));
        let budget = ByteBudget::new(ByteLimits { client: 1000, all: 10_000 });
        // Adds a finished stream of this size, whose reader has gone.
        let add_unread = |session: &Session, bytes: usize| {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &budget, &session.client.entry.id);
            session.store_stream(number, &log);
            let reader = log.read();
            log.finish(std::iter::once("x".repeat(bytes).as_bytes()));
            drop(reader);
            number
        };
        let is_stored =
            |session: &Session, number| session.stream(number).is_some_and(|log| !log.is_discarded());
        let other_session = open(&sessions, "other", &other);
        let number = add_unread(&other_session, 300);
        let busy_sessions: Vec<(Arc<Session>, u64)> = (0..20)
            .map(|n| {
                let session = open(&sessions, &format!("busy {n}"), &busy);
                let number = add_unread(&session, 300);
                (session, number)
            })
            .collect();
        let stored: Vec<bool> =
            busy_sessions.iter().map(|(session, number)| is_stored(session, *number)).collect();
        assert_eq!(stored, [vec![false; 17], vec![true; 3]].concat(), "the newest that fit");
        assert!(is_stored(&other_session, number));
        // Ending a session releases its budget, even while other references to it exist.
        for (session, _) in &busy_sessions {
            assert!(sessions.end(session));
        }
        assert_eq!(budget.bytes(), other_session.stream(number).unwrap().bytes());
        add_unread(&busy_sessions[0].0, 300);
        assert_eq!(sessions.end_all().len(), 1);
        assert_eq!(budget.bytes(), 0);
    }
}
