//! Access class of a tool (PERM-2).

use gatehouse_model::grant::{AccessClass, Classified};

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

/// Says whether a tool only looks.
#[must_use]
pub fn classify(tool: &ToolFacts<'_>, user: Option<AccessClass>, trusted_labels: bool) -> Classified {
    crate::words::thin(tool, user, trusted_labels)
}

/// The class of what is not a tool (PERM-18): reading a resource, getting a prompt, completing.
#[must_use]
pub fn not_a_tool() -> Classified {
    Classified {
        class: AccessClass::Read,
        reason: gatehouse_model::grant::ClassReason::NotATool,
        reaches_outside: false,
    }
}
