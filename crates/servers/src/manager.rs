//! Manages all servers: starting, stopping, and shutdown. Work is delegated to the actors, and waiting for
//! them is bounded. Nothing is persisted here.
//!
//! Servers are added, edited and removed in `server_table`; what applies to all of them is set in
//! `global_settings`.

mod global_settings;
mod list_position;
mod server_table;
mod test_connection;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_auth::TokenSource;
use gatehouse_builtin_servers::BuiltinContext;
use gatehouse_mcp_client::schema_check::SchemaChecker;
use gatehouse_mcp_client::{ConnectDeps, FallbackHandler, ServerRequestHandler};
use gatehouse_model::server::{DeclaredCapabilities, LogLevel, LogLine, ServerCounts};
use gatehouse_model::{
    Clock, ErrorCode, EventSink, ServerConfig, ServerId, ServerStatus, StatusCause, UserError, UserText,
    message,
};
use gatehouse_store::SecretStore;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{broadcast, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::list_position::ListPosition;
pub use self::server_table::LastState;
use self::server_table::ServerTable;
pub use self::test_connection::ServerTestResult;
use crate::actor::ActorDeps;
use crate::actor::connector::UpstreamConnector;
use crate::actor::registry::{ServerNotification, SharedRegistry};
use crate::environment::ProgramLookup;
use crate::handle::ServerHandle;
use crate::host::LocalHost;
use crate::managed_policy::PolicyFile;
use crate::retry::Jitter;
use crate::shared::{ActorMessage, GlobalServerState};
use crate::transition::ServerInput;

/// Time limit for stopping servers.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for dropping what is left after that.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);

/// External dependencies of servers.
#[derive(Clone)]
pub struct ServerDeps {
    /// Resolves `${secret:NAME}`.
    pub secrets: Arc<dyn SecretStore>,
    /// Provides bearer tokens.
    pub tokens: Arc<dyn TokenSource>,
    /// Receives events.
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    /// Folder of the notes and the servers' logs.
    pub data_dir: PathBuf,
    /// The managed policy.
    pub policy: PolicyFile,
    /// The program that runs as the child guard, which ends child processes when Gatehouse is
    /// killed.
    pub guard_program: Option<PathBuf>,
}

/// A server's state at one moment.
#[derive(Clone, Debug)]
pub struct ServerSnapshot {
    pub config: Arc<ServerConfig>,
    pub status: ServerStatus,
    /// Numbers of tools, resources and prompts.
    pub counts: ServerCounts,
    pub declared: DeclaredCapabilities,
    /// The last lines of its log, oldest first.
    pub log_tail: Vec<LogLine>,
    pub errors_last_hour: u32,
}

/// All servers. Cheap to clone; when the last clone is dropped, the servers stop.
#[derive(Clone)]
pub struct ServerManager {
    shared: Arc<ServerManagerShared>,
}

impl std::fmt::Debug for ServerManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerManager")
            .field("servers", &self.shared.entries.read().order)
            .finish_non_exhaustive()
    }
}

struct ServerManagerShared {
    deps: ActorDeps,
    /// `None` in tests that provide their own connector.
    connections: Option<RealConnections>,
    /// `None` in the same tests.
    policy: Option<PolicyFile>,
    schemas: Arc<SchemaChecker>,
    entries: RwLock<ServerTable>,
    /// `on` and the clients' log level are changed under the lock of `entries`, so that no server
    /// is added in between.
    common: Arc<GlobalServerState>,
    /// Serialises switching MCP on and off.
    switch_lock: tokio::sync::Mutex<()>,
    /// Ends test connections.
    test_cancel: Mutex<CancellationToken>,
    tracker: TaskTracker,
    /// Cancelled by a shutdown: nothing new begins.
    closing: CancellationToken,
    /// Cancelled when a shutdown has taken too long.
    hard: CancellationToken,
}

/// What real connections depend on.
#[derive(Clone)]
pub(crate) struct RealConnections {
    deps: Arc<ConnectDeps>,
    host: Arc<LocalHost>,
}

impl RealConnections {
    /// Waits until every connection has ended, then shuts the child guard down. Close the
    /// connections before.
    async fn shutdown(&self) {
        self.deps.shutdown().await;
        self.host.shutdown().await;
    }
}

impl ServerManager {
    /// A manager without servers.
    #[must_use]
    pub fn new(deps: ServerDeps) -> Self {
        let ServerDeps { secrets, tokens, events, clock, data_dir, policy, guard_program } = deps;
        let builtin = Arc::new(BuiltinContext::new(&data_dir, Arc::clone(&clock)));
        let schemas = Arc::new(SchemaChecker::new(guard_program.clone()));
        let host = Arc::new(LocalHost::new(secrets, Arc::clone(&clock), &data_dir, guard_program));
        let connect_deps = Arc::new(ConnectDeps {
            host: Arc::<LocalHost>::clone(&host),
            tokens,
            clock: Arc::clone(&clock),
            data_dir,
            schemas,
            fallback: FallbackHandler::default(),
            tasks: TaskTracker::new(),
        });
        let connections = RealConnections { deps: Arc::clone(&connect_deps), host };
        let connector = Arc::new(UpstreamConnector { deps: connect_deps, policy: policy.clone(), builtin });
        let registry = Arc::new(SharedRegistry::new(events));
        let deps = ActorDeps { connector, registry, clock, jitter: Jitter::random };
        Self::assemble(deps, Some(connections), Some(policy))
    }

    /// A manager with the connector of `deps`, which tests replace.
    pub(crate) fn assemble(
        deps: ActorDeps,
        connections: Option<RealConnections>,
        policy: Option<PolicyFile>,
    ) -> Self {
        Self {
            shared: Arc::new(ServerManagerShared {
                deps,
                schemas: connections.as_ref().map(|real| Arc::clone(&real.deps.schemas)).unwrap_or_default(),
                connections,
                policy,
                entries: RwLock::default(),
                common: Arc::default(),
                switch_lock: tokio::sync::Mutex::default(),
                test_cancel: Mutex::default(),
                tracker: TaskTracker::new(),
                closing: CancellationToken::new(),
                hard: CancellationToken::new(),
            }),
        }
    }

    /// Why the managed policy forbids a server, if it does; in English, since clients read it too. Reads the policy
    /// file.
    #[must_use]
    pub fn forbids(&self, config: &ServerConfig) -> Option<String> {
        self.shared.policy.as_ref()?.forbids(config).map(|why| why.to_string())
    }

    /// Validates values against schemas that servers supply.
    pub fn schemas(&self) -> &Arc<SchemaChecker> {
        &self.shared.schemas
    }

    /// Loads the environment of the user's login shell in advance, so that no server waits for it
    /// later.
    pub fn preload_environment(&self) {
        if let Some(connections) = self.shared.connections.clone() {
            let closing = self.shared.closing.clone();
            self.shared.tracker.spawn(async move {
                // A slow shell must not delay a shutdown.
                closing.run_until_cancelled(connections.host.environment.get()).await.is_some()
            });
        }
    }

    /// Looks for programs where it looks for the programs of servers.
    pub async fn program_lookup(&self) -> ProgramLookup {
        ProgramLookup::new(match &self.shared.connections {
            Some(connections) => Some(connections.host.environment.get().await),
            None => None,
        })
    }

    /// Sets the fallback responder, which answers requests of servers that cannot be attributed to
    /// a client. Only the first call has an effect.
    pub fn set_fallback_handler(&self, respond: Arc<dyn ServerRequestHandler>) {
        if let Some(connections) = &self.shared.connections {
            connections.deps.fallback.set(respond);
        }
    }

    /// Starts a server, enabling it if it is disabled. One that is connected or connecting is left
    /// alone.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::ServerUnavailable`] while
    /// MCP is switched off.
    pub async fn start(&self, id: &ServerId) -> Result<(), UserError> {
        self.ensure_running()?;
        self.ensure_mcp_on()?;
        send(&self.find(id)?, ActorMessage::ServerInput(ServerInput::Start { cause: StatusCause::User }))
            .await
    }

    /// Sets a server's log level, now and after each reconnect.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server; otherwise if it is not connected,
    /// doesn't offer logging, or refuses.
    pub async fn set_log_level(&self, id: &ServerId, level: LogLevel) -> Result<(), UserError> {
        let handle = self.find(id)?;
        handle.set_log_level(level).await
    }

    /// Reports that a sign-in found no way to register with the authorization server of a server
    /// that waits for a sign-in.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server.
    pub async fn needs_client_registration(&self, id: &ServerId, reason: UserText) -> Result<(), UserError> {
        send(&self.find(id)?, ActorMessage::ServerInput(ServerInput::Unregistered { reason })).await
    }

    /// Stops a server and waits until nothing of it runs.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::TimedOut`] if stopping
    /// takes too long; it continues in the background.
    pub async fn stop(&self, id: &ServerId) -> Result<(), UserError> {
        let handle = self.find(id)?;
        let (reply, stopped) = oneshot::channel();
        send(&handle, ActorMessage::Stop(reply)).await?;
        match tokio::time::timeout(STOP_TIMEOUT, stopped).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(being_removed(&handle.config().name)),
            Err(_) => {
                let name = handle.config().name.clone();
                Err(UserError::new(ErrorCode::TimedOut, message!("error.servers.stopsSlowly", name = name)))
            }
        }
    }

    /// Closes the connection and opens a new one.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::ServerUnavailable`] if it
    /// or MCP as a whole is switched off.
    pub async fn reconnect(&self, id: &ServerId) -> Result<(), UserError> {
        self.ensure_running()?;
        self.ensure_mcp_on()?;
        let handle = self.find(id)?;
        let config = handle.config();
        if !config.enabled {
            return Err(UserError::new(
                ErrorCode::ServerUnavailable,
                message!("error.servers.switchedOff", name = &config.name),
            )
            .with_hint(message!("error.servers.switchedOffHint")));
        }
        send(&handle, ActorMessage::ServerInput(ServerInput::Reconnect)).await
    }

    /// All servers, in the order in which they were added; a restored one is at its old position.
    pub fn list(&self) -> Vec<ServerSnapshot> {
        let (handles, now) = (self.handles(), self.shared.deps.clock.now());
        handles
            .into_iter()
            .map(|handle| ServerSnapshot {
                config: handle.config(),
                status: handle.status(),
                counts: handle.lists().counts(),
                declared: handle.lists().declared(),
                log_tail: handle.log_tail(),
                errors_last_hour: handle.errors_last_hour(now),
            })
            .collect()
    }

    pub fn get(&self, id: &ServerId) -> Option<ServerHandle> {
        self.shared.entries.read().by_id.get(id).map(|entry| entry.handle.clone())
    }

    /// All servers, in the order in which they were added; a restored one is at its old position.
    pub fn handles(&self) -> Vec<ServerHandle> {
        self.shared.entries.read().handles()
    }

    /// Subscribes to the notifications for clients that servers send from now on.
    #[must_use]
    pub fn notifications(&self) -> broadcast::Receiver<ServerNotification> {
        self.shared.deps.registry.notifications()
    }

    /// A revision number that increases with every change of settings, statuses or lists.
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.shared.deps.registry.revision()
    }

    /// Cancels every call in flight, upstream too. Connections stay open.
    pub async fn cancel_all(&self) {
        for handle in self.handles() {
            handle.shared.cancel_calls();
        }
    }

    /// Stops all servers in parallel and returns when nothing is left running. What still runs
    /// after 10 s is dropped.
    pub async fn shutdown(&self) {
        let shared = &*self.shared;
        shared.closing.cancel();
        shared.test_cancel.lock().cancel();
        let entries = std::mem::take(&mut *shared.entries.write());
        for entry in entries.by_id.values() {
            entry.handle.shared.cancel_calls();
        }
        drop(entries);
        shared.tracker.close();
        let everything = async {
            shared.tracker.wait().await;
            if let Some(connections) = &shared.connections {
                connections.shutdown().await;
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, everything).await.is_ok() {
            return;
        }
        tracing::warn!("some servers did not stop in time and are dropped");
        shared.hard.cancel();
        if tokio::time::timeout(DROP_TIMEOUT, shared.tracker.wait()).await.is_err() {
            tracing::error!("some servers could not be dropped");
        }
    }

    fn ensure_running(&self) -> Result<(), UserError> {
        if self.shared.closing.is_cancelled() {
            return Err(UserError::new(ErrorCode::NotRunning, message!("error.servers.shuttingDown")));
        }
        Ok(())
    }

    fn ensure_mcp_on(&self) -> Result<(), UserError> {
        if self.is_on() {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::ServerUnavailable, message!("error.servers.mcpOff"))
            .with_hint(message!("error.servers.mcpOffHint")))
    }

    fn find(&self, id: &ServerId) -> Result<ServerHandle, UserError> {
        self.get(id).ok_or_else(|| {
            UserError::new(ErrorCode::NotFound, message!("error.servers.unknownServer", id = id.to_string()))
        })
    }
}

async fn send(handle: &ServerHandle, message: ActorMessage) -> Result<(), UserError> {
    handle.shared.inbox.send(message).await.map_err(|_| being_removed(&handle.config().name))
}

fn being_removed(name: &str) -> UserError {
    UserError::new(ErrorCode::ServerUnavailable, message!("error.servers.beingRemoved", name = name))
}
