//! What a rule covers (PERM-3, PERM-4, PERM-8, PERM-18): the one place that says so. Verdicts, pins, what a
//! question offers, rehearsals and what the windows show of rules all go by it.

use gatehouse_model::ServerBinding;
use gatehouse_model::grant::{AccessClass, Classified, ClientScope, Effect, Grant, Lifetime, Width};
use gatehouse_model::id::{CallHash, ClientId, Fingerprint, SessionId};
use gatehouse_model::time::Timestamp;

use crate::uri_fold::is_another_spelling;

/// Something of a server that can be used: a tool, a resource, a prompt, a completion.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// What the server is (SRV-16).
    pub server: &'a ServerBinding,
    /// `Subject::rule_name`
    pub subject: &'a str,
    /// Its access class.
    pub class: &'a Classified,
    /// What it is defined by.
    pub definition: Defined<'a>,
}

/// What defines something of a server. Allows are for the definition that they were given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defined<'a> {
    /// A definition: of a tool, of a prompt, of the template that a resource comes from.
    As {
        /// Where its pin stands in [`Grant::pins`].
        pin: &'a str,
        /// Fingerprint of the definition.
        fingerprint: &'a Fingerprint,
    },
    /// The server's own list of resources, which names it.
    Listed,
    /// Nothing that is known.
    Unknown,
}

/// Who uses something, and when.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// Who.
    pub client: &'a ClientId,
    /// The session, for clients of the stateful revisions.
    pub session: Option<&'a SessionId>,
    /// The program that the connection was seen from.
    pub program: Option<&'a str>,
    /// The present moment.
    pub now: Timestamp,
}

/// What a rule says of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It is for it.
    Covers,
    /// It is an allow that was given for another definition of it.
    Suspended,
    /// It is an allow that is older than the item.
    Later,
    /// It is not for it.
    Not,
}

/// Whether a rule of this width is about an item, given the call where there is one. A deny is for reads that
/// reach outside too; an allow of all reads never is. A deny of a resource or a completion is for every spelling of
/// its URI; an allow is for its own alone.
#[must_use]
pub fn is_about(effect: Effect, width: &Width, item: &Item<'_>, call: Option<&CallHash>) -> bool {
    match width {
        Width::Call { hash } => call == Some(hash),
        Width::Tool { tool } => {
            tool == item.subject || (effect == Effect::Deny && is_another_spelling(tool, item.subject))
        }
        Width::Reads => {
            item.class.class == AccessClass::Read && (effect == Effect::Deny || !item.class.reaches_outside)
        }
        Width::Writes => item.class.class == AccessClass::Write,
        Width::Everything => true,
    }
}

/// What a rule says of an item, whoever uses it and with whatever arguments.
#[must_use]
pub fn reach(rule: &Grant, item: &Item<'_>, call: Option<&CallHash>) -> Reach {
    let here = match (&rule.server, rule.effect) {
        // An allow is for the server as it was, and a deny outlives an edit of it.
        (Some(bound), Effect::Allow) => bound == item.server,
        (Some(bound), Effect::Deny) => bound.server == item.server.server,
        (None, effect) => effect == Effect::Deny,
    };
    match rule.effect {
        _ if !here || !is_about(rule.effect, &rule.width, item, call) => Reach::Not,
        Effect::Deny => Reach::Covers,
        Effect::Allow => pinned(rule, item),
    }
}

/// Whether an allow was given for the definition that an item has now (PERM-8).
fn pinned(rule: &Grant, item: &Item<'_>) -> Reach {
    if matches!(rule.width, Width::Call { .. }) {
        // The hash has the definition in it.
        return Reach::Covers;
    }
    match item.definition {
        Defined::As { pin, fingerprint } => match rule.pins.get(pin) {
            Some(then) if then == fingerprint => Reach::Covers,
            Some(_) => Reach::Suspended,
            None => Reach::Later,
        },
        Defined::Listed => Reach::Covers,
        Defined::Unknown => Reach::Later,
    }
}

/// Whether a rule is for this client, program and session, and not over.
#[must_use]
pub fn is_in_force(rule: &Grant, by: &Use<'_>) -> bool {
    is_for_use(rule, by) && !is_unbound(rule) && !is_of_another_program(rule, by.program)
}

/// Whether an allow would be in force if it were bound to the program that this use comes from. No use from an
/// unknown program binds anything.
#[must_use]
pub fn is_to_be_bound(rule: &Grant, by: &Use<'_>) -> bool {
    is_for_use(rule, by) && is_unbound(rule) && by.program.is_some()
}

/// Whether a rule is for this client and session, and not over.
fn is_for_use(rule: &Grant, by: &Use<'_>) -> bool {
    let for_client = match &rule.clients {
        ClientScope::One { client } => client == by.client,
        ClientScope::Every => true,
    };
    let lasts = match &rule.lifetime {
        Lifetime::Once => matches!(rule.width, Width::Call { .. }),
        Lifetime::Until { at } => by.now < *at,
        Lifetime::Session { session } => by.session == Some(session),
        Lifetime::UntilQuit | Lifetime::Always => true,
    };
    for_client && lasts
}

/// Whether an allow for one client is for no program yet: it covers nothing before its first use, which a person
/// is asked about. One for a session needs no program, since the session is one connection of one program.
#[must_use]
pub fn is_unbound(rule: &Grant) -> bool {
    rule.effect == Effect::Allow
        && rule.program.is_none()
        && matches!(rule.clients, ClientScope::One { .. })
        && match rule.lifetime {
            Lifetime::Until { .. } | Lifetime::UntilQuit | Lifetime::Always => true,
            Lifetime::Once | Lifetime::Session { .. } => false,
        }
}

/// Whether an allow is bound to another program than this one; one that cannot be told is another one.
#[must_use]
pub fn is_of_another_program(rule: &Grant, program: Option<&str>) -> bool {
    rule.effect == Effect::Allow && rule.program.as_deref().is_some_and(|bound| program != Some(bound))
}
