//! Choices and warnings of an approval request (PERM-4, PERM-5, PERM-9). Pure: resolved paths are passed in.

use gatehouse_mcp_wire::json::Json;
use gatehouse_model::approval::{ChoiceLifetime, ChoiceScope, Subject, Warning};
use gatehouse_model::grant::{ClientScope, ConditionTest, FieldChange, Rule};
use gatehouse_model::{
    Grant, GrantChoice, Message, OfferedChoice, OfferedCondition, RuleEffect, Scope, message,
};
use gatehouse_policy::coverage::{Coverage, coverage, is_bound_to_other_program, is_in_scope, is_unbound};
use gatehouse_policy::definition::is_cut;
use gatehouse_policy::display::{clean_text, has_hidden, reveal};
use gatehouse_policy::rule_messages::{CallNames, describe_choice, describe_condition, describe_width};

use super::proposals::{EarlierValues, proposals};
use crate::call_types::shorten_name;
use crate::catalog::tool_definition::DefinitionText;
use crate::paths::path_lookup::KnownPaths;
use crate::pending_call::PendingCall;
use crate::permissions::current::CurrentPermissions;

/// Most arguments with invisible characters that are named individually.
const NAMED: usize = 8;

/// What is known of earlier calls.
pub(crate) struct CallHistory {
    /// The subject was never allowed before.
    pub(crate) first_use: bool,
    /// The programs that allowed calls of this client came from, most recent first.
    pub(crate) programs: Vec<String>,
}

/// What the user should know before answering.
pub(crate) fn warnings(
    pending_call: &PendingCall,
    permissions: &CurrentPermissions,
    rule: &Rule,
    past: &CallHistory,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if matches!(rule, Rule::ChangedDefinition { .. }) {
        warnings.push(Warning::DefinitionChanged);
    }
    warnings.extend(unbound_grant(pending_call, permissions, rule));
    if let Some(definition) = pending_call.origin.tool() {
        let flags =
            definition.flags.iter().map(|pointer| message!("ask.place.definition", pointer = pointer));
        let places = definition.cleaned.iter().copied().map(DefinitionText::message).chain(flags);
        warnings.extend(places.map(|place| Warning::HiddenCharacters { place }));
        let confusable = definition.confusable.iter().copied().map(DefinitionText::message);
        warnings.extend(confusable.map(|place| Warning::LookAlikes { place }));
    } else if has_hidden(&pending_call.subject.rule_name()) {
        warnings.push(Warning::HiddenCharacters { place: DefinitionText::Name.message() });
    }
    warnings.extend(
        hidden_in(&pending_call.arguments).into_iter().map(|place| Warning::HiddenCharacters { place }),
    );
    if pending_call.program().is_none() && pending_call.caller.user_run.is_none() {
        warnings.push(Warning::UnknownProgram);
    }
    if let Some(before) = other_program(pending_call, permissions, past) {
        warnings.push(Warning::OtherProgram { before });
    }
    if past.first_use {
        warnings.push(Warning::FirstUse);
    }
    warnings
}

/// The grant that an allow would bind to the program of this call.
fn unbound_grant(
    pending_call: &PendingCall,
    permissions: &CurrentPermissions,
    rule: &Rule,
) -> Option<Warning> {
    let Rule::UnboundGrant { grant } = rule else { return None };
    let rule = permissions.rules().find(|rule| rule.id == *grant && is_unbound(rule))?;
    let program = clean_text(pending_call.shown_program()?).into_owned();
    Some(Warning::UnboundGrant { grant: grant.clone(), what: describe_width(&rule.width), program })
}

/// The arguments with invisible characters. A client controls their number and the length of their names, and
/// warnings are announced to all listeners; so both are limited.
fn hidden_in(arguments: &Json) -> Vec<Message> {
    let Json::Object(members) = arguments else { return Vec::new() };
    let mut hidden = members.iter().filter(|(name, value)| has_hidden(name) || has_hidden_text(value));
    let named = hidden
        .by_ref()
        .take(NAMED)
        .map(|(name, _)| message!("ask.place.argument", name = reveal(shorten_name(name)).into_owned()));
    let mut places: Vec<Message> = named.collect();
    if hidden.next().is_some() {
        places.push(message!("ask.place.moreArguments"));
    }
    places
}

fn has_hidden_text(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => has_hidden(text),
        Json::Array(items) => items.iter().any(has_hidden_text),
        Json::Object(members) => {
            members.iter().any(|(name, value)| has_hidden(name) || has_hidden_text(value))
        }
    }
}

/// The program that this client was used from before, if it differs: the one of a stored allow for this call, or
/// the most recent one if no call from the present program was ever allowed.
fn other_program(
    pending_call: &PendingCall,
    permissions: &CurrentPermissions,
    past: &CallHistory,
) -> Option<String> {
    program_of_grant(pending_call, permissions).or_else(|| {
        let now = pending_call.program()?;
        let new = past.programs.iter().all(|known| known != now);
        past.programs.first().filter(|_| new).cloned()
    })
}

fn program_of_grant(pending_call: &PendingCall, permissions: &CurrentPermissions) -> Option<String> {
    let me = ClientScope::One { client: pending_call.caller.client.id.clone() };
    permissions
        .stored
        .rules
        .iter()
        .filter(|rule| rule.clients == me && is_bound_to_other_program(rule, pending_call.program()))
        .filter(|rule| {
            let coverage = coverage(rule, &pending_call.subject_facts(), Some(&pending_call.hash));
            matches!(coverage, Coverage::Covers | Coverage::Suspended)
        })
        .find_map(|rule| rule.program.clone())
}

/// What an approval request offers.
pub(crate) struct Offer {
    /// Choices to allow.
    pub(crate) choices: Vec<OfferedChoice>,
    /// Choices to deny.
    pub(crate) denials: Vec<OfferedChoice>,
    /// Conditions to narrow either.
    pub(crate) conditions: Vec<OfferedCondition>,
}

/// For how much of a server an allow can be permanent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermanentScope {
    /// Everything that can be allowed.
    Any,
    /// At most the subject of the call, whose changed definition the request shows in whole: the definition is approved, and no
    /// other one (PERM-8).
    ThisDefinition,
    Nothing,
}

/// For how much an allow can be permanent, given why no rule decided, and the changes of the definition that are shown.
pub(crate) fn permanent_scope(rule: &Rule, warnings: &[Warning], changes: &[FieldChange]) -> PermanentScope {
    if warnings.iter().any(|warning| matches!(warning, Warning::HiddenCharacters { .. })) {
        return PermanentScope::Nothing;
    }
    match rule {
        // Nobody approves for good what the request doesn't show.
        Rule::ChangedDefinition { .. } if changes.is_empty() || is_cut(changes) => PermanentScope::Nothing,
        Rule::ChangedDefinition { .. } => PermanentScope::ThisDefinition,
        // It changed while the request was shown, and nothing permanent was allowed for the one before.
        _ if warnings.contains(&Warning::DefinitionChanged) => PermanentScope::Nothing,
        _ => PermanentScope::Any,
    }
}

/// The choices and denials in menu order, and the proposed conditions, given the resolved paths of the
/// arguments.
pub(crate) fn offer(
    pending_call: &PendingCall,
    permissions: &CurrentPermissions,
    permanent: PermanentScope,
    paths: &KnownPaths,
    names: &CallNames<'_>,
) -> Offer {
    let offered = |effect: RuleEffect, choices: Vec<GrantChoice>| -> Vec<OfferedChoice> {
        let sentence = |choice: &GrantChoice| describe_choice(effect, choice, names);
        choices.iter().map(|choice| OfferedChoice::new(choice, sentence(choice))).collect()
    };
    let conditions =
        proposals(&pending_call.arguments, &earlier_values(pending_call, permissions), paths).into_iter();
    Offer {
        choices: offered(RuleEffect::Allow, allows(pending_call, permissions, permanent)),
        denials: offered(RuleEffect::Deny, denials(pending_call)),
        conditions: conditions
            .map(|condition| OfferedCondition { sentence: describe_condition(&condition), condition })
            .collect(),
    }
}

/// The choices to allow a call.
fn allows(
    pending_call: &PendingCall,
    permissions: &CurrentPermissions,
    permanent: PermanentScope,
) -> Vec<GrantChoice> {
    // If the stored permissions can't be verified, everything needs an approval, so nothing lasting is offered.
    if !permissions.verified {
        return combined(&[], &[]);
    }
    // What the user tries as a client allows nothing lasting: it would be for a program that the request doesn't show.
    if pending_call.caller.user_run.is_some() {
        return combined(&[], &[]);
    }
    // An allow for one client is bound to its program, or if that is unknown, to its session only.
    let can_be_bound = pending_call.program().is_some();
    let mut lifetimes = Vec::new();
    if can_be_bound {
        lifetimes.push(ChoiceLifetime::QuarterHour);
    }
    if pending_call.caller.session.is_some() {
        lifetimes.push(ChoiceLifetime::Session);
    }
    if can_be_bound {
        lifetimes.push(ChoiceLifetime::UntilQuit);
    }
    if can_be_bound && permanent != PermanentScope::Nothing {
        lifetimes.push(ChoiceLifetime::Always);
    }
    // A request that the protocol doesn't have has no definition, so a wider allow would be for everything but it.
    if matches!(pending_call.subject, Subject::Request { .. }) {
        return combined(&[ChoiceScope::Call], &lifetimes);
    }
    let mut widths = vec![ChoiceScope::Call, ChoiceScope::Tool];
    if is_read(pending_call, RuleEffect::Allow) {
        widths.push(ChoiceScope::Reads);
    }
    widths.push(ChoiceScope::Server);
    let mut choices = combined(&widths, &lifetimes);
    if permanent == PermanentScope::ThisDefinition {
        choices.retain(|choice| {
            choice.lifetime != ChoiceLifetime::Always
                || matches!(choice.width, ChoiceScope::Call | ChoiceScope::Tool)
        });
    }
    choices
}

/// The choices to deny a call. What prevents a lasting allow doesn't prevent a lasting denial.
fn denials(pending_call: &PendingCall) -> Vec<GrantChoice> {
    let mut lifetimes = vec![ChoiceLifetime::QuarterHour];
    if pending_call.caller.session.is_some() {
        lifetimes.push(ChoiceLifetime::Session);
    }
    lifetimes.extend([ChoiceLifetime::UntilQuit, ChoiceLifetime::Always]);
    let mut widths = vec![ChoiceScope::Call, ChoiceScope::Tool];
    if is_read(pending_call, RuleEffect::Deny) {
        widths.push(ChoiceScope::Reads);
    }
    widths.extend([ChoiceScope::Server, ChoiceScope::Client]);
    combined(&widths, &lifetimes)
}

/// Whether a rule about all reads covers this call.
fn is_read(pending_call: &PendingCall, effect: RuleEffect) -> bool {
    is_in_scope(effect, &Scope::Reads, &pending_call.subject_facts(), None)
}

/// This call once, and every scope with every lifetime. Each choice is for this client; also for every client
/// unless it is about one call, one client or one session.
fn combined(widths: &[ChoiceScope], lifetimes: &[ChoiceLifetime]) -> Vec<GrantChoice> {
    let mut choices = vec![GrantChoice::once()];
    for &width in widths {
        for &lifetime in lifetimes {
            let choice = |every_client| GrantChoice { lifetime, width, every_client, conditions: Vec::new() };
            choices.push(choice(false));
            let is_of_one_client = lifetime == ChoiceLifetime::Session
                || matches!(width, ChoiceScope::Call | ChoiceScope::Client);
            if !is_of_one_client {
                choices.push(choice(true));
            }
        }
    }
    choices
}

/// The values that allows of this subject for this client require of its arguments.
fn earlier_values(pending_call: &PendingCall, permissions: &CurrentPermissions) -> EarlierValues {
    let me = ClientScope::One { client: pending_call.caller.client.id.clone() };
    let is_mine = |rule: &&Grant| {
        rule.effect == RuleEffect::Allow
            && (rule.clients == me || rule.clients == ClientScope::Every)
            && rule.server.as_ref().is_some_and(|bound| bound.server == *pending_call.server())
            && matches!(&rule.width, Scope::Tool { tool } if *tool == pending_call.subject)
    };
    let mut earlier = EarlierValues::new();
    for condition in permissions.rules().filter(is_mine).flat_map(|rule| &rule.conditions) {
        let values = match &condition.test {
            ConditionTest::Equals { value } => std::slice::from_ref(value),
            ConditionTest::OneOf { values } => values,
            ConditionTest::StartsWith { .. }
            | ConditionTest::Inside { .. }
            | ConditionTest::HostIs { .. }
            | ConditionTest::Glob { .. } => continue,
        };
        earlier.entry(condition.pointer.clone()).or_default().extend(values.iter().cloned());
    }
    earlier
}

/// Whether the allow of an answer is one of the offered choices. Conditions aren't compared, since they only
/// narrow it.
pub(crate) fn is_offered(choice: &GrantChoice, offered: &[OfferedChoice]) -> bool {
    offered.iter().any(|offer| {
        offer.lifetime == choice.lifetime
            && offer.width == choice.width
            && offer.every_client == choice.every_client
    })
}

#[cfg(test)]
mod tests {
    use gatehouse_mcp_wire::json::read;
    use gatehouse_model::grant::Condition;
    use gatehouse_policy::definition::diff;

    use super::*;

    #[test]
    fn arguments_with_hidden_characters_are_named_but_not_without_end() {
        let places = |text: &str| hidden_in(&read(text).unwrap());
        let argument = |name: &str| message!("ask.place.argument", name = name);
        assert_eq!(places("{\"a\":\"x\",\"b\":[\"\u{202E}\"],\"c\":1}"), [argument("b")]);
        let long = format!("{{\"\u{202E}{}\":1}}", "x".repeat(1000));
        assert_eq!(places(&long), [argument(&format!("{}{}", reveal("\u{202E}"), "x".repeat(63)))]);
        let many: Vec<String> = (0..NAMED + 2).map(|at| format!("\"a{at}\":\"\u{202E}\"")).collect();
        let many = places(&format!("{{{}}}", many.join(",")));
        assert_eq!((many.len(), many.last()), (NAMED + 1, Some(&message!("ask.place.moreArguments"))));
        let eight: Vec<String> = (0..NAMED).map(|at| format!("\"a{at}\":\"\u{202E}\"")).collect();
        assert_eq!(places(&format!("{{{}}}", eight.join(","))).len(), NAMED);
    }

    #[test]
    fn a_changed_definition_can_be_approved_where_nothing_else_speaks_against_it() {
        let changed = Rule::ChangedDefinition { grant: "g".into() };
        let hidden = Warning::HiddenCharacters { place: DefinitionText::Title.message() };
        let shown = diff("{}", r#"{"description":"d"}"#);
        for (rule, warnings, expected) in [
            (&Rule::DefaultAsk, vec![], PermanentScope::Any),
            (&Rule::DefaultAsk, vec![Warning::FirstUse], PermanentScope::Any),
            (&Rule::DefaultAsk, vec![Warning::DefinitionChanged], PermanentScope::Nothing),
            (&changed, vec![Warning::DefinitionChanged], PermanentScope::ThisDefinition),
            (&changed, vec![Warning::DefinitionChanged, hidden], PermanentScope::Nothing),
        ] {
            assert_eq!(permanent_scope(rule, &warnings, &shown), expected, "{rule:?} {warnings:?}");
        }
        let long = diff("{}", &format!(r#"{{"description":"{}"}}"#, "d".repeat(10_000)));
        for not_whole in [Vec::new(), long] {
            let permanent = permanent_scope(&changed, &[Warning::DefinitionChanged], &not_whole);
            assert_eq!(permanent, PermanentScope::Nothing, "{not_whole:?}");
        }
    }

    #[test]
    fn accepts_narrowed_choices_and_rejects_wider_ones() {
        let tool = GrantChoice {
            lifetime: ChoiceLifetime::UntilQuit,
            width: ChoiceScope::Tool,
            every_client: false,
            conditions: vec![],
        };
        let offered =
            [GrantChoice::once(), tool.clone()].map(|choice| OfferedChoice::new(&choice, Message::new("")));
        let condition = Condition { pointer: "/a".into(), test: ConditionTest::Equals { value: "1".into() } };
        assert!(is_offered(&tool, &offered));
        assert!(is_offered(&GrantChoice { conditions: vec![condition], ..tool.clone() }, &offered));
        assert!(!is_offered(&GrantChoice { every_client: true, ..tool.clone() }, &offered));
        assert!(!is_offered(&GrantChoice { lifetime: ChoiceLifetime::Always, ..tool.clone() }, &offered));
        assert!(!is_offered(&GrantChoice { width: ChoiceScope::Server, ..tool }, &offered));
    }

    #[test]
    fn a_choice_for_every_client_is_about_more_than_one_call_client_or_session() {
        type Life = ChoiceLifetime;
        type Wide = ChoiceScope;
        assert_eq!(combined(&[], &[Life::Always]), [GrantChoice::once()]);
        for (width, lifetime, for_every) in [
            (Wide::Call, Life::Always, false),
            (Wide::Client, Life::Always, false),
            (Wide::Tool, Life::Session, false),
            (Wide::Tool, Life::Always, true),
            (Wide::Reads, Life::QuarterHour, true),
            (Wide::Server, Life::UntilQuit, true),
        ] {
            let found = combined(&[width], &[lifetime]);
            assert!(found.iter().skip(1).all(|one| one.width == width && one.lifetime == lifetime));
            let every: Vec<bool> = found.iter().map(|one| one.every_client).collect();
            let expected: &[bool] = if for_every { &[false, false, true] } else { &[false, false] };
            assert_eq!(every, expected, "{width:?} {lifetime:?}");
        }
    }
}
