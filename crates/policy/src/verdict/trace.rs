//! How a call was judged, check by check (UI-5). Follows [`RuleSet::decide`] and never decides anything itself: the rule
//! that is marked as the deciding one is that of the verdict.

use std::convert::Infallible;
use std::ops::ControlFlow;

use gatehouse_model::grant::Rule;
use gatehouse_model::id::GrantId;
use gatehouse_model::verdict_trace::{JudgedCheck, JudgedRule, MAX_JUDGED_RULES, PolicyCheck, RuleFit};

use super::{CallFacts, PreparedRule, RuleSet};
use crate::conditions::ConditionOutcome;
use crate::coverage::{Coverage, can_be_bound, coverage, is_bound_to_other_program, is_in_force};

impl RuleSet {
    /// The checks that [`Self::decide`] makes of a call, up to the one that decides, with the rules that each looks at.
    #[must_use]
    pub fn trace(&self, call: &CallFacts<'_>) -> Vec<JudgedCheck> {
        let context = &call.context;
        let mut checks = vec![JudgedCheck::new(PolicyCheck::ManagedPolicy)];
        if context.blocked_by_file.is_some() {
            return checks;
        }
        checks.push(JudgedCheck::new(PolicyCheck::Pause));
        if context.paused {
            return checks;
        }
        let verdict = self.decide(call);
        checks.push(self.judged_denies(call));
        if matches!(verdict.rule, Rule::ExplicitDeny { .. }) {
            return checks;
        }
        checks.push(JudgedCheck::new(PolicyCheck::LateApproval));
        if context.ticket.is_some() {
            return checks;
        }
        checks.push(JudgedCheck::new(PolicyCheck::Verification));
        if !context.verified {
            return checks;
        }
        let deciding = verdict.rule.deciding_grant();
        checks.push(self.judged_allows(call, deciding));
        if deciding.is_none() {
            checks.push(JudgedCheck::new(PolicyCheck::Default));
        }
        checks
    }

    /// The denies that a call was compared with, up to the first that applies.
    fn judged_denies(&self, call: &CallFacts<'_>) -> JudgedCheck {
        let server_rules = self.by_server.get(&call.server.server);
        let used = self.denied_readings(server_rules, call);
        let mut list = JudgedCheck::new(PolicyCheck::Denies);
        let mut add = |at: usize| {
            let Some(entry) = self.entries.get(at) else { return ControlFlow::Continue(()) };
            let finding = entry.deny_fit(call);
            let is_decided = finding == RuleFit::Decided;
            push(&mut list, JudgedRule { rule: entry.rule.id.clone(), finding });
            if is_decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // Whether one applied stands in the list.
        let _found =
            self.denies(server_rules).try_for_each(|denies| denies.visit_candidates(call, &used, &mut add));
        list
    }

    /// The allows that a call was compared with.
    fn judged_allows(&self, call: &CallFacts<'_>, deciding: Option<&GrantId>) -> JudgedCheck {
        let mut list = JudgedCheck::new(PolicyCheck::Allows);
        let Some(server_rules) = self.by_server.get(&call.server.server) else { return list };
        let ControlFlow::<Infallible>::Continue(()) =
            server_rules.allows.visit_candidates(call, &[], &mut |at| {
                if let Some(entry) = self.entries.get(at) {
                    let is_deciding = deciding == Some(&entry.rule.id);
                    let finding = if is_deciding { RuleFit::Decided } else { entry.allow_fit(call) };
                    push(&mut list, JudgedRule { rule: entry.rule.id.clone(), finding });
                }
                ControlFlow::Continue(())
            });
        list
    }
}

/// Adds a rule to the list. The one that decided is in it in any case.
fn push(list: &mut JudgedCheck, rule: JudgedRule) {
    if list.rules.len() < MAX_JUDGED_RULES {
        list.rules.push(rule);
        return;
    }
    list.more = list.more.saturating_add(1);
    if rule.finding == RuleFit::Decided
        && let Some(last) = list.rules.last_mut()
    {
        *last = rule;
    }
}

impl PreparedRule {
    fn deny_fit(&self, call: &CallFacts<'_>) -> RuleFit {
        if coverage(&self.rule, &call.subject_facts(), Some(call.hash)) != Coverage::Covers {
            return RuleFit::NotCovered;
        }
        if !is_in_force(&self.rule, &call.caller_facts()) {
            return RuleFit::NotInForce;
        }
        if self.denies(call) { RuleFit::Decided } else { RuleFit::ConditionsFailed }
    }

    /// What keeps an allow that did not decide from doing so.
    fn allow_fit(&self, call: &CallFacts<'_>) -> RuleFit {
        let by = call.caller_facts();
        let covers = coverage(&self.rule, &call.subject_facts(), Some(call.hash));
        let in_force = is_in_force(&self.rule, &by);
        let can_be_bound = can_be_bound(&self.rule, &by);
        let holds = || {
            self.conditions.is_empty()
                || self.conditions.evaluate(call.arguments, call.resolve_path) == ConditionOutcome::Yes
        };
        match covers {
            Coverage::NotCovered => RuleFit::NotCovered,
            Coverage::AddedLater => RuleFit::AddedLater,
            Coverage::Covers | Coverage::Suspended if !in_force && !can_be_bound => {
                if is_bound_to_other_program(&self.rule, call.program) {
                    RuleFit::OtherProgram
                } else {
                    RuleFit::NotInForce
                }
            }
            Coverage::Covers | Coverage::Suspended if !holds() => RuleFit::ConditionsFailed,
            Coverage::Suspended => RuleFit::ChangedDefinition,
            Coverage::Covers if in_force => RuleFit::Outranked,
            Coverage::Covers => RuleFit::Unbound,
        }
    }
}
