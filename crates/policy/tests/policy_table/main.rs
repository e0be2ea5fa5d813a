//! The policy, case by case. What stands in the tables beside this file is what Gatehouse promises; the
//! language of the tables is described in `crates/policy/tests/policy_table/syntax.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, reason = "tests")]

mod syntax;

use gatehouse_model::GrantId;
use gatehouse_model::grant::{Decision, Rule, Verdict};
use gatehouse_model::verdict_trace::{PolicyCheck, RuleFit};
use gatehouse_policy::verdict::{CallFacts, RuleSet};
use syntax::{Call, resolve, rule};

const ORDER: &str = include_str!("order.md");
const REACH: &str = include_str!("reach.md");
const CONDITIONS: &str = include_str!("conditions.md");
const SPELLINGS: &str = include_str!("spellings.md");
const GRID: &str = include_str!("grid.md");

/// One row of a table.
struct Case<'a> {
    name: &'a str,
    rules: &'a str,
    call: &'a str,
    verdict: &'a str,
}

/// The rows of all tables of a text. Where a row has no rules of its own, those above its table count.
fn cases(text: &str) -> Vec<Case<'_>> {
    let mut above = "-";
    let mut cases = Vec::new();
    for line in text.lines() {
        if let Some(rules) = line.strip_prefix("rules: ") {
            above = rules;
        }
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_start_matches('|').trim()).collect();
        match *cells.as_slice() {
            ["case", ..] => {}
            [name, rules, call, verdict] => cases.push(Case { name, rules, call, verdict }),
            [name, call, verdict] => cases.push(Case { name, rules: above, call, verdict }),
            _ => assert!(!line.starts_with("| "), "no row: {line}"),
        }
    }
    cases
}

/// The rules, separated by `;` and numbered from 1, with the call that they are applied to.
fn book(rules: &str, call: &str) -> (RuleSet, Call) {
    let call = Call::parse(call);
    let rules = rules.split(';').map(str::trim).filter(|rule| !matches!(*rule, "" | "-"));
    let book = RuleSet::new(rules.enumerate().map(|(at, text)| rule(text, at + 1, &call)).collect());
    (book, call)
}

fn outcome(rules: &str, call: &str) -> String {
    let (book, call) = book(rules, call);
    in_words(&call.decide(&book))
}

/// The verdict where only these paths are known, and the others lead nowhere certain.
fn decided_with(known: &[String], book: &RuleSet, call: &Call) -> Verdict {
    let resolve = |path: &str| resolve(path).filter(|_| known.iter().any(|known| known == path));
    call.with_facts(|facts| book.decide(&CallFacts { resolve_path: &resolve, ..*facts }))
}

fn in_words(verdict: &Verdict) -> String {
    let decision = match verdict.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let rule = match &verdict.rule {
        Rule::PolicyFile { .. } => "file".to_owned(),
        Rule::Paused => "paused".to_owned(),
        Rule::SwitchedOff => "switched off".to_owned(),
        Rule::ExplicitDeny { grant, .. } => format!("rule {grant}"),
        Rule::PermissionsUnverified => "unverified".to_owned(),
        Rule::ChangedDefinition { grant } => format!("changed since {grant}"),
        Rule::UnboundGrant { grant } => format!("first use of {grant}"),
        Rule::LateTicket { .. } => "ticket".to_owned(),
        Rule::ConditionedGrant { grant } => format!("conditioned {grant}"),
        Rule::TimedGrant { grant } => format!("timed {grant}"),
        Rule::AlwaysGrant { grant } => format!("always {grant}"),
        Rule::HiddenByProfile { .. }
        | Rule::RateLimited { .. }
        | Rule::Answered { .. }
        | Rule::Unanswered { .. }
        | Rule::ByUser => "not a rule of the book".to_owned(),
        Rule::DefaultAsk => "default".to_owned(),
    };
    format!("{decision}: {rule}")
}

fn check(text: &str, at_least: usize) {
    let cases = cases(text);
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for Case { name, rules, call, verdict } in cases {
        let found = outcome(rules, call);
        if found != verdict {
            wrong.push(format!(
                "{name}\n    rules    {rules}\n    call     {call}\n    expected {verdict}\n    found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn picks_the_deciding_rule() {
    check(ORDER, 70);
}

#[test]
fn applies_rule_scope_and_clients() {
    check(REACH, 140);
}

#[test]
fn evaluates_argument_conditions() {
    check(CONDITIONS, 310);
}

#[test]
fn denies_of_a_resource_by_any_spelling() {
    check(SPELLINGS, 135);
}

/// Each column of the grid is a call; the first of them is the one that a rule `this-call` was made of.
fn columns() -> Vec<(&'static str, &'static str)> {
    GRID.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": ")).collect()
}

#[test]
fn covers_every_scope_lifetime_and_client() {
    let columns = columns();
    let (_, first) = columns[0];
    let first = Call::parse(first);
    let mut rows = 0;
    let mut wrong = Vec::new();
    for line in GRID.lines().filter(|line| line.starts_with("| allow") || line.starts_with("| deny")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let rule = rule(cells[0], 1, &first);
        let found: Vec<&str> = columns
            .iter()
            .map(|(_, call)| {
                let verdict = Call::parse(call).decide(&RuleSet::new(vec![rule.clone()]));
                match (verdict.decision, verdict.rule) {
                    (Decision::Allow, _) => "yes",
                    (Decision::Deny, _) => "no",
                    (Decision::Ask, Rule::ChangedDefinition { .. }) => "new",
                    (Decision::Ask, _) => "",
                }
            })
            .collect();
        if cells[1..] != found {
            wrong.push(format!("{line}\n    found {found:?}"));
        }
        rows += 1;
    }
    // Two effects, five widths, five lifetimes, two scopes.
    assert_eq!((rows, columns.len()), (100, 16));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What [`RuleSet::paths`] names is all that a verdict needs to know of the disk.
#[test]
fn the_paths_that_are_named_beforehand_are_enough() {
    let mut with_paths = 0;
    for Case { name, rules, call, .. } in [ORDER, REACH, CONDITIONS].into_iter().flat_map(cases) {
        let (book, call) = book(rules, call);
        let paths = call.with_facts(|facts| book.paths(facts));
        assert_eq!(decided_with(&paths, &book, &call), call.decide(&book), "{name}: {paths:?}");
        with_paths += usize::from(!paths.is_empty());
    }
    assert!(with_paths > 25, "only {with_paths} cases");
}

#[test]
fn only_rules_about_a_call_name_paths() {
    let inside = "allow tool read_file if /p inside /home/me/work";
    let deny = "deny tool read_file if /p inside /etc";
    for (rules, call, expected) in [
        // For a yes it is enough where the argument leads.
        (inside, r#"read_file args {"p":"/home/me/a"}"#, &["/home/me/a"][..]),
        (deny, r#"read_file args {"p":"/home/me/a"}"#, &["/etc", "/home/me/a"]),
        ("deny everything anywhere if /p inside /etc", r#"read_file args {"p":"/a"}"#, &["/etc", "/a"]),
        (inside, r#"read_file args {"p":"/home/me/../a"}"#, &["/home/me/../a", "/home/a"]),
        // Nothing that could lead anywhere.
        (inside, r#"read_file args {"p":7}"#, &[]),
        (inside, r#"read_file args {"q":"/home/me/a"}"#, &[]),
        (deny, r#"read_file args {"p":"/a/%2e%2e"}"#, &[]),
        // Rules for something else, for somebody else, that are over, and of another kind.
        (inside, r#"read_more args {"p":"/home/me/a"}"#, &[]),
        (inside, r#"read_file on s2 args {"p":"/home/me/a"}"#, &[]),
        ("allow reads for c2 if /p inside /a", r#"read_file args {"p":"/a"}"#, &[]),
        ("allow reads until 50 if /p inside /a", r#"read_file args {"p":"/a"}"#, &[]),
        ("allow reads if /p starts /a; deny reads if /p glob /b/*", r#"read_file args {"p":"/a"}"#, &[]),
        // Where the paths change nothing.
        (deny, r#"read_file args {"p":"/a"} paused"#, &[]),
        (deny, r#"read_file args {"p":"/a"} blocked"#, &[]),
        (inside, r#"read_file args {"p":"/a"} ticket"#, &[]),
        (inside, r#"read_file args {"p":"/a"} unverified"#, &[]),
        (deny, r#"read_file args {"p":"/a"} ticket"#, &["/etc", "/a"]),
    ] {
        let (book, call) = book(rules, call);
        assert_eq!(call.with_facts(|facts| book.paths(facts)), expected, "{rules}: {}", call.text);
    }
}

/// What is told of a call ends with the check that decided it, and marks the rule that did.
#[test]
fn trace_ends_with_what_decided() {
    let mut marked = 0;
    for Case { name, rules, call, .. } in [ORDER, REACH, CONDITIONS].into_iter().flat_map(cases) {
        let (book, call) = book(rules, call);
        let (verdict, trace) = (call.decide(&book), call.with_facts(|facts| book.trace(facts)));
        let judged = trace.iter().flat_map(|check| &check.rules);
        let decided: Vec<&GrantId> =
            judged.filter(|rule| rule.finding == RuleFit::Decided).map(|rule| &rule.rule).collect();
        let deciding: Vec<&GrantId> = verdict.rule.deciding_grant().into_iter().collect();
        assert_eq!(decided, deciding, "{name}");
        marked += decided.len();
        let last = match verdict.rule {
            Rule::PolicyFile { .. } => PolicyCheck::ManagedPolicy,
            Rule::Paused => PolicyCheck::Pause,
            Rule::ExplicitDeny { .. } => PolicyCheck::Denies,
            Rule::LateTicket { .. } => PolicyCheck::LateApproval,
            Rule::PermissionsUnverified => PolicyCheck::Verification,
            Rule::ConditionedGrant { .. } | Rule::TimedGrant { .. } | Rule::AlwaysGrant { .. } => {
                PolicyCheck::Allows
            }
            _ => PolicyCheck::Default,
        };
        assert_eq!(trace.last().map(|check| check.check), Some(last), "{name}");
    }
    assert!(marked > 100, "only {marked} rules");
}

#[test]
fn trace_says_why_a_rule_did_not_decide() {
    for (rules, call, expected) in [
        ("allow tool read_file", "read_file", &[RuleFit::Decided][..]),
        ("deny tool read_file", "read_file", &[RuleFit::Decided]),
        ("allow writes", "read_file", &[RuleFit::NotCovered]),
        ("allow everything pins other=1", "read_file", &[RuleFit::AddedLater]),
        ("allow everything pins read_file=2", "read_file", &[RuleFit::ChangedDefinition]),
        ("allow reads for c2", "read_file", &[RuleFit::NotInForce]),
        ("allow reads until 50", "read_file", &[RuleFit::NotInForce]),
        ("allow reads for c1 seen another", "read_file", &[RuleFit::OtherProgram]),
        ("allow reads for c1 unbound", "read_file", &[RuleFit::Unbound]),
        ("allow reads if /a equals 2", r#"read_file args {"a":1}"#, &[RuleFit::ConditionsFailed]),
        ("deny reads if /a equals 2", r#"read_file args {"a":1}"#, &[RuleFit::ConditionsFailed]),
        ("deny reads for c2; allow reads", "read_file", &[RuleFit::NotInForce, RuleFit::Decided]),
        ("allow reads; allow reads until 200", "read_file", &[RuleFit::Outranked, RuleFit::Decided]),
        // Not even looked at: a deny came before, or it is for another server.
        ("deny reads; allow reads", "read_file", &[RuleFit::Decided]),
        ("allow reads on s2", "read_file", &[]),
    ] {
        let (book, call) = book(rules, call);
        let trace = call.with_facts(|facts| book.trace(facts));
        let found: Vec<RuleFit> =
            trace.iter().flat_map(|check| &check.rules).map(|rule| rule.finding).collect();
        assert_eq!(found, expected, "{rules}: {}", call.text);
    }
}

#[test]
fn trace_is_bounded_and_keeps_the_deciding_rule() {
    let many = vec!["deny everything for c2"; 40].join("; ");
    let (book, call) = book(&format!("{many}; deny everything"), "read_file");
    let trace = call.with_facts(|facts| book.trace(facts));
    let denies = trace.last().unwrap();
    assert_eq!((denies.rules.len(), denies.more), (16, 25));
    assert_eq!(denies.rules.last().unwrap().finding, RuleFit::Decided);
}
