//! The call pipeline: resolve, judge, get an approval if no rule decides, check again, dispatch, record. Every
//! exit that isn't an allow is a refusal.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::{CallOutcome, CallProgress, RunningCall};
use gatehouse_model::{CallHash, CallId, CallRecord, Decision, Event, Rule, Timestamp, Verdict};
use gatehouse_policy::exact::{ExactCall, ShownCall, call_hash, shown_hash};
use gatehouse_policy::show::{one_line, reveal};
use gatehouse_servers::{CallError, Lists, Progress, ProgressSink, Reply, ServerHandle};
use tokio::time::Instant;

use crate::approvals::Yes;
use crate::asking::Asked;
use crate::call::{CallEnd, Listening};
use crate::drive::Sent;
use crate::manager::Inner;
use crate::matter::{Beside, Matter};
use crate::origin::{Known, Origin};
use crate::path_lookup::{self, KnownPaths};
use crate::progress::shown_progress;
use crate::record::{Kept, outcome_of_error, outcome_of_result};
use crate::request::{Request, Target, cut, unknown};
use crate::rounds::{Carried, Step, URL_ELICITATION};
use crate::runs::{CallKey, EarlierResult, Found, LEAST_TIMEOUT, Receipt, RunId};
use crate::texts::{self, Words};

/// A call is judged at most this many times before it is refused.
const TURNS: usize = 256;

/// Limits for the used names that are remembered per server: their number, and the length of one in bytes.
const MOST_USED: usize = 4096;
const LONGEST_USED: usize = 1024;

const CHANGING: &str = "This server or what is allowed on it is changing all the time; the call was not sent. Try again in a moment.";

/// A call with its target in the current state.
pub(crate) struct Resolved {
    pub(crate) matter: Arc<Matter>,
    pub(crate) handle: ServerHandle,
    /// The lists that the definition comes from; `None` if there is none.
    pub(crate) lists: Option<Arc<Lists>>,
}

/// Progress of a call. Used to write its record if the call is cancelled.
pub(crate) struct Course {
    pub(crate) resolved: Resolved,
    pub(crate) verdict: Verdict,
    pub(crate) waited: Duration,
    /// The definition that an approval request last showed.
    pub(crate) shown: Option<Origin>,
    /// When the call came in. The client's time-out starts then.
    pub(crate) started: Instant,
    sent: bool,
    /// Whether it was sent again because the server had lost its session.
    sent_again: bool,
}

struct Began {
    id: CallId,
    at: Timestamp,
}

/// Outcome of a call.
#[derive(Clone)]
pub(crate) struct Ended {
    end: CallEnd,
    outcome: CallOutcome,
    /// Gatehouse's own message, if the outcome isn't the server's.
    said: Option<Box<str>>,
    /// Whether the call reached its server and this is the result.
    ran: bool,
}

/// Prints only the variant and length: results must not get into logs.
impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended").field("end", &self.end).finish_non_exhaustive()
    }
}

/// An approval of one exact call.
pub(crate) struct Approval {
    hash: CallHash,
    rule: Rule,
    carried: Option<Carried>,
    /// The user's answer to this exact call; `None` for carried-over approvals and the user's own calls.
    yes: Option<Yes>,
}

impl Approval {
    fn by_user(matter: &Matter, rule: Rule) -> Self {
        Self { hash: matter.hash.clone(), rule, carried: None, yes: None }
    }

    pub(crate) fn given(matter: &Matter, rule: Rule, yes: Yes) -> Self {
        Self { hash: matter.hash.clone(), rule, carried: None, yes: Some(yes) }
    }

    pub(crate) fn carried(matter: &Matter, carried: Carried) -> Self {
        let rule = carried.rule.clone();
        Self { hash: matter.hash.clone(), rule, carried: Some(carried), yes: None }
    }

    fn run(&self) -> Option<RunId> {
        self.yes.as_ref().map(|yes| yes.run.id())
    }
}

impl Ended {
    pub(crate) fn told(text: &str, outcome: CallOutcome) -> Self {
        Self { end: CallEnd::Result(texts::error_result(text)), outcome, said: Some(text.into()), ran: false }
    }

    /// Outcome with a given response: the server's, or an error from resolving the target.
    fn came(end: CallEnd, outcome: CallOutcome) -> Self {
        Self { end, outcome, said: None, ran: false }
    }

    /// Sets whether this is the result of a call that ran on its server.
    fn having_run(self, ran: bool) -> Self {
        Self { ran, ..self }
    }

    /// Size of the body in bytes.
    pub(crate) fn size(&self) -> usize {
        self.end.body().get().len()
    }

    /// Converts Gatehouse's own message to an error for anything but tool calls: only tool results have
    /// `isError`.
    fn fitting(self, target: &Target) -> Self {
        match (target, &self.said) {
            (Target::Access { .. }, Some(text)) => {
                Self { end: CallEnd::Error(texts::rpc_error(texts::NOT_RUN, text)), ..self }
            }
            (Target::Access { .. }, None) | (Target::Tool(_), _) => self,
        }
    }

    pub(crate) fn refused(rule: &Rule, reason: Option<&str>, words: Words) -> Self {
        Self::told(&texts::refusal(rule, reason, words), CallOutcome::Refused)
    }
}

impl Inner {
    /// Runs one request to its end.
    pub(crate) async fn run(self: &Arc<Self>, request: Request) -> CallEnd {
        self.run_under(request, None).await
    }

    /// Runs a request of the user's own to its end: no approval is needed, but what the user has blocked stays
    /// blocked.
    pub(crate) async fn run_for_user(self: &Arc<Self>, request: Request) -> CallEnd {
        self.run_under(request, Some(Rule::ByUser)).await
    }

    async fn run_under(self: &Arc<Self>, request: Request, given: Option<Rule>) -> CallEnd {
        let started = Instant::now();
        let at = self.clock.now();
        // Loaded before the pause is checked: a later pause then cancels this token.
        let halt = self.halt.load_full();
        self.rights.inner.saw_client(&request.caller.client);
        let resolved = match self.resolve(&request).await {
            Ok(resolved) => resolved,
            // While MCP is off, servers that were never connected have no known tools.
            Err(_) if !self.servers.is_on() => {
                return Ended::refused(&Rule::SwitchedOff, None, request.words())
                    .fitting(&request.target)
                    .end;
            }
            Err(end) => return end,
        };
        let id = CallId::from_random(self.ids.next());
        let matter = &resolved.matter;
        let running = self.running.begin(RunningCall {
            call: id.clone(),
            at,
            client: matter.caller.client.id.clone(),
            server: matter.server().clone(),
            tool: reveal(&matter.subject.rule_name()).into_owned(),
            sent: false,
            progress: None,
        });
        self.events.emit(Event::CallStarted {
            call: id.clone(),
            client: matter.caller.client.id.clone(),
            server: matter.server().clone(),
            tool: matter.subject.rule_name().into_owned(),
            input: one_line(&matter.arguments),
        });
        let verdict = Verdict { decision: Decision::Deny, rule: Rule::DefaultAsk };
        let mut course = Course {
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
            () = halt.cancelled() => self.halted(&mut course),
            ended = self.go(&request, (&id, given), &mut course) => ended,
        }
        .fitting(&request.target);
        if matches!(ended.outcome, CallOutcome::Failed { .. } | CallOutcome::RpcError { .. }) {
            course.resolved.handle.count_error(self.clock.now());
        }
        drop(running);
        self.record(&request, Began { id, at }, &course, &ended);
        ended.end
    }

    /// Outcome of a call that a pause, the MCP switch or a shutdown aborts.
    fn halted(&self, course: &mut Course) -> Ended {
        let off = !self.servers.is_on();
        let words = Words::of(&course.resolved.matter.subject);
        let text = if off && !self.closing() {
            texts::stopped_by_switch(course.sent, words)
        } else if self.closing() {
            texts::stopped_by_end(words)
        } else {
            texts::stopped_by_pause(words)
        };
        if course.sent {
            return Ended::told(&text, CallOutcome::Cancelled);
        }
        if !self.closing() {
            let rule = if off { Rule::SwitchedOff } else { Rule::Paused };
            course.verdict = Verdict { decision: Decision::Deny, rule };
        }
        Ended::told(&text, CallOutcome::Refused)
    }

    /// Resolves the target of a request in the current state.
    async fn resolve(self: &Arc<Self>, request: &Request) -> Result<Resolved, CallEnd> {
        for _ in 0..TURNS {
            match self.look_up(request)? {
                Some(resolved) => return Ok(resolved),
                None => self.refresh().await,
            }
        }
        Err(Ended::told(CHANGING, CallOutcome::Refused).fitting(&request.target).end)
    }

    /// As `resolve`; `None` if the catalog is older than the server's lists.
    fn look_up(&self, request: &Request) -> Result<Option<Resolved>, CallEnd> {
        let rights = self.rights.inner.now();
        let (handle, (config, binding), subject, exposed_name, known) = match &request.target {
            Target::Tool(name) => {
                let catalogue = self.catalogue.load();
                let Some(tool) = catalogue.by_exposed(name) else {
                    return Err(unknown(&format!("There is no tool named “{}”.", reveal(cut(name)))));
                };
                let Some(handle) = self.servers.get(tool.server()) else { return Ok(None) };
                let present = handle.config();
                if !present.enabled
                    || present.generation != tool.generation()
                    || !Arc::ptr_eq(&handle.lists(), &tool.home.lists)
                {
                    return Ok(None);
                }
                let subject = gatehouse_model::ask::Subject::Tool { name: tool.name().to_owned() };
                let known = Known {
                    class: rights.class_of(tool).clone(),
                    origin: Origin::Tool(tool.definition.clone()),
                    lists: Some(tool.home.lists.clone()),
                };
                let present = (present, tool.home.binding.clone());
                (handle, present, subject, tool.exposed.clone(), known)
            }
            Target::Access { server, kind, target, exposed } => {
                let handle = self.servers.get(server).filter(|handle| handle.config().enabled);
                let Some(handle) = handle else { return Err(unknown("There is no such server.")) };
                let (config, subject) = (handle.config(), kind.subject(target));
                let known = self.catalogue.load().origin(server, config.generation, &subject);
                if known.lists.as_ref().is_some_and(|lists| !Arc::ptr_eq(lists, &handle.lists())) {
                    return Ok(None);
                }
                let binding = config.binding();
                (handle, (config, binding), subject, exposed.clone(), known)
            }
        };
        let Known { class, origin, lists } = known;
        let hash_of = |exact: &str| {
            call_hash(&ExactCall {
                client: &request.caller.client.id,
                server: &binding,
                subject: &subject.rule_name(),
                fingerprint: origin.fingerprint(),
                arguments: exact,
            })
        };
        let caller = &request.caller;
        let source = caller.peer.source(caller.session.as_ref());
        let key_of = |hash: &CallHash| CallKey::new(hash, source.clone());
        let (mut hash, mut is_unknown_round) = (hash_of(&request.exact), false);
        let round_key = key_of(&hash);
        if !request.round.is_empty() && request.continues(&round_key, &self.rounds).is_none() {
            hash = hash_of(&format!("{}{}", request.exact, request.round));
            is_unknown_round = true;
        }
        // The approval request shows the round, so a late answer is valid only for the call with exactly this
        // round.
        let key = if request.round.is_empty() {
            round_key.clone()
        } else {
            key_of(&hash_of(&format!("{}{}", request.exact, request.round)))
        };
        let shown_hash = shown_hash(&ShownCall {
            call: &hash,
            program: caller.peer.program().map(|program| program.path.as_str()),
            peer: caller.peer.hashed_id(source.as_ref()).as_deref(),
            says: caller.says.as_deref(),
            session: caller.session.as_ref(),
            round: &request.round,
        });
        let matter = Arc::new(Matter {
            caller: request.caller.clone(),
            config,
            binding,
            subject,
            exposed_name,
            class,
            origin,
            arguments: request.arguments.clone(),
            beside: request.beside.clone(),
            hash,
            shown_hash,
            key,
            round_key,
            is_unknown_round,
        });
        Ok(Some(Resolved { matter, handle, lists }))
    }

    /// The verdict of the policy now. Paths are looked up first, each time afresh. Everything else is read
    /// after that, and if new rules came in the meantime, their paths are looked up too.
    pub(crate) async fn judge(&self, matter: &Matter, with_ticket: bool) -> Verdict {
        let keeper = &self.rights.inner;
        let deadline = path_lookup::deadline();
        let mut known = KnownPaths::default();
        let verdict = loop {
            let rights = Arc::clone(&keeper.now());
            let blocked = self.servers.forbids(&matter.config);
            let ticket = if with_ticket { self.approvals.inner.ticket(&matter.key) } else { None };
            let beside = Beside {
                blocked_by_file: blocked.as_deref(),
                paused: keeper.paused(),
                ticket: ticket.as_ref(),
                now: self.clock.now(),
                paths: &known,
            };
            let missing = known.missing(matter.paths(&rights, beside));
            if missing.is_empty() {
                break matter.judge(&rights, beside);
            }
            self.paths.look_up(missing, deadline, &mut known).await;
        };
        let by_ticket = matches!(verdict.rule, Rule::LateTicket { .. });
        let by_grant = (verdict.decision == Decision::Allow && !by_ticket)
            || matches!(verdict.rule, Rule::UnboundGrant { .. });
        if matter.is_unknown_round && by_grant {
            // No rule covers input that Gatehouse didn't see a server require.
            return Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk };
        }
        verdict
    }

    async fn go(
        self: &Arc<Self>,
        request: &Request,
        (id, given): (&CallId, Option<Rule>),
        course: &mut Course,
    ) -> Ended {
        let mut approval = given.map(|rule| Approval::by_user(&course.resolved.matter, rule));
        let mut looked_up = true;
        for _ in 0..TURNS {
            if !looked_up {
                match self.resolve(request).await {
                    Ok(resolved) => course.resolved = resolved,
                    Err(end) => return Ended::came(end, CallOutcome::Refused),
                }
            }
            looked_up = false;
            let matter = course.resolved.matter.clone();
            // An approval is only for the call that was shown.
            approval = approval.filter(|approval| approval.hash == matter.hash);
            // Judged before the checks below, since path look-ups may take a moment.
            let verdict = self.judge(&matter, approval.is_none()).await;
            if self.gone.lock().contains(&request.caller.client.id) {
                return Ended::told("The user has ended the access of this client.", CallOutcome::Refused);
            }
            if !self.servers.is_on() {
                course.verdict = Verdict { decision: Decision::Deny, rule: Rule::SwitchedOff };
                return Ended::refused(&course.verdict.rule, None, request.words());
            }
            course.verdict = verdict;
            if course.verdict.decision == Decision::Deny {
                return Ended::refused(&course.verdict.rule, None, request.words());
            }
            let runs = &self.approvals.inner.runs;
            if approval.is_none() && request.step == Step::Retry {
                // A result is given out once, so it isn't given to a client that has left.
                if request.is_left() && runs.knows(&matter.key) {
                    match self.until_back(request, course).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
                if let Some(found) = runs.find(&matter.key, course.started) {
                    match self.share(found, request, course).await {
                        Some(ended) => return ended,
                        None => continue,
                    }
                }
            }
            match (course.verdict.decision, &approval) {
                (_, Some(approval)) => {
                    course.verdict = Verdict { decision: Decision::Allow, rule: approval.rule.clone() };
                }
                (Decision::Ask, None) => {
                    match self.settle(request, course).await {
                        Asked::Approved(given) => approval = Some(given),
                        Asked::JudgeAnew => {}
                        Asked::Ended(ended) => return ended,
                    }
                    continue;
                }
                (Decision::Allow | Decision::Deny, None) => {
                    if let Rule::LateTicket { ask } = &course.verdict.rule {
                        if request.is_left() {
                            match self.until_back(request, course).await {
                                Some(ended) => return ended,
                                None => continue,
                            }
                        }
                        let Some(yes) = self.approvals.inner.use_ticket(&matter, ask) else { continue };
                        approval = Some(Approval::given(&matter, course.verdict.rule.clone(), yes));
                    }
                }
            }
            // Connecting may have brought other definitions.
            match course.resolved.handle.ready(&request.cancel).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => return Self::failed(course, &error),
            }
            // The client has left and wouldn't see the result; the approval is kept for the next identical
            // call.
            if request.is_left()
                && let Some(yes) = approval.as_mut().and_then(|approval| approval.yes.take())
            {
                self.approvals.inner.give_back(&matter, yes);
                approval = None;
                continue;
            }
            if let Some(ended) = self.dispatch(request, id, course, approval.as_ref()).await {
                if let Some(yes) = approval.and_then(|approval| approval.yes).filter(|_| ended.ran) {
                    let (call, verdict, at) = (id.clone(), course.verdict.clone(), Instant::now());
                    let result = || EarlierResult { call, ended: ended.clone(), verdict, at };
                    yes.run.finish(Self::receipt(request, course), result);
                }
                return ended;
            }
        }
        Ended::told(CHANGING, CallOutcome::Refused)
    }

    /// Whether the client of a call that has just ended receives the result.
    fn receipt(request: &Request, course: &Course) -> Receipt {
        match request.listening.as_ref().and_then(Listening::once_left) {
            Some(client) => Receipt::Missed(client),
            None if course.started.elapsed() >= LEAST_TIMEOUT => Receipt::Unsure,
            None => Receipt::Likely,
        }
    }

    /// Sends the call; `None` if nothing was sent because the server changed, or the call is to be sent again
    /// because the server had lost its session.
    async fn dispatch(
        self: &Arc<Self>,
        request: &Request,
        id: &CallId,
        course: &mut Course,
        approval: Option<&Approval>,
    ) -> Option<Ended> {
        let matter = course.resolved.matter.clone();
        self.note_use(&matter);
        course.sent = true;
        let run = approval.and_then(Approval::run);
        let sent = self.running.sent(id, &request.cancel);
        let answer = self.send(request, id, course, run).await;
        drop(sent);
        let answer = match answer {
            Sent::Nothing => {
                course.sent = false;
                return None;
            }
            Sent::Stopped(why) => return Some(Ended::told(&why, CallOutcome::Cancelled)),
            // The server did nothing with it, so it is sent once more in the new session.
            Sent::Answered(Err(CallError::SessionLost)) if !course.sent_again => {
                course.sent = false;
                course.sent_again = true;
                return None;
            }
            Sent::Answered(answer) => answer,
        };
        let rule = &course.verdict.rule;
        let carried = approval.and_then(|approval| approval.carried.as_ref());
        Some(match answer {
            Ok(Reply::Result(result)) => {
                let is_round = self.rounds.note_result(&matter.round_key, rule, &result);
                let outcome = outcome_of_result(&result);
                Ended::came(CallEnd::Result(result), outcome).having_run(!is_round)
            }
            Ok(Reply::Error(error)) => {
                self.rounds.note_error(&matter.round_key, rule, &error, carried);
                let outcome = outcome_of_error(&error);
                let is_page =
                    matches!(outcome, CallOutcome::RpcError { code, .. } if code == URL_ELICITATION);
                Ended::came(CallEnd::Error(error), outcome).having_run(!is_page)
            }
            Err(error) => {
                let ran = matches!(
                    error,
                    CallError::TimedOut { .. } | CallError::Closed { .. } | CallError::Transport(_)
                );
                Self::failed(course, &error).having_run(ran)
            }
        })
    }

    /// Outcome of a call that shares an earlier run; `None` if it is to be judged again.
    async fn share(&self, found: Found, request: &Request, course: &mut Course) -> Option<Ended> {
        let earlier = match found {
            Found::Kept(earlier) => earlier,
            Found::Running(mut shared) => {
                tokio::select! {
                    biased;
                    result = shared.result() => result?,
                    () = request.cancel.cancelled() => {
                        let text =
                            "The call was cancelled. An identical call, which the user has allowed, still runs.";
                        return Some(Ended::told(text, CallOutcome::Cancelled));
                    }
                }
            }
        };
        course.verdict = earlier.verdict.clone();
        tracing::info!(call = %earlier.call, "a call gets the result of an identical one that ran before");
        let EarlierResult { call, ended, at, .. } = &*earlier;
        let end = match &ended.end {
            CallEnd::Result(result) => {
                let words = request.words();
                CallEnd::Result(texts::with_earlier_mark(result, (call, at.elapsed()), words))
            }
            CallEnd::Error(error) => CallEnd::Error(error.clone()),
        };
        Some(Ended {
            end,
            outcome: CallOutcome::Repeated { call: call.clone() },
            said: ended.said.clone(),
            ran: false,
        })
    }

    fn failed(course: &Course, error: &CallError) -> Ended {
        let matter = &course.resolved.matter;
        let text = texts::failed(&matter.config.name, error, Words::of(&matter.subject));
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
        Ended::told(&text, outcome)
    }

    /// Progress sink for the server. Always set, because progress resets the time-out of a silent call
    /// (SRV-8); relayed to the client only if it asked for progress.
    pub(crate) fn progress(&self, request: &Request, id: &CallId) -> ProgressSink {
        let rising = request.progress.clone();
        let (events, running, id) = (self.events.clone(), self.running.clone(), id.clone());
        Arc::new(move |progress: Progress| {
            if let Some(rising) = &rising {
                rising.relay(&progress);
            }
            let shown = shown_progress(&progress);
            running.advance(&id, &shown);
            let CallProgress { progress, total, message } = shown;
            events.emit(Event::CallProgress { call: id.clone(), progress, total, message });
        })
    }

    /// Remembers that a subject was allowed once. A client can make up any number of names; names that aren't
    /// remembered here are looked up in the activity database.
    fn note_use(&self, matter: &Matter) {
        let name = matter.subject.rule_name();
        if name.len() > LONGEST_USED {
            return;
        }
        let mut used = self.used.lock();
        match used.get_mut(matter.server()) {
            Some(names) if names.contains(&*name) || names.len() >= MOST_USED => {}
            Some(names) => {
                names.insert(name.into_owned());
            }
            None => {
                used.insert(matter.server().clone(), [name.into_owned()].into());
            }
        }
    }

    fn record(&self, request: &Request, began: Began, course: &Course, ended: &Ended) {
        let Began { id, at } = began;
        let matter = &course.resolved.matter;
        let millis = |span: Duration| u32::try_from(span.as_millis()).unwrap_or(u32::MAX);
        let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        let duration_ms = millis(course.started.elapsed());
        let record = CallRecord {
            id,
            at,
            client: matter.caller.client.id.clone(),
            client_name: matter.caller.client.name.clone(),
            server: matter.server().clone(),
            server_name: matter.config.name.clone(),
            subject: matter.subject.clone(),
            exposed_name: matter.exposed_name.to_string(),
            program: matter.seen_program().map(|program| program.path.clone()),
            verdict: course.verdict.clone(),
            outcome: ended.outcome.clone(),
            waited_ms: millis(course.waited),
            duration_ms,
            bytes_in: size(request.size),
            bytes_out: size(ended.end.body().get().len()),
            arguments: None,
            result: None,
        };
        if let Some(rule) = record.verdict.rule.decided_by() {
            self.rights.inner.rule_used(rule, record.at);
        }
        let definition = matter.origin.tool().cloned().filter(|definition| definition.promises());
        let redactor = course.resolved.handle.redactor();
        let kept = Kept { arguments: request.arguments.clone(), definition, redactor };
        self.recorder.keep(record, kept, ended.end.body());
    }
}
