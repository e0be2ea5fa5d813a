//! From a person's choice to a rule (PERM-4, PERM-8). Pure: what a rule is pinned to is passed in.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_model::ask::{ChoiceLifetime, ChoiceWidth};
use gatehouse_model::grant::{AccessClass, ClientScope, ServerBinding};
use gatehouse_model::{
    CallHash, ClientId, Effect, ErrorCode, Fingerprint, Grant, GrantChoice, GrantId, Lifetime, Problem,
    SessionId, Timestamp, Width,
};

const QUARTER_HOUR: Duration = Duration::from_secs(15 * 60);

/// Everything that a rule is made from.
#[derive(Clone, Debug)]
pub(crate) struct RuleDraft {
    pub(crate) effect: Effect,
    /// The server; `None` for a deny on every server.
    pub(crate) server: Option<ServerBinding>,
    /// What the width `tool` means, by its rule name.
    pub(crate) subject: Option<String>,
    /// What the width `call` means.
    pub(crate) hash: Option<CallHash>,
    /// The one client; `None` for every client.
    pub(crate) client: Option<ClientId>,
    pub(crate) session: Option<SessionId>,
    /// The program that the client was seen from.
    pub(crate) program: Option<String>,
    pub(crate) choice: GrantChoice,
    pub(crate) reason: Option<String>,
    /// The definition that was shown, by the tool's name: it outweighs the catalogue's.
    pub(crate) shown: Option<(String, Fingerprint)>,
}

/// One tool as pins see it.
#[derive(Clone, Debug)]
pub(crate) struct Pinnable<'a> {
    pub(crate) name: &'a str,
    pub(crate) fingerprint: &'a Fingerprint,
    pub(crate) class: AccessClass,
    pub(crate) reaches_outside: bool,
}

fn wrong(what: &str) -> Problem {
    Problem::new(ErrorCode::BadRequest, what)
}

impl RuleDraft {
    /// The rule; `None` when the choice is for this one time and leaves nothing behind.
    ///
    /// # Errors
    /// When the choice makes no sense.
    pub(crate) fn rule(
        &self,
        id: GrantId,
        now: Timestamp,
        tools: &[Pinnable<'_>],
    ) -> Result<Option<Grant>, Problem> {
        let choice = &self.choice;
        let lifetime = match choice.lifetime {
            ChoiceLifetime::Once => return Ok(None),
            ChoiceLifetime::QuarterHour => Lifetime::Until { at: now.plus(QUARTER_HOUR) },
            ChoiceLifetime::Session => match &self.session {
                Some(session) => Lifetime::Session { session: session.clone() },
                None => Lifetime::UntilQuit,
            },
            ChoiceLifetime::UntilQuit => Lifetime::UntilQuit,
            ChoiceLifetime::Always => Lifetime::Always,
        };
        let width = match choice.width {
            ChoiceWidth::Call => Width::Call {
                hash: self.hash.clone().ok_or_else(|| wrong("There is no call that this could be for."))?,
            },
            ChoiceWidth::Tool => Width::Tool {
                tool: self.subject.clone().ok_or_else(|| wrong("It is not said which tool this is for."))?,
            },
            ChoiceWidth::Reads => Width::Reads,
            ChoiceWidth::Server | ChoiceWidth::Client => Width::Everything,
        };
        if choice.width == ChoiceWidth::Client && self.effect == Effect::Allow {
            return Err(wrong("Nothing can be allowed on every server at once."));
        }
        let server = if choice.width == ChoiceWidth::Client { None } else { self.server.clone() };
        if server.is_none() && self.effect == Effect::Allow {
            return Err(wrong("It is not said which server this is for."));
        }
        let clients = match &self.client {
            Some(client) if !choice.every_client => ClientScope::One { client: client.clone() },
            _ => ClientScope::Every,
        };
        // A program is worth something only for the one client that was seen from it.
        let program = match (&clients, &lifetime, self.effect) {
            (ClientScope::One { .. }, Lifetime::Always, Effect::Allow) => self.program.clone(),
            _ => None,
        };
        let pins = match self.effect {
            Effect::Deny => BTreeMap::new(),
            Effect::Allow => self.pins(&width, tools),
        };
        Ok(Some(Grant {
            id,
            effect: self.effect,
            server,
            width,
            clients,
            lifetime,
            conditions: choice.conditions.clone(),
            pins,
            program,
            created: now,
            reason: self.reason.clone(),
        }))
    }

    fn pins(&self, width: &Width, tools: &[Pinnable<'_>]) -> BTreeMap<String, Fingerprint> {
        let mut pins: BTreeMap<String, Fingerprint> = tools
            .iter()
            .filter(|tool| covers(width, tool))
            .map(|tool| (tool.name.to_owned(), tool.fingerprint.clone()))
            .collect();
        if let Some((name, fingerprint)) = &self.shown {
            let covered = match width {
                Width::Tool { tool } => tool == name,
                Width::Call { .. } => true,
                _ => pins.contains_key(name),
            };
            if covered {
                pins.insert(name.clone(), fingerprint.clone());
            }
        }
        pins
    }
}

/// Whether an allow of this width is for this tool as it now is.
fn covers(width: &Width, tool: &Pinnable<'_>) -> bool {
    match width {
        Width::Call { .. } => false,
        Width::Tool { tool: name } => name == tool.name,
        Width::Reads => tool.class == AccessClass::Read && !tool.reaches_outside,
        Width::Writes => tool.class == AccessClass::Write,
        Width::Everything => true,
    }
}

/// Puts a rule among others; the ones whose place it takes go. Says which.
pub(crate) fn put(rules: &mut Vec<Grant>, rule: Grant) -> Vec<GrantId> {
    let gone = take_out(rules, |old| replaces(&rule, old));
    rules.push(rule);
    gone
}

/// Takes rules out, and says which.
pub(crate) fn take_out(rules: &mut Vec<Grant>, goes: impl Fn(&Grant) -> bool) -> Vec<GrantId> {
    let gone = rules.iter().filter(|rule| goes(rule)).map(|rule| rule.id.clone()).collect();
    rules.retain(|rule| !goes(rule));
    gone
}

/// The pins of a width over tools.
pub(crate) fn pins_of(width: &Width, tools: &[Pinnable<'_>]) -> BTreeMap<String, Fingerprint> {
    tools
        .iter()
        .filter(|tool| covers(width, tool))
        .map(|tool| (tool.name.to_owned(), tool.fingerprint.clone()))
        .collect()
}

/// Whether a newer rule takes the place of an older one: the same for the same.
pub(crate) fn replaces(new: &Grant, old: &Grant) -> bool {
    new.effect == old.effect
        && new.server.as_ref().map(|server| &server.server)
            == old.server.as_ref().map(|server| &server.server)
        && new.width == old.width
        && new.clients == old.clients
        && new.conditions == old.conditions
        && (new.lifetime == Lifetime::Always) == (old.lifetime == Lifetime::Always)
        && !matches!((&new.lifetime, &old.lifetime), (Lifetime::Session { session: a }, Lifetime::Session { session: b }) if a != b)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Generation;

    use super::*;

    fn draft(effect: Effect, lifetime: ChoiceLifetime, width: ChoiceWidth) -> RuleDraft {
        RuleDraft {
            effect,
            server: Some(ServerBinding { server: "s".into(), generation: Generation(1) }),
            subject: Some("read".into()),
            hash: Some("h".into()),
            client: Some("c".into()),
            session: None,
            program: Some("/bin/a".into()),
            choice: GrantChoice { lifetime, width, every_client: false, conditions: Vec::new() },
            reason: None,
            shown: Some(("read".into(), "f-shown".into())),
        }
    }

    fn made(draft: &RuleDraft) -> Result<Option<Grant>, Problem> {
        let (read, write, fetch) = ("f-read".into(), "f-write".into(), "f-fetch".into());
        let tools = [
            Pinnable { name: "read", fingerprint: &read, class: AccessClass::Read, reaches_outside: false },
            Pinnable {
                name: "write",
                fingerprint: &write,
                class: AccessClass::Write,
                reaches_outside: false,
            },
            Pinnable { name: "fetch", fingerprint: &fetch, class: AccessClass::Read, reaches_outside: true },
        ];
        draft.rule("g".into(), Timestamp(1000), &tools)
    }

    #[test]
    fn pins_are_what_exists_and_what_was_shown() {
        for (width, expect) in [
            (ChoiceWidth::Tool, vec![("read", "f-shown")]),
            (ChoiceWidth::Reads, vec![("read", "f-shown")]),
            (ChoiceWidth::Server, vec![("fetch", "f-fetch"), ("read", "f-shown"), ("write", "f-write")]),
        ] {
            let rule = made(&draft(Effect::Allow, ChoiceLifetime::Always, width)).unwrap().unwrap();
            let pins: Vec<(&str, &str)> =
                rule.pins.iter().map(|(name, pin)| (name.as_str(), pin.as_str())).collect();
            assert_eq!(pins, expect, "{width:?}");
        }
    }

    #[test]
    fn lifetimes() {
        let life = |lifetime, session: Option<SessionId>| {
            let draft = RuleDraft { session, ..draft(Effect::Allow, lifetime, ChoiceWidth::Tool) };
            made(&draft).unwrap().map(|rule| rule.lifetime)
        };
        assert_eq!(life(ChoiceLifetime::Once, None), None);
        assert_eq!(life(ChoiceLifetime::QuarterHour, None), Some(Lifetime::Until { at: Timestamp(901_000) }));
        assert_eq!(
            life(ChoiceLifetime::Session, Some("x".into())),
            Some(Lifetime::Session { session: "x".into() })
        );
        assert_eq!(life(ChoiceLifetime::Session, None), Some(Lifetime::UntilQuit));
        assert_eq!(life(ChoiceLifetime::Always, None), Some(Lifetime::Always));
    }

    #[test]
    fn nothing_is_allowed_everywhere_and_a_deny_may_be() {
        assert!(made(&draft(Effect::Allow, ChoiceLifetime::Always, ChoiceWidth::Client)).is_err());
        let deny =
            made(&draft(Effect::Deny, ChoiceLifetime::UntilQuit, ChoiceWidth::Client)).unwrap().unwrap();
        assert_eq!((deny.server, deny.width, deny.pins.len()), (None, Width::Everything, 0));
        let nowhere =
            RuleDraft { server: None, ..draft(Effect::Allow, ChoiceLifetime::Always, ChoiceWidth::Tool) };
        assert!(made(&nowhere).is_err());
    }

    #[test]
    fn only_an_always_grant_for_one_client_remembers_the_program() {
        let program = |lifetime, every_client| {
            let mut draft = draft(Effect::Allow, lifetime, ChoiceWidth::Tool);
            draft.choice.every_client = every_client;
            made(&draft).unwrap().unwrap().program
        };
        assert_eq!(program(ChoiceLifetime::Always, false).as_deref(), Some("/bin/a"));
        assert_eq!(program(ChoiceLifetime::Always, true), None);
        assert_eq!(program(ChoiceLifetime::UntilQuit, false), None);
    }
}
