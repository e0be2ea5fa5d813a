//! Builds the subsystems in order and shuts them down in reverse order. A [`Core`] holds the data
//! folder; after shutdown nothing that it started is left running.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_auth::{SignInDeps, SignIns};
use gatehouse_gateway::{ClientBook, Gateway, GatewayDeps};
use gatehouse_model::command::{Authority, Command, Request};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Clock, ErrorCode, EventSink, OpenUrl, Problem};
use gatehouse_servers::{PolicyFile, ServerDeps, ServerManager};
use gatehouse_store::{LoadedServers, Owner, SecretStore, Store, StoreOptions};
use gatehouse_tools::{Patience, SystemPaths, ToolDeps, ToolManager};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};

use crate::audit_log::StoreAudit;
use crate::authority::OperatorKeys;
use crate::control::ControlServer;
use crate::events::{EventBus, EventStream};
use crate::facade::{Facade, Parts, SignedIn, Troubles, sweep_secrets};
use crate::first_start;
use crate::hand_edits::HandEdits;
use crate::operator::{self, OperatorKey, OperatorKeyState};
use crate::results::Results;
use crate::settings::{self, Daily, Held};

/// Time limit for the shutdown of a subsystem; after it the next one is shut down all the same.
const STOP: Duration = Duration::from_secs(10);
/// Time limit for running commands at shutdown.
const STOP_COMMANDS: Duration = Duration::from_secs(3);
/// Time limit for the servers at shutdown; longer, because child processes get time to exit by
/// themselves.
const STOP_SERVERS: Duration = Duration::from_secs(20);

pub struct CoreOptions {
    /// The data folder; created if missing.
    pub data_dir: PathBuf,
    /// Loopback address of the gateway.
    pub listen: SocketAddr,
    /// Where approval requests are answered; permissions given under one owner are not valid under the
    /// other.
    pub owner: Owner,
    pub secrets: Arc<dyn SecretStore>,
    /// Whether a person can authenticate as the operator over the control socket.
    pub operator_key: OperatorKey,
    /// Program that ends the child processes if this process is killed: one whose `main` begins with
    /// [`crate::run_helper_if_asked`], usually this one. Without it child processes outlive a kill.
    pub guard_program: Option<PathBuf>,
    /// How long people and clients are waited for.
    pub patience: Patience,
    pub clock: Arc<dyn Clock>,
    /// Folder that results saved by the user are written to.
    pub downloads: PathBuf,
    /// The managed policy: what the computer's administrator forbids.
    pub policy: PolicyFile,
    /// Opens the user's browser for an OAuth sign-in.
    pub browser: Arc<dyn OpenUrl>,
}

/// No browser is opened: the caller shows the address to the user instead.
struct NoBrowser;

impl OpenUrl for NoBrowser {
    fn open(&self, _: &str) -> Result<(), String> {
        Err("There is no browser here.".to_owned())
    }
}

impl CoreOptions {
    /// Default options for a data folder, an address and a secret store. Approval requests are answered
    /// in a terminal.
    #[must_use]
    pub fn new(data_dir: PathBuf, listen: SocketAddr, secrets: Arc<dyn SecretStore>) -> Self {
        Self {
            data_dir,
            listen,
            owner: Owner::Serve,
            secrets,
            operator_key: OperatorKey::None,
            guard_program: None,
            patience: Patience::default(),
            clock: Arc::new(gatehouse_model::SystemClock),
            downloads: downloads(),
            policy: PolicyFile::usual(),
            browser: Arc::new(NoBrowser),
        }
    }
}

/// The user's download folder, or else the home folder.
fn downloads() -> PathBuf {
    dirs::download_dir().or_else(dirs::home_dir).unwrap_or_else(std::env::temp_dir)
}

/// A running Gatehouse.
pub struct Core {
    facade: Arc<Facade>,
    gateway: Gateway,
    control: ControlServer,
    hand_edits: HandEdits,
    daily: Daily,
    signed_in: SignedIn,
    operator_key_state: OperatorKeyState,
}

impl Core {
    /// Starts everything.
    ///
    /// # Errors
    /// If the data folder is in use or cannot be read, or if the address is in use or not loopback.
    /// Nothing is left running then.
    pub async fn start(mut options: CoreOptions) -> Result<Self, Problem> {
        let bus = Arc::new(EventBus::new(Arc::clone(&options.clock)));
        let events: Arc<dyn EventSink> = Arc::<EventBus>::clone(&bus);
        let Opened { store, loaded, held, operator } = open_store(&mut options).await?;
        let sign_ins = SignIns::new(SignInDeps {
            secrets: store.secrets(),
            clock: Arc::clone(&options.clock),
            audit: Arc::new(StoreAudit(Arc::clone(&store))),
            events: Arc::clone(&events),
            open: Arc::clone(&options.browser),
            data_dir: store.dir().to_path_buf(),
        });
        sign_ins.set_client_document(held.settings.client_document.clone());
        let servers = ServerManager::new(ServerDeps {
            secrets: store.secrets(),
            tokens: Arc::new(sign_ins.clone()),
            events: Arc::clone(&events),
            clock: Arc::clone(&options.clock),
            data_dir: store.dir().to_path_buf(),
            policy: options.policy.clone(),
            guard_program: options.guard_program.clone(),
        });
        servers.look_around();
        servers.set_packages(&held.settings.packages);
        servers.set_call_limits(held.settings.calls);
        let tools = ToolManager::start(ToolDeps {
            servers: servers.clone(),
            store: Arc::clone(&store),
            events: Arc::clone(&events),
            clock: Arc::clone(&options.clock),
            patience: options.patience.clone(),
            paths: Arc::new(SystemPaths),
        })
        .await;
        let tools = match tools {
            Ok(tools) => tools,
            Err(problem) => {
                stop_inner(None, (&servers, &sign_ins), &store).await;
                return Err(problem);
            }
        };
        sign_ins.answer_with(Arc::new(tools.approvals().clone()));
        let inner = Inner { store, servers, sign_ins, tools, bus };
        match Self::open_doors(options, operator, &inner, (loaded, held)).await {
            Ok(core) => Ok(core),
            Err(problem) => {
                stop_inner(Some(&inner.tools), (&inner.servers, &inner.sign_ins), &inner.store).await;
                Err(problem)
            }
        }
    }

    /// Opens the gateway and the control socket, and then starts the servers.
    async fn open_doors(
        options: CoreOptions,
        (operator, operator_key_state): (OperatorKeys, OperatorKeyState),
        inner: &Inner,
        (loaded, held): (LoadedServers, Held),
    ) -> Result<Self, Problem> {
        let (clients, clients_problem) =
            ClientBook::open(Arc::clone(&inner.store), Arc::clone(&options.clock));
        let clients = Arc::new(clients);
        let deps = GatewayDeps {
            tools: inner.tools.clone(),
            clients: Arc::clone(&clients),
            events: Arc::<EventBus>::clone(&inner.bus),
            clock: Arc::clone(&options.clock),
        };
        // Before any client can call.
        inner.tools.set_naming(held.settings.tool_names).await;
        inner.servers.set_on(held.settings.mcp_on).await;
        let gateway = Gateway::bind(options.listen, deps).await?;
        let troubles = Troubles { clients: clients_problem, ..Troubles::default() };
        let parts = Arc::new(Parts {
            store: Arc::clone(&inner.store),
            servers: inner.servers.clone(),
            sign_ins: inner.sign_ins.clone(),
            tools: inner.tools.clone(),
            clients,
            bus: Arc::clone(&inner.bus),
            endpoint: gateway.endpoint(),
            data_dir: inner.store.dir().to_path_buf(),
            owner: options.owner,
            operator,
            clock: options.clock,
            configs: tokio::sync::Mutex::new(loaded.servers.clone()),
            settings: tokio::sync::Mutex::new(held),
            troubles: Mutex::new(troubles),
            results: Results::default(),
            runs: Mutex::default(),
            reading_audit: tokio::sync::Mutex::default(),
            watched: Mutex::default(),
            downloads: options.downloads,
            policy: options.policy,
        });
        let started = match parts.audit(AuditEvent::Lifecycle { what: "started".into() }).await {
            Ok(()) => {
                let facade = Arc::new(Facade::new(Arc::clone(&parts)));
                ControlServer::bind(inner.store.dir(), Arc::clone(&facade)).map(|control| (facade, control))
            }
            Err(problem) => Err(problem),
        };
        let (facade, control) = match started {
            Ok(started) => started,
            Err(problem) => {
                within("gateway", STOP, gateway.shutdown()).await;
                return Err(problem);
            }
        };
        let left_out = inner.servers.load(loaded.servers.clone()).await;
        parts.troubles.lock().servers = left_out;
        let hand_edits = HandEdits::start(&parts, loaded);
        let daily = Daily::start(&parts);
        let signed_in = SignedIn::start(&parts);
        tracing::info!(endpoint = parts.endpoint, data_dir = %parts.data_dir.display(), "Gatehouse is ready");
        Ok(Self { facade, gateway, control, hand_edits, daily, signed_in, operator_key_state })
    }

    /// Runs a command; its reply is JSON.
    ///
    /// # Errors
    /// The command's error, or that the authority is insufficient.
    pub async fn execute(&self, command: Command, authority: Authority) -> Result<Box<RawValue>, Problem> {
        self.facade.execute(command, authority).await
    }

    /// Runs a command; its reply is typed.
    ///
    /// # Errors
    /// The command's error, or that the authority is insufficient.
    pub async fn run<R: Request>(&self, request: &R, authority: Authority) -> Result<R::Reply, Problem> {
        let wrong = |e: serde_json::Error| {
            Problem::new(ErrorCode::Internal, "A command could not be passed on.").why(format!("{e}."))
        };
        let args = to_raw_value(request).map_err(wrong)?;
        let reply = self.execute(Command::parse(R::NAME, &args)?, authority).await?;
        serde_json::from_str(reply.get()).map_err(wrong)
    }

    /// Subscribes to events from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.facade.bus().listen()
    }

    /// URL of the gateway.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.facade.parts().endpoint.clone()
    }

    /// The state of the operator key at the start.
    #[must_use]
    pub fn operator_key_state(&self) -> OperatorKeyState {
        self.operator_key_state
    }

    /// Shuts everything down in the reverse order of the start: no new connections or calls are taken,
    /// pending calls are refused, servers and their child processes end, records are flushed to disk.
    pub async fn shutdown(self) {
        let Self { facade, gateway, control, hand_edits, daily, signed_in, operator_key_state: _ } = self;
        let parts = Arc::clone(facade.parts());
        within("hand edits", STOP, hand_edits.shutdown()).await;
        within("control socket", STOP, control.shutdown()).await;
        within("retention", STOP, daily.shutdown()).await;
        within("signed-in servers", STOP, signed_in.shutdown()).await;
        within("commands", STOP_COMMANDS, facade.finish()).await;
        // Together: the gateway takes no new calls, and pending calls are refused while their clients
        // are still connected and can receive the answer.
        tokio::join!(
            within("gateway", STOP, gateway.shutdown()),
            within("tools", STOP, parts.tools.shutdown()),
        );
        if let Err(problem) = parts.audit(AuditEvent::Lifecycle { what: "stopped".into() }).await {
            tracing::error!(%problem, "the stop could not be written down");
        }
        stop_inner(None, (&parts.servers, &parts.sign_ins), &parts.store).await;
        tracing::info!("Gatehouse has stopped");
    }
}

/// The subsystems that are not reachable from outside.
struct Inner {
    store: Arc<Store>,
    servers: ServerManager,
    sign_ins: SignIns,
    tools: ToolManager,
    bus: Arc<EventBus>,
}

async fn stop_inner(
    tools: Option<&ToolManager>,
    (servers, sign_ins): (&ServerManager, &SignIns),
    store: &Arc<Store>,
) {
    if let Some(tools) = tools {
        within("tools", STOP, tools.shutdown()).await;
    }
    within("sign-ins", STOP, sign_ins.shutdown()).await;
    within("servers", STOP_SERVERS, servers.shutdown()).await;
    let store = Arc::clone(store);
    let closing = async move {
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "the store did not close");
        }
    };
    within("store", STOP, closing).await;
}

async fn within(part: &str, limit: Duration, stopping: impl Future<Output = ()>) {
    if tokio::time::timeout(limit, stopping).await.is_err() {
        tracing::error!(part, ?limit, "did not stop in time");
    }
}

/// The stored state as found at the start.
struct Opened {
    store: Arc<Store>,
    loaded: LoadedServers,
    held: Held,
    operator: (OperatorKeys, OperatorKeyState),
}

/// Opens the store and reads the servers (creating the default ones at the first start), the settings
/// and the operator key.
async fn open_store(options: &mut CoreOptions) -> Result<Opened, Problem> {
    let operator_key = std::mem::replace(&mut options.operator_key, OperatorKey::None);
    let options = StoreOptions {
        dir: options.data_dir.clone(),
        owner: options.owner,
        secrets: Arc::clone(&options.secrets),
        clock: Arc::clone(&options.clock),
    };
    let opening = tokio::task::spawn_blocking(move || {
        let new = first_start::is_new(&options.dir);
        let store = Arc::new(Store::open(options)?);
        let mut loaded = first_start::load(&store, new)?;
        let held = settings::load(&store);
        let operator = operator::open(&store, operator_key)?;
        if operator.1 == OperatorKeyState::Anew {
            // Every server has a new generation now, so they are read again.
            loaded = store.servers().load();
        }
        // Before any server connects or any secret is stored.
        sweep_secrets(&store);
        Ok(Opened { store, loaded, held, operator })
    });
    match opening.await {
        Ok(opened) => opened,
        Err(e) => {
            Err(Problem::new(ErrorCode::Internal, "The data folder could not be opened.")
                .why(format!("{e}.")))
        }
    }
}
