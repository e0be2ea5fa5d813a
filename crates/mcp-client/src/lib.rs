//! One connection to one MCP server: transports, lifecycle, requests and lists.
//!
//! [`connect`] opens a connection; [`ServerConnection`] is the interface that actors and calls use,
//! whatever is behind it. Params and results pass through as raw JSON. What a connection needs of
//! this machine (processes, resolved settings) comes from a [`ServerHost`].
//!
//! This crate never starts a server's process (its schema workers are its only children), never reads
//! a secret store, never retries a request, and never decides whether a call may run. It is the only user of rmcp in the product.

mod bounds;
mod connection;
mod host;
pub mod json;
pub mod lists;
mod request;
pub mod schema_check;
mod server_connection;
mod server_requests;
mod upstream_error;

pub use connection::close::{CloseCause, CloseReason};
pub use connection::error::{ConnectError, NetworkError, RequestError};
pub use connection::error_classification::classify_network_error;
pub use connection::limit::CallLimit;
pub use connection::redact::Redactor;
pub use connection::{ConnectDeps, ConnectSpec, Connection, Handshake, Inbound, LifecycleHint, connect};
pub use host::{
    InputWriter, OutputReader, PreparedProcess, ProcessExit, ServerHost, ServerProcess, StartedProcess,
};
pub use request::{Progress, ProgressSink, RequestParams, RpcOutcome, UpstreamRequest};
pub use server_connection::{ConnectionEnd, ServerConnection};
pub use server_requests::{
    ELICITATION_CREATE, FallbackHandler, ROOTS_LIST, Responder, SAMPLING_CREATE_MESSAGE, ServerRequest,
    ServerRequestHandler, ServerRequestResult, form_schema_check, handle_server_request, roots_result,
};
pub use upstream_error::{UpstreamError, UpstreamErrorKind, user_message};
