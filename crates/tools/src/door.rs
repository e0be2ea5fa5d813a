//! The way of one call: resolve, judge, ask where nobody has decided, check again, send, record.
//! Every way out of here that is not an allow is a refusal.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::CallOutcome;
use gatehouse_model::{CallHash, CallId, CallRecord, Decision, Event, Rule, Timestamp, Verdict};
use gatehouse_policy::access::not_a_tool;
use gatehouse_policy::exact::{ExactCall, call_hash};
use gatehouse_policy::show::{one_line, reveal};
use gatehouse_servers::{CallError, Lists, Progress, ProgressSink, Reply, ServerHandle};
use tokio::time::Instant;

use crate::asking::Asked;
use crate::call::CallEnd;
use crate::manager::Inner;
use crate::matter::{Beside, Matter};
use crate::raw::Members;
use crate::record::{Kept, outcome_of_error, outcome_of_result};
use crate::request::{Request, Target, unknown};
use crate::rounds::Carried;
use crate::texts::{self, Words};

/// A call is judged anew so many times before it is given up.
const TURNS: usize = 256;

const CHANGING: &str = "This server or what is allowed on it is changing all the time; the call was not sent. Try again in a moment.";

/// A call with what it goes to, as both are now.
pub(crate) struct Resolved {
    pub(crate) matter: Arc<Matter>,
    pub(crate) handle: ServerHandle,
    /// The lists that the definition is from; `None` for what is not a tool.
    pub(crate) lists: Option<Arc<Lists>>,
}

/// How far a call has come; what its record is made of when it is cut short.
pub(crate) struct Course {
    pub(crate) resolved: Resolved,
    pub(crate) verdict: Verdict,
    pub(crate) waited: Duration,
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
pub(crate) struct Ended {
    end: CallEnd,
    outcome: CallOutcome,
    /// What Gatehouse says itself, where the end is not the server's.
    said: Option<Box<str>>,
}

/// A person's yes to one exact call.
pub(crate) struct Approval {
    hash: CallHash,
    rule: Rule,
    carried: Option<Carried>,
}

impl Approval {
    pub(crate) fn of(matter: &Matter, rule: Rule) -> Self {
        Self { hash: matter.hash.clone(), rule, carried: None }
    }

    pub(crate) fn carried(matter: &Matter, carried: Carried) -> Self {
        Self { hash: matter.hash.clone(), rule: carried.rule.clone(), carried: Some(carried) }
    }
}

impl Ended {
    pub(crate) fn told(text: &str, outcome: CallOutcome) -> Self {
        Self { end: CallEnd::Result(texts::error_result(text)), outcome, said: Some(text.into()) }
    }

    /// An end that came from somewhere else.
    fn came(end: CallEnd, outcome: CallOutcome) -> Self {
        Self { end, outcome, said: None }
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
        self.events.emit(Event::CallStarted {
            call: id.clone(),
            client: matter.caller.client.id.clone(),
            server: matter.server().clone(),
            tool: matter.subject.rule_name().into_owned(),
            input: one_line(&matter.arguments),
        });
        let verdict = Verdict { decision: Decision::Deny, rule: Rule::DefaultAsk };
        let mut course =
            Course { resolved, verdict, waited: Duration::ZERO, started, sent: false, sent_again: false };
        let ended = tokio::select! {
            biased;
            () = halt.cancelled() => self.halted(&mut course),
            ended = self.go(&request, (&id, given), &mut course) => ended,
        }
        .fitting(&request.target);
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
        let (handle, config, subject, exposed_name, tool) = match &request.target {
            Target::Tool(name) => {
                let catalogue = self.catalogue.load();
                let Some(tool) = catalogue.by_exposed(name) else {
                    return Err(unknown(&format!("There is no tool named “{}”.", reveal(name))));
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
                (handle, present, subject, tool.exposed.clone(), Some(tool.clone()))
            }
            Target::Access { server, kind, target, exposed } => {
                let handle = self.servers.get(server).filter(|handle| handle.config().enabled);
                let Some(handle) = handle else { return Err(unknown("There is no such server.")) };
                let config = handle.config();
                (handle, config, kind.subject(target), exposed.clone(), None)
            }
        };
        let class = match &tool {
            Some(tool) => self.rights.inner.now().class_of(tool).clone(),
            None => not_a_tool(),
        };
        let hash = call_hash(&ExactCall {
            client: &request.caller.client.id,
            server: &config.id,
            generation: config.generation,
            subject: &subject.rule_name(),
            fingerprint: tool.as_ref().map(|tool| tool.fingerprint()),
            arguments: &request.exact,
        });
        let lists = tool.as_ref().map(|tool| tool.home.lists.clone());
        let matter = Arc::new(Matter {
            caller: request.caller.clone(),
            config,
            subject,
            exposed_name,
            class,
            definition: tool.map(|tool| tool.definition),
            arguments: request.arguments.clone(),
            beside: request.beside.clone(),
            hash,
        });
        Ok(Some(Resolved { matter, handle, lists }))
    }

    /// What the policy says now.
    fn judge(&self, matter: &Matter, with_ticket: bool) -> Verdict {
        let keeper = &self.rights.inner;
        let blocked = self.servers.forbids(&matter.config);
        let ticket = if with_ticket { self.approvals.inner.ticket(&matter.hash) } else { None };
        let (blocked_by_file, paused, ticket) = (blocked.as_deref(), keeper.paused(), ticket.as_ref());
        let beside = Beside { blocked_by_file, paused, ticket };
        matter.judge(&keeper.now(), beside, self.clock.now())
    }

    async fn go(
        self: &Arc<Self>,
        request: &Request,
        (id, given): (&CallId, Option<Rule>),
        course: &mut Course,
    ) -> Ended {
        let mut approval = given.map(|rule| Approval::of(&course.resolved.matter, rule));
        let mut looked_up = true;
        for _ in 0..TURNS {
            if !looked_up {
                match self.resolve(request).await {
                    Ok(resolved) => course.resolved = resolved,
                    Err(end) => return Ended::came(end, CallOutcome::Refused),
                }
            }
            looked_up = false;
            if self.gone.lock().contains(&request.caller.client.id) {
                return Ended::told("The user has ended the access of this client.", CallOutcome::Refused);
            }
            if !self.servers.is_on() {
                course.verdict = Verdict { decision: Decision::Deny, rule: Rule::SwitchedOff };
                return Ended::refused(&course.verdict.rule, None, request.words());
            }
            let matter = course.resolved.matter.clone();
            // Whatever became of the call meanwhile: an approval is for the one that was shown.
            approval = approval.filter(|approval| approval.hash == matter.hash);
            course.verdict = self.judge(&matter, approval.is_none());
            match (course.verdict.decision, &approval) {
                (Decision::Deny, _) => return Ended::refused(&course.verdict.rule, None, request.words()),
                (Decision::Allow | Decision::Ask, Some(approval)) => {
                    course.verdict = Verdict { decision: Decision::Allow, rule: approval.rule.clone() };
                }
                (Decision::Allow, None) => {
                    if let Rule::LateTicket { ask } = &course.verdict.rule {
                        if !self.approvals.inner.use_ticket(&matter.hash, ask) {
                            continue;
                        }
                        approval = Some(Approval::of(&matter, course.verdict.rule.clone()));
                    }
                }
                (Decision::Ask, None) => {
                    match self.settle(request, course).await {
                        Asked::Approved(given) => approval = Some(given),
                        Asked::JudgeAnew => {}
                        Asked::Ended(ended) => return ended,
                    }
                    continue;
                }
            }
            // A connection that had to be made first may have brought other definitions.
            match course.resolved.handle.ready(&request.cancel).await {
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => return Self::failed(course, &error),
            }
            let carried = approval.as_ref().and_then(|approval| approval.carried.as_ref());
            if let Some(ended) = self.dispatch(request, id, course, carried).await {
                return ended;
            }
        }
        Ended::told(CHANGING, CallOutcome::Refused)
    }

    /// Sends the call; `None` when the server is another one by now and nothing was sent.
    async fn dispatch(
        self: &Arc<Self>,
        request: &Request,
        id: &CallId,
        course: &mut Course,
        carried: Option<&Carried>,
    ) -> Option<Ended> {
        let matter = course.resolved.matter.clone();
        self.note_use(&matter);
        course.sent = true;
        let answer = match self.send(request, id, course).await {
            None => {
                course.sent = false;
                return None;
            }
            // Nothing was done with it, so it goes out once more in the new session.
            Some(Err(CallError::SessionLost)) if !course.sent_again => {
                course.sent = false;
                course.sent_again = true;
                return None;
            }
            Some(answer) => answer,
        };
        let rule = &course.verdict.rule;
        Some(match answer {
            Ok(Reply::Result(result)) => {
                self.rounds.note_result(&matter.hash, rule, &result);
                let outcome = outcome_of_result(&result);
                Ended::came(CallEnd::Result(result), outcome)
            }
            Ok(Reply::Error(error)) => {
                self.rounds.note_error(&matter.hash, rule, &error, carried);
                let outcome = outcome_of_error(&error);
                Ended::came(CallEnd::Error(error), outcome)
            }
            Err(error) => Self::failed(course, &error),
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
        let (events, id) = (self.events.clone(), id.clone());
        Arc::new(move |progress: Progress| {
            if let Some(rising) = &rising {
                rising.relay(&progress);
            }
            let members = Members::read(progress.raw.get());
            let total =
                members.as_ref().and_then(|members| serde_json::from_str(members.get("total")?.get()).ok());
            let message = members.as_ref().and_then(|members| members.text("message"));
            events.emit(Event::CallProgress {
                call: id.clone(),
                progress: progress.progress,
                total,
                message,
            });
        })
    }

    /// Remembers that a tool was let through once.
    fn note_use(&self, matter: &Matter) {
        let name = matter.subject.rule_name();
        let mut used = self.used.lock();
        match used.get_mut(matter.server()) {
            Some(names) if names.contains(&*name) => {}
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
            program: matter.program().map(str::to_owned),
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
        let definition = matter.definition.clone().filter(|definition| definition.promises());
        let kept = Kept { arguments: request.arguments.clone(), definition };
        self.recorder.keep(record, kept, ended.end.body());
    }
}
