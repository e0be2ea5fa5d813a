//! What an actor and the handles of its server share: the server's state, its live connection, and the
//! messages that handles send to the actor. Nothing here acts on its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use gatehouse_mcp_client::lists::{Declared, FetchError, FetchedList, ListKind, ServerLists};
use gatehouse_mcp_client::{
    Redactor, RequestParams, ServerConnection, UpstreamError, UpstreamErrorKind, UpstreamRequest,
};
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::{LogLevel, LogLine};
use gatehouse_model::{CallLimits, Generation, ServerConfig, ServerId, ServerStatus, UserText};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error_tally::ErrorTally;
use crate::second_connection::{CallRoute, SecondConnection};
use crate::transition::{Epoch, ServerInput};

/// Method that sets a server's log level.
pub(crate) const SET_LEVEL: &str = "logging/setLevel";
/// Method that subscribes to changes of a resource.
pub(crate) const SUBSCRIBE: &str = "resources/subscribe";
/// The request that sets the log level on the revisions where it is set once for a connection.
pub(crate) fn set_level_request(level: LogLevel) -> UpstreamRequest {
    UpstreamRequest::new(SET_LEVEL, RequestParams::none().with_text("level", level.as_str()))
}

/// Lines of a server's log that are kept in memory.
const LOG_LINES: usize = 200;

pub(crate) enum ActorMessage {
    /// An input of the state machine.
    ServerInput(ServerInput),
    /// The user stops the server; answered when nothing of the connection is left.
    Stop(oneshot::Sender<()>),
    /// MCP as a whole was switched on or off. After switching off, answered when nothing of the
    /// connection is left; after switching on, at once.
    Switched { on: bool, reply: oneshot::Sender<()> },
    /// The settings have changed.
    Edited,
    /// A call needs a connection; answered after one attempt to connect.
    Wanted(oneshot::Sender<()>),
    /// A call found its session expired; answered when the attempt to reconnect has ended, or at
    /// once if there is none.
    SessionLost {
        /// The connection on which it happened.
        epoch: Epoch,
        settled: oneshot::Sender<()>,
    },
    /// An attempt to connect succeeded.
    Ready(Box<EstablishedConnection>),
    /// A list was read again.
    Refreshed {
        /// The connection on which it was read.
        epoch: Epoch,
        kind: ListKind,
        fetched: Result<FetchedList, FetchError>,
    },
    /// A call was answered with an authorization challenge.
    Challenged {
        /// The connection on which it happened.
        epoch: Epoch,
        /// Authorization server, if the challenge names one.
        issuer: Option<String>,
    },
    /// A call failed in a way that suggests that the connection is broken; triggers a health check.
    Suspect(Epoch),
    /// A line of Gatehouse's own for the server's log.
    Remark(String),
}

/// An established connection with the lists that were read first.
pub(crate) struct EstablishedConnection {
    pub(crate) epoch: Epoch,
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) connection: Arc<dyn ServerConnection>,
    /// The place of its second connection, if it may have one.
    pub(crate) second: Option<Arc<SecondConnection>>,
    pub(crate) first: InitialLists,
}

/// The lists that a new connection has read.
pub(crate) struct InitialLists {
    pub(crate) lists: ServerLists,
    /// Declared lists that could not be read on this connection.
    pub(crate) unread: Vec<UnreadList>,
    /// Time-to-live of lists, where the server sets one.
    pub(crate) fresh: Vec<(ListKind, Duration)>,
    /// Lines for the server's log.
    pub(crate) remarks: Vec<String>,
}

/// A declared list that could not be read.
pub(crate) struct UnreadList {
    pub(crate) kind: ListKind,
    /// Whether it makes sense to request it again later.
    pub(crate) again: bool,
}

/// State shared by an actor and its handles. The actor writes status, lists, connection and
/// redactor. Settings are written by the manager (and by the actor when it enables the server); the
/// error count, the watched resources, the log level and the counters of calls are also written by
/// handles.
pub(crate) struct ServerShared {
    pub(crate) id: ServerId,
    pub(crate) config: ArcSwap<ServerConfig>,
    pub(crate) status: ArcSwap<ServerStatus>,
    pub(crate) lists: ArcSwap<ServerLists>,
    pub(crate) live: ArcSwapOption<LiveConnection>,
    /// Knows the secrets of the current or last connection.
    pub(crate) redactor: ArcSwap<Redactor>,
    pub(crate) log: Mutex<VecDeque<LogLine>>,
    pub(crate) errors: Mutex<ErrorTally>,
    pub(crate) in_flight: AtomicUsize,
    /// Whether the user stopped it.
    pub(crate) is_held: AtomicBool,
    /// The log level that the user wants.
    pub(crate) log_level: Mutex<Option<LogLevel>>,
    /// Watched resources with their number of watchers.
    pub(crate) watched: Mutex<BTreeMap<String, usize>>,
    /// Cancels all calls in flight; replaced when cancelled.
    pub(crate) calls: Mutex<CancellationToken>,
    pub(crate) inbox: mpsc::Sender<ActorMessage>,
    common: Arc<GlobalServerState>,
}

/// State shared by all servers. Written by the manager.
pub(crate) struct GlobalServerState {
    /// Whether MCP is on.
    pub(crate) on: AtomicBool,
    /// The most verbose log level that any client wants.
    pub(crate) clients_log_level: Mutex<Option<LogLevel>>,
    /// Time limits of calls to servers that set none themselves.
    pub(crate) call_limits: Mutex<CallLimits>,
}

impl Default for GlobalServerState {
    fn default() -> Self {
        Self { on: AtomicBool::new(true), clients_log_level: Mutex::default(), call_limits: Mutex::default() }
    }
}

/// The connection that calls use, together with its second one.
pub(crate) struct LiveConnection {
    pub(crate) epoch: Epoch,
    pub(crate) generation: Generation,
    pub(crate) declared: Declared,
    pub(crate) connection: Arc<dyn ServerConnection>,
    /// The place of its second connection, if it may have one.
    pub(crate) second: Option<Arc<SecondConnection>>,
    /// Cancelled when the connection is given up.
    pub(crate) ended: CancellationToken,
    /// Why it was given up. Set before `ended` is cancelled if the connection broke.
    pub(crate) break_reason: OnceLock<UserText>,
}

impl LiveConnection {
    /// The place of the connection that calls of this family are sent over, if that is not the main one.
    pub(crate) fn second_for(&self, family: ProtocolFamily) -> Option<&SecondConnection> {
        self.second.as_deref().filter(|_| family == ProtocolFamily::Stateful)
    }

    /// The connection that a request is sent over.
    pub(crate) fn route(&self, call: &UpstreamRequest) -> CallRoute {
        let family = call.client.as_ref().map(|client| client.protocol_family);
        family.and_then(|family| self.second_for(family)).map_or(CallRoute::Main, SecondConnection::route)
    }
}

impl ServerShared {
    pub(crate) fn new(
        config: Arc<ServerConfig>,
        lists: Arc<ServerLists>,
        status: ServerStatus,
        inbox: mpsc::Sender<ActorMessage>,
        common: Arc<GlobalServerState>,
    ) -> Self {
        Self {
            id: config.id.clone(),
            config: ArcSwap::new(config),
            status: ArcSwap::from_pointee(status),
            lists: ArcSwap::new(lists),
            live: ArcSwapOption::empty(),
            redactor: ArcSwap::default(),
            log: Mutex::new(VecDeque::with_capacity(LOG_LINES)),
            errors: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            is_held: AtomicBool::new(false),
            log_level: Mutex::default(),
            watched: Mutex::default(),
            calls: Mutex::new(CancellationToken::new()),
            inbox,
            common,
        }
    }

    /// Whether MCP is on.
    pub(crate) fn is_on(&self) -> bool {
        self.common.on.load(Ordering::SeqCst)
    }

    /// Time limits of calls if the server sets none itself.
    pub(crate) fn call_limits(&self) -> CallLimits {
        *self.common.call_limits.lock()
    }

    /// The log level to set: the more verbose of the user's and the clients'.
    pub(crate) fn wanted_log_level(&self) -> Option<LogLevel> {
        let clients = *self.common.clients_log_level.lock();
        [*self.log_level.lock(), clients].into_iter().flatten().min()
    }

    /// Adds a line to the server's log in memory, dropping the oldest line if it is full.
    pub(crate) fn push_log_line(&self, line: LogLine) {
        if line.level.is_some_and(|level| level >= LogLevel::Error) {
            self.errors.lock().add(line.at);
        }
        let mut log = self.log.lock();
        if log.len() == LOG_LINES {
            log.pop_front();
        }
        log.push_back(line);
    }

    /// Removes one watcher of a resource. Returns all resources that are still watched if it was
    /// the last one.
    pub(crate) fn remove_watch(&self, uri: &str) -> Option<BTreeSet<String>> {
        let mut watched = self.watched.lock();
        let count = watched.get_mut(uri)?;
        *count = count.saturating_sub(1);
        if *count > 0 {
            return None;
        }
        watched.remove(uri);
        Some(watched.keys().cloned().collect())
    }

    /// Cancels every call in flight.
    pub(crate) fn cancel_calls(&self) {
        std::mem::take(&mut *self.calls.lock()).cancel();
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    /// Notifies the actor if an error says something about the connection. If the inbox is full the
    /// notification is lost; the periodic health checks make up for it.
    pub(crate) fn report_failure(&self, epoch: Epoch, error: &UpstreamError) {
        let message = match &error.kind {
            UpstreamErrorKind::NeedsAuth { issuer } => {
                ActorMessage::Challenged { epoch, issuer: issuer.clone() }
            }
            UpstreamErrorKind::Transport { .. } => ActorMessage::Suspect(epoch),
            UpstreamErrorKind::Unavailable { .. }
            | UpstreamErrorKind::SwitchedOff
            | UpstreamErrorKind::TimedOut { .. }
            | UpstreamErrorKind::Cancelled
            | UpstreamErrorKind::Closed { .. }
            | UpstreamErrorKind::SessionLost => return,
        };
        if self.inbox.try_send(message).is_err() {
            tracing::debug!(server = %self.id, "no room for a hint about the connection");
        }
    }
}
