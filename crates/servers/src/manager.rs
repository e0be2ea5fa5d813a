//! Manages all servers: adding, editing, starting, stopping, and shutdown. Work is delegated to the
//! actors, and waiting for them is bounded. Nothing is persisted here.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_auth::TokenSource;
use gatehouse_builtin_servers::BuiltinContext;
use gatehouse_mcp_client::lists::ServerLists;
use gatehouse_mcp_client::schema_check::SchemaChecker;
use gatehouse_mcp_client::{ConnectDeps, FallbackHandler, LifecycleHint, ServerRequestHandler};
use gatehouse_model::server::{DeclaredCapabilities, LogLevel, LogLine, ServerCounts};
use gatehouse_model::settings::{PackageSource, PackageSources};
use gatehouse_model::status::ServerInfo;
use gatehouse_model::{
    CallLimits, Clock, ErrorCode, Event, EventSink, ServerConfig, ServerId, ServerStatus, StatusCause,
    UserError, message,
};
use gatehouse_store::SecretStore;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::actor::connection_attempt::connect_once;
use crate::actor::connector::{ConnectOptions, UpstreamConnector};
use crate::actor::registry::{ResourceUpdate, SharedRegistry};
use crate::actor::{ActorDeps, ActorShutdown, INBOX, ServerActor};
use crate::environment::mirrors::{self, MirrorChoice};
use crate::handle::ServerHandle;
use crate::host::LocalHost;
use crate::managed_policy::PolicyFile;
use crate::retry::Jitter;
use crate::shared::{ActorMessage, GlobalServerState, ServerShared};
use crate::transition::{ConnectFailure, ServerInput, ServerState};

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

/// Result of a test connection.
#[derive(Clone, Debug)]
pub struct ServerTestResult {
    /// How the server identifies itself.
    pub server: ServerInfo,
    pub lists: ServerLists,
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

#[derive(Default)]
struct ServerTable {
    by_id: HashMap<ServerId, ManagedServer>,
    order: Vec<ServerId>,
}

impl ServerTable {
    /// In the order in which the servers were added.
    fn handles(&self) -> Vec<ServerHandle> {
        self.order.iter().filter_map(|id| self.by_id.get(id)).map(|entry| entry.handle.clone()).collect()
    }
}

struct ManagedServer {
    handle: ServerHandle,
    /// Ends the actor when the entry is dropped.
    stop: DropGuard,
    /// Cancelled when nothing of the actor is left.
    done: CancellationToken,
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

/// Outcome of a [`ServerManager::put`].
enum PutOutcome {
    Added,
    Edited,
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

    /// Sets the package sources of servers. Takes effect at the next start of each server.
    pub fn set_packages(&self, sources: &PackageSources) {
        let Some(connections) = &self.shared.connections else { return };
        for (kind, source) in
            [(mirrors::PackageEcosystem::Npm, &sources.npm), (mirrors::PackageEcosystem::Pypi, &sources.pypi)]
        {
            let choice = match source {
                PackageSource::Fastest => MirrorChoice::Auto,
                PackageSource::Usual => MirrorChoice::Default,
                PackageSource::Custom { url } => MirrorChoice::Custom(url.clone()),
            };
            connections.host.mirrors.set_choice(kind, choice);
        }
    }

    /// Why the managed policy forbids a server, if it does. Reads the policy file.
    #[must_use]
    pub fn forbids(&self, config: &ServerConfig) -> Option<String> {
        self.shared.policy.as_ref()?.forbids(config)
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

    /// Sets the fallback responder, which answers requests of servers that cannot be attributed to
    /// a client. Only the first call has an effect.
    pub fn set_fallback_handler(&self, respond: Arc<dyn ServerRequestHandler>) {
        if let Some(connections) = &self.shared.connections {
            connections.deps.fallback.set(respond);
        }
    }

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

    /// Makes these the servers: adds, edits and removes what differs, and starts those with
    /// autostart in parallel, without waiting for them. A server that cannot be added (because its
    /// name is taken) is left out, and its error is returned.
    pub async fn load(&self, configs: Vec<ServerConfig>) -> Vec<UserError> {
        let gone: Vec<ServerId> = {
            let entries = self.shared.entries.read();
            entries
                .order
                .iter()
                .filter(|id| !configs.iter().any(|config| config.id == **id))
                .cloned()
                .collect()
        };
        for id in gone {
            if let Some(entry) = self.detach(&id) {
                let manager = self.clone();
                self.shared.tracker.spawn(async move { manager.await_shutdown(entry).await });
            }
        }
        let mut problems = Vec::new();
        for config in configs {
            if let Err(problem) = self.put_with_cause(config, StatusCause::Launch).await {
                tracing::warn!(%problem, "a server was left out");
                problems.push(problem);
            }
        }
        problems
    }

    /// Adds a server, or edits the one with this id. A new one is started if it is enabled and has
    /// autostart; an edited one reconnects only if its transport or generation changed. Returns the
    /// settings as stored: an edit of the transport always increases the generation.
    ///
    /// # Errors
    /// [`ErrorCode::NameTaken`] if another server has the name.
    pub async fn put(&self, config: ServerConfig) -> Result<Arc<ServerConfig>, UserError> {
        self.put_with_cause(config, StatusCause::User).await
    }

    async fn put_with_cause(
        &self,
        config: ServerConfig,
        cause: StatusCause,
    ) -> Result<Arc<ServerConfig>, UserError> {
        self.ensure_running()?;
        let (handle, put) = self.insert_or_update(config)?;
        let config = handle.config();
        match put {
            PutOutcome::Added => {
                let (server, name) = (config.id.clone(), config.name.clone());
                self.shared.deps.registry.changed();
                self.shared.deps.registry.emit(Event::ServerAdded { server, name });
                if config.enabled && config.autostart {
                    send(&handle, ActorMessage::ServerInput(ServerInput::Start { cause })).await?;
                }
            }
            PutOutcome::Edited => send(&handle, ActorMessage::Edited).await?,
        }
        Ok(config)
    }

    /// Adds or replaces the entry under the lock; nothing is started here.
    fn insert_or_update(&self, mut config: ServerConfig) -> Result<(ServerHandle, PutOutcome), UserError> {
        let mut entries = self.shared.entries.write();
        let taken = entries.by_id.values().any(|entry| {
            entry.handle.shared.id != config.id && entry.handle.shared.config.load().name == config.name
        });
        if taken {
            return Err(UserError::new(
                ErrorCode::NameTaken,
                message!("error.servers.nameTaken", name = &config.name),
            )
            .with_hint(message!("error.servers.otherNameHint")));
        }
        if let Some(entry) = entries.by_id.get(&config.id) {
            let before = entry.handle.config();
            let floor = if before.transport == config.transport {
                before.generation
            } else {
                before.generation.next()
            };
            config.generation = config.generation.max(floor);
            entry.handle.shared.config.store(Arc::new(config));
            return Ok((entry.handle.clone(), PutOutcome::Edited));
        }
        let config = Arc::new(config);
        let (inbox, messages) = mpsc::channel(INBOX);
        let status = ServerState::new(config.enabled).status();
        let shared =
            Arc::new(ServerShared::new(Arc::clone(&config), status, inbox, Arc::clone(&self.shared.common)));
        let (stop, done) = (CancellationToken::new(), CancellationToken::new());
        let shutdown = ActorShutdown { stop: stop.clone(), hard: self.shared.hard.clone() };
        let actor = ServerActor::new(Arc::clone(&shared), messages, self.shared.deps.clone(), shutdown);
        let left = done.clone().drop_guard();
        self.shared.tracker.spawn(async move {
            actor.run().await;
            drop(left);
        });
        let handle = ServerHandle { shared };
        let entry = ManagedServer { handle: handle.clone(), stop: stop.drop_guard(), done };
        entries.order.push(config.id.clone());
        entries.by_id.insert(config.id.clone(), entry);
        Ok((handle, PutOutcome::Added))
    }

    /// Removes a server and waits until nothing of it runs.
    pub async fn remove(&self, id: &ServerId) {
        if let Some(entry) = self.detach(id) {
            self.await_shutdown(entry).await;
        }
    }

    fn detach(&self, id: &ServerId) -> Option<ManagedServer> {
        let mut entries = self.shared.entries.write();
        entries.order.retain(|other| other != id);
        entries.by_id.remove(id)
    }

    async fn await_shutdown(&self, entry: ManagedServer) {
        let ManagedServer { handle, stop, done } = entry;
        drop(stop);
        self.shared.deps.registry.changed();
        if tokio::time::timeout(STOP_TIMEOUT, done.cancelled()).await.is_err() {
            tracing::warn!(server = %handle.shared.id, "a removed server takes long to stop");
        }
        let name = handle.config().name.clone();
        self.shared.deps.registry.emit(Event::ServerRemoved { server: handle.shared.id.clone(), name });
    }

    /// Switches all of MCP on or off. Off: every server stops, none can be started, and calls fail
    /// with [`UpstreamErrorKind::SwitchedOff`](crate::UpstreamErrorKind); returns when nothing runs any more, or
    /// after 10 s. On: the servers with autostart start. The state is not persisted.
    pub async fn set_mcp_enabled(&self, on: bool) {
        let _turn = self.shared.switch_lock.lock().await;
        let handles = {
            let entries = self.shared.entries.write();
            if self.shared.common.on.swap(on, Ordering::SeqCst) == on {
                return;
            }
            entries.handles()
        };
        if !on {
            std::mem::take(&mut *self.shared.test_cancel.lock()).cancel();
        }
        tracing::info!(on, "MCP was switched");
        let mut gone = Vec::new();
        for handle in handles {
            let (reply, settled) = oneshot::channel();
            if let Err(problem) = send(&handle, ActorMessage::Switched { on, reply }).await {
                tracing::debug!(%problem, "a server was gone when MCP was switched");
            }
            gone.push(settled);
        }
        let all = async {
            for settled in gone {
                // An actor that drops the sender has ended.
                settled.await.unwrap_or(());
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
            tracing::warn!("some servers take long to stop");
        }
    }

    /// Whether MCP is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.shared.common.on.load(Ordering::SeqCst)
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

    /// Sets the most verbose log level that any client wants. With `None`, servers log at the level
    /// that the user set, or at their default.
    pub fn set_clients_log_level(&self, level: Option<LogLevel>) {
        let handles = {
            let entries = self.shared.entries.write();
            if std::mem::replace(&mut *self.shared.common.clients_log_level.lock(), level) == level {
                return;
            }
            entries.handles()
        };
        for handle in handles {
            self.shared.tracker.spawn(async move { handle.apply_clients_log_level().await });
        }
    }

    /// Sets the time limits of calls to servers that set none themselves. Takes effect with the
    /// next call.
    pub fn set_call_limits(&self, limits: CallLimits) {
        *self.shared.common.call_limits.lock() = limits;
    }

    /// Reports that a sign-in found no way to register with the authorization server of a server
    /// that waits for a sign-in.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server.
    pub async fn needs_client_registration(&self, id: &ServerId, reason: String) -> Result<(), UserError> {
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

    /// Connects with settings that are not saved, reads the lists, and closes. Nothing is left
    /// behind, even if the returned future is dropped.
    pub async fn test(&self, config: ServerConfig) -> Result<ServerTestResult, UserError> {
        let cancel = self.shared.test_cancel.lock().child_token();
        self.ensure_running()?;
        self.ensure_mcp_on()?;
        let abandoned = cancel.clone().drop_guard();
        let (inbound, said) = mpsc::channel(16);
        let name = config.name.clone();
        let order =
            ConnectOptions { config: Arc::new(config), lifecycle: LifecycleHint::default(), inbound, cancel };
        let connector = Arc::clone(&self.shared.deps.connector);
        let hard = self.shared.hard.clone();
        let (reply, answer) = oneshot::channel();
        self.shared.tracker.spawn(async move {
            let tried = hard.run_until_cancelled(Box::pin(connect_once(&*connector, order))).await;
            drop(said);
            if let Some(tried) = tried
                && reply.send(tried).is_err()
            {
                tracing::debug!("nobody waits for the test any more");
            }
        });
        let tried = answer.await.map_err(|_| being_removed(&name))?;
        drop(abandoned);
        match tried {
            Ok(opened) => Ok(ServerTestResult {
                server: opened.connection.handshake().info.clone(),
                lists: opened.first.lists,
            }),
            Err(failure) => Err(connect_error(&name, &failure)),
        }
    }

    /// All servers, in the order in which they were added.
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

    /// All servers, in the order in which they were added.
    pub fn handles(&self) -> Vec<ServerHandle> {
        self.shared.entries.read().handles()
    }

    /// Subscribes to resource updates that servers announce from now on.
    #[must_use]
    pub fn updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.shared.deps.registry.updates()
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

fn connect_error(name: &str, failure: &ConnectFailure) -> UserError {
    let what = message!("error.servers.notConnected", name = name);
    match failure {
        ConnectFailure::NeedsAuth { issuer: _ } => UserError::new(ErrorCode::ServerUnavailable, what)
            .with_cause(message!("error.servers.wantsSignIn"))
            .with_hint(message!("error.servers.signInAfterAdding")),
        ConnectFailure::NeedsClientRegistration { reason } => {
            UserError::new(ErrorCode::ServerUnavailable, what)
                .with_cause(reason.clone())
                .with_hint(message!("error.servers.clientIdHint"))
        }
        ConnectFailure::Error { kind: _, message } => {
            UserError::new(ErrorCode::ServerUnavailable, what).with_cause(message.clone())
        }
    }
}
