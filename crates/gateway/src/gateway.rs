//! The gateway: start, background tasks and shutdown.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, EventSink};
use gatehouse_tools::{ByteBudget, ResourceUpdate, ToolManager};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::clients::registry::ClientRegistry;
use crate::error::GatewayError;
use crate::http::connections::{self, ShutdownSignals};
use crate::http::handler::HttpHandler;
use crate::http::peer_process::PeerResolver;
use crate::protocol::state::ProtocolState;
use crate::session::changed_lists::ChangedLists;
use crate::session::resource_subscriptions::ResourceRef;
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
    /// Byte budget for event logs and responses that wait for their client.
    pub retained_bytes: Arc<ByteBudget>,
    pub clients: Arc<ClientRegistry>,
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
        let GatewayDeps { tools, clients, events, clock } = deps;
        let retained_bytes = tools.retained_bytes();
        let services =
            GatewayServices { tool_service: Arc::new(tools), retained_bytes, clients, events, clock };
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
        let GatewayServices { tool_service, retained_bytes, clients, events, clock } = services;
        let protocol = Arc::new(ProtocolState::new(tool_service, retained_bytes, events));
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
            port: address.port(),
            peer_resolver: PeerResolver::default(),
        });
        let (tasks, signals) = (TaskTracker::new(), ShutdownSignals::default());
        tasks.spawn(connections::accept(listener, handler, tasks.clone(), signals.clone()));
        tasks.spawn(announce_list_changes(Arc::clone(&protocol), signals.stop.clone()));
        tasks.spawn(forward_resource_updates(Arc::clone(&protocol), signals.stop.clone()));
        tasks.spawn(drop_expired(Arc::clone(&protocol), signals.stop.clone()));
        tracing::info!(%address, "the gateway listens");
        Ok(Self { _stop_on_drop: signals.stop.clone().drop_guard(), protocol, address, tasks, signals })
    }

    /// The URL that clients use.
    pub fn endpoint(&self) -> String {
        format!("http://{}/mcp", self.address)
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
    let mut announced = *versions.borrow();
    let announce = async {
        while versions.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            let current = *versions.borrow_and_update();
            let changed = ChangedLists::between(announced, current);
            announced = current;
            protocol.sessions.notify_lists_changed(changed);
            protocol.listen_streams.notify_lists_changed(changed);
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = announce => {}
    }
}

/// Forwards resource updates to subscribed clients.
async fn forward_resource_updates(protocol: Arc<ProtocolState>, stop: CancellationToken) {
    let mut updates = protocol.tool_service.resource_updates();
    let forward = async {
        loop {
            match updates.recv().await {
                Ok(ResourceUpdate { server, uri }) => {
                    let resource = ResourceRef { server, target: uri };
                    protocol.sessions.notify_resource_updated(&resource);
                    protocol.listen_streams.notify_resource_updated(&resource);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::warn!(
                        missed,
                        "resource updates were dropped: they come faster than they are sent"
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
