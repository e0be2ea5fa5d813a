//! The call pipeline: resolve, judge, get an approval if no rule decides, check again, dispatch, record. Every
//! exit that isn't an allow is a refusal.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::{CallOutcome, RunningCall};
use gatehouse_model::{CallId, CallRecord, Decision, Event, Rule, Timestamp, Verdict};
use gatehouse_policy::display::{one_line, reveal};
use gatehouse_servers::{RpcOutcome, UpstreamError, UpstreamErrorKind};
use tokio::time::Instant;

use super::approval_flow::ApprovalStep;
use super::call_recorder::{RecordContext, outcome_of_error, outcome_of_result};
use super::call_state::{CallApproval, CallState};
use super::client_request::ClientRequest;
use super::input_required::{RoundStep, URL_ELICITATION};
use super::pipeline_state::{CONSTANTLY_CHANGING, CallPipeline, MAX_EVALUATIONS};
use super::refusal_messages::{self, SubjectWording};
use super::upstream_call::SendOutcome;
use crate::call_types::ClientPresence;
use crate::call_types::response::{CallResponse, FinishedCall};
use crate::shared_runs::{EarlierResult, MIN_CLIENT_TIMEOUT, Receipt, SharedRun};

struct CallStart {
    id: CallId,
    at: Timestamp,
    /// The rule that allows it beforehand: set for the user's own calls.
    given_rule: Option<Rule>,
}

impl CallPipeline {
    /// Runs one request to its end.
    pub(crate) async fn run(self: &Arc<Self>, request: ClientRequest) -> CallResponse {
        self.run_with_rule(request, None).await
    }

    /// Runs a request of the user's own to its end: no approval is needed, but what the user has blocked stays
    /// blocked.
    pub(crate) async fn run_for_user(self: &Arc<Self>, request: ClientRequest) -> CallResponse {
        self.run_with_rule(request, Some(Rule::ByUser)).await
    }

    async fn run_with_rule(
        self: &Arc<Self>,
        request: ClientRequest,
        given_rule: Option<Rule>,
    ) -> CallResponse {
        let started = Instant::now();
        let at = self.clock.now();
        // Loaded before the pause is checked: a later pause then cancels this token.
        let halt = self.halt.load_full();
        self.permissions.remember_client(&request.caller.client);
        let resolved = match self.resolve(&request).await {
            Ok(resolved) => resolved,
            // While MCP is off, servers that were never connected have no known tools.
            Err(_) if !self.servers.is_on() => {
                let refused = refusal_messages::refused(&Rule::SwitchedOff, None, request.words());
                return request.target.fit(refused).end;
            }
            Err(end) => return end,
        };
        let id = CallId::from_random(self.ids.next());
        let pending_call = &resolved.pending_call;
        let running = self.running.begin(RunningCall {
            call: id.clone(),
            at,
            client: pending_call.caller.client.id.clone(),
            server: pending_call.server().clone(),
            tool: reveal(&pending_call.subject.rule_name()).into_owned(),
            sent: false,
            progress: None,
        });
        self.events.emit(Event::CallStarted {
            call: id.clone(),
            client: pending_call.caller.client.id.clone(),
            server: pending_call.server().clone(),
            tool: pending_call.subject.rule_name().into_owned(),
            input: one_line(&pending_call.arguments),
        });
        let start = CallStart { id, at, given_rule };
        let mut call_state = CallState::new(resolved, started);
        let ended = tokio::select! {
            biased;
            () = halt.cancelled() => self.interrupted(&mut call_state),
            ended = self.evaluate(&request, &start, &mut call_state) => ended,
        };
        let ended = request.target.fit(ended);
        if matches!(ended.outcome, CallOutcome::Failed { .. } | CallOutcome::RpcError { .. }) {
            call_state.resolved.handle.count_error(self.clock.now());
        }
        drop(running);
        self.record(&request, start, &call_state, &ended);
        ended.end
    }

    /// Outcome of a call that a pause, the MCP switch or a shutdown aborts.
    fn interrupted(&self, call_state: &mut CallState) -> FinishedCall {
        let off = !self.servers.is_on();
        let words = SubjectWording::of(&call_state.resolved.pending_call.subject);
        let text = if off && !self.is_closing() {
            refusal_messages::stopped_by_switch(call_state.sent, words)
        } else if self.is_closing() {
            refusal_messages::stopped_by_end(words)
        } else {
            refusal_messages::stopped_by_pause(words)
        };
        if call_state.sent {
            return FinishedCall::with_text(&text, CallOutcome::Cancelled);
        }
        if !self.is_closing() {
            let rule = if off { Rule::SwitchedOff } else { Rule::Paused };
            call_state.verdict = Verdict { decision: Decision::Deny, rule };
        }
        FinishedCall::with_text(&text, CallOutcome::Refused)
    }

    async fn evaluate(
        self: &Arc<Self>,
        request: &ClientRequest,
        start: &CallStart,
        call_state: &mut CallState,
    ) -> FinishedCall {
        let given_rule = start.given_rule.clone();
        let mut approval =
            given_rule.map(|rule| CallApproval::from_user(&call_state.resolved.pending_call, rule));
        let mut looked_up = true;
        for _ in 0..MAX_EVALUATIONS {
            if !looked_up {
                match self.resolve(request).await {
                    Ok(resolved) => call_state.resolved = resolved,
                    Err(end) => return FinishedCall::from_response(end, CallOutcome::Refused),
                }
            }
            looked_up = false;
            let pending_call = call_state.resolved.pending_call.clone();
            // An approval is only for the call that was shown.
            approval = approval.filter(|approval| approval.hash == pending_call.hash);
            // Judged before the checks below, since path look-ups may take a moment.
            let verdict = self.decide(&pending_call, approval.is_none()).await;
            if self.revoked_clients.lock().contains(&request.caller.client.id) {
                return FinishedCall::with_text(
                    "The user has ended the access of this client.",
                    CallOutcome::Refused,
                );
            }
            if !self.servers.is_on() {
                call_state.verdict = Verdict { decision: Decision::Deny, rule: Rule::SwitchedOff };
                return refusal_messages::refused(&call_state.verdict.rule, None, request.words());
            }
            call_state.verdict = verdict;
            if call_state.verdict.decision == Decision::Deny {
                return refusal_messages::refused(&call_state.verdict.rule, None, request.words());
            }
            let runs = &self.runs;
            if approval.is_none() && request.step == RoundStep::Retry {
                // A result is given out once, so it isn't given to a client that has left.
                if request.is_client_gone() && runs.has_entry(&pending_call.key) {
                    match self.wait_until_client_returns(request, call_state).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
                if let Some(found) = runs.find(&pending_call.key, call_state.started) {
                    match self.share_result(found, request, call_state).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
            }
            match (call_state.verdict.decision, &approval) {
                (_, Some(approval)) => {
                    call_state.verdict = Verdict { decision: Decision::Allow, rule: approval.rule.clone() };
                }
                (Decision::Ask, None) => {
                    match self.request_approval(request, call_state).await {
                        ApprovalStep::Approved(given) => approval = Some(given),
                        ApprovalStep::Reevaluate => {}
                        ApprovalStep::Finished(ended) => return ended,
                    }
                    continue;
                }
                (Decision::Allow | Decision::Deny, None) => {
                    if let Rule::LateTicket { ask } = &call_state.verdict.rule {
                        if request.is_client_gone() {
                            match self.wait_until_client_returns(request, call_state).await {
                                Some(ended) => return ended,
                                None => continue,
                            }
                        }
                        let Some(one_time) = self.approvals.use_ticket(&pending_call, ask) else { continue };
                        approval = Some(CallApproval::from_answer(
                            &pending_call,
                            call_state.verdict.rule.clone(),
                            one_time,
                        ));
                    }
                }
            }
            // Connecting may have brought other definitions.
            match call_state.resolved.handle.ready(&request.cancel).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => return Self::failed(call_state, &error),
            }
            // The client has left and wouldn't see the result; the approval is kept for the next identical
            // call.
            if request.is_client_gone()
                && let Some(one_time) = approval.as_mut().and_then(|approval| approval.one_time.take())
            {
                self.approvals.return_approval(&pending_call, one_time);
                approval = None;
                continue;
            }
            if let Some(ended) = self.dispatch(request, &start.id, call_state, approval.as_ref()).await {
                if let Some(one_time) =
                    approval.and_then(|approval| approval.one_time).filter(|_| ended.has_run)
                {
                    let (call, verdict, at) = (start.id.clone(), call_state.verdict.clone(), Instant::now());
                    let result = || EarlierResult { call, ended: ended.clone(), verdict, at };
                    one_time.run.finish(Self::receipt(request, call_state), result);
                }
                return ended;
            }
        }
        FinishedCall::with_text(CONSTANTLY_CHANGING, CallOutcome::Refused)
    }

    /// Whether the client of a call that has just ended receives the result.
    fn receipt(request: &ClientRequest, call_state: &CallState) -> Receipt {
        match request.presence.as_ref().and_then(ClientPresence::if_absent) {
            Some(client) => Receipt::Missed(client),
            None if call_state.started.elapsed() >= MIN_CLIENT_TIMEOUT => Receipt::Unsure,
            None => Receipt::Likely,
        }
    }

    /// Sends the call; `None` if nothing was sent because the server changed, or the call is to be sent again
    /// because the server had lost its session.
    async fn dispatch(
        self: &Arc<Self>,
        request: &ClientRequest,
        id: &CallId,
        call_state: &mut CallState,
        approval: Option<&CallApproval>,
    ) -> Option<FinishedCall> {
        let pending_call = call_state.resolved.pending_call.clone();
        self.history.record_use(&pending_call);
        call_state.sent = true;
        let run = approval.and_then(CallApproval::run);
        let sent = self.running.mark_sent(id, &request.cancel);
        let answer = self.send(request, id, call_state, run).await;
        drop(sent);
        let answer = match answer {
            SendOutcome::Nothing => {
                call_state.sent = false;
                return None;
            }
            SendOutcome::Stopped(why) => return Some(FinishedCall::with_text(&why, CallOutcome::Cancelled)),
            // The server did nothing with it, so it is sent once more in the new session.
            SendOutcome::Answered(Err(error))
                if error.kind == UpstreamErrorKind::SessionLost && !call_state.sent_again =>
            {
                call_state.sent = false;
                call_state.sent_again = true;
                return None;
            }
            SendOutcome::Answered(answer) => answer,
        };
        let rule = &call_state.verdict.rule;
        let carried = approval.and_then(|approval| approval.carried.as_ref());
        Some(match answer {
            Ok(RpcOutcome::Result(result)) => {
                let is_round = self.rounds.record_result(&pending_call.round_key, rule, &result);
                let outcome = outcome_of_result(&result);
                FinishedCall::from_response(CallResponse::Result(result), outcome).with_run(!is_round)
            }
            Ok(RpcOutcome::Error(error)) => {
                self.rounds.record_error(&pending_call.round_key, rule, &error, carried);
                let outcome = outcome_of_error(&error);
                let is_page =
                    matches!(outcome, CallOutcome::RpcError { code, .. } if code == URL_ELICITATION);
                FinishedCall::from_response(CallResponse::Error(error), outcome).with_run(!is_page)
            }
            Err(error) => {
                let has_run = matches!(
                    error.kind,
                    UpstreamErrorKind::TimedOut { .. }
                        | UpstreamErrorKind::Closed { .. }
                        | UpstreamErrorKind::Transport { .. }
                );
                Self::failed(call_state, &error).with_run(has_run)
            }
        })
    }

    /// Outcome of a call that shares an earlier run; `None` if it is to be judged again.
    async fn share_result(
        &self,
        found: SharedRun,
        request: &ClientRequest,
        call_state: &mut CallState,
    ) -> Option<FinishedCall> {
        let earlier = match found {
            SharedRun::Finished(earlier) => earlier,
            SharedRun::Running(mut shared) => {
                tokio::select! {
                    biased;
                    result = shared.result() => result?,
                    () = request.cancel.cancelled() => {
                        let text =
                            "The call was cancelled. An identical call, which the user has allowed, still runs.";
                        return Some(FinishedCall::with_text(text, CallOutcome::Cancelled));
                    }
                }
            }
        };
        call_state.verdict = earlier.verdict.clone();
        tracing::info!(call = %earlier.call, "a call gets the result of an identical one that ran before");
        let EarlierResult { call, ended, at, .. } = &*earlier;
        let end = match &ended.end {
            CallResponse::Result(result) => {
                let words = request.words();
                CallResponse::Result(refusal_messages::with_earlier_mark(result, call, at.elapsed(), words))
            }
            CallResponse::Error(error) => CallResponse::Error(error.clone()),
        };
        Some(FinishedCall {
            end,
            outcome: CallOutcome::Repeated { call: call.clone() },
            own_text: ended.own_text.clone(),
            has_run: false,
        })
    }

    fn failed(call_state: &CallState, error: &UpstreamError) -> FinishedCall {
        let pending_call = &call_state.resolved.pending_call;
        let text = refusal_messages::failed(
            &pending_call.config.name,
            error,
            SubjectWording::of(&pending_call.subject),
        );
        let outcome = match &error.kind {
            UpstreamErrorKind::Cancelled => CallOutcome::Cancelled,
            UpstreamErrorKind::SwitchedOff => CallOutcome::Refused,
            UpstreamErrorKind::Unavailable { .. }
            | UpstreamErrorKind::TimedOut { .. }
            | UpstreamErrorKind::Closed { .. }
            | UpstreamErrorKind::SessionLost
            | UpstreamErrorKind::NeedsAuth { .. }
            | UpstreamErrorKind::Transport { .. } => CallOutcome::Failed { message: error.to_string() },
        };
        FinishedCall::with_text(&text, outcome)
    }

    fn record(
        &self,
        request: &ClientRequest,
        start: CallStart,
        call_state: &CallState,
        ended: &FinishedCall,
    ) {
        let CallStart { id, at, .. } = start;
        let pending_call = &call_state.resolved.pending_call;
        let millis = |span: Duration| u32::try_from(span.as_millis()).unwrap_or(u32::MAX);
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let duration_ms = millis(call_state.started.elapsed());
        let record = CallRecord {
            id,
            at,
            client: pending_call.caller.client.id.clone(),
            client_name: pending_call.caller.client.name.clone(),
            server: pending_call.server().clone(),
            server_name: pending_call.config.name.clone(),
            subject: pending_call.subject.clone(),
            exposed_name: pending_call.exposed_name.to_string(),
            program: pending_call.seen_program().map(|program| program.path.clone()),
            verdict: call_state.verdict.clone(),
            outcome: ended.outcome.clone(),
            waited_ms: millis(call_state.waited),
            duration_ms,
            bytes_in: size(request.size),
            bytes_out: size(ended.end.body().get().len()),
            arguments: None,
            result: None,
        };
        if let Some(rule) = record.verdict.rule.deciding_grant() {
            self.permissions.rule_used(rule, record.at);
        }
        let definition =
            pending_call.origin.tool().cloned().filter(|definition| definition.has_output_schema());
        let redactor = call_state.resolved.handle.redactor();
        let context = RecordContext { arguments: request.arguments.clone(), definition, redactor };
        self.recorder.record_call(record, context, ended.end.body());
    }
}
