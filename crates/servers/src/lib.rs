//! Upstream MCP servers: one actor and state machine per server, its child processes and their
//! environment, the managed policy, and the lists that a server offers.
//!
//! [`ServerManager`] owns the actors; other crates read and call a server through [`ServerHandle`].
//! Connections are made by `mcp-client`; built-in servers are in `builtin-servers`. Params and results
//! pass through as raw JSON. This crate doesn't know about windows, doesn't decide whether a call may
//! run (the caller has consulted the policy before), and doesn't persist settings.

mod actor;
mod environment;
mod error_tally;
mod handle;
mod health;
mod helper_process;
mod host;
mod icons;
mod managed_policy;
mod manager;
mod processes;
mod retry;
mod second_connection;
mod shared;
#[cfg(test)]
mod tests;
mod transition;

pub use actor::registry::ServerNotification;
pub use environment::ProgramLookup;
pub use gatehouse_mcp_client::lists::{CacheHints, ListKind, ServerLists, ToolDefinition};
pub use gatehouse_mcp_client::schema_check::{SchemaCheck, SchemaChecker, SchemaError};
pub use gatehouse_mcp_client::{
    CallingClient, CancelReason, ELICITATION_CREATE, ForwardedNotification, NotificationKind, Progress,
    ProgressSink, ROOTS_LIST, Redactor, RequestParams, Responder, RpcOutcome, SAMPLING_CREATE_MESSAGE,
    ServerRequest, ServerRequestHandler, ServerRequestResult, UpstreamError, UpstreamErrorKind,
    UpstreamRequest, WireTap, form_schema_check, handle_server_request, is_sampling_result, roots_result,
};
pub use handle::ServerHandle;
pub use helper_process::run_helper_if_requested;
pub use icons::{IconFetcher, IconSources, restore_icon};
pub use managed_policy::PolicyFile;
pub use manager::{LastState, ListPosition, ServerDeps, ServerManager, ServerSnapshot, ServerTestResult};
