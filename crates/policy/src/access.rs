//! Access class of a tool, resource or prompt: `read` or `write`, and whether it reaches outside (PERM-2,
//! PERM-18).
//!
//! A server chooses its own tool names and annotations, so nothing that it states makes a tool `read` unless
//! the user trusts its labels. Even then, any sign that the tool makes changes takes precedence.

use gatehouse_common::name_words::split;
use gatehouse_mcp_wire::uri_template::variables;
use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason};

use crate::uri_destination;

mod description_heuristics;
pub(crate) mod name_heuristics;

/// The facts about a tool that its access class is computed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolFacts<'a> {
    /// The tool's name on its server.
    pub name: &'a str,
    /// From the tool or from its annotations.
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
    pub read_only_hint: Option<bool>,
    pub destructive_hint: Option<bool>,
    pub open_world_hint: Option<bool>,
    /// Names of the properties of the input schema.
    pub argument_names: &'a [&'a str],
}

/// Classifies a tool as `read` or `write`. In this order: the class that the user set (`user`); any sign of
/// change; and, with `trusted_labels`, a `readOnlyHint` that the name is consistent with. Otherwise `write`.
#[must_use]
pub fn classify(
    tool: &ToolFacts<'_>,
    user: Option<AccessClass>,
    trusted_labels: bool,
) -> AccessClassification {
    let words = split(tool.name);
    let (class, reason) = match user {
        Some(class) => (class, ClassReason::Override),
        None => classify_by_evidence(tool, &words, trusted_labels),
    };
    let reaches_outside = tool.open_world_hint == Some(true)
        || name_heuristics::name_reaches_outside(&words)
        || tool.argument_names.iter().any(|name| name_heuristics::argument_reaches_outside(name));
    AccessClassification { class, reason, reaches_outside }
}

/// How the URI of a resource that is read is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceSource<'a> {
    /// The server's resource list contains it.
    List,
    /// It matches this URI template of the server.
    Template(&'a str),
    /// It is neither listed nor matched by a template.
    Unlisted,
}

/// The access class of a resource (PERM-18). A resource that the server lists doesn't reach outside. A URI
/// that a client makes from a template reaches outside if the client chooses the scheme or the host, if the
/// scheme is a network scheme, or if a variable's name suggests a location or a recipient.
#[must_use]
pub fn resource(uri: &str, from: ResourceSource<'_>) -> AccessClassification {
    not_a_tool(match from {
        ResourceSource::List => false,
        ResourceSource::Template(template) => {
            uri_destination::lets_client_choose_target(template)
                || uri_destination::is_network_uri(uri)
                || has_target_variable(template)
        }
        ResourceSource::Unlisted => true,
    })
}

fn has_target_variable(template: &str) -> bool {
    // A percent-encoded variable name can decode to any name.
    variables(template)
        .iter()
        .any(|name| name.contains('%') || name_heuristics::argument_reaches_outside(name))
}

/// The access class of a prompt, by the names of its arguments (PERM-18).
#[must_use]
pub fn prompt<'a>(argument_names: impl IntoIterator<Item = &'a str>) -> AccessClassification {
    not_a_tool(argument_names.into_iter().any(name_heuristics::argument_reaches_outside))
}

/// The access class of a request that the protocol doesn't have: it may do anything (PERM-18).
#[must_use]
pub fn custom_request() -> AccessClassification {
    AccessClassification { class: AccessClass::Write, reason: ClassReason::Default, reaches_outside: true }
}

fn not_a_tool(reaches_outside: bool) -> AccessClassification {
    AccessClassification { class: AccessClass::Read, reason: ClassReason::NotATool, reaches_outside }
}

fn classify_by_evidence(
    tool: &ToolFacts<'_>,
    name: &[String],
    trusted_labels: bool,
) -> (AccessClass, ClassReason) {
    let hint = |hint: &str| ClassReason::Annotation { hint: hint.to_owned() };
    if tool.destructive_hint == Some(true) {
        return (AccessClass::Write, hint("destructiveHint"));
    }
    if tool.read_only_hint == Some(false) {
        return (AccessClass::Write, hint("readOnlyHint"));
    }
    if let Some(word) = name_heuristics::change_word_in_name(name) {
        return (AccessClass::Write, ClassReason::Name { word: word.to_owned() });
    }
    if let Some(word) = tool.title.and_then(|title| {
        let title = split(title);
        name_heuristics::change_word_in_name(&title).map(str::to_owned)
    }) {
        return (AccessClass::Write, ClassReason::Name { word });
    }
    if let Some(word) = tool.description.and_then(description_heuristics::change_verb_in_description) {
        return (AccessClass::Write, ClassReason::Description { word });
    }
    if tool.read_only_hint == Some(true) && name_heuristics::is_read_name(tool.name, name) {
        return if trusted_labels {
            (AccessClass::Read, ClassReason::TrustedLabel)
        } else {
            (AccessClass::Write, ClassReason::UntrustedLabel)
        };
    }
    (AccessClass::Write, ClassReason::Default)
}
