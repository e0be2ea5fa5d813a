//! Answering requests: all answers are validated together, written to the audit, and only then take effect.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_model::approval::{ChoiceLifetime, ElicitationMode};
use gatehouse_model::record::{AuditEvent, ServerRequestAnswer};
use gatehouse_model::{
    ApprovalAnswer, ApprovalId, ApprovalRequest, Event, Grant, GrantChoice, GrantId, RuleAuthor, RuleEffect,
    SubmittedAnswer, UserError, UserText, message,
};
use gatehouse_policy::conditions::Conditions;
use gatehouse_policy::coverage::DefinitionRef;
use gatehouse_servers::{SchemaCheck, SchemaError, form_schema_check, is_sampling_result};

use super::approval_queue::ApprovalQueue;
use super::approval_table::{
    ApprovalSource, ApprovalWaiter, LateAnswer, LateDecision, QueuedApproval, request_answered, unbound_grant,
};
use super::choices_and_warnings::is_offered;
use super::errors::{bad_request, stale_answer};
use super::outcome::{CallApprovalOutcome, OneTimeApproval};
use crate::paths::path_lookup::{self, KnownPaths};
use crate::pending_call::PendingCall;
use crate::permissions::PermissionChange;
use crate::permissions::rule_draft::{RuleDraft, replaces};

/// A validated answer to the approval request of a call.
struct CheckedAnswer {
    id: ApprovalId,
    pending_call: Arc<PendingCall>,
    allowed: bool,
    choice: GrantChoice,
    reason: Option<String>,
    /// The grant that the request showed as waiting for its first use; an allow binds it to the program.
    unbound: Option<GrantId>,
}

impl ApprovalQueue {
    pub(super) async fn apply_answers(
        self,
        answers: Vec<SubmittedAnswer>,
        by: &'static str,
    ) -> Result<(), UserError> {
        if let [SubmittedAnswer { id, hash: None, answer }] = answers.as_slice()
            && self.state.approvals.lock().get(id).is_some_and(|queued| queued.pending_call().is_none())
        {
            return self.answer_request(id, answer.clone(), by).await;
        }
        let decisions = self.take(answers)?;
        let written = match self.check(&decisions).await {
            Ok(()) => self.write(&decisions, by).await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            self.release_answers(&decisions);
            return Err(error);
        }
        let mut has_ended = false;
        for decision in decisions {
            tracing::info!(approval = %decision.id, allowed = decision.allowed, by, "an approval request was answered");
            has_ended |= !self.apply_answer(decision);
        }
        if has_ended { Err(stale_answer()) } else { Ok(()) }
    }

    async fn answer_request(
        &self,
        id: &ApprovalId,
        answer: ApprovalAnswer,
        by: &'static str,
    ) -> Result<(), UserError> {
        if let Some(check) = self.form_check_for(id, &answer) {
            let checked = match check {
                Ok(check) => self.state.schemas.check(check).await.map_err(|fault| form_fault(&fault)),
                Err(fault) => Err(format!("{fault}.").into()),
            };
            checked.map_err(|fault| bad_request(message!("error.tools.formMismatch")).with_cause(fault))?;
        }
        self.check_sampling_answer(id, &answer)?;
        let entry = self.begin_request_answer(id, &answer, by)?;
        let guard = AnsweringGuard { queue: self, id };
        self.state.permissions.audit(entry.into_iter().collect()).await?;
        let queued = guard.take().ok_or_else(stale_answer)?;
        let ApprovalSource::Request(Some(to)) = queued.source else { return Err(stale_answer()) };
        let allowed = matches!(answer, ApprovalAnswer::Accept { .. });
        if to.send(answer).is_err() {
            self.state.events.emit(Event::ApprovalWithdrawn { approval: id.clone() });
            return Err(stale_answer());
        }
        tracing::info!(approval = %id, allowed, by, "a request that is not about a call was answered");
        self.state.events.emit(Event::ApprovalResolved { approval: id.clone(), allowed });
        Ok(())
    }

    /// The schema check of entered form data, if the request is a form.
    fn form_check_for(
        &self,
        id: &ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Option<Result<SchemaCheck, &'static str>> {
        let ApprovalAnswer::Accept { content } = answer else { return None };
        let mut approvals = self.state.approvals.lock();
        let ApprovalRequest::Elicitation(elicitation) = &approvals.get(id)?.request else { return None };
        let ElicitationMode::Form { schema } = &elicitation.want else { return None };
        Some(form_schema_check(&elicitation.server.id, schema, content.as_deref().unwrap_or("{}")))
    }

    /// Refuses an answer to a sampling request that is no message of a model: the server would get an error, although
    /// the user meant to answer.
    fn check_sampling_answer(&self, id: &ApprovalId, answer: &ApprovalAnswer) -> Result<(), UserError> {
        let ApprovalAnswer::Accept { content } = answer else { return Ok(()) };
        let is_sampling = {
            let mut approvals = self.state.approvals.lock();
            approvals.get(id).is_some_and(|queued| matches!(queued.request, ApprovalRequest::Sampling(_)))
        };
        if is_sampling && !content.as_deref().is_some_and(is_sampling_result) {
            return Err(bad_request(message!("error.tools.notModelMessage")));
        }
        Ok(())
    }

    /// Reserves a request that isn't about a call, so that it takes no other answer, and returns the audit
    /// entry that must be written before the answer takes effect.
    fn begin_request_answer(
        &self,
        id: &ApprovalId,
        answer: &ApprovalAnswer,
        by: &str,
    ) -> Result<Option<AuditEvent>, UserError> {
        let decision = match answer {
            ApprovalAnswer::Accept { .. } => ServerRequestAnswer::Accepted,
            ApprovalAnswer::Decline => ServerRequestAnswer::Declined,
            ApprovalAnswer::Cancel => ServerRequestAnswer::Cancelled,
            ApprovalAnswer::Allow { .. } | ApprovalAnswer::Deny { .. } => {
                return Err(bad_request(message!("error.tools.answerForm")));
            }
        };
        let mut approvals = self.state.approvals.lock();
        let queued = approvals.get(id).filter(|queued| !queued.is_answering).ok_or_else(stale_answer)?;
        queued.is_answering = true;
        Ok(request_answered(&queued.request, id, decision, Some(by)))
    }

    /// Validates all answers against the pending requests and reserves these.
    fn take(&self, answers: Vec<SubmittedAnswer>) -> Result<Vec<CheckedAnswer>, UserError> {
        let distinct: HashSet<&ApprovalId> = answers.iter().map(|answer| &answer.id).collect();
        if answers.is_empty() || distinct.len() != answers.len() {
            return Err(bad_request(message!("error.tools.answerOnce")));
        }
        let mut approvals = self.state.approvals.lock();
        let mut decisions: Vec<CheckedAnswer> = Vec::with_capacity(answers.len());
        for SubmittedAnswer { id, hash, answer } in answers {
            let queued = approvals.get(&id).filter(|queued| !queued.is_answering).ok_or_else(stale_answer)?;
            let pending_call = queued
                .pending_call()
                .cloned()
                .ok_or_else(|| bad_request(message!("error.tools.answerCallsTogether")))?;
            let ApprovalRequest::Call(call) = &queued.request else { return Err(stale_answer()) };
            let fits =
                hash.as_ref() == Some(&pending_call.approval_hash) && call.hash == pending_call.approval_hash;
            if !fits || !self.is_current(queued) {
                return Err(stale_answer());
            }
            let unbound = unbound_grant(call).cloned();
            let (allowed, choice, reason) = match answer {
                ApprovalAnswer::Allow { choice } => {
                    let offered = queued.details.as_ref().map(|details| details.choices.as_slice());
                    if !is_offered(&choice, offered.unwrap_or_default()) {
                        return Err(bad_request(message!("error.tools.choiceNotOffered")));
                    }
                    (true, choice, None)
                }
                ApprovalAnswer::Deny { choice, reason } => (false, choice, reason),
                ApprovalAnswer::Accept { .. } | ApprovalAnswer::Decline | ApprovalAnswer::Cancel => {
                    return Err(bad_request(message!("error.tools.answerCall")));
                }
            };
            if let Some(first) = decisions.first() {
                let same = first.pending_call.binding == pending_call.binding
                    && first.pending_call.caller.client.id == pending_call.caller.client.id
                    && first.pending_call.subject == pending_call.subject
                    && first.pending_call.class.class == pending_call.class.class;
                if !same {
                    return Err(bad_request(message!("error.tools.answerOneTool")));
                }
            }
            decisions.push(CheckedAnswer { id, pending_call, allowed, choice, reason, unbound });
        }
        for decision in &decisions {
            if let Some(queued) = approvals.get(&decision.id) {
                queued.is_answering = true;
            }
        }
        Ok(decisions)
    }

    /// Rejects allows whose conditions, edited by the user, don't cover the call in question.
    async fn check(&self, decisions: &[CheckedAnswer]) -> Result<(), UserError> {
        let mut known = KnownPaths::default();
        let paths = decisions.iter().flat_map(CheckedAnswer::paths).collect();
        self.state.paths.look_up(known.missing(paths), path_lookup::deadline(), &mut known).await;
        decisions.iter().try_for_each(|decision| decision.check(&known))
    }

    fn release_answers(&self, decisions: &[CheckedAnswer]) {
        let mut approvals = self.state.approvals.lock();
        for decision in decisions {
            if let Some(queued) = approvals.get(&decision.id) {
                queued.is_answering = false;
            }
        }
        drop(approvals);
        self.state.wake.notify_one();
    }

    async fn write(&self, decisions: &[CheckedAnswer], by: &'static str) -> Result<(), UserError> {
        let decided: Vec<AuditEvent> = decisions.iter().map(|decision| decision.event(by)).collect();
        let binds: Vec<(GrantId, String)> = decisions.iter().filter_map(CheckedAnswer::binding).collect();
        let is_once = |decision: &CheckedAnswer| decision.choice.lifetime == ChoiceLifetime::Once;
        if binds.is_empty() && decisions.iter().all(is_once) {
            return self.state.permissions.audit(decided).await;
        }
        let mut rules = Vec::new();
        for decision in decisions {
            if let Some(rule) = self.state.permissions.rule(&decision.draft())? {
                let origin = &decision.pending_call.origin;
                let definition = origin.fingerprint().zip(origin.definition());
                let definition =
                    definition.map(|(fingerprint, (_, raw))| (fingerprint.clone(), raw.get().into()));
                rules.push((rule, definition));
            }
        }
        let is_narrowing = decisions.iter().all(|decision| !decision.allowed);
        self.state
            .permissions
            .change(move |store, now| {
                let mut plan = if is_narrowing {
                    PermissionChange::narrowing_by_person()
                } else {
                    PermissionChange::widening()
                };
                plan.audit = decided;
                let mut known: Vec<Grant> = Vec::new();
                for (rule, definition) in rules {
                    // Equal answers of a group make one rule.
                    if known.iter().any(|other| replaces(&rule, other)) {
                        continue;
                    }
                    let mut keep = store.definitions(&rule);
                    keep.extend(definition);
                    known.push(rule.clone());
                    plan.insert_rule(rule, now, keep);
                }
                for (grant, program) in &binds {
                    plan.bind(grant, program, now);
                }
                Ok(plan)
            })
            .await
    }

    /// Applies an answer; returns false if its request has ended in the meantime.
    fn apply_answer(&self, decision: CheckedAnswer) -> bool {
        let Some(queued) = self.state.approvals.lock().remove(&decision.id) else { return false };
        let ApprovalSource::Call { pending_call, waiters } = queued.source else { return false };
        let pauses = queued.pauses;
        let CheckedAnswer { id, allowed, choice, reason, .. } = decision;
        let nobody = waiters.is_empty();
        let late = if allowed {
            let approval =
                OneTimeApproval { id: id.clone(), pauses, run: self.state.runs.begin(&pending_call) };
            self.allow(approval, waiters).map(|approval| {
                drop(approval.run);
                LateDecision::Allowed
            })
        } else {
            for waiter in waiters {
                if waiter
                    .notify(CallApprovalOutcome::Denied { id: id.clone(), reason: reason.clone() })
                    .is_err()
                {
                    tracing::debug!(approval = %id, "a waiting call left in the moment of the answer");
                }
            }
            // A lasting block needs no late denial: the rule itself denies the next call.
            (nobody && choice.lifetime == ChoiceLifetime::Once).then_some(LateDecision::Refused(reason))
        };
        match late {
            Some(decision) => {
                self.store_late_answer(&pending_call, LateAnswer { id: id.clone(), decision, pauses });
                // The answer is used by the first of the identical calls.
                self.end_duplicates(&pending_call.key, |_| true);
            }
            None => self.end_duplicates(&pending_call.key, <[ApprovalWaiter]>::is_empty),
        }
        self.state.events.emit(Event::ApprovalResolved { approval: id, allowed });
        true
    }

    /// Lets one of the waiting calls run: the newest, whose client is most certainly still there. The others
    /// are judged again and then share its run; each has its share before the run can end. Returns the
    /// approval if no call is left.
    fn allow(&self, approval: OneTimeApproval, waiters: Vec<ApprovalWaiter>) -> Option<OneTimeApproval> {
        let id = approval.id.clone();
        let shares: Vec<_> = waiters.iter().map(|waiter| approval.run.share(waiter.since)).collect();
        let mut unused = Some(approval);
        for (waiter, share) in waiters.into_iter().zip(shares).rev() {
            let notified = match (unused.take(), share) {
                (Some(given), share) => {
                    // It must not wait for itself.
                    drop(share);
                    waiter.notify(CallApprovalOutcome::Allowed(given))
                }
                (None, Some(share)) => waiter.notify(CallApprovalOutcome::Shared(share)),
                (None, None) => waiter.notify(CallApprovalOutcome::Reevaluate),
            };
            match notified {
                Ok(()) => {}
                Err(CallApprovalOutcome::Allowed(given)) => unused = Some(given),
                Err(_) => tracing::debug!(approval = %id, "a waiting call left in the moment of the answer"),
            }
        }
        unused
    }
}

/// Why entered form data is refused, with the name of the field.
fn form_fault(fault: &SchemaError) -> UserText {
    match fault {
        SchemaError::Misfit { why, at } if !at.is_empty() => {
            let field = at.trim_start_matches('/').split('/').next().unwrap_or_default();
            let field = field.replace("~1", "/").replace("~0", "~");
            message!("error.tools.formField", field = field, reason = why).into()
        }
        // What is wrong with the fields as a whole, such as one that is missing, names the field itself.
        SchemaError::Misfit { why, at: _ } => format!("{why}.").into(),
        SchemaError::Unusable(_) | SchemaError::Unchecked(_) => format!("{fault}.").into(),
    }
}

/// A request that is being answered. Dropping this lets it be answered again.
struct AnsweringGuard<'a> {
    queue: &'a ApprovalQueue,
    id: &'a ApprovalId,
}

impl AnsweringGuard<'_> {
    /// Removes the request from the queue; it can't be answered any more.
    fn take(self) -> Option<QueuedApproval> {
        self.queue.state.approvals.lock().remove(self.id)
    }
}

impl Drop for AnsweringGuard<'_> {
    fn drop(&mut self) {
        if let Some(queued) = self.queue.state.approvals.lock().get(self.id) {
            queued.is_answering = false;
            self.queue.state.wake.notify_one();
        }
    }
}

impl CheckedAnswer {
    /// The paths that [`Self::check`] needs.
    fn paths(&self) -> Vec<String> {
        let conditions = if self.allowed { &*self.choice.conditions } else { &[] };
        Conditions::new(conditions).paths(&self.pending_call.arguments)
    }

    /// Rejects an allow whose conditions don't cover this exact call.
    fn check(&self, paths: &KnownPaths) -> Result<(), UserError> {
        if self.allowed { self.pending_call.check_conditions(&self.choice.conditions, paths) } else { Ok(()) }
    }

    /// The grant that this answer binds, with the program that was shown.
    fn binding(&self) -> Option<(GrantId, String)> {
        let grant = self.unbound.clone().filter(|_| self.allowed)?;
        Some((grant, self.pending_call.shown_program()?.to_owned()))
    }

    fn event(&self, by: &str) -> AuditEvent {
        AuditEvent::Decided {
            ask: self.id.clone(),
            hash: self.pending_call.hash.clone(),
            client: self.pending_call.caller.client.id.clone(),
            server: self.pending_call.server().clone(),
            subject: self.pending_call.subject.clone(),
            allowed: self.allowed,
            reason: self.reason.clone(),
            by: Some(by.to_owned()),
        }
    }

    fn draft(&self) -> RuleDraft {
        let pending_call = &self.pending_call;
        RuleDraft {
            effect: if self.allowed { RuleEffect::Allow } else { RuleEffect::Deny },
            server: Some(pending_call.binding.clone()),
            subject: Some(pending_call.subject.rule_name().into_owned()),
            hash: Some(pending_call.hash.clone()),
            client: Some(pending_call.caller.client.id.clone()),
            session: pending_call.caller.session.clone(),
            program: pending_call.program().map(str::to_owned),
            choice: self.choice.clone(),
            author: RuleAuthor::Person,
            reason: self.reason.clone(),
            shown: match pending_call.origin.definition_ref() {
                DefinitionRef::Pinned { pin, fingerprint } => Some((pin.to_owned(), fingerprint.clone())),
                DefinitionRef::Listed | DefinitionRef::Unknown => None,
            },
        }
    }
}
