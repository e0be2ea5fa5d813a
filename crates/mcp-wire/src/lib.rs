//! MCP and JSON-RPC on raw bytes: what both sides of Gatehouse read and write in the same way.
//!
//! Nothing here does input or output. A JSON object whose key occurs twice, whatever escapes it is
//! spelled with, is refused by every reader of this crate, since two programs would read two different
//! values from it.

pub mod envelope;
pub mod headers;
pub mod json;
pub mod raw;
pub mod sse;
pub mod uri_template;

mod keys;
