//! What models answer, in no format of any provider. As JSON it comes from tests in other languages.

use serde::Deserialize;
use serde_json::Value;

/// What a model does next in an answer. What it writes comes in pieces of a few characters.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStep {
    Text(String),
    Reasoning(String),
    /// Calls a tool.
    Call {
        /// Where absent, one as the provider would make it, which is none with Gemini.
        #[serde(default)]
        id: Option<String>,
        /// As the model was told.
        tool: String,
        /// As the model writes them.
        arguments: String,
    },
    /// Begins to call a tool, and stops in the middle of the arguments.
    BeginCall {
        tool: String,
        arguments: String,
    },
    /// What is reported as used for this answer.
    Usage {
        input: u64,
        output: u64,
    },
    /// Writes nothing more until the test releases it or its reader leaves.
    Hold,
    /// Reports an error in place of the rest.
    Error(String),
    /// Breaks the connection.
    Break,
}

/// What is answered to a request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedAnswer {
    /// A stream of what a model does.
    Steps(Vec<ModelStep>),
    /// An error status.
    Status {
        status: u16,
        message: String,
        /// In seconds.
        #[serde(default)]
        retry_after: Option<u32>,
    },
    /// The same path at another origin.
    Redirect(String),
}

impl ScriptedAnswer {
    pub(super) fn unscripted() -> Self {
        Self::Steps(vec![text("There is nothing more in the script.")])
    }
}

/// A call of a tool.
#[must_use]
pub fn call(id: &str, tool: &str, arguments: &Value) -> ModelStep {
    ModelStep::Call { id: Some(id.to_owned()), tool: tool.to_owned(), arguments: arguments.to_string() }
}

/// A call of a tool with the id that the provider gives it.
#[must_use]
pub fn call_without_id(tool: &str, arguments: &Value) -> ModelStep {
    ModelStep::Call { id: None, tool: tool.to_owned(), arguments: arguments.to_string() }
}

/// A text.
#[must_use]
pub fn text(text: &str) -> ModelStep {
    ModelStep::Text(text.to_owned())
}
