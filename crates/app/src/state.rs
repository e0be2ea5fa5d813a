//! The subsystems and the state that commands and background tasks share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_auth::SignIns;
use gatehouse_gateway::{AllowedHosts, ClientRegistry};
use gatehouse_integrations::{BundleStore, McpRegistry};
use gatehouse_model::event::ConfigCause;
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{Clock, ErrorCode, Event, EventSink as _, ServerConfig, ServerId, UserError, message};
use gatehouse_models::chat::Conversations;
use gatehouse_servers::{PolicyFile, ServerManager};
use gatehouse_store::{Owner, Store, StoreError};
use gatehouse_tools::ToolManager;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::authority::OperatorKeys;
use crate::events::EventBus;
use crate::models::ModelProviders;
use crate::project_requests::ProjectRequests;
use crate::removals::Removals;
use crate::results::Results;
use crate::server_icons::ServerIcons;
use crate::settings::EffectiveSettings;

/// The subsystems and the state that commands work on.
pub(crate) struct AppState {
    pub(crate) store: Arc<Store>,
    pub(crate) servers: ServerManager,
    pub(crate) sign_ins: SignIns,
    pub(crate) tools: ToolManager,
    pub(crate) clients: Arc<ClientRegistry>,
    /// Further names under which clients reach the gateway.
    pub(crate) allowed_hosts: Arc<AllowedHosts>,
    pub(crate) bus: Arc<EventBus>,
    pub(crate) endpoint: String,
    /// Address for one server by itself.
    pub(crate) server_endpoint: String,
    /// Address for clients that speak only HTTP+SSE.
    pub(crate) sse_endpoint: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) owner: Owner,
    /// The operator key, if there is one.
    pub(crate) operator: OperatorKeys,
    pub(crate) clock: Arc<dyn Clock>,
    /// The servers as last written. A command that changes one holds this lock from the write until the
    /// server manager has the change, so that changes are applied one after the other.
    pub(crate) configs: tokio::sync::Mutex<Vec<ServerConfig>>,
    /// The settings in force. A command that changes or applies them holds this lock.
    pub(crate) settings: tokio::sync::Mutex<EffectiveSettings>,
    pub(crate) known_problems: Mutex<KnownProblems>,
    /// Results that servers returned to the user.
    pub(crate) results: Arc<Results>,
    /// Calls, reads and prompts that the user began, by the names that they were given.
    pub(crate) runs: Mutex<HashMap<String, CancellationToken>>,
    /// Held while an AI application is connected or disconnected.
    pub(crate) connecting: tokio::sync::Mutex<()>,
    /// Held while the settings files of all applications are read, for whoever asks.
    pub(crate) reading_sources: Arc<tokio::sync::Mutex<()>>,
    /// What is asked about servers of projects.
    pub(crate) projects: ProjectRequests,
    /// What was removed and can still be brought back.
    pub(crate) removals: Removals,
    /// Held while the whole audit log is read.
    pub(crate) reading_audit: tokio::sync::Mutex<()>,
    /// Resources that the user has subscribed to.
    pub(crate) watched: Mutex<BTreeSet<(ServerId, String)>>,
    /// Folder for results that the user saves.
    pub(crate) downloads: PathBuf,
    /// The MCP registry that servers are looked for in.
    pub(crate) registry: McpRegistry,
    /// The managed policy: what the computer's administrator forbids.
    pub(crate) policy: PolicyFile,
    /// The model providers.
    pub(crate) models: Arc<ModelProviders>,
    /// Conversations with their models.
    pub(crate) chats: Conversations,
    /// Images that servers name as their icons.
    pub(crate) icons: Arc<ServerIcons>,
    /// Bundles that were unpacked.
    pub(crate) bundles: Arc<BundleStore>,
}

/// Problems that persist until the user resolves them.
#[derive(Default)]
pub(crate) struct KnownProblems {
    /// With the list of clients.
    pub(crate) clients: Option<UserError>,
    /// With servers that could not be loaded at the start.
    pub(crate) servers: Vec<UserError>,
    /// With the settings file.
    pub(crate) file: Vec<UserError>,
    /// With project files, by their folder.
    pub(crate) projects: BTreeMap<String, Vec<UserError>>,
    /// Manual edits of the file that are pending, or were refused and are still in the file.
    pub(crate) unconfirmed: Vec<String>,
}

impl AppState {
    /// Runs a closure on the store on a blocking thread.
    pub(crate) async fn with_store<T, F>(&self, work: F) -> Result<T, UserError>
    where
        T: Send + 'static,
        F: FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(&store)).await {
            Ok(done) => done.map_err(UserError::from),
            Err(e) => Err(UserError::new(ErrorCode::Internal, message!("error.app.diskWorkEnded"))
                .with_cause(format!("{e}."))),
        }
    }

    /// Emits an event that the configuration changed, with its cause.
    pub(crate) fn config_changed(&self, cause: ConfigCause, server: Option<&ServerConfig>) {
        let (unconfirmed, problem) = {
            let known_problems = self.known_problems.lock();
            (!known_problems.unconfirmed.is_empty(), known_problems.file.first().cloned())
        };
        let (server, name) = server.map(|server| (server.id.clone(), server.name.clone())).unzip();
        self.bus.emit(Event::ConfigChanged { cause, server, name, unconfirmed, problem });
    }

    /// Appends an audit entry. The change that it describes must not take effect unless this succeeds.
    pub(crate) async fn audit(&self, event: AuditEvent) -> Result<(), UserError> {
        self.with_store(move |store| store.audit().append(event).map(drop)).await
    }
}
