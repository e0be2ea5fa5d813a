//! The way of one call: resolve, judge, ask where nobody has decided, check again, send, record.
//! Every way out of here that is not an allow is a refusal.

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

/// A call is judged anew so many times before it is given up.
const TURNS: usize = 256;

/// So many names of one server are remembered as used, and none that is longer, in bytes.
const MOST_USED: usize = 4096;
const LONGEST_USED: usize = 1024;

const CHANGING: &str = "This server or what is allowed on it is changing all the time; the call was not sent. Try again in a moment.";

/// A call with what it goes to, as both are now.
pub(crate) struct Resolved {
    pub(crate) matter: Arc<Matter>,
    pub(crate) handle: ServerHandle,
    /// The lists that the definition is from; `None` where there is none.
    pub(crate) lists: Option<Arc<Lists>>,
}

/// How far a call has come; what its record is made of when it is cut short.
pub(crate) struct Course {
    pub(crate) resolved: Resolved,
    pub(crate) verdict: Verdict,
    pub(crate) waited: Duration,
    /// What it was defined by when a person was shown it last.
    pub(crate) shown: Option<Origin>,
    /// When the call came in; its client counts from then.
    pub(crate) started: Instant,
    sent: bool,
    /// Whether it was sent again because the server had lost its session.
    sent_again: bool,
}

/// How a call began.
struct Began {
    id: CallId,
    at: Timestamp,
}

/// How a call ended.
#[derive(Clone)]
pub(crate) struct Ended {
    end: CallEnd,
    outcome: CallOutcome,
    /// What Gatehouse says itself, where the end is not the server's.
    said: Option<Box<str>>,
    /// Whether the call reached its server and this is what came of it.
    ran: bool,
}

/// Says no more than which: results are not for logs.
impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ended").field("end", &self.end).finish_non_exhaustive()
    }
}

/// A person's yes to one exact call.
pub(crate) struct Approval {
    hash: CallHash,
    rule: Rule,
    carried: Option<Carried>,
    /// The answer of a person to this very call; what is carried over or the user's own call has none.
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

    /// An end that came from somewhere else.
    fn came(end: CallEnd, outcome: CallOutcome) -> Self {
        Self { end, outcome, said: None, ran: false }
    }

    /// The same as what came of a call at its server.
    fn having_run(self, ran: bool) -> Self {
        Self { ran, ..self }
    }

    /// Bytes of it.
    pub(crate) fn size(&self) -> usize {
        self.end.body().get().len()
    }

    /// Only the results of tools know `isError`; whoever asked for something else gets an error.
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
    /// Carries one request to its end.
    pub(crate) async fn run(self: &Arc<Self>, request: Request) -> CallEnd {
        self.run_under(request, None).await
    }

    /// Carries a request of the user's own to its end: nobody has to be asked, but what the user
    /// has blocked stays blocked.
    pub(crate) async fn run_for_user(self: &Arc<Self>, request: Request) -> CallEnd {
        self.run_under(request, Some(Rule::ByUser)).await
    }

    async fn run_under(self: &Arc<Self>, request: Request, given: Option<Rule>) -> CallEnd {
        let started = Instant::now();
        let at = self.clock.now();
        // Taken before the pause is looked at: a pause that comes later cancels this one.
        let halt = self.halt.load_full();
        self.rights.inner.saw_client(&request.caller.client);
        let resolved = match self.resolve(&request).await {
            Ok(resolved) => resolved,
            // What was never connected has no tools that could be known.
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

    /// The end of a call that a pause or the end of Gatehouse cuts short.
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

    /// What a request is about, as things are now.
    async fn resolve(self: &Arc<Self>, request: &Request) -> Result<Resolved, CallEnd> {
        for _ in 0..TURNS {
            match self.look_up(request)? {
                Some(resolved) => return Ok(resolved),
                None => self.refresh().await,
            }
        }
        Err(Ended::told(CHANGING, CallOutcome::Refused).fitting(&request.target).end)
    }

    /// As `resolve`; `None` when the catalogue is behind the server.
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
        // The question shows the round, so what is answered later is for the call with just this one.
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

    /// What the policy says now. Paths are looked up first, each time afresh; everything else is as it is at the
    /// end of that, and rules that came meanwhile have their paths looked up too.
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
            // No rule knows of input that nobody has asked for.
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
            // Whatever became of the call meanwhile: an approval is for the one that was shown.
            approval = approval.filter(|approval| approval.hash == matter.hash);
            // Before anything else is looked at, since paths may take a moment.
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
                // A result is given out once, so whoever has left does not get it.
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
            // A connection that had to be made first may have brought other definitions.
            match course.resolved.handle.ready(&request.cancel).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => return Self::failed(course, &error),
            }
            // Nobody sees what would happen now; the yes is for the next identical call.
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

    /// Sends the call; `None` when the server is another one by now and nothing was sent.
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
            // Nothing was done with it, so it goes out once more in the new session.
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

    /// The end of a call that shares an earlier run; `None` when it is to be judged anew.
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

    /// Where the server's progress goes. It is always wanted, for it resets the limit of a silent
    /// call (SRV-8); the client hears of it only when it asked.
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

    /// Remembers that a tool was let through once. A client can make up names without end; the activity knows
    /// those that are not remembered here.
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
