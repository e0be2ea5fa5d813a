//! Messages that describe rules, choices and conditions to people (PERM-4, PERM-5). Chooses the template of
//! the message catalogs and its parameters; names and values from outside have invisible characters revealed.

use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::grant::{ClientScope, Condition, ConditionTest};
use gatehouse_model::message::{Message, MessageParam};
use gatehouse_model::{Grant, GrantChoice, Lifetime, RuleAuthor, RuleEffect, Scope};

use crate::coverage::is_unbound;
use crate::display::reveal;

/// Names of a rule's server and client. If a name is absent, the id is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleNames<'a> {
    pub server: Option<&'a str>,
    pub client: Option<&'a str>,
}

/// What the choices of an approval request are about.
#[derive(Clone, Copy, Debug)]
pub struct CallNames<'a> {
    pub server: &'a str,
    pub client: &'a str,
    /// What the call uses.
    pub subject: &'a Subject,
}

/// Describes a rule: "Always allow files: write_file, for Claude Code".
#[must_use]
pub fn describe_rule(rule: &Grant, names: &RuleNames<'_>) -> Message {
    let what = match &rule.server {
        Some(bound) => of_server(&rule.width, names.server.unwrap_or(bound.server.as_str())),
        None => Message::new("rule.onEvery").with("what", describe_width(&rule.width)),
    };
    let who = match &rule.clients {
        ClientScope::Every => every_client(),
        ClientScope::One { client } => text(names.client.unwrap_or(client.as_str())),
    };
    let (lifetime, at) = match &rule.lifetime {
        Lifetime::Once => ("once", None),
        Lifetime::Until { at } => ("until", Some(*at)),
        Lifetime::Session { .. } => ("session", None),
        Lifetime::UntilQuit => ("until_quit", None),
        Lifetime::Always => ("always", None),
    };
    let mut sentence =
        template(rule.effect, lifetime).with("what", narrowed(what, &rule.conditions)).with("who", who);
    if let Some(at) = at {
        sentence = sentence.with("at", at);
    }
    if is_unbound(rule) { Message::new("rule.waits").with("rule", sentence) } else { sentence }
}

/// Describes the author of a rule that isn't certain to be set by a person: "added without the operator key".
/// `None` if it is certain.
#[must_use]
pub fn describe_author(author: RuleAuthor) -> Option<Message> {
    match author {
        RuleAuthor::Person => None,
        RuleAuthor::Unprivileged => Some(Message::new("rule.author.unprivileged")),
        RuleAuthor::Confirmed { at } => Some(Message::new("rule.author.confirmed").with("at", at)),
    }
}

/// Describes a choice of an approval request: "Deny everything on files for 15 minutes, for Claude Code". The
/// parameter `what` is itself a message.
#[must_use]
pub fn describe_choice(effect: RuleEffect, choice: &GrantChoice, asked: &CallNames<'_>) -> Message {
    let what = match choice.width {
        ChoiceScope::Call => Message::new("rule.thisCall"),
        ChoiceScope::Tool => on_server(asked.server, describe_subject(asked.subject)),
        ChoiceScope::Reads => of_server(&Scope::Reads, asked.server),
        ChoiceScope::Server => of_server(&Scope::Everything, asked.server),
        ChoiceScope::Client => Message::new("rule.onEvery").with("what", describe_width(&Scope::Everything)),
    };
    let what = narrowed(what, &choice.conditions);
    let lifetime = match (choice.lifetime, choice.width) {
        // Only this call, once: the message needs neither scope nor client.
        (ChoiceLifetime::Once, ChoiceScope::Call) => return template(effect, "this").with("what", what),
        (ChoiceLifetime::Once, _) => "once",
        (ChoiceLifetime::QuarterHour, _) => "quarter_hour",
        (ChoiceLifetime::Session, _) => "session",
        (ChoiceLifetime::UntilQuit, _) => "until_quit",
        (ChoiceLifetime::Always, _) => "always",
    };
    let who = if choice.every_client { every_client() } else { text(asked.client) };
    template(effect, lifetime).with("what", what).with("who", who)
}

/// Describes a scope without the server: "all reads".
#[must_use]
pub fn describe_width(width: &Scope) -> Message {
    match width {
        Scope::Call { .. } => Message::new("rule.oneCall"),
        Scope::Tool { tool } => describe_subject(tool),
        Scope::Reads => Message::new("rule.allReads"),
        Scope::Writes => Message::new("rule.allWrites"),
        Scope::Everything => Message::new("rule.all"),
    }
}

/// Describes a subject: "the resource file:///x".
#[must_use]
pub fn describe_subject(subject: &Subject) -> Message {
    let (key, name) = match subject {
        Subject::Tool { name } => ("rule.tool", name),
        Subject::Resource { uri } => ("rule.resource", uri),
        Subject::Prompt { name } => ("rule.prompt", name),
        Subject::Completion { reference } => ("rule.completion", reference),
        Subject::Request { method } => ("rule.request", method),
    };
    Message::new(key).with("name", quoted(name))
}

/// Describes a condition: "path is inside /home/ana/notes". `ui/src/approvals/grants/conditionMessage.ts` describes a
/// condition that is being edited in the same way.
#[must_use]
pub fn describe_condition(condition: &Condition) -> Message {
    let (key, value) = match &condition.test {
        ConditionTest::Equals { value } => ("condition.equals", value.clone()),
        ConditionTest::OneOf { values } => ("condition.one_of", values.join(", ")),
        ConditionTest::StartsWith { text } => ("condition.starts_with", text.clone()),
        ConditionTest::Inside { folder } => ("condition.inside", folder.clone()),
        ConditionTest::HostIs { host, port: None } => ("condition.host_is", host.clone()),
        ConditionTest::HostIs { host, port: Some(port) } => ("condition.host_is", format!("{host}:{port}")),
        ConditionTest::Glob { pattern } => ("condition.glob", pattern.clone()),
    };
    let pointer = condition.pointer.as_str();
    let place = pointer.strip_prefix('/').unwrap_or(pointer).replace("~1", "/").replace("~0", "~");
    // Values of JSON have quotation marks of their own.
    let value = match &condition.test {
        ConditionTest::Equals { .. } | ConditionTest::OneOf { .. } => text(&value),
        _ => quoted(&value),
    };
    Message::new(key).with("place", quoted(&place)).with("value", value)
}

fn template(effect: RuleEffect, lifetime: &str) -> Message {
    let effect = match effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Deny => "deny",
    };
    Message::new(format!("rule.{effect}.{lifetime}"))
}

/// Adds the conditions to the message.
fn narrowed(what: Message, conditions: &[Condition]) -> Message {
    if conditions.is_empty() {
        return what;
    }
    let when: Vec<Message> = conditions.iter().map(describe_condition).collect();
    Message::new("rule.when").with("what", what).with("when", when)
}

fn of_server(width: &Scope, server: &str) -> Message {
    let key = match width {
        Scope::Call { .. } => "rule.call",
        Scope::Tool { .. } => return on_server(server, describe_width(width)),
        Scope::Reads => "rule.reads",
        Scope::Writes => "rule.writes",
        Scope::Everything => "rule.everything",
    };
    Message::new(key).with("server", text(server))
}

fn on_server(server: &str, what: Message) -> Message {
    Message::new("rule.onServer").with("server", text(server)).with("what", what)
}

fn every_client() -> MessageParam {
    Message::new("rule.everyClient").into()
}

fn text(text: &str) -> MessageParam {
    MessageParam::Text(reveal(text).into_owned())
}

/// What a server or a client chose: in quotation marks where it could be read as words of the sentence.
fn quoted(name: &str) -> MessageParam {
    let name = reveal(name);
    let is_one_word = !name.contains(|c: char| c.is_whitespace() || c == '"');
    MessageParam::Text(if is_one_word { name.into_owned() } else { format!("{name:?}") })
}
