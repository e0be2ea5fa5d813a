//! What conversations need of the rest of Gatehouse: the tools, and where the models are.

use std::sync::Arc;

use gatehouse_model::chat::ToolCallState;
use gatehouse_model::grant::AccessClass;
use gatehouse_model::provider::{ModelChoice, ProviderApi};
use gatehouse_model::server_catalog::ResultView;
use gatehouse_model::{ApprovalId, BoxFuture, CallId, ConversationId, ServerId, UserError};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::providers::ProviderEndpoint;

/// Which tools a conversation has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolScope {
    pub conversation: ConversationId,
    /// All that are on where absent.
    pub servers: Option<Vec<ServerId>>,
    /// Whether the model searches for tools instead of getting all of their definitions (TOOL-7).
    pub tool_search: bool,
}

/// How a tool is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolLabel {
    /// Display title; the name where there is none.
    pub title: String,
    /// Name of its server; absent for tool search.
    pub server: Option<String>,
    pub class: Option<AccessClass>,
}

/// A tool that a model gets.
#[derive(Clone, Debug)]
pub struct ConversationTool {
    /// The name that clients use.
    pub exposed_name: String,
    /// The MCP tool object with that name.
    pub definition: Box<RawValue>,
    pub facts: ToolLabel,
}

/// What a model is told of the tools.
#[derive(Clone, Debug, Default)]
pub struct ConversationTools {
    pub listed: Vec<ConversationTool>,
    /// How servers want their tools to be used.
    pub instructions: Vec<ServerInstructions>,
}

#[derive(Clone, Debug)]
pub struct ServerInstructions {
    /// Name of the server.
    pub server: String,
    /// Cleaned of invisible characters.
    pub text: String,
}

/// What a call is for.
#[derive(Clone, Debug)]
pub struct CallTarget {
    pub facts: ToolLabel,
    /// The definition of the tool as its server gave it; absent for an unknown tool and for tool search.
    pub definition: Option<Box<RawValue>>,
    /// The arguments for that tool.
    pub arguments: Box<RawValue>,
    /// The arguments that the model wrote as JSON text, secrets masked.
    pub shown_arguments: String,
}

/// A call of a tool.
pub struct ToolRun {
    pub scope: ToolScope,
    /// The name that clients use.
    pub exposed_name: String,
    /// Byte for byte.
    pub arguments: Box<RawValue>,
    pub report: CallReport,
    pub cancel: CancellationToken,
}

/// Receives the stages of a call while it runs.
pub type CallReport = Arc<dyn Fn(CallStage) + Send + Sync>;

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallStage {
    /// It has its id.
    Began(CallId),
    /// An approval request waits for the user.
    Waiting(ApprovalId),
    /// It waits for the user no longer.
    Running,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct ToolCallEnd {
    /// One of the states of calls that have ended.
    pub state: ToolCallState,
    /// The MCP result, without the server's secrets. An error is a result with `isError`.
    pub result: Box<RawValue>,
    /// The same as it is shown, with the record of the call and what decided.
    pub view: ResultView,
}

/// The tools of conversations. Each call is judged, put to the user if no rule decides, and recorded.
pub trait ToolRunner: Send + Sync {
    /// The tools of a conversation now.
    fn tools<'a>(&'a self, scope: &'a ToolScope) -> BoxFuture<'a, ConversationTools>;

    /// What a call with this name and these arguments is for.
    fn target(&self, scope: &ToolScope, exposed_name: &str, arguments: &RawValue) -> CallTarget;

    /// Runs a call to its end, however long the user takes to decide.
    fn run(&self, run: ToolRun) -> BoxFuture<'static, ToolCallEnd>;

    /// A conversation was removed: what was allowed for it ends.
    fn conversation_ended(&self, conversation: &ConversationId);
}

/// Where the models of conversations are.
pub trait ModelSource: Send + Sync {
    /// Where a model is reached, and what it is called: the name of its provider and its id.
    fn endpoint<'a>(
        &'a self,
        model: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<(ProviderEndpoint, String), UserError>>;

    /// The wire format of a model's provider; `None` if the provider isn't there any more.
    fn api<'a>(&'a self, model: &'a ModelChoice) -> BoxFuture<'a, Option<ProviderApi>>;
}
