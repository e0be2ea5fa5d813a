//! The entry point for calls and everything behind it: catalog, permissions, approval requests, records. The
//! gateway, the command line and the windows all use it, so nothing bypasses the policy.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gatehouse_model::record::RunningCall;
use gatehouse_model::server::LogLevel;
use gatehouse_model::simulation::SimulationReport;
use gatehouse_model::{
    CallId, ClientId, Clock, ErrorCode, Event, EventSink, ServerId, SessionId, Timestamp, ToolNaming,
    UserError,
};
use gatehouse_servers::{ResourceUpdate, ServerManager};
use gatehouse_store::Store;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::approvals::{ApprovalLimits, ApprovalQueue, ApprovalQueueDeps};
use crate::byte_budget::{ByteBudget, ByteLimits};
use crate::call_types::response::CallResponse;
use crate::call_types::{AccessCall, Caller, ToolCall};
use crate::calls::call_record::Recorder;
use crate::calls::client_request::ClientRequest;
use crate::calls::client_timeout::ClientTimeouts;
use crate::calls::input_required::OpenRounds;
use crate::calls::running_calls::RunningCalls;
use crate::calls::server_requests::{PendingRequestCounts, UnattributedResponder};
use crate::catalog::catalog_store::{CatalogStore, CatalogVersions, ServerChange};
use crate::catalog::output_schema::SchemaContext;
use crate::catalog::tool_catalog::ToolCatalog;
use crate::ids::IdGenerator;
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
    pub(crate) inner: Arc<ToolManagerShared>,
    _closes: Arc<DropGuard>,
}

impl fmt::Debug for ToolManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolManager").field("catalog", &self.inner.catalog.load()).finish_non_exhaustive()
    }
}

pub(crate) struct ToolManagerShared {
    pub(crate) servers: ServerManager,
    pub(crate) store: Arc<Store>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) approval_limits: ApprovalLimits,
    pub(crate) permissions: PermissionStore,
    pub(crate) approvals: ApprovalQueue,
    /// Runs that the user approved: in progress, or ended with a result that the client may not have received.
    pub(crate) runs: Arc<SharedRuns>,
    pub(crate) client_timeouts: ClientTimeouts,
    pub(crate) rounds: OpenRounds,
    /// Requests of servers that wait for the user.
    pub(crate) pending_requests: PendingRequestCounts,
    /// Looks up the paths that verdicts depend on.
    pub(crate) paths: Arc<PathLookup>,
    /// Looks up paths that are only shown or used in simulations; separate, so that these never delay a
    /// verdict.
    pub(crate) shown_paths: PathLookup,
    pub(crate) recorder: Recorder,
    pub(crate) catalog: CatalogStore,
    pub(crate) ids: IdGenerator,
    /// Cancelled and replaced by each pause.
    pub(crate) halt: ArcSwap<CancellationToken>,
    /// Subjects that were allowed before, by server.
    pub(crate) used_tools: Mutex<HashMap<ServerId, HashSet<String>>>,
    /// Calls in progress.
    pub(crate) running: RunningCalls,
    /// Clients whose access was revoked.
    pub(crate) revoked_clients: Mutex<HashSet<ClientId>>,
    kept_bytes: Arc<ByteBudget>,
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
        let kept_bytes = ByteBudget::new(ByteLimits::default());
        let runs = SharedRuns::new(approval_limits.late_answer_ttl, kept_bytes.clone());
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
        let client_timeouts =
            ClientTimeouts::open(store.dir(), approval_limits.client_timeout, tracker.clone()).await;
        let inner = Arc::new(ToolManagerShared {
            catalog,
            recorder: Recorder::new(
                store.clone(),
                events.clone(),
                Arc::clone(servers.schemas()),
                tracker.clone(),
            ),
            servers,
            store,
            events,
            clock,
            approval_limits,
            permissions,
            approvals,
            runs,
            client_timeouts,
            rounds: OpenRounds::default(),
            pending_requests: PendingRequestCounts::default(),
            paths,
            shown_paths: PathLookup::new(resolver),
            ids: IdGenerator::new(),
            halt: ArcSwap::from_pointee(CancellationToken::new()),
            used_tools: Mutex::default(),
            running: RunningCalls::default(),
            revoked_clients: Mutex::default(),
            kept_bytes,
            closing: closing.clone(),
            tracker: tracker.clone(),
        });
        inner.servers.set_fallback_handler(Arc::new(UnattributedResponder(Arc::downgrade(&inner))));
        // Subscribed before the first refresh, so that no change is missed between the two.
        let revision = inner.servers.revision();
        inner.refresh().await;
        tracker.spawn(inner.clone().follow(revision));
        Ok(Self { inner, _closes: Arc::new(closing.drop_guard()) })
    }

    /// Memory budget for everything that is kept for clients that may come back for it.
    #[must_use]
    pub fn kept_bytes(&self) -> Arc<ByteBudget> {
        self.inner.kept_bytes.clone()
    }

    /// The current catalog.
    #[must_use]
    pub fn catalog(&self) -> Arc<ToolCatalog> {
        self.inner.catalog.load_full()
    }

    /// Counters that change whenever a list for clients changes.
    #[must_use]
    pub fn catalog_changes(&self) -> watch::Receiver<CatalogVersions> {
        self.inner.catalog.versions()
    }

    /// Rebuilds the catalog if it is out of date.
    pub async fn refresh(&self) {
        self.inner.refresh().await;
    }

    /// Sets how exposed names are formed.
    pub async fn set_naming(&self, naming: ToolNaming) {
        self.inner.catalog.set_naming(naming);
        self.inner.refresh().await;
    }

    /// Calls a tool by its exposed name.
    pub async fn call(&self, caller: Caller, call: ToolCall) -> CallResponse {
        match ClientRequest::tool(caller, call) {
            Ok(request) => self.inner.run(request).await,
            Err(end) => end,
        }
    }

    /// Reads a resource, subscribes to one, gets a prompt or completes an argument (PERM-18).
    pub async fn access(&self, caller: Caller, call: AccessCall) -> CallResponse {
        match ClientRequest::access(caller, call) {
            Ok(request) => self.inner.run(request).await,
            Err(end) => end,
        }
    }

    /// Calls a tool for the user, who entered the call: no approval is needed, but what the user has blocked
    /// stays blocked.
    pub async fn call_for_user(&self, call: ToolCall) -> CallResponse {
        match ClientRequest::tool(Caller::user(), call) {
            Ok(request) => self.inner.run_for_user(request).await,
            Err(end) => end,
        }
    }

    /// Reads a resource, gets a prompt or completes an argument for the user.
    pub async fn access_for_user(&self, call: AccessCall) -> CallResponse {
        match ClientRequest::access(Caller::user(), call) {
            Ok(request) => self.inner.run_for_user(request).await,
            Err(end) => end,
        }
    }

    /// Ends one subscription to a resource.
    pub async fn unwatch(&self, server: &ServerId, uri: &str) {
        if let Some(handle) = self.inner.servers.get(server) {
            handle.unwatch(uri).await;
        }
    }

    /// Sets the most verbose log level that any client wants from servers.
    pub fn set_clients_log_level(&self, level: Option<LogLevel>) {
        self.inner.servers.set_clients_log_level(level);
    }

    /// Resource changes that servers report from now on.
    #[must_use]
    pub fn updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.inner.servers.updates()
    }

    /// What in a result doesn't match the tool's `outputSchema` (TOOL-5), if anything.
    pub async fn output_mismatch(&self, exposed_name: &str, result: &RawValue) -> Option<String> {
        let catalog = self.inner.catalog.load_full();
        let tool = catalog.by_exposed(exposed_name)?;
        let (definition, server) = (Arc::clone(&tool.definition), tool.server().clone());
        if !definition.has_output_schema() {
            return None;
        }
        let (schemas, result) = (Arc::clone(self.inner.servers.schemas()), result.to_owned());
        let look =
            move || definition.output_mismatch(&result, SchemaContext { checker: &schemas, server: &server });
        let looked = tokio::task::spawn_blocking(look).await;
        looked.unwrap_or_else(|_| Some("The result was not checked against the outputSchema.".to_owned()))
    }

    #[must_use]
    pub fn approvals(&self) -> &ApprovalQueue {
        &self.inner.approvals
    }

    #[must_use]
    pub fn permissions(&self) -> &PermissionStore {
        &self.inner.permissions
    }

    /// Pauses Gatehouse (PERM-13): calls in progress are cancelled, allows with a limited lifetime end, and
    /// new calls are refused until resumed. All of this is in effect when this returns, even with an error.
    ///
    /// # Errors
    /// If the pause can't be stored; then it doesn't survive a restart.
    pub async fn pause(&self) -> Result<(), UserError> {
        let inner = &self.inner;
        let permissions = &inner.permissions;
        let was = permissions.set_paused(true);
        let ended = permissions.drop_temporary_allows();
        inner.halt.swap(Arc::new(CancellationToken::new())).cancel();
        inner.approvals.end_calls();
        inner.rounds.clear();
        if !was {
            inner.events.emit(Event::PauseChanged { paused: true });
        }
        if tokio::time::timeout(PAUSE_TIMEOUT, inner.servers.cancel_all()).await.is_err() {
            tracing::warn!("not every server could be told of the pause in time");
        }
        if was && ended.is_empty() { Ok(()) } else { permissions.persist_pause(true, ended).await }
    }

    /// Ends every call and every approval request for one because MCP was just switched off
    /// ([`ServerManager::set_mcp_enabled`]), which also refuses new calls.
    pub fn end_all_calls(&self) {
        let inner = &self.inner;
        inner.halt.swap(Arc::new(CancellationToken::new())).cancel();
        inner.approvals.end_calls();
        inner.rounds.clear();
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// If it can't be stored; then everything stays paused.
    pub async fn resume(&self) -> Result<(), UserError> {
        let permissions = &self.inner.permissions;
        if !permissions.paused() {
            return Ok(());
        }
        permissions.persist_pause(false, Vec::new()).await?;
        permissions.set_paused(false);
        self.inner.events.emit(Event::PauseChanged { paused: false });
        Ok(())
    }

    /// Judges the calls since a point in time by the rules in force and by a draft, and reports the
    /// differences. Nothing is changed. Rules of the draft have the ids `draft-1`, `draft-2` and so on, in the
    /// order in which they are made.
    ///
    /// # Errors
    /// If the draft is invalid, or the records can't be read.
    pub async fn simulate(
        &self,
        since: Timestamp,
        draft: SimulationDraft,
    ) -> Result<SimulationReport, UserError> {
        self.inner.refresh().await;
        self.inner.permissions.simulate(since, draft, &self.inner.shown_paths).await
    }

    /// Calls in progress, oldest first.
    #[must_use]
    pub fn running_calls(&self) -> Vec<RunningCall> {
        self.inner.running.list()
    }

    /// Cancels a call that was sent to its server, as its client could.
    ///
    /// # Errors
    /// [`ErrorCode::NotFound`] if the call has ended or still waits for a decision.
    pub fn cancel_call(&self, call: &CallId) -> Result<(), UserError> {
        if self.inner.running.cancel(call) {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::NotFound, "This call isn't running on its server.")
            .with_cause("It has ended, or waits for your answer."))
    }

    /// Ends the allows and the learned state of a session.
    pub fn session_ended(&self, session: &SessionId) {
        self.inner.permissions.session_ended(session);
        self.inner.client_timeouts.session_ended(session);
        self.inner.runs.forget_session(session);
    }

    /// Ends all calls and approval requests of a client and drops its rules, because its access was revoked.
    pub fn client_gone(&self, client: &ClientId) {
        self.inner.revoked_clients.lock().insert(client.clone());
        self.inner.approvals.end_client(client);
        self.inner.client_timeouts.forget(client);
        let (permissions, client) = (self.inner.permissions.clone(), client.clone());
        self.inner.tracker.spawn(async move {
            if let Err(problem) = permissions.client_removed(&client).await {
                tracing::error!(%problem, "the rules of a client that is gone could not be dropped");
            }
        });
    }

    /// Ends everything and waits for it. Pending requests end without an answer.
    pub async fn shutdown(&self) {
        self.inner.closing.cancel();
        self.inner.halt.load().cancel();
        self.inner.tracker.close();
        self.inner.tracker.wait().await;
    }
}

impl ToolManagerShared {
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    async fn follow(self: Arc<Self>, mut revision: watch::Receiver<u64>) {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return,
                changed = revision.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.refresh().await;
                }
            }
        }
    }

    /// Rebuilds the catalog if it is out of date. A server that was removed or edited loses what was allowed on
    /// it, also if that happened while Gatehouse wasn't running.
    pub(crate) async fn refresh(&self) {
        for change in self.catalog.refresh().await {
            let (server, current) = match change {
                ServerChange::Removed(server) => {
                    self.forget_server(&server);
                    (server, None)
                }
                ServerChange::Edited(server, binding) => {
                    self.forget_server(&server);
                    (server, Some(binding))
                }
                ServerChange::Added(server, binding) => (server, Some(binding)),
            };
            if let Err(error) = self.permissions.server_gone(&server, current).await {
                tracing::error!(%server, %error, "the permissions of a removed server could not be dropped");
            }
        }
    }

    /// Drops what was learned of a server that was removed or edited.
    fn forget_server(&self, server: &ServerId) {
        self.used_tools.lock().remove(server);
        self.runs.forget_server(server);
    }
}
