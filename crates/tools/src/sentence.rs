//! A rule in plain English, as lists of rules show it.

use gatehouse_model::grant::{ClientScope, ConditionTest};
use gatehouse_model::{Effect, Grant, Lifetime, Timestamp, Width};
use gatehouse_policy::cover::is_unbound;
use gatehouse_policy::show::reveal;

/// The names that stand in a sentence.
pub(crate) struct Named<'a> {
    /// The server's name; `None` for every server.
    pub(crate) server: Option<&'a str>,
    /// The client's name; `None` for every client.
    pub(crate) client: Option<&'a str>,
}

/// The sentence.
pub(crate) fn sentence(rule: &Grant, named: &Named<'_>, now: Timestamp) -> String {
    let verb = match (rule.effect, &rule.lifetime) {
        (Effect::Allow, Lifetime::Always) => "Always allow",
        (Effect::Allow, _) => "Allow",
        (Effect::Deny, Lifetime::Always) => "Always block",
        (Effect::Deny, _) => "Block",
    };
    let what = match (&rule.width, named.server) {
        (Width::Call { .. }, Some(server)) => format!("one exact call of {server}"),
        (Width::Call { .. }, None) => "one exact call".to_owned(),
        (Width::Tool { tool }, server) => match (rule_subject(tool), server) {
            (subject, Some(server)) => format!("{server}: {subject}"),
            (subject, None) => format!("{subject} on every server"),
        },
        (Width::Reads, Some(server)) => format!("{server}: all reads"),
        (Width::Writes, Some(server)) => format!("{server}: all writes"),
        (Width::Everything, Some(server)) => format!("{server}: everything"),
        (Width::Reads, None) => "all reads on every server".to_owned(),
        (Width::Writes, None) => "all writes on every server".to_owned(),
        (Width::Everything, None) => "everything on every server".to_owned(),
    };
    let whom = match (&rule.clients, named.client) {
        (ClientScope::Every, _) => "for every client".to_owned(),
        (ClientScope::One { client }, None) => format!("for the client {client}"),
        (ClientScope::One { .. }, Some(name)) => format!("for {name}"),
    };
    let mut out = format!("{verb} {what}");
    for (index, condition) in rule.conditions.iter().enumerate() {
        out.push_str(if index == 0 { " when " } else { " and " });
        out.push_str(&condition_words(&condition.pointer, &condition.test));
    }
    if !rule.conditions.is_empty() {
        out.push(',');
    }
    out.push(' ');
    out.push_str(&whom);
    match &rule.lifetime {
        Lifetime::Once => out.push_str(", once"),
        Lifetime::Until { at } => {
            let minutes = at.remaining(now).as_secs().div_ceil(60);
            let plural = if minutes == 1 { "" } else { "s" };
            out.push_str(&format!(", for {minutes} more minute{plural}"));
        }
        Lifetime::Session { .. } => out.push_str(", until its session ends"),
        Lifetime::UntilQuit => out.push_str(", until Gatehouse quits"),
        Lifetime::Always => {}
    }
    if is_unbound(rule) {
        out.push_str("; waits for its first use");
    }
    reveal(&out).into_owned()
}

/// What a rule name stands for.
fn rule_subject(name: &str) -> String {
    match name.split_once(':') {
        Some(("resource", uri)) => format!("the resource {uri}"),
        Some(("prompt", prompt)) => format!("the prompt {prompt}"),
        Some(("completion", reference)) => format!("completions for {reference}"),
        _ => name.to_owned(),
    }
}

fn condition_words(pointer: &str, test: &ConditionTest) -> String {
    let place = pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~");
    match test {
        ConditionTest::Equals { value } => format!("{place} is {value}"),
        ConditionTest::OneOf { values } => format!("{place} is one of {}", values.join(", ")),
        ConditionTest::StartsWith { text } => format!("{place} starts with “{text}”"),
        ConditionTest::Inside { folder } => format!("{place} is inside {folder}"),
        ConditionTest::HostIs { host, port: None } => format!("{place} is on {host}"),
        ConditionTest::HostIs { host, port: Some(port) } => format!("{place} is on {host}:{port}"),
        ConditionTest::Glob { pattern } => format!("{place} matches {pattern}"),
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::grant::Condition;
    use gatehouse_model::{Generation, RuleAuthor, ServerBinding};

    use super::*;

    #[test]
    fn rules_read_as_people_say_them() {
        let rule = |effect, width, lifetime, one: bool| Grant {
            id: "g".into(),
            effect,
            server: Some(ServerBinding {
                server: "s".into(),
                generation: Generation(1),
                identity: "i".into(),
            }),
            width,
            clients: if one { ClientScope::One { client: "c".into() } } else { ClientScope::Every },
            lifetime,
            conditions: Vec::new(),
            pins: Default::default(),
            program: one.then(|| "/usr/bin/agent".to_owned()),
            created: Timestamp(0),
            author: RuleAuthor::Person,
            reason: None,
        };
        let said = |rule: &Grant| {
            sentence(rule, &Named { server: Some("files"), client: Some("Claude Code") }, Timestamp(0))
        };
        let write = || Width::Tool { tool: "write_file".into() };
        assert_eq!(
            said(&rule(Effect::Allow, write(), Lifetime::Always, true)),
            "Always allow files: write_file for Claude Code"
        );
        assert_eq!(
            said(&rule(Effect::Allow, Width::Reads, Lifetime::Always, false)),
            "Always allow files: all reads for every client"
        );
        assert_eq!(
            said(&rule(Effect::Deny, Width::Everything, Lifetime::UntilQuit, true)),
            "Block files: everything for Claude Code, until Gatehouse quits"
        );
        assert_eq!(
            said(&rule(Effect::Allow, write(), Lifetime::Until { at: Timestamp(840_000) }, true)),
            "Allow files: write_file for Claude Code, for 14 more minutes"
        );
        assert_eq!(
            said(&Grant { program: None, ..rule(Effect::Allow, write(), Lifetime::Always, true) }),
            "Always allow files: write_file for Claude Code; waits for its first use"
        );
        let mut only = rule(Effect::Allow, write(), Lifetime::Always, true);
        only.conditions.push(Condition {
            pointer: "/path".into(),
            test: ConditionTest::Inside { folder: "/home/ana/notes".into() },
        });
        assert_eq!(
            said(&only),
            "Always allow files: write_file when path is inside /home/ana/notes, for Claude Code"
        );
        let resource =
            rule(Effect::Allow, Width::Tool { tool: "resource:file:///a".into() }, Lifetime::Always, false);
        assert_eq!(said(&resource), "Always allow files: the resource file:///a for every client");
    }
}
