//! The approval queue: approval requests that wait for the user, and their answers (PERM-9 to PERM-11).
//! Requests of servers that need an answer (elicitation, sampling) wait here too.
//!
//! Every request has a deadline; without an answer it counts as denied. An answer counts only for the request
//! that was shown, identified by id and hash. No answer takes effect before it is written to the audit.

mod answers;
mod expiry;
pub(crate) mod options;
mod pending;
pub(crate) mod proposals;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::approval::{CallDetails, ElicitationMode, RevealedArgument, ShownArgument};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{
    ApprovalAnswer, ApprovalId, ApprovalRequest, AskUser, BoxFuture, CallApprovalRequest, CallHash, ClientId,
    ErrorCode, Event, EventSink, PendingApproval, SubmittedAnswer, UserError,
};
use gatehouse_servers::SchemaChecker;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::byte_budget::ByteBudget;
use crate::call_types::call_key::CallKey;
use crate::ids::IdGenerator;
use crate::paths::path_lookup::PathLookup;
use crate::pending_call::PendingCall;
use crate::permissions::PermissionStore;
use crate::shared_runs::{ActiveRun, SharedRuns};
use pending::{
    ApprovalSource, ApprovalTable, LateAnswer, LateDecision, QueuedApproval, StoredLateAnswer, WaitState,
    WaitingCall,
};

/// Time-outs and limits of approval requests.
#[derive(Clone, Debug)]
pub struct ApprovalLimits {
    /// Without an answer within this time, a call is denied.
    pub answer_deadline: Duration,
    /// Initial client time-out estimate: after this time a client is told to call again. What was learned of a
    /// client (see `hold`) can make it shorter, or longer if the client gets progress notifications.
    pub client_timeout: Duration,
    /// Interval of progress notifications to a client that waits for the user.
    pub progress_interval: Duration,
    /// How long a request stays pending after its last call has left, and how long a late answer is valid.
    pub late_answer_ttl: Duration,
    /// Maximum number of pending requests per client.
    pub max_pending_per_client: usize,
}

impl Default for ApprovalLimits {
    fn default() -> Self {
        Self {
            answer_deadline: Duration::from_secs(600),
            client_timeout: Duration::from_secs(50),
            progress_interval: Duration::from_secs(10),
            late_answer_ttl: Duration::from_secs(600),
            max_pending_per_client: 64,
        }
    }
}

/// A user's approval of one call, valid once, with the run that identical calls share.
#[derive(Debug)]
pub(crate) struct OneTimeApproval {
    pub(crate) ask: ApprovalId,
    pub(crate) run: ActiveRun,
    /// Value of the pause counter when the request was made. An approval is void after a pause.
    pauses: u64,
}

/// Outcome of an approval request for a call.
#[derive(Debug)]
pub(crate) enum CallApprovalOutcome {
    /// The call may run once.
    Allowed(OneTimeApproval),
    /// The call must not run; with the user's reason.
    Denied(ApprovalId, Option<String>),
    /// The rules changed, or the approval was used by an identical call: the call must be judged again.
    Reevaluate,
    /// There was no answer in time.
    Lapsed(ApprovalId),
}

/// The time span in which a call may wait for the user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitBudget {
    /// When the call came in.
    pub(crate) since: Instant,
    /// Client time-out estimate: this long after `since`, the client is told to call again.
    pub(crate) hold: Duration,
}

impl WaitBudget {
    /// When the client is told to call again.
    pub(crate) fn deadline(self) -> Instant {
        self.since + self.hold
    }

    fn remaining(self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }
}

/// Most bytes of arguments of pending calls: per client, and in total. A call may have 16 MiB, and a client
/// may have 64 pending calls.
const CLIENT_BYTES: usize = 32 * 1024 * 1024;
const ALL_BYTES: usize = 128 * 1024 * 1024;

/// Most bytes of approval requests that one reply contains with their details. A larger request is returned
/// with details only if it is the first with details in its reply, so that every request can be fetched.
const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// Assumed overhead of one argument in memory and in a reply, in bytes, besides its name and text: many small
/// arguments take memory too.
const HOLDER_BYTES: usize = 64;

/// Most bytes of all pending requests of servers (not about calls). A server may send 64 of 1 MiB each.
const PLAIN_BYTES: usize = 16 * 1024 * 1024;

/// The queue has no room for another request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueueFull {
    /// This client has the maximum number (given here) of pending requests.
    Count(usize),
    /// The pending requests are too large.
    Bytes,
}

/// Bytes of the arguments as shown.
pub(crate) fn shown_bytes(arguments: &[ShownArgument]) -> usize {
    arguments.iter().map(|argument| argument.name.len() + argument.text.len()).sum()
}

/// Bytes of an approval request for a call: its arguments with their overhead, its choices and conditions, and
/// the announced part.
fn call_size(announced: &CallApprovalRequest, details: &CallDetails) -> usize {
    let CallDetails { arguments, choices, denials, conditions } = details;
    let rest = serde_json::to_vec(&(announced, choices, denials, conditions));
    // A request that can't be serialized counts as too large.
    let rest = rest.map_or(usize::MAX, |text| text.len());
    let holders = arguments.len().saturating_mul(HOLDER_BYTES);
    rest.saturating_add(shown_bytes(arguments)).saturating_add(holders)
}

/// Bytes of a request that isn't about a call.
fn request_size(ask: &ApprovalRequest) -> usize {
    match ask {
        ApprovalRequest::Elicitation(asked) => {
            asked.message.len()
                + match &asked.want {
                    ElicitationMode::Form { schema } => schema.len(),
                    ElicitationMode::Url { url, .. } => url.len(),
                }
        }
        ApprovalRequest::Sampling(asked) => asked.request.len(),
        ApprovalRequest::Call(_)
        | ApprovalRequest::Client(_)
        | ApprovalRequest::ConfigChange(_)
        | ApprovalRequest::StepUp(_) => 0,
    }
}

/// The queue of pending requests. Cheap to clone.
#[derive(Clone)]
pub struct ApprovalQueue {
    pub(crate) inner: Arc<ApprovalQueueShared>,
}

impl fmt::Debug for ApprovalQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalQueue")
            .field("pending", &self.inner.approvals.lock().len())
            .finish_non_exhaustive()
    }
}

pub(crate) struct ApprovalQueueShared {
    approvals: Mutex<ApprovalTable>,
    wake: Notify,
    events: Arc<dyn EventSink>,
    permissions: PermissionStore,
    ids: IdGenerator,
    approval_limits: ApprovalLimits,
    schemas: Arc<SchemaChecker>,
    paths: Arc<PathLookup>,
    /// Runs that the user approved: in progress, or ended with a result that the client may not have received.
    pub(crate) runs: Arc<SharedRuns>,
    closing: CancellationToken,
    tracker: TaskTracker,
}

/// Dependencies of the queue, besides the permissions.
pub(crate) struct ApprovalQueueDeps {
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) approval_limits: ApprovalLimits,
    /// Checks form input against the server's schema.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Looks up the paths that conditions depend on.
    pub(crate) paths: Arc<PathLookup>,
    /// Memory budget for kept results.
    pub(crate) kept_bytes: Arc<ByteBudget>,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
    /// Tracks the tasks of the queue.
    pub(crate) tracker: TaskTracker,
}

impl ApprovalQueue {
    pub(crate) fn start(permissions: &PermissionStore, parts: ApprovalQueueDeps) -> Self {
        let ApprovalQueueDeps { events, approval_limits, schemas, paths, kept_bytes, closing, tracker } =
            parts;
        let queue = Arc::new(ApprovalQueueShared {
            approvals: Mutex::new(ApprovalTable::default()),
            wake: Notify::new(),
            events,
            permissions: permissions.clone(),
            ids: IdGenerator::new(),
            runs: SharedRuns::new(approval_limits.late_answer_ttl, kept_bytes),
            approval_limits,
            schemas,
            paths,
            closing,
            tracker: tracker.clone(),
        });
        tracker.spawn(queue.clone().run_expiry());
        Self { inner: queue }
    }

    /// The pending requests, oldest first. Those that fit into one reply have their details (arguments,
    /// choices, conditions).
    #[must_use]
    pub fn pending(&self) -> Vec<PendingApproval> {
        self.pending_omitting(&[])
    }

    /// As [`Self::pending`], but the requests in `known` come without details. At least one of the others has
    /// its details, so that a caller gets all by asking again with the ones it knows.
    #[must_use]
    pub fn pending_omitting(&self, known: &[ApprovalId]) -> Vec<PendingApproval> {
        self.inner.approvals.lock().pending(known)
    }

    /// Number of pending requests.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.inner.approvals.lock().len()
    }

    /// One argument of a call that waits for approval, unmasked. `place` is its index among the arguments as
    /// shown. Only for the caller that asked.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if the request has ended or shows another call now;
    /// [`ErrorCode::BadRequest`] if it isn't about a call or has no such argument.
    pub fn reveal(
        &self,
        id: &ApprovalId,
        hash: &CallHash,
        place: usize,
    ) -> Result<RevealedArgument, UserError> {
        let pending_call = {
            let mut approvals = self.inner.approvals.lock();
            let queued = approvals.get(id).ok_or_else(answers::stale_answer)?;
            let source = queued.pending_call();
            source.cloned().ok_or_else(|| answers::bad_request("This question is about no call."))?
        };
        if pending_call.approval_hash != *hash {
            return Err(answers::stale_answer());
        }
        let text = pending_call.render_unmasked(place);
        let text = text.ok_or_else(|| answers::bad_request("This call has no such argument."))?;
        Ok(RevealedArgument { text })
    }

    /// Answers requests: one, or a group that was shown together. Either all answers take effect or none.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if a request has ended or shows another call now. Other codes if an answer
    /// is invalid, wasn't offered, or can't be written to the audit. On error nothing has changed, except if a
    /// request of a group ended while the answers were written.
    pub async fn answer(&self, answers: Vec<SubmittedAnswer>, by: &'static str) -> Result<(), UserError> {
        let queue = self.inner.clone();
        // Spawned, so that the answer is completed even if the caller goes away.
        let done = self.inner.tracker.spawn(async move { queue.answer(answers, by).await }).await;
        done.unwrap_or_else(|_| Err(UserError::new(ErrorCode::Internal, "The answer could not be taken.")))
    }
}

impl AskUser for ApprovalQueue {
    fn ask(&self, ask: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            // Calls are judged first (see `door`); they don't come in here.
            if matches!(ask, ApprovalRequest::Call(_)) {
                return ApprovalAnswer::Cancel;
            }
            let Ok((guard, answer)) = self.inner.enqueue_request(ask) else { return ApprovalAnswer::Cancel };
            let answer = answer.await.unwrap_or(ApprovalAnswer::Cancel);
            drop(guard);
            answer
        })
    }
}

/// One call that waits for an approval request. Dropping this stops waiting; the approval request stays
/// pending.
pub(crate) struct CallWaiter {
    queue: Arc<ApprovalQueueShared>,
    ask: ApprovalId,
    no: u64,
    pending_call: Arc<PendingCall>,
    settled: oneshot::Receiver<CallApprovalOutcome>,
}

impl CallWaiter {
    pub(crate) fn ask(&self) -> &ApprovalId {
        &self.ask
    }

    /// Waits for the outcome of the request.
    pub(crate) async fn wait_for_outcome(&mut self) -> CallApprovalOutcome {
        match (&mut self.settled).await {
            Ok(settled) => settled,
            Err(_) => CallApprovalOutcome::Lapsed(self.ask.clone()),
        }
    }
}

impl Drop for CallWaiter {
    fn drop(&mut self) {
        // If an approval arrives at the same moment, it is kept as a late approval.
        if let Ok(CallApprovalOutcome::Allowed(yes)) = self.settled.try_recv() {
            self.queue.return_approval(&self.pending_call, yes);
        }
        self.queue.remove_waiter(&self.ask, self.no);
    }
}

/// A pending request that isn't about a call. Dropping this withdraws the request.
pub(crate) struct RequestGuard {
    queue: Arc<ApprovalQueueShared>,
    ask: ApprovalId,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let gone = self.queue.approvals.lock().remove(&self.ask);
        if gone.is_some() {
            self.queue.events.emit(Event::ApprovalExpired { ask: self.ask.clone() });
        }
    }
}

impl ApprovalQueueShared {
    /// When the first of the identical calls that wait came in.
    pub(crate) fn first_waiter_since(&self, approval_hash: &CallHash) -> Option<Instant> {
        match &self.approvals.lock().by_hash(approval_hash)?.source {
            ApprovalSource::Call { waiters, .. } => waiters.first().map(|first| first.since),
            ApprovalSource::Request(_) => None,
        }
    }

    /// Joins the pending request for the same call of the same program, if there is one (PERM-11). What the
    /// request shows isn't changed.
    pub(crate) fn attach(
        self: &Arc<Self>,
        pending_call: &Arc<PendingCall>,
        span: WaitBudget,
    ) -> Result<Option<CallWaiter>, QueueFull> {
        let mut approvals = self.approvals.lock();
        let Some((call_waiter, pending)) = self.join(&mut approvals, pending_call, span)? else {
            return Ok(None);
        };
        drop(approvals);
        self.joined(pending);
        Ok(Some(call_waiter))
    }

    /// As `attach`, with the lock held. The caller must call [`ApprovalQueueShared::joined`] after unlocking.
    fn join(
        self: &Arc<Self>,
        approvals: &mut ApprovalTable,
        pending_call: &Arc<PendingCall>,
        span: WaitBudget,
    ) -> Result<Option<(CallWaiter, Option<PendingApproval>)>, QueueFull> {
        let no = approvals.next();
        let (own, all) = approvals.bytes(&pending_call.caller.client.id);
        let Some(queued) = approvals.by_hash(&pending_call.approval_hash) else { return Ok(None) };
        let ApprovalSource::Call { waiters, .. } = &mut queued.source else { return Ok(None) };
        // Every waiting call holds its own arguments; those of the first are counted by the request itself.
        let more = if waiters.is_empty() { 0 } else { queued.size };
        if own + more > CLIENT_BYTES || all + more > ALL_BYTES {
            return Err(QueueFull::Bytes);
        }
        let (to, settled) = oneshot::channel();
        let now = self.permissions.time();
        waiters.push(WaitingCall { no, to, since: span.since, until: now.plus(span.remaining()) });
        if waiters.len() == 1 {
            queued.deadline = Instant::now() + self.approval_limits.answer_deadline;
            queued.expires_at = now.plus(self.approval_limits.answer_deadline);
        }
        let ask = queued.id.clone();
        let call_waiter = CallWaiter {
            queue: self.clone(),
            ask: ask.clone(),
            no,
            pending_call: pending_call.clone(),
            settled,
        };
        Ok(Some((call_waiter, approvals.announce(&ask, now))))
    }

    /// Announces that a call joined a request. Must be called without the lock.
    fn joined(&self, pending: Option<PendingApproval>) {
        self.wake.notify_one();
        self.emit_change(pending);
    }

    /// Makes an approval request for a call, or joins the pending one for the same call.
    pub(crate) fn enqueue(
        self: &Arc<Self>,
        pending_call: &Arc<PendingCall>,
        mut call: CallApprovalRequest,
        span: WaitBudget,
    ) -> Result<CallWaiter, QueueFull> {
        let details = call.take_details().unwrap_or_default();
        let size = call_size(&call, &details);
        // One lock for both steps, so that two identical calls at once don't make two requests.
        let mut approvals = self.approvals.lock();
        if let Some((call_waiter, pending)) = self.join(&mut approvals, pending_call, span)? {
            drop(approvals);
            self.joined(pending);
            return Ok(call_waiter);
        }
        let limit = self.approval_limits.max_pending_per_client;
        if approvals.count_of_client(&pending_call.caller.client.id) >= limit {
            return Err(QueueFull::Count(limit));
        }
        let (own, all) = approvals.bytes(&pending_call.caller.client.id);
        if own.saturating_add(size) > CLIENT_BYTES || all.saturating_add(size) > ALL_BYTES {
            return Err(QueueFull::Bytes);
        }
        let now = self.permissions.time();
        let until = now.plus(span.remaining());
        let (to, settled) = oneshot::channel();
        let no = approvals.next();
        let queued = QueuedApproval {
            id: ApprovalId::from_random(self.ids.next()),
            asked_at: now,
            expires_at: now.plus(self.approval_limits.answer_deadline),
            deadline: Instant::now() + self.approval_limits.answer_deadline,
            ask: ApprovalRequest::Call(call),
            details: Some(details),
            size,
            source: ApprovalSource::Call {
                pending_call: pending_call.clone(),
                waiters: vec![WaitingCall { no, to, since: span.since, until }],
            },
            wait_state: WaitState { waiting: true, until: Some(until) },
            announce_at: None,
            permissions_verified: self.permissions.now().verified,
            pauses: approvals.pauses,
            is_answering: false,
        };
        let call_waiter = CallWaiter {
            queue: self.clone(),
            ask: queued.id.clone(),
            no,
            pending_call: pending_call.clone(),
            settled,
        };
        let pending = queued.without_arguments();
        approvals.insert(queued);
        drop(approvals);
        self.wake.notify_one();
        self.events.emit(Event::ApprovalRequested { pending });
        Ok(call_waiter)
    }

    /// Makes a request that isn't about a call.
    fn enqueue_request(
        self: &Arc<Self>,
        ask: ApprovalRequest,
    ) -> Result<(RequestGuard, oneshot::Receiver<ApprovalAnswer>), QueueFull> {
        let mut approvals = self.approvals.lock();
        let limit = self.approval_limits.max_pending_per_client;
        if approvals.request_count() >= limit || self.closing.is_cancelled() {
            return Err(QueueFull::Count(limit));
        }
        let size = request_size(&ask);
        if approvals.request_bytes() + size > PLAIN_BYTES {
            return Err(QueueFull::Bytes);
        }
        let now = self.permissions.time();
        let (to, answer) = oneshot::channel();
        let queued = QueuedApproval {
            id: ApprovalId::from_random(self.ids.next()),
            asked_at: now,
            expires_at: now.plus(self.approval_limits.answer_deadline),
            deadline: Instant::now() + self.approval_limits.answer_deadline,
            ask,
            details: None,
            size,
            source: ApprovalSource::Request(Some(to)),
            wait_state: WaitState { waiting: true, until: None },
            announce_at: None,
            permissions_verified: false,
            pauses: approvals.pauses,
            is_answering: false,
        };
        let guard = RequestGuard { queue: self.clone(), ask: queued.id.clone() };
        let pending = queued.without_arguments();
        approvals.insert(queued);
        drop(approvals);
        self.wake.notify_one();
        self.events.emit(Event::ApprovalRequested { pending });
        Ok((guard, answer))
    }

    /// Removes a waiting call. When the last one leaves, the request stays pending for the next identical call.
    fn remove_waiter(&self, ask: &ApprovalId, no: u64) {
        let mut approvals = self.approvals.lock();
        let Some(queued) = approvals.get(ask) else { return };
        let ApprovalSource::Call { waiters, .. } = &mut queued.source else { return };
        let before = waiters.len();
        waiters.retain(|waiter| waiter.no != no);
        if waiters.len() == before || !waiters.is_empty() {
            return;
        }
        queued.deadline = self.late_answer_expiry();
        let now = self.permissions.time();
        queued.expires_at = now.plus(self.approval_limits.late_answer_ttl);
        let pending = approvals.announce(ask, now);
        drop(approvals);
        self.wake.notify_one();
        self.emit_change(pending);
    }

    fn emit_change(&self, pending: Option<PendingApproval>) {
        if let Some(pending) = pending {
            self.events.emit(Event::ApprovalChanged { pending });
        }
    }

    fn late_answer_expiry(&self) -> Instant {
        Instant::now() + self.approval_limits.late_answer_ttl
    }

    /// Turns an approval into a late approval (ticket) because its call didn't run: its client had left.
    pub(crate) fn return_approval(&self, pending_call: &PendingCall, yes: OneTimeApproval) {
        let OneTimeApproval { ask, run, pauses } = yes;
        self.store_late_answer(pending_call, LateAnswer::new(ask, LateDecision::Allowed, pauses));
        // Calls that share the run are judged again; the first of them uses the ticket.
        drop(run);
    }

    /// Keeps an answer that no call waited for, unless there was a pause since the request was made or the
    /// source of the call is unknown.
    fn store_late_answer(&self, pending_call: &PendingCall, late: LateAnswer) {
        let mut approvals = self.approvals.lock();
        if late.pauses == approvals.pauses && pending_call.key.identifies_caller() {
            let kept = StoredLateAnswer {
                late,
                client: pending_call.caller.client.id.clone(),
                until: self.late_answer_expiry(),
            };
            approvals.late.insert(pending_call.key.clone(), kept);
        }
        drop(approvals);
        self.wake.notify_one();
    }

    /// Looks up a late approval of this exact call, without using it up.
    pub(crate) fn ticket(&self, key: &CallKey) -> Option<ApprovalId> {
        let approvals = self.approvals.lock();
        let kept = approvals.late.get(key)?;
        (kept.late.word == LateDecision::Allowed && kept.until > Instant::now())
            .then(|| kept.late.ask.clone())
    }

    /// Uses up the late approval; `None` if another call used it first.
    pub(crate) fn use_ticket(&self, pending_call: &PendingCall, ask: &ApprovalId) -> Option<OneTimeApproval> {
        let mut approvals = self.approvals.lock();
        let kept = approvals.late.get(&pending_call.key)?;
        if kept.late.word != LateDecision::Allowed || kept.late.ask != *ask || kept.until <= Instant::now() {
            return None;
        }
        let LateAnswer { ask, pauses, .. } = approvals.late.remove(&pending_call.key)?.late;
        Some(OneTimeApproval { ask, pauses, run: self.runs.begin(pending_call) })
    }

    /// Uses up a late denial of this exact call, if there is one.
    pub(crate) fn use_refusal(&self, key: &CallKey) -> Option<(ApprovalId, Option<String>)> {
        let mut approvals = self.approvals.lock();
        let kept = approvals.late.get(key)?;
        if kept.late.word == LateDecision::Allowed || kept.until <= Instant::now() {
            return None;
        }
        match approvals.late.remove(key)?.late {
            LateAnswer { ask, word: LateDecision::Refused(reason), .. } => Some((ask, reason)),
            LateAnswer { word: LateDecision::Allowed, .. } => None,
        }
    }
}
