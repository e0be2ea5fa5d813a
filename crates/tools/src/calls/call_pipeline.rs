//! The call pipeline: resolve, judge, get an approval if no rule decides, check again, dispatch, record. Every
//! exit that isn't an allow is a refusal.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::{CallOutcome, CallProgress, RunningCall};
use gatehouse_model::{CallHash, CallId, CallRecord, Decision, Event, Rule, Timestamp, Verdict};
use gatehouse_policy::call_hash::{ApprovalHashInput, CallHashInput, approval_hash, call_hash};
use gatehouse_policy::show::{one_line, reveal};
use gatehouse_servers::{CallError, Progress, ProgressSink, RpcOutcome, ServerHandle, ServerLists};
use tokio::time::Instant;

use crate::approvals::OneTimeApproval;
use crate::call_types::ClientPresence;
use crate::call_types::call_key::CallKey;
use crate::call_types::response::{CallResponse, FinishedCall};
use crate::call_types::shorten_name;
use crate::calls::approval_flow::ApprovalStep;
use crate::calls::call_record::{RecordContext, outcome_of_error, outcome_of_result};
use crate::calls::client_request::{ClientRequest, RequestTarget, not_found};
use crate::calls::input_required::{CarriedApproval, RoundStep, URL_ELICITATION};
use crate::calls::progress::progress_view;
use crate::calls::refusal_messages::{self, SubjectWording};
use crate::calls::upstream_call::SendOutcome;
use crate::catalog::definition_source::{DefinitionSource, SubjectInfo};
use crate::manager::ToolManagerShared;
use crate::paths::path_lookup::{self, KnownPaths};
use crate::pending_call::{PendingCall, PolicyInputs};
use crate::shared_runs::{EarlierResult, MIN_CLIENT_TIMEOUT, Receipt, RunHandle, SharedRun};

/// A call is judged at most this many times before it is refused.
const MAX_EVALUATIONS: usize = 256;

/// Limits for the used names that are remembered per server: their number, and the length of one in bytes.
const MAX_USED_NAMES: usize = 4096;
const MAX_USED_NAME_BYTES: usize = 1024;

const CONSTANTLY_CHANGING: &str = "This server or what is allowed on it is changing all the time; the call was not sent. Try again in a moment.";

/// A call with its target in the current state.
pub(crate) struct ResolvedCall {
    pub(crate) pending_call: Arc<PendingCall>,
    pub(crate) handle: ServerHandle,
    /// The lists that the definition comes from; `None` if there is none.
    pub(crate) lists: Option<Arc<ServerLists>>,
}

/// Progress of a call. Used to write its record if the call is cancelled.
pub(crate) struct CallState {
    pub(crate) resolved: ResolvedCall,
    pub(crate) verdict: Verdict,
    pub(crate) waited: Duration,
    /// The definition that an approval request last showed.
    pub(crate) shown: Option<DefinitionSource>,
    /// When the call came in. The client's time-out starts then.
    pub(crate) started: Instant,
    sent: bool,
    /// Whether it was sent again because the server had lost its session.
    sent_again: bool,
}

struct CallStart {
    id: CallId,
    at: Timestamp,
}

/// An approval of one exact call.
pub(crate) struct CallApproval {
    hash: CallHash,
    rule: Rule,
    carried: Option<CarriedApproval>,
    /// The user's answer to this exact call; `None` for carried-over approvals and the user's own calls.
    yes: Option<OneTimeApproval>,
}

impl CallApproval {
    fn from_user(pending_call: &PendingCall, rule: Rule) -> Self {
        Self { hash: pending_call.hash.clone(), rule, carried: None, yes: None }
    }

    pub(crate) fn from_answer(pending_call: &PendingCall, rule: Rule, yes: OneTimeApproval) -> Self {
        Self { hash: pending_call.hash.clone(), rule, carried: None, yes: Some(yes) }
    }

    pub(crate) fn from_earlier_round(pending_call: &PendingCall, carried: CarriedApproval) -> Self {
        let rule = carried.rule.clone();
        Self { hash: pending_call.hash.clone(), rule, carried: Some(carried), yes: None }
    }

    fn run(&self) -> Option<RunHandle> {
        self.yes.as_ref().map(|yes| yes.run.id())
    }
}

impl ToolManagerShared {
    /// Runs one request to its end.
    pub(crate) async fn run(self: &Arc<Self>, request: ClientRequest) -> CallResponse {
        self.run_with_rule(request, None).await
    }

    /// Runs a request of the user's own to its end: no approval is needed, but what the user has blocked stays
    /// blocked.
    pub(crate) async fn run_for_user(self: &Arc<Self>, request: ClientRequest) -> CallResponse {
        self.run_with_rule(request, Some(Rule::ByUser)).await
    }

    async fn run_with_rule(self: &Arc<Self>, request: ClientRequest, given: Option<Rule>) -> CallResponse {
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
        let verdict = Verdict { decision: Decision::Deny, rule: Rule::DefaultAsk };
        let mut call_state = CallState {
            resolved,
            verdict,
            waited: Duration::ZERO,
            shown: None,
            started,
            sent: false,
            sent_again: false,
        };
        let ended = tokio::select! {
            biased;
            () = halt.cancelled() => self.interrupted(&mut call_state),
            ended = self.evaluate(&request, (&id, given), &mut call_state) => ended,
        };
        let ended = request.target.fit(ended);
        if matches!(ended.outcome, CallOutcome::Failed { .. } | CallOutcome::RpcError { .. }) {
            call_state.resolved.handle.count_error(self.clock.now());
        }
        drop(running);
        self.record(&request, CallStart { id, at }, &call_state, &ended);
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

    /// Resolves the target of a request in the current state.
    async fn resolve(self: &Arc<Self>, request: &ClientRequest) -> Result<ResolvedCall, CallResponse> {
        for _ in 0..MAX_EVALUATIONS {
            match self.look_up(request)? {
                Some(resolved) => return Ok(resolved),
                None => self.refresh().await,
            }
        }
        let refused = FinishedCall::with_text(CONSTANTLY_CHANGING, CallOutcome::Refused);
        Err(request.target.fit(refused).end)
    }

    /// As `resolve`; `None` if the catalog is older than the server's lists.
    fn look_up(&self, request: &ClientRequest) -> Result<Option<ResolvedCall>, CallResponse> {
        let permissions = self.permissions.now();
        let (handle, (config, binding), subject, exposed_name, known) = match &request.target {
            RequestTarget::Tool(name) => {
                let catalog = self.catalog.load();
                let Some(tool) = catalog.by_exposed(name) else {
                    return Err(not_found(&format!(
                        "There is no tool named “{}”.",
                        reveal(shorten_name(name))
                    )));
                };
                let Some(handle) = self.servers.get(tool.server()) else { return Ok(None) };
                let present = handle.config();
                if !present.enabled
                    || present.generation != tool.generation()
                    || !Arc::ptr_eq(&handle.lists(), &tool.tool_server.lists)
                {
                    return Ok(None);
                }
                let subject = gatehouse_model::approval::Subject::Tool { name: tool.name().to_owned() };
                let known = SubjectInfo {
                    class: permissions.class_of(tool).clone(),
                    origin: DefinitionSource::Tool(tool.definition.clone()),
                    lists: Some(tool.tool_server.lists.clone()),
                };
                let present = (present, tool.tool_server.binding.clone());
                (handle, present, subject, tool.exposed.clone(), known)
            }
            RequestTarget::Access { server, kind, target, exposed } => {
                let handle = self.servers.get(server).filter(|handle| handle.config().enabled);
                let Some(handle) = handle else { return Err(not_found("There is no such server.")) };
                let (config, subject) = (handle.config(), kind.subject(target));
                let known = self.catalog.load().subject_info(server, config.generation, &subject);
                if known.lists.as_ref().is_some_and(|lists| !Arc::ptr_eq(lists, &handle.lists())) {
                    return Ok(None);
                }
                let binding = config.binding();
                (handle, (config, binding), subject, exposed.clone(), known)
            }
        };
        let SubjectInfo { class, origin, lists } = known;
        let hash_of = |hash_input: &str| {
            call_hash(&CallHashInput {
                client: &request.caller.client.id,
                server: &binding,
                subject: &subject.rule_name(),
                fingerprint: origin.fingerprint(),
                arguments: hash_input,
            })
        };
        let caller = &request.caller;
        let source = caller.peer.source(caller.session.as_ref());
        let key_of = |hash: &CallHash| CallKey::new(hash, source.clone());
        let (mut hash, mut is_unknown_round) = (hash_of(&request.hash_input), false);
        let round_key = key_of(&hash);
        if !request.round.is_empty() && request.continued_round(&round_key, &self.rounds).is_none() {
            hash = hash_of(&format!("{}{}", request.hash_input, request.round));
            is_unknown_round = true;
        }
        // The approval request shows the round, so a late answer is valid only for the call with exactly this
        // round.
        let key = if request.round.is_empty() {
            round_key.clone()
        } else {
            key_of(&hash_of(&format!("{}{}", request.hash_input, request.round)))
        };
        let approval_hash = approval_hash(&ApprovalHashInput {
            call: &hash,
            program: caller.peer.program().map(|program| program.path.as_str()),
            peer: caller.peer.hashed_id(source.as_ref()).as_deref(),
            says: caller.says.as_deref(),
            session: caller.session.as_ref(),
            round: &request.round,
        });
        let pending_call = Arc::new(PendingCall {
            caller: request.caller.clone(),
            config,
            binding,
            subject,
            exposed_name,
            class,
            origin,
            arguments: request.arguments.clone(),
            extra_members: request.extra_members.clone(),
            hash,
            approval_hash,
            key,
            round_key,
            is_unknown_round,
        });
        Ok(Some(ResolvedCall { pending_call, handle, lists }))
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

    async fn evaluate(
        self: &Arc<Self>,
        request: &ClientRequest,
        (id, given): (&CallId, Option<Rule>),
        call_state: &mut CallState,
    ) -> FinishedCall {
        let mut approval = given.map(|rule| CallApproval::from_user(&call_state.resolved.pending_call, rule));
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
                        let Some(yes) = self.approvals.use_ticket(&pending_call, ask) else { continue };
                        approval = Some(CallApproval::from_answer(
                            &pending_call,
                            call_state.verdict.rule.clone(),
                            yes,
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
                && let Some(yes) = approval.as_mut().and_then(|approval| approval.yes.take())
            {
                self.approvals.return_approval(&pending_call, yes);
                approval = None;
                continue;
            }
            if let Some(ended) = self.dispatch(request, id, call_state, approval.as_ref()).await {
                if let Some(yes) = approval.and_then(|approval| approval.yes).filter(|_| ended.has_run) {
                    let (call, verdict, at) = (id.clone(), call_state.verdict.clone(), Instant::now());
                    let result = || EarlierResult { call, ended: ended.clone(), verdict, at };
                    yes.run.finish(Self::receipt(request, call_state), result);
                }
                return ended;
            }
        }
        FinishedCall::with_text(CONSTANTLY_CHANGING, CallOutcome::Refused)
    }

    /// Whether the client of a call that has just ended receives the result.
    fn receipt(request: &ClientRequest, call_state: &CallState) -> Receipt {
        match request.listening.as_ref().and_then(ClientPresence::if_absent) {
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
        self.remember_tool_use(&pending_call);
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
            SendOutcome::Answered(Err(CallError::SessionLost)) if !call_state.sent_again => {
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
                    error,
                    CallError::TimedOut { .. } | CallError::Closed { .. } | CallError::Transport(_)
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
                CallResponse::Result(refusal_messages::with_earlier_mark(result, (call, at.elapsed()), words))
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

    fn failed(call_state: &CallState, error: &CallError) -> FinishedCall {
        let pending_call = &call_state.resolved.pending_call;
        let text = refusal_messages::failed(
            &pending_call.config.name,
            error,
            SubjectWording::of(&pending_call.subject),
        );
        let outcome = match error {
            CallError::Cancelled => CallOutcome::Cancelled,
            CallError::SwitchedOff => CallOutcome::Refused,
            CallError::Unavailable { .. }
            | CallError::TimedOut { .. }
            | CallError::Closed { .. }
            | CallError::SessionLost
            | CallError::NeedsAuth
            | CallError::Transport(_) => CallOutcome::Failed { message: error.to_string() },
        };
        FinishedCall::with_text(&text, outcome)
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

    /// Remembers that a subject was allowed once. A client can make up any number of names; names that aren't
    /// remembered here are looked up in the activity database.
    fn remember_tool_use(&self, pending_call: &PendingCall) {
        let name = pending_call.subject.rule_name();
        if name.len() > MAX_USED_NAME_BYTES {
            return;
        }
        let mut used = self.used_tools.lock();
        match used.get_mut(pending_call.server()) {
            Some(names) if names.contains(&*name) || names.len() >= MAX_USED_NAMES => {}
            Some(names) => {
                names.insert(name.into_owned());
            }
            None => {
                used.insert(pending_call.server().clone(), [name.into_owned()].into());
            }
        }
    }

    fn record(
        &self,
        request: &ClientRequest,
        began: CallStart,
        call_state: &CallState,
        ended: &FinishedCall,
    ) {
        let CallStart { id, at } = began;
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
        let kept = RecordContext { arguments: request.arguments.clone(), definition, redactor };
        self.recorder.record_call(record, kept, ended.end.body());
    }
}
