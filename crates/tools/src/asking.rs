//! Approval flow of one call: makes an approval request and waits for its outcome (PERM-9, PERM-11).

use std::sync::Arc;

use gatehouse_model::ask::{AskServer, Warning};
use gatehouse_model::grant::FieldChange;
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{CallAsk, Decision, GrantId, Rule, ServerStatus, Verdict};
use gatehouse_policy::cover::Defined;
use gatehouse_policy::definition::{diff, fingerprint};
use gatehouse_policy::describe::CallNames;
use gatehouse_policy::show::reveal;
use tokio::time::{Instant, interval_at, sleep_until};

use crate::approvals::{Seat, Settled, Span, shown_bytes};
use crate::door::{Approval, Course, Ended};
use crate::hold::Sign;
use crate::manager::Inner;
use crate::matter::Matter;
use crate::offer::{Offer, Past, offer, warnings};
use crate::origin::Origin;
use crate::path_lookup::{self, KnownPaths};
use crate::proposals;
use crate::request::Request;
use crate::rounds::{Carried, Step};
use crate::texts::{self, Words};

/// Outcome for a call that no rule decided.
pub(crate) enum Asked {
    Approved(Approval),
    /// The rules have changed.
    JudgeAnew,
    /// The call doesn't run.
    Ended(Ended),
}

/// How waiting for the user ended.
enum Wait {
    Settled(Settled),
    /// The client time-out estimate was reached; the client is told to call again.
    Held,
    /// The client cancelled the call.
    Cancelled,
    /// The client's connection closed; it may come back.
    Left,
}

impl Inner {
    /// Gets a decision for a call that no rule decided.
    pub(crate) async fn settle(self: &Arc<Self>, request: &Request, course: &mut Course) -> Asked {
        let matter = course.resolved.matter.clone();
        let carried = match request.step {
            Step::Input(_) => request.continues(&matter.round_key, &self.rounds).cloned(),
            Step::Retry => self.rounds.take(&matter.round_key, &request.step),
        };
        if let Some(carried) = carried.filter(Carried::is_approval) {
            return Asked::Approved(Approval::carried(&matter, carried));
        }
        let queue = &self.approvals.inner;
        if let Some((ask, reason)) = queue.use_refusal(&matter.key) {
            return Asked::Ended(refused(course, Rule::Answered { ask }, reason.as_deref()));
        }
        // No approval request for a call that couldn't be sent anyway.
        let handle = &course.resolved.handle;
        let status = handle.status();
        let is_unusable =
            matches!(status, ServerStatus::NeedsAuth { .. } | ServerStatus::NeedsClientRegistration { .. });
        if is_unusable || (status == ServerStatus::Stopped && handle.is_held()) {
            let text = texts::unusable(&matter.config.name, &status, request.words());
            return Asked::Ended(Ended::told(
                &text,
                CallOutcome::Failed { message: status.word().to_owned() },
            ));
        }
        if course.verdict.rule == Rule::RightsUnverified && self.rights.inner.look_again().await {
            return Asked::JudgeAnew;
        }
        if request.is_left() {
            return self.until_back(request, course).await.map_or(Asked::JudgeAnew, Asked::Ended);
        }
        let with_progress = request.progress.is_some();
        if let Some(first) = queue.waits_since(&matter.shown_hash) {
            // Some clients give up without cancelling and call again.
            let gap = course.started.saturating_duration_since(first);
            self.note(&matter, Sign::GaveUp(gap), with_progress);
        }
        let span = self.span(request, course);
        let put = match queue.attach(&matter, span) {
            Ok(Some(seat)) => Ok(seat),
            Ok(None) => {
                let call = self.question(request, course, &matter).await;
                queue.put(&matter, call, span)
            }
            Err(too_many) => Err(too_many),
        };
        let seat = match put {
            Ok(seat) => seat,
            Err(too_many) => {
                let text = texts::too_many(&too_many, request.words());
                return Asked::Ended(Ended::told(&text, CallOutcome::Refused));
            }
        };
        course.shown = Some(matter.origin.clone());
        let began = Instant::now();
        let ask = seat.ask().clone();
        let came = self.wait(seat, request, span).await;
        course.waited += began.elapsed();
        match &came {
            Wait::Settled(_) | Wait::Held => {
                self.note(&matter, Sign::Waited(span.since.elapsed()), with_progress);
            }
            Wait::Cancelled => self.note(&matter, Sign::GaveUp(span.since.elapsed()), with_progress),
            // Whether the client gave up is known once it doesn't come back.
            Wait::Left => {}
        }
        match came {
            Wait::Settled(Settled::Allowed(yes)) => {
                let rule = Rule::Answered { ask: yes.ask.clone() };
                Asked::Approved(Approval::given(&matter, rule, yes))
            }
            Wait::Settled(Settled::JudgeAnew) => Asked::JudgeAnew,
            Wait::Settled(Settled::Denied(ask, reason)) => {
                Asked::Ended(refused(course, Rule::Answered { ask }, reason.as_deref()))
            }
            Wait::Settled(Settled::Lapsed(ask)) => {
                Asked::Ended(refused(course, Rule::Unanswered { ask }, None))
            }
            Wait::Held => {
                tracing::debug!(%ask, "a client is told to call again");
                Asked::Ended(Ended::told(&texts::still_waiting(request.words()), CallOutcome::StillWaiting))
            }
            Wait::Cancelled => Asked::Ended(cancelled()),
            Wait::Left => self.until_back(request, course).await.map_or(Asked::JudgeAnew, Asked::Ended),
        }
    }

    /// How long this call may wait for the user.
    fn span(&self, request: &Request, course: &Course) -> Span {
        let hold = self.holds.of(&request.caller.client.id, request.progress.is_some());
        Span { since: course.started, hold }
    }

    /// Waits for a client whose connection closed. `None` when it is back: the call is judged again, with any
    /// answer given in the meantime. If it stays away, the call ends with "call again", in case the client
    /// resumes its stream later.
    pub(crate) async fn until_back(&self, request: &Request, course: &mut Course) -> Option<Ended> {
        let matter = course.resolved.matter.clone();
        let left = Instant::now();
        let gave_up = Sign::GaveUp(course.started.elapsed());
        let ended = tokio::select! {
            biased;
            () = request.cancel.cancelled() => Some(cancelled()),
            () = request.listens(true) => None,
            () = sleep_until(self.span(request, course).end()) => {
                Some(Ended::told(&texts::still_waiting(request.words()), CallOutcome::StillWaiting))
            }
        };
        course.waited += left.elapsed();
        if ended.is_some() {
            self.note(&matter, gave_up, request.progress.is_some());
        }
        ended
    }

    /// Updates the client time-out estimate from what a client did while its call was pending. Clients whose
    /// access was revoked are ignored: they didn't give up by themselves.
    fn note(&self, matter: &Matter, sign: Sign, with_progress: bool) {
        let caller = &matter.caller;
        if !self.closing() && !self.gone.lock().contains(&caller.client.id) {
            self.holds.note(&caller.client.id, caller.session.as_ref(), sign, with_progress);
        }
    }

    async fn wait(&self, mut seat: Seat, request: &Request, span: Span) -> Wait {
        let every = self.patience.progress_every;
        let mut signs = interval_at(Instant::now() + every, every);
        let hold = sleep_until(span.end());
        tokio::pin!(hold);
        loop {
            tokio::select! {
                biased;
                settled = seat.settled() => return Wait::Settled(settled),
                () = request.cancel.cancelled() => return Wait::Cancelled,
                () = request.listens(false) => return Wait::Left,
                () = &mut hold => return Wait::Held,
                _ = signs.tick() => {
                    if let Some(rising) = &request.progress {
                        rising.waiting();
                    }
                }
            }
        }
    }

    /// The approval request as the UI shows it.
    async fn question(&self, request: &Request, course: &Course, matter: &Matter) -> CallAsk {
        let rule = &course.verdict.rule;
        let shown = course.shown.as_ref().and_then(Origin::definition);
        let changes = match (rule, shown, matter.origin.definition()) {
            (Rule::ChangedDefinition { grant }, ..) => self.changes_since(matter, grant).await,
            // The definition changed while the request was shown.
            (_, Some((_, shown)), Some((_, now))) => diff(shown.get(), now.get()),
            _ => Vec::new(),
        };
        let past =
            Past { first_use: self.is_first_use(matter).await, programs: self.programs_of(matter).await };
        let mut paths = KnownPaths::default();
        let missing = paths.missing(proposals::paths(&matter.arguments));
        self.shown_paths.look_up(missing, path_lookup::deadline(), &mut paths).await;
        let rights = self.rights.inner.now();
        let mut warnings = warnings(matter, &rights, rule, &past);
        if !changes.is_empty() && !warnings.contains(&Warning::DefinitionChanged) {
            warnings.insert(0, Warning::DefinitionChanged);
        }
        let name = matter.subject.rule_name();
        let title = match matter.origin.tool() {
            Some(definition) => {
                definition.title.clone().unwrap_or_else(|| reveal(&definition.name).into_owned())
            }
            None => reveal(&name).into_owned(),
        };
        let client = matter.asks();
        let asked = CallNames { server: &matter.config.name, client: &client.name, subject: &matter.subject };
        let Offer { choices, denials, conditions } = offer(matter, &rights, &warnings, &paths, &asked);
        let arguments = request.shown();
        CallAsk {
            client,
            server: AskServer {
                id: matter.server().clone(),
                generation: matter.generation(),
                name: matter.config.name.clone(),
                description: matter.config.look.description.clone(),
                icon: matter.config.icon().to_owned(),
            },
            subject: matter.subject.clone(),
            title,
            exposed_name: matter.exposed_name.to_string(),
            class: matter.class.clone(),
            argument_bytes: u32::try_from(shown_bytes(&arguments)).unwrap_or(u32::MAX),
            arguments: Some(arguments),
            is_abridged: false,
            hash: matter.shown_hash.clone(),
            choices,
            denials,
            conditions,
            warnings,
            changes,
            client_waits_until: None,
        }
    }

    /// The differences between the current definition and the one that a grant was given for (PERM-8).
    async fn changes_since(&self, matter: &Matter, grant: &GrantId) -> Vec<FieldChange> {
        let (Some((of, definition)), Defined::As { pin, .. }) =
            (matter.origin.definition(), matter.origin.defined())
        else {
            return Vec::new();
        };
        let pinned = {
            let rights = self.rights.inner.now();
            let rule = rights.rules().find(|rule| rule.id == *grant);
            rule.and_then(|rule| rule.pins.get(pin).cloned())
        };
        let Some(pinned) = pinned else { return Vec::new() };
        let (store, key) = (self.store.clone(), pinned.clone());
        let before = match tokio::task::spawn_blocking(move || store.definitions().get(&key)).await {
            Ok(Ok(before)) => before,
            Ok(Err(error)) => {
                tracing::warn!(%error, "an earlier definition cannot be read");
                None
            }
            Err(_) => None,
        };
        // Stored definitions have no MAC. If the stored one isn't the pinned one, all fields are shown as new.
        let before = before.filter(|before| fingerprint(of, before).is_ok_and(|found| found == pinned));
        diff(before.as_deref().unwrap_or("{}"), definition.get())
    }

    /// The programs that allowed calls of this client came from, as far as known.
    async fn programs_of(&self, matter: &Matter) -> Vec<String> {
        let (store, client) = (self.store.clone(), matter.caller.client.id.clone());
        let known = tokio::task::spawn_blocking(move || store.activity().programs_of(&client)).await;
        match known {
            Ok(Ok(known)) => known,
            Ok(Err(error)) => {
                tracing::warn!(%error, "it cannot be told from where a client was seen before");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Whether this subject of the server has never been allowed before, as far as known.
    async fn is_first_use(&self, matter: &Matter) -> bool {
        let name = matter.subject.rule_name();
        let used = self.used.lock().get(matter.server()).is_some_and(|names| names.contains(&*name));
        let granted = || {
            let rights = self.rights.inner.now();
            let of_tool = |rule: &gatehouse_model::Grant| {
                rule.server.as_ref().is_some_and(|bound| bound.server == *matter.server())
                    && matches!(&rule.width, gatehouse_model::Width::Tool { tool } if **tool == *name)
            };
            rights.rules().any(of_tool)
        };
        if used || granted() {
            return false;
        }
        let (store, server, name) = (self.store.clone(), matter.server().clone(), name.into_owned());
        let known = tokio::task::spawn_blocking(move || store.activity().was_allowed(&server, &name)).await;
        match known {
            Ok(Ok(known)) => !known,
            Ok(Err(error)) => {
                tracing::warn!(%error, "it cannot be told whether a tool was used before");
                true
            }
            Err(_) => true,
        }
    }
}

fn cancelled() -> Ended {
    Ended::told(
        "The call was cancelled before the user had answered; it did not run.",
        CallOutcome::Cancelled,
    )
}

fn refused(course: &mut Course, rule: Rule, reason: Option<&str>) -> Ended {
    course.verdict = Verdict { decision: Decision::Deny, rule };
    Ended::refused(&course.verdict.rule, reason, Words::of(&course.resolved.matter.subject))
}
