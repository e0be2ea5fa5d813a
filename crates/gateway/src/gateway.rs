//! The gateway: start, background tasks and shutdown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::{AskUser, Clock, EventSink, ServerId};
use gatehouse_store::Store;
use gatehouse_tools::{
    ByteBudget, ForwardedNotification, NotificationKind, ServerNotification, ServerSelection, ToolManager,
    Viewer,
};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::authorization::ClientDocuments;
use crate::authorization::server::{AuthorizationDeps, AuthorizationServer};
use crate::clients::registry::ClientRegistry;
use crate::error::GatewayError;
use crate::http::allowed_hosts::AllowedHosts;
use crate::http::connections::{self, ShutdownSignals};
use crate::http::handler::HttpHandler;
use crate::http::peer_process::PeerResolver;
use crate::http::route;
use crate::protocol::state::ProtocolState;
use crate::session::changed_lists::ChangedLists;
use crate::session::saved_sessions::SavedSessions;
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
    pub store: Arc<Store>,
    /// Fetches the documents of clients that ask for access.
    pub client_documents: Arc<dyn ClientDocuments>,
    pub allowed_hosts: Arc<AllowedHosts>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// As [`GatewayDeps`], with any [`ToolService`] in place of [`ToolManager`].
pub struct GatewayServices {
    pub tool_service: Arc<dyn ToolService>,
    /// Byte budget for event logs and responses that wait for their client.
    pub retained_bytes: Arc<ByteBudget>,
    pub clients: Arc<ClientRegistry>,
    pub store: Arc<Store>,
    /// Asks the user whether an unknown client may have access.
    pub ask: Arc<dyn AskUser>,
    pub client_documents: Arc<dyn ClientDocuments>,
    pub allowed_hosts: Arc<AllowedHosts>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
}

/// The running gateway. Dropping it stops it without waiting.
pub struct Gateway {
    protocol: Arc<ProtocolState>,
    address: SocketAddr,
    tasks: TaskTracker,
    signals: ShutdownSignals,
    _stop_on_drop: DropGuard,
}

impl Gateway {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the address isn't loopback, is in use, or the operating system refuses.
    pub async fn bind(listen: SocketAddr, deps: GatewayDeps) -> Result<Self, GatewayError> {
        let GatewayDeps { tools, clients, store, client_documents, allowed_hosts, events, clock } = deps;
        let services = GatewayServices {
            retained_bytes: tools.retained_bytes(),
            ask: Arc::new(tools.approvals().clone()),
            tool_service: Arc::new(tools),
            clients,
            store,
            client_documents,
            allowed_hosts,
            events,
            clock,
        };
        Self::bind_with(listen, services).await
    }

    /// As [`Self::bind`], with any [`ToolService`].
    pub async fn bind_with(listen: SocketAddr, services: GatewayServices) -> Result<Self, GatewayError> {
        if !listen.ip().is_loopback() {
            return Err(GatewayError::NotLoopback(listen));
        }
        let to_error = |source: std::io::Error| match source.kind() {
            ErrorKind::AddrInUse => GatewayError::PortInUse(listen),
            _ => GatewayError::Io { address: listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(to_error)?;
        let address = listener.local_addr().map_err(to_error)?;
        let GatewayServices {
            tool_service,
            retained_bytes,
            clients,
            store,
            ask,
            client_documents,
            allowed_hosts,
            events,
            clock,
        } = services;
        let (tasks, signals) = (TaskTracker::new(), ShutdownSignals::default());
        let authorization = Arc::new(AuthorizationServer::new(AuthorizationDeps {
            clients: Arc::clone(&clients),
            tool_service: Arc::clone(&tool_service),
            documents: client_documents,
            ask,
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            stop: signals.stop.clone(),
        }));
        let saved_sessions = SavedSessions::open(store, Arc::clone(&clock)).await;
        let protocol = Arc::new(ProtocolState::new(tool_service, retained_bytes, events, saved_sessions));
        let weak = Arc::downgrade(&protocol);
        clients.on_client_disconnect(Arc::new(move |client, reason| {
            if let Some(protocol) = weak.upgrade() {
                protocol.disconnect(client, reason);
            }
        }));
        let handler = Arc::new(HttpHandler {
            protocol: Arc::clone(&protocol),
            clients,
            clock,
            authorization,
            port: address.port(),
            hosts: allowed_hosts,
            peer_resolver: PeerResolver::default(),
        });
        tasks.spawn(connections::accept(listener, handler, tasks.clone(), signals.clone()));
        tasks.spawn(announce_list_changes(Arc::clone(&protocol), signals.stop.clone()));
        tasks.spawn(announce_view_changes(Arc::clone(&protocol), signals.stop.clone()));
        tasks.spawn(forward_notifications(Arc::clone(&protocol), signals.stop.clone()));
        tasks.spawn(drop_expired(Arc::clone(&protocol), signals.stop.clone()));
        tracing::info!(%address, "the gateway listens");
        Ok(Self { _stop_on_drop: signals.stop.clone().drop_guard(), protocol, address, tasks, signals })
    }

    /// The URL that clients use.
    pub fn endpoint(&self) -> String {
        self.url(route::ALL_SERVERS)
    }

    /// The URL for one server by itself, in which `NAME` stands for its percent-encoded name.
    pub fn server_endpoint(&self) -> String {
        self.url(route::ONE_SERVER)
    }

    /// The URL for clients that speak only HTTP+SSE.
    pub fn sse_endpoint(&self) -> String {
        self.url(route::ALL_SERVERS_SSE)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Ends all sessions and calls. Returns when they have ended, or after two seconds for connections (which
    /// are then closed) and once more for calls.
    pub async fn shutdown(&self) {
        self.signals.stop.cancel();
        self.protocol.end_all();
        self.tasks.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, self.tasks.wait()).await.is_err() {
            self.signals.kill.cancel();
            self.tasks.wait().await;
        }
        let calls = &self.protocol.calls;
        calls.close();
        if tokio::time::timeout(SHUTDOWN_GRACE, calls.wait()).await.is_err() {
            tracing::warn!(calls = calls.len(), "some calls did not end in time");
        }
    }
}

/// Sends `list_changed` notifications to clients, debounced.
async fn announce_list_changes(protocol: Arc<ProtocolState>, stop: CancellationToken) {
    let mut versions = protocol.lists.versions();
    let mut announced = versions.borrow().clone();
    let announce = async {
        while versions.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            let current = versions.borrow_and_update().clone();
            let changed =
                |servers: &ServerSelection| ChangedLists::between(announced.of(servers), current.of(servers));
            protocol.sessions.notify_lists_changed(changed);
            protocol.listen_streams.notify_lists_changed(changed);
            announced = current;
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = announce => {}
    }
}

/// Sends `list_changed` notifications to clients whose profile changed, debounced.
async fn announce_view_changes(protocol: Arc<ProtocolState>, stop: CancellationToken) {
    let mut changes = protocol.tool_service.view_changes();
    let announce = async {
        while changes.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            changes.borrow_and_update();
            let view_of = |viewer: &Viewer| protocol.tool_service.view_key(viewer);
            protocol.sessions.notify_views_changed(&view_of);
            protocol.listen_streams.notify_views_changed(&view_of);
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = announce => {}
    }
}

/// Forwards notifications of servers to the clients that they are for and that see the server.
async fn forward_notifications(protocol: Arc<ProtocolState>, stop: CancellationToken) {
    let mut notifications = protocol.tool_service.notifications();
    let forward = async {
        loop {
            match notifications.recv().await {
                Ok(notification) => {
                    let sees = |viewer: &Viewer, server: &ServerId| {
                        protocol.tool_service.sees_server(viewer, server)
                    };
                    if let NotificationKind::TaskStatus { task } = &notification.notification.kind {
                        forward_task_status(&protocol, &notification, task);
                        continue;
                    }
                    protocol.sessions.notify(&notification, &sees);
                    protocol.listen_streams.notify(&notification, &sees);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        missed,
                        "notifications of servers were dropped: they come faster than they are sent"
                    )
                }
                Err(RecvError::Closed) => return,
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = forward => {}
    }
}

/// Forwards what a server says of a task to the client that has the task.
fn forward_task_status(protocol: &ProtocolState, notification: &ServerNotification, task: &str) {
    let ServerNotification { server, notification: ForwardedNotification { params, .. } } = notification;
    if let Some(notice) = protocol.tool_service.task_notice(server, task, &raw(params.to_string())) {
        protocol.sessions.notify_task(&notice);
    }
}

/// Ends idle sessions, and drops expired streams and calls.
async fn drop_expired(protocol: Arc<ProtocolState>, stop: CancellationToken) {
    let drop_expired = async {
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            protocol.drop_expired();
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = drop_expired => {}
    }
}
