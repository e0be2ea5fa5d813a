//! The effective permissions of the known tools, as the UI shows them (PERM-3, PERM-8). Doesn't decide about
//! calls.

use std::collections::HashMap;

use gatehouse_model::ask::AutoApprove;
use gatehouse_model::grant::{ClientScope, LateTools, RuleReach, ToolPermission};
use gatehouse_model::{ClientId, Decision, Effect, Grant, Lifetime, ServerBinding, ServerId, Width};
use gatehouse_policy::cover::{Item, Reach, is_about, is_unbound, reach};

/// Rules that apply until revoked and without conditions, for every client and, if given, for one client.
/// Indexed by server and tool, so that thousands of tools stay cheap.
pub(crate) struct LastingRules<'a> {
    by_tool: HashMap<(&'a ServerId, &'a str), Vec<&'a Grant>>,
    wide: HashMap<&'a ServerId, Vec<&'a Grant>>,
    /// Denies that apply to every server.
    everywhere: Vec<&'a Grant>,
}

impl<'a> LastingRules<'a> {
    pub(crate) fn new(rules: impl Iterator<Item = &'a Grant>, client: Option<&ClientId>) -> Self {
        let mut found = Self { by_tool: HashMap::new(), wide: HashMap::new(), everywhere: Vec::new() };
        for rule in rules.filter(|rule| is_lasting(rule) && is_for(rule, client)) {
            match (&rule.server, &rule.width) {
                (_, Width::Call { .. }) => {}
                (None, _) => found.everywhere.push(rule),
                (Some(bound), Width::Tool { tool }) => {
                    found.by_tool.entry((&bound.server, tool)).or_default().push(rule);
                }
                (Some(bound), Width::Reads | Width::Writes | Width::Everything) => {
                    found.wide.entry(&bound.server).or_default().push(rule);
                }
            }
        }
        found
    }

    /// The effective permission of a tool, with the rules behind it.
    pub(crate) fn permission(&self, tool: &Item<'_>) -> ToolPermission {
        let own =
            self.by_tool.get(&(&tool.server.server, tool.subject)).map(Vec::as_slice).unwrap_or_default();
        let wide = self.wide.get(&tool.server.server).map(Vec::as_slice).unwrap_or_default();
        let wide = || self.everywhere.iter().chain(wide).copied();
        let says =
            |rule: &Grant, effect, says: Reach| rule.effect == effect && reach(rule, tool, None) == says;
        let all = || own.iter().copied().chain(wide());
        let is_denied = all().any(|rule| says(rule, Effect::Deny, Reach::Covers));
        let is_allowed = all().any(|rule| says(rule, Effect::Allow, Reach::Covers));
        let wider = wide()
            .find(|rule| says(rule, Effect::Deny, Reach::Covers))
            .or_else(|| wide().find(|rule| says(rule, Effect::Allow, Reach::Covers)));
        let mut own: Vec<&Grant> =
            own.iter().copied().filter(|rule| reach(rule, tool, None) != Reach::Not).collect();
        own.sort_by_key(|rule| rule.effect == Effect::Allow);
        ToolPermission {
            decision: match (is_denied, is_allowed) {
                (true, _) => Decision::Deny,
                (false, true) => Decision::Allow,
                (false, false) => Decision::Ask,
            },
            own_rules: own.into_iter().map(|rule| rule.id.clone()).collect(),
            wider_rule: wider.map(|rule| rule.id.clone()),
            changed: !is_allowed && all().any(|rule| says(rule, Effect::Allow, Reach::Suspended)),
        }
    }

    /// How many of these tools run without approval, and how many more each auto-approve setting would add.
    pub(crate) fn count(&self, tools: &[Item<'_>]) -> (u32, LateTools) {
        let (mut allowed, mut late) = (0, LateTools::default());
        for tool in tools {
            match self.permission(tool).decision {
                Decision::Allow => allowed += 1,
                Decision::Deny => {}
                Decision::Ask => {
                    let is_meant = |width| u32::from(is_about(Effect::Allow, &width, tool, None));
                    late.reads += is_meant(Width::Reads);
                    late.writes += is_meant(Width::Writes);
                    late.all += is_meant(Width::Everything);
                }
            }
        }
        (allowed, late)
    }
}

fn is_lasting(rule: &Grant) -> bool {
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
        rule.effect == Effect::Allow
            && is_lasting(rule)
            && rule.server.as_ref() == Some(server)
            && rule.clients == *clients
            && matches!(rule.width, Width::Reads | Width::Writes | Width::Everything)
    };
    for rule in rules.filter(set) {
        reads |= matches!(rule.width, Width::Reads | Width::Everything);
        writes |= matches!(rule.width, Width::Writes | Width::Everything);
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

/// How many tools of its server an allow covers.
pub(crate) fn reach_of(rule: &Grant, tools: &[Item<'_>]) -> Option<RuleReach> {
    if rule.effect == Effect::Deny || matches!(rule.width, Width::Call { .. }) {
        return None;
    }
    let mut of = RuleReach { waits_for_first_use: is_unbound(rule), ..RuleReach::default() };
    for tool in tools {
        match reach(rule, tool, None) {
            Reach::Covers => of.covered += 1,
            Reach::Suspended => of.changed.push(tool.subject.to_owned()),
            Reach::Later => of.later += 1,
            Reach::Not => {}
        }
    }
    Some(of)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::grant::{AccessClass, ClassReason, Classified};
    use gatehouse_model::{Fingerprint, Generation, RuleAuthor, Timestamp};
    use gatehouse_policy::cover::Defined;

    use super::*;

    fn rule(id: &str, effect: Effect, width: Width) -> Grant {
        let pins =
            if effect == Effect::Allow { vec![("look", "1"), ("put", "1"), ("fetch", "1")] } else { vec![] };
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
            pins: pins.into_iter().map(|(name, pin)| (name.to_owned(), pin.into())).collect(),
            program: None,
            created: Timestamp(0),
            author: RuleAuthor::Person,
            reason: None,
        }
    }

    fn tool(name: &str) -> Width {
        Width::Tool { tool: name.to_owned() }
    }

    /// `look` reads, `fetch` reads and reaches outside, `put` writes, `late` reads and has no pin.
    fn with_tools<R>(definition: &str, generation: u32, work: impl FnOnce(&[Item<'_>]) -> R) -> R {
        let server =
            ServerBinding { server: "s".into(), generation: Generation(generation), identity: "i".into() };
        let fingerprint = Fingerprint::from(definition);
        let class =
            |class, reaches_outside| Classified { class, reason: ClassReason::Default, reaches_outside };
        let classes = [
            ("look", class(AccessClass::Read, false)),
            ("fetch", class(AccessClass::Read, true)),
            ("put", class(AccessClass::Write, false)),
            ("late", class(AccessClass::Read, false)),
        ];
        let items: Vec<Item<'_>> = classes
            .iter()
            .map(|(name, class)| Item {
                server: &server,
                subject: name,
                class,
                definition: Defined::As { pin: name, fingerprint: &fingerprint },
            })
            .collect();
        work(&items)
    }

    #[test]
    fn what_happens_with_each_tool() {
        let reads = || rule("reads", Effect::Allow, Width::Reads);
        let own = || rule("own", Effect::Allow, tool("look"));
        let block = || rule("block", Effect::Deny, tool("look"));
        let for_client = Grant { clients: ClientScope::One { client: "c".into() }, ..own() };
        let for_a_while = Grant { lifetime: Lifetime::UntilQuit, ..own() };
        let anywhere = Grant { server: None, ..rule("anywhere", Effect::Deny, tool("look")) };
        for (rules, about, definition, expected) in [
            (vec![], "look", "1", "Ask [] None false"),
            (vec![reads()], "look", "1", "Allow [] Some(reads) false"),
            (vec![reads()], "put", "1", "Ask [] None false"),
            (vec![reads()], "fetch", "1", "Ask [] None false"),
            (vec![reads()], "late", "1", "Ask [] None false"),
            (vec![reads()], "look", "2", "Ask [] None true"),
            (vec![rule("all", Effect::Allow, Width::Everything)], "fetch", "1", "Allow [] Some(all) false"),
            (vec![own()], "look", "1", "Allow [own] None false"),
            (vec![own()], "look", "2", "Ask [own] None true"),
            (vec![reads(), own(), block()], "look", "1", "Deny [block, own] Some(reads) false"),
            (
                vec![rule("deny", Effect::Deny, Width::Reads), own()],
                "look",
                "1",
                "Deny [own] Some(deny) false",
            ),
            (vec![rule("deny", Effect::Deny, Width::Reads)], "fetch", "1", "Deny [] Some(deny) false"),
            (vec![anywhere], "look", "1", "Deny [] Some(anywhere) false"),
            (vec![for_client], "look", "1", "Ask [] None false"),
            (vec![for_a_while], "look", "1", "Ask [] None false"),
        ] {
            let rules: Vec<Grant> = rules;
            let found = with_tools(definition, 2, |tools| {
                let item = tools.iter().find(|item| item.subject == about).unwrap();
                LastingRules::new(rules.iter(), None).permission(item)
            });
            let own: Vec<&str> = found.own_rules.iter().map(|id| id.as_str()).collect();
            let wider = found.wider_rule.as_ref().map_or("None".to_owned(), |id| format!("Some({id})"));
            let said = format!("{:?} [{}] {wider} {}", found.decision, own.join(", "), found.changed);
            assert_eq!(said, expected, "{about} {definition} {rules:?}");
        }
    }

    #[test]
    fn an_edited_server_keeps_its_denies_alone() {
        let rules = [rule("own", Effect::Allow, tool("look")), rule("block", Effect::Deny, tool("put"))];
        let decisions = with_tools("1", 3, |tools| {
            let rules = LastingRules::new(rules.iter(), None);
            tools.iter().map(|tool| rules.permission(tool).decision).collect::<Vec<_>>()
        });
        assert_eq!(decisions, [Decision::Ask, Decision::Ask, Decision::Deny, Decision::Ask]);
    }

    #[test]
    fn settings_and_what_they_come_to() {
        let wide = |width| rule("w", Effect::Allow, width);
        let server = ServerBinding { server: "s".into(), generation: Generation(2), identity: "i".into() };
        for (rules, expected) in [
            (vec![], AutoApprove::Ask),
            (vec![wide(Width::Reads)], AutoApprove::Reads),
            (vec![wide(Width::Writes)], AutoApprove::Writes),
            (vec![wide(Width::Reads), wide(Width::Writes)], AutoApprove::All),
            (vec![wide(Width::Everything)], AutoApprove::All),
            (vec![wide(tool("look"))], AutoApprove::Ask),
            (vec![rule("d", Effect::Deny, Width::Reads)], AutoApprove::Ask),
            (vec![Grant { lifetime: Lifetime::UntilQuit, ..wide(Width::Reads) }], AutoApprove::Ask),
            (
                vec![Grant { clients: ClientScope::One { client: "c".into() }, ..wide(Width::Reads) }],
                AutoApprove::Ask,
            ),
        ] {
            let rules: Vec<Grant> = rules;
            assert_eq!(setting(rules.iter(), &server, &ClientScope::Every), (expected, false), "{rules:?}");
        }
        let one = || ClientScope::One { client: "c".into() };
        let for_one = Grant { clients: one(), ..wide(Width::Reads) };
        let bound = Grant { program: Some("/usr/bin/agent".to_owned()), ..for_one.clone() };
        let waits =
            |rule: &Grant| with_tools("1", 2, |tools| reach_of(rule, tools)).unwrap().waits_for_first_use;
        assert!(waits(&for_one) && !waits(&bound) && !waits(&wide(Width::Reads)));
        assert_eq!(setting([&for_one].into_iter(), &server, &one()), (AutoApprove::Reads, true));
        assert_eq!(setting([&bound].into_iter(), &server, &one()), (AutoApprove::Reads, false));
        let rules = [wide(Width::Reads)];
        let (count, of, after) = with_tools("1", 2, |tools| {
            let count = LastingRules::new(rules.iter(), None).count(tools);
            let after = with_tools("2", 2, |changed| reach_of(&rules[0], changed));
            (count, reach_of(&rules[0], tools), after)
        });
        assert_eq!(count, (1, LateTools { reads: 1, writes: 1, all: 3 }));
        assert_eq!(of, Some(RuleReach { covered: 1, later: 1, ..RuleReach::default() }));
        let changed = RuleReach { changed: vec!["look".into()], later: 1, ..RuleReach::default() };
        assert_eq!(after, Some(changed));
    }
}
