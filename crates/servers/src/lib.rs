//! The upstream servers: one actor for each, its connection, its child process, its lists.
//!
//! [`ServerManager`] keeps them, [`ServerHandle`] is how others see and call one. Params and results
//! pass as raw JSON. Nothing here knows a window, decides whether a call may run, or keeps a
//! setting on disk; whoever calls has asked the policy before.

mod actor;
mod asks;
mod bounds;
mod builtin;
mod child;
mod connection;
mod enterprise;
mod environment;
mod error_tally;
mod guard;
mod handle;
mod health;
mod helper;
mod json;
mod lists;
mod manager;
mod outgoing;
mod retry;
mod schema_check;
mod transition;

pub use actor::roster::Updated;
pub use asks::{
    ELICIT, ROOTS, Respond, Responder, SAMPLE, ServerAnswer, ServerRequest, answered, client_capabilities,
    form_check, roots_of,
};
pub use connection::error::{ConnectError, NetworkFault, RequestError};
pub use connection::redact::Redactor;
pub use enterprise::PolicyFile;
pub use handle::{CallError, ServerHandle, UpstreamCall};
pub use helper::run_helper_if_asked;
pub use lists::{Lists, ToolDefinition};
pub use manager::{ServerDeps, ServerManager, ServerSnapshot, Tried};
pub use outgoing::{OutgoingParams, Progress, ProgressSink, Reply};
pub use schema_check::{SchemaCheck, SchemaChecker, SchemaFault};
