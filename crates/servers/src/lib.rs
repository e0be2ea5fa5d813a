//! Gatehouse's side toward upstream MCP servers: one actor per server, its connection, its child
//! process.

mod child;
mod connection;
mod environment;
mod guard;
pub mod outgoing;

pub use connection::error::{ConnectError, NetworkFault, RequestError};
pub use guard::run_guard_if_asked;
pub use outgoing::{OutgoingParams, Progress, ProgressSink, Reply};
