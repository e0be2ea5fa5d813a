//! What a rule covers (PERM-3, PERM-4, PERM-8, PERM-18). This is the only implementation: verdicts, pins, the
//! choices of an approval request, simulations and the permissions that the UI shows all use it.

use gatehouse_model::ServerBinding;
use gatehouse_model::grant::{
    AccessClass, AccessClassification, ClientScope, Grant, Lifetime, RuleEffect, Scope,
};
use gatehouse_model::id::{CallHash, ClientId, Fingerprint, SessionId};
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::time::Timestamp;

use crate::uri_fold::is_another_spelling;

/// Something of a server that can be used: a tool, resource, prompt or completion.
#[derive(Clone, Copy, Debug)]
pub struct SubjectFacts<'a> {
    /// The server, its generation and its identity (SRV-16).
    pub server: &'a ServerBinding,
    pub subject: SubjectRef<'a>,
    pub class: &'a AccessClassification,
    pub definition: DefinitionRef<'a>,
}

/// What an item is defined by. An allow is only for the definition that it was granted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionRef<'a> {
    /// The definition of a tool, of a prompt, or of the template that matches a resource.
    Pinned {
        /// Key of its pin in [`Grant::pins`].
        pin: &'a str,
        fingerprint: &'a Fingerprint,
    },
    /// A resource that the server's resource list contains.
    Listed,
    /// No definition is known.
    Unknown,
}

/// By which client and when an item is used.
#[derive(Clone, Copy, Debug)]
pub struct CallerFacts<'a> {
    pub client: &'a ClientId,
    /// Set for clients of the stateful protocol revisions.
    pub session: Option<&'a SessionId>,
    /// The program of the peer process, if it is known.
    pub program: Option<&'a str>,
    /// The current time.
    pub now: Timestamp,
}

/// Whether a rule covers an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    Covers,
    /// It is an allow that was granted for other definitions of the item.
    Suspended,
    /// It is an allow without a pin for the item: the item is newer than the rule.
    AddedLater,
    NotCovered,
}

/// Whether a rule of this width (scope) covers an item, given the hash of the call if there is one. A deny of
/// reads also covers reads that reach outside; an allow of all reads never does. A deny of a resource or
/// completion covers every spelling of its URI; an allow covers only its own spelling.
#[must_use]
pub fn is_in_scope(
    effect: RuleEffect,
    width: &Scope,
    item: &SubjectFacts<'_>,
    call: Option<&CallHash>,
) -> bool {
    match width {
        Scope::Call { hash } => call == Some(hash),
        Scope::Tool { tool } => {
            let tool = tool.borrowed();
            tool.rule_name() == item.subject.rule_name()
                || (effect == RuleEffect::Deny && is_another_spelling(tool, item.subject))
        }
        Scope::Reads => {
            item.class.class == AccessClass::Read
                && (effect == RuleEffect::Deny || !item.class.reaches_outside)
        }
        Scope::Writes => item.class.class == AccessClass::Write,
        Scope::Everything => true,
    }
}

/// Whether a rule covers an item, irrespective of client, lifetime and arguments.
#[must_use]
pub fn coverage(rule: &Grant, item: &SubjectFacts<'_>, call: Option<&CallHash>) -> Coverage {
    let here = match (&rule.server, rule.effect) {
        // An allow is bound to the server's exact generation and identity; a deny survives an edit of the
        // server.
        (Some(bound), RuleEffect::Allow) => bound == item.server,
        (Some(bound), RuleEffect::Deny) => bound.server == item.server.server,
        (None, effect) => effect == RuleEffect::Deny,
    };
    match rule.effect {
        _ if !here || !is_in_scope(rule.effect, &rule.width, item, call) => Coverage::NotCovered,
        RuleEffect::Deny => Coverage::Covers,
        RuleEffect::Allow => pin_coverage(rule, item),
    }
}

/// Whether an allow was granted for the item's current definition, among others (PERM-8).
fn pin_coverage(rule: &Grant, item: &SubjectFacts<'_>) -> Coverage {
    if matches!(rule.width, Scope::Call { .. }) {
        // The call hash includes the definition's fingerprint.
        return Coverage::Covers;
    }
    match item.definition {
        DefinitionRef::Pinned { pin, fingerprint } => match rule.pins.get(pin) {
            Some(approved) if approved.contains(fingerprint) => Coverage::Covers,
            Some(_) => Coverage::Suspended,
            None => Coverage::AddedLater,
        },
        DefinitionRef::Listed => Coverage::Covers,
        DefinitionRef::Unknown => Coverage::AddedLater,
    }
}

/// Whether a rule applies to this client, program and session and hasn't expired.
#[must_use]
pub fn is_in_force(rule: &Grant, by: &CallerFacts<'_>) -> bool {
    applies_to(rule, by) && !is_unbound(rule) && !is_bound_to_other_program(rule, by.program)
}

/// Whether an allow would be in force once it is bound to the program of this use. A use by an unknown program
/// doesn't bind anything.
#[must_use]
pub fn can_be_bound(rule: &Grant, by: &CallerFacts<'_>) -> bool {
    applies_to(rule, by) && is_unbound(rule) && by.program.is_some()
}

/// Whether a rule applies to this client and session and hasn't expired.
fn applies_to(rule: &Grant, by: &CallerFacts<'_>) -> bool {
    let for_client = match &rule.clients {
        ClientScope::One { client } => client == by.client,
        ClientScope::Every => true,
    };
    let lasts = match &rule.lifetime {
        Lifetime::Once => matches!(rule.width, Scope::Call { .. }),
        Lifetime::Until { at } => by.now < *at,
        Lifetime::Session { session } => by.session == Some(session),
        Lifetime::UntilQuit | Lifetime::Always => true,
    };
    for_client && lasts
}

/// Whether an allow for one client isn't bound to a program yet. It covers nothing until its first use, which
/// needs an approval. An allow for a session needs no program, since a session is one connection of one
/// program.
#[must_use]
pub fn is_unbound(rule: &Grant) -> bool {
    rule.effect == RuleEffect::Allow
        && rule.program.is_none()
        && matches!(rule.clients, ClientScope::One { .. })
        && match rule.lifetime {
            Lifetime::Until { .. } | Lifetime::UntilQuit | Lifetime::Always => true,
            Lifetime::Once | Lifetime::Session { .. } => false,
        }
}

/// Whether an allow is bound to a program other than this one. An unknown program counts as another one.
#[must_use]
pub fn is_bound_to_other_program(rule: &Grant, program: Option<&str>) -> bool {
    rule.effect == RuleEffect::Allow && rule.program.as_deref().is_some_and(|bound| program != Some(bound))
}
