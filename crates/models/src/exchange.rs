//! What is exchanged with a model, in no provider's format: a request with messages and tools, and the events of the
//! streamed answer.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A request to a model.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    /// Id of the model at its provider.
    pub model: String,
    /// Instructions: the system prompt.
    pub instructions: Option<String>,
    /// Oldest first. The last one is the user's, or has tool results.
    pub messages: Vec<ModelMessage>,
    /// The definitions in the provider's format, as [`crate::adapters`] made them.
    pub tools: Vec<Box<RawValue>>,
    /// Most tokens of the answer; the provider's default where absent (4,096 for Anthropic, which has none).
    pub max_tokens: Option<u32>,
    /// From 0; the provider's default where absent. Some models accept none.
    pub temperature: Option<f64>,
    /// Texts at which the model stops writing; left out for an API that has none (OpenAI's responses).
    pub stop_sequences: Vec<String>,
}

/// A message of a request.
#[derive(Clone, Debug)]
pub enum ModelMessage {
    User(Vec<UserPart>),
    Assistant(Vec<AssistantPart>),
    /// Results of all tool calls of the message before.
    ToolResults(Vec<ToolResult>),
}

#[derive(Clone, Debug)]
pub enum UserPart {
    Text(String),
    Image {
        mime_type: String,
        /// Base64 (RFC 4648).
        data: String,
    },
}

#[derive(Clone, Debug)]
pub enum AssistantPart {
    Text(String),
    /// Reasoning that the provider wants back as it was sent; left out for other providers.
    Reasoning(ProviderItem),
    ToolCall(ModelToolCall),
}

/// Something that only the provider it came from understands, such as signed reasoning, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProviderItem {
    pub api: gatehouse_model::provider::ProviderApi,
    pub json: Box<RawValue>,
}

/// A tool call that a model wrote.
#[derive(Clone, Debug)]
pub struct ModelToolCall {
    /// The provider's id of the call; made up where a provider gives none (Gemini).
    pub id: String,
    /// The name that the model used.
    pub name: String,
    /// The arguments: a JSON object, byte for byte unless it was repaired; `{}` where the model wrote none.
    pub arguments: Box<RawValue>,
    /// What the model wrote, where it was no JSON and was repaired.
    pub repaired_from: Option<String>,
    /// What the provider wants back with the call, such as Gemini's `thoughtSignature`.
    pub provider_item: Option<ProviderItem>,
}

/// The result of a tool call, on its way to a model.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// [`ModelToolCall::id`].
    pub call: String,
    /// [`ModelToolCall::name`].
    pub name: String,
    /// The MCP result (`CallToolResult`), byte for byte.
    pub result: Box<RawValue>,
}

/// What happens while a model answers, in order. Blocks are numbered from 0 in the order in which they begin.
#[derive(Clone, Debug)]
pub enum ModelEvent {
    /// More text of a block.
    Text { block: usize, text: String },
    /// More of what the model says of its reasoning.
    Reasoning { block: usize, text: String },
    /// The model begins to write a tool call.
    ToolCallBegan { block: usize, id: String, name: String },
    /// More of the arguments, as the model writes them.
    ToolCallArguments { block: usize, text: String },
    /// The tool call is complete; or can't be used, with what the model has to be told.
    ToolCallEnded { block: usize, call: Result<ModelToolCall, UnusableToolCall> },
    /// A reasoning block is complete, and has to be sent back with the next request.
    ReasoningEnded { block: usize, item: ProviderItem },
    /// The tokens of the whole request so far, as the provider reports them. The last report counts.
    Usage { input: u64, output: u64 },
    /// The answer is complete.
    Ended(StopReason),
}

/// A tool call whose arguments are no JSON object and can't be repaired unambiguously.
#[derive(Clone, Debug)]
pub struct UnusableToolCall {
    pub id: String,
    pub name: String,
    /// What the model wrote.
    pub written: String,
    /// What is wrong, as a sentence for the model.
    pub reason: String,
}

/// Why a model stopped writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It has finished.
    Finished,
    /// It wants the results of its tool calls.
    ToolCalls,
    /// The most tokens were reached.
    Length,
    /// The provider or the model refuses to answer.
    Refused,
}
