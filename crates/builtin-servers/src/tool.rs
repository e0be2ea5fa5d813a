//! What the tools of all built-in servers share: their definitions, how they read arguments, and what
//! they return.

use serde_json::{Map, Value, json};

/// Result of a tool: text, and the same as structured content.
pub(crate) struct ToolOutput {
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
}

/// Why a tool failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("there is no such tool")]
    NoSuchTool,
    /// Returned to the model as a tool error, so that it can correct its call.
    #[error("{0}")]
    Message(String),
}

impl ToolError {
    pub(crate) fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

/// A tool's definition.
pub(crate) fn tool(name: &str, title: &str, description: &str, access: ToolAccess, schema: Value) -> Value {
    let (read_only, destructive) = match access {
        ToolAccess::Reads => (true, false),
        ToolAccess::Adds => (false, false),
        ToolAccess::Destroys => (false, true),
    };
    json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "title": title,
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "openWorldHint": false,
        },
    })
}

/// What a tool does to data, for its annotations.
#[derive(Clone, Copy)]
pub(crate) enum ToolAccess {
    Reads,
    Adds,
    Destroys,
}

/// The schema of an object with these members.
pub(crate) fn schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// A required string argument.
pub(crate) fn text_argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, ToolError> {
    optional_text(arguments, name)?
        .ok_or_else(|| ToolError::message(format!("The argument \"{name}\" is missing.")))
}

/// An optional string argument.
pub(crate) fn optional_text<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a str>, ToolError> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::message(format!("The argument \"{name}\" has to be a text."))),
    }
}

/// An optional argument that must be one of a few values.
pub(crate) fn choice_argument<'a>(
    arguments: &'a Map<String, Value>,
    name: &str,
    choices: &[&'a str],
) -> Result<Option<&'a str>, ToolError> {
    match optional_text(arguments, name)? {
        Some(word) if !choices.contains(&word) => {
            Err(ToolError::message(format!("The argument \"{name}\" is one of: {}.", choices.join(", "))))
        }
        word => Ok(word),
    }
}

/// Rejects unknown arguments, so that a misspelt one is reported and not ignored.
pub(crate) fn reject_unknown(arguments: &Map<String, Value>, known: &[&str]) -> Result<(), ToolError> {
    match arguments.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(ToolError::message(format!(
            "There is no argument \"{name}\" here; known are: {}.",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}
