//! MCP as clients speak it, in both families of revisions: parses a message, serves it, and returns its response.
//!
//! Knows HTTP headers and status codes, but no connection. Never reserializes arguments or results, and reaches a
//! tool, a resource or a prompt only through [`crate::tool_service::ToolService`].

pub(crate) mod accept_header;
pub(crate) mod adapted_tools;
pub(crate) mod calls;
pub(crate) mod catalog_lists;
pub(crate) mod dispatch;
pub(crate) mod envelope;
pub(crate) mod http_sse;
pub(crate) mod initialize;
pub(crate) mod input_required;
pub(crate) mod mcp_headers;
pub(crate) mod pagination;
pub(crate) mod protocol_compat;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod rpc_error;
pub(crate) mod service_request;
pub(crate) mod session_resumption;
pub(crate) mod session_roots;
pub(crate) mod single_header;
pub(crate) mod state;
pub(crate) mod stateful;
pub(crate) mod stateless;
pub(crate) mod subscriptions;
pub(crate) mod tool_list;
pub(crate) mod withheld;
