//! The state of the call pipeline, the verdict on a call, and the events that end calls: a pause, a revoked
//! client, a changed server.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use gatehouse_model::record::CallProgress;
use gatehouse_model::{
    CallId, ClientId, Clock, Decision, Event, EventSink, Rule, ServerId, SessionId, Verdict,
};
use gatehouse_servers::{Progress, ProgressSink, ServerManager};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::call_recorder::Recorder;
use super::client_request::ClientRequest;
use super::client_timeout::ClientTimeouts;
use super::input_required::OpenRounds;
use super::progress::progress_view;
use super::running_calls::RunningCalls;
use super::server_requests::{AnswersServerRequests, ServerRequestAnswerer};
use crate::approvals::{ApprovalQueue, ApprovalRequestBuilder, UsageHistory};
use crate::catalog::catalog_store::{CatalogStore, ServerChange};
use crate::ids::IdGenerator;
use crate::paths::path_lookup::{self, KnownPaths, PathLookup};
use crate::pending_call::{PendingCall, PolicyInputs};
use crate::permissions::PermissionStore;
use crate::shared_runs::SharedRuns;

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
    pub(crate) approvals: ApprovalQueue,
    pub(crate) request_builder: ApprovalRequestBuilder,
    pub(crate) history: Arc<UsageHistory>,
    pub(crate) runs: Arc<SharedRuns>,
    pub(crate) client_timeouts: ClientTimeouts,
    /// Looks up the paths that verdicts depend on.
    pub(crate) paths: Arc<PathLookup>,
    pub(crate) recorder: Recorder,
    /// Interval of progress notifications to a client that waits for the user.
    pub(crate) progress_interval: Duration,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
}

/// The call pipeline: the only way to a server.
pub(crate) struct CallPipeline {
    pub(super) servers: ServerManager,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) catalog: CatalogStore,
    pub(super) permissions: PermissionStore,
    pub(super) approvals: ApprovalQueue,
    pub(super) request_builder: ApprovalRequestBuilder,
    pub(super) history: Arc<UsageHistory>,
    /// Runs that the user approved: in progress, or ended with a result that the client may not have received.
    pub(super) runs: Arc<SharedRuns>,
    pub(super) client_timeouts: ClientTimeouts,
    pub(super) paths: Arc<PathLookup>,
    pub(super) recorder: Recorder,
    pub(super) progress_interval: Duration,
    pub(super) rounds: OpenRounds,
    server_requests: Arc<ServerRequestAnswerer>,
    pub(super) ids: IdGenerator,
    /// Cancelled and replaced by each pause.
    pub(super) halt: ArcSwap<CancellationToken>,
    /// Calls in progress.
    pub(super) running: RunningCalls,
    /// Clients whose access was revoked.
    pub(super) revoked_clients: Mutex<HashSet<ClientId>>,
    closing: CancellationToken,
}

impl AnswersServerRequests for CallPipeline {
    fn server_requests(&self) -> &Arc<ServerRequestAnswerer> {
        &self.server_requests
    }
}

impl CallPipeline {
    pub(crate) fn new(deps: CallPipelineDeps) -> Arc<Self> {
        let CallPipelineDeps {
            servers,
            events,
            clock,
            catalog,
            permissions,
            approvals,
            request_builder,
            history,
            runs,
            client_timeouts,
            paths,
            recorder,
            progress_interval,
            closing,
        } = deps;
        let server_requests =
            ServerRequestAnswerer::new(servers.clone(), permissions.clone(), approvals.clone());
        Arc::new(Self {
            servers,
            events,
            clock,
            catalog,
            permissions,
            approvals,
            request_builder,
            history,
            runs,
            client_timeouts,
            paths,
            recorder,
            progress_interval,
            rounds: OpenRounds::default(),
            server_requests,
            ids: IdGenerator::new(),
            halt: ArcSwap::from_pointee(CancellationToken::new()),
            running: RunningCalls::default(),
            revoked_clients: Mutex::default(),
            closing,
        })
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Calls in progress.
    pub(crate) fn running(&self) -> &RunningCalls {
        &self.running
    }

    /// Ends every call and every approval request for one.
    pub(crate) fn end_all(&self) {
        self.halt.swap(Arc::new(CancellationToken::new())).cancel();
        self.approvals.end_calls();
        self.rounds.clear();
    }

    /// Ends the calls in progress for a shutdown, which was announced by cancelling the token of the dependencies.
    pub(crate) fn shut_down(&self) {
        self.halt.load().cancel();
    }

    /// Forgets what was learned of a session that has ended.
    pub(crate) fn session_ended(&self, session: &SessionId) {
        self.client_timeouts.session_ended(session);
        self.runs.forget_session(session);
    }

    /// Ends all calls and approval requests of a client whose access was revoked, and refuses its further calls.
    pub(crate) fn revoke_client(&self, client: &ClientId) {
        self.revoked_clients.lock().insert(client.clone());
        self.approvals.end_client(client);
        self.client_timeouts.forget(client);
    }

    /// Keeps the catalog up to date, until shutdown.
    pub(crate) async fn follow_servers(self: Arc<Self>, mut revision: watch::Receiver<u64>) {
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
        self.history.forget_server(server);
        self.runs.forget_server(server);
    }

    /// The verdict of the policy now. Paths are looked up first, each time afresh. Everything else is read
    /// after that, and if new rules came in the meantime, their paths are looked up too.
    pub(crate) async fn decide(&self, pending_call: &PendingCall, with_ticket: bool) -> Verdict {
        let deadline = path_lookup::deadline();
        let mut known = KnownPaths::default();
        let verdict = loop {
            let permissions = Arc::clone(&self.permissions.now());
            let blocked = self.servers.forbids(&pending_call.config);
            let ticket = if with_ticket { self.approvals.ticket(&pending_call.key) } else { None };
            let inputs = PolicyInputs {
                blocked_by_file: blocked.as_deref(),
                paused: self.permissions.paused(),
                ticket: ticket.as_ref(),
                now: self.clock.now(),
                paths: &known,
            };
            let missing = known.missing(pending_call.paths(&permissions, inputs));
            if missing.is_empty() {
                break pending_call.decide(&permissions, inputs);
            }
            self.paths.look_up(missing, deadline, &mut known).await;
        };
        let by_ticket = matches!(verdict.rule, Rule::LateTicket { .. });
        let by_grant = (verdict.decision == Decision::Allow && !by_ticket)
            || matches!(verdict.rule, Rule::UnboundGrant { .. });
        if pending_call.is_unknown_round && by_grant {
            // No rule covers input that Gatehouse didn't see a server require.
            return Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk };
        }
        verdict
    }

    /// Progress sink for the server. Always set, because progress resets the time-out of a silent call
    /// (SRV-8); relayed to the client only if it asked for progress.
    pub(crate) fn progress(&self, request: &ClientRequest, id: &CallId) -> ProgressSink {
        let reporter = request.progress.clone();
        let (events, running, id) = (self.events.clone(), self.running.clone(), id.clone());
        Arc::new(move |progress: Progress| {
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
