//! The gateway: shared state, start, background tasks and shutdown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ClientId, Clock, Event, EventSink};
use gatehouse_tools::{ByteBudget, CatalogList, CatalogVersions, ResourceUpdate, ToolManager};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::clients::registry::{ClientRegistry, DisconnectReason};
use crate::error::GatewayError;
use crate::http::connections;
use crate::http::peer_process::PeerResolver;
use crate::protocol::input_required::ParkedCalls;
use crate::protocol::pagination::{PaginatedList, PaginatedListCache};
use crate::protocol::subscriptions::ListenStreams;
use crate::protocol::tool_list::ToolListCache;
use crate::session::changed_lists::ChangedLists;
use crate::session::resource_subscriptions::ResourceRef;
use crate::session::sessions::{Session, Sessions};
use crate::tool_service::ToolService;

/// Catalog changes within this time are announced together.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Interval for ending idle sessions and dropping what has expired.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// How long connections, and then calls, may take to end at shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// Dependencies of the gateway.
pub struct GatewayDeps {
    pub tools: ToolManager,
    pub clients: Arc<ClientRegistry>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// As [`GatewayDeps`], with any [`ToolService`] in place of [`ToolManager`].
pub struct GatewayServices {
    pub tool_service: Arc<dyn ToolService>,
    /// Byte budget for event logs and results that are kept until a client comes back for them.
    pub kept_bytes: Arc<ByteBudget>,
    pub clients: Arc<ClientRegistry>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// State shared by all connections.
pub(crate) struct GatewayState {
    pub(crate) tool_service: Arc<dyn ToolService>,
    /// Byte budget for event logs and results that are kept until a client comes back for them.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    pub(crate) clients: Arc<ClientRegistry>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Our port, which the `Host` header must contain.
    pub(crate) port: u16,
    /// Sessions of the stateful revisions.
    pub(crate) sessions: Sessions,
    /// `subscriptions/listen` streams of the stateless revision.
    pub(crate) subscriptions: ListenStreams,
    /// Tasks of calls that run on after their request, and other work that outlives a request.
    pub(crate) calls: TaskTracker,
    /// Calls that wait for the client's input (`input_required`).
    pub(crate) parked: ParkedCalls,
    /// Finds the peer process of a connection.
    pub(crate) peer_resolver: PeerResolver,
    /// Cancelled when the gateway stops.
    pub(crate) stop: CancellationToken,
    tool_list: ToolListCache,
    resources: PaginatedListCache,
    templates: PaginatedListCache,
    prompts: PaginatedListCache,
    changes: watch::Receiver<CatalogVersions>,
}

impl GatewayState {
    /// The current list of tools.
    pub(crate) fn tool_list(&self) -> Arc<crate::protocol::tool_list::ToolListPages> {
        let revision = self.changes.borrow().tools;
        self.tool_list.current(&*self.tool_service, revision)
    }

    /// The current list of resources, with its revision number.
    pub(crate) fn resources(&self) -> Arc<(u64, PaginatedList)> {
        let revision = self.changes.borrow().resources;
        self.resources.current(&*self.tool_service, revision)
    }

    /// The current list of resource templates, with its revision number.
    pub(crate) fn templates(&self) -> Arc<(u64, PaginatedList)> {
        let revision = self.changes.borrow().resources;
        self.templates.current(&*self.tool_service, revision)
    }

    /// The current list of prompts, with its revision number.
    pub(crate) fn prompts(&self) -> Arc<(u64, PaginatedList)> {
        let revision = self.changes.borrow().prompts;
        self.prompts.current(&*self.tool_service, revision)
    }

    /// Ends a session and cleans up after it. `false` if it had already ended.
    pub(crate) fn end_session(&self, session: &Session) -> bool {
        let ended = self.sessions.end(session);
        if ended {
            self.on_session_ended(session);
        }
        ended
    }

    /// Cleans up after a session that ended: tells the tools, releases its subscriptions, lowers the log
    /// level, and emits the event.
    pub(crate) fn on_session_ended(&self, session: &Session) {
        self.tool_service.session_ended(&session.id);
        session.resource_subscriptions.release_all(&self.tool_service, &self.calls);
        self.tool_service.set_log_level(self.sessions.log_level());
        self.events.emit(Event::ClientGone { client: session.client.entry.id.clone() });
        tracing::debug!(client = %session.client.entry.id, session = %session.id, "a session ended");
    }

    fn disconnect(&self, client: &ClientId, reason: DisconnectReason) {
        for session in self.sessions.end_for_client(client) {
            self.on_session_ended(&session);
        }
        self.subscriptions.end_for_client(client, self);
        self.parked.end_for_client(client);
        if reason == DisconnectReason::Revoked {
            self.tool_service.client_gone(client);
        }
    }
}

/// The running gateway. Dropping it stops it without waiting.
pub struct Gateway {
    state: Arc<GatewayState>,
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
        let services = GatewayServices { tool_service: Arc::new(tools), kept_bytes, clients, events, clock };
        Self::bind_with(listen, services).await
    }

    /// As [`Self::bind`], with any [`ToolService`].
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_with(listen: SocketAddr, services: GatewayServices) -> Result<Self, GatewayError> {
        if !listen.ip().is_loopback() {
            return Err(GatewayError::NotLoopback(listen));
        }
        let refused = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => GatewayError::PortInUse(listen),
            _ => GatewayError::Io { address: listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let GatewayServices { tool_service, kept_bytes, clients, events, clock } = services;
        let stop = CancellationToken::new();
        let calls = TaskTracker::new();
        let state = Arc::new(GatewayState {
            changes: tool_service.changes(),
            tool_service,
            clients,
            events,
            clock,
            port: address.port(),
            sessions: Sessions::default(),
            subscriptions: ListenStreams::default(),
            parked: ParkedCalls::new(calls.clone(), Arc::clone(&kept_bytes)),
            kept_bytes,
            peer_resolver: PeerResolver::default(),
            calls,
            stop: stop.clone(),
            tool_list: ToolListCache::default(),
            resources: PaginatedListCache::new(CatalogList::Resources),
            templates: PaginatedListCache::new(CatalogList::Templates),
            prompts: PaginatedListCache::new(CatalogList::Prompts),
        });
        let weak = Arc::downgrade(&state);
        state.clients.on_client_disconnect(Arc::new(move |client, reason| {
            if let Some(state) = weak.upgrade() {
                state.disconnect(client, reason);
            }
        }));
        let (tasks, kill) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(connections::accept(listener, Arc::clone(&state), tasks.clone(), kill.clone()));
        tasks.spawn(announce_list_changes(Arc::clone(&state)));
        tasks.spawn(forward_resource_updates(Arc::clone(&state)));
        tasks.spawn(sweep(Arc::clone(&state)));
        tracing::info!(%address, "the gateway listens");
        Ok(Self { state, address, tasks, kill, _stop: stop.drop_guard() })
    }

    /// The URL that clients use.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends all sessions and calls. Returns when they have ended, or after two seconds for connections (which
    /// are then closed) and once more for calls.
    pub async fn shutdown(&self) {
        self.state.stop.cancel();
        for session in self.state.sessions.end_all() {
            self.state.on_session_ended(&session);
        }
        self.state.subscriptions.end_all(&self.state);
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.tasks.wait()).await.is_err() {
            self.kill.cancel();
            self.tasks.wait().await;
        }
        self.state.calls.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.state.calls.wait()).await.is_err() {
            tracing::warn!(calls = self.state.calls.len(), "calls were still ending when the gateway was");
        }
    }
}

/// Sends `list_changed` notifications to clients, debounced.
async fn announce_list_changes(state: Arc<GatewayState>) {
    let mut changes = state.changes.clone();
    let mut announced = *changes.borrow();
    let next = async {
        while changes.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            let now = *changes.borrow_and_update();
            let changed = ChangedLists::between(announced, now);
            announced = now;
            state.sessions.notify_lists_changed(changed);
            state.subscriptions.notify_lists_changed(changed);
        }
    };
    tokio::select! {
        () = state.stop.cancelled() => {}
        () = next => {}
    }
}

/// Forwards resource updates to subscribed clients.
async fn forward_resource_updates(state: Arc<GatewayState>) {
    let mut updates = state.tool_service.updates();
    let each = async {
        loop {
            match updates.recv().await {
                Ok(ResourceUpdate { server, uri }) => {
                    let resource = ResourceRef { server, target: uri };
                    state.sessions.notify_resource_updated(&resource);
                    state.subscriptions.notify_resource_updated(&resource);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(missed, "resources change faster than is told")
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    tokio::select! {
        () = state.stop.cancelled() => {}
        () = each => {}
    }
}

/// Ends idle sessions, and drops expired streams and calls.
async fn sweep(state: Arc<GatewayState>) {
    let each = async {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            state.parked.sweep();
            state.sessions.prune_streams();
            for session in state.sessions.end_idle() {
                state.on_session_ended(&session);
            }
        }
    };
    tokio::select! {
        () = state.stop.cancelled() => {}
        () = each => {}
    }
}
