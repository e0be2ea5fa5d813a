//! What defines a subject (PERM-8, PERM-18): a tool, a prompt, a resource template, the server's list of
//! resources, or nothing known. Rules are bound to the definition that they were granted for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_mcp_wire::uri_template::UriTemplate;
use gatehouse_model::ask::Subject;
use gatehouse_model::grant::Classified;
use gatehouse_model::{Fingerprint, ServerBinding};
use gatehouse_policy::access::{ResourceFrom, prompt, resource};
use gatehouse_policy::cover::{Defined, Item};
use gatehouse_policy::definition::{DefinitionOf, fingerprint};
use gatehouse_servers::Lists;
use serde_json::value::RawValue;

use crate::definition::Definition;

/// What defines a subject.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Tool(Arc<Definition>),
    /// The definition of a prompt, or of the template that matches a resource.
    Other(Arc<Described>),
    /// The server's resource list contains it.
    Listed,
    Unknown,
}

impl Origin {
    /// The definition as rules see it.
    pub(crate) fn defined(&self) -> Defined<'_> {
        match self {
            Self::Tool(tool) => Defined::As { pin: &tool.name, fingerprint: &tool.fingerprint },
            Self::Other(described) => described.defined(),
            Self::Listed => Defined::Listed,
            Self::Unknown => Defined::Unknown,
        }
    }

    pub(crate) fn fingerprint(&self) -> Option<&Fingerprint> {
        match self.defined() {
            Defined::As { fingerprint, .. } => Some(fingerprint),
            Defined::Listed | Defined::Unknown => None,
        }
    }

    /// The kind of definition and its bytes.
    pub(crate) fn definition(&self) -> Option<(DefinitionOf, &RawValue)> {
        match self {
            Self::Tool(tool) => Some((DefinitionOf::Tool, &tool.raw)),
            Self::Other(described) => Some((described.of, &described.raw)),
            Self::Listed | Self::Unknown => None,
        }
    }

    pub(crate) fn tool(&self) -> Option<&Arc<Definition>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Other(_) | Self::Listed | Self::Unknown => None,
        }
    }
}

/// What is known of a subject.
pub(crate) struct Known {
    pub(crate) class: Classified,
    pub(crate) origin: Origin,
    /// The lists that this was read from.
    pub(crate) lists: Option<Arc<Lists>>,
}

impl Known {
    /// Something in none of its server's lists; it may be anything, so it counts as reaching outside.
    pub(crate) fn nothing() -> Self {
        Self { class: resource("", ResourceFrom::Nowhere), origin: Origin::Unknown, lists: None }
    }

    fn described(class: Classified, described: &Arc<Described>) -> Self {
        Self { class, origin: Origin::Other(described.clone()), lists: None }
    }
}

/// A parsed definition of a prompt or resource template.
#[derive(Debug)]
pub(crate) struct Described {
    of: DefinitionOf,
    /// Key of its pin in a rule: `prompt:NAME` or `template:URI`.
    pin: Box<str>,
    fingerprint: Fingerprint,
    class: Classified,
    pub(crate) raw: Box<RawValue>,
}

impl Described {
    /// Parses the definition of a prompt or template; `None` if it can't be parsed safely.
    fn read(of: DefinitionOf, name: &str, raw: &RawValue) -> Option<Self> {
        let class = match of {
            DefinitionOf::Prompt => match argument_names(raw) {
                Some(names) => prompt(names.iter().map(String::as_str)),
                None => Known::nothing().class,
            },
            DefinitionOf::Template => resource(name, ResourceFrom::Template(name)),
            DefinitionOf::Tool => return None,
        };
        let pin = if of == DefinitionOf::Prompt { prompt_pin(name) } else { format!("template:{name}") };
        let fingerprint = fingerprint(of, raw.get()).ok()?;
        Some(Self { of, pin: pin.into(), fingerprint, class, raw: raw.to_owned() })
    }

    pub(crate) fn pin(&self) -> &str {
        &self.pin
    }

    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn defined(&self) -> Defined<'_> {
        Defined::As { pin: &self.pin, fingerprint: &self.fingerprint }
    }

    /// The item as rules for all reads and for everything see it.
    pub(crate) fn item<'a>(&'a self, server: &'a ServerBinding) -> Item<'a> {
        Item { server, subject: &self.pin, class: &self.class, definition: self.defined() }
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
pub(crate) struct Origins {
    listed: HashSet<Box<str>>,
    /// Together with the templates that can be matched against URIs, in the order of the server's list.
    templates: Vec<(Box<str>, Option<UriTemplate>, Arc<Described>)>,
    prompts: HashMap<Box<str>, Arc<Described>>,
}

impl Origins {
    pub(crate) fn list(&mut self, uri: &str) {
        self.listed.insert(uri.into());
    }

    pub(crate) fn template(&mut self, uri: &str, raw: &RawValue) {
        if let Some(described) = Described::read(DefinitionOf::Template, uri, raw) {
            self.templates.push((uri.into(), UriTemplate::read(uri), Arc::new(described)));
        }
    }

    pub(crate) fn prompt(&mut self, name: &str, raw: &RawValue) {
        if let Some(described) = Described::read(DefinitionOf::Prompt, name, raw) {
            self.prompts.insert(name.into(), Arc::new(described));
        }
    }

    /// Access class and definition of a subject that isn't a tool.
    pub(crate) fn of(&self, subject: &Subject) -> Known {
        match subject {
            Subject::Resource { uri } => self.of_resource(uri),
            Subject::Prompt { name } => self.of_prompt(name),
            Subject::Completion { reference } => {
                let template = self.templates.iter().find(|(uri, ..)| **uri == **reference);
                match template {
                    Some((_, _, described)) => Known::described(described.class.clone(), described),
                    None if self.prompts.contains_key(reference.as_str()) => self.of_prompt(reference),
                    None => self.of_resource(reference),
                }
            }
            Subject::Tool { .. } => Known::nothing(),
        }
    }

    fn of_prompt(&self, name: &str) -> Known {
        let known = self.prompts.get(name);
        known.map_or_else(Known::nothing, |known| Known::described(known.class.clone(), known))
    }

    fn of_resource(&self, uri: &str) -> Known {
        if self.listed.contains(uri) {
            let class = resource(uri, ResourceFrom::List);
            return Known { class, origin: Origin::Listed, lists: None };
        }
        let fits = self.templates.iter().filter_map(|(text, template, described)| {
            template.as_ref().filter(|template| template.matches(uri)).map(|known| (known, text, described))
        });
        let best = fits.rev().max_by_key(|(template, ..)| template.literal_prefix());
        // A URI that the template matches but can't produce is treated as unknown.
        match best.filter(|(template, ..)| template.makes(uri)) {
            Some((_, text, described)) => {
                Known::described(resource(uri, ResourceFrom::Template(text)), described)
            }
            None => Known::nothing(),
        }
    }

    /// All parsed definitions.
    pub(crate) fn described(&self) -> impl Iterator<Item = &Arc<Described>> {
        self.templates.iter().map(|(_, _, described)| described).chain(self.prompts.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn origins() -> Origins {
        let mut origins = Origins::default();
        origins.list("notes://all/1");
        origins.list("https://docs.example/listed");
        for template in [
            "notes://all/{id}",
            "{+all}",
            "notes://{where}/x",
            "notes://page/link/{url}",
            "notes://find{?id}",
        ] {
            origins.template(template, &raw(&format!(r#"{{"uriTemplate":"{template}","name":"t"}}"#)));
        }
        origins.prompt("review", &raw(r#"{"name":"review","arguments":[{"name":"tone"}]}"#));
        origins.prompt("odd", &raw(r#"{"name":"odd","arguments":{"url":{}}}"#));
        origins.prompt("nameless", &raw(r#"{"name":"nameless","arguments":[{"title":"url"}]}"#));
        origins.prompt("fetch", &raw(r#"{"name":"fetch","arguments":[{"name":"url"}]}"#));
        origins
    }

    #[test]
    fn what_comes_from_where_and_what_reaches_outside() {
        let origins = origins();
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
            let Known { class, origin, .. } = origins.of(&subject);
            let found = match origin.defined() {
                Defined::As { pin, .. } => pin,
                Defined::Listed => "listed",
                Defined::Unknown => "unknown",
            };
            assert_eq!((found, class.reaches_outside), (from, outside), "{subject:?}");
        }
    }

    #[test]
    fn a_prompt_and_a_tool_that_is_written_like_it_have_two_fingerprints() {
        let text = r#"{"name":"a"}"#;
        let of = |of| fingerprint(of, text).unwrap();
        assert_ne!(of(DefinitionOf::Tool), of(DefinitionOf::Prompt));
        assert_ne!(of(DefinitionOf::Tool), of(DefinitionOf::Template));
        assert_ne!(of(DefinitionOf::Prompt), of(DefinitionOf::Template));
    }
}
