//! The REST tool API (GATE-6), for scripts and for agents that don't speak MCP: the tools of a client in the format of its
//! model provider, and one call of a tool, as the provider's model wrote it.
//!
//! It is another way to write what [`crate::protocol`] reads: the same tokens, the same lists, and a call enters the same
//! pipeline through [`crate::tool_service::ToolService`]. Requests are stateless, so a server's requests during a call go to
//! the user. Must never call a tool in another way, change arguments, or answer what the client may not see.

pub(crate) mod endpoint;
pub(crate) mod exchange;
pub(crate) mod openapi;
pub(crate) mod problem;
mod query;
pub(crate) mod tool_call;
pub(crate) mod tool_list;
