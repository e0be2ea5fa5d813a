//! Upstream MCP servers: one actor per server, with its connection, its child process and its lists
//! of tools, resources and prompts.
//!
//! [`ServerManager`] owns the actors; other crates read and call a server through [`ServerHandle`].
//! Params and results pass through as raw JSON. This crate doesn't know about windows, doesn't
//! decide whether a call may run (the caller has consulted the policy before), and doesn't persist
//! settings.

mod actor;
mod bounds;
mod builtin;
mod child;
mod connection;
mod environment;
mod error_tally;
mod guard;
mod handle;
mod health;
mod helper_process;
mod json;
mod lists;
mod managed_policy;
mod manager;
mod retry;
mod rpc;
mod schema_check;
mod server_requests;
mod transition;

pub use actor::registry::ResourceUpdate;
pub use connection::error::{ConnectError, NetworkError, RequestError};
pub use connection::redact::Redactor;
pub use handle::{CallError, ServerHandle, UpstreamRequest};
pub use helper_process::run_helper_if_requested;
pub use lists::{ServerLists, ToolDefinition};
pub use managed_policy::PolicyFile;
pub use manager::{ServerDeps, ServerManager, ServerSnapshot, ServerTestResult};
pub use rpc::{Progress, ProgressSink, RequestParams, RpcOutcome};
pub use schema_check::{SchemaCheck, SchemaChecker, SchemaError};
pub use server_requests::{
    ELICITATION_CREATE, ROOTS_LIST, Responder, SAMPLING_CREATE_MESSAGE, ServerRequest, ServerRequestHandler,
    ServerRequestResult, client_capabilities, form_schema_check, handle_server_request, roots_result,
};
