//! Approval flow of one call: makes an approval request and waits for its outcome (PERM-9, PERM-11).

use std::time::Duration;

use gatehouse_model::record::CallOutcome;
use gatehouse_model::{Decision, Rule, Verdict};
use tokio::time::{Instant, interval_at, sleep_until};

use super::call_state::{CallApproval, CallState};
use super::client_request::ClientRequest;
use super::client_timeout::WaitObservation;
use super::input_required::{CarriedApproval, RoundStep};
use super::pipeline_state::CallPipeline;
use super::refusal_messages::{self, SubjectWording};
use crate::approvals::{CallApprovalOutcome, CallWaiter, UndecidedCall, WaitBudget};
use crate::call_types::response::FinishedCall;
use crate::pending_call::PendingCall;
use crate::shared_runs::RunSubscription;

/// How long Gatehouse itself waits for the user. Approval requests expire before.
const LONGEST_PATIENCE: Duration = Duration::from_secs(3600);

/// Outcome for a call that no rule decided.
pub(crate) enum ApprovalStep {
    Approved(CallApproval),
    /// An identical call runs. This one is judged again and then shares that run.
    Shared(RunSubscription),
    /// The rules have changed.
    Reevaluate,
    /// The call doesn't run.
    Finished(FinishedCall),
}

/// How waiting for the user ended.
enum WaitEnd {
    Answered(CallApprovalOutcome),
    /// The client time-out estimate was reached; the client is told to call again.
    RetryLater,
    /// The client cancelled the call.
    Cancelled,
    /// The client's connection closed; it may come back.
    Disconnected,
}

impl CallPipeline {
    /// Gets a decision for a call that no rule decided.
    pub(crate) async fn request_approval(
        &self,
        request: &ClientRequest,
        call_state: &mut CallState,
    ) -> ApprovalStep {
        let pending_call = call_state.resolved.pending_call.clone();
        let carried = match request.step {
            RoundStep::Input(_) => request.continued_round(&pending_call.round_key, &self.rounds).cloned(),
            RoundStep::Retry => self.rounds.take(&pending_call.round_key, &request.step),
        };
        if let Some(carried) = carried.filter(CarriedApproval::is_approval) {
            return ApprovalStep::Approved(CallApproval::from_earlier_round(&pending_call, carried));
        }
        let queue = &self.deps.approvals;
        if let Some((ask, reason)) = queue.use_refusal(&pending_call.key) {
            return ApprovalStep::Finished(refused(call_state, Rule::Answered { ask }, reason.as_deref()));
        }
        if call_state.verdict.rule == Rule::PermissionsUnverified && self.deps.permissions.recheck().await {
            return ApprovalStep::Reevaluate;
        }
        if request.is_client_gone() {
            return self
                .wait_until_client_returns(request, call_state)
                .await
                .map_or(ApprovalStep::Reevaluate, ApprovalStep::Finished);
        }
        let with_progress = request.progress.is_some();
        if let Some(first) = queue.first_waiter_since(&pending_call.approval_hash) {
            // Some clients give up without cancelling and call again.
            let gap = call_state.started.saturating_duration_since(first);
            self.record_wait(&pending_call, WaitObservation::CalledAgain(gap), with_progress);
        }
        let wait_budget = self.wait_budget(request, call_state);
        let enqueued = match queue.attach(&pending_call, wait_budget) {
            Ok(Some(call_waiter)) => Ok(call_waiter),
            Ok(None) => {
                let undecided = UndecidedCall {
                    pending_call: &pending_call,
                    rule: &call_state.verdict.rule,
                    last_shown: call_state.shown.as_ref(),
                    arguments: request.shown(),
                };
                let call = self.deps.request_builder.build(undecided).await;
                queue.enqueue(&pending_call, call, wait_budget)
            }
            Err(too_many) => Err(too_many),
        };
        let call_waiter = match enqueued {
            Ok(call_waiter) => call_waiter,
            Err(too_many) => {
                let text = refusal_messages::too_many(&too_many, request.words());
                return ApprovalStep::Finished(FinishedCall::with_text(&text, CallOutcome::Refused));
            }
        };
        call_state.shown = Some(pending_call.origin.clone());
        let wait_started = Instant::now();
        let id = call_waiter.id().clone();
        if let Some(observer) = &request.observer {
            observer.waits(&id);
        }
        let wait_end = self.wait(call_waiter, request, wait_budget).await;
        if let Some(observer) = &request.observer {
            observer.goes_on();
        }
        call_state.waited += wait_started.elapsed();
        match &wait_end {
            WaitEnd::Answered(_) | WaitEnd::RetryLater => {
                self.record_wait(
                    &pending_call,
                    WaitObservation::Waited(wait_budget.since.elapsed()),
                    with_progress,
                );
            }
            WaitEnd::Cancelled => self.record_wait(
                &pending_call,
                WaitObservation::gave_up(wait_budget.since.elapsed(), request.cancel_reason.get()),
                with_progress,
            ),
            // Whether the client gave up is known once it doesn't come back.
            WaitEnd::Disconnected => {}
        }
        match wait_end {
            WaitEnd::Answered(CallApprovalOutcome::Allowed(approval)) => {
                let rule = Rule::Answered { ask: approval.id.clone() };
                ApprovalStep::Approved(CallApproval::from_answer(&pending_call, rule, approval))
            }
            WaitEnd::Answered(CallApprovalOutcome::Shared(share)) => ApprovalStep::Shared(share),
            WaitEnd::Answered(CallApprovalOutcome::Reevaluate) => ApprovalStep::Reevaluate,
            WaitEnd::Answered(CallApprovalOutcome::Denied { id, reason }) => {
                ApprovalStep::Finished(refused(call_state, Rule::Answered { ask: id }, reason.as_deref()))
            }
            WaitEnd::Answered(CallApprovalOutcome::Lapsed { id }) => {
                ApprovalStep::Finished(refused(call_state, Rule::Unanswered { ask: id }, None))
            }
            WaitEnd::RetryLater => {
                tracing::debug!(approval = %id, "a client is told to call again");
                ApprovalStep::Finished(still_waiting(request))
            }
            WaitEnd::Cancelled => ApprovalStep::Finished(cancelled()),
            WaitEnd::Disconnected => self
                .wait_until_client_returns(request, call_state)
                .await
                .map_or(ApprovalStep::Reevaluate, ApprovalStep::Finished),
        }
    }

    /// How long this call may wait for the user.
    fn wait_budget(&self, request: &ClientRequest, call_state: &CallState) -> WaitBudget {
        let client_timeout = if request.caller.is_patient() {
            LONGEST_PATIENCE
        } else {
            self.deps.client_timeouts.of(&request.caller.client.id, request.progress.is_some())
        };
        let client_timeout = match &request.approval_wait {
            Some(terms) => terms.shorten(client_timeout),
            None => client_timeout,
        };
        WaitBudget { since: call_state.started, client_timeout }
    }

    /// Waits for a client whose connection closed. `None` when it is back: the call is judged again, with any
    /// answer given in the meantime. If it stays away, the call ends with "call again", in case the client
    /// resumes its stream later.
    pub(crate) async fn wait_until_client_returns(
        &self,
        request: &ClientRequest,
        call_state: &mut CallState,
    ) -> Option<FinishedCall> {
        let pending_call = call_state.resolved.pending_call.clone();
        let left = Instant::now();
        let gave_up_after = call_state.started.elapsed();
        let ended = tokio::select! {
            biased;
            () = request.cancel.cancelled() => Some(cancelled()),
            () = request.wait_for_client(true) => None,
            () = sleep_until(self.wait_budget(request, call_state).deadline()) => {
                Some(still_waiting(request))
            }
        };
        call_state.waited += left.elapsed();
        if ended.is_some() {
            let gave_up = WaitObservation::gave_up(gave_up_after, request.cancel_reason.get());
            self.record_wait(&pending_call, gave_up, request.progress.is_some());
        }
        ended
    }

    /// Updates the client time-out estimate from what a client did while its call was pending. Clients whose
    /// access was revoked are ignored: they didn't give up by themselves. So are calls that Gatehouse itself waits for.
    pub(super) fn record_wait(
        &self,
        pending_call: &PendingCall,
        observation: WaitObservation,
        with_progress: bool,
    ) {
        let caller = &pending_call.caller;
        if caller.is_patient() {
            return;
        }
        if !self.is_closing() && !self.revoked_clients.lock().contains(&caller.client.id) {
            self.deps.client_timeouts.record_wait(
                &caller.client.id,
                caller.session.as_ref(),
                observation,
                with_progress,
            );
        }
    }

    async fn wait(
        &self,
        mut call_waiter: CallWaiter,
        request: &ClientRequest,
        wait_budget: WaitBudget,
    ) -> WaitEnd {
        let every = self.deps.progress_interval;
        let mut progress_timer = interval_at(Instant::now() + every, every);
        let client_timeout = sleep_until(wait_budget.deadline());
        tokio::pin!(client_timeout);
        loop {
            tokio::select! {
                biased;
                outcome = call_waiter.wait_for_outcome() => return WaitEnd::Answered(outcome),
                () = request.cancel.cancelled() => return WaitEnd::Cancelled,
                () = request.wait_for_client(false) => return WaitEnd::Disconnected,
                () = &mut client_timeout => return WaitEnd::RetryLater,
                _ = progress_timer.tick() => {
                    if let Some(reporter) = &request.progress {
                        reporter.report_waiting();
                    }
                }
            }
        }
    }
}

/// The end of a call whose client is told to call again.
fn still_waiting(request: &ClientRequest) -> FinishedCall {
    if let Some(terms) = &request.approval_wait {
        terms.end();
    }
    FinishedCall::with_text(&refusal_messages::still_waiting(request.words()), CallOutcome::StillWaiting)
}

fn cancelled() -> FinishedCall {
    FinishedCall::with_text(
        "The call was cancelled before the user had answered; it did not run.",
        CallOutcome::Cancelled,
    )
}

fn refused(call_state: &mut CallState, rule: Rule, reason: Option<&str>) -> FinishedCall {
    call_state.verdict = Verdict { decision: Decision::Deny, rule };
    refusal_messages::refused(
        &call_state.verdict.rule,
        reason,
        SubjectWording::of(&call_state.resolved.pending_call.subject),
    )
}
