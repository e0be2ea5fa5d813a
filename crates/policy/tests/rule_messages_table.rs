//! How rules, choices and conditions are said, case by case, and that every text that can come up is in both catalogs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_common::messages::{AND, Language, NEXT_SENTENCE, render};
use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::grant::{ClientScope, Condition, ConditionTest};
use gatehouse_model::message::{Message, MessageParam};
use gatehouse_model::{
    Generation, Grant, GrantChoice, IdentityHash, Lifetime, RuleAuthor, RuleEffect, Scope, ServerBinding,
    Timestamp,
};
use gatehouse_policy::rule_messages::{
    CallNames, RuleNames, describe_author, describe_choice, describe_condition, describe_rule, describe_width,
};

type Life = ChoiceLifetime;
type Wide = ChoiceScope;

const SECRET_NAMES: RuleNames<'static> = RuleNames { server: Some("files"), client: Some("Claude Code") };

/// "Always allow files: write_file, for every client".
fn rule() -> Grant {
    Grant {
        id: "g".into(),
        effect: RuleEffect::Allow,
        server: Some(ServerBinding {
            server: "srv-1".into(),
            generation: Generation(1),
            identity: IdentityHash::new("i"),
        }),
        width: tool("write_file"),
        clients: ClientScope::Every,
        lifetime: Lifetime::Always,
        conditions: Vec::new(),
        pins: BTreeMap::new(),
        program: None,
        created: Timestamp(0),
        author: RuleAuthor::Person,
        reason: None,
    }
}

fn tool(name: &str) -> Scope {
    Scope::Tool { tool: Subject::from_rule_name(name) }
}

fn one() -> ClientScope {
    ClientScope::One { client: "cli-1".into() }
}

fn inside() -> Condition {
    let test = ConditionTest::Inside { folder: "/home/ana/notes".into() };
    Condition { pointer: "/path".into(), test }
}

fn said(message: &Message, language: Language) -> String {
    render(message, language, &|at| format!("[{}]", at.0))
}

#[test]
fn rules_are_said_in_both_languages() {
    let allow = rule();
    let deny = || Grant { effect: RuleEffect::Deny, ..rule() };
    let bound = || Grant { clients: one(), program: Some("/usr/bin/agent".into()), ..rule() };
    for (rule, english, chinese) in [
        (
            allow,
            "Always allow files: write_file, for every client",
            "始终允许 所有客户端 使用 files：write_file",
        ),
        (
            bound(),
            "Always allow files: write_file, for Claude Code",
            "始终允许 Claude Code 使用 files：write_file",
        ),
        (
            Grant { program: None, ..bound() },
            "Always allow files: write_file, for Claude Code; asks on first use",
            "始终允许 Claude Code 使用 files：write_file；首次使用时询问",
        ),
        (
            Grant { clients: one(), ..deny() },
            "Always deny files: write_file, for Claude Code",
            "始终拒绝 Claude Code 使用 files：write_file",
        ),
        (
            Grant { width: Scope::Reads, lifetime: Lifetime::Until { at: Timestamp(840_000) }, ..rule() },
            "Allow all reads of files until [840000], for every client",
            "在 [840000] 之前允许 所有客户端 使用 files 的全部读取",
        ),
        (
            Grant { width: Scope::Writes, lifetime: Lifetime::UntilQuit, ..deny() },
            "Deny all writes of files until Gatehouse quits, for every client",
            "Gatehouse 退出之前拒绝 所有客户端 使用 files 的全部写入",
        ),
        (
            Grant { lifetime: Lifetime::Session { session: "ses-1".into() }, clients: one(), ..rule() },
            "Allow files: write_file until the client disconnects, for Claude Code",
            "客户端断开连接之前允许 Claude Code 使用 files：write_file",
        ),
        (
            Grant { width: Scope::Call { hash: "h".into() }, lifetime: Lifetime::Once, ..rule() },
            "Allow one exact call on files once, for every client",
            "允许 所有客户端 使用 files 的一次特定调用 一次",
        ),
        (
            Grant { conditions: vec![inside()], width: Scope::Everything, ..bound() },
            "Always allow everything on files when path is inside /home/ana/notes, for Claude Code",
            "始终允许 Claude Code 使用 files 上的一切（仅当 path 位于 /home/ana/notes 之内）",
        ),
        (
            Grant { server: None, width: tool("rm"), ..deny() },
            "Always deny rm on every server, for every client",
            "始终拒绝 所有客户端 使用 所有服务器上的rm",
        ),
        (
            Grant { server: None, width: Scope::Everything, ..deny() },
            "Always deny everything on every server, for every client",
            "始终拒绝 所有客户端 使用 所有服务器上的一切",
        ),
        (
            Grant { width: tool("resource:file:///a"), ..rule() },
            "Always allow files: the resource file:///a, for every client",
            "始终允许 所有客户端 使用 files：资源 file:///a",
        ),
        (
            Grant { width: tool("prompt:review"), ..rule() },
            "Always allow files: the prompt review, for every client",
            "始终允许 所有客户端 使用 files：提示词 review",
        ),
        (
            Grant { width: tool("wipe\u{202e}txt"), ..rule() },
            "Always allow files: wipe⟦U+202E⟧txt, for every client",
            "始终允许 所有客户端 使用 files：wipe⟦U+202E⟧txt",
        ),
    ] {
        let message = describe_rule(&rule, &SECRET_NAMES);
        assert_eq!(said(&message, Language::English), english);
        assert_eq!(said(&message, Language::SimplifiedChinese), chinese);
    }
}

#[test]
fn a_rule_that_may_not_be_a_persons_own_says_so() {
    assert_eq!(describe_author(RuleAuthor::Person), None);
    for (author, english, chinese) in [
        (RuleAuthor::Unprivileged, "added without the operator key", "添加时未使用操作员密钥"),
        (
            RuleAuthor::Confirmed { at: Timestamp(7) },
            "confirmed on [7] after it could not be verified",
            "曾无法验证，已于 [7] 确认",
        ),
    ] {
        let note = describe_author(author).unwrap();
        assert_eq!(said(&note, Language::English), english);
        assert_eq!(said(&note, Language::SimplifiedChinese), chinese);
        // The note stands beside the sentence, which is the same whoever made the rule.
        let made = Grant { author, ..rule() };
        assert_eq!(describe_rule(&made, &SECRET_NAMES), describe_rule(&rule(), &SECRET_NAMES));
    }
}

#[test]
fn what_has_no_name_is_called_by_its_id() {
    let message =
        describe_rule(&Grant { effect: RuleEffect::Deny, clients: one(), ..rule() }, &RuleNames::default());
    assert_eq!(said(&message, Language::English), "Always deny srv-1: write_file, for cli-1");
}

#[test]
fn conditions_name_the_argument_and_the_value() {
    for (pointer, test, english) in [
        ("/n", ConditionTest::Equals { value: "1.50".into() }, "n is 1.50"),
        (
            "/options/branch",
            ConditionTest::OneOf { values: vec!["\"main\"".into(), "\"dev\"".into()] },
            "options/branch is one of \"main\", \"dev\"",
        ),
        ("/a~1b~0c", ConditionTest::StartsWith { text: "x\u{200b}".into() }, "a/b~c starts with x⟦U+200B⟧"),
        ("/path", ConditionTest::Inside { folder: "/a".into() }, "path is inside /a"),
        (
            "/url",
            ConditionTest::HostIs { host: "a.example".into(), port: None },
            "the host of url is a.example",
        ),
        (
            "/url",
            ConditionTest::HostIs { host: "a.example".into(), port: Some(8443) },
            "the host of url is a.example:8443",
        ),
        ("/file", ConditionTest::Glob { pattern: "src/*.rs".into() }, "file matches src/*.rs"),
    ] {
        let condition = Condition { pointer: pointer.into(), test };
        assert_eq!(said(&describe_condition(&condition), Language::English), english);
    }
    let both = Grant { conditions: vec![inside(), inside()], ..rule() };
    assert!(
        said(&describe_rule(&both, &SECRET_NAMES), Language::English)
            .contains("when path is inside /home/ana/notes and path is inside /home/ana/notes,")
    );
}

#[test]
fn chosen_names_do_not_pass_for_words_of_the_sentence() {
    let condition = Condition {
        pointer: "/path is inside /home and dry".into(),
        test: ConditionTest::Equals { value: "1".into() },
    };
    assert_eq!(
        said(&describe_condition(&condition), Language::English),
        r#""path is inside /home and dry" is 1"#
    );
    let rule = Grant { width: tool("read when \"path\" is x"), ..rule() };
    assert!(
        said(&describe_rule(&rule, &SECRET_NAMES), Language::English)
            .contains(r#""read when \"path\" is x""#)
    );
}

const LIFETIMES: [Life; 5] = [Life::Once, Life::QuarterHour, Life::Session, Life::UntilQuit, Life::Always];
const WIDTHS: [Wide; 5] = [Wide::Call, Wide::Tool, Wide::Reads, Wide::Server, Wide::Client];

#[test]
fn choices_are_said_with_the_real_names() {
    let subject = Subject::Tool { name: "write_file".into() };
    let asked = CallNames { server: "files", client: "Claude Code", subject: &subject };
    let choice =
        |lifetime, width, every_client, conditions| GrantChoice { lifetime, width, every_client, conditions };
    for (effect, choice, english) in [
        (RuleEffect::Deny, GrantChoice::once(), "Deny this exact call"),
        (RuleEffect::Allow, GrantChoice::once(), "Allow this exact call"),
        (
            RuleEffect::Deny,
            choice(Life::UntilQuit, Wide::Call, false, vec![]),
            "Deny this exact call until Gatehouse quits, for Claude Code",
        ),
        (
            RuleEffect::Deny,
            choice(Life::Always, Wide::Tool, true, vec![]),
            "Always deny files: write_file, for every client",
        ),
        (
            RuleEffect::Deny,
            choice(Life::UntilQuit, Wide::Client, false, vec![]),
            "Deny everything on every server until Gatehouse quits, for Claude Code",
        ),
        (
            RuleEffect::Deny,
            choice(Life::QuarterHour, Wide::Tool, false, vec![inside()]),
            "Deny files: write_file when path is inside /home/ana/notes for 15 minutes, for Claude Code",
        ),
        (
            RuleEffect::Allow,
            choice(Life::Session, Wide::Reads, false, vec![]),
            "Allow all reads of files until the client disconnects, for Claude Code",
        ),
        (
            RuleEffect::Allow,
            choice(Life::Always, Wide::Server, true, vec![]),
            "Always allow everything on files, for every client",
        ),
    ] {
        assert_eq!(said(&describe_choice(effect, &choice, &asked), Language::English), english);
    }
    let resource = Subject::Resource { uri: "file:///a".into() };
    let asked = CallNames { subject: &resource, ..asked };
    let message = describe_choice(RuleEffect::Allow, &choice(Life::Always, Wide::Tool, true, vec![]), &asked);
    assert_eq!(
        said(&message, Language::English),
        "Always allow files: the resource file:///a, for every client"
    );
}

/// Every kind of condition.
fn conditions() -> Vec<Condition> {
    let tests = [
        ConditionTest::Equals { value: "1".into() },
        ConditionTest::OneOf { values: vec!["1".into()] },
        ConditionTest::StartsWith { text: "a".into() },
        ConditionTest::Inside { folder: "/a".into() },
        ConditionTest::HostIs { host: "a.example".into(), port: None },
        ConditionTest::Glob { pattern: "*".into() },
    ];
    tests.into_iter().map(|test| Condition { pointer: "/a".into(), test }).collect()
}

/// What can be said of any rule and any choice.
fn everything() -> Vec<Message> {
    let lifetimes = [
        Lifetime::Once,
        Lifetime::Until { at: Timestamp(0) },
        Lifetime::Session { session: "s".into() },
        Lifetime::UntilQuit,
        Lifetime::Always,
    ];
    let widths = [
        Scope::Call { hash: "h".into() },
        tool("a"),
        tool("resource:a"),
        tool("prompt:a"),
        tool("completion:a"),
        tool("request:a"),
        Scope::Reads,
        Scope::Writes,
        Scope::Everything,
    ];
    let authors = [RuleAuthor::Person, RuleAuthor::Unprivileged, RuleAuthor::Confirmed { at: Timestamp(0) }];
    let mut all: Vec<Message> = widths.iter().map(describe_width).collect();
    all.extend(authors.into_iter().filter_map(describe_author));
    for effect in [RuleEffect::Allow, RuleEffect::Deny] {
        for width in &widths {
            for lifetime in &lifetimes {
                for (server, clients, conditions) in [
                    (rule().server, one(), conditions()),
                    (rule().server, ClientScope::Every, Vec::new()),
                    (None, ClientScope::Every, Vec::new()),
                ] {
                    let (width, lifetime) = (width.clone(), lifetime.clone());
                    let rule = Grant { effect, server, width, clients, lifetime, conditions, ..rule() };
                    all.push(describe_rule(&rule, &SECRET_NAMES));
                }
            }
        }
        all.extend(choices(effect));
    }
    all
}

/// What can be said of any choice.
fn choices(effect: RuleEffect) -> Vec<Message> {
    let subject = Subject::Prompt { name: "review".into() };
    let asked = CallNames { server: "files", client: "Claude Code", subject: &subject };
    let of = |(lifetime, width): (Life, Wide)| {
        [(false, conditions()), (true, Vec::new())].map(|(every_client, conditions)| {
            describe_choice(effect, &GrantChoice { lifetime, width, every_client, conditions }, &asked)
        })
    };
    LIFETIMES.iter().flat_map(|lifetime| WIDTHS.map(|width| (*lifetime, width))).flat_map(of).collect()
}

/// The keys of a message and of all that is in it, with the names of their parameters.
fn gather(message: &Message, found: &mut BTreeMap<String, BTreeSet<String>>) {
    let places = message.params.keys().cloned().collect();
    let before = found.insert(message.key.clone(), places);
    assert!(before.is_none_or(|before| before == found[&message.key]), "{message:?} has other parameters");
    for param in message.params.values() {
        match param {
            MessageParam::Text(_) | MessageParam::Number(_) | MessageParam::Time(_) => {}
            MessageParam::Message(message) => gather(message, found),
            MessageParam::List(messages) | MessageParam::Sentences(messages) => {
                messages.iter().for_each(|message| gather(message, found));
            }
        }
    }
}

/// The names of the places in a template.
fn places(template: &str) -> BTreeSet<String> {
    template.split('{').skip(1).map(|rest| rest.split('}').next().unwrap().to_owned()).collect()
}

#[test]
fn every_text_is_in_both_catalogs_and_no_other() {
    let mut found = BTreeMap::new();
    everything().iter().for_each(|message| gather(message, &mut found));
    found.insert(AND.to_owned(), BTreeSet::new());
    found.insert(NEXT_SENTENCE.to_owned(), ["first", "second"].map(str::to_owned).into());
    for language in Language::ALL {
        let known: BTreeMap<String, BTreeSet<String>> = language
            .catalog()
            .iter()
            .filter(|(key, _)| ["rule.", "condition.", "list."].iter().any(|family| key.starts_with(family)))
            .map(|(key, template)| (key.clone(), places(template)))
            .collect();
        assert_eq!(known, found, "{language:?}");
    }
}

#[test]
fn each_choice_says_what_it_covers() {
    for effect in [RuleEffect::Allow, RuleEffect::Deny] {
        for message in choices(effect) {
            assert!(matches!(message.params.get("what"), Some(MessageParam::Message(_))), "{message:?}");
        }
    }
}
