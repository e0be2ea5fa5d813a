//! The gateway that AI clients connect to: the MCP endpoint on loopback, which serves both protocol families at
//! one address, the REST tool API beside it, and the list of clients that may use them.
//!
//! The gateway authenticates clients and speaks their protocol. Permissions are evaluated behind [`ToolService`],
//! which is the only way from here to a tool, a resource or a prompt. An unknown client can ask for access by OAuth, and
//! the user is asked. The gateway only listens on loopback and
//! never reads a message before it has verified the token. It forwards arguments unchanged, never reserializes
//! results, and logs neither.

mod authorization;
mod clients;
mod error;
mod gateway;
mod http;
mod protocol;
mod rest;
mod revision;
mod session;
mod tool_service;

pub use authorization::ClientDocuments;
pub use clients::bridge_bindings::BINDING_LIFETIME;
pub use clients::registry::ClientRegistry;
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayDeps, GatewayServices};
pub use http::allowed_hosts::AllowedHosts;
pub use http::peer_process;
pub use tool_service::ToolService;
