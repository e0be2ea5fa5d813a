//! The policy, case by case. What stands here is what Gatehouse promises; the language of the table is
//! described in `words/table.rs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests"
)]

#[path = "words/table.rs"]
mod table;

use gatehouse_model::grant::{Decision, Rule};
use gatehouse_policy::verdict::RuleBook;
use table::{Call, rule};

/// The rules, separated by `;` and numbered from 1, applied to a call.
fn outcome(rules: &str, call: &str) -> String {
    let call = Call::parse(call);
    let rules = rules.split(';').map(str::trim).filter(|rule| !rule.is_empty());
    let book = RuleBook::new(rules.enumerate().map(|(at, text)| rule(text, at + 1, &call)).collect());
    let verdict = call.decide(&book);
    let decision = match verdict.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let rule = match verdict.rule {
        Rule::PolicyFile { .. } => "file".to_owned(),
        Rule::Paused => "paused".to_owned(),
        Rule::SwitchedOff => "switched off".to_owned(),
        Rule::ExplicitDeny { grant, .. } => format!("rule {grant}"),
        Rule::RightsUnverified => "unverified".to_owned(),
        Rule::ChangedDefinition { grant } => format!("changed since {grant}"),
        Rule::LateTicket { .. } => "ticket".to_owned(),
        Rule::ConditionedGrant { grant } => format!("conditioned {grant}"),
        Rule::TimedGrant { grant } => format!("timed {grant}"),
        Rule::AlwaysGrant { grant } => format!("always {grant}"),
        Rule::Answered { .. } | Rule::Unanswered { .. } | Rule::ByUser => "not a rule of the book".to_owned(),
        Rule::DefaultAsk => "default".to_owned(),
    };
    format!("{decision}: {rule}")
}

fn check(cases: &[(&str, &str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (name, rules, call, expected) in cases {
        let found = outcome(rules, call);
        if found != *expected {
            wrong.push(format!("{name}\n    rules    {rules}\n    call     {call}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_nobody_allowed_is_asked() {
    check(&[
        ("no rules, a read", "", "read_file", "ask: default"),
        ("no rules, a write", "", "write_file", "ask: default"),
        ("no rules, a resource", "", "resource:file:///a", "ask: default"),
        ("an allow for another tool", "allow tool write_file", "read_file", "ask: default"),
        ("a tool whose name begins alike", "allow tool read", "read_file", "ask: default"),
        (
            "a tool whose name differs in case",
            "allow tool Read_File pins Read_File=1",
            "read_file",
            "ask: default",
        ),
        ("an allow for every server is not legal", "allow everything anywhere", "read_file", "ask: default"),
    ]);
}

#[test]
fn the_order_of_the_rules() {
    check(&[
        ("the policy file is first", "deny everything", "read_file blocked paused ticket", "deny: file"),
        (
            "then the pause",
            "deny everything; allow everything",
            "read_file paused ticket unverified",
            "deny: paused",
        ),
        (
            "then a deny",
            "allow everything; deny tool read_file",
            "read_file ticket unverified",
            "deny: rule 2",
        ),
        (
            "a deny before a conditioned allow",
            "allow tool read_file if /a equals 1; deny reads",
            r#"read_file args {"a":1}"#,
            "deny: rule 2",
        ),
        (
            "a ticket settles what rights that cannot be verified left open",
            "allow everything",
            "read_file ticket unverified",
            "allow: ticket",
        ),
        (
            "rights that cannot be verified allow nothing",
            "allow everything",
            "read_file unverified",
            "ask: unverified",
        ),
        (
            "not even what lasts for a while",
            "allow tool read_file until-quit",
            "read_file unverified",
            "ask: unverified",
        ),
        ("nor this call", "allow this-call once", "read_file unverified", "ask: unverified"),
        ("their denies still count", "deny everything", "read_file unverified", "deny: rule 1"),
        (
            "a ticket was given for the definition as it is",
            "allow tool read_file",
            "read_file def 2 ticket",
            "allow: ticket",
        ),
        ("a changed definition asks", "allow tool read_file", "read_file def 2", "ask: changed since 1"),
        ("a ticket before the grants", "allow tool read_file", "read_file ticket", "allow: ticket"),
        (
            "conditioned before timed",
            "allow tool read_file until-quit; allow tool read_file if /a equals 1",
            r#"read_file args {"a":1}"#,
            "allow: conditioned 2",
        ),
        (
            "conditioned before always",
            "allow reads; allow tool read_file if /a equals 1",
            r#"read_file args {"a":1}"#,
            "allow: conditioned 2",
        ),
        ("timed before always", "allow reads; allow tool read_file until 200", "read_file", "allow: timed 2"),
        ("of equals the first that was given", "allow reads; allow reads", "read_file", "allow: always 1"),
        (
            "of equals the first, however wide",
            "allow everything; allow tool read_file",
            "read_file",
            "allow: always 1",
        ),
        ("of denies one is named", "deny reads", "read_file", "deny: rule 1"),
    ]);
}

#[test]
fn widths() {
    check(&[
        ("a tool", "allow tool read_file", "read_file", "allow: always 1"),
        ("reads: a read", "allow reads", "read_file", "allow: always 1"),
        ("reads: no write", "allow reads", "write_file", "ask: default"),
        ("reads: no read that reaches outside", "allow reads", "read_file outside", "ask: default"),
        ("reads: what is a read now", "allow reads", "write_file read", "allow: always 1"),
        ("writes: a write", "allow writes", "write_file", "allow: always 1"),
        ("writes: no read", "allow writes", "read_file", "ask: default"),
        ("writes: also one that reaches outside", "allow writes", "write_file outside", "allow: always 1"),
        ("everything: a read", "allow everything", "read_file", "allow: always 1"),
        ("everything: a write", "allow everything", "write_file", "allow: always 1"),
        ("everything: also what reaches outside", "allow everything", "read_file outside", "allow: always 1"),
        ("this call", "allow this-call", "read_file", "allow: always 1"),
        ("this call for a while", "allow this-call until 200", "read_file", "allow: timed 1"),
        ("another call", "allow other-call", "read_file", "ask: default"),
        (
            "a tool that reaches outside, by its name",
            "allow tool read_file",
            "read_file outside",
            "allow: always 1",
        ),
        ("deny a tool", "deny tool read_file", "read_file", "deny: rule 1"),
        ("deny another tool", "deny tool write_file", "read_file", "ask: default"),
        ("deny reads", "deny reads", "read_file", "deny: rule 1"),
        ("deny reads: also those that reach outside", "deny reads", "read_file outside", "deny: rule 1"),
        ("deny reads: no write", "deny reads", "write_file", "ask: default"),
        ("deny writes", "deny writes", "write_file", "deny: rule 1"),
        ("deny writes: no read", "deny writes; allow reads", "read_file", "allow: always 2"),
        ("deny everything", "deny everything", "write_file", "deny: rule 1"),
        ("deny this call", "deny this-call", "write_file", "deny: rule 1"),
        ("deny another call", "deny other-call", "write_file", "ask: default"),
        ("deny everything everywhere", "deny everything anywhere", "write_file on s9", "deny: rule 1"),
        ("deny a tool everywhere", "deny tool write_file anywhere", "write_file on s9", "deny: rule 1"),
        (
            "deny the client everywhere",
            "deny everything anywhere for c2; allow everything",
            "read_file by c2",
            "deny: rule 1",
        ),
        (
            "and no other client",
            "deny everything anywhere for c2; allow everything",
            "read_file by c1",
            "allow: always 2",
        ),
    ]);
}

#[test]
fn lifetimes() {
    check(&[
        ("until a moment", "allow tool read_file until 200", "read_file at 199", "allow: timed 1"),
        (
            "the moment itself is too late",
            "allow tool read_file until 200",
            "read_file at 200",
            "ask: default",
        ),
        ("until quit", "allow tool read_file until-quit", "read_file at 999999", "allow: timed 1"),
        ("a session", "allow tool read_file session x", "read_file session x", "allow: timed 1"),
        ("another session", "allow tool read_file session x", "read_file session y", "ask: default"),
        ("no session", "allow tool read_file session x", "read_file", "ask: default"),
        ("once, this call", "allow this-call once", "read_file", "allow: timed 1"),
        (
            "once is for one call and never for a tool",
            "allow tool read_file once",
            "read_file",
            "ask: default",
        ),
        ("nor for a server", "allow everything once", "read_file", "ask: default"),
        ("a deny for a while", "deny tool read_file until 200", "read_file at 199", "deny: rule 1"),
        ("a deny that is over", "deny tool read_file until 200", "read_file at 200", "ask: default"),
        ("a deny for a session", "deny tool read_file session x", "read_file session x", "deny: rule 1"),
        ("a deny for another session", "deny tool read_file session x", "read_file", "ask: default"),
        ("a deny of this call, once", "deny this-call once", "read_file", "deny: rule 1"),
        (
            "an allow outlasts a deny",
            "deny reads until 200; allow reads",
            "read_file at 300",
            "allow: always 2",
        ),
    ]);
}

#[test]
fn whom_and_which_server() {
    check(&[
        ("its client", "allow reads for c1", "read_file by c1", "allow: always 1"),
        ("another client", "allow reads for c1", "read_file by c2", "ask: default"),
        ("every client", "allow reads", "read_file by c2", "allow: always 1"),
        ("another server", "allow reads", "read_file on s2", "ask: default"),
        ("a server edited since", "allow reads", "read_file gen 2", "ask: default"),
        ("a server as it was before", "allow reads gen 2", "read_file gen 1", "ask: default"),
        ("a tool of a server edited since", "allow tool read_file", "read_file gen 2", "ask: default"),
        ("a deny for another client", "deny reads for c1", "read_file by c2", "ask: default"),
        ("a deny for another server", "deny reads", "read_file on s2", "ask: default"),
        ("a deny outlives an edit of its server", "deny reads", "read_file gen 2", "deny: rule 1"),
        (
            "the program it was given for",
            "allow reads seen cursor",
            "read_file seen cursor",
            "allow: always 1",
        ),
        ("another program", "allow reads seen cursor", "read_file seen sh", "ask: default"),
        ("a program that cannot be told", "allow reads seen cursor", "read_file", "ask: default"),
        ("given for no program", "allow reads", "read_file seen sh", "allow: always 1"),
        (
            "only always-grants ask about the program",
            "allow reads until 200 seen cursor",
            "read_file seen sh",
            "allow: timed 1",
        ),
        (
            "a deny does not ask about the program",
            "deny reads seen cursor",
            "read_file seen sh",
            "deny: rule 1",
        ),
    ]);
}

#[test]
fn definitions() {
    check(&[
        (
            "all reads: a tool that came later asks",
            "allow reads pins write_file=1",
            "read_file",
            "ask: default",
        ),
        ("everything: a tool that came later asks", "allow everything", "read_other", "ask: default"),
        ("all reads: a changed tool", "allow reads", "read_file def 2", "ask: changed since 1"),
        ("everything: a changed tool", "allow everything", "write_file def 2", "ask: changed since 1"),
        ("writes: a changed tool", "allow writes", "write_file def 2", "ask: changed since 1"),
        ("a tool without a pin", "allow tool read_file pins -", "read_file", "ask: default"),
        ("a tool without a definition", "allow everything", "read_file def none", "ask: default"),
        (
            "the same definition again",
            "allow tool read_file pins read_file=2",
            "read_file def 2",
            "allow: always 1",
        ),
        (
            "a newer grant for the new definition",
            "allow reads; allow tool read_file until 200 pins read_file=2",
            "read_file def 2",
            "allow: timed 2",
        ),
        (
            "only a grant that would cover it is suspended",
            "allow reads for c2",
            "read_file def 2",
            "ask: default",
        ),
        ("a grant that is over is not suspended", "allow reads until 50", "read_file def 2", "ask: default"),
        (
            "a class that it does not cover is not suspended",
            "allow reads",
            "write_file def 2",
            "ask: default",
        ),
        (
            "another program is not suspended",
            "allow reads seen cursor",
            "read_file def 2 seen sh",
            "ask: default",
        ),
        (
            "a condition that fails is not suspended",
            "allow reads if /a equals 1",
            "read_file def 2",
            "ask: default",
        ),
        ("a deny needs no pins", "deny tool read_file pins -", "read_file def 2", "deny: rule 1"),
        (
            "this call has its definition in its hash",
            "allow this-call pins -",
            "read_file def 2",
            "allow: always 1",
        ),
    ]);
}

#[test]
fn what_is_not_a_tool() {
    check(&[
        ("all reads: a resource", "allow reads", "resource:file:///a", "allow: always 1"),
        ("all reads: a prompt", "allow reads", "prompt:review", "allow: always 1"),
        ("all reads: a completion", "allow reads", "completion:review", "allow: always 1"),
        ("everything: a resource", "allow everything", "resource:file:///a", "allow: always 1"),
        ("writes: no resource", "allow writes", "resource:file:///a", "ask: default"),
        ("one resource", "allow tool resource:file:///a pins -", "resource:file:///a", "allow: always 1"),
        ("another resource", "allow tool resource:file:///a pins -", "resource:file:///b", "ask: default"),
        ("a prompt of the same name", "allow tool resource:a pins -", "prompt:a", "ask: default"),
        (
            "deny one resource",
            "allow reads; deny tool resource:file:///a",
            "resource:file:///a",
            "deny: rule 2",
        ),
        (
            "a tool that calls itself a prompt gets no prompt's grant",
            "allow tool prompt:a pins -",
            "prompt:a def 1",
            "ask: default",
        ),
        (
            "and its own grant is none for the prompt",
            "allow tool prompt:a pins prompt:a=1",
            "prompt:a",
            "ask: default",
        ),
        ("all reads do not cover it either", "allow reads", "prompt:a def 1", "ask: default"),
    ]);
}

#[test]
fn conditions_on_values() {
    let rule = "allow tool read_file if /a equals 1";
    check(&[
        ("equal", rule, r#"read_file args {"a":1}"#, "allow: conditioned 1"),
        ("not equal", rule, r#"read_file args {"a":2}"#, "ask: default"),
        (
            "a number written otherwise may be read otherwise",
            rule,
            r#"read_file args {"a":1.0}"#,
            "ask: default",
        ),
        ("text is no number", rule, r#"read_file args {"a":"1"}"#, "ask: default"),
        ("absent", rule, "read_file", "ask: default"),
        ("absent arguments", rule, "read_file args null", "ask: default"),
        (
            "equal objects in another order",
            r#"allow tool read_file if /a equals {"x":1,"y":2}"#,
            r#"read_file args {"a":{"y":2,"x":1}}"#,
            "allow: conditioned 1",
        ),
        (
            "within a list",
            "allow tool read_file if /a/1/b equals true",
            r#"read_file args {"a":[0,{"b":true}]}"#,
            "allow: conditioned 1",
        ),
        (
            "one of",
            r#"allow tool read_file if /a one-of "x"|"y""#,
            r#"read_file args {"a":"y"}"#,
            "allow: conditioned 1",
        ),
        (
            "none of",
            r#"allow tool read_file if /a one-of "x"|"y""#,
            r#"read_file args {"a":"z"}"#,
            "ask: default",
        ),
        (
            "all of several hold",
            "allow tool read_file if /a equals 1 if /b equals 2",
            r#"read_file args {"a":1,"b":2}"#,
            "allow: conditioned 1",
        ),
        (
            "one of several does not",
            "allow tool read_file if /a equals 1 if /b equals 2",
            r#"read_file args {"a":1,"b":3}"#,
            "ask: default",
        ),
        (
            "a value that is no JSON never holds",
            "allow tool read_file if /a equals {",
            r#"read_file args {"a":"{"}"#,
            "ask: default",
        ),
        (
            "a deny when it holds",
            "deny tool read_file if /a equals 1; allow reads",
            r#"read_file args {"a":1}"#,
            "deny: rule 1",
        ),
        (
            "a deny when it does not",
            "deny tool read_file if /a equals 1; allow reads",
            r#"read_file args {"a":2}"#,
            "allow: always 2",
        ),
        (
            "a deny when the argument is absent",
            "deny tool read_file if /a equals 1; allow reads",
            "read_file",
            "allow: always 2",
        ),
        (
            "a deny when a reader may take it as equal",
            "deny tool read_file if /a equals 1; allow reads",
            r#"read_file args {"a":1.0}"#,
            "deny: rule 1",
        ),
        (
            "a deny that cannot be read applies",
            "deny tool read_file if /a equals {; allow reads",
            "read_file",
            "deny: rule 1",
        ),
    ]);
}

#[test]
fn conditions_on_text() {
    check(&[
        (
            "starts so",
            "allow tool read_file if /a starts abc",
            r#"read_file args {"a":"abcd"}"#,
            "allow: conditioned 1",
        ),
        (
            "does not",
            "allow tool read_file if /a starts abc",
            r#"read_file args {"a":"xabc"}"#,
            "ask: default",
        ),
        (
            "leads back out",
            "allow tool read_file if /a starts /home/me/",
            r#"read_file args {"a":"/home/me/../you"}"#,
            "ask: default",
        ),
        (
            "leads back out, in escapes",
            "allow tool read_file if /a starts https://x.example/a/",
            r#"read_file args {"a":"https://x.example/a/%2e%2E/b"}"#,
            "ask: default",
        ),
        (
            "a host that goes on",
            "allow tool read_file if /a starts https://good.example",
            r#"read_file args {"a":"https://good.example.evil.example"}"#,
            "ask: default",
        ),
        (
            "a host that was a user name",
            "allow tool read_file if /a starts https://good.example",
            r#"read_file args {"a":"https://good.example@evil.example"}"#,
            "ask: default",
        ),
        (
            "a host that ends there",
            "allow tool read_file if /a starts https://good.example",
            r#"read_file args {"a":"https://good.example/a"}"#,
            "allow: conditioned 1",
        ),
        (
            "a list is no text",
            "allow tool read_file if /a starts abc",
            r#"read_file args {"a":["abc"]}"#,
            "ask: default",
        ),
        (
            "a glob",
            "allow tool read_file if /a glob *.md",
            r#"read_file args {"a":"x.md"}"#,
            "allow: conditioned 1",
        ),
        (
            "its star does not cross a slash",
            "allow tool read_file if /a glob *.md",
            r#"read_file args {"a":"a/x.md"}"#,
            "ask: default",
        ),
        (
            "two stars do",
            "allow tool read_file if /a glob docs/**",
            r#"read_file args {"a":"docs/a/x.md"}"#,
            "allow: conditioned 1",
        ),
        (
            "but not back out",
            "allow tool read_file if /a glob docs/**",
            r#"read_file args {"a":"docs/../secret"}"#,
            "ask: default",
        ),
        (
            "a glob that is none",
            "allow tool read_file if /a glob [",
            r#"read_file args {"a":"["}"#,
            "ask: default",
        ),
        (
            "a deny by glob",
            "deny tool read_file if /a glob *.key; allow reads",
            r#"read_file args {"a":"id.key"}"#,
            "deny: rule 1",
        ),
        (
            "a deny by glob, led around",
            "deny tool read_file if /a glob /etc/**; allow reads",
            r#"read_file args {"a":"/x/../etc/a"}"#,
            "deny: rule 1",
        ),
        (
            "a deny by start, led around",
            "deny tool read_file if /a starts /etc; allow reads",
            r#"read_file args {"a":"/x/../etc/a"}"#,
            "deny: rule 1",
        ),
        (
            "a deny by text meets a list",
            "deny tool read_file if /a starts abc; allow reads",
            r#"read_file args {"a":["abc"]}"#,
            "deny: rule 1",
        ),
    ]);
}

#[test]
fn conditions_on_paths() {
    let only = "allow tool read_file if /p inside /home/me/work";
    let never = "deny tool read_file if /p inside /etc; allow reads";
    check(&[
        ("inside", only, r#"read_file args {"p":"/home/me/work/a.txt"}"#, "allow: conditioned 1"),
        ("deep inside", only, r#"read_file args {"p":"/home/me/work/a/b/c"}"#, "allow: conditioned 1"),
        ("the folder itself", only, r#"read_file args {"p":"/home/me/work"}"#, "allow: conditioned 1"),
        ("with a slash at its end", only, r#"read_file args {"p":"/home/me/work/"}"#, "allow: conditioned 1"),
        ("there and back", only, r#"read_file args {"p":"/home/me/work/a/../b"}"#, "allow: conditioned 1"),
        ("out and in again", only, r#"read_file args {"p":"/home/me/x/../work/b"}"#, "allow: conditioned 1"),
        ("out", only, r#"read_file args {"p":"/home/me/work/../x"}"#, "ask: default"),
        (
            "a folder whose name begins alike",
            only,
            r#"read_file args {"p":"/home/me/workshop/a"}"#,
            "ask: default",
        ),
        ("the folder above", only, r#"read_file args {"p":"/home/me"}"#, "ask: default"),
        ("a relative path", only, r#"read_file args {"p":"a.txt"}"#, "ask: default"),
        ("an address", only, r#"read_file args {"p":"file:///home/me/work/a"}"#, "ask: default"),
        ("what cannot be resolved", only, r#"read_file args {"p":"/unreadable/a"}"#, "ask: default"),
        ("a zero byte", only, r#"read_file args {"p":"/home/me/work/a\u0000b"}"#, "ask: default"),
        ("another case", only, r#"read_file args {"p":"/home/me/Work/a"}"#, "ask: default"),
        ("several paths at once", only, r#"read_file args {"p":["/home/me/work/a"]}"#, "ask: default"),
        ("absent", only, "read_file", "ask: default"),
        (
            "through a link out",
            "allow tool read_file if /p inside /home/me",
            r#"read_file args {"p":"/home/me/link/passwd"}"#,
            "ask: default",
        ),
        (
            "a folder that became a link widens nothing",
            "allow tool read_file if /p inside /home/me/link",
            r#"read_file args {"p":"/etc/passwd"}"#,
            "ask: default",
        ),
        (
            "a relative folder never holds",
            "allow tool read_file if /p inside work",
            r#"read_file args {"p":"/work/a"}"#,
            "ask: default",
        ),
        (
            "a folder that leads back never holds",
            "allow tool read_file if /p inside /a/..",
            r#"read_file args {"p":"/a/b"}"#,
            "ask: default",
        ),
        ("a deny inside", never, r#"read_file args {"p":"/etc/passwd"}"#, "deny: rule 1"),
        ("a deny outside", never, r#"read_file args {"p":"/home/me/a"}"#, "allow: always 2"),
        ("a deny through a link", never, r#"read_file args {"p":"/home/me/link/passwd"}"#, "deny: rule 1"),
        (
            "a deny of what cannot be resolved",
            never,
            r#"read_file args {"p":"../etc/passwd"}"#,
            "deny: rule 1",
        ),
        (
            "a deny of a folder that is a link",
            "deny tool read_file if /p inside /tmp; allow reads",
            r#"read_file args {"p":"/tmp/a"}"#,
            "deny: rule 1",
        ),
    ]);
}

#[test]
fn conditions_on_hosts() {
    let only = "allow tool read_file if /u host good.example";
    let never = "deny tool read_file if /u host evil.example; allow reads";
    check(&[
        ("the host", only, r#"read_file args {"u":"https://good.example/a?b#c"}"#, "allow: conditioned 1"),
        ("without a path", only, r#"read_file args {"u":"https://good.example"}"#, "allow: conditioned 1"),
        ("in capitals", only, r#"read_file args {"u":"HTTPS://Good.Example/a"}"#, "allow: conditioned 1"),
        ("with a port", only, r#"read_file args {"u":"http://good.example:8080/a"}"#, "allow: conditioned 1"),
        (
            "with the usual port",
            only,
            r#"read_file args {"u":"https://good.example:443/a"}"#,
            "allow: conditioned 1",
        ),
        (
            "written out to the root",
            only,
            r#"read_file args {"u":"https://good.example./a"}"#,
            "allow: conditioned 1",
        ),
        ("another host", only, r#"read_file args {"u":"https://evil.example/good.example"}"#, "ask: default"),
        ("a host below it", only, r#"read_file args {"u":"https://a.good.example/"}"#, "ask: default"),
        (
            "a host that ends alike",
            only,
            r#"read_file args {"u":"https://notgood.example/"}"#,
            "ask: default",
        ),
        (
            "the host as a user name",
            only,
            r#"read_file args {"u":"https://good.example@evil.example/"}"#,
            "ask: default",
        ),
        (
            "a user name at the host",
            only,
            r#"read_file args {"u":"https://me@good.example/"}"#,
            "ask: default",
        ),
        ("an empty user name", only, r#"read_file args {"u":"https://@good.example/"}"#, "ask: default"),
        (
            "a backslash that some read as a slash",
            only,
            r#"read_file args {"u":"https://good.example\\@evil.example/"}"#,
            "ask: default",
        ),
        (
            "a line break that some leave out",
            only,
            r#"read_file args {"u":"https://good.\nexample/"}"#,
            "ask: default",
        ),
        ("escapes in the host", only, r#"read_file args {"u":"https://%67ood.example/"}"#, "ask: default"),
        ("letters that look alike", only, r#"read_file args {"u":"https://gооd.example/"}"#, "ask: default"),
        (
            "wide letters that some take for plain ones",
            only,
            r#"read_file args {"u":"https://ｇｏｏｄ.example/"}"#,
            "ask: default",
        ),
        ("one slash", only, r#"read_file args {"u":"https:/good.example/"}"#, "ask: default"),
        ("no scheme", only, r#"read_file args {"u":"good.example/a"}"#, "ask: default"),
        ("no host", only, r#"read_file args {"u":"data:text/plain,good.example"}"#, "ask: default"),
        ("a file", only, r#"read_file args {"u":"file:///good.example"}"#, "ask: default"),
        (
            "a host in its ASCII form",
            "allow tool read_file if /u host xn--bcher-kva.example",
            r#"read_file args {"u":"https://xn--bcher-kva.example/"}"#,
            "allow: conditioned 1",
        ),
        (
            "the same in letters, of which parsers have several ideas",
            "allow tool read_file if /u host xn--bcher-kva.example",
            r#"read_file args {"u":"https://bücher.example/"}"#,
            "ask: default",
        ),
        (
            "an address of numbers",
            "allow tool read_file if /u host 127.0.0.1",
            r#"read_file args {"u":"http://127.0.0.1:80/"}"#,
            "allow: conditioned 1",
        ),
        (
            "the same written otherwise",
            "allow tool read_file if /u host 127.0.0.1",
            r#"read_file args {"u":"http://0x7f.1/"}"#,
            "ask: default",
        ),
        (
            "a long address",
            "allow tool read_file if /u host [::1]",
            r#"read_file args {"u":"http://[::1]:9/"}"#,
            "allow: conditioned 1",
        ),
        ("a deny of the host", never, r#"read_file args {"u":"https://evil.example/"}"#, "deny: rule 1"),
        (
            "a deny of another host",
            never,
            r#"read_file args {"u":"https://good.example/"}"#,
            "allow: always 2",
        ),
        (
            "a deny with a user name before it",
            never,
            r#"read_file args {"u":"https://good.example@evil.example/"}"#,
            "deny: rule 1",
        ),
        ("a deny in escapes", never, r#"read_file args {"u":"https://%65vil.example/"}"#, "deny: rule 1"),
        ("a deny of wide letters", never, r#"read_file args {"u":"https://ｅvil.example/"}"#, "deny: rule 1"),
        (
            "a deny of other letters",
            never,
            r#"read_file args {"u":"https://bücher.example/"}"#,
            "allow: always 2",
        ),
        (
            "a deny of numbers written otherwise",
            "deny tool read_file if /u host 127.0.0.1; allow reads",
            r#"read_file args {"u":"http://2130706433/"}"#,
            "deny: rule 1",
        ),
        ("a deny of what is no address", never, r#"read_file args {"u":"evil.example"}"#, "deny: rule 1"),
    ]);
}
