//! The upstream servers: one actor for each, its connection, its child process, its lists.
//!
//! [`ServerManager`] keeps them, [`ServerHandle`] is how others see and call one. Params and results
//! pass as raw JSON. Nothing here knows a window, decides whether a call may run, or keeps a
//! setting on disk; whoever calls has asked the policy before.

mod actor;
mod asks;
mod builtin;
mod child;
mod connection;
mod enterprise;
mod environment;
mod guard;
mod handle;
mod health;
mod json;
mod lists;
mod manager;
mod outgoing;
mod retry;
mod transition;

pub use actor::roster::Updated;
pub use asks::{
    ELICIT, ROOTS, Respond, Responder, SAMPLE, ServerAnswer, ServerRequest, answered, client_capabilities,
    form_fault, roots_of,
};
pub use connection::error::{ConnectError, NetworkFault, RequestError};
pub use connection::http::headers::param_header_fault;
pub use enterprise::PolicyFile;
pub use guard::run_guard_if_asked;
pub use handle::{CallError, ServerHandle, UpstreamCall};
pub use lists::{Lists, ToolDefinition};
pub use manager::{ServerDeps, ServerManager, ServerSnapshot, Tried};
pub use outgoing::{OutgoingParams, Progress, ProgressSink, Reply};
