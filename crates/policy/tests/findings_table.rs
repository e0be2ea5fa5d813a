//! What is said of the health of permissions (UI-7), case by case.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::grant::{
    AccessClass, AccessClassification, ClassReason, ClientScope, Condition, ConditionTest,
};
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::{
    ApprovedVersions, Fingerprint, Generation, Grant, Lifetime, RuleAuthor, RuleEffect, Scope, ServerBinding,
    Timestamp,
};
use gatehouse_policy::coverage::{DefinitionRef, SubjectFacts};
use gatehouse_policy::findings::{GrantFinding, GrantUse, UNUSED_AFTER, findings, is_narrower, narrowed};

const DAY: i64 = 24 * 3600 * 1000;
const NOW: Timestamp = Timestamp(1_000 * DAY);

fn days_ago(days: i64) -> Timestamp {
    Timestamp(NOW.0 - days * DAY)
}

fn binding() -> ServerBinding {
    ServerBinding { server: "s".into(), generation: Generation(1), identity: "i".into() }
}

fn allow(width: Scope, pins: &[&str], created: i64) -> Grant {
    Grant {
        id: "g".into(),
        effect: RuleEffect::Allow,
        server: Some(binding()),
        width,
        clients: ClientScope::Every,
        lifetime: Lifetime::Always,
        conditions: Vec::new(),
        pins: pins.iter().map(|pin| ((*pin).to_owned(), Fingerprint::from("f").into())).collect(),
        program: None,
        created: days_ago(created),
        author: RuleAuthor::Person,
        reason: None,
    }
}

fn tool(name: &str) -> Scope {
    Scope::Tool { tool: gatehouse_model::approval::Subject::Tool { name: name.to_owned() } }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn in_words(rule: &Grant, last: Option<i64>, used: &[&str], recorded: i64) -> String {
    let grant_use = GrantUse { last: last.map(days_ago), used: names(used) };
    match &findings([rule], |_| grant_use.clone(), days_ago(recorded), NOW)[..] {
        [] => "nothing".to_owned(),
        [(_, GrantFinding::Unused { last: None })] => "never used".to_owned(),
        [(_, GrantFinding::Unused { last: Some(at) })] => format!("unused for {}", (NOW.0 - at.0) / DAY),
        [(_, GrantFinding::TooWide { used, unused })] => {
            format!("too wide: {} but {}", used.join(","), unused.join(","))
        }
        more => panic!("{more:?}"),
    }
}

#[test]
fn says_what_nobody_needs() {
    let pins = &["read", "write", "prompt:review", "template:notes://{id}"];
    let everything = |created| allow(Scope::Everything, pins, created);
    let timed = Grant { lifetime: Lifetime::UntilQuit, ..everything(99) };
    let deny = Grant { effect: RuleEffect::Deny, ..everything(99) };
    for (case, rule, last, used, recorded, expected) in [
        ("never used", everything(99), None, &[][..], 99, "never used"),
        ("used long ago", everything(99), Some(31), &["read"], 99, "unused for 31"),
        ("exactly as long ago as it takes", everything(99), Some(30), &["read"], 99, "unused for 30"),
        ("used lately, and only a part", everything(99), Some(29), &["read"], 99, "too wide: read but write"),
        ("used whole", everything(99), Some(1), &["read", "write"], 99, "nothing"),
        ("used for a prompt only", everything(99), Some(1), &["prompt:review"], 99, "nothing"),
        ("used for a resource only", everything(99), Some(1), &["resource:"], 99, "nothing"),
        ("a young rule", everything(29), None, &[], 99, "nothing"),
        ("a young rule, used in part", everything(29), Some(1), &["read"], 99, "nothing"),
        ("calls were not counted long enough", everything(99), None, &[], 29, "nothing"),
        ("reads", allow(Scope::Reads, &["a", "b"], 99), Some(1), &["b"], 99, "too wide: b but a"),
        ("writes", allow(Scope::Writes, &["a", "b"], 99), Some(1), &["a"], 99, "too wide: a but b"),
        ("one tool", allow(tool("a"), &["a"], 99), Some(1), &["a"], 99, "nothing"),
        ("one tool, unused", allow(tool("a"), &["a"], 99), None, &[], 99, "never used"),
        ("a rule for a time", timed, None, &[], 99, "nothing"),
        ("a block", deny, None, &[], 99, "nothing"),
    ] {
        assert_eq!(in_words(&rule, last, used, recorded), expected, "{case}");
    }
    assert_eq!(UNUSED_AFTER.as_millis(), 30 * 24 * 3600 * 1000);
}

#[test]
fn narrows_to_the_tools_that_were_used() {
    let rule = allow(Scope::Everything, &["read", "write", "prompt:review"], 99);
    let narrow = narrowed(&rule, &names(&["read", "gone"])).unwrap();
    assert_eq!(narrow.pins.keys().collect::<Vec<_>>(), ["prompt:review", "read"]);
    assert_eq!(narrow, Grant { pins: narrow.pins.clone(), ..rule.clone() });
    for used in [&[][..], &["gone"], &["read", "write"]] {
        assert_eq!(narrowed(&rule, &names(used)), None, "{used:?}");
    }
    assert_eq!(narrowed(&Grant { effect: RuleEffect::Deny, ..rule }, &names(&["read"])), None);
}

#[test]
fn only_a_subset_of_the_same_allow_is_narrower() {
    let old = allow(Scope::Everything, &["read", "write"], 99);
    let new = narrowed(&old, &names(&["read"])).unwrap();
    let one = |name: &str| ClientScope::One { client: name.into() };
    let condition = Condition { pointer: "/p".into(), test: ConditionTest::StartsWith { text: "a".into() } };
    let edited = ServerBinding { generation: Generation(2), ..binding() };
    let pins = |pin: &str, version: &str| {
        BTreeMap::from([(pin.to_owned(), ApprovedVersions::from(Fingerprint::from(version)))])
    };
    for (case, rule, expected) in [
        ("a subset", new.clone(), true),
        ("a subset under another id", Grant { id: "h".into(), created: NOW, ..new.clone() }, true),
        ("the same", old.clone(), false),
        ("another tool", Grant { pins: pins("delete", "f"), ..new.clone() }, false),
        ("another definition", Grant { pins: pins("read", "f-2"), ..new.clone() }, false),
        ("another width", Grant { width: Scope::Reads, ..new.clone() }, false),
        ("another client", Grant { clients: one("c"), ..new.clone() }, false),
        ("another server", Grant { server: Some(edited), ..new.clone() }, false),
        ("another program", Grant { program: Some("/bin/a".into()), ..new.clone() }, false),
        ("another time", Grant { lifetime: Lifetime::UntilQuit, ..new.clone() }, false),
        ("other conditions", Grant { conditions: vec![condition], ..new.clone() }, false),
        ("a block", Grant { effect: RuleEffect::Deny, ..new.clone() }, false),
    ] {
        assert_eq!(is_narrower(&rule, &old, &[]), expected, "{case}");
    }
}

/// Whatever class the tools have, now or later: what the narrowed allow covers, the wide one covers too.
#[test]
fn narrowed_allow_covers_nothing_more() {
    let (server, print) = (binding(), Fingerprint::from("f"));
    let tools = ["a", "b", "c"];
    let mut tried = 0;
    for width in [Scope::Reads, Scope::Writes, Scope::Everything] {
        let old = allow(width, &["a", "b"], 99);
        for used in [&["a"][..], &["b"], &["a", "c"]] {
            let Some(new) = narrowed(&old, &names(used)) else { continue };
            for class in [AccessClass::Read, AccessClass::Write] {
                for reaches_outside in [false, true] {
                    let class = AccessClassification { class, reason: ClassReason::Default, reaches_outside };
                    let item = |name| SubjectFacts {
                        server: &server,
                        subject: SubjectRef::Tool(name),
                        class: &class,
                        definition: DefinitionRef::Pinned { pin: name, fingerprint: &print },
                    };
                    assert!(is_narrower(&new, &old, &tools.map(item)), "{new:?}");
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 36);
}
