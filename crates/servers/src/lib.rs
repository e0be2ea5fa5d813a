//! Upstream MCP servers: one actor per server, with its connection, its child process and its lists
//! of tools, resources and prompts.
//!
//! [`ServerManager`] owns the actors; other crates read and call a server through [`ServerHandle`].
//! Params and results pass through as raw JSON. This crate doesn't know about windows, doesn't
//! decide whether a call may run (the caller has consulted the policy before), and doesn't persist
//! settings.

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
