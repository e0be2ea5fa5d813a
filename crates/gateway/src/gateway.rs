//! The gateway: shared state, start, background tasks and shutdown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ClientId, Clock, Event, EventSink};
use gatehouse_tools::{ByteBudget, Changes, ListOf, ToolManager, Updated};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::changed::Changed;
use crate::clients::{ClientBook, Departure};
use crate::connections;
use crate::door::ToolDoor;
use crate::error::GatewayError;
use crate::pages::{KeptPages, Pages};
use crate::rounds::Parked;
use crate::seen::Watch;
use crate::sessions::{Session, Sessions};
use crate::subscriptions::Subscriptions;
use crate::tool_list::ToolList;
use crate::watches::Watched;

/// Catalog changes within this time are announced together.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Interval for ending idle sessions and dropping what has expired.
const SWEEP: Duration = Duration::from_secs(60);

/// How long connections, and then calls, may take to end at shutdown.
const GRACE: Duration = Duration::from_secs(2);

/// Dependencies of the gateway.
pub struct GatewayDeps {
    pub tools: ToolManager,
    pub clients: Arc<ClientBook>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// As [`GatewayDeps`], with any [`ToolDoor`] in place of [`ToolManager`].
pub struct GatewayParts {
    pub door: Arc<dyn ToolDoor>,
    /// Byte budget for event logs and results that are kept until a client comes back for them.
    pub kept_bytes: Arc<ByteBudget>,
    pub clients: Arc<ClientBook>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// State shared by all connections.
pub(crate) struct Core {
    pub(crate) door: Arc<dyn ToolDoor>,
    /// Byte budget for event logs and results that are kept until a client comes back for them.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    pub(crate) clients: Arc<ClientBook>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Our port, which the `Host` header must contain.
    pub(crate) port: u16,
    /// Sessions of the stateful revisions.
    pub(crate) sessions: Sessions,
    /// `subscriptions/listen` streams of the stateless revision.
    pub(crate) subscriptions: Subscriptions,
    /// Tasks of calls that run on after their request, and other work that outlives a request.
    pub(crate) calls: TaskTracker,
    /// Calls that wait for the client's input (`input_required`).
    pub(crate) parked: Parked,
    /// Finds the peer process of a connection.
    pub(crate) watch: Watch,
    /// Cancelled when the gateway stops.
    pub(crate) stop: CancellationToken,
    tool_list: ToolList,
    resources: KeptPages,
    templates: KeptPages,
    prompts: KeptPages,
    changes: watch::Receiver<Changes>,
}

impl Core {
    /// The current list of tools.
    pub(crate) fn tool_list(&self) -> Arc<crate::tool_list::ReadyList> {
        let revision = self.changes.borrow().tools;
        self.tool_list.now(&*self.door, revision)
    }

    /// The current list of resources, with its revision number.
    pub(crate) fn resources(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().resources;
        self.resources.now(&*self.door, revision)
    }

    /// The current list of resource templates, with its revision number.
    pub(crate) fn templates(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().resources;
        self.templates.now(&*self.door, revision)
    }

    /// The current list of prompts, with its revision number.
    pub(crate) fn prompts(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().prompts;
        self.prompts.now(&*self.door, revision)
    }

    /// Ends a session and cleans up after it. `false` if it had already ended.
    pub(crate) fn end_session(&self, session: &Session) -> bool {
        let ended = self.sessions.end(session);
        if ended {
            self.after_session(session);
        }
        ended
    }

    /// Cleans up after a session that ended: tells the tools, releases its subscriptions, lowers the log
    /// level, and emits the event.
    pub(crate) fn after_session(&self, session: &Session) {
        self.door.session_ended(&session.id);
        session.watches.end(&self.door, &self.calls);
        self.door.set_log_level(self.sessions.log_level());
        self.events.emit(Event::ClientGone { client: session.client.entry.id.clone() });
        tracing::debug!(client = %session.client.entry.id, session = %session.id, "a session ended");
    }

    fn depart(&self, client: &ClientId, why: Departure) {
        for session in self.sessions.end_of(client) {
            self.after_session(&session);
        }
        self.subscriptions.end_of(client, self);
        self.parked.end_of(client);
        if why == Departure::Revoked {
            self.door.client_gone(client);
        }
    }
}

/// The running gateway. Dropping it stops it without waiting.
pub struct Gateway {
    core: Arc<Core>,
    address: SocketAddr,
    tasks: TaskTracker,
    kill: CancellationToken,
    _stop: DropGuard,
}

impl Gateway {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the address isn't loopback, is in use, or the operating system refuses.
    pub async fn bind(listen: SocketAddr, deps: GatewayDeps) -> Result<Self, GatewayError> {
        let GatewayDeps { tools, clients, events, clock } = deps;
        let kept_bytes = tools.kept_bytes();
        let parts = GatewayParts { door: Arc::new(tools), kept_bytes, clients, events, clock };
        Self::bind_parts(listen, parts).await
    }

    /// As [`Self::bind`], with any [`ToolDoor`].
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_parts(listen: SocketAddr, parts: GatewayParts) -> Result<Self, GatewayError> {
        if !listen.ip().is_loopback() {
            return Err(GatewayError::NotLoopback(listen));
        }
        let refused = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => GatewayError::PortInUse(listen),
            _ => GatewayError::Io { address: listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let GatewayParts { door, kept_bytes, clients, events, clock } = parts;
        let stop = CancellationToken::new();
        let calls = TaskTracker::new();
        let core = Arc::new(Core {
            changes: door.changes(),
            door,
            clients,
            events,
            clock,
            port: address.port(),
            sessions: Sessions::default(),
            subscriptions: Subscriptions::default(),
            parked: Parked::new(calls.clone(), Arc::clone(&kept_bytes)),
            kept_bytes,
            watch: Watch::default(),
            calls,
            stop: stop.clone(),
            tool_list: ToolList::default(),
            resources: KeptPages::of(ListOf::Resources),
            templates: KeptPages::of(ListOf::Templates),
            prompts: KeptPages::of(ListOf::Prompts),
        });
        let hearer = Arc::downgrade(&core);
        core.clients.on_departure(Arc::new(move |client, why| {
            if let Some(core) = hearer.upgrade() {
                core.depart(client, why);
            }
        }));
        let (tasks, kill) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(connections::accept(listener, Arc::clone(&core), tasks.clone(), kill.clone()));
        tasks.spawn(announce(Arc::clone(&core)));
        tasks.spawn(pass_on_updates(Arc::clone(&core)));
        tasks.spawn(sweep(Arc::clone(&core)));
        tracing::info!(%address, "the gateway listens");
        Ok(Self { core, address, tasks, kill, _stop: stop.drop_guard() })
    }

    /// The URL that clients use.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends all sessions and calls. Returns when they have ended, or after two seconds for connections (which
    /// are then closed) and once more for calls.
    pub async fn shutdown(&self) {
        self.core.stop.cancel();
        for session in self.core.sessions.end_all() {
            self.core.after_session(&session);
        }
        self.core.subscriptions.end_all(&self.core);
        self.tasks.close();
        if tokio::time::timeout(GRACE, self.tasks.wait()).await.is_err() {
            self.kill.cancel();
            self.tasks.wait().await;
        }
        self.core.calls.close();
        if tokio::time::timeout(GRACE, self.core.calls.wait()).await.is_err() {
            tracing::warn!(calls = self.core.calls.len(), "calls were still ending when the gateway was");
        }
    }
}

/// Sends `list_changed` notifications to clients, debounced.
async fn announce(core: Arc<Core>) {
    let mut changes = core.changes.clone();
    let mut told = *changes.borrow();
    let next = async {
        while changes.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            let now = *changes.borrow_and_update();
            let changed = Changed::between(told, now);
            told = now;
            core.sessions.lists_changed(changed);
            core.subscriptions.lists_changed(changed);
        }
    };
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = next => {}
    }
}

/// Forwards resource updates to subscribed clients.
async fn pass_on_updates(core: Arc<Core>) {
    let mut updates = core.door.updates();
    let each = async {
        loop {
            match updates.recv().await {
                Ok(Updated { server, uri }) => {
                    let watched = Watched { server, target: uri };
                    core.sessions.updated(&watched);
                    core.subscriptions.updated(&watched);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "resources change faster than is told")
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = each => {}
    }
}

/// Ends idle sessions, and drops expired streams and calls.
async fn sweep(core: Arc<Core>) {
    let each = async {
        loop {
            tokio::time::sleep(SWEEP).await;
            core.parked.sweep();
            core.sessions.prune_streams();
            for session in core.sessions.end_idle() {
                core.after_session(&session);
            }
        }
    };
    tokio::select! {
        () = core.stop.cancelled() => {}
        () = each => {}
    }
}
