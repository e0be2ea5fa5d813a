//! Makes rules from the user's choices (PERM-4, PERM-8). Pure: the items to pin are passed in.

use std::collections::BTreeMap;
use std::time::Duration;

use gatehouse_model::ServerBinding;
use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, Subject};
use gatehouse_model::grant::{ClientScope, Condition};
use gatehouse_model::{
    ApprovedVersions, CallHash, ClientId, ErrorCode, Fingerprint, Grant, GrantChoice, GrantId, Lifetime,
    Message, RuleAuthor, RuleEffect, Scope, SessionId, Timestamp, UserError, message,
};
use gatehouse_policy::conditions::{MOST_CONDITIONS, validate};
use gatehouse_policy::coverage::{DefinitionRef, SubjectFacts, is_in_scope};

use crate::call_types::LONGEST_TARGET;

const QUARTER_HOUR: Duration = Duration::from_secs(15 * 60);
/// How much longer a block without the operator key must last than the same one in force to be added. Each
/// replacement is written to the audit, so repeating a block must not add an entry each time.
const SMALLEST_EXTENSION: Duration = Duration::from_secs(60);

/// Everything that a rule is made from.
#[derive(Clone, Debug)]
pub(crate) struct RuleDraft {
    pub(crate) effect: RuleEffect,
    /// The server; `None` for a deny on every server.
    pub(crate) server: Option<ServerBinding>,
    /// Rule name of the subject, for the scope `tool`.
    pub(crate) subject: Option<String>,
    /// Hash of the call, for the scope `call`.
    pub(crate) hash: Option<CallHash>,
    /// The client; `None` for every client.
    pub(crate) client: Option<ClientId>,
    pub(crate) session: Option<SessionId>,
    /// The program of the peer process.
    pub(crate) program: Option<String>,
    pub(crate) choice: GrantChoice,
    pub(crate) author: RuleAuthor,
    pub(crate) reason: Option<String>,
    /// The definition that was shown, with the key of its pin. It takes precedence over the catalog's.
    pub(crate) shown: Option<(String, Fingerprint)>,
}

fn bad_request(what: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}

/// Checks what every rule has to meet: the length of its subject's rule name, and its conditions.
pub(crate) fn check_limits(subject: Option<&str>, conditions: &[Condition]) -> Result<(), UserError> {
    if conditions.len() > MOST_CONDITIONS {
        return Err(bad_request(message!(
            "error.tools.tooManyConditions",
            count = MOST_CONDITIONS.to_string()
        )));
    }
    if subject.is_some_and(|subject| subject.len() > LONGEST_TARGET) {
        let size = (LONGEST_TARGET / 1024).to_string();
        return Err(bad_request(message!("error.tools.nameTooLong", size = size)));
    }
    for condition in conditions {
        validate(condition).map_err(|defect| {
            bad_request(message!("error.tools.impossibleCondition")).with_cause(format!("{defect}."))
        })?;
    }
    Ok(())
}

impl RuleDraft {
    /// Makes the rule; `None` if the choice is for one time and leaves no rule.
    pub(crate) fn rule(
        &self,
        id: GrantId,
        now: Timestamp,
        items: &[SubjectFacts<'_>],
    ) -> Result<Option<Grant>, UserError> {
        let choice = &self.choice;
        check_limits(self.subject.as_deref(), &choice.conditions)?;
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
            ChoiceScope::Call => Scope::Call {
                hash: self.hash.clone().ok_or_else(|| bad_request(message!("error.tools.noCall")))?,
            },
            ChoiceScope::Tool => Scope::Tool {
                tool: self
                    .subject
                    .as_deref()
                    .map(Subject::from_rule_name)
                    .ok_or_else(|| bad_request(message!("error.tools.noTool")))?,
            },
            ChoiceScope::Reads => Scope::Reads,
            ChoiceScope::Server | ChoiceScope::Client => Scope::Everything,
        };
        if choice.width == ChoiceScope::Client && self.effect == RuleEffect::Allow {
            return Err(bad_request(message!("error.tools.everyServer")));
        }
        let server = if choice.width == ChoiceScope::Client { None } else { self.server.clone() };
        if server.is_none() && self.effect == RuleEffect::Allow {
            return Err(bad_request(message!("error.tools.noServer")));
        }
        let clients = match &self.client {
            Some(client) if !choice.every_client => ClientScope::One { client: client.clone() },
            _ => ClientScope::Every,
        };
        // A program is only meaningful for the one client that used it.
        let program = match (&clients, self.effect) {
            (ClientScope::One { .. }, RuleEffect::Allow) => self.program.clone(),
            (ClientScope::Every, _) | (_, RuleEffect::Deny) => None,
        };
        let pins = match self.effect {
            RuleEffect::Deny => BTreeMap::new(),
            RuleEffect::Allow => self.pins(&width, items),
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
            author: self.author,
            reason: self.reason.clone(),
        }))
    }

    fn pins(&self, width: &Scope, items: &[SubjectFacts<'_>]) -> BTreeMap<String, ApprovedVersions> {
        let mut pins = pins_of(width, items);
        if let Some((pin, fingerprint)) = &self.shown {
            let is_meant = matches!(width, Scope::Tool { .. } | Scope::Call { .. });
            if is_meant || pins.contains_key(pin) {
                pins.insert(pin.clone(), fingerprint.clone().into());
            }
        }
        pins
    }
}

/// Adds a rule and removes those that it replaces; returns their ids.
pub(crate) fn insert_rule(rules: &mut Vec<Grant>, rule: Grant) -> Vec<GrantId> {
    let gone = remove_rules(rules, |old| replaces(&rule, old));
    rules.push(rule);
    gone
}

/// An allow that also covers the definitions which a person approved for the rules that it replaces (PERM-8): some
/// servers define a tool in another way at each start. Only tools that it covers anyway have earlier definitions, and
/// only rules of the same origin that end no sooner pass theirs on, so no approval reaches further or lasts longer
/// than it was given for.
pub(crate) fn with_earlier_versions<'a>(mut rule: Grant, old: impl IntoIterator<Item = &'a Grant>) -> Grant {
    let passes_on = |rule: &Grant, old: &Grant| {
        replaces(rule, old)
            && ends_no_later(rule, old)
            && old.server == rule.server
            && old.program == rule.program
            && old.author == rule.author
    };
    for old in old {
        if !passes_on(&rule, old) {
            continue;
        }
        for (pin, approved) in &mut rule.pins {
            if let Some(earlier) = old.pins.get(pin) {
                approved.add_earlier(earlier);
            }
        }
    }
    rule
}

/// Removes rules; returns their ids.
pub(crate) fn remove_rules(rules: &mut Vec<Grant>, goes: impl Fn(&Grant) -> bool) -> Vec<GrantId> {
    let gone = rules.iter().filter(|rule| goes(rule)).map(|rule| rule.id.clone()).collect();
    rules.retain(|rule| !goes(rule));
    gone
}

/// The pins of an allow of this scope: the current definitions of everything that it covers.
pub(crate) fn pins_of(width: &Scope, items: &[SubjectFacts<'_>]) -> BTreeMap<String, ApprovedVersions> {
    let meant = items.iter().filter(|item| is_in_scope(RuleEffect::Allow, width, item, None));
    meant
        .filter_map(|item| match item.definition {
            DefinitionRef::Pinned { pin, fingerprint } => Some((pin.to_owned(), fingerprint.clone().into())),
            DefinitionRef::Listed | DefinitionRef::Unknown => None,
        })
        .collect()
}

/// Whether a new rule replaces an old one, which must be the same apart from its lifetime. A block replaces
/// only one that ends no later. A rule made without the operator key doesn't replace one made with it.
pub(crate) fn replaces(new: &Grant, old: &Grant) -> bool {
    is_same_but_time(new, old)
        && (new.author != RuleAuthor::Unprivileged || old.author == RuleAuthor::Unprivileged)
        && (new.lifetime == Lifetime::Always) == (old.lifetime == Lifetime::Always)
        && match new.effect {
            RuleEffect::Deny => ends_no_later(old, new),
            RuleEffect::Allow => {
                !matches!((&new.lifetime, &old.lifetime), (Lifetime::Session { session: a }, Lifetime::Session { session: b }) if a != b)
            }
        }
}

/// Whether a rule in force makes a new one redundant: the same apart from its lifetime, and not ending sooner.
/// For a rule made without the operator key also if it would last at most [`SMALLEST_EXTENSION`] longer.
pub(crate) fn contains(old: &Grant, new: &Grant) -> bool {
    is_same_but_time(new, old) && (ends_no_later(new, old) || is_repeated(new, old))
}

/// Whether a block made without the operator key hardly lasts longer than the same one in force.
fn is_repeated(new: &Grant, old: &Grant) -> bool {
    match (new.author, &new.lifetime, &old.lifetime) {
        (RuleAuthor::Unprivileged, Lifetime::Until { at: new }, Lifetime::Until { at: old }) => {
            new.remaining(*old) <= SMALLEST_EXTENSION
        }
        _ => false,
    }
}

fn is_same_but_time(new: &Grant, old: &Grant) -> bool {
    new.effect == old.effect
        && new.server.as_ref().map(|server| &server.server)
            == old.server.as_ref().map(|server| &server.server)
        && new.width == old.width
        && new.clients == old.clients
        && new.conditions == old.conditions
}

/// Whether one rule is certain to have ended when the other has. All rules but `Always` end when Gatehouse
/// quits; whether a session or a point in time comes first is unknown.
fn ends_no_later(one: &Grant, other: &Grant) -> bool {
    match (&one.lifetime, &other.lifetime) {
        (_, Lifetime::Always) | (Lifetime::Once, _) => true,
        (Lifetime::Always, _) => false,
        (_, Lifetime::UntilQuit) => true,
        (Lifetime::Until { at: one }, Lifetime::Until { at: other }) => one <= other,
        (Lifetime::Session { session: one }, Lifetime::Session { session: other }) => one == other,
        (Lifetime::UntilQuit | Lifetime::Until { .. } | Lifetime::Session { .. }, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Generation;
    use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason};
    use gatehouse_model::subject::SubjectRef;

    use super::*;

    fn draft(effect: RuleEffect, lifetime: ChoiceLifetime, width: ChoiceScope) -> RuleDraft {
        RuleDraft {
            effect,
            server: Some(ServerBinding {
                server: "s".into(),
                generation: Generation(1),
                identity: "i".into(),
            }),
            subject: Some("read".into()),
            hash: Some("h".into()),
            client: Some("c".into()),
            session: None,
            program: Some("/bin/a".into()),
            choice: GrantChoice { lifetime, width, every_client: false, conditions: Vec::new() },
            author: RuleAuthor::Person,
            reason: None,
            shown: Some(("read".into(), "f-shown".into())),
        }
    }

    fn made(draft: &RuleDraft) -> Result<Option<Grant>, UserError> {
        let server = ServerBinding { server: "s".into(), generation: Generation(1), identity: "i".into() };
        let class = |class, reaches_outside| AccessClassification {
            class,
            reason: ClassReason::Default,
            reaches_outside,
        };
        let (reads, writes, fetches) = (
            class(AccessClass::Read, false),
            class(AccessClass::Write, false),
            class(AccessClass::Read, true),
        );
        let prints: [Fingerprint; 3] = ["f-read".into(), "f-write".into(), "f-fetch".into()];
        let [read, write, fetch] = &prints;
        let item = |name, class, fingerprint| SubjectFacts {
            server: &server,
            subject: SubjectRef::Tool(name),
            class,
            definition: DefinitionRef::Pinned { pin: name, fingerprint },
        };
        let tools =
            [item("read", &reads, read), item("write", &writes, write), item("fetch", &fetches, fetch)];
        draft.rule("g".into(), Timestamp(1000), &tools)
    }

    #[test]
    fn pins_existing_and_shown_definitions() {
        for (width, expect) in [
            (ChoiceScope::Tool, vec![("read", "f-shown")]),
            (ChoiceScope::Reads, vec![("read", "f-shown")]),
            (ChoiceScope::Server, vec![("fetch", "f-fetch"), ("read", "f-shown"), ("write", "f-write")]),
        ] {
            let rule = made(&draft(RuleEffect::Allow, ChoiceLifetime::Always, width)).unwrap().unwrap();
            let pins: Vec<(&str, &str)> =
                rule.pins.iter().map(|(name, pin)| (name.as_str(), pin.latest().unwrap().as_str())).collect();
            assert_eq!(pins, expect, "{width:?}");
        }
    }

    #[test]
    fn earlier_versions_are_passed_on_only_as_they_were_approved() {
        let of = |version: &str| {
            let draft = draft(RuleEffect::Allow, ChoiceLifetime::Always, ChoiceScope::Tool);
            made(&RuleDraft { shown: Some(("read".into(), version.into())), ..draft }).unwrap().unwrap()
        };
        let approved = |new: Grant, old: &Grant| {
            let rule = with_earlier_versions(new, [old]);
            let versions: Vec<String> = rule.pins["read"].iter().map(ToString::to_string).collect();
            (versions.join(" "), rule.pins.len())
        };
        let until = |at| Lifetime::Until { at: Timestamp(at) };
        let timed = |at, version| Grant { lifetime: until(at), ..of(version) };
        let edited = ServerBinding { server: "s".into(), generation: Generation(2), identity: "i".into() };
        let pins = |rule: Grant| BTreeMap::from([("gone".to_owned(), rule.pins["read"].clone())]);
        for (case, new, old, expected) in [
            ("the same rule", of("b"), of("a"), "a b"),
            ("the same version", of("a"), of("a"), "a"),
            ("another program", of("b"), Grant { program: Some("/bin/b".into()), ..of("a") }, "b"),
            ("another client", of("b"), Grant { clients: ClientScope::Every, ..of("a") }, "b"),
            ("another generation", of("b"), Grant { server: Some(edited), ..of("a") }, "b"),
            ("a wider rule", of("b"), Grant { width: Scope::Everything, ..of("a") }, "b"),
            (
                "one that was only confirmed",
                of("b"),
                Grant { author: RuleAuthor::Confirmed { at: Timestamp(0) }, ..of("a") },
                "b",
            ),
            ("another tool", of("b"), Grant { pins: pins(of("a")), ..of("a") }, "b"),
            ("a longer one", timed(2, "b"), timed(3, "a"), "a b"),
            ("a shorter one", timed(2, "b"), timed(1, "a"), "b"),
            ("one that stays beside it", timed(2, "b"), of("a"), "b"),
        ] {
            assert_eq!(approved(new, &old), (expected.to_owned(), 1), "{case}");
        }
    }

    #[test]
    fn maps_choice_lifetimes() {
        let life = |lifetime, session: Option<SessionId>| {
            let draft = RuleDraft { session, ..draft(RuleEffect::Allow, lifetime, ChoiceScope::Tool) };
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
    fn rejects_allow_without_server() {
        assert!(made(&draft(RuleEffect::Allow, ChoiceLifetime::Always, ChoiceScope::Client)).is_err());
        let deny =
            made(&draft(RuleEffect::Deny, ChoiceLifetime::UntilQuit, ChoiceScope::Client)).unwrap().unwrap();
        assert_eq!((deny.server, deny.width, deny.pins.len()), (None, Scope::Everything, 0));
        let nowhere =
            RuleDraft { server: None, ..draft(RuleEffect::Allow, ChoiceLifetime::Always, ChoiceScope::Tool) };
        assert!(made(&nowhere).is_err());
    }

    #[test]
    fn block_is_replaced_only_by_longer_block() {
        let rule = |lifetime: &Lifetime| {
            let made =
                made(&draft(RuleEffect::Deny, ChoiceLifetime::Always, ChoiceScope::Tool)).unwrap().unwrap();
            Grant { lifetime: lifetime.clone(), ..made }
        };
        let (soon, late) = (Lifetime::Until { at: Timestamp(1) }, Lifetime::Until { at: Timestamp(2) });
        let (this, that) =
            (Lifetime::Session { session: "a".into() }, Lifetime::Session { session: "b".into() });
        let (quit, always) = (Lifetime::UntilQuit, Lifetime::Always);
        for (new, old, makes_room, leaves_nothing) in [
            (&soon, &late, false, true),
            (&late, &soon, true, false),
            (&soon, &soon, true, true),
            (&soon, &quit, false, true),
            (&quit, &soon, true, false),
            (&this, &this, true, true),
            (&this, &that, false, false),
            (&this, &late, false, false),
            (&late, &this, false, false),
            (&this, &quit, false, true),
            (&always, &always, true, true),
            // Both stay: one is stored, the other isn't.
            (&always, &late, false, false),
            (&late, &always, false, true),
        ] {
            let (new, old) = (rule(new), rule(old));
            let shown = (&new.lifetime, &old.lifetime);
            assert_eq!(replaces(&new, &old), makes_room, "{shown:?}");
            assert_eq!(contains(&old, &new), leaves_nothing, "{shown:?}");
        }
    }

    #[test]
    fn a_block_without_the_key_makes_room_only_for_its_like_and_not_for_each_repetition() {
        let made =
            made(&draft(RuleEffect::Deny, ChoiceLifetime::Always, ChoiceScope::Tool)).unwrap().unwrap();
        let until =
            |author, at| Grant { author, lifetime: Lifetime::Until { at: Timestamp(at) }, ..made.clone() };
        let (person, anyone) = (RuleAuthor::Person, RuleAuthor::Unprivileged);
        let confirmed = RuleAuthor::Confirmed { at: Timestamp(0) };
        for (new, old, longer_by, makes_room, leaves_nothing) in [
            (person, person, 60_000, true, false),
            (person, anyone, 60_000, true, false),
            (person, anyone, -1, false, true),
            (anyone, anyone, 60_001, true, false),
            (anyone, anyone, 60_000, true, true),
            (anyone, anyone, -1, false, true),
            (anyone, person, 60_001, false, false),
            (anyone, person, -1, false, true),
            (anyone, confirmed, 60_001, false, false),
        ] {
            let (new, old) = (until(new, 1000 + longer_by), until(old, 1000));
            let shown = (new.author, old.author, longer_by);
            assert_eq!(replaces(&new, &old), makes_room, "{shown:?}");
            assert_eq!(contains(&old, &new), leaves_nothing, "{shown:?}");
        }
    }

    #[test]
    fn client_allow_is_bound_to_program() {
        let program = |effect, lifetime, every_client| {
            let mut draft = draft(effect, lifetime, ChoiceScope::Tool);
            draft.choice.every_client = every_client;
            made(&draft).unwrap().unwrap().program
        };
        for lifetime in [ChoiceLifetime::Always, ChoiceLifetime::UntilQuit, ChoiceLifetime::QuarterHour] {
            assert_eq!(program(RuleEffect::Allow, lifetime, false).as_deref(), Some("/bin/a"));
            assert_eq!(program(RuleEffect::Allow, lifetime, true), None);
            assert_eq!(program(RuleEffect::Deny, lifetime, false), None);
        }
    }
}
