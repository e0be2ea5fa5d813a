//! The verdict on one call, with the rule that led to it (PERM-1, 3, 4, 5, 6, 8, 18).
//!
//! Rules are looked up by server, then by exact call, by name, and last among those with a wide scope, so that
//! a call stays cheap with thousands of rules; the common case doesn't allocate. Denies of resources are
//! looked up by the readings of the URI. An allow never applies to a call that it may not cover, and a deny
//! always applies to a call that it may cover.
//!
//! If an allow is suspended because the tool's definition changed, only that allow is affected: an approval of
//! the current definition (a late-approval ticket, a newer grant) still counts. Otherwise the user would be
//! asked again and again.

mod trace;

use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use gatehouse_model::ServerBinding;
use gatehouse_model::grant::{
    AccessClassification, Decision, Grant, Lifetime, Rule, RuleEffect, Scope, Verdict,
};
use gatehouse_model::id::{ApprovalId, CallHash, ClientId, ServerId, SessionId};
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::time::Timestamp;

use crate::conditions::{ConditionOutcome, Conditions};
use crate::coverage::{
    CallerFacts, Coverage, DefinitionRef, SubjectFacts, can_be_bound, coverage, is_in_force,
};
use crate::json::Json;
use crate::uri_fold::{UriReading, readings};

/// A map that is read several times for each call. Its keys come from servers; `ahash` is seeded at random, as the
/// standard hasher is, and costs a fraction of it.
type LookupMap<K, V> = HashMap<K, V, ahash::RandomState>;

/// Everything that a verdict depends on.
#[derive(Clone, Copy)]
pub struct CallFacts<'a> {
    pub client: &'a ClientId,
    /// Set for clients of the stateful protocol revisions.
    pub session: Option<&'a SessionId>,
    /// The program of the peer process, if it is known.
    pub program: Option<&'a str>,
    /// The server, its generation and its identity (SRV-16).
    pub server: &'a ServerBinding,
    pub subject: SubjectRef<'a>,
    pub class: &'a AccessClassification,
    pub definition: DefinitionRef<'a>,
    pub arguments: &'a Json,
    pub hash: &'a CallHash,
    /// The current time.
    pub now: Timestamp,
    /// Resolves a path to an absolute one, including `..` and links; `None` if it can't be resolved. Only called
    /// for the paths in [`RuleSet::paths`].
    pub resolve_path: &'a dyn Fn(&str) -> Option<String>,
    pub context: PolicyContext<'a>,
}

impl<'a> CallFacts<'a> {
    fn subject_facts(&self) -> SubjectFacts<'a> {
        let Self { server, subject, class, definition, .. } = *self;
        SubjectFacts { server, subject, class, definition }
    }

    fn caller_facts(&self) -> CallerFacts<'a> {
        let Self { client, session, program, now, .. } = *self;
        CallerFacts { client, session, program, now }
    }
}

/// Facts beyond the rules that affect a verdict.
#[derive(Clone, Copy, Debug)]
pub struct PolicyContext<'a> {
    /// The managed policy forbids the server, for this reason.
    pub blocked_by_file: Option<&'a str>,
    pub paused: bool,
    /// Whether the stored permissions could be read and their MAC verified.
    pub verified: bool,
    /// A late approval of this exact call, found by its hash.
    pub ticket: Option<&'a ApprovalId>,
}

/// All rules, indexed for look-up.
#[derive(Debug, Default)]
pub struct RuleSet {
    entries: Vec<PreparedRule>,
    by_server: LookupMap<ServerId, ServerRules>,
    /// Denies that apply to every server.
    everywhere: RuleIndex,
}

#[derive(Debug)]
struct PreparedRule {
    rule: Grant,
    conditions: Conditions,
}

#[derive(Debug, Default)]
struct ServerRules {
    denies: RuleIndex,
    allows: RuleIndex,
}

/// Indices into [`RuleSet::entries`], by the key they are looked up with.
#[derive(Debug, Default)]
struct RuleIndex {
    by_call: LookupMap<CallHash, Vec<usize>>,
    by_name: LookupMap<Box<str>, Vec<usize>>,
    /// Denies of a resource or completion, by the place of each reading of its URI.
    by_place: LookupMap<Box<str>, Vec<(usize, UriReading)>>,
    wide: Vec<usize>,
    /// Whether any rule here has a condition on a resolved path.
    needs_paths: bool,
}

impl RuleIndex {
    fn insert(&mut self, at: usize, entry: &PreparedRule) {
        self.needs_paths |= entry.conditions.need_paths();
        match &entry.rule.width {
            Scope::Call { hash } => self.by_call.entry(hash.clone()).or_default().push(at),
            Scope::Tool { tool } => {
                let is_deny = entry.rule.effect == RuleEffect::Deny;
                let readings = if is_deny { readings(tool.borrowed()) } else { Vec::new() };
                if readings.is_empty() {
                    self.by_name.entry(tool.rule_name().into()).or_default().push(at);
                }
                for reading in readings {
                    self.by_place.entry(reading.place.clone()).or_default().push((at, reading));
                }
            }
            Scope::Reads | Scope::Writes | Scope::Everything => self.wide.push(at),
        }
    }

    /// Visits the candidates for a call until `visit` breaks. `used` are the readings of the call's subject, needed
    /// if there are denies by place.
    fn visit_candidates<B>(
        &self,
        call: &CallFacts<'_>,
        used: &[UriReading],
        visit: &mut impl FnMut(usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        // Loops, since a chain of iterators costs a call several times the look-ups themselves.
        for at in self.by_call.get(call.hash).into_iter().flatten() {
            visit(*at)?;
        }
        if !self.by_name.is_empty() {
            for at in self.by_name.get(&*call.subject.rule_name()).into_iter().flatten() {
                visit(*at)?;
            }
        }
        for used in used {
            for (at, denied) in self.by_place.get(&used.place).into_iter().flatten() {
                if used.is_denied_by(denied) {
                    visit(*at)?;
                }
            }
        }
        self.wide.iter().try_for_each(|at| visit(*at))
    }
}

/// What an allow says about a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowMatch {
    Allowed,
    /// It would be allowed if the rule were bound to the program that the call comes from.
    Unbound,
    /// It would be allowed if the definition were still the granted one.
    Suspended,
    Nothing,
}

/// Precedence of allows, highest first (PERM-6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AllowPriority {
    Conditioned,
    Timed,
    Always,
}

impl RuleSet {
    /// Indexes the rules. An allow without a server is invalid and never counts.
    #[must_use]
    pub fn new(rules: Vec<Grant>) -> Self {
        let mut book = Self::default();
        for rule in rules {
            let at = book.entries.len();
            let entry = PreparedRule { conditions: Conditions::new(&rule.conditions), rule };
            match (&entry.rule.server, entry.rule.effect) {
                (Some(bound), effect) => {
                    let server_rules = book.by_server.entry(bound.server.clone()).or_default();
                    match effect {
                        RuleEffect::Allow => server_rules.allows.insert(at, &entry),
                        RuleEffect::Deny => server_rules.denies.insert(at, &entry),
                    }
                }
                (None, RuleEffect::Deny) => book.everywhere.insert(at, &entry),
                (None, RuleEffect::Allow) => {}
            }
            book.entries.push(entry);
        }
        book
    }

    /// The rules in the order in which they were given.
    pub fn rules(&self) -> impl Iterator<Item = &Grant> {
        self.entries.iter().map(|entry| &entry.rule)
    }

    /// The paths that must be resolved before this call is judged; may contain duplicates. An allow needs
    /// `Yes`, which depends only on the argument's path; for a deny the folder must be resolved too.
    #[must_use]
    pub fn paths(&self, call: &CallFacts<'_>) -> Vec<String> {
        let mut paths = Vec::new();
        let context = &call.context;
        if context.blocked_by_file.is_some() || context.paused {
            return paths;
        }
        let server_rules = self.by_server.get(&call.server.server);
        let used = self.denied_readings(server_rules, call);
        for denies in self.denies(server_rules) {
            self.for_each_with_paths(denies, call, &used, |deny| {
                if deny.is_deny_for(call) {
                    let arguments = deny.conditions.paths(call.arguments);
                    if !arguments.is_empty() {
                        paths.extend(deny.conditions.folders().map(str::to_owned));
                    }
                    paths.extend(arguments);
                }
            });
        }
        if context.ticket.is_none()
            && context.verified
            && let Some(server_rules) = server_rules
        {
            self.for_each_with_paths(&server_rules.allows, call, &[], |allow| {
                if allow.matched(call) != AllowMatch::Nothing {
                    paths.extend(allow.conditions.paths(call.arguments));
                }
            });
        }
        paths
    }

    /// Visits the rules of an index that may cover a call and have a condition on a resolved path.
    fn for_each_with_paths(
        &self,
        index: &RuleIndex,
        call: &CallFacts<'_>,
        used: &[UriReading],
        mut visit: impl FnMut(&PreparedRule),
    ) {
        if !index.needs_paths {
            return;
        }
        let ControlFlow::<Infallible>::Continue(()) = index.visit_candidates(call, used, &mut |at| {
            if let Some(entry) = self.entries.get(at)
                && entry.conditions.need_paths()
            {
                visit(entry);
            }
            ControlFlow::Continue(())
        });
    }

    #[must_use]
    pub fn decide(&self, call: &CallFacts<'_>) -> Verdict {
        let context = &call.context;
        if let Some(reason) = context.blocked_by_file {
            return verdict(Decision::Deny, Rule::PolicyFile { reason: reason.to_owned() });
        }
        if context.paused {
            return verdict(Decision::Deny, Rule::Paused);
        }
        let server_rules = self.by_server.get(&call.server.server);
        if let Some(rule) = self.find_deny(server_rules, call) {
            let rule = Rule::ExplicitDeny { grant: rule.id.clone(), reason: rule.reason.clone() };
            return verdict(Decision::Deny, rule);
        }
        if let Some(ask) = context.ticket {
            return verdict(Decision::Allow, Rule::LateTicket { ask: ask.clone() });
        }
        if !context.verified {
            return verdict(Decision::Ask, Rule::PermissionsUnverified);
        }
        server_rules.map_or_else(
            || verdict(Decision::Ask, Rule::DefaultAsk),
            |server_rules| self.decide_by_allows(server_rules, call),
        )
    }

    fn denies<'b>(&'b self, server_rules: Option<&'b ServerRules>) -> impl Iterator<Item = &'b RuleIndex> {
        std::iter::once(&self.everywhere).chain(server_rules.map(|server_rules| &server_rules.denies))
    }

    /// The readings of the call's subject, if there are denies by place.
    fn denied_readings(&self, server_rules: Option<&ServerRules>, call: &CallFacts<'_>) -> Vec<UriReading> {
        let has_places = self.denies(server_rules).any(|drawer| !drawer.by_place.is_empty());
        if has_places { readings(call.subject) } else { Vec::new() }
    }

    fn find_deny(&self, server_rules: Option<&ServerRules>, call: &CallFacts<'_>) -> Option<&Grant> {
        let used = self.denied_readings(server_rules, call);
        let mut find = |at: usize| match self.entries.get(at) {
            Some(entry) if entry.denies(call) => ControlFlow::Break(&entry.rule),
            Some(_) | None => ControlFlow::Continue(()),
        };
        let found =
            self.denies(server_rules).try_for_each(|denies| denies.visit_candidates(call, &used, &mut find));
        found.break_value()
    }

    fn decide_by_allows(&self, server_rules: &ServerRules, call: &CallFacts<'_>) -> Verdict {
        let mut best: Option<(AllowPriority, usize)> = None;
        let mut suspended: Option<(AllowPriority, usize)> = None;
        let mut unbound: Option<(AllowPriority, usize)> = None;
        let first =
            |known: Option<(AllowPriority, usize)>, key| Some(known.map_or(key, |known| known.min(key)));
        let mut consider = |at: usize| {
            let Some(entry) = self.entries.get(at) else { return };
            let key = (entry.priority(), at);
            if best.is_some_and(|best| best <= key) {
                return;
            }
            match entry.allows(call) {
                AllowMatch::Allowed => best = Some(key),
                AllowMatch::Unbound => unbound = first(unbound, key),
                AllowMatch::Suspended => suspended = first(suspended, key),
                AllowMatch::Nothing => {}
            }
        };
        let ControlFlow::<Infallible>::Continue(()) =
            server_rules.allows.visit_candidates(call, &[], &mut |at| {
                consider(at);
                ControlFlow::Continue(())
            });
        let name = |at: usize| self.entries.get(at).map(|entry| entry.rule.id.clone());
        if let Some((priority, grant)) = best.and_then(|(priority, at)| Some((priority, name(at)?))) {
            let rule = match priority {
                AllowPriority::Conditioned => Rule::ConditionedGrant { grant },
                AllowPriority::Timed => Rule::TimedGrant { grant },
                AllowPriority::Always => Rule::AlwaysGrant { grant },
            };
            return verdict(Decision::Allow, rule);
        }
        if let Some(grant) = unbound.and_then(|(_, at)| name(at)) {
            return verdict(Decision::Ask, Rule::UnboundGrant { grant });
        }
        if let Some(grant) = suspended.and_then(|(_, at)| name(at)) {
            return verdict(Decision::Ask, Rule::ChangedDefinition { grant });
        }
        verdict(Decision::Ask, Rule::DefaultAsk)
    }
}

impl PreparedRule {
    fn priority(&self) -> AllowPriority {
        if !self.conditions.is_empty() {
            return AllowPriority::Conditioned;
        }
        match self.rule.lifetime {
            Lifetime::Once | Lifetime::Until { .. } | Lifetime::Session { .. } | Lifetime::UntilQuit => {
                AllowPriority::Timed
            }
            Lifetime::Always => AllowPriority::Always,
        }
    }

    /// A deny also applies if its conditions are `Unknown`.
    fn denies(&self, call: &CallFacts<'_>) -> bool {
        self.is_deny_for(call)
            && (self.conditions.is_empty()
                || self.conditions.evaluate(call.arguments, call.resolve_path) != ConditionOutcome::No)
    }

    /// Whether this deny covers the call, not considering its conditions.
    fn is_deny_for(&self, call: &CallFacts<'_>) -> bool {
        coverage(&self.rule, &call.subject_facts(), Some(call.hash)) == Coverage::Covers
            && is_in_force(&self.rule, &call.caller_facts())
    }

    fn allows(&self, call: &CallFacts<'_>) -> AllowMatch {
        let matched = self.matched(call);
        let holds = matched == AllowMatch::Nothing
            || self.conditions.is_empty()
            || self.conditions.evaluate(call.arguments, call.resolve_path) == ConditionOutcome::Yes;
        if holds { matched } else { AllowMatch::Nothing }
    }

    /// What this allow says about the call, not considering its conditions.
    fn matched(&self, call: &CallFacts<'_>) -> AllowMatch {
        let by = call.caller_facts();
        match coverage(&self.rule, &call.subject_facts(), Some(call.hash)) {
            Coverage::Covers if is_in_force(&self.rule, &by) => AllowMatch::Allowed,
            Coverage::Covers if can_be_bound(&self.rule, &by) => AllowMatch::Unbound,
            Coverage::Suspended if is_in_force(&self.rule, &by) || can_be_bound(&self.rule, &by) => {
                AllowMatch::Suspended
            }
            Coverage::Covers | Coverage::Suspended | Coverage::AddedLater | Coverage::NotCovered => {
                AllowMatch::Nothing
            }
        }
    }
}

fn verdict(decision: Decision, rule: Rule) -> Verdict {
    Verdict { decision, rule }
}
