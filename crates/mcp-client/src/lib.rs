//! One connection to one MCP server: transports, lifecycle, requests and lists.
//!
//! [`connect`] opens a connection; [`ServerConnection`] is the interface that actors and calls use,
//! whatever is behind it. Params and results pass through as raw JSON. What a connection needs of
//! this machine (processes, resolved settings) comes from a [`ServerHost`].
//!
//! This crate never starts a server's process (its schema workers are its only children), never reads
//! a secret store, never retries a request, and never decides whether a call may run. It is the only
//! user of rmcp in the product.

mod bounds;
mod connection;
mod error;
mod forwarded_notification;
mod host;
pub mod json;
mod limit;
pub mod lists;
mod redact;
mod request;
pub mod schema_check;
mod server_connection;
mod server_requests;
pub mod worker_process;

pub use connection::{ConnectDeps, ConnectSpec, Connection, Handshake, Inbound, LifecycleHint, connect};
pub use error::classification::classify_network_error;
pub use error::{
    CloseCause, CloseReason, ConnectError, NetworkError, RequestError, UpstreamError, UpstreamErrorKind,
};
pub use forwarded_notification::{ForwardedNotification, NotificationKind};
pub use host::{
    InputWriter, OutputReader, PreparedProcess, ProcessExit, ServerHost, ServerProcess, StartedProcess,
};
pub use limit::CallLimit;
pub use redact::Redactor;
pub use request::{
    CallingClient, CancelReason, Progress, ProgressSink, RequestParams, RpcOutcome, UpstreamRequest, WireTap,
};
pub use server_connection::{ConnectionEnd, ServerConnection};
pub use server_requests::{
    ELICITATION_CREATE, FallbackHandler, ROOTS_LIST, Responder, SAMPLING_CREATE_MESSAGE, ServerRequest,
    ServerRequestHandler, ServerRequestResult, form_schema_check, handle_server_request, is_sampling_result,
    roots_result,
};
