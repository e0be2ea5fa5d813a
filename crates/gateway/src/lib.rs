//! The gateway that AI clients connect to: the MCP endpoint on loopback, which serves both protocol families at
//! one address, and the list of clients that may use it.
//!
//! The gateway authenticates clients and speaks their protocol. Permissions are evaluated behind [`ToolDoor`],
//! which is the only way from here to a tool, a resource or a prompt. The gateway only listens on loopback and
//! never reads a body before it has verified the token. It forwards arguments unchanged, never reserializes
//! results, and logs neither.

mod abilities;
mod calls;
mod changed;
mod clients;
mod connection_limits;
mod connections;
mod door;
mod doorstep;
mod envelope;
mod errands;
mod error;
mod event_log;
mod fault;
mod gateway;
mod inquiries;
mod intake;
mod introduction;
mod kept_end;
mod mirror;
mod pages;
mod reply;
mod revision;
mod rounds;
pub mod seen;
mod sessions;
mod splice;
mod stateful;
mod stateless;
mod subscriptions;
mod token;
mod tool_list;
mod watches;

pub use clients::ClientBook;
pub use door::ToolDoor;
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayDeps, GatewayParts};
