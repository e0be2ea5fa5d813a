//! The gateway that AI clients connect to: the MCP endpoint on loopback, which serves both protocol families at
//! one address, and the list of clients that may use it.
//!
//! The gateway authenticates clients and speaks their protocol. Permissions are evaluated behind [`ToolService`],
//! which is the only way from here to a tool, a resource or a prompt. The gateway only listens on loopback and
//! never reads a body before it has verified the token. It forwards arguments unchanged, never reserializes
//! results, and logs neither.

mod clients;
mod error;
mod gateway;
mod http;
mod protocol;
mod revision;
mod session;
mod tool_service;

pub use clients::registry::ClientRegistry;
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayDeps, GatewayServices};
pub use http::peer_process;
pub use tool_service::ToolService;
