//! What defines a subject (PERM-8, PERM-18): a tool, a prompt, a resource template, the server's list of
//! resources, or nothing known. Rules are bound to the definition that they were granted for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_mcp_wire::uri_template::UriTemplate;
use gatehouse_model::approval::Subject;
use gatehouse_model::grant::AccessClassification;
use gatehouse_model::subject::SubjectRef;
use gatehouse_model::{Fingerprint, ServerBinding};
use gatehouse_policy::access::{ResourceSource, custom_request, prompt, resource};
use gatehouse_policy::coverage::{DefinitionRef, SubjectFacts};
use gatehouse_policy::definition::{DefinitionKind, fingerprint};
use gatehouse_servers::ServerLists;
use serde_json::value::RawValue;

use crate::catalog::tool_definition::ParsedDefinition;

/// What defines a subject.
#[derive(Clone, Debug)]
pub(crate) enum DefinitionSource {
    Tool(Arc<ParsedDefinition>),
    /// The definition of a prompt, or of the template that matches a resource.
    Other(Arc<ListedDefinition>),
    /// The server's resource list contains it.
    Listed,
    Unknown,
}

impl DefinitionSource {
    /// The definition as rules see it.
    pub(crate) fn definition_ref(&self) -> DefinitionRef<'_> {
        match self {
            Self::Tool(tool) => DefinitionRef::Pinned { pin: &tool.name, fingerprint: &tool.fingerprint },
            Self::Other(described) => described.definition_ref(),
            Self::Listed => DefinitionRef::Listed,
            Self::Unknown => DefinitionRef::Unknown,
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        match self.definition_ref() {
            DefinitionRef::Pinned { fingerprint, .. } => Some(fingerprint),
            DefinitionRef::Listed | DefinitionRef::Unknown => None,
        }
    }

    /// The kind of definition and its bytes.
    pub(crate) fn definition(&self) -> Option<(DefinitionKind, &RawValue)> {
        match self {
            Self::Tool(tool) => Some((DefinitionKind::Tool, &tool.raw)),
            Self::Other(described) => Some((described.of, &described.raw)),
            Self::Listed | Self::Unknown => None,
        }
    }

    pub(crate) fn tool(&self) -> Option<&Arc<ParsedDefinition>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Other(_) | Self::Listed | Self::Unknown => None,
        }
    }
}

/// What is known of a subject.
pub(crate) struct SubjectInfo {
    pub(crate) class: AccessClassification,
    pub(crate) origin: DefinitionSource,
    /// The lists that this was read from.
    pub(crate) lists: Option<Arc<ServerLists>>,
}

impl SubjectInfo {
    /// Something in none of its server's lists; it may be anything, so it counts as reaching outside.
    pub(crate) fn unknown() -> Self {
        Self { class: resource("", ResourceSource::Unlisted), origin: DefinitionSource::Unknown, lists: None }
    }

    /// A request that the protocol doesn't have. It has no definition, so that only a rule for exactly the same request
    /// allows it.
    fn custom_request() -> Self {
        Self { class: custom_request(), origin: DefinitionSource::Unknown, lists: None }
    }

    /// The same for a subject of a server whose lists aren't known.
    pub(crate) fn unlisted(subject: &Subject) -> Self {
        match subject {
            Subject::Request { .. } => Self::custom_request(),
            Subject::Tool { .. }
            | Subject::Resource { .. }
            | Subject::Prompt { .. }
            | Subject::Completion { .. } => Self::unknown(),
        }
    }

    fn described(class: AccessClassification, described: &Arc<ListedDefinition>) -> Self {
        Self { class, origin: DefinitionSource::Other(described.clone()), lists: None }
    }
}

/// A parsed definition of a prompt or resource template.
#[derive(Debug)]
pub(crate) struct ListedDefinition {
    of: DefinitionKind,
    /// Key of its pin in a rule: `prompt:NAME` or `template:URI`.
    pin: Box<str>,
    fingerprint: Fingerprint,
    class: AccessClassification,
    pub(crate) raw: Box<RawValue>,
}

impl ListedDefinition {
    /// Parses the definition of a prompt or template; `None` if it can't be parsed safely.
    fn read(of: DefinitionKind, name: &str, raw: &RawValue) -> Option<Self> {
        let class = match of {
            DefinitionKind::Prompt => match argument_names(raw) {
                Some(names) => prompt(names.iter().map(String::as_str)),
                None => SubjectInfo::unknown().class,
            },
            DefinitionKind::Template => resource(name, ResourceSource::Template(name)),
            DefinitionKind::Tool => return None,
        };
        let pin = if of == DefinitionKind::Prompt { prompt_pin(name) } else { format!("template:{name}") };
        let fingerprint = fingerprint(of, raw.get()).ok()?;
        Some(Self { of, pin: pin.into(), fingerprint, class, raw: raw.to_owned() })
    }

    pub(crate) fn pin(&self) -> &str {
        &self.pin
    }

    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn definition_ref(&self) -> DefinitionRef<'_> {
        DefinitionRef::Pinned { pin: &self.pin, fingerprint: &self.fingerprint }
    }

    /// The item as rules for all reads and for everything see it.
    pub(crate) fn subject_facts<'a>(&'a self, server: &'a ServerBinding) -> SubjectFacts<'a> {
        let subject = self.subject();
        SubjectFacts { server, subject, class: &self.class, definition: self.definition_ref() }
    }

    /// What is used under this definition. A template has no use of its own but the completion of its arguments.
    fn subject(&self) -> SubjectRef<'_> {
        let name = self.pin.split_once(':').map_or(&*self.pin, |(_, name)| name);
        match self.of {
            DefinitionKind::Prompt => SubjectRef::Prompt(name),
            DefinitionKind::Template => SubjectRef::Completion(name),
            DefinitionKind::Tool => SubjectRef::Tool(&self.pin),
        }
    }
}

fn prompt_pin(name: &str) -> String {
    Subject::Prompt { name: name.to_owned() }.rule_name().into_owned()
}

/// The names of a prompt's arguments; `None` if they can't be parsed.
fn argument_names(raw: &RawValue) -> Option<Vec<String>> {
    let members = Members::of(raw).ok()?;
    let Some(arguments) = members.get("arguments").filter(|raw| raw.get() != "null") else {
        return Some(Vec::new());
    };
    let listed: Vec<&RawValue> = serde_json::from_str(arguments.get()).ok()?;
    let name = |raw: &&RawValue| Some(Members::of(raw).ok()?.text("name")?.into_owned());
    listed.iter().map(name).collect()
}

/// The definitions of the resources and prompts of one server.
#[derive(Debug, Default)]
pub(crate) struct DefinitionIndex {
    listed: HashSet<Box<str>>,
    /// Together with the templates that can be matched against URIs, in the order of the server's list.
    templates: Vec<(Box<str>, Option<UriTemplate>, Arc<ListedDefinition>)>,
    prompts: HashMap<Box<str>, Arc<ListedDefinition>>,
}

impl DefinitionIndex {
    pub(crate) fn list(&mut self, uri: &str) {
        self.listed.insert(uri.into());
    }

    pub(crate) fn template(&mut self, uri: &str, raw: &RawValue) {
        if let Some(described) = ListedDefinition::read(DefinitionKind::Template, uri, raw) {
            self.templates.push((uri.into(), UriTemplate::read(uri), Arc::new(described)));
        }
    }

    pub(crate) fn prompt(&mut self, name: &str, raw: &RawValue) {
        if let Some(described) = ListedDefinition::read(DefinitionKind::Prompt, name, raw) {
            self.prompts.insert(name.into(), Arc::new(described));
        }
    }

    /// Access class and definition of a subject that isn't a tool.
    pub(crate) fn of(&self, subject: &Subject) -> SubjectInfo {
        match subject {
            Subject::Resource { uri } => self.of_resource(uri),
            Subject::Prompt { name } => self.of_prompt(name),
            Subject::Completion { reference } => {
                let template = self.templates.iter().find(|(uri, ..)| **uri == **reference);
                match template {
                    Some((_, _, described)) => SubjectInfo::described(described.class.clone(), described),
                    None if self.prompts.contains_key(reference.as_str()) => self.of_prompt(reference),
                    None => self.of_resource(reference),
                }
            }
            Subject::Request { .. } => SubjectInfo::custom_request(),
            Subject::Tool { .. } => SubjectInfo::unknown(),
        }
    }

    fn of_prompt(&self, name: &str) -> SubjectInfo {
        let known = self.prompts.get(name);
        known.map_or_else(SubjectInfo::unknown, |known| SubjectInfo::described(known.class.clone(), known))
    }

    fn of_resource(&self, uri: &str) -> SubjectInfo {
        if self.listed.contains(uri) {
            let class = resource(uri, ResourceSource::List);
            return SubjectInfo { class, origin: DefinitionSource::Listed, lists: None };
        }
        let fits = self.templates.iter().filter_map(|(text, template, described)| {
            template.as_ref().filter(|template| template.matches(uri)).map(|known| (known, text, described))
        });
        let best = fits.rev().max_by_key(|(template, ..)| template.literal_prefix());
        // A URI that the template matches but can't produce is treated as unknown.
        match best.filter(|(template, ..)| template.makes(uri)) {
            Some((_, text, described)) => {
                SubjectInfo::described(resource(uri, ResourceSource::Template(text)), described)
            }
            None => SubjectInfo::unknown(),
        }
    }

    /// All parsed definitions.
    pub(crate) fn described(&self) -> impl Iterator<Item = &Arc<ListedDefinition>> {
        self.templates.iter().map(|(_, _, described)| described).chain(self.prompts.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn definitions() -> DefinitionIndex {
        let mut definitions = DefinitionIndex::default();
        definitions.list("notes://all/1");
        definitions.list("https://docs.example/listed");
        for template in [
            "notes://all/{id}",
            "{+all}",
            "notes://{where}/x",
            "notes://page/link/{url}",
            "notes://find{?id}",
        ] {
            definitions.template(template, &raw(&format!(r#"{{"uriTemplate":"{template}","name":"t"}}"#)));
        }
        definitions.prompt("review", &raw(r#"{"name":"review","arguments":[{"name":"tone"}]}"#));
        definitions.prompt("odd", &raw(r#"{"name":"odd","arguments":{"url":{}}}"#));
        definitions.prompt("nameless", &raw(r#"{"name":"nameless","arguments":[{"title":"url"}]}"#));
        definitions.prompt("fetch", &raw(r#"{"name":"fetch","arguments":[{"name":"url"}]}"#));
        definitions
    }

    #[test]
    fn classifies_subjects_by_definition_source() {
        let definitions = definitions();
        let resource = |uri: &str| Subject::Resource { uri: uri.to_owned() };
        let prompt = |name: &str| Subject::Prompt { name: name.to_owned() };
        let completion = |name: &str| Subject::Completion { reference: name.to_owned() };
        for (subject, from, outside) in [
            (resource("notes://all/1"), "listed", false),
            (resource("https://docs.example/listed"), "listed", false),
            (resource("notes://all/2"), "template:notes://all/{id}", false),
            (resource("notes://all/a@evil.example"), "unknown", true),
            (resource("notes://find?id=1"), "template:notes://find{?id}", false),
            (resource("notes://find.evil"), "unknown", true),
            (resource("notes://evil/x"), "template:notes://{where}/x", true),
            (resource("https://evil.example/"), "template:{+all}", true),
            (resource("file:///etc/passwd"), "template:{+all}", true),
            (prompt("review"), "prompt:review", false),
            (prompt("fetch"), "prompt:fetch", true),
            (prompt("other"), "unknown", true),
            (prompt("odd"), "prompt:odd", true),
            (prompt("nameless"), "prompt:nameless", true),
            (resource("notes://page/link/7"), "template:notes://page/link/{url}", true),
            (completion("review"), "prompt:review", false),
            (completion("notes://all/{id}"), "template:notes://all/{id}", false),
            (completion("{+all}"), "template:{+all}", true),
        ] {
            let SubjectInfo { class, origin, .. } = definitions.of(&subject);
            let found = match origin.definition_ref() {
                DefinitionRef::Pinned { pin, .. } => pin,
                DefinitionRef::Listed => "listed",
                DefinitionRef::Unknown => "unknown",
            };
            assert_eq!((found, class.reaches_outside), (from, outside), "{subject:?}");
        }
    }

    #[test]
    fn fingerprints_differ_by_definition_kind() {
        let text = r#"{"name":"a"}"#;
        let of = |of| fingerprint(of, text).unwrap();
        assert_ne!(of(DefinitionKind::Tool), of(DefinitionKind::Prompt));
        assert_ne!(of(DefinitionKind::Tool), of(DefinitionKind::Template));
        assert_ne!(of(DefinitionKind::Prompt), of(DefinitionKind::Template));
    }
}
