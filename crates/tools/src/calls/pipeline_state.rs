//! The state of the call pipeline, the verdict on a call, and the events that end calls: a pause, a revoked
//! client, a changed server.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gatehouse_model::approval::Subject;
use gatehouse_model::record::CallProgress;
use gatehouse_model::verdict_trace::{JudgedCheck, PolicyCheck};
use gatehouse_model::{
    CallId, ClientId, Clock, Decision, Event, EventSink, Rule, ServerId, SessionId, Verdict,
};
use gatehouse_servers::{Progress, ProgressSink, ServerManager};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call_recorder::Recorder;
use super::client_request::ClientRequest;
use super::client_timeout::ClientTimeouts;
use super::input_required::OpenRounds;
use super::progress::progress_view;
use super::refusal_messages::{self, SubjectWording};
use super::running_calls::RunningCalls;
use super::server_requests::{AnswersServerRequests, ServerRequestAnswerer};
use crate::approvals::{ApprovalQueue, ApprovalRequestBuilder, UsageHistory};
use crate::call_types::Caller;
use crate::call_types::response::CallResponse;
use crate::catalog::catalog_store::{CatalogStore, ServerChange};
use crate::ids::IdGenerator;
use crate::paths::path_lookup::{self, KnownPaths, PathLookup};
use crate::pending_call::{PendingCall, PolicyInputs};
use crate::permissions::PermissionStore;
use crate::profiles::ProfileStore;
use crate::profiles::rate_limits::{RateLimited, RateLimits};
use crate::shared_runs::SharedRuns;
use crate::task_table::TaskTable;

/// A call is judged at most this many times before it is refused.
pub(super) const MAX_EVALUATIONS: usize = 256;

pub(super) const CONSTANTLY_CHANGING: &str = "This server or what is allowed on it is changing all the time; the call was not sent. Try again in a moment.";

/// Dependencies of the pipeline.
pub(crate) struct CallPipelineDeps {
    pub(crate) servers: ServerManager,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) catalog: CatalogStore,
    pub(crate) permissions: PermissionStore,
    pub(crate) profiles: ProfileStore,
    pub(crate) approvals: ApprovalQueue,
    pub(crate) request_builder: ApprovalRequestBuilder,
    pub(crate) history: Arc<UsageHistory>,
    /// Runs that the user approved: in progress, or ended with a result that the client may not have received.
    pub(crate) runs: Arc<SharedRuns>,
    /// The tasks that calls became.
    pub(crate) tasks: TaskTable,
    pub(crate) client_timeouts: ClientTimeouts,
    /// Looks up the paths that verdicts depend on.
    pub(crate) paths: Arc<PathLookup>,
    pub(crate) recorder: Recorder,
    /// Interval of progress notifications to a client that waits for the user.
    pub(crate) progress_interval: Duration,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
    /// Waited for at a shutdown.
    pub(crate) tracker: TaskTracker,
}

/// The call pipeline: the only way to a server.
pub(crate) struct CallPipeline {
    pub(super) deps: CallPipelineDeps,
    rate_limits: RateLimits,
    pub(super) rounds: OpenRounds,
    server_requests: Arc<ServerRequestAnswerer>,
    pub(super) ids: IdGenerator,
    /// Cancelled and replaced by each pause.
    pub(super) halt: ArcSwap<CancellationToken>,
    /// Calls in progress.
    pub(super) running: RunningCalls,
    /// Clients whose access was revoked.
    pub(super) revoked_clients: Mutex<HashSet<ClientId>>,
}

impl AnswersServerRequests for CallPipeline {
    fn server_requests(&self) -> &Arc<ServerRequestAnswerer> {
        &self.server_requests
    }
}

impl CallPipeline {
    pub(crate) fn new(deps: CallPipelineDeps) -> Arc<Self> {
        let server_requests = ServerRequestAnswerer::new(
            deps.servers.clone(),
            deps.permissions.clone(),
            deps.approvals.clone(),
        );
        Arc::new(Self {
            deps,
            rate_limits: RateLimits::default(),
            rounds: OpenRounds::default(),
            server_requests,
            ids: IdGenerator::new(),
            halt: ArcSwap::from_pointee(CancellationToken::new()),
            running: RunningCalls::default(),
            revoked_clients: Mutex::default(),
        })
    }

    pub(super) fn is_closing(&self) -> bool {
        self.deps.closing.is_cancelled()
    }

    /// Returns at a shutdown.
    pub(super) async fn closing(&self) {
        self.deps.closing.cancelled().await;
    }

    /// Calls in progress.
    pub(crate) fn running(&self) -> &RunningCalls {
        &self.running
    }

    /// Ends every call and every approval request for one.
    pub(crate) fn end_all(&self) {
        self.halt.swap(Arc::new(CancellationToken::new())).cancel();
        self.deps.approvals.end_calls();
        self.rounds.clear();
        self.deps.tasks.cancel_all();
    }

    /// Ends the calls in progress for a shutdown, which was announced by cancelling the token of the dependencies.
    pub(crate) fn shut_down(&self) {
        self.halt.load().cancel();
    }

    /// Forgets what was learned of a session that has ended.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        self.deps.client_timeouts.session_ended(session);
        self.deps.runs.forget_session(session);
    }

    /// Ends all calls and approval requests of a client whose access was revoked, and refuses its further calls.
    pub(crate) fn revoke_client(&self, client: &ClientId) {
        self.revoked_clients.lock().insert(client.clone());
        self.deps.approvals.end_client(client);
        self.deps.tasks.forget_client(client);
        self.deps.client_timeouts.forget(client);
        self.rate_limits.forget(client);
    }

    /// Keeps the catalog up to date, until shutdown.
    pub(crate) async fn follow_servers(self: Arc<Self>, mut revision: watch::Receiver<u64>) {
        loop {
            tokio::select! {
                biased;
                () = self.deps.closing.cancelled() => return,
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
        for change in self.deps.catalog.refresh().await {
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
            if current.is_some() {
                self.deps.recorder.server_seen(&server, self.deps.clock.now());
            }
            if let Err(error) = self.deps.permissions.server_gone(&server, current).await {
                tracing::error!(%server, %error, "the permissions of a removed server could not be dropped");
            }
        }
    }

    /// Drops what was learned of a server that was removed or edited.
    fn forget_server(&self, server: &ServerId) {
        self.deps.history.forget_server(server);
        self.deps.runs.forget_server(server);
        self.deps.tasks.forget_server(server);
    }

    /// Counts a call against the limit of the caller's profile.
    ///
    /// # Errors
    /// If it has made too many calls within a minute; then the call is refused.
    pub(crate) fn admit(&self, caller: &Caller) -> Result<(), RateLimited> {
        if caller.is_user() {
            return Ok(());
        }
        match self.deps.profiles.of(&caller.viewer()).calls_per_minute() {
            Some(per_minute) => self.rate_limits.admit(&caller.client.id, per_minute),
            None => Ok(()),
        }
    }

    /// Counts a request that Gatehouse answers itself, as [`Self::admit`] does.
    ///
    /// # Errors
    /// The response, if the client has made too many calls within a minute.
    pub(crate) fn admit_lookup(&self, caller: &Caller) -> Result<(), CallResponse> {
        let words = SubjectWording::of(&Subject::Tool { name: String::new() });
        self.admit(caller).map_err(|limited| refusal_messages::rate_limited(&limited, words).end)
    }

    /// The name of a profile of the caller that doesn't show what a call is for, if one doesn't.
    fn hiding_profile(&self, caller: &Caller, pending_call: &PendingCall) -> Option<String> {
        let server = pending_call.server();
        if caller.is_user() {
            return None;
        }
        let profiles = self.deps.profiles.of(&caller.viewer());
        let hiding = match &pending_call.subject {
            Subject::Tool { name } => profiles.hiding_tool(server, name),
            Subject::Resource { .. }
            | Subject::Prompt { .. }
            | Subject::Completion { .. }
            | Subject::Request { .. } => profiles.hiding_server(server),
        };
        hiding.map(|profile| profile.profile.settings.name.clone())
    }

    /// The verdict over what the caller's profile doesn't show.
    pub(super) fn hidden(&self, pending_call: &PendingCall) -> Option<Verdict> {
        let profile = self.hiding_profile(&pending_call.caller, pending_call)?;
        Some(Verdict { decision: Decision::Deny, rule: Rule::HiddenByProfile { profile } })
    }

    /// Whether a caller's profile doesn't show what an earlier call of its client was for.
    pub(super) fn is_hidden_from(&self, caller: &Caller, pending_call: &PendingCall) -> bool {
        self.hiding_profile(caller, pending_call).is_some()
    }

    /// The verdict now: that of the policy, unless the caller's profile hides what the call is for. Paths are looked up
    /// first, each time afresh. Everything else is read after that, and if new rules came in the meantime, their paths
    /// are looked up too.
    pub(crate) async fn decide(&self, pending_call: &PendingCall, with_ticket: bool) -> Verdict {
        let verdict = self.decide_by_policy(pending_call, with_ticket, None).await;
        self.hidden(pending_call).unwrap_or(verdict)
    }

    /// As [`Self::decide`], with the checks that led to the verdict, for the record.
    pub(super) async fn judge(
        &self,
        pending_call: &PendingCall,
        with_ticket: bool,
    ) -> (Verdict, Vec<JudgedCheck>) {
        let mut checks = Vec::new();
        let verdict = self.decide_by_policy(pending_call, with_ticket, Some(&mut checks)).await;
        match self.hidden(pending_call) {
            Some(hidden) => {
                checks.push(JudgedCheck::new(PolicyCheck::Profile));
                (hidden, checks)
            }
            None => (verdict, checks),
        }
    }

    async fn decide_by_policy(
        &self,
        pending_call: &PendingCall,
        with_ticket: bool,
        mut checks: Option<&mut Vec<JudgedCheck>>,
    ) -> Verdict {
        let deadline = path_lookup::deadline();
        let mut known = KnownPaths::default();
        let verdict = loop {
            let permissions = Arc::clone(&self.deps.permissions.now());
            let blocked = self.deps.servers.forbids(&pending_call.config);
            let ticket = if with_ticket { self.deps.approvals.ticket(&pending_call.key) } else { None };
            let inputs = PolicyInputs {
                blocked_by_file: blocked.as_deref(),
                paused: self.deps.permissions.paused(),
                ticket: ticket.as_ref(),
                now: self.deps.clock.now(),
                paths: &known,
            };
            let missing = known.missing(pending_call.paths(&permissions, inputs));
            if missing.is_empty() {
                if let Some(checks) = checks.as_deref_mut() {
                    *checks = pending_call.trace(&permissions, inputs);
                }
                break pending_call.decide(&permissions, inputs);
            }
            self.deps.paths.look_up(missing, deadline, &mut known).await;
        };
        let by_ticket = matches!(verdict.rule, Rule::LateTicket { .. });
        let by_grant = (verdict.decision == Decision::Allow && !by_ticket)
            || matches!(verdict.rule, Rule::UnboundGrant { .. });
        if pending_call.is_unknown_round && by_grant {
            // No rule covers input that Gatehouse didn't see a server require.
            if let Some(checks) = checks {
                checks.push(JudgedCheck::new(PolicyCheck::Default));
            }
            return Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk };
        }
        verdict
    }

    /// Whether a call may be forbidden now. No path is looked up, so a deny that depends on one counts.
    pub(super) fn may_be_forbidden(&self, pending_call: &PendingCall) -> bool {
        let permissions = Arc::clone(&self.deps.permissions.now());
        let blocked = self.deps.servers.forbids(&pending_call.config);
        let paths = KnownPaths::default();
        let inputs = PolicyInputs {
            blocked_by_file: blocked.as_deref(),
            paused: self.deps.permissions.paused(),
            ticket: None,
            now: self.deps.clock.now(),
            paths: &paths,
        };
        !self.deps.servers.is_on()
            || self.hidden(pending_call).is_some()
            || pending_call.decide(&permissions, inputs).decision == Decision::Deny
    }

    /// Progress sink for the server. Always set, because progress resets the time-out of a silent call
    /// (SRV-8); relayed to the client only if it asked for progress. Once the call has become a task, until that ends,
    /// is forgotten or may be forbidden.
    pub(crate) fn progress(self: &Arc<Self>, request: &ClientRequest, id: &CallId) -> ProgressSink {
        let (reporter, task) = (request.progress.clone(), Arc::clone(&request.task));
        let (events, running, id) = (self.deps.events.clone(), self.running.clone(), id.clone());
        let pipeline = Arc::downgrade(self);
        Arc::new(move |mut progress: Progress| {
            if let Some(task) = task.get() {
                let is_silenced = |pipeline: Arc<Self>| {
                    task.is_forgotten() || pipeline.may_be_forbidden(&task.pending_call)
                };
                if !task.is_open() || pipeline.upgrade().is_none_or(is_silenced) {
                    return;
                }
                progress.raw = task.to_client(progress.raw);
            }
            if let Some(reporter) = &reporter {
                reporter.relay(&progress);
            }
            let shown = progress_view(&progress);
            running.set_progress(&id, &shown);
            let CallProgress { progress, total, message } = shown;
            events.emit(Event::CallProgress { call: id.clone(), progress, total, message });
        })
    }
}
