//! Answering requests: all answers are validated together, written to the audit, and only then take effect.

use std::collections::HashSet;

use gatehouse_model::ask::{ChoiceLifetime, Elicited, Warning};
use gatehouse_model::record::{ServerRequestAnswer, ServerRequestKind};
use gatehouse_model::{Effect, GrantChoice, GrantId, RuleAuthor};
use gatehouse_policy::conditions::Conditions;
use gatehouse_policy::cover::Defined;
use gatehouse_servers::{SchemaCheck, form_check};

use super::keeping::tell;
use super::*;
use crate::offer::is_offered;
use crate::path_lookup::{self, KnownPaths};
use crate::rights::Plan;
use crate::rules::RuleDraft;

/// A validated answer to the approval request of a call.
struct Decision {
    ask: AskId,
    matter: Arc<Matter>,
    allowed: bool,
    choice: GrantChoice,
    reason: Option<String>,
    /// The grant that the request showed as waiting for its first use; an allow binds it to the program.
    unbound: Option<GrantId>,
}

/// The grant that an approval request shows as waiting for its first use.
pub(super) fn unbound_grant(call: &CallAsk) -> Option<&GrantId> {
    call.warnings.iter().find_map(|warning| {
        if let Warning::UnboundGrant { grant, .. } = warning { Some(grant) } else { None }
    })
}

pub(super) fn stale() -> Problem {
    Problem::new(ErrorCode::StaleAnswer, "The question is gone, or shows another call by now.")
        .todo("Look at the questions that wait and answer again.")
}

pub(super) fn wrong(what: &str) -> Problem {
    Problem::new(ErrorCode::BadRequest, what)
}

impl Queue {
    pub(super) async fn answer(
        self: Arc<Self>,
        answers: Vec<AskAnswer>,
        by: &'static str,
    ) -> Result<(), Problem> {
        if let [AskAnswer { id, hash: None, answer }] = answers.as_slice()
            && self.desk.lock().get(id).is_some_and(|question| question.matter().is_none())
        {
            return self.answer_plain(id, answer.clone(), by).await;
        }
        let decisions = self.take(answers)?;
        let written = match self.check(&decisions).await {
            Ok(()) => self.write(&decisions, by).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = written {
            self.put_back(&decisions);
            return Err(problem);
        }
        let mut gone = false;
        for decision in decisions {
            tracing::info!(ask = %decision.ask, allowed = decision.allowed, by, "a question was answered");
            gone |= !self.settle(decision);
        }
        if gone { Err(stale()) } else { Ok(()) }
    }

    async fn answer_plain(&self, id: &AskId, answer: Answer, by: &'static str) -> Result<(), Problem> {
        if let Some(check) = self.entered(id, &answer) {
            let checked = match check {
                Ok(check) => self.schemas.check(check).await.map_err(|fault| fault.to_string()),
                Err(fault) => Err(fault.to_owned()),
            };
            checked
                .map_err(|fault| wrong("What was entered does not fit the form.").why(format!("{fault}.")))?;
        }
        let entry = self.hold_plain(id, &answer, by)?;
        let held = HeldRequest { queue: self, ask: id };
        self.rights.audit(entry.into_iter().collect()).await?;
        let question = held.take().ok_or_else(stale)?;
        let About::Plain(Some(to)) = question.about else { return Err(stale()) };
        let allowed = matches!(answer, Answer::Accept { .. });
        to.send(answer).map_err(|_| stale())?;
        tracing::info!(ask = %id, allowed, by, "a question was answered");
        self.events.emit(Event::ApprovalResolved { ask: id.clone(), allowed });
        Ok(())
    }

    /// The schema check of entered form data, if the request is a form.
    fn entered(&self, id: &AskId, answer: &Answer) -> Option<Result<SchemaCheck, &'static str>> {
        let Answer::Accept { content } = answer else { return None };
        let mut desk = self.desk.lock();
        let Ask::Elicitation(asked) = &desk.get(id)?.ask else { return None };
        let Elicited::Form { schema } = &asked.want else { return None };
        Some(form_check(&asked.server.id, schema, content.as_deref().unwrap_or("{}")))
    }

    /// Reserves a request that isn't about a call, so that it takes no other answer, and returns the audit
    /// entry that must be written before the answer takes effect.
    fn hold_plain(&self, id: &AskId, answer: &Answer, by: &str) -> Result<Option<AuditEvent>, Problem> {
        let decision = match answer {
            Answer::Accept { .. } => ServerRequestAnswer::Accepted,
            Answer::Decline => ServerRequestAnswer::Declined,
            Answer::Cancel => ServerRequestAnswer::Cancelled,
            Answer::Allow { .. } | Answer::Deny { .. } => {
                return Err(wrong("This question is answered with accept, decline or cancel."));
            }
        };
        let mut desk = self.desk.lock();
        let question = desk.get(id).filter(|question| !question.answering).ok_or_else(stale)?;
        question.answering = true;
        Ok(server_request(&question.ask, id, decision, Some(by)))
    }

    /// Validates all answers against the pending requests and reserves these.
    fn take(&self, answers: Vec<AskAnswer>) -> Result<Vec<Decision>, Problem> {
        let distinct: HashSet<&AskId> = answers.iter().map(|answer| &answer.id).collect();
        if answers.is_empty() || distinct.len() != answers.len() {
            return Err(wrong("Each question is answered once."));
        }
        let mut desk = self.desk.lock();
        let mut decisions: Vec<Decision> = Vec::with_capacity(answers.len());
        for AskAnswer { id, hash, answer } in answers {
            let question = desk.get(&id).filter(|question| !question.answering).ok_or_else(stale)?;
            let matter = question
                .matter()
                .cloned()
                .ok_or_else(|| wrong("Only questions about calls are answered together."))?;
            let Ask::Call(call) = &question.ask else { return Err(stale()) };
            let fits = hash.as_ref() == Some(&matter.shown_hash) && call.hash == matter.shown_hash;
            if !fits || !self.is_current(question) {
                return Err(stale());
            }
            let unbound = unbound_grant(call).cloned();
            let (allowed, choice, reason) = match answer {
                Answer::Allow { choice } => {
                    let offered = question.details.as_ref().map(|details| details.choices.as_slice());
                    if !is_offered(&choice, offered.unwrap_or_default()) {
                        return Err(wrong("This choice is not offered for this call."));
                    }
                    (true, choice, None)
                }
                Answer::Deny { choice, reason } => (false, choice, reason),
                Answer::Accept { .. } | Answer::Decline | Answer::Cancel => {
                    return Err(wrong("A question about a call is answered with allow or deny."));
                }
            };
            if let Some(first) = decisions.first() {
                let same = first.matter.binding == matter.binding
                    && first.matter.caller.client.id == matter.caller.client.id
                    && first.matter.subject == matter.subject
                    && first.matter.class.class == matter.class.class;
                if !same {
                    return Err(wrong("Only calls of one tool and one class can be answered together."));
                }
            }
            decisions.push(Decision { ask: id, matter, allowed, choice, reason, unbound });
        }
        for decision in &decisions {
            if let Some(question) = desk.get(&decision.ask) {
                question.answering = true;
            }
        }
        Ok(decisions)
    }

    /// Rejects allows whose conditions, edited by the user, don't cover the call in question.
    async fn check(&self, decisions: &[Decision]) -> Result<(), Problem> {
        let mut known = KnownPaths::default();
        let paths = decisions.iter().flat_map(Decision::paths).collect();
        self.paths.look_up(known.missing(paths), path_lookup::deadline(), &mut known).await;
        decisions.iter().try_for_each(|decision| decision.check(&known))
    }

    fn put_back(&self, decisions: &[Decision]) {
        let mut desk = self.desk.lock();
        for decision in decisions {
            if let Some(question) = desk.get(&decision.ask) {
                question.answering = false;
            }
        }
        drop(desk);
        self.wake.notify_one();
    }

    async fn write(&self, decisions: &[Decision], by: &'static str) -> Result<(), Problem> {
        let decided: Vec<AuditEvent> = decisions.iter().map(|decision| decision.event(by)).collect();
        let binds: Vec<(GrantId, String)> = decisions.iter().filter_map(Decision::binding).collect();
        let is_once = |decision: &Decision| decision.choice.lifetime == ChoiceLifetime::Once;
        if binds.is_empty() && decisions.iter().all(is_once) {
            return self.rights.audit(decided).await;
        }
        let mut rules = Vec::new();
        for decision in decisions {
            if let Some(rule) = self.rights.rule(&decision.draft())? {
                let origin = &decision.matter.origin;
                let kept = origin.fingerprint().zip(origin.definition());
                let kept = kept.map(|(fingerprint, (_, raw))| (fingerprint.clone(), raw.get().into()));
                rules.push((rule, kept));
            }
        }
        let narrows = decisions.iter().all(|decision| !decision.allowed);
        self.rights
            .change(move |keeper, now| {
                let mut plan = if narrows { Plan::narrowing_by_person() } else { Plan::widening() };
                plan.audit = decided;
                let mut known: Vec<gatehouse_model::Grant> = Vec::new();
                for (rule, kept) in rules {
                    // Equal answers of a group make one rule.
                    if known.iter().any(|other| crate::rules::replaces(&rule, other)) {
                        continue;
                    }
                    let mut keep = keeper.definitions(&rule);
                    keep.extend(kept);
                    known.push(rule.clone());
                    plan.put(rule, now, keep);
                }
                for (grant, program) in &binds {
                    plan.bind(grant, program, now);
                }
                Ok(plan)
            })
            .await
    }

    /// Applies an answer; returns false if its request has ended in the meantime.
    fn settle(self: &Arc<Self>, decision: Decision) -> bool {
        let Some(question) = self.desk.lock().remove(&decision.ask) else { return false };
        let About::Call { matter, waiters } = question.about else { return false };
        let pauses = question.pauses;
        let Decision { ask, allowed, choice, reason, .. } = decision;
        let nobody = waiters.is_empty();
        let late = if allowed {
            let yes = Yes { ask: ask.clone(), pauses, run: self.runs.begin(&matter) };
            self.allow(yes, waiters).map(|yes| {
                drop(yes.run);
                Word::Allowed
            })
        } else {
            for waiter in waiters {
                if tell(waiter, Settled::Denied(ask.clone(), reason.clone())).is_err() {
                    tracing::debug!(%ask, "a waiting call left in the moment of the answer");
                }
            }
            // A lasting block needs no late denial: the rule itself denies the next call.
            (nobody && choice.lifetime == ChoiceLifetime::Once).then_some(Word::Refused(reason))
        };
        match late {
            Some(word) => {
                self.keep_late(&matter, Late::new(ask.clone(), word, pauses));
                // The answer is used by the first of the identical calls.
                self.end_twins(&matter.key, |_| true);
            }
            None => self.end_twins(&matter.key, <[Waiter]>::is_empty),
        }
        self.events.emit(Event::ApprovalResolved { ask, allowed });
        true
    }

    /// Lets one of the waiting calls run: the newest, whose client is most certainly still there. The others
    /// are judged again and then share its run. Returns the approval if no call is left.
    fn allow(&self, yes: Yes, waiters: Vec<Waiter>) -> Option<Yes> {
        let ask = yes.ask.clone();
        let mut yes = Some(yes);
        for waiter in waiters.into_iter().rev() {
            let told = match yes.take() {
                Some(given) => tell(waiter, Settled::Allowed(given)),
                None => tell(waiter, Settled::JudgeAnew),
            };
            match told {
                Ok(()) => {}
                Err(Settled::Allowed(given)) => yes = Some(given),
                Err(_) => tracing::debug!(%ask, "a waiting call left in the moment of the answer"),
            }
        }
        yes
    }
}

/// A request that is being answered. Dropping this lets it be answered again.
struct HeldRequest<'a> {
    queue: &'a Queue,
    ask: &'a AskId,
}

impl HeldRequest<'_> {
    /// Removes the request from the queue; it can't be answered any more.
    fn take(self) -> Option<Question> {
        self.queue.desk.lock().remove(self.ask)
    }
}

impl Drop for HeldRequest<'_> {
    fn drop(&mut self) {
        if let Some(question) = self.queue.desk.lock().get(self.ask) {
            question.answering = false;
            self.queue.wake.notify_one();
        }
    }
}

/// The audit entry for the answer to a server's request; `None` for requests with an audit entry of their own.
pub(super) fn server_request(
    ask: &Ask,
    id: &AskId,
    answer: ServerRequestAnswer,
    by: Option<&str>,
) -> Option<AuditEvent> {
    let (request, server, client) = ServerRequestKind::of(ask)?;
    let by = by.map(str::to_owned);
    Some(AuditEvent::ServerRequestAnswered { ask: id.clone(), request, server, client, answer, by })
}

impl Decision {
    /// The paths that [`Self::check`] needs.
    fn paths(&self) -> Vec<String> {
        let conditions = if self.allowed { &*self.choice.conditions } else { &[] };
        Conditions::new(conditions).paths(&self.matter.arguments)
    }

    /// Rejects an allow whose conditions don't cover this exact call.
    fn check(&self, paths: &KnownPaths) -> Result<(), Problem> {
        if self.allowed { self.matter.check_conditions(&self.choice.conditions, paths) } else { Ok(()) }
    }

    /// The grant that this answer binds, with the program that was shown.
    fn binding(&self) -> Option<(GrantId, String)> {
        let grant = self.unbound.clone().filter(|_| self.allowed)?;
        Some((grant, self.matter.program()?.to_owned()))
    }

    fn event(&self, by: &str) -> AuditEvent {
        AuditEvent::Decided {
            ask: self.ask.clone(),
            hash: self.matter.hash.clone(),
            client: self.matter.caller.client.id.clone(),
            server: self.matter.server().clone(),
            subject: self.matter.subject.clone(),
            allowed: self.allowed,
            reason: self.reason.clone(),
            by: Some(by.to_owned()),
        }
    }

    fn draft(&self) -> RuleDraft {
        let matter = &self.matter;
        RuleDraft {
            effect: if self.allowed { Effect::Allow } else { Effect::Deny },
            server: Some(matter.binding.clone()),
            subject: Some(matter.subject.rule_name().into_owned()),
            hash: Some(matter.hash.clone()),
            client: Some(matter.caller.client.id.clone()),
            session: matter.caller.session.clone(),
            program: matter.program().map(str::to_owned),
            choice: self.choice.clone(),
            author: RuleAuthor::Person,
            reason: self.reason.clone(),
            shown: match matter.origin.defined() {
                Defined::As { pin, fingerprint } => Some((pin.to_owned(), fingerprint.clone())),
                Defined::Listed | Defined::Unknown => None,
            },
        }
    }
}
