//! The gateway as a whole: what it is made of, how it starts, and how it ends.

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

/// Changes of the list are announced together when they come within this time.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(60);

/// How long connections and calls may take to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// What the gateway needs.
pub struct GatewayDeps {
    /// The tools.
    pub tools: ToolManager,
    /// Who may connect.
    pub clients: Arc<ClientBook>,
    /// Where events go.
    pub events: Arc<dyn EventSink>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// The same with another door than [`ToolManager`].
pub struct GatewayParts {
    /// The door to the tools.
    pub door: Arc<dyn ToolDoor>,
    /// What everything counts in that is kept for clients that may come back for it.
    pub kept_bytes: Arc<ByteBudget>,
    /// Who may connect.
    pub clients: Arc<ClientBook>,
    /// Where events go.
    pub events: Arc<dyn EventSink>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What every connection shares.
pub(crate) struct Core {
    /// The door to the tools.
    pub(crate) door: Arc<dyn ToolDoor>,
    /// What streams and results count in that clients may come back for.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    /// Who may connect.
    pub(crate) clients: Arc<ClientBook>,
    /// Where events go.
    pub(crate) events: Arc<dyn EventSink>,
    /// The time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Our port, which the Host header has to name.
    pub(crate) port: u16,
    /// Sessions of the stateful revisions.
    pub(crate) sessions: Sessions,
    /// Listening streams of the stateless revision.
    pub(crate) subscriptions: Subscriptions,
    /// Calls that have outgrown their request.
    pub(crate) calls: TaskTracker,
    /// Calls that run on while their clients answer.
    pub(crate) parked: Parked,
    /// Who is at the other end of connections.
    pub(crate) watch: Watch,
    /// Cancelled when the gateway ends.
    pub(crate) stop: CancellationToken,
    tool_list: ToolList,
    resources: KeptPages,
    templates: KeptPages,
    prompts: KeptPages,
    changes: watch::Receiver<Changes>,
}

impl Core {
    /// The list of tools as it stands.
    pub(crate) fn tool_list(&self) -> Arc<crate::tool_list::ReadyList> {
        let revision = self.changes.borrow().tools;
        self.tool_list.now(&*self.door, revision)
    }

    /// The list of resources as it stands, with its number.
    pub(crate) fn resources(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().resources;
        self.resources.now(&*self.door, revision)
    }

    /// The list of resource templates as it stands, with its number.
    pub(crate) fn templates(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().resources;
        self.templates.now(&*self.door, revision)
    }

    /// The list of prompts as it stands, with its number.
    pub(crate) fn prompts(&self) -> Arc<(u64, Pages)> {
        let revision = self.changes.borrow().prompts;
        self.prompts.now(&*self.door, revision)
    }

    /// Ends a session and tells everybody.
    pub(crate) fn end_session(&self, session: &Session) -> bool {
        let ended = self.sessions.end(session);
        if ended {
            self.after_session(session);
        }
        ended
    }

    /// Tells everybody that a session ended.
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

/// The running gateway. Dropping it ends it without waiting.
pub struct Gateway {
    core: Arc<Core>,
    address: SocketAddr,
    tasks: TaskTracker,
    kill: CancellationToken,
    _stop: DropGuard,
}

impl Gateway {
    /// Listens.
    ///
    /// # Errors
    /// When the address is not loopback, is in use, or the system refuses.
    pub async fn bind(listen: SocketAddr, deps: GatewayDeps) -> Result<Self, GatewayError> {
        let GatewayDeps { tools, clients, events, clock } = deps;
        let kept_bytes = tools.kept_bytes();
        let parts = GatewayParts { door: Arc::new(tools), kept_bytes, clients, events, clock };
        Self::bind_parts(listen, parts).await
    }

    /// Listens in front of any door.
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

    /// The address that clients use.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends all sessions and calls, and returns when nothing runs any more.
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

/// Tells clients which lists changed.
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

/// Tells clients which resources changed.
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

/// Ends sessions that nobody uses.
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
