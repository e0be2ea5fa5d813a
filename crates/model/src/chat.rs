//! Conversations with a model, as windows show them (UI-8).

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::error::UserError;
use crate::grant::{AccessClass, Verdict};
use crate::id::{ApprovalId, CallId, ConversationId, MessageId, ServerId};
use crate::provider::ModelChoice;
use crate::server_catalog::ResultView;
use crate::time::Timestamp;

/// A conversation in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationSummary {
    pub id: ConversationId,
    /// The title that the user gave, else the beginning of the first message.
    pub title: String,
    pub updated: Timestamp,
    pub model: Option<ModelChoice>,
    /// Whether a turn is under way.
    pub is_running: bool,
    /// A piece of text around what was searched for.
    pub excerpt: Option<String>,
}

/// What the user chooses for a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConversationSettings {
    /// Absent: the beginning of the first message.
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default)]
    pub model: Option<ModelChoice>,
    /// Ids of the servers whose tools the model gets; all that are on where absent.
    #[serde(default)]
    pub servers: Option<Vec<ServerId>>,
    /// Whether the model searches for tools instead of getting all of their definitions (TOOL-7).
    #[serde(default)]
    pub tool_search: bool,
    /// The user's own instructions for the model.
    #[serde(default)]
    pub instructions: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub id: ConversationId,
    /// The title that the user gave, else the beginning of the first message.
    pub title: String,
    pub settings: ConversationSettings,
    pub created: Timestamp,
    pub updated: Timestamp,
    /// Oldest first.
    pub messages: Vec<ChatMessage>,
    /// Whether a turn is under way.
    pub is_running: bool,
    pub tools: ConversationToolCost,
    /// The sum of what the provider reported for all messages.
    pub usage: TokenUsage,
}

/// What the list of tools costs a model in each request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ConversationToolCost {
    pub tools: u32,
    /// Estimated as a quarter of the bytes of the definitions.
    pub tokens: u32,
    /// Names of tools whose schemas were simplified for the provider, each with what was left out.
    pub simplified: Vec<SimplifiedTool>,
}

/// A tool whose schema the provider's format can't carry whole. Calls are validated against the whole schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SimplifiedTool {
    /// The name that the model uses.
    pub tool: String,
    /// JSON pointers into the schema with the keyword that was left out or changed, such as `/properties/a/pattern`.
    pub changes: Vec<String>,
}

/// Tokens as a provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    #[ts(type = "number")]
    pub input: u64,
    #[ts(type = "number")]
    pub output: u64,
}

/// One message. All that a model writes up to its last word in a turn is one message, with its tool calls in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ChatMessage {
    pub id: MessageId,
    pub role: ChatRole,
    pub at: Timestamp,
    /// In the order in which they came.
    pub blocks: Vec<ChatBlock>,
    pub state: ChatMessageState,
    /// Why it failed.
    pub error: Option<UserError>,
    /// Who wrote it: name of the provider and id of the model.
    pub model: Option<String>,
    pub usage: Option<TokenUsage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    User,
    Assistant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChatMessageState {
    /// The model is writing, or a tool runs.
    Running,
    Done,
    /// The user stopped it, or Gatehouse was closed.
    Stopped,
    /// The provider failed; `error` says why.
    Failed,
    /// The model used tools as many times in a row as is allowed.
    RoundLimit,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "there are few, and most bytes are in their texts")]
pub enum ChatBlock {
    /// Markdown.
    Text {
        text: String,
    },
    /// What the model says of its reasoning.
    Reasoning {
        text: String,
    },
    Image {
        mime_type: String,
        /// Base64 (RFC 4648).
        data: String,
    },
    ToolCall(ToolCallBlock),
}

/// A tool call of the model. Once it has ended it stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallBlock {
    /// The provider's id of the call, unique in the conversation.
    pub id: String,
    /// The name that the model used.
    pub tool: String,
    /// Display title; the name where the tool is unknown.
    pub title: String,
    /// Name of its server; absent for an unknown tool and for tool search.
    pub server: Option<String>,
    pub class: Option<AccessClass>,
    /// The arguments as JSON text, secrets masked.
    pub arguments: String,
    /// What the model wrote, where it was no JSON and was repaired.
    pub repaired_from: Option<String>,
    pub state: ToolCallState,
    /// The approval request that it waits for, or that was answered.
    pub approval: Option<ApprovalId>,
    /// The record of the call.
    pub call: Option<CallId>,
    /// What decided.
    pub verdict: Option<Verdict>,
    pub started: Timestamp,
    /// Milliseconds without the time spent waiting for the user.
    pub took_ms: Option<u32>,
    /// Milliseconds spent waiting for the user.
    pub waited_ms: Option<u32>,
    pub result: Option<ResultView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallState {
    /// The model is writing its arguments.
    Writing,
    /// An approval request waits for the user.
    Waiting,
    Running,
    Done,
    /// The tool reported an error, or the call could not be sent.
    Failed,
    Denied,
    /// The user stopped the turn.
    Cancelled,
}

/// An image that the user sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatImage {
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    pub mime_type: String,
    /// Base64 (RFC 4648).
    pub data: String,
}
