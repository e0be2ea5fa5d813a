//! The entry point for calls and everything behind it: catalog, permissions, approval requests, records. The
//! gateway, the command line and the windows all use it, so nothing bypasses the policy.

mod user_calls;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::profile::{ProjectEntry, ToolListCost};
use gatehouse_model::record::RunningCall;
use gatehouse_model::server::LogLevel;
use gatehouse_model::simulation::SimulationReport;
use gatehouse_model::{
    CallId, ClientEntry, ClientId, Clock, ErrorCode, Event, EventSink, Profile, ProfileId, ProfileSettings,
    ServerConfig, ServerId, SessionId, Timestamp, ToolNaming, UserError, message,
};
use gatehouse_servers::{ServerLists, ServerManager, ServerNotification};
use gatehouse_store::Store;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::approvals::{
    ApprovalLimits, ApprovalQueue, ApprovalQueueDeps, ApprovalRequestBuilder, UsageHistory,
};
use crate::byte_budget::{ByteBudget, ByteLimits};
use crate::call_types::chat_caller::chat_client;
use crate::call_types::response::CallResponse;
use crate::call_types::viewer::Viewer;
use crate::call_types::{AccessCall, Caller, ProtocolFamily, TaskCall, ToolCall, ToolName};
use crate::calls::call_recorder::Recorder;
use crate::calls::client_request::ClientRequest;
use crate::calls::client_timeout::ClientTimeouts;
use crate::calls::pipeline_state::{CallPipeline, CallPipelineDeps};
use crate::calls::refusal_messages::{self, SubjectWording};
use crate::calls::server_requests::{AnswersServerRequests as _, UnattributedResponder};
use crate::catalog::catalog_store::CatalogStore;
use crate::catalog::known_lists;
use crate::catalog::list_versions::ListVersions;
use crate::catalog::output_schema::SchemaContext;
use crate::catalog::tool_catalog::ToolCatalog;
use crate::client_view::ClientCatalog;
use crate::client_view::client_views::ClientViews;
use crate::client_view::meta_tools::{self, MetaRequest, MetaTool};
use crate::client_view::tool_search;
use crate::paths::PathResolver;
use crate::paths::path_lookup::PathLookup;
use crate::permissions::simulation::SimulationDraft;
use crate::permissions::{PermissionStore, PermissionStoreDeps};
use crate::profiles::{CatalogViewKey, ProfileStore, ProfileStoreDeps};
use crate::shared_runs::SharedRuns;
use crate::task_table::{TaskNotice, TaskTable};

/// How long a pause waits until the servers were told to cancel.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(800);

/// Dependencies of the tool manager.
pub struct ToolDeps {
    pub servers: ServerManager,
    pub store: Arc<Store>,
    pub events: Arc<dyn EventSink>,
    pub clock: Arc<dyn Clock>,
    pub approval_limits: ApprovalLimits,
    /// Resolves the paths in arguments.
    pub paths: Arc<dyn PathResolver>,
}

impl fmt::Debug for ToolDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDeps").field("approval_limits", &self.approval_limits).finish_non_exhaustive()
    }
}

/// The tools of all servers, and the only way to call one. Cheap to clone; everything is shut down when the
/// last clone is dropped.
#[derive(Clone)]
pub struct ToolManager {
    state: Arc<ToolManagerState>,
    _closes: Arc<DropGuard>,
}

impl fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolManager").field("catalog", &self.state.catalog.load()).finish_non_exhaustive()
    }
}

struct ToolManagerState {
    servers: ServerManager,
    store: Arc<Store>,
    events: Arc<dyn EventSink>,
    catalog: CatalogStore,
    permissions: PermissionStore,
    profiles: ProfileStore,
    views: Arc<ClientViews>,
    approvals: ApprovalQueue,
    calls: Arc<CallPipeline>,
    /// Looks up paths that are only shown or used in simulations; separate from the one for verdicts, so that
    /// these never delay a verdict.
    shown_paths: Arc<PathLookup>,
    retained_bytes: Arc<ByteBudget>,
    closing: CancellationToken,
    tracker: TaskTracker,
}

impl ToolManager {
    /// Loads permissions and names, builds the first catalog and starts following the servers.
    ///
    /// # Errors
    /// None at present: if the permissions can't be loaded, every call needs an approval, and the permissions
    /// view says why.
    pub async fn start(deps: ToolDeps) -> Result<Self, UserError> {
        let ToolDeps { servers, store, events, clock, approval_limits, paths: resolver } = deps;
        let paths = Arc::new(PathLookup::new(resolver.clone()));
        let shown_paths = Arc::new(PathLookup::new(resolver));
        let tracker = TaskTracker::new();
        let closing = CancellationToken::new();
        let catalog = CatalogStore::open(servers.clone(), store.dir().to_owned()).await;
        let permissions = PermissionStore::open(PermissionStoreDeps {
            store: store.clone(),
            events: events.clone(),
            clock: clock.clone(),
            servers: servers.clone(),
            catalog: catalog.clone(),
            tracker: tracker.clone(),
        })
        .await;
        // Its rules are listed by its name from the start.
        permissions.client_added(chat_client());
        let profiles =
            ProfileStore::open(ProfileStoreDeps { store: store.clone(), events: events.clone() }).await;
        catalog.add_profile_modes(profiles.modes());
        let views = Arc::new(ClientViews::new(catalog.clone(), profiles.clone(), permissions.clone()));
        let retained_bytes = ByteBudget::new(ByteLimits::default());
        let runs = SharedRuns::new(approval_limits.late_answer_ttl, retained_bytes.clone());
        let approvals = ApprovalQueue::start(ApprovalQueueDeps {
            permissions: permissions.clone(),
            events: events.clone(),
            limits: approval_limits.clone(),
            schemas: Arc::clone(servers.schemas()),
            paths: paths.clone(),
            runs: runs.clone(),
            closing: closing.clone(),
            tracker: tracker.clone(),
        });
        let history = Arc::new(UsageHistory::new(store.clone(), permissions.clone()));
        let client_timeouts =
            ClientTimeouts::open(store.dir(), approval_limits.client_timeout, tracker.clone()).await;
        let calls = CallPipeline::new(CallPipelineDeps {
            servers: servers.clone(),
            events: events.clone(),
            clock,
            catalog: catalog.clone(),
            permissions: permissions.clone(),
            profiles: profiles.clone(),
            approvals: approvals.clone(),
            request_builder: ApprovalRequestBuilder {
                store: store.clone(),
                permissions: permissions.clone(),
                history: history.clone(),
                paths: shown_paths.clone(),
            },
            history,
            runs,
            tasks: TaskTable::new(retained_bytes.clone()),
            client_timeouts,
            paths,
            recorder: Recorder::new(
                store.clone(),
                events.clone(),
                Arc::clone(servers.schemas()),
                tracker.clone(),
            ),
            progress_interval: approval_limits.progress_interval,
            closing: closing.clone(),
            tracker: tracker.clone(),
        });
        let unattributed = UnattributedResponder(Arc::downgrade(calls.server_requests()));
        servers.set_fallback_handler(Arc::new(unattributed));
        // Subscribed before the first refresh, so that no change is missed between the two.
        let revision = servers.revision();
        calls.refresh().await;
        tracker.spawn(calls.clone().follow_servers(revision));
        tracker.spawn(known_lists::keep_stored(servers.clone(), store.clone(), closing.clone()));
        tracker.spawn(follow_permissions(views.clone(), permissions.changes(), closing.clone()));
        let state = ToolManagerState {
            servers,
            store,
            events,
            catalog,
            permissions,
            profiles,
            views,
            approvals,
            calls,
            shown_paths,
            retained_bytes,
            closing: closing.clone(),
            tracker,
        };
        Ok(Self { state: Arc::new(state), _closes: Arc::new(closing.drop_guard()) })
    }

    /// The last known lists of these servers from earlier runs, for [`ServerManager::add_all`]. What is stored of
    /// other servers is deleted.
    pub async fn known_lists(&self, servers: Vec<ServerConfig>) -> HashMap<ServerId, ServerLists> {
        let (store, manager) = (self.state.store.clone(), self.state.servers.clone());
        let loaded = tokio::task::spawn_blocking(move || known_lists::load(&store, &manager, &servers)).await;
        loaded.unwrap_or_else(|error| {
            tracing::error!(%error, "the last known lists of the servers could not be loaded");
            HashMap::new()
        })
    }

    /// Memory budget for everything that is kept for clients that may come back for it.
    pub fn retained_bytes(&self) -> Arc<ByteBudget> {
        self.state.retained_bytes.clone()
    }

    /// The current catalog.
    pub fn catalog(&self) -> Arc<ToolCatalog> {
        self.state.catalog.load_full()
    }

    /// The enabled server with exactly this name.
    #[must_use]
    pub fn server_named(&self, name: &str) -> Option<ServerId> {
        let handles = self.state.servers.handles();
        let mut configs = handles.into_iter().map(|handle| handle.config());
        configs.find(|config| config.enabled && config.name == name).map(|config| config.id.clone())
    }

    /// Waits for one attempt to connect a server, if nothing is known of it yet.
    ///
    /// # Errors
    /// Why it can't be used, as a sentence for the client.
    pub async fn await_first_lists(
        &self,
        server: &ServerId,
        cancel: &CancellationToken,
    ) -> Result<(), String> {
        let Some(handle) = self.state.servers.get(server) else {
            return Err("There is no such server.".to_owned());
        };
        if handle.lists().is_unread() {
            // Lists are those of the main connection.
            let ready = handle.ready(ProtocolFamily::Stateless, cancel).await;
            ready.map_err(|error| {
                refusal_messages::failed(&handle.config().name, &error, SubjectWording::SERVER)
            })?;
            self.refresh().await;
        }
        Ok(())
    }

    /// Versions that change whenever a list for clients changes.
    pub fn catalog_changes(&self) -> watch::Receiver<ListVersions> {
        self.state.catalog.versions()
    }

    /// Rebuilds the catalog if it is out of date.
    pub async fn refresh(&self) {
        self.recheck_profiles().await;
        self.state.calls.refresh().await;
    }

    /// Loads profiles that couldn't be read at the start, if they can be now: the secret store was locked.
    async fn recheck_profiles(&self) {
        if self.state.profiles.recheck().await {
            self.state.catalog.add_profile_modes(self.state.profiles.modes());
            self.state.calls.refresh().await;
        }
    }

    /// Sets how exposed names are formed.
    pub async fn set_naming(&self, naming: ToolNaming) {
        self.state.catalog.set_naming(naming);
        self.state.calls.refresh().await;
    }

    /// The profiles of clients.
    pub fn profiles(&self) -> &ProfileStore {
        &self.state.profiles
    }

    /// What a client sees of the catalog now, on one of its connections.
    #[must_use]
    pub fn client_catalog(&self, viewer: &Viewer) -> ClientCatalog {
        self.state.views.of(viewer)
    }

    /// Identifies what a viewer sees now: it changes with the profiles, and with permissions if one of them hides denied
    /// tools. See [`ProfileStore::changes`].
    #[must_use]
    pub fn view_key(&self, viewer: &Viewer) -> CatalogViewKey {
        self.state.views.key(viewer)
    }

    /// What a client's list of tools costs a model, where its profile counts.
    #[must_use]
    pub fn client_cost(&self, client: &ClientId) -> ToolListCost {
        self.state.views.of(&self.state.profiles.at_home(client)).tool_list_cost()
    }

    /// What the list of tools of a profile costs a model; nothing if there is no such profile.
    #[must_use]
    pub fn profile_cost(&self, profile: &ProfileId) -> ToolListCost {
        let view = self.state.views.of_profile(profile);
        view.map_or_else(ToolListCost::default, |view| view.tool_list_cost())
    }

    /// Adds a profile.
    ///
    /// # Errors
    /// When the settings are invalid or the profile can't be stored.
    pub async fn add_profile(&self, settings: ProfileSettings) -> Result<Profile, UserError> {
        self.prepare_mode(&settings).await;
        let added = self.state.profiles.add(settings).await;
        // Before it, profiles may have been loaded that could not be verified at the start.
        self.state.catalog.add_profile_modes(self.state.profiles.modes());
        self.state.calls.refresh().await;
        added
    }

    /// Changes a profile (id or name). Clients that use it see the change at once.
    ///
    /// # Errors
    /// When there is no such profile, the settings are invalid, or it can't be stored.
    pub async fn set_profile(&self, profile: &str, settings: ProfileSettings) -> Result<Profile, UserError> {
        self.prepare_mode(&settings).await;
        self.state.profiles.set(profile, settings).await
    }

    /// Removes a profile (id or name).
    ///
    /// # Errors
    /// When there is no such profile, a client uses it, or the change can't be stored.
    pub async fn remove_profile(&self, profile: &str) -> Result<(), UserError> {
        self.state.profiles.remove(profile).await
    }

    /// Adds a profile again that was removed, with what was answered about its projects.
    ///
    /// # Errors
    /// When its name or one of its folders belongs to another profile now, or it can't be stored.
    pub async fn restore_profile(
        &self,
        profile: Profile,
        entries: Vec<ProjectEntry>,
    ) -> Result<(), UserError> {
        self.prepare_mode(&profile.settings).await;
        self.state.profiles.restore(profile, entries).await
    }

    /// Gives a client a profile (id or name), or takes its profile away.
    ///
    /// # Errors
    /// When there is no such profile, or the change can't be stored.
    pub async fn assign_profile(&self, client: &ClientEntry, profile: Option<&str>) -> Result<(), UserError> {
        self.state.profiles.assign(client, profile).await
    }

    /// Builds the names of a profile's mode before the profile takes effect.
    async fn prepare_mode(&self, settings: &ProfileSettings) {
        self.state.catalog.add_profile_modes(settings.naming);
        self.state.calls.refresh().await;
    }

    /// Calls a tool by the name that the client knows it by. In search mode the tools of Gatehouse's own are answered
    /// here, and a call through `call_tool` goes on as one of the tool that it names.
    pub async fn call(&self, caller: Caller, call: ToolCall) -> CallResponse {
        self.recheck_profiles().await;
        let view = self.state.views.of(&caller.viewer());
        let meta_tool = match &call.tool {
            ToolName::Exposed(name) => view.meta_tool(name),
            ToolName::Own { .. } => None,
        };
        let call = match meta_tool {
            Some(tool) => match self.meta_call(&caller, view, tool, call).await {
                Ok(call) => call,
                Err(response) => return response,
            },
            None => call,
        };
        match ClientRequest::tool(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    /// The real call that a call of one of Gatehouse's own tools asks for, or the response if it asks for none.
    async fn meta_call(
        &self,
        caller: &Caller,
        view: ClientCatalog,
        tool: MetaTool,
        call: ToolCall,
    ) -> Result<ToolCall, CallResponse> {
        let lookup = match meta_tools::parse(tool, call)? {
            MetaRequest::Call(call) => return Ok(call),
            MetaRequest::Lookup(lookup) => lookup,
        };
        self.state.calls.admit_lookup(caller)?;
        let views = self.state.views.clone();
        let looked_up =
            tokio::task::spawn_blocking(move || tool_search::look_up(&views, &view, lookup)).await;
        Err(looked_up.unwrap_or_else(|_| tool_search::unavailable()))
    }

    /// Reads a resource, subscribes to one, gets a prompt or completes an argument (PERM-18).
    pub async fn access(&self, caller: Caller, call: AccessCall) -> CallResponse {
        self.recheck_profiles().await;
        match ClientRequest::access(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    /// Answers a request about the tasks that a client's calls became.
    pub async fn task_call(&self, caller: Caller, call: TaskCall) -> CallResponse {
        self.state.calls.run_task_call(caller, call).await
    }

    /// What a server says of one of its tasks without having been asked, as the client that has the task gets it.
    pub fn task_notice(&self, server: &ServerId, task: &str, params: &RawValue) -> Option<TaskNotice> {
        self.state.calls.task_notice(server, task, params)
    }

    /// Ends one subscription to a resource.
    pub async fn unwatch(&self, server: &ServerId, uri: &str) {
        if let Some(handle) = self.state.servers.get(server) {
            handle.unwatch(uri).await;
        }
    }

    /// Sets the most verbose log level that any client wants from servers.
    pub fn set_clients_log_level(&self, level: Option<LogLevel>) {
        self.state.servers.set_clients_log_level(level);
    }

    /// The notifications for clients that servers send from now on.
    #[must_use]
    pub fn notifications(&self) -> broadcast::Receiver<ServerNotification> {
        self.state.servers.notifications()
    }

    /// What in a result doesn't match the `outputSchema` of a tool, given by its own name (TOOL-5), if anything.
    pub async fn output_mismatch(&self, server: &ServerId, tool: &str, result: &RawValue) -> Option<String> {
        let catalog = self.state.catalog.load_full();
        let definition = Arc::clone(&catalog.find(server, tool)?.definition);
        let server = server.clone();
        if !definition.has_output_schema() {
            return None;
        }
        let (schemas, result) = (Arc::clone(self.state.servers.schemas()), result.to_owned());
        let look =
            move || definition.output_mismatch(&result, SchemaContext { checker: &schemas, server: &server });
        let looked = tokio::task::spawn_blocking(look).await;
        looked.unwrap_or_else(|_| Some("The result was not checked against the outputSchema.".to_owned()))
    }

    pub fn approvals(&self) -> &ApprovalQueue {
        &self.state.approvals
    }

    pub fn permissions(&self) -> &PermissionStore {
        &self.state.permissions
    }

    /// Pauses Gatehouse (PERM-13): calls in progress are cancelled, allows with a limited lifetime end, and
    /// new calls are refused until resumed. All of this is in effect when this returns, even with an error.
    ///
    /// # Errors
    /// If the pause can't be stored; then it doesn't survive a restart.
    pub async fn pause(&self) -> Result<(), UserError> {
        let ToolManagerState { servers, events, permissions, calls, .. } = &*self.state;
        let was_paused = permissions.set_paused(true);
        let ended = permissions.drop_temporary_allows();
        calls.end_all();
        if !was_paused {
            events.emit(Event::PauseChanged { paused: true });
        }
        if tokio::time::timeout(PAUSE_TIMEOUT, servers.cancel_all()).await.is_err() {
            tracing::warn!("not every server could be told of the pause in time");
        }
        if was_paused && ended.is_empty() { Ok(()) } else { permissions.persist_pause(true, ended).await }
    }

    /// Ends every call and every approval request for one because MCP was just switched off
    /// ([`ServerManager::set_mcp_enabled`]), which also refuses new calls.
    pub fn end_all_calls(&self) {
        self.state.calls.end_all();
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// If it can't be stored; then everything stays paused.
    pub async fn resume(&self) -> Result<(), UserError> {
        let permissions = &self.state.permissions;
        if !permissions.paused() {
            return Ok(());
        }
        permissions.persist_pause(false, Vec::new()).await?;
        permissions.set_paused(false);
        self.state.events.emit(Event::PauseChanged { paused: false });
        Ok(())
    }

    /// Judges the calls since a point in time by the rules in force and by a draft, and reports the
    /// differences. Nothing is changed. Rules of the draft have the ids `draft-1`, `draft-2` and so on, in the
    /// order in which they are made.
    pub async fn simulate(
        &self,
        since: Timestamp,
        draft: SimulationDraft,
    ) -> Result<SimulationReport, UserError> {
        self.state.calls.refresh().await;
        self.state.permissions.simulate(since, draft, &self.state.shown_paths).await
    }

    /// Calls in progress, oldest first.
    pub fn running_calls(&self) -> Vec<RunningCall> {
        self.state.calls.running().list()
    }

    /// Cancels a call that was sent to its server, as its client could.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if the call has ended or still waits for a decision.
    pub fn cancel_call(&self, call: &CallId) -> Result<(), UserError> {
        if self.state.calls.running().cancel(call) {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::NotFound, message!("error.tools.callNotRunning"))
            .with_cause(message!("error.tools.callNotRunningCause")))
    }

    /// Ends the allows and the learned state of a session.
    pub fn session_ended(&self, session: &SessionId) {
        self.state.permissions.session_ended(session);
        self.state.calls.session_ended(session);
    }

    /// Ends all calls and approval requests of a client and drops its rules, because its access was revoked.
    pub fn client_gone(&self, client: &ClientId) {
        self.state.calls.revoke_client(client);
        self.state.views.client_removed(client);
        let (permissions, profiles, client) =
            (self.state.permissions.clone(), self.state.profiles.clone(), client.clone());
        self.state.tracker.spawn(async move {
            if let Err(error) = profiles.client_removed(&client).await {
                tracing::error!(%error, "the profile of a revoked client could not be dropped");
            }
            if let Err(error) = permissions.client_removed(&client).await {
                tracing::error!(%error, "the rules of a revoked client could not be dropped");
            }
        });
    }

    /// Ends everything and waits for it. Pending requests end without an answer.
    pub async fn shutdown(&self) {
        self.state.closing.cancel();
        self.state.calls.shut_down();
        self.state.tracker.close();
        self.state.tracker.wait().await;
    }
}

/// Announces changed views when permissions changed, until shutdown.
async fn follow_permissions(
    views: Arc<ClientViews>,
    mut changes: watch::Receiver<u64>,
    closing: CancellationToken,
) {
    let follow = async {
        while changes.changed().await.is_ok() {
            views.permissions_changed();
        }
    };
    tokio::select! {
        () = closing.cancelled() => {}
        () = follow => {}
    }
}
