//! Builds the subsystems in order and shuts them down in reverse order. A [`Core`] holds the data
//! folder; after shutdown nothing that it started is left running.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_auth::{SignInDeps, SignIns};
use gatehouse_gateway::{AllowedHosts, ClientRegistry, Gateway, GatewayDeps};
use gatehouse_integrations::{BundleStore, McpRegistry, RegistryLimits};
use gatehouse_model::command::{Authority, Command, TypedCommand};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Clock, ErrorCode, EventSink, OpenUrl, UserError, message};
use gatehouse_models::chat::{Conversations, ConversationsDeps};
use gatehouse_servers::{PolicyFile, ServerDeps, ServerManager};
use gatehouse_store::{LoadedServers, Owner, SecretStore, Store, StoreOptions};
use gatehouse_tools::{ApprovalLimits, SystemPaths, ToolDeps, ToolManager};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};

use crate::audit_log::StoreAudit;
use crate::authority::OperatorKeys;
use crate::authority::operator_key::{self, OperatorKey, OperatorKeyState};
use crate::chat_tools::ChatTools;
use crate::client_documents::PublicClientDocuments;
use crate::command_service::{CommandService, SignInReconnector};
use crate::control::ControlServer;
use crate::events::{EventBus, EventStream};
use crate::models::{CurrentModels, ModelProviders};
use crate::project_requests::ProjectRequests;
use crate::removals::Removals;
use crate::results::Results;
use crate::retention::RetentionTask;
use crate::server_configs::reload::ConfigReload;
use crate::server_configs::{bundles, first_start, secrets};
use crate::server_icons::ServerIcons;
use crate::settings::{self, EffectiveSettings};
use crate::state::{AppState, KnownProblems};

/// Folder in the data folder for what the MCP registry answered.
const REGISTRY_CACHE: &str = "registry-cache";
/// Time limit for the shutdown of a subsystem; after it the next one is shut down all the same.
const PART_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for running commands at shutdown.
const COMMANDS_STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for the turns of conversations at shutdown; longer than a turn waits for its calls to be cancelled.
const CHATS_STOP_TIMEOUT: Duration = Duration::from_secs(12);
/// Time limit for the servers at shutdown; longer, because child processes get time to exit by
/// themselves.
const SERVERS_STOP_TIMEOUT: Duration = Duration::from_secs(20);

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
    /// [`crate::run_helper_if_requested`], as [`crate::helper_program`] finds it. Without it child processes outlive a kill.
    pub guard_program: Option<PathBuf>,
    /// How long people and clients are waited for.
    pub approval_limits: ApprovalLimits,
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
            approval_limits: ApprovalLimits::default(),
            clock: Arc::new(gatehouse_model::SystemClock),
            downloads: default_downloads_dir(),
            policy: PolicyFile::default_location(),
            browser: Arc::new(NoBrowser),
        }
    }
}

/// The user's download folder, or else the home folder.
fn default_downloads_dir() -> PathBuf {
    dirs::download_dir().or_else(dirs::home_dir).unwrap_or_else(std::env::temp_dir)
}

/// A running Gatehouse.
pub struct Core {
    command_service: Arc<CommandService>,
    gateway: Gateway,
    control: ControlServer,
    config_reload: ConfigReload,
    retention: RetentionTask,
    reconnector: SignInReconnector,
    operator_key_state: OperatorKeyState,
}

impl Core {
    /// Starts everything.
    ///
    /// # Errors
    /// If the data folder is in use or cannot be read, or if the address is in use or not loopback.
    /// Nothing is left running then.
    pub async fn start(mut options: CoreOptions) -> Result<Self, UserError> {
        let bus = Arc::new(EventBus::new(Arc::clone(&options.clock)));
        let events: Arc<dyn EventSink> = Arc::<EventBus>::clone(&bus);
        let OpenedStore { store, stored } = open_store(&mut options).await?;
        let sign_ins = SignIns::new(SignInDeps {
            secrets: store.secrets(),
            clock: Arc::clone(&options.clock),
            audit: Arc::new(StoreAudit(Arc::clone(&store))),
            events: Arc::clone(&events),
            open: Arc::clone(&options.browser),
            data_dir: store.dir().to_path_buf(),
        });
        sign_ins.set_client_document(stored.effective.settings.client_document.clone());
        let servers = ServerManager::new(ServerDeps {
            secrets: store.secrets(),
            tokens: Arc::new(sign_ins.clone()),
            events: Arc::clone(&events),
            clock: Arc::clone(&options.clock),
            data_dir: store.dir().to_path_buf(),
            policy: options.policy.clone(),
            guard_program: options.guard_program.clone(),
        });
        servers.preload_environment();
        servers.set_packages(&stored.effective.settings.packages);
        servers.set_call_limits(stored.effective.settings.calls);
        let tools = ToolManager::start(ToolDeps {
            servers: servers.clone(),
            store: Arc::clone(&store),
            events: Arc::clone(&events),
            clock: Arc::clone(&options.clock),
            approval_limits: options.approval_limits.clone(),
            paths: Arc::new(SystemPaths),
        })
        .await;
        let tools = match tools {
            Ok(tools) => tools,
            Err(error) => {
                stop_services(None, &servers, &sign_ins, &store).await;
                return Err(error);
            }
        };
        sign_ins.set_approver(Arc::new(tools.approvals().clone()));
        let services = CoreServices { store, servers, sign_ins, tools, bus };
        match Self::open_endpoints(options, &services, stored).await {
            Ok(core) => Ok(core),
            Err(error) => {
                let CoreServices { store, servers, sign_ins, tools, bus: _ } = &services;
                stop_services(Some(tools), servers, sign_ins, store).await;
                Err(error)
            }
        }
    }

    /// Adds the servers, opens the gateway and the control socket, and then starts the servers.
    async fn open_endpoints(
        options: CoreOptions,
        services: &CoreServices,
        stored: StoredState,
    ) -> Result<Self, UserError> {
        let StoredState { loaded, effective, models, operator, operator_key_state } = stored;
        let events: Arc<dyn EventSink> = Arc::<EventBus>::clone(&services.bus);
        let models = Arc::new(ModelProviders::new(Arc::clone(&services.store), Arc::clone(&events), models)?);
        let results = Arc::<Results>::default();
        let chats = Conversations::new(ConversationsDeps {
            store: Arc::clone(&services.store),
            client: models.client().clone(),
            models: Arc::<ModelProviders>::clone(&models),
            tools: Arc::new(ChatTools { tools: services.tools.clone(), results: Arc::clone(&results) }),
            events,
            clock: Arc::clone(&options.clock),
        });
        let (clients, clients_problem) =
            ClientRegistry::open(Arc::clone(&services.store), Arc::clone(&options.clock));
        let clients = Arc::new(clients);
        let allowed_hosts = Arc::new(AllowedHosts::default());
        allowed_hosts.set(&effective.settings.allowed_hosts);
        let deps = GatewayDeps {
            tools: services.tools.clone(),
            clients: Arc::clone(&clients),
            store: Arc::clone(&services.store),
            client_documents: Arc::new(PublicClientDocuments),
            allowed_hosts: Arc::clone(&allowed_hosts),
            events: Arc::<EventBus>::clone(&services.bus),
            clock: Arc::clone(&options.clock),
        };
        // Before any client can call.
        services.tools.set_naming(effective.settings.tool_names).await;
        services.servers.set_mcp_enabled(effective.settings.mcp_on).await;
        // What the servers listed last is known from the first request on.
        let known = services.tools.known_lists(loaded.servers.clone()).await;
        let left_out = services.servers.add_all(loaded.servers.clone(), known);
        services.tools.refresh().await;
        let gateway = Gateway::bind(options.listen, deps).await?;
        let known_problems =
            KnownProblems { clients: clients_problem, servers: left_out, ..KnownProblems::default() };
        let state = Arc::new(AppState {
            store: Arc::clone(&services.store),
            servers: services.servers.clone(),
            sign_ins: services.sign_ins.clone(),
            tools: services.tools.clone(),
            clients,
            allowed_hosts,
            bus: Arc::clone(&services.bus),
            endpoint: gateway.endpoint(),
            server_endpoint: gateway.server_endpoint(),
            sse_endpoint: gateway.sse_endpoint(),
            data_dir: services.store.dir().to_path_buf(),
            owner: options.owner,
            operator,
            registry: McpRegistry::new(
                services.store.dir().join(REGISTRY_CACHE),
                Arc::clone(&options.clock),
                RegistryLimits::default(),
            ),
            clock: options.clock,
            configs: tokio::sync::Mutex::new(loaded.servers.clone()),
            settings: tokio::sync::Mutex::new(effective),
            known_problems: Mutex::new(known_problems),
            results,
            runs: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            reading_sources: Arc::default(),
            projects: ProjectRequests::default(),
            removals: Removals::default(),
            reading_audit: tokio::sync::Mutex::default(),
            watched: Mutex::default(),
            downloads: options.downloads,
            policy: options.policy,
            models,
            chats,
            icons: Arc::new(ServerIcons::new(services.store.dir(), options.guard_program)),
            bundles: Arc::new(BundleStore::new(services.store.dir())),
        });
        let started = match state.audit(AuditEvent::Lifecycle { what: "started".into() }).await {
            Ok(()) => {
                let command_service = Arc::new(CommandService::new(Arc::clone(&state)));
                ControlServer::bind(services.store.dir(), Arc::clone(&command_service))
                    .map(|control| (command_service, control))
            }
            Err(error) => Err(error),
        };
        let (command_service, control) = match started {
            Ok(started) => started,
            Err(error) => {
                wait_for_stop("gateway", PART_STOP_TIMEOUT, gateway.shutdown()).await;
                return Err(error);
            }
        };
        services.servers.start_all().await;
        let config_reload = ConfigReload::start(&state, loaded);
        let retention = RetentionTask::start(&state);
        let reconnector = SignInReconnector::start(&state);
        tracing::info!(endpoint = state.endpoint, data_dir = %state.data_dir.display(), "Gatehouse is ready");
        Ok(Self {
            command_service,
            gateway,
            control,
            config_reload,
            retention,
            reconnector,
            operator_key_state,
        })
    }

    /// Runs a command; its reply is JSON.
    pub async fn execute(&self, command: Command, authority: Authority) -> Result<Box<RawValue>, UserError> {
        self.command_service.execute(command, authority, None).await
    }

    /// Runs a command; its reply is typed.
    pub async fn run<R: TypedCommand>(
        &self,
        request: &R,
        authority: Authority,
    ) -> Result<R::Reply, UserError> {
        let wrong = |e: serde_json::Error| {
            UserError::new(ErrorCode::Internal, message!("error.app.commandUnforwarded"))
                .with_cause(format!("{e}."))
        };
        let args = to_raw_value(request).map_err(wrong)?;
        let reply = self.execute(Command::parse(R::NAME, &args)?, authority).await?;
        serde_json::from_str(reply.get()).map_err(wrong)
    }

    /// Subscribes to events from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.command_service.bus().subscribe()
    }

    /// URL of the gateway.
    pub fn endpoint(&self) -> String {
        self.command_service.state().endpoint.clone()
    }

    /// The state of the operator key at the start.
    pub fn operator_key_state(&self) -> OperatorKeyState {
        self.operator_key_state
    }

    /// Shuts everything down in the reverse order of the start: no new connections or calls are taken,
    /// pending calls are refused, servers and their child processes end, records are flushed to disk.
    pub async fn shutdown(self) {
        let Self {
            command_service,
            gateway,
            control,
            config_reload,
            retention,
            reconnector,
            operator_key_state: _,
        } = self;
        let state = Arc::clone(command_service.state());
        wait_for_stop("hand edits", PART_STOP_TIMEOUT, config_reload.shutdown()).await;
        wait_for_stop("control socket", PART_STOP_TIMEOUT, control.shutdown()).await;
        wait_for_stop("project files", PART_STOP_TIMEOUT, state.projects.shutdown()).await;
        wait_for_stop("retention", PART_STOP_TIMEOUT, retention.shutdown()).await;
        wait_for_stop("signed-in servers", PART_STOP_TIMEOUT, reconnector.shutdown()).await;
        wait_for_stop("commands", COMMANDS_STOP_TIMEOUT, command_service.drain()).await;
        // While sign-ins and the store still work.
        wait_for_stop("removals", PART_STOP_TIMEOUT, state.removals.shutdown()).await;
        // Their calls end while they can still be recorded.
        wait_for_stop("conversations", CHATS_STOP_TIMEOUT, state.chats.shutdown()).await;
        // Together: the gateway takes no new calls, and pending calls are refused while their clients
        // are still connected and can receive the answer.
        tokio::join!(
            wait_for_stop("gateway", PART_STOP_TIMEOUT, gateway.shutdown()),
            wait_for_stop("tools", PART_STOP_TIMEOUT, state.tools.shutdown()),
        );
        if let Err(error) = state.audit(AuditEvent::Lifecycle { what: "stopped".into() }).await {
            tracing::error!(%error, "the stop could not be written down");
        }
        stop_services(None, &state.servers, &state.sign_ins, &state.store).await;
        tracing::info!("Gatehouse has stopped");
    }
}

/// The subsystems that are not reachable from outside.
struct CoreServices {
    store: Arc<Store>,
    servers: ServerManager,
    sign_ins: SignIns,
    tools: ToolManager,
    bus: Arc<EventBus>,
}

async fn stop_services(
    tools: Option<&ToolManager>,
    servers: &ServerManager,
    sign_ins: &SignIns,
    store: &Arc<Store>,
) {
    if let Some(tools) = tools {
        wait_for_stop("tools", PART_STOP_TIMEOUT, tools.shutdown()).await;
    }
    wait_for_stop("sign-ins", PART_STOP_TIMEOUT, sign_ins.shutdown()).await;
    wait_for_stop("servers", SERVERS_STOP_TIMEOUT, servers.shutdown()).await;
    let store = Arc::clone(store);
    let closing = async move {
        if let Err(error) = tokio::task::spawn_blocking(move || store.close()).await {
            tracing::error!(%error, "the store did not close");
        }
    };
    wait_for_stop("store", PART_STOP_TIMEOUT, closing).await;
}

async fn wait_for_stop(part: &str, limit: Duration, stopping: impl Future<Output = ()>) {
    if tokio::time::timeout(limit, stopping).await.is_err() {
        tracing::error!(part, ?limit, "did not stop in time");
    }
}

/// The store and what it held at the start.
struct OpenedStore {
    store: Arc<Store>,
    stored: StoredState,
}

/// The stored state as found at the start.
struct StoredState {
    loaded: LoadedServers,
    effective: EffectiveSettings,
    models: CurrentModels,
    operator: OperatorKeys,
    operator_key_state: OperatorKeyState,
}

/// Opens the store and reads the servers (creating the default ones at the first start), the settings
/// and the operator key.
async fn open_store(options: &mut CoreOptions) -> Result<OpenedStore, UserError> {
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
        let effective = settings::load(&store);
        let (operator, operator_key_state) = operator_key::load_or_create(&store, operator_key)?;
        if operator_key_state == OperatorKeyState::Replaced {
            // Every server has a new generation now, so they are read again.
            loaded = first_start::load_known(&store)?;
        }
        // Before any server connects or any secret is stored.
        secrets::sweep(&store);
        bundles::sweep_at_start(&store);
        let models = CurrentModels::load(&store);
        let stored = StoredState { loaded, effective, models, operator, operator_key_state };
        Ok(OpenedStore { store, stored })
    });
    match opening.await {
        Ok(opened) => opened,
        Err(e) => Err(UserError::new(ErrorCode::Internal, message!("error.app.dataFolderUnopened"))
            .with_cause(format!("{e}."))),
    }
}
