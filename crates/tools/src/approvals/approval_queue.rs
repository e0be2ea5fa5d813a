//! The approval queue: approval requests that wait for the user, and their answers (PERM-9 to PERM-11).
//! Requests of servers that need an answer (elicitation, sampling) wait here too.
//!
//! Every request has a deadline; without an answer it counts as denied. An answer counts only for the request
//! that was shown, identified by id and hash. No answer takes effect before it is written to the audit.

use std::fmt;
use std::sync::Arc;

use gatehouse_model::approval::{RevealedArgument, SamplingRequest};
use gatehouse_model::{
    ApprovalAnswer, ApprovalId, ApprovalRequest, AskUser, BoxFuture, CallApprovalRequest, CallHash,
    ErrorCode, Event, EventSink, PendingApproval, SubmittedAnswer, UserError, message,
};
use gatehouse_servers::SchemaChecker;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::approval_table::{
    ApprovalSource, ApprovalTable, ApprovalWaiter, LateAnswer, LateDecision, QueuedApproval,
    StoredLateAnswer, WaitState,
};
use super::errors::{bad_request, stale_answer};
use super::limits::{
    ALL_BYTES, ApprovalLimits, CLIENT_BYTES, QueueFull, SERVER_REQUEST_BYTES, call_size, request_size,
};
use super::outcome::{CallApprovalOutcome, OneTimeApproval, WaitBudget};
use crate::call_types::call_key::CallKey;
use crate::ids::IdGenerator;
use crate::paths::path_lookup::PathLookup;
use crate::pending_call::PendingCall;
use crate::permissions::PermissionStore;
use crate::shared_runs::SharedRuns;

/// The queue of pending requests. Cheap to clone.
#[derive(Clone)]
pub struct ApprovalQueue {
    pub(super) state: Arc<ApprovalQueueState>,
}

impl fmt::Debug for ApprovalQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalQueue")
            .field("pending", &self.state.approvals.lock().len())
            .finish_non_exhaustive()
    }
}

pub(super) struct ApprovalQueueState {
    pub(super) approvals: Mutex<ApprovalTable>,
    /// Notified when the next deadline may have changed.
    pub(super) wake: Notify,
    pub(super) events: Arc<dyn EventSink>,
    pub(super) permissions: PermissionStore,
    pub(super) ids: IdGenerator,
    pub(super) limits: ApprovalLimits,
    pub(super) schemas: Arc<SchemaChecker>,
    pub(super) paths: Arc<PathLookup>,
    pub(super) runs: Arc<SharedRuns>,
    pub(super) closing: CancellationToken,
    pub(super) tracker: TaskTracker,
}

/// Dependencies of the queue.
pub(crate) struct ApprovalQueueDeps {
    pub(crate) permissions: PermissionStore,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) limits: ApprovalLimits,
    /// Checks form input against the server's schema.
    pub(crate) schemas: Arc<SchemaChecker>,
    /// Looks up the paths that conditions depend on.
    pub(crate) paths: Arc<PathLookup>,
    /// The runs that the user's approvals begin.
    pub(crate) runs: Arc<SharedRuns>,
    /// Cancelled by a shutdown.
    pub(crate) closing: CancellationToken,
    /// Tracks the tasks of the queue.
    pub(crate) tracker: TaskTracker,
}

impl ApprovalQueue {
    pub(crate) fn start(deps: ApprovalQueueDeps) -> Self {
        let ApprovalQueueDeps { permissions, events, limits, schemas, paths, runs, closing, tracker } = deps;
        let state = ApprovalQueueState {
            approvals: Mutex::new(ApprovalTable::default()),
            wake: Notify::new(),
            events,
            permissions,
            ids: IdGenerator::new(),
            limits,
            schemas,
            paths,
            runs,
            closing,
            tracker: tracker.clone(),
        };
        let queue = Self { state: Arc::new(state) };
        tracker.spawn(queue.clone().run_expiry());
        queue
    }

    /// The pending requests, oldest first. Those that fit into one reply have their details (arguments,
    /// choices, conditions).
    pub fn pending(&self) -> Vec<PendingApproval> {
        self.pending_omitting(&[])
    }

    /// As [`Self::pending`], but the requests in `known` come without details. At least one of the others has
    /// its details, so that a caller gets all by asking again with the ones it knows.
    pub fn pending_omitting(&self, known: &[ApprovalId]) -> Vec<PendingApproval> {
        self.state.approvals.lock().pending(known)
    }

    /// Number of pending requests.
    pub fn pending_count(&self) -> usize {
        self.state.approvals.lock().len()
    }

    /// One argument of a call that waits for approval, unmasked. `index` is its place among the arguments as
    /// shown. Only for the caller that asked.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if the request has ended or shows another call now;
    /// [`ErrorCode::BadRequest`] if it isn't about a call or has no such argument.
    pub fn reveal(
        &self,
        id: &ApprovalId,
        hash: &CallHash,
        index: usize,
    ) -> Result<RevealedArgument, UserError> {
        let pending_call = {
            let mut approvals = self.state.approvals.lock();
            let queued = approvals.get(id).ok_or_else(stale_answer)?;
            let source = queued.pending_call();
            source.cloned().ok_or_else(|| bad_request(message!("error.tools.notAboutCall")))?
        };
        if pending_call.approval_hash != *hash {
            return Err(stale_answer());
        }
        let text = pending_call.render_unmasked(index);
        let text = text.ok_or_else(|| bad_request(message!("error.tools.noArgument")))?;
        Ok(RevealedArgument { text })
    }

    /// Answers requests: one, or a group that was shown together. Either all answers take effect or none.
    ///
    /// # Errors
    /// [`ErrorCode::StaleAnswer`] if a request has ended or shows another call now. Other codes if an answer
    /// is invalid, wasn't offered, or can't be written to the audit. On error nothing has changed, except if a
    /// request of a group ended while the answers were written.
    pub async fn answer(&self, answers: Vec<SubmittedAnswer>, by: &'static str) -> Result<(), UserError> {
        let queue = self.clone();
        // Spawned, so that the answer is completed even if the caller goes away.
        let done = self.state.tracker.spawn(async move { queue.apply_answers(answers, by).await }).await;
        done.unwrap_or_else(|_| {
            Err(UserError::new(ErrorCode::Internal, message!("error.tools.answerFailed")))
        })
    }
}

impl AskUser for ApprovalQueue {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            // Only the call pipeline makes requests for calls.
            if matches!(request, ApprovalRequest::Call(_)) {
                return ApprovalAnswer::Cancel;
            }
            self.ask_for(request, None).await
        })
    }
}

/// One call that waits for an approval request. Dropping this stops waiting; the approval request stays
/// pending.
pub(crate) struct CallWaiter {
    queue: ApprovalQueue,
    id: ApprovalId,
    no: u64,
    pending_call: Arc<PendingCall>,
    outcome: oneshot::Receiver<CallApprovalOutcome>,
}

impl CallWaiter {
    pub(crate) fn id(&self) -> &ApprovalId {
        &self.id
    }

    /// Waits for the outcome of the request.
    pub(crate) async fn wait_for_outcome(&mut self) -> CallApprovalOutcome {
        match (&mut self.outcome).await {
            Ok(outcome) => outcome,
            Err(_) => CallApprovalOutcome::Lapsed { id: self.id.clone() },
        }
    }
}

impl Drop for CallWaiter {
    fn drop(&mut self) {
        // If an approval arrives at the same moment, it is kept as a late approval.
        if let Ok(CallApprovalOutcome::Allowed(approval)) = self.outcome.try_recv() {
            self.queue.return_approval(&self.pending_call, approval);
        }
        self.queue.remove_waiter(&self.id, self.no);
    }
}

/// A pending request that isn't about a call. Dropping this withdraws the request.
pub(crate) struct RequestGuard {
    queue: ApprovalQueue,
    id: ApprovalId,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        // Not in the audit log: a server could fill it with requests that it withdraws.
        let withdrawn = self.queue.state.approvals.lock().remove(&self.id);
        if withdrawn.is_some() {
            self.queue.state.events.emit(Event::ApprovalWithdrawn { approval: self.id.clone() });
        }
    }
}

impl ApprovalQueue {
    /// When the first of the identical calls that wait came in.
    pub(crate) fn first_waiter_since(&self, approval_hash: &CallHash) -> Option<Instant> {
        match &self.state.approvals.lock().by_hash(approval_hash)?.source {
            ApprovalSource::Call { waiters, .. } => waiters.first().map(|first| first.since),
            ApprovalSource::Request(_) => None,
        }
    }

    /// Joins the pending request for the same call of the same program, if there is one (PERM-11). What the
    /// request shows isn't changed.
    pub(crate) fn attach(
        &self,
        pending_call: &Arc<PendingCall>,
        wait_budget: WaitBudget,
    ) -> Result<Option<CallWaiter>, QueueFull> {
        let mut approvals = self.state.approvals.lock();
        let Some((call_waiter, pending)) = self.join(&mut approvals, pending_call, wait_budget)? else {
            return Ok(None);
        };
        drop(approvals);
        self.joined(pending);
        Ok(Some(call_waiter))
    }

    /// As `attach`, with the lock held. The caller must call [`ApprovalQueue::joined`] after unlocking.
    fn join(
        &self,
        approvals: &mut ApprovalTable,
        pending_call: &Arc<PendingCall>,
        wait_budget: WaitBudget,
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
        let (to, outcome) = oneshot::channel();
        let now = self.state.permissions.time();
        waiters.push(ApprovalWaiter {
            no,
            to,
            since: wait_budget.since,
            until: now.plus(wait_budget.remaining()),
        });
        if waiters.len() == 1 {
            queued.deadline = Instant::now() + self.state.limits.answer_deadline;
            queued.expires_at = now.plus(self.state.limits.answer_deadline);
        }
        let id = queued.id.clone();
        let call_waiter = CallWaiter {
            queue: self.clone(),
            id: id.clone(),
            no,
            pending_call: pending_call.clone(),
            outcome,
        };
        Ok(Some((call_waiter, approvals.announce(&id, now))))
    }

    /// Announces that a call joined a request. Must be called without the lock.
    fn joined(&self, pending: Option<PendingApproval>) {
        self.state.wake.notify_one();
        self.emit_change(pending);
    }

    /// Makes an approval request for a call, or joins the pending one for the same call.
    pub(crate) fn enqueue(
        &self,
        pending_call: &Arc<PendingCall>,
        mut call: CallApprovalRequest,
        wait_budget: WaitBudget,
    ) -> Result<CallWaiter, QueueFull> {
        let details = call.take_details().unwrap_or_default();
        let size = call_size(&call, &details);
        // One lock for both steps, so that two identical calls at once don't make two requests.
        let mut approvals = self.state.approvals.lock();
        if let Some((call_waiter, pending)) = self.join(&mut approvals, pending_call, wait_budget)? {
            drop(approvals);
            self.joined(pending);
            return Ok(call_waiter);
        }
        let limit = self.state.limits.max_pending_per_client;
        if approvals.count_of_client(&pending_call.caller.client.id) >= limit {
            return Err(QueueFull::Count(limit));
        }
        let (own, all) = approvals.bytes(&pending_call.caller.client.id);
        if own.saturating_add(size) > CLIENT_BYTES || all.saturating_add(size) > ALL_BYTES {
            return Err(QueueFull::Bytes);
        }
        let now = self.state.permissions.time();
        let until = now.plus(wait_budget.remaining());
        let (to, outcome) = oneshot::channel();
        let no = approvals.next();
        let queued = QueuedApproval {
            id: ApprovalId::from_random(self.state.ids.next()),
            requested_at: now,
            expires_at: now.plus(self.state.limits.answer_deadline),
            deadline: Instant::now() + self.state.limits.answer_deadline,
            request: ApprovalRequest::Call(call),
            details: Some(details),
            size,
            source: ApprovalSource::Call {
                pending_call: pending_call.clone(),
                waiters: vec![ApprovalWaiter { no, to, since: wait_budget.since, until }],
            },
            sampling_params: None,
            wait_state: WaitState { waiting: true, until: Some(until) },
            announce_at: None,
            permissions_verified: self.state.permissions.now().verified,
            pauses: approvals.pauses,
            is_answering: false,
        };
        let call_waiter = CallWaiter {
            queue: self.clone(),
            id: queued.id.clone(),
            no,
            pending_call: pending_call.clone(),
            outcome,
        };
        let pending = queued.without_arguments();
        approvals.insert(queued);
        drop(approvals);
        self.state.wake.notify_one();
        self.state.events.emit(Event::ApprovalRequested { pending });
        Ok(call_waiter)
    }

    /// Puts a server's sampling request to the user. Its params are kept as they came, for a model that the user lets
    /// answer it.
    pub(crate) async fn ask_for_sampling(
        &self,
        request: SamplingRequest,
        params: Box<RawValue>,
    ) -> ApprovalAnswer {
        self.ask_for(ApprovalRequest::Sampling(request), Some(params.into())).await
    }

    async fn ask_for(
        &self,
        request: ApprovalRequest,
        sampling_params: Option<Arc<RawValue>>,
    ) -> ApprovalAnswer {
        let Ok((guard, answer)) = self.enqueue_request(request, sampling_params) else {
            return ApprovalAnswer::Cancel;
        };
        let answer = answer.await.unwrap_or(ApprovalAnswer::Cancel);
        drop(guard);
        answer
    }

    /// Makes a request that isn't about a call.
    fn enqueue_request(
        &self,
        request: ApprovalRequest,
        sampling_params: Option<Arc<RawValue>>,
    ) -> Result<(RequestGuard, oneshot::Receiver<ApprovalAnswer>), QueueFull> {
        let mut approvals = self.state.approvals.lock();
        let limit = self.state.limits.max_pending_per_client;
        if approvals.request_count() >= limit || self.state.closing.is_cancelled() {
            return Err(QueueFull::Count(limit));
        }
        let size = request_size(&request) + sampling_params.as_ref().map_or(0, |params| params.get().len());
        if approvals.request_bytes() + size > SERVER_REQUEST_BYTES {
            return Err(QueueFull::Bytes);
        }
        let now = self.state.permissions.time();
        let (to, answer) = oneshot::channel();
        let queued = QueuedApproval {
            id: ApprovalId::from_random(self.state.ids.next()),
            requested_at: now,
            expires_at: now.plus(self.state.limits.answer_deadline),
            deadline: Instant::now() + self.state.limits.answer_deadline,
            request,
            details: None,
            size,
            source: ApprovalSource::Request(Some(to)),
            sampling_params,
            wait_state: WaitState { waiting: true, until: None },
            announce_at: None,
            permissions_verified: false,
            pauses: approvals.pauses,
            is_answering: false,
        };
        let guard = RequestGuard { queue: self.clone(), id: queued.id.clone() };
        let pending = queued.without_arguments();
        approvals.insert(queued);
        drop(approvals);
        self.state.wake.notify_one();
        self.state.events.emit(Event::ApprovalRequested { pending });
        Ok((guard, answer))
    }

    /// Removes a waiting call. When the last one leaves, the request stays pending for the next identical call.
    fn remove_waiter(&self, id: &ApprovalId, no: u64) {
        let mut approvals = self.state.approvals.lock();
        let Some(queued) = approvals.get(id) else { return };
        let ApprovalSource::Call { waiters, .. } = &mut queued.source else { return };
        let before = waiters.len();
        waiters.retain(|waiter| waiter.no != no);
        if waiters.len() == before || !waiters.is_empty() {
            return;
        }
        queued.deadline = self.late_answer_expiry();
        let now = self.state.permissions.time();
        queued.expires_at = now.plus(self.state.limits.late_answer_ttl);
        let pending = approvals.announce(id, now);
        drop(approvals);
        self.state.wake.notify_one();
        self.emit_change(pending);
    }

    pub(super) fn emit_change(&self, pending: Option<PendingApproval>) {
        if let Some(pending) = pending {
            self.state.events.emit(Event::ApprovalChanged { pending });
        }
    }

    fn late_answer_expiry(&self) -> Instant {
        Instant::now() + self.state.limits.late_answer_ttl
    }

    /// Turns an approval into a late approval (ticket) because its call didn't run: its client had left.
    pub(crate) fn return_approval(&self, pending_call: &PendingCall, approval: OneTimeApproval) {
        let OneTimeApproval { id, run, pauses } = approval;
        self.store_late_answer(pending_call, LateAnswer { id, decision: LateDecision::Allowed, pauses });
        // Calls that share the run are judged again; the first of them uses the ticket.
        drop(run);
    }

    /// Keeps an answer that no call waited for, unless there was a pause since the request was made or the
    /// source of the call is unknown.
    pub(super) fn store_late_answer(&self, pending_call: &PendingCall, answer: LateAnswer) {
        let mut approvals = self.state.approvals.lock();
        if answer.pauses == approvals.pauses && pending_call.key.identifies_caller() {
            let stored = StoredLateAnswer {
                answer,
                client: pending_call.caller.client.id.clone(),
                until: self.late_answer_expiry(),
            };
            approvals.late.insert(pending_call.key.clone(), stored);
        }
        drop(approvals);
        self.state.wake.notify_one();
    }

    /// Looks up a late approval of this exact call, without using it up.
    pub(crate) fn ticket(&self, key: &CallKey) -> Option<ApprovalId> {
        let approvals = self.state.approvals.lock();
        let stored = approvals.late.get(key)?;
        (stored.answer.decision == LateDecision::Allowed && stored.until > Instant::now())
            .then(|| stored.answer.id.clone())
    }

    /// Uses up the late approval; `None` if another call used it first.
    pub(crate) fn use_ticket(&self, pending_call: &PendingCall, id: &ApprovalId) -> Option<OneTimeApproval> {
        let mut approvals = self.state.approvals.lock();
        let stored = approvals.late.get(&pending_call.key)?;
        if stored.answer.decision != LateDecision::Allowed
            || stored.answer.id != *id
            || stored.until <= Instant::now()
        {
            return None;
        }
        let LateAnswer { id, pauses, .. } = approvals.late.remove(&pending_call.key)?.answer;
        Some(OneTimeApproval { id, pauses, run: self.state.runs.begin(pending_call) })
    }

    /// Uses up a late denial of this exact call, if there is one.
    pub(crate) fn use_refusal(&self, key: &CallKey) -> Option<(ApprovalId, Option<String>)> {
        let mut approvals = self.state.approvals.lock();
        let stored = approvals.late.get(key)?;
        if stored.answer.decision == LateDecision::Allowed || stored.until <= Instant::now() {
            return None;
        }
        match approvals.late.remove(key)?.answer {
            LateAnswer { id, decision: LateDecision::Refused(reason), .. } => Some((id, reason)),
            LateAnswer { decision: LateDecision::Allowed, .. } => None,
        }
    }
}
