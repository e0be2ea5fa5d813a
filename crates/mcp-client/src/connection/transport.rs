//! The transports. `stdio`, `sse` and `websocket` carry lines ([`line`]); `streamable_http` has
//! requests and responses of its own. A transport passes messages on and doesn't interpret params or
//! results.

pub(super) mod line;
mod line_io;
pub(super) mod remote_line;
mod rmcp_line;
pub(super) mod sse;
mod stderr_log;
pub(super) mod stdio;
pub(super) mod streamable_http;
pub(super) mod websocket;
