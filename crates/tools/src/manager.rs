//! The entry point for calls and everything behind it: catalog, permissions, approval requests, records. The
//! gateway, the command line and the windows all use it, so nothing bypasses the policy.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::RunningCall;
use gatehouse_model::server::LogLevel;
use gatehouse_model::simulation::SimulationReport;
use gatehouse_model::{
    CallId, ClientId, Clock, ErrorCode, Event, EventSink, ServerId, SessionId, Timestamp, ToolNaming,
    UserError, message,
};
use gatehouse_servers::{ResourceUpdate, ServerManager};
use gatehouse_store::Store;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::approvals::{
    ApprovalLimits, ApprovalQueue, ApprovalQueueDeps, ApprovalRequestBuilder, UsageHistory,
};
use crate::byte_budget::{ByteBudget, ByteLimits};
use crate::call_types::response::CallResponse;
use crate::call_types::{AccessCall, Caller, ToolCall};
use crate::calls::call_recorder::Recorder;
use crate::calls::client_request::ClientRequest;
use crate::calls::client_timeout::ClientTimeouts;
use crate::calls::pipeline_state::{CallPipeline, CallPipelineDeps};
use crate::calls::server_requests::{AnswersServerRequests as _, UnattributedResponder};
use crate::catalog::catalog_store::{CatalogStore, CatalogVersions};
use crate::catalog::output_schema::SchemaContext;
use crate::catalog::tool_catalog::ToolCatalog;
use crate::paths::PathResolver;
use crate::paths::path_lookup::PathLookup;
use crate::permissions::simulation::SimulationDraft;
use crate::permissions::{PermissionStore, PermissionStoreDeps};
use crate::shared_runs::SharedRuns;

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
    events: Arc<dyn EventSink>,
    catalog: CatalogStore,
    permissions: PermissionStore,
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
            approvals: approvals.clone(),
            request_builder: ApprovalRequestBuilder {
                store: store.clone(),
                permissions: permissions.clone(),
                history: history.clone(),
                paths: shown_paths.clone(),
            },
            history,
            runs,
            client_timeouts,
            paths,
            recorder: Recorder::new(store, events.clone(), Arc::clone(servers.schemas()), tracker.clone()),
            progress_interval: approval_limits.progress_interval,
            closing: closing.clone(),
        });
        let unattributed = UnattributedResponder(Arc::downgrade(calls.server_requests()));
        servers.set_fallback_handler(Arc::new(unattributed));
        // Subscribed before the first refresh, so that no change is missed between the two.
        let revision = servers.revision();
        calls.refresh().await;
        tracker.spawn(calls.clone().follow_servers(revision));
        let state = ToolManagerState {
            servers,
            events,
            catalog,
            permissions,
            approvals,
            calls,
            shown_paths,
            retained_bytes,
            closing: closing.clone(),
            tracker,
        };
        Ok(Self { state: Arc::new(state), _closes: Arc::new(closing.drop_guard()) })
    }

    /// Memory budget for everything that is kept for clients that may come back for it.
    pub fn retained_bytes(&self) -> Arc<ByteBudget> {
        self.state.retained_bytes.clone()
    }

    /// The current catalog.
    pub fn catalog(&self) -> Arc<ToolCatalog> {
        self.state.catalog.load_full()
    }

    /// Counters that change whenever a list for clients changes.
    pub fn catalog_changes(&self) -> watch::Receiver<CatalogVersions> {
        self.state.catalog.versions()
    }

    /// Rebuilds the catalog if it is out of date.
    pub async fn refresh(&self) {
        self.state.calls.refresh().await;
    }

    /// Sets how exposed names are formed.
    pub async fn set_naming(&self, naming: ToolNaming) {
        self.state.catalog.set_naming(naming);
        self.state.calls.refresh().await;
    }

    /// Calls a tool by its exposed name.
    pub async fn call(&self, caller: Caller, call: ToolCall) -> CallResponse {
        match ClientRequest::tool(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    /// Reads a resource, subscribes to one, gets a prompt or completes an argument (PERM-18).
    pub async fn access(&self, caller: Caller, call: AccessCall) -> CallResponse {
        match ClientRequest::access(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    /// Calls a tool for the user, who entered the call: no approval is needed, but what the user has blocked
    /// stays blocked.
    pub async fn call_for_user(&self, call: ToolCall) -> CallResponse {
        match ClientRequest::tool(Caller::user(), call) {
            Ok(request) => self.state.calls.run_for_user(request).await,
            Err(end) => end,
        }
    }

    /// Reads a resource, gets a prompt or completes an argument for the user.
    pub async fn access_for_user(&self, call: AccessCall) -> CallResponse {
        match ClientRequest::access(Caller::user(), call) {
            Ok(request) => self.state.calls.run_for_user(request).await,
            Err(end) => end,
        }
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

    /// Resource changes that servers report from now on.
    #[must_use]
    pub fn updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.state.servers.updates()
    }

    /// What in a result doesn't match the tool's `outputSchema` (TOOL-5), if anything.
    pub async fn output_mismatch(&self, exposed_name: &str, result: &RawValue) -> Option<String> {
        let catalog = self.state.catalog.load_full();
        let tool = catalog.by_exposed(exposed_name)?;
        let (definition, server) = (Arc::clone(&tool.definition), tool.server().clone());
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
        let (permissions, client) = (self.state.permissions.clone(), client.clone());
        self.state.tracker.spawn(async move {
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
