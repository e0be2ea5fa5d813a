//! The effective permissions of the known tools, as the UI shows them (PERM-3, PERM-8). Doesn't decide about
//! calls.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use gatehouse_model::approval::AutoApprove;
use gatehouse_model::grant::{ClientScope, RuleCoverage, ToolPermission, UncoveredToolCounts};
use gatehouse_model::{
    ClientId, Decision, Fingerprint, Grant, Lifetime, RuleEffect, Scope, ServerBinding, ServerId,
};
use gatehouse_policy::coverage::{Coverage, DefinitionRef, SubjectFacts, coverage, is_in_scope, is_unbound};

/// Rules that apply until revoked and without conditions, for every client and, if given, for one client.
/// Indexed by server and tool, so that thousands of tools stay cheap.
pub(crate) struct PermanentRules<'a> {
    by_tool: HashMap<(&'a ServerId, Cow<'a, str>), Vec<&'a Grant>>,
    wide: HashMap<&'a ServerId, Vec<&'a Grant>>,
    /// Denies that apply to every server.
    everywhere: Vec<&'a Grant>,
}

impl<'a> PermanentRules<'a> {
    pub(crate) fn new(rules: impl Iterator<Item = &'a Grant>, client: Option<&ClientId>) -> Self {
        let mut found = Self { by_tool: HashMap::new(), wide: HashMap::new(), everywhere: Vec::new() };
        for rule in rules.filter(|rule| is_permanent(rule) && is_for(rule, client)) {
            match (&rule.server, &rule.width) {
                (_, Scope::Call { .. }) => {}
                (None, _) => found.everywhere.push(rule),
                (Some(bound), Scope::Tool { tool }) => {
                    found.by_tool.entry((&bound.server, tool.rule_name())).or_default().push(rule);
                }
                (Some(bound), Scope::Reads | Scope::Writes | Scope::Everything) => {
                    found.wide.entry(&bound.server).or_default().push(rule);
                }
            }
        }
        found
    }

    /// The effective permission of a tool, with the rules behind it.
    pub(crate) fn permission(&self, tool: &SubjectFacts<'_>) -> ToolPermission {
        let own = self
            .by_tool
            .get(&(&tool.server.server, tool.subject.rule_name()))
            .map(Vec::as_slice)
            .unwrap_or_default();
        let wide = self.wide.get(&tool.server.server).map(Vec::as_slice).unwrap_or_default();
        let wide = || self.everywhere.iter().chain(wide).copied();
        let says = |rule: &Grant, effect, says: Coverage| {
            rule.effect == effect && coverage(rule, tool, None) == says
        };
        let all = || own.iter().copied().chain(wide());
        let is_denied = all().any(|rule| says(rule, RuleEffect::Deny, Coverage::Covers));
        let is_allowed = all().any(|rule| says(rule, RuleEffect::Allow, Coverage::Covers));
        let wider = wide()
            .find(|rule| says(rule, RuleEffect::Deny, Coverage::Covers))
            .or_else(|| wide().find(|rule| says(rule, RuleEffect::Allow, Coverage::Covers)));
        let mut own: Vec<&Grant> =
            own.iter().copied().filter(|rule| coverage(rule, tool, None) != Coverage::NotCovered).collect();
        own.sort_by_key(|rule| rule.effect == RuleEffect::Allow);
        ToolPermission {
            decision: match (is_denied, is_allowed) {
                (true, _) => Decision::Deny,
                (false, true) => Decision::Allow,
                (false, false) => Decision::Ask,
            },
            own_rules: own.into_iter().map(|rule| rule.id.clone()).collect(),
            wider_rule: wider.map(|rule| rule.id.clone()),
            changed: !is_allowed && all().any(|rule| says(rule, RuleEffect::Allow, Coverage::Suspended)),
        }
    }

    /// How many of these tools run without approval, and how many more each auto-approve setting would add.
    pub(crate) fn count(&self, tools: &[SubjectFacts<'_>]) -> (u32, UncoveredToolCounts) {
        let (mut allowed, mut late) = (0, UncoveredToolCounts::default());
        for tool in tools {
            match self.permission(tool).decision {
                Decision::Allow => allowed += 1,
                Decision::Deny => {}
                Decision::Ask => {
                    let is_meant = |width| u32::from(is_in_scope(RuleEffect::Allow, &width, tool, None));
                    late.reads += is_meant(Scope::Reads);
                    late.writes += is_meant(Scope::Writes);
                    late.all += is_meant(Scope::Everything);
                }
            }
        }
        (allowed, late)
    }
}

fn is_permanent(rule: &Grant) -> bool {
    rule.lifetime == Lifetime::Always && rule.conditions.is_empty()
}

fn is_for(rule: &Grant, client: Option<&ClientId>) -> bool {
    match &rule.clients {
        ClientScope::Every => true,
        ClientScope::One { client: one } => client == Some(one),
    }
}

/// The auto-approve setting of a server in its current generation, for one client or for every client, and
/// whether any of its rules waits for its first use.
pub(crate) fn setting<'a>(
    rules: impl Iterator<Item = &'a Grant>,
    server: &ServerBinding,
    clients: &ClientScope,
) -> (AutoApprove, bool) {
    let (mut reads, mut writes, mut waits) = (false, false, false);
    let set = |rule: &&Grant| {
        rule.effect == RuleEffect::Allow
            && is_permanent(rule)
            && rule.server.as_ref() == Some(server)
            && rule.clients == *clients
            && matches!(rule.width, Scope::Reads | Scope::Writes | Scope::Everything)
    };
    for rule in rules.filter(set) {
        reads |= matches!(rule.width, Scope::Reads | Scope::Everything);
        writes |= matches!(rule.width, Scope::Writes | Scope::Everything);
        waits |= is_unbound(rule);
    }
    let setting = match (reads, writes) {
        (false, false) => AutoApprove::Ask,
        (true, false) => AutoApprove::Reads,
        (false, true) => AutoApprove::Writes,
        (true, true) => AutoApprove::All,
    };
    (setting, waits)
}

/// The definitions that allows were given for, by the server and the key of the pin. A rule for one exact call counts
/// for none, since it is only for the definition of that call.
pub(crate) struct ApprovedDefinitions<'a>(HashMap<(&'a ServerBinding, &'a str), BTreeSet<&'a Fingerprint>>);

impl<'a> ApprovedDefinitions<'a> {
    pub(crate) fn new(rules: impl Iterator<Item = &'a Grant>) -> Self {
        let mut found: HashMap<_, BTreeSet<_>> = HashMap::new();
        for rule in rules.filter(|rule| !matches!(rule.width, Scope::Call { .. })) {
            let Some(bound) = &rule.server else { continue };
            for (pin, approved) in &rule.pins {
                found.entry((bound, pin.as_str())).or_default().extend(approved.iter());
            }
        }
        Self(found)
    }

    /// How many definitions of a tool were approved.
    pub(crate) fn count(&self, tool: &SubjectFacts<'_>) -> u32 {
        let DefinitionRef::Pinned { pin, .. } = tool.definition else { return 0 };
        let approved = self.0.get(&(tool.server, pin)).map_or(0, BTreeSet::len);
        u32::try_from(approved).unwrap_or(u32::MAX)
    }
}

/// How many tools of its server an allow covers.
pub(crate) fn rule_coverage(rule: &Grant, tools: &[SubjectFacts<'_>]) -> Option<RuleCoverage> {
    if rule.effect == RuleEffect::Deny || matches!(rule.width, Scope::Call { .. }) {
        return None;
    }
    let mut of = RuleCoverage { waits_for_first_use: is_unbound(rule), ..RuleCoverage::default() };
    for tool in tools {
        match coverage(rule, tool, None) {
            Coverage::Covers => of.covered += 1,
            Coverage::Suspended => of.changed.push(tool.subject.rule_name().into_owned()),
            Coverage::AddedLater => of.later += 1,
            Coverage::NotCovered => {}
        }
    }
    Some(of)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason};
    use gatehouse_model::{CallHash, Generation, RuleAuthor, Timestamp};

    use super::*;
    use gatehouse_model::subject::SubjectRef;

    fn rule(id: &str, effect: RuleEffect, width: Scope) -> Grant {
        let pins = if effect == RuleEffect::Allow {
            vec![("look", "1"), ("put", "1"), ("fetch", "1")]
        } else {
            vec![]
        };
        Grant {
            id: id.into(),
            effect,
            server: Some(ServerBinding {
                server: "s".into(),
                generation: Generation(2),
                identity: "i".into(),
            }),
            width,
            clients: ClientScope::Every,
            lifetime: Lifetime::Always,
            conditions: Vec::new(),
            pins: pins
                .into_iter()
                .map(|(name, pin)| (name.to_owned(), Fingerprint::from(pin).into()))
                .collect(),
            program: None,
            created: Timestamp(0),
            author: RuleAuthor::Person,
            reason: None,
        }
    }

    fn tool(name: &str) -> Scope {
        Scope::Tool { tool: SubjectRef::Tool(name).to_subject() }
    }

    /// `look` reads, `fetch` reads and reaches outside, `put` writes, `late` reads and has no pin.
    fn with_tools<R>(definition: &str, generation: u32, work: impl FnOnce(&[SubjectFacts<'_>]) -> R) -> R {
        let server =
            ServerBinding { server: "s".into(), generation: Generation(generation), identity: "i".into() };
        let fingerprint = Fingerprint::from(definition);
        let class = |class, reaches_outside| AccessClassification {
            class,
            reason: ClassReason::Default,
            reaches_outside,
        };
        let classes = [
            ("look", class(AccessClass::Read, false)),
            ("fetch", class(AccessClass::Read, true)),
            ("put", class(AccessClass::Write, false)),
            ("late", class(AccessClass::Read, false)),
        ];
        let items: Vec<SubjectFacts<'_>> = classes
            .iter()
            .map(|(name, class)| SubjectFacts {
                server: &server,
                subject: SubjectRef::Tool(name),
                class,
                definition: DefinitionRef::Pinned { pin: name, fingerprint: &fingerprint },
            })
            .collect();
        work(&items)
    }

    #[test]
    fn computes_effective_permission_per_tool() {
        let reads = || rule("reads", RuleEffect::Allow, Scope::Reads);
        let own = || rule("own", RuleEffect::Allow, tool("look"));
        let block = || rule("block", RuleEffect::Deny, tool("look"));
        let for_client = Grant { clients: ClientScope::One { client: "c".into() }, ..own() };
        let for_a_while = Grant { lifetime: Lifetime::UntilQuit, ..own() };
        let anywhere = Grant { server: None, ..rule("anywhere", RuleEffect::Deny, tool("look")) };
        for (rules, about, definition, expected) in [
            (vec![], "look", "1", "Ask [] None false"),
            (vec![reads()], "look", "1", "Allow [] Some(reads) false"),
            (vec![reads()], "put", "1", "Ask [] None false"),
            (vec![reads()], "fetch", "1", "Ask [] None false"),
            (vec![reads()], "late", "1", "Ask [] None false"),
            (vec![reads()], "look", "2", "Ask [] None true"),
            (
                vec![rule("all", RuleEffect::Allow, Scope::Everything)],
                "fetch",
                "1",
                "Allow [] Some(all) false",
            ),
            (vec![own()], "look", "1", "Allow [own] None false"),
            (vec![own()], "look", "2", "Ask [own] None true"),
            (vec![reads(), own(), block()], "look", "1", "Deny [block, own] Some(reads) false"),
            (
                vec![rule("deny", RuleEffect::Deny, Scope::Reads), own()],
                "look",
                "1",
                "Deny [own] Some(deny) false",
            ),
            (vec![rule("deny", RuleEffect::Deny, Scope::Reads)], "fetch", "1", "Deny [] Some(deny) false"),
            (vec![anywhere], "look", "1", "Deny [] Some(anywhere) false"),
            (vec![for_client], "look", "1", "Ask [] None false"),
            (vec![for_a_while], "look", "1", "Ask [] None false"),
        ] {
            let rules: Vec<Grant> = rules;
            let found = with_tools(definition, 2, |tools| {
                let item = tools.iter().find(|item| item.subject == SubjectRef::Tool(about)).unwrap();
                PermanentRules::new(rules.iter(), None).permission(item)
            });
            let own: Vec<&str> = found.own_rules.iter().map(|id| id.as_str()).collect();
            let wider = found.wider_rule.as_ref().map_or("None".to_owned(), |id| format!("Some({id})"));
            let said = format!("{:?} [{}] {wider} {}", found.decision, own.join(", "), found.changed);
            assert_eq!(said, expected, "{about} {definition} {rules:?}");
        }
    }

    #[test]
    fn counts_approved_definitions_once_each() {
        let version = |rule: Grant, version: &str| {
            let pins = [("look".to_owned(), Fingerprint::from(version).into())];
            Grant { pins: pins.into(), ..rule }
        };
        let own = || rule("own", RuleEffect::Allow, tool("look"));
        let call = rule("call", RuleEffect::Allow, Scope::Call { hash: CallHash::from("h") });
        let for_client = Grant { clients: ClientScope::One { client: "c".into() }, ..own() };
        let rules = [
            rule("reads", RuleEffect::Allow, Scope::Reads),
            version(own(), "1"),
            version(for_client, "2"),
            version(call, "3"),
        ];
        let counts = |generation| {
            with_tools("4", generation, |tools| {
                let approved = ApprovedDefinitions::new(rules.iter());
                tools.iter().map(|tool| approved.count(tool)).collect::<Vec<_>>()
            })
        };
        assert_eq!(counts(2), [2, 1, 1, 0]);
        assert_eq!(counts(3), [0, 0, 0, 0]);
    }

    #[test]
    fn edited_server_keeps_only_denies() {
        let rules =
            [rule("own", RuleEffect::Allow, tool("look")), rule("block", RuleEffect::Deny, tool("put"))];
        let decisions = with_tools("1", 3, |tools| {
            let rules = PermanentRules::new(rules.iter(), None);
            tools.iter().map(|tool| rules.permission(tool).decision).collect::<Vec<_>>()
        });
        assert_eq!(decisions, [Decision::Ask, Decision::Ask, Decision::Deny, Decision::Ask]);
    }

    #[test]
    fn derives_setting_and_coverage() {
        let wide = |width| rule("w", RuleEffect::Allow, width);
        let server = ServerBinding { server: "s".into(), generation: Generation(2), identity: "i".into() };
        for (rules, expected) in [
            (vec![], AutoApprove::Ask),
            (vec![wide(Scope::Reads)], AutoApprove::Reads),
            (vec![wide(Scope::Writes)], AutoApprove::Writes),
            (vec![wide(Scope::Reads), wide(Scope::Writes)], AutoApprove::All),
            (vec![wide(Scope::Everything)], AutoApprove::All),
            (vec![wide(tool("look"))], AutoApprove::Ask),
            (vec![rule("d", RuleEffect::Deny, Scope::Reads)], AutoApprove::Ask),
            (vec![Grant { lifetime: Lifetime::UntilQuit, ..wide(Scope::Reads) }], AutoApprove::Ask),
            (
                vec![Grant { clients: ClientScope::One { client: "c".into() }, ..wide(Scope::Reads) }],
                AutoApprove::Ask,
            ),
        ] {
            let rules: Vec<Grant> = rules;
            assert_eq!(setting(rules.iter(), &server, &ClientScope::Every), (expected, false), "{rules:?}");
        }
        let one = || ClientScope::One { client: "c".into() };
        let for_one = Grant { clients: one(), ..wide(Scope::Reads) };
        let bound = Grant { program: Some("/usr/bin/agent".to_owned()), ..for_one.clone() };
        let waits = |rule: &Grant| {
            with_tools("1", 2, |tools| rule_coverage(rule, tools)).unwrap().waits_for_first_use
        };
        assert!(waits(&for_one) && !waits(&bound) && !waits(&wide(Scope::Reads)));
        assert_eq!(setting([&for_one].into_iter(), &server, &one()), (AutoApprove::Reads, true));
        assert_eq!(setting([&bound].into_iter(), &server, &one()), (AutoApprove::Reads, false));
        let rules = [wide(Scope::Reads)];
        let (count, of, after) = with_tools("1", 2, |tools| {
            let count = PermanentRules::new(rules.iter(), None).count(tools);
            let after = with_tools("2", 2, |changed| rule_coverage(&rules[0], changed));
            (count, rule_coverage(&rules[0], tools), after)
        });
        assert_eq!(count, (1, UncoveredToolCounts { reads: 1, writes: 1, all: 3 }));
        assert_eq!(of, Some(RuleCoverage { covered: 1, later: 1, ..RuleCoverage::default() }));
        let changed = RuleCoverage { changed: vec!["look".into()], later: 1, ..RuleCoverage::default() };
        assert_eq!(after, Some(changed));
    }
}
