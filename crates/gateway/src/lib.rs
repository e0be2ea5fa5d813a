//! The gateway that AI clients connect to: the MCP endpoint on loopback, which serves both protocol families at
//! one address, and the list of clients that may use it.
//!
//! The gateway authenticates clients and speaks their protocol. Permissions are evaluated behind [`ToolService`],
//! which is the only way from here to a tool, a resource or a prompt. The gateway only listens on loopback and
//! never reads a body before it has verified the token. It forwards arguments unchanged, never reserializes
//! results, and logs neither.

mod clients {
    //! The clients that may connect: their sealed list, their tokens, and what they say about themselves.
    //! Knows no protocol and no connection.

    pub(crate) mod capabilities;
    pub(crate) mod registry;
    pub(crate) mod token;
}
mod error;
mod gateway;
mod http {
    //! HTTP/1.1 on loopback: connections and their limits, the request guard, responses, and the peer process of
    //! a connection. Never reads a body before the token was verified.

    pub(crate) mod connection_limits;
    pub(crate) mod connections;
    pub(crate) mod handler;
    pub mod peer_process;
    pub(crate) mod request_guard;
    pub(crate) mod response;
}
mod protocol {
    //! MCP as clients speak it, in both protocol families. Never reserializes arguments or results.

    pub(crate) mod calls;
    pub(crate) mod envelope;
    pub(crate) mod initialize;
    pub(crate) mod input_required;
    pub(crate) mod mcp_headers;
    pub(crate) mod pagination;
    pub(crate) mod protocol_compat;
    pub(crate) mod rpc_error;
    pub(crate) mod service_request;
    pub(crate) mod stateful;
    pub(crate) mod stateless;
    pub(crate) mod subscriptions;
    pub(crate) mod tool_list;
}
mod revision;
mod session {
    //! State that outlives one request: sessions, event logs that can be resumed, and subscriptions.

    pub(crate) mod changed_lists;
    pub(crate) mod event_log;
    pub(crate) mod kept_end;
    pub(crate) mod resource_subscriptions;
    pub(crate) mod server_requests;
    pub(crate) mod sessions;
}
mod tool_service;

pub use clients::registry::ClientRegistry;
pub use error::GatewayError;
pub use gateway::{Gateway, GatewayDeps, GatewayServices};
pub use http::peer_process;
pub use tool_service::ToolService;
