//! The gateway that AI clients connect to: the MCP endpoint on loopback, which serves both protocol families at
//! one address, and the list of clients that may use it.
//!
//! The gateway authenticates clients and speaks their protocol. Permissions are evaluated behind [`ToolService`],
//! which is the only way from here to a tool, a resource or a prompt. The gateway only listens on loopback and
//! never reads a body before it has verified the token. It forwards arguments unchanged, never reserializes
//! results, and logs neither.

mod calls;
mod changed_lists;
mod client_capabilities;
mod clients;
mod connection_limits;
mod connections;
mod envelope;
mod error;
mod event_log;
mod gateway;
mod http_handler;
mod http_response;
mod initialize;
mod input_required;
mod kept_end;
mod mcp_headers;
mod pagination;
pub mod peer_process;
mod protocol_compat;
mod request_guard;
mod resource_subscriptions;
mod revision;
mod rpc_error;
mod server_requests;
mod service_request;
mod sessions;
mod stateful;
mod stateless;
mod subscriptions;
mod token;
mod tool_list;
mod tool_service;

pub use clients::ClientRegistry;
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayDeps, GatewayServices};
pub use tool_service::ToolService;
