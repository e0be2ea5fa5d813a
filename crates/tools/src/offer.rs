//! What a prompt offers and warns of (PERM-4, PERM-5, PERM-9). Pure but for resolving paths.

use gatehouse_model::ask::{ChoiceLifetime, ChoiceWidth, Warning};
use gatehouse_model::grant::{AccessClass, ClientScope, Condition, ConditionTest, Rule};
use gatehouse_model::server::Origin;
use gatehouse_model::{Effect, GrantChoice, Lifetime, Width};
use gatehouse_policy::json::Json;
use gatehouse_policy::show::{has_hidden, shown_arguments};

use crate::matter::Matter;
use crate::paths;
use crate::standing::RightsNow;

/// So many conditions are proposed at most.
const PROPOSALS: usize = 8;
/// Longer values make no condition that a person would read.
const LONGEST_VALUE: usize = 200;

/// What is known of calls before this one.
pub(crate) struct Past {
    /// None of this tool was let through.
    pub(crate) first_use: bool,
    /// The programs that calls of this client came from and were let through, the latest first.
    pub(crate) programs: Vec<String>,
}

/// What the user should know before answering.
pub(crate) fn warnings(matter: &Matter, rights: &RightsNow, rule: &Rule, past: &Past) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if matches!(rule, Rule::ChangedDefinition { .. }) {
        warnings.push(Warning::DefinitionChanged);
    }
    if let Some(definition) = &matter.definition {
        let places =
            definition.cleaned.iter().map(ToString::to_string).chain(definition.flags.iter().cloned());
        warnings.extend(places.map(|place| Warning::HiddenCharacters { place }));
        let alike = definition.alike.iter().map(|place| Warning::LookAlikes { place: (*place).to_owned() });
        warnings.extend(alike);
    } else if has_hidden(&matter.subject.rule_name()) {
        warnings.push(Warning::HiddenCharacters { place: "name".to_owned() });
    }
    if let Json::Object(members) = &*matter.arguments {
        let hidden = members.iter().filter(|(name, value)| has_hidden(name) || hides(value));
        warnings
            .extend(hidden.map(|(name, _)| Warning::HiddenCharacters { place: format!("argument {name}") }));
    }
    if matter.config.origin != Origin::User {
        warnings.push(Warning::UnconfirmedServer);
    }
    if let Some(before) = other_program(matter, rights, past) {
        warnings.push(Warning::OtherProgram { before });
    }
    if past.first_use {
        warnings.push(Warning::FirstUse);
    }
    warnings
}

fn hides(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
        Json::String(text) => has_hidden(text),
        Json::Array(items) => items.iter().any(hides),
        Json::Object(members) => members.iter().any(|(name, value)| has_hidden(name) || hides(value)),
    }
}

/// The program that this client was used from before, where it is another one: that of an always-grant for this,
/// or the latest, when nothing was ever let through from the present one.
fn other_program(matter: &Matter, rights: &RightsNow, past: &Past) -> Option<String> {
    program_of_grant(matter, rights).or_else(|| {
        let now = matter.program()?;
        let new = past.programs.iter().all(|known| known != now);
        past.programs.first().filter(|_| new).cloned()
    })
}

fn program_of_grant(matter: &Matter, rights: &RightsNow) -> Option<String> {
    let me = ClientScope::One { client: matter.caller.client.id.clone() };
    rights
        .rights
        .rules
        .iter()
        .filter(|rule| {
            rule.effect == Effect::Allow && rule.lifetime == Lifetime::Always && rule.clients == me
        })
        .filter(|rule| rule.server.as_ref().is_some_and(|bound| bound.server == *matter.server()))
        .filter(|rule| match &rule.width {
            Width::Call { hash } => *hash == matter.hash,
            Width::Tool { tool } => *tool == *matter.subject.rule_name(),
            Width::Reads => matter.class.class == AccessClass::Read,
            Width::Writes => matter.class.class == AccessClass::Write,
            Width::Everything => true,
        })
        .filter_map(|rule| rule.program.as_deref())
        .find(|program| matter.program() != Some(program))
        .map(ToOwned::to_owned)
}

/// The choices, in the order of the menu.
pub(crate) fn choices(matter: &Matter, rights: &RightsNow, warnings: &[Warning]) -> Vec<GrantChoice> {
    let mut choices = vec![GrantChoice::once()];
    // While stored rights cannot be verified everything asks, so nothing lasting is promised.
    if !rights.verified {
        return choices;
    }
    let always = !warnings.iter().any(|warning| {
        matches!(
            warning,
            Warning::DefinitionChanged | Warning::HiddenCharacters { .. } | Warning::UnconfirmedServer
        )
    });
    let mut lifetimes = vec![ChoiceLifetime::QuarterHour];
    if matter.caller.session.is_some() {
        lifetimes.push(ChoiceLifetime::Session);
    }
    lifetimes.push(ChoiceLifetime::UntilQuit);
    if always {
        lifetimes.push(ChoiceLifetime::Always);
    }
    let read = matter.class.class == AccessClass::Read && !matter.class.reaches_outside;
    let mut widths = vec![ChoiceWidth::Call, ChoiceWidth::Tool];
    if read {
        widths.push(ChoiceWidth::Reads);
    }
    widths.push(ChoiceWidth::Server);
    let plain =
        |lifetime, width, every_client| GrantChoice { lifetime, width, every_client, conditions: Vec::new() };
    for width in widths {
        for lifetime in &lifetimes {
            choices.push(plain(*lifetime, width, false));
            let session = *lifetime == ChoiceLifetime::Session;
            if !session && width != ChoiceWidth::Call {
                choices.push(plain(*lifetime, width, true));
            }
        }
    }
    for condition in proposals(&matter.arguments) {
        for lifetime in [ChoiceLifetime::UntilQuit, ChoiceLifetime::Always] {
            if lifetime != ChoiceLifetime::Always || always {
                choices.push(GrantChoice {
                    lifetime,
                    width: ChoiceWidth::Tool,
                    every_client: false,
                    conditions: vec![condition.clone()],
                });
            }
        }
    }
    choices
}

/// Whether an answer's allow is one of the offered ones; conditions beyond them only narrow it.
pub(crate) fn is_offered(choice: &GrantChoice, offered: &[GrantChoice]) -> bool {
    offered.iter().any(|offer| {
        offer.lifetime == choice.lifetime
            && offer.width == choice.width
            && offer.every_client == choice.every_client
            && offer.conditions.iter().all(|condition| choice.conditions.contains(condition))
    })
}

/// Conditions made from the arguments at hand.
fn proposals(arguments: &Json) -> Vec<Condition> {
    let Json::Object(members) = arguments else { return Vec::new() };
    let masked: Vec<String> =
        shown_arguments(arguments).into_iter().filter(|shown| shown.masked).map(|shown| shown.name).collect();
    members
        .iter()
        .filter(|(name, _)| !masked.iter().any(|masked| **masked == **name))
        .filter_map(|(name, value)| {
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            Some(Condition { pointer, test: test_for(value)? })
        })
        .take(PROPOSALS)
        .collect()
}

fn test_for(value: &Json) -> Option<ConditionTest> {
    match value {
        Json::String(text) if has_hidden(text) => None,
        Json::String(text) => folder_of(text)
            .map(|folder| ConditionTest::Inside { folder })
            .or_else(|| host_of(text).map(|host| ConditionTest::HostIs { host }))
            .or_else(|| equals(value)),
        Json::Number(_) | Json::Bool(_) => equals(value),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

fn equals(value: &Json) -> Option<ConditionTest> {
    let text = value.canonical();
    (text.len() <= LONGEST_VALUE).then_some(ConditionTest::Equals { value: text })
}

/// The folder that "only in this folder" means.
fn folder_of(text: &str) -> Option<String> {
    let real = paths::resolve(text)?;
    let path = std::path::Path::new(&real);
    let folder = if path.is_dir() { path } else { path.parent()? };
    // The root is no folder that narrows anything.
    folder.parent()?;
    folder.to_str().map(ToOwned::to_owned)
}

fn host_of(text: &str) -> Option<String> {
    let url = url::Url::parse(text).ok()?;
    if url.cannot_be_a_base() { None } else { url.host_str().map(ToOwned::to_owned) }
}

#[cfg(test)]
mod tests {
    use gatehouse_policy::json::read;

    use super::*;

    #[test]
    fn conditions_come_from_the_arguments_at_hand() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        let arguments = format!(
            r#"{{"path":"{folder}/x/../new.txt","url":"https://Example.com/a","n":3,"deep":{{}},"a/b":"v"}}"#
        );
        let found = proposals(&read(&arguments).unwrap());
        let expect = [
            ("/path", ConditionTest::Inside { folder }),
            ("/url", ConditionTest::HostIs { host: "example.com".into() }),
            ("/n", ConditionTest::Equals { value: "3".into() }),
            ("/a~1b", ConditionTest::Equals { value: "\"v\"".into() }),
        ];
        // "x/.." behind something that does not exist leads nowhere certain.
        assert_eq!(found.len(), 4);
        assert_eq!(
            found[0].test,
            ConditionTest::Equals { value: format!("\"{}/x/../new.txt\"", expect_folder(&expect)) }
        );
        for (found, (pointer, test)) in found.iter().zip(&expect).skip(1) {
            assert_eq!((found.pointer.as_str(), &found.test), (*pointer, test));
        }
        let plain = format!(r#"{{"path":"{}/new.txt"}}"#, expect_folder(&expect));
        assert_eq!(proposals(&read(&plain).unwrap())[0].test, expect[0].1);
    }

    fn expect_folder(expect: &[(&str, ConditionTest)]) -> String {
        match &expect[0].1 {
            ConditionTest::Inside { folder } => folder.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_offer_may_be_narrowed_and_never_widened() {
        let offered = [
            GrantChoice::once(),
            GrantChoice {
                lifetime: ChoiceLifetime::UntilQuit,
                width: ChoiceWidth::Tool,
                every_client: false,
                conditions: vec![],
            },
        ];
        let condition = Condition { pointer: "/a".into(), test: ConditionTest::Equals { value: "1".into() } };
        let narrowed = GrantChoice { conditions: vec![condition], ..offered[1].clone() };
        assert!(is_offered(&narrowed, &offered));
        assert!(!is_offered(&GrantChoice { every_client: true, ..offered[1].clone() }, &offered));
        assert!(!is_offered(
            &GrantChoice { lifetime: ChoiceLifetime::Always, ..offered[1].clone() },
            &offered
        ));
        assert!(!is_offered(&GrantChoice { width: ChoiceWidth::Server, ..offered[1].clone() }, &offered));
    }
}
