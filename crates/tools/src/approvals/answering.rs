//! Taking answers: checked as a whole, written down, and only then made to count.

use std::collections::HashSet;

use gatehouse_model::ask::{ChoiceLifetime, ElicitationAsk, Elicited};
use gatehouse_model::{Effect, GrantChoice};
use gatehouse_servers::form_fault;

use super::keeping::tell;
use super::*;
use crate::offer::is_offered;
use crate::rights::Plan;
use crate::rules::RuleDraft;

/// One answer about a call, checked.
struct Decision {
    ask: AskId,
    matter: Arc<Matter>,
    allowed: bool,
    choice: GrantChoice,
    reason: Option<String>,
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
            return self.answer_plain(id, answer.clone(), by);
        }
        let decisions = self.take(answers)?;
        let written = self.write(&decisions, by).await;
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

    fn answer_plain(&self, id: &AskId, answer: Answer, by: &'static str) -> Result<(), Problem> {
        if matches!(answer, Answer::Allow { .. } | Answer::Deny { .. }) {
            return Err(wrong("This question is answered with accept, decline or cancel."));
        }
        let mut desk = self.desk.lock();
        let shown = desk.get(id).map(|question| &question.ask);
        if let (
            Some(Ask::Elicitation(ElicitationAsk { want: Elicited::Form { schema }, .. })),
            Answer::Accept { content },
        ) = (shown, &answer)
            && let Some(fault) = form_fault(schema, content.as_deref().unwrap_or("{}"))
        {
            return Err(wrong("What was entered does not fit the form.").why(format!("{fault}.")));
        }
        let question = desk.remove(id).ok_or_else(stale)?;
        drop(desk);
        let About::Plain(Some(to)) = question.about else { return Err(stale()) };
        let allowed = matches!(answer, Answer::Accept { .. });
        to.send(answer).map_err(|_| stale())?;
        tracing::info!(ask = %id, allowed, by, "a question was answered");
        self.events.emit(Event::ApprovalResolved { ask: id.clone(), allowed });
        Ok(())
    }

    /// Checks all answers against what waits now and holds their questions.
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
            if hash.as_ref() != Some(&matter.hash) || call.hash != matter.hash {
                return Err(stale());
            }
            let (allowed, choice, reason) = match answer {
                Answer::Allow { choice } => {
                    if !is_offered(&choice, &call.choices) {
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
                let same = first.matter.server() == matter.server()
                    && first.matter.generation() == matter.generation()
                    && first.matter.caller.client.id == matter.caller.client.id
                    && first.matter.subject == matter.subject
                    && first.matter.class.class == matter.class.class;
                if !same {
                    return Err(wrong("Only calls of one tool and one class can be answered together."));
                }
            }
            decisions.push(Decision { ask: id, matter, allowed, choice, reason });
        }
        for decision in &decisions {
            if let Some(question) = desk.get(&decision.ask) {
                question.answering = true;
            }
        }
        Ok(decisions)
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
        if decisions.iter().all(|decision| decision.choice.lifetime == ChoiceLifetime::Once) {
            return self.rights.audit(decided).await;
        }
        let mut rules = Vec::new();
        for decision in decisions {
            if let Some(rule) = self.rights.rule(&decision.draft())? {
                let kept = decision
                    .matter
                    .definition
                    .as_ref()
                    .map(|definition| (definition.fingerprint.clone(), definition.raw.get().into()));
                rules.push((rule, kept));
            }
        }
        let narrows = decisions.iter().all(|decision| !decision.allowed);
        self.rights
            .change(move |keeper, now| {
                let mut plan = if narrows { Plan::narrowing() } else { Plan::widening() };
                plan.audit = decided;
                let mut known: Vec<gatehouse_model::Grant> = Vec::new();
                for (rule, kept) in rules {
                    // A group that is answered alike leaves one rule.
                    if known.iter().any(|other| crate::rules::replaces(&rule, other)) {
                        continue;
                    }
                    let mut keep = keeper.definitions(&rule);
                    keep.extend(kept);
                    known.push(rule.clone());
                    plan.put(rule, now, keep);
                }
                Ok(plan)
            })
            .await
    }

    /// Makes an answer count; false when its question has ended meanwhile.
    fn settle(&self, decision: Decision) -> bool {
        let Some(question) = self.desk.lock().remove(&decision.ask) else { return false };
        let About::Call { matter, waiters } = question.about else { return false };
        let Decision { ask, allowed, choice, reason, .. } = decision;
        if allowed {
            // "Once" is one call: the newest has its client for certain. The others are judged anew,
            // which a wider answer lets through.
            let mut open = true;
            for waiter in waiters.into_iter().rev() {
                if open {
                    open = !tell(waiter, Settled::Allowed(ask.clone()));
                } else if !tell(waiter, Settled::JudgeAnew) {
                    tracing::debug!(%ask, "a waiting call left in the moment of the answer");
                }
            }
            if open {
                self.keep_late(&matter, ask.clone(), Word::Allowed);
            }
        } else {
            let nobody = waiters.is_empty();
            for waiter in waiters {
                if !tell(waiter, Settled::Denied(ask.clone(), reason.clone())) {
                    tracing::debug!(%ask, "a waiting call left in the moment of the answer");
                }
            }
            // A wider block speaks for itself.
            if nobody && choice.lifetime == ChoiceLifetime::Once {
                self.keep_late(&matter, ask.clone(), Word::Refused(reason));
            }
        }
        self.events.emit(Event::ApprovalResolved { ask, allowed });
        true
    }
}

impl Decision {
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
            server: Some(gatehouse_model::grant::ServerBinding {
                server: matter.server().clone(),
                generation: matter.generation(),
            }),
            subject: Some(matter.subject.rule_name().into_owned()),
            hash: Some(matter.hash.clone()),
            client: Some(matter.caller.client.id.clone()),
            session: matter.caller.session.clone(),
            program: matter.program().map(str::to_owned),
            choice: self.choice.clone(),
            reason: self.reason.clone(),
            shown: matter
                .definition
                .as_ref()
                .map(|definition| (definition.name.to_string(), definition.fingerprint.clone())),
        }
    }
}
