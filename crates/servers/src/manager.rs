//! Manages all servers: adding, editing, starting, stopping, and shutdown. Work is delegated to the
//! actors, and waiting for them is bounded. Nothing is persisted here.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_auth::TokenSource;
use gatehouse_model::server::{Counts, Declared, LogLevel, LogLine};
use gatehouse_model::settings::{PackageSource, PackageSources};
use gatehouse_model::status::ServerInfo;
use gatehouse_model::{
    CallLimits, Clock, ErrorCode, Event, EventSink, Problem, ServerConfig, ServerId, ServerStatus,
    StatusCause,
};
use gatehouse_store::SecretStore;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::actor::connector::Transports;
use crate::actor::link::ConnectOrder;
use crate::actor::roster::{Roster, Updated};
use crate::actor::tenure::try_out;
use crate::actor::{ActorDeps, Ending, INBOX, Message, ServerActor};
use crate::asks::Respond;
use crate::builtin::BuiltinPlace;
use crate::connection::{ConnectDeps, LifecycleHint};
use crate::enterprise::PolicyFile;
use crate::environment::mirrors::{self, Choice};
use crate::handle::{Common, ServerHandle, Shared};
use crate::lists::Lists;
use crate::retry::Jitter;
use crate::schema_check::SchemaChecker;
use crate::transition::{Failure, Input, State};

/// Time limit for stopping servers.
const STOPPING: Duration = Duration::from_secs(10);

/// Time limit for dropping what is left after that.
const DROPPING: Duration = Duration::from_secs(2);

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
    pub counts: Counts,
    /// The declared capabilities.
    pub declared: Declared,
    /// The last lines of its log, oldest first.
    pub log_tail: Vec<LogLine>,
    pub errors_last_hour: u32,
}

/// Result of a test connection.
#[derive(Clone, Debug)]
pub struct Tried {
    /// How the server identifies itself.
    pub server: ServerInfo,
    pub lists: Lists,
}

/// All servers. Cheap to clone; when the last clone is dropped, the servers stop.
#[derive(Clone)]
pub struct ServerManager {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for ServerManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerManager")
            .field("servers", &self.inner.entries.read().order)
            .finish_non_exhaustive()
    }
}

struct Inner {
    deps: ActorDeps,
    /// `None` in tests that provide their own connector.
    connections: Option<Arc<ConnectDeps>>,
    /// `None` in the same tests.
    policy: Option<PolicyFile>,
    schemas: Arc<SchemaChecker>,
    entries: RwLock<Entries>,
    /// `on` and the clients' log level are changed under the lock of `entries`, so that no server
    /// is added in between.
    common: Arc<Common>,
    /// Serialises switching MCP on and off.
    switching: tokio::sync::Mutex<()>,
    /// Ends test connections.
    tries: Mutex<CancellationToken>,
    tracker: TaskTracker,
    /// Cancelled by a shutdown: nothing new begins.
    closing: CancellationToken,
    /// Cancelled when a shutdown has taken too long.
    hard: CancellationToken,
}

#[derive(Default)]
struct Entries {
    by_id: HashMap<ServerId, Entry>,
    order: Vec<ServerId>,
}

impl Entries {
    /// In the order in which the servers were added.
    fn handles(&self) -> Vec<ServerHandle> {
        self.order.iter().filter_map(|id| self.by_id.get(id)).map(|entry| entry.handle.clone()).collect()
    }
}

struct Entry {
    handle: ServerHandle,
    /// Ends the actor when the entry is dropped.
    stop: DropGuard,
    /// Cancelled when nothing of the actor is left.
    done: CancellationToken,
}

/// Outcome of a [`ServerManager::put`].
enum Put {
    Added,
    Edited,
}

impl ServerManager {
    /// A manager without servers.
    #[must_use]
    pub fn new(deps: ServerDeps) -> Self {
        let ServerDeps { secrets, tokens, events, clock, data_dir, policy, guard_program } = deps;
        let place = Arc::new(BuiltinPlace::new(&data_dir, Arc::clone(&clock)));
        let connections =
            Arc::new(ConnectDeps::new(secrets, tokens, Arc::clone(&clock), data_dir, guard_program));
        let deps = Arc::clone(&connections);
        let connector = Arc::new(Transports { deps, policy: policy.clone(), place });
        let roster = Arc::new(Roster::new(events));
        let deps = ActorDeps { connector, roster, clock, jitter: Jitter::roll };
        Self::assemble(deps, Some(connections), Some(policy))
    }

    /// Sets the package sources of servers. Takes effect at the next start of each server.
    pub fn set_packages(&self, sources: &PackageSources) {
        let Some(connections) = &self.inner.connections else { return };
        for (kind, source) in [(mirrors::Kind::Npm, &sources.npm), (mirrors::Kind::Pypi, &sources.pypi)] {
            let choice = match source {
                PackageSource::Fastest => Choice::Auto,
                PackageSource::Usual => Choice::Default,
                PackageSource::Custom { url } => Choice::Custom(url.clone()),
            };
            connections.mirrors.choose(kind, choice);
        }
    }

    /// Why the managed policy forbids a server, if it does. Reads the policy file.
    #[must_use]
    pub fn forbids(&self, config: &ServerConfig) -> Option<String> {
        self.inner.policy.as_ref()?.forbids(config)
    }

    /// Validates values against schemas that servers supply.
    #[must_use]
    pub fn schemas(&self) -> &Arc<SchemaChecker> {
        &self.inner.schemas
    }

    /// Loads the environment of the user's login shell in advance, so that no server waits for it
    /// later.
    pub fn look_around(&self) {
        if let Some(connections) = self.inner.connections.clone() {
            let closing = self.inner.closing.clone();
            self.inner.tracker.spawn(async move {
                // A slow shell must not delay a shutdown.
                closing.run_until_cancelled(connections.environment.get()).await.is_some()
            });
        }
    }

    /// Sets the fallback responder, which answers requests of servers that cannot be attributed to
    /// a client. Only the first call has an effect.
    pub fn answer_with(&self, respond: Arc<dyn Respond>) {
        if let Some(connections) = &self.inner.connections {
            connections.fallback.set(respond);
        }
    }

    pub(crate) fn assemble(
        deps: ActorDeps,
        connections: Option<Arc<ConnectDeps>>,
        policy: Option<PolicyFile>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                deps,
                schemas: connections.as_ref().map(|deps| Arc::clone(&deps.schemas)).unwrap_or_default(),
                connections,
                policy,
                entries: RwLock::default(),
                common: Arc::default(),
                switching: tokio::sync::Mutex::default(),
                tries: Mutex::default(),
                tracker: TaskTracker::new(),
                closing: CancellationToken::new(),
                hard: CancellationToken::new(),
            }),
        }
    }

    /// Makes these the servers: adds, edits and removes what differs, and starts those with
    /// autostart in parallel, without waiting for them. A server that cannot be added (because its
    /// name is taken) is left out, and its error is returned.
    pub async fn load(&self, configs: Vec<ServerConfig>) -> Vec<Problem> {
        let gone: Vec<ServerId> = {
            let entries = self.inner.entries.read();
            entries
                .order
                .iter()
                .filter(|id| !configs.iter().any(|config| config.id == **id))
                .cloned()
                .collect()
        };
        for id in gone {
            if let Some(entry) = self.take_out(&id) {
                let manager = self.clone();
                self.inner.tracker.spawn(async move { manager.see_off(entry).await });
            }
        }
        let mut problems = Vec::new();
        for config in configs {
            if let Err(problem) = self.put_as(config, StatusCause::Launch).await {
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
    pub async fn put(&self, config: ServerConfig) -> Result<Arc<ServerConfig>, Problem> {
        self.put_as(config, StatusCause::User).await
    }

    async fn put_as(&self, config: ServerConfig, cause: StatusCause) -> Result<Arc<ServerConfig>, Problem> {
        self.open_for_business()?;
        let (handle, put) = self.place(config)?;
        let config = handle.config();
        match put {
            Put::Added => {
                let (server, name) = (config.id.clone(), config.name.clone());
                self.inner.deps.roster.changed();
                self.inner.deps.roster.emit(Event::ServerAdded { server, name });
                if config.enabled && config.autostart {
                    send(&handle, Message::Input(Input::Start { cause })).await?;
                }
            }
            Put::Edited => send(&handle, Message::Edited).await?,
        }
        Ok(config)
    }

    /// Adds or replaces the entry under the lock; nothing is started here.
    fn place(&self, mut config: ServerConfig) -> Result<(ServerHandle, Put), Problem> {
        let mut entries = self.inner.entries.write();
        let taken = entries.by_id.values().any(|entry| {
            entry.handle.shared.id != config.id && entry.handle.shared.config.load().name == config.name
        });
        if taken {
            return Err(Problem::new(
                ErrorCode::NameTaken,
                format!("There is already a server named {}.", config.name),
            )
            .todo("Choose another name."));
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
            return Ok((entry.handle.clone(), Put::Edited));
        }
        let config = Arc::new(config);
        let (inbox, messages) = mpsc::channel(INBOX);
        let status = State::new(config.enabled).status();
        let shared =
            Arc::new(Shared::new(Arc::clone(&config), status, inbox, Arc::clone(&self.inner.common)));
        let (stop, done) = (CancellationToken::new(), CancellationToken::new());
        let ending = Ending { stop: stop.clone(), hard: self.inner.hard.clone() };
        let actor = ServerActor::new(Arc::clone(&shared), messages, self.inner.deps.clone(), ending);
        let left = done.clone().drop_guard();
        self.inner.tracker.spawn(async move {
            actor.run().await;
            drop(left);
        });
        let handle = ServerHandle { shared };
        let entry = Entry { handle: handle.clone(), stop: stop.drop_guard(), done };
        entries.order.push(config.id.clone());
        entries.by_id.insert(config.id.clone(), entry);
        Ok((handle, Put::Added))
    }

    /// Removes a server and waits until nothing of it runs.
    pub async fn remove(&self, id: &ServerId) {
        if let Some(entry) = self.take_out(id) {
            self.see_off(entry).await;
        }
    }

    fn take_out(&self, id: &ServerId) -> Option<Entry> {
        let mut entries = self.inner.entries.write();
        entries.order.retain(|other| other != id);
        entries.by_id.remove(id)
    }

    async fn see_off(&self, entry: Entry) {
        let Entry { handle, stop, done } = entry;
        drop(stop);
        self.inner.deps.roster.changed();
        if tokio::time::timeout(STOPPING, done.cancelled()).await.is_err() {
            tracing::warn!(server = %handle.shared.id, "a removed server takes long to stop");
        }
        let name = handle.config().name.clone();
        self.inner.deps.roster.emit(Event::ServerRemoved { server: handle.shared.id.clone(), name });
    }

    /// Switches all of MCP on or off. Off: every server stops, none can be started, and calls fail
    /// with [`CallError::SwitchedOff`](crate::CallError); returns when nothing runs any more, or
    /// after 10 s. On: the servers with autostart start. The state is not persisted.
    pub async fn set_on(&self, on: bool) {
        let _turn = self.inner.switching.lock().await;
        let handles = {
            let entries = self.inner.entries.write();
            if self.inner.common.on.swap(on, Ordering::SeqCst) == on {
                return;
            }
            entries.handles()
        };
        if !on {
            std::mem::take(&mut *self.inner.tries.lock()).cancel();
        }
        tracing::info!(on, "MCP was switched");
        let mut gone = Vec::new();
        for handle in handles {
            let (reply, settled) = oneshot::channel();
            if let Err(problem) = send(&handle, Message::Switched { on, reply }).await {
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
        if tokio::time::timeout(STOPPING, all).await.is_err() {
            tracing::warn!("some servers take long to stop");
        }
    }

    /// Whether MCP is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.inner.common.on.load(Ordering::SeqCst)
    }

    /// Starts a server, enabling it if it is disabled. One that is connected or connecting is left
    /// alone.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::ServerUnavailable`] while
    /// MCP is switched off.
    pub async fn start(&self, id: &ServerId) -> Result<(), Problem> {
        self.open_for_business()?;
        self.switched_on()?;
        send(&self.find(id)?, Message::Input(Input::Start { cause: StatusCause::User })).await
    }

    /// Sets a server's log level, now and after each reconnect.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server; otherwise if it is not connected,
    /// doesn't offer logging, or refuses.
    pub async fn set_log_level(&self, id: &ServerId, level: LogLevel) -> Result<(), Problem> {
        let handle = self.find(id)?;
        handle.set_log_level(level).await
    }

    /// Sets the most verbose log level that any client wants. With `None`, servers log at the level
    /// that the user set, or at their default.
    pub fn set_clients_log_level(&self, level: Option<LogLevel>) {
        let handles = {
            let entries = self.inner.entries.write();
            if std::mem::replace(&mut *self.inner.common.clients_log_level.lock(), level) == level {
                return;
            }
            entries.handles()
        };
        for handle in handles {
            self.inner.tracker.spawn(async move { handle.apply_clients_log_level().await });
        }
    }

    /// Sets the time limits of calls to servers that set none themselves. Takes effect with the
    /// next call.
    pub fn set_call_limits(&self, limits: CallLimits) {
        *self.inner.common.call_limits.lock() = limits;
    }

    /// Reports that a sign-in found no way to register with the authorization server of a server
    /// that waits for a sign-in.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server.
    pub async fn needs_client_registration(&self, id: &ServerId, reason: String) -> Result<(), Problem> {
        send(&self.find(id)?, Message::Input(Input::Unregistered { reason })).await
    }

    /// Stops a server and waits until nothing of it runs.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::TimedOut`] if stopping
    /// takes too long; it continues in the background.
    pub async fn stop(&self, id: &ServerId) -> Result<(), Problem> {
        let handle = self.find(id)?;
        let (reply, stopped) = oneshot::channel();
        send(&handle, Message::Stop(reply)).await?;
        match tokio::time::timeout(STOPPING, stopped).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(gone(&handle.config().name)),
            Err(_) => {
                let name = handle.config().name.clone();
                Err(Problem::new(ErrorCode::TimedOut, format!("The server {name} takes long to stop.")))
            }
        }
    }

    /// Closes the connection and opens a new one.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if there is no such server, [`ErrorCode::ServerUnavailable`] if it
    /// or MCP as a whole is switched off.
    pub async fn reconnect(&self, id: &ServerId) -> Result<(), Problem> {
        self.open_for_business()?;
        self.switched_on()?;
        let handle = self.find(id)?;
        let config = handle.config();
        if !config.enabled {
            return Err(Problem::new(
                ErrorCode::ServerUnavailable,
                format!("The server {} is switched off.", config.name),
            )
            .todo("Start it instead."));
        }
        send(&handle, Message::Input(Input::Reconnect)).await
    }

    /// Connects with settings that are not saved, reads the lists, and closes. Nothing is left
    /// behind, even if the returned future is dropped.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn test(&self, config: ServerConfig) -> Result<Tried, Problem> {
        let cancel = self.inner.tries.lock().child_token();
        self.open_for_business()?;
        self.switched_on()?;
        let abandoned = cancel.clone().drop_guard();
        let (inbound, said) = mpsc::channel(16);
        let name = config.name.clone();
        let order =
            ConnectOrder { config: Arc::new(config), lifecycle: LifecycleHint::default(), inbound, cancel };
        let connector = Arc::clone(&self.inner.deps.connector);
        let hard = self.inner.hard.clone();
        let (reply, answer) = oneshot::channel();
        self.inner.tracker.spawn(async move {
            let tried = hard.run_until_cancelled(Box::pin(try_out(&*connector, order))).await;
            drop(said);
            if let Some(tried) = tried
                && reply.send(tried).is_err()
            {
                tracing::debug!("nobody waits for the test any more");
            }
        });
        let tried = answer.await.map_err(|_| gone(&name))?;
        drop(abandoned);
        match tried {
            Ok(opened) => {
                Ok(Tried { server: opened.link.handshake().info.clone(), lists: opened.first.lists })
            }
            Err(failure) => Err(refused(&name, &failure)),
        }
    }

    /// All servers, in the order in which they were added.
    #[must_use]
    pub fn list(&self) -> Vec<ServerSnapshot> {
        let (handles, now) = (self.handles(), self.inner.deps.clock.now());
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

    #[must_use]
    pub fn get(&self, id: &ServerId) -> Option<ServerHandle> {
        self.inner.entries.read().by_id.get(id).map(|entry| entry.handle.clone())
    }

    /// All servers, in the order in which they were added.
    #[must_use]
    pub fn handles(&self) -> Vec<ServerHandle> {
        self.inner.entries.read().handles()
    }

    /// Subscribes to resource updates that servers announce from now on.
    #[must_use]
    pub fn updates(&self) -> broadcast::Receiver<Updated> {
        self.inner.deps.roster.updates()
    }

    /// A revision number that increases with every change of settings, statuses or lists.
    #[must_use]
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.inner.deps.roster.revision()
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
        let inner = &*self.inner;
        inner.closing.cancel();
        inner.tries.lock().cancel();
        let entries = std::mem::take(&mut *inner.entries.write());
        for entry in entries.by_id.values() {
            entry.handle.shared.cancel_calls();
        }
        drop(entries);
        inner.tracker.close();
        let everything = async {
            inner.tracker.wait().await;
            if let Some(connections) = &inner.connections {
                connections.shutdown().await;
            }
        };
        if tokio::time::timeout(STOPPING, everything).await.is_ok() {
            return;
        }
        tracing::warn!("some servers did not stop in time and are dropped");
        inner.hard.cancel();
        if tokio::time::timeout(DROPPING, inner.tracker.wait()).await.is_err() {
            tracing::error!("some servers could not be dropped");
        }
    }

    fn open_for_business(&self) -> Result<(), Problem> {
        if self.inner.closing.is_cancelled() {
            return Err(Problem::new(ErrorCode::NotRunning, "Gatehouse is shutting down."));
        }
        Ok(())
    }

    fn switched_on(&self) -> Result<(), Problem> {
        if self.is_on() {
            return Ok(());
        }
        Err(Problem::new(ErrorCode::ServerUnavailable, "MCP is switched off, so no server runs.")
            .todo("Switch it on first: `gatehousectl servers on`."))
    }

    fn find(&self, id: &ServerId) -> Result<ServerHandle, Problem> {
        self.get(id).ok_or_else(|| Problem::new(ErrorCode::NotFound, format!("There is no server {id}.")))
    }
}

async fn send(handle: &ServerHandle, message: Message) -> Result<(), Problem> {
    handle.shared.inbox.send(message).await.map_err(|_| gone(&handle.config().name))
}

fn gone(name: &str) -> Problem {
    Problem::new(ErrorCode::ServerUnavailable, format!("The server {name} is being removed."))
}

fn refused(name: &str, failure: &Failure) -> Problem {
    let what = format!("The server {name} could not be connected to.");
    match failure {
        Failure::NeedsAuth { issuer: _ } => Problem::new(ErrorCode::ServerUnavailable, what)
            .why("It wants you to sign in.")
            .todo("Add the server, then sign in to it."),
        Failure::NeedsClientRegistration { reason } => Problem::new(ErrorCode::ServerUnavailable, what)
            .why(reason.clone())
            .todo("Enter a client id in the server's settings."),
        Failure::Error { kind: _, message } => {
            Problem::new(ErrorCode::ServerUnavailable, what).why(message.clone())
        }
    }
}
