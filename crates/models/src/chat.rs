//! Conversations in which a model uses tools (UI-8): a turn is a request, the streamed answer, the tool calls in it, their
//! results, the next request, and so on until the model calls no tool, at most [`MAX_ROUNDS`] times.
//!
//! What happens in a turn is decided by a state machine without I/O ([`turn`]); [`turn_driver`] carries the bytes.
//! Providers are known only through [`ModelClient`](crate::providers::ModelClient), and tools only through the
//! [`ToolRunner`] that the caller supplies: nothing here decides whether a call may run. What is saved has no secret of a
//! server in it: arguments are masked and results redacted by the runner.

mod composed_instructions;
mod conversations;
mod conversations_deps;
mod delta_batch;
mod history;
mod markdown_export;
mod model_results;
mod tool_runner;
mod turn;
mod turn_driver;

pub use conversations::Conversations;
pub use conversations_deps::ConversationsDeps;
pub use tool_runner::{
    CallReport, CallStage, CallTarget, ConversationTool, ConversationTools, ModelSource, ServerInstructions,
    ToolCallEnd, ToolLabel, ToolRun, ToolRunner, ToolScope,
};

/// Most requests to the model in one turn.
pub const MAX_ROUNDS: u32 = 25;
