//! MCP and JSON-RPC on raw bytes, shared by the client side and the server side of Gatehouse.
//!
//! No I/O. Every reader of this crate rejects a JSON object with a duplicate key, however it is escaped,
//! since two programs could read two different values from it.

pub mod envelope;
pub mod headers;
pub mod json;
pub mod raw;
pub mod sse;
pub mod tasks;
pub mod uri_template;

mod keys;
mod protocol;

pub use protocol::ProtocolFamily;
