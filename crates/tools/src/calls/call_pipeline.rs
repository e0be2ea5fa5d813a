//! The call pipeline: resolve, judge, get an approval if no rule decides, check again, dispatch, record. Every
//! exit that isn't an allow is a refusal.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_wire::tasks::is_task_result;
use gatehouse_model::approval::Subject;
use gatehouse_model::record::{CallOutcome, RunningCall};
use gatehouse_model::{CallId, CallRecord, Decision, Event, Rule, Timestamp, Verdict};
use gatehouse_policy::display::{one_line, reveal};
use gatehouse_servers::{RpcOutcome, ServerHandle, UpstreamError, UpstreamErrorKind};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::approval_flow::ApprovalStep;
use super::call_recorder::{RecordContext, outcome_of_error, outcome_of_result};
use super::call_state::{CallApproval, CallState};
use super::client_request::ClientRequest;
use super::client_timeout::WaitObservation;
use super::input_required::{RoundStep, URL_ELICITATION};
use super::pipeline_state::{CONSTANTLY_CHANGING, CallPipeline, MAX_EVALUATIONS};
use super::refusal_messages::{self, SubjectWording};
use super::upstream_call::{SendOutcome, is_by_grant};
use crate::call_types::response::{CallResponse, FinishedCall};
use crate::call_types::{ClientPresence, ProtocolFamily};
use crate::pending_call::PendingCall;
use crate::profiles::rate_limits::RateLimited;
use crate::shared_runs::{EarlierResult, MIN_CLIENT_TIMEOUT, Receipt, SharedRun};
use crate::task_table::{BegunTask, NewTask};

/// What the client of a call gets instead of a task that it can't use.
const UNWANTED_TASK: &str =
    "The server runs the call as a task, but the client didn't declare that it can follow tasks.";

struct CallStart {
    id: CallId,
    at: Timestamp,
    /// The rule that allows it beforehand: set for the user's own calls, not for those as a client.
    given_rule: Option<Rule>,
    /// Set if its client has made too many calls.
    rate_limited: Option<RateLimited>,
}

impl CallPipeline {
    /// Runs one request to its end. One of the user's own needs no approval, but what the user has blocked stays
    /// blocked.
    pub(crate) async fn run(self: &Arc<Self>, request: ClientRequest) -> CallResponse {
        let given_rule = request.caller.is_user().then_some(Rule::ByUser);
        let started = Instant::now();
        let at = self.deps.clock.now();
        // Loaded before the pause is checked: a later pause then cancels this token.
        let halt = self.halt.load_full();
        self.deps.permissions.remember_client(&request.caller.client);
        let rate_limited = self.admit(&request.caller).err();
        let resolved = match self.resolve(&request).await {
            Ok(resolved) => resolved,
            // While MCP is off, servers that were never connected have no known tools.
            Err(_) if !self.deps.servers.is_on() => {
                let refused = refusal_messages::refused(&Rule::SwitchedOff, None, request.words());
                return request.target.fit(refused).end;
            }
            Err(end) => return end,
        };
        let id = CallId::from_random(self.ids.next());
        let pending_call = &resolved.pending_call;
        let user_run = request.caller.user_run.as_ref();
        if let Some(run) = user_run {
            run.set_call(&id, resolved.handle.redactor());
        }
        let observer = request.observer.as_deref();
        if let Some(observer) = observer {
            observer.began(&id, resolved.handle.redactor());
        }
        let running = self.running.begin(RunningCall {
            call: id.clone(),
            at,
            client: pending_call.caller.client.id.clone(),
            server: pending_call.server().clone(),
            tool: reveal(&pending_call.subject.rule_name()).into_owned(),
            sent: false,
            progress: None,
            task: None,
            run: user_run.and_then(|run| run.name()).map(ToOwned::to_owned),
        });
        self.deps.events.emit(Event::CallStarted {
            call: id.clone(),
            client: pending_call.caller.client.id.clone(),
            server: pending_call.server().clone(),
            tool: pending_call.subject.rule_name().into_owned(),
            input: one_line(&pending_call.arguments),
        });
        let start = CallStart { id, at, given_rule, rate_limited };
        let mut call_state = CallState::new(resolved, started);
        let ended = tokio::select! {
            biased;
            () = halt.cancelled() => self.interrupted(&mut call_state),
            ended = self.evaluate(&request, &start, &mut call_state) => ended,
        };
        let ended = request.target.fit(ended);
        if matches!(ended.outcome, CallOutcome::Failed { .. } | CallOutcome::RpcError { .. }) {
            call_state.resolved.handle.count_error(self.deps.clock.now());
        }
        if let Some(run) = user_run {
            run.set_verdict(&call_state.verdict, call_state.waited);
        }
        if let Some(observer) = observer {
            observer.judged(&call_state.verdict, call_state.waited);
        }
        let begun = call_state.task.take();
        let draft = Self::draft_record(&request, start, &call_state);
        match begun {
            Some(begun) => self.follow_task(begun, draft, running),
            None => {
                drop(running);
                self.finish_record(draft, &ended);
            }
        }
        ended.end
    }

    /// Outcome of a call that a pause, the MCP switch or a shutdown aborts.
    fn interrupted(&self, call_state: &mut CallState) -> FinishedCall {
        let off = !self.deps.servers.is_on();
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
        if let Some(limited) = &start.rate_limited {
            // What doesn't exist for the client isn't refused because of the limit either.
            if let Some(hidden) = self.hidden(&call_state.resolved.pending_call) {
                call_state.verdict = hidden;
                return FinishedCall::from_response(request.target.not_found(), CallOutcome::Refused);
            }
            call_state.verdict = Verdict { decision: Decision::Deny, rule: limited.rule() };
            return refusal_messages::rate_limited(limited, request.words());
        }
        let given_rule = start.given_rule.clone();
        let mut approval =
            given_rule.map(|rule| CallApproval::from_user(&call_state.resolved.pending_call, rule));
        // Taken when the answer came, so that the run can't end and be forgotten while this call is judged.
        let mut share = None;
        let mut looked_up = true;
        for _ in 0..MAX_EVALUATIONS {
            if !looked_up {
                match self.resolve(request).await {
                    Ok(resolved) => call_state.resolved = resolved,
                    Err(end) => return Self::not_resolved_again(end, call_state),
                }
            }
            looked_up = false;
            let pending_call = call_state.resolved.pending_call.clone();
            // An approval is only for the call that was shown.
            approval = approval.filter(|approval| approval.hash == pending_call.hash);
            // Judged before the checks below, since path look-ups may take a moment.
            let (verdict, judged) = self.judge(&pending_call, approval.is_none()).await;
            call_state.judged = judged;
            if self.revoked_clients.lock().contains(&request.caller.client.id) {
                return FinishedCall::with_text(
                    "The user has ended the access of this client.",
                    CallOutcome::Refused,
                );
            }
            if !self.deps.servers.is_on() {
                call_state.verdict = Verdict { decision: Decision::Deny, rule: Rule::SwitchedOff };
                return refusal_messages::refused(&call_state.verdict.rule, None, request.words());
            }
            call_state.verdict = verdict;
            if let Rule::HiddenByProfile { .. } = call_state.verdict.rule {
                // As if it didn't exist; only the record tells.
                return FinishedCall::from_response(request.target.not_found(), CallOutcome::Refused);
            }
            if call_state.verdict.decision == Decision::Deny {
                return refusal_messages::refused(&call_state.verdict.rule, None, request.words());
            }
            let runs = &self.deps.runs;
            if approval.is_none() && request.step == RoundStep::Retry {
                // A result is given out once, so it isn't given to a client that has left.
                if request.is_client_gone() && (share.is_some() || runs.has_entry(&pending_call.key)) {
                    match self.wait_until_client_returns(request, call_state).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
                let found = share
                    .take()
                    .map(SharedRun::Running)
                    .or_else(|| runs.find(&pending_call.key, call_state.started));
                if let Some(found) = found {
                    match self.share_result(found, request, call_state).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
            }
            // What is known of a server that isn't connected may no longer be true, so the call is judged by what
            // the server has. Nobody is asked about a call that couldn't be sent, unless only an answer may start the
            // server: then it counts for the definition that was shown, or for a request that never has one.
            let is_settled = pending_call.origin.fingerprint().is_some()
                || matches!(pending_call.subject, Subject::Request { .. });
            let is_asked_first = approval.is_none()
                && call_state.verdict.decision == Decision::Ask
                && call_state.resolved.handle.starts_when_called()
                && is_settled;
            if !is_asked_first {
                let family = request.caller.protocol_family;
                match call_state.resolved.handle.ready(family, &request.cancel).await {
                    Ok(false) => {}
                    Ok(true) => continue,
                    Err(error) => return Self::failed(call_state, &error),
                }
            }
            match (call_state.verdict.decision, &approval) {
                (_, Some(approval)) => {
                    call_state.verdict = Verdict { decision: Decision::Allow, rule: approval.rule.clone() };
                }
                (Decision::Ask, None) => {
                    match self.request_approval(request, call_state).await {
                        ApprovalStep::Approved(given) => approval = Some(given),
                        ApprovalStep::Shared(given) => share = Some(given),
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
                        let Some(one_time) = self.deps.approvals.use_ticket(&pending_call, ask) else {
                            continue;
                        };
                        approval = Some(CallApproval::from_answer(
                            &pending_call,
                            call_state.verdict.rule.clone(),
                            one_time,
                        ));
                    }
                }
            }
            // The client has left and wouldn't see the result; the approval is kept for the next identical
            // call.
            if request.is_client_gone()
                && let Some(one_time) = approval.as_mut().and_then(|approval| approval.one_time.take())
            {
                self.deps.approvals.return_approval(&pending_call, one_time);
                approval = None;
                continue;
            }
            if let Some(ended) = self.dispatch(request, &start.id, call_state, approval.as_ref()).await {
                if let Some(one_time) =
                    approval.and_then(|approval| approval.one_time).filter(|_| ended.has_run)
                {
                    let (call, verdict) = (start.id.clone(), call_state.verdict.clone());
                    let (came_in, at) = (call_state.started, Instant::now());
                    let result = || EarlierResult { call, ended: ended.clone(), verdict, came_in, at };
                    one_time.run.finish(Self::receipt(request, call_state), result);
                }
                return ended;
            }
        }
        FinishedCall::with_text(CONSTANTLY_CHANGING, CallOutcome::Refused)
    }

    /// The end of a call whose target was there when the call came in: its server has it no more.
    fn not_resolved_again(end: CallResponse, call_state: &CallState) -> FinishedCall {
        let pending_call = &call_state.resolved.pending_call;
        match &pending_call.subject {
            Subject::Tool { name } => {
                let text = refusal_messages::gone(&pending_call.config.name, name);
                let outcome = CallOutcome::Failed { message: text.clone() };
                FinishedCall::with_text(&text, outcome)
            }
            Subject::Resource { .. }
            | Subject::Prompt { .. }
            | Subject::Completion { .. }
            | Subject::Request { .. } => FinishedCall::from_response(end, CallOutcome::Refused),
        }
    }

    /// Whether the client of a call that has just ended receives the result.
    fn receipt(request: &ClientRequest, call_state: &CallState) -> Receipt {
        match request.presence.as_ref().and_then(ClientPresence::if_absent) {
            Some(client) => Receipt::Missed(client),
            // A cancelled call gets no response, even if its result came first.
            None if request.cancel.is_cancelled() => Receipt::Unsure,
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
        self.deps.history.record_use(&pending_call);
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
                let (result, task) = match self.as_task(request, &pending_call, is_by_grant(rule), result) {
                    Ok(result) => result,
                    Err(refused) => return Some(refused),
                };
                call_state.task = task;
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

    /// The result for the client, with the task that the call became.
    fn as_task(
        &self,
        request: &ClientRequest,
        pending_call: &Arc<PendingCall>,
        is_by_grant: bool,
        result: Box<RawValue>,
    ) -> Result<(Box<RawValue>, Option<BegunTask>), FinishedCall> {
        let refused = |text: &str| {
            FinishedCall::with_text(text, CallOutcome::Failed { message: text.to_owned() }).with_run(true)
        };
        let is_stateless = request.caller.protocol_family == ProtocolFamily::Stateless;
        if is_stateless && !is_task_result(&result) {
            return Ok((result, None));
        }
        let Some(place) = request.created_task() else {
            return if is_stateless { Err(refused(UNWANTED_TASK)) } else { Ok((result, None)) };
        };
        let new = NewTask { pending_call, is_by_grant, size: request.kept_bytes(), result: &result, place };
        match self.deps.tasks.begin(new) {
            Ok(Some((shown, begun))) => {
                request.task.get_or_init(|| Arc::clone(&begun.task));
                Ok((shown, Some(begun)))
            }
            Ok(None) => Ok((result, None)),
            Err(error) => {
                tracing::error!(%error, "there is no id for a task");
                Err(refused("Gatehouse could not make an id for the task."))
            }
        }
    }

    /// Outcome of a call that shares an earlier run; `None` if it is to be judged again.
    async fn share_result(
        &self,
        found: SharedRun,
        request: &ClientRequest,
        call_state: &mut CallState,
    ) -> Option<FinishedCall> {
        let earlier = match found {
            SharedRun::Finished(earlier) => {
                let gap = call_state.started.saturating_duration_since(earlier.came_in);
                let pending_call = &call_state.resolved.pending_call;
                self.record_wait(pending_call, WaitObservation::Repeated(gap), request.progress.is_some());
                earlier
            }
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

    fn draft_record(request: &ClientRequest, start: CallStart, call_state: &CallState) -> RecordDraft {
        let CallStart { id, at, .. } = start;
        let pending_call = &call_state.resolved.pending_call;
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
            by_user: pending_call.caller.user_run.is_some(),
            verdict: call_state.verdict.clone(),
            judged: (!call_state.judged.is_empty()).then(|| call_state.judged.clone()),
            outcome: CallOutcome::Ok,
            waited_ms: millis(call_state.waited),
            duration_ms: 0,
            bytes_in: size(request.size),
            bytes_out: 0,
            arguments: None,
            result: None,
        };
        let definition =
            pending_call.origin.tool().cloned().filter(|definition| definition.has_output_schema());
        let server = call_state.resolved.handle.clone();
        let context = RecordContext {
            arguments: request.arguments.clone(),
            definition,
            redactor: server.redactor(),
            stores_bodies: pending_call.config.record_bodies,
        };
        RecordDraft { record, context, server, started: call_state.started }
    }

    /// Writes the record of a call that has ended.
    pub(super) fn finish_record(&self, draft: RecordDraft, ended: &FinishedCall) {
        let RecordDraft { record, mut context, server, started } = draft;
        // Switched off while the call ran also counts.
        context.stores_bodies &= server.config().record_bodies;
        let record = CallRecord {
            outcome: ended.outcome.clone(),
            duration_ms: millis(started.elapsed()),
            bytes_out: size(ended.size()),
            ..record
        };
        if let Some(rule) = record.verdict.rule.deciding_grant() {
            self.deps.permissions.rule_used(rule, record.at);
        }
        self.deps.recorder.record_call(record, context, ended.end.body());
    }
}

/// The record of a call that may not have ended yet.
pub(super) struct RecordDraft {
    record: CallRecord,
    context: RecordContext,
    server: ServerHandle,
    started: Instant,
}

impl RecordDraft {
    /// The call.
    pub(super) fn call(&self) -> &CallId {
        &self.record.id
    }

    /// The same for a call whose result isn't known, so that nothing is compared with its `outputSchema`.
    pub(super) fn without_result(self) -> Self {
        Self { context: RecordContext { definition: None, ..self.context }, ..self }
    }
}

fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
