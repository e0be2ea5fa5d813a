//! Access class of a tool (PERM-2).
//!
//! A server controls its own names and labels, so nothing that it says makes a tool `read` unless the
//! user has said to trust its labels; and even then any sign of change wins.

use gatehouse_mcp_wire::uri_template::variables;
use gatehouse_model::grant::{AccessClass, ClassReason, Classified};

use crate::{deeds, places, words};

/// What is known of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolFacts<'a> {
    /// Name on the server.
    pub name: &'a str,
    /// Title, from the tool or its annotations.
    pub title: Option<&'a str>,
    /// Description.
    pub description: Option<&'a str>,
    /// `annotations.readOnlyHint`
    pub read_only_hint: Option<bool>,
    /// `annotations.destructiveHint`
    pub destructive_hint: Option<bool>,
    /// `annotations.openWorldHint`
    pub open_world_hint: Option<bool>,
    /// Names of the input schema's properties.
    pub argument_names: &'a [&'a str],
}

/// Says whether a tool only looks: by the user's word (`user`), by its signs of change, and last,
/// with `trusted_labels`, by a read-only label that the name agrees with.
#[must_use]
pub fn classify(tool: &ToolFacts<'_>, user: Option<AccessClass>, trusted_labels: bool) -> Classified {
    let words = words::split(tool.name);
    let (class, reason) = match user {
        Some(class) => (class, ClassReason::Override),
        None => by_signs(tool, &words, trusted_labels),
    };
    let reaches_outside = tool.open_world_hint == Some(true)
        || words::name_reaches_outside(&words)
        || tool.argument_names.iter().any(|name| words::argument_reaches_outside(name));
    Classified { class, reason, reaches_outside }
}

/// Where a resource that is read comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceFrom<'a> {
    /// The server's own list names it.
    List,
    /// This template of the server's expands to it.
    Template(&'a str),
    /// Neither.
    Nowhere,
}

/// The class of a resource (PERM-18). What the server lists itself is its own. What a client makes from a
/// template reaches outside where it chooses the scheme or the host, where the scheme is one of the network, or where
/// a variable is called after a place or a person.
#[must_use]
pub fn resource(uri: &str, from: ResourceFrom<'_>) -> Classified {
    not_a_tool(match from {
        ResourceFrom::List => false,
        ResourceFrom::Template(template) => {
            places::is_open(template) || places::is_of_network(uri) || names_a_target(template)
        }
        ResourceFrom::Nowhere => true,
    })
}

fn names_a_target(template: &str) -> bool {
    // A name with escapes may be any.
    variables(template).iter().any(|name| name.contains('%') || words::argument_reaches_outside(name))
}

/// The class of a prompt, by the names of its arguments (PERM-18).
#[must_use]
pub fn prompt<'a>(argument_names: impl IntoIterator<Item = &'a str>) -> Classified {
    not_a_tool(argument_names.into_iter().any(words::argument_reaches_outside))
}

fn not_a_tool(reaches_outside: bool) -> Classified {
    Classified { class: AccessClass::Read, reason: ClassReason::NotATool, reaches_outside }
}

fn by_signs(tool: &ToolFacts<'_>, name: &[String], trusted_labels: bool) -> (AccessClass, ClassReason) {
    let hint = |hint: &str| ClassReason::Annotation { hint: hint.to_owned() };
    if tool.destructive_hint == Some(true) {
        return (AccessClass::Write, hint("destructiveHint"));
    }
    if tool.read_only_hint == Some(false) {
        return (AccessClass::Write, hint("readOnlyHint"));
    }
    if let Some(word) = words::change_in_name(name) {
        return (AccessClass::Write, ClassReason::Name { word: word.to_owned() });
    }
    if let Some(word) = tool.title.and_then(|title| {
        let title = words::split(title);
        words::change_in_name(&title).map(str::to_owned)
    }) {
        return (AccessClass::Write, ClassReason::Name { word });
    }
    if let Some(word) = tool.description.and_then(deeds::change_in_description) {
        return (AccessClass::Write, ClassReason::Description { word });
    }
    if trusted_labels && tool.read_only_hint == Some(true) && words::name_looks(tool.name, name) {
        return (AccessClass::Read, ClassReason::TrustedLabel);
    }
    (AccessClass::Write, ClassReason::Default)
}
