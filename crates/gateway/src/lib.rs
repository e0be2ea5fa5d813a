//! What AI clients connect to: the MCP endpoint on loopback, both families of revisions at one address, and the
//! list of clients that may use it.
//!
//! The gateway knows who calls and how to talk to them; what may run is decided behind the [`ToolDoor`], which
//! is the only way from here to a tool, a resource or a prompt. It never listens on anything but loopback, never reads a body before it
//! knows the token, never parses or rewrites arguments and results, and never logs either.

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
