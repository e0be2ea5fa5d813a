//! A request with its envelope parsed, as the handlers of both families get it, and what they return.

use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::{Peer, ServerSelection, Viewer};
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::clients::client_state::ClientState;
use crate::protocol::accept_header::Accepts;
use crate::protocol::calls::CallExchange;
use crate::protocol::response::{HandlerResponse, MessageChunks, RpcResponse};
use crate::protocol::state::ProtocolState;
use crate::session::event_log::EventLog;
use crate::session::sse_connections::SseConnection;

/// A message that a known client posted.
#[derive(Clone, Copy)]
pub(crate) struct PostedMessage<'a> {
    pub(crate) origin: RequestOrigin<'a>,
    /// Whether this is the client's first request since Gatehouse started.
    pub(crate) is_first_request: bool,
    /// The peer process of the connection.
    pub(crate) peer: &'a Peer,
    pub(crate) body: &'a [u8],
}

/// A request of a known client, with its envelope parsed.
pub(crate) struct RpcRequest<'a> {
    pub(crate) state: &'a Arc<ProtocolState>,
    pub(crate) origin: RequestOrigin<'a>,
    /// Whether this is the client's first request since Gatehouse started.
    pub(crate) is_first_request: bool,
    /// The peer process of the connection.
    pub(crate) peer: &'a Peer,
    /// The request's id, byte for byte.
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Members<'a>,
    /// `params._meta`
    pub(crate) meta: Option<&'a Members<'a>>,
}

/// Where a message comes from.
#[derive(Clone, Copy)]
pub(crate) struct RequestOrigin<'a> {
    /// The client that sent the message.
    pub(crate) client: &'a Arc<ClientState>,
    /// The client as it sees the catalog with this message.
    pub(crate) viewer: &'a Viewer,
    /// The servers of the endpoint to which it was sent.
    pub(crate) servers: &'a ServerSelection,
    pub(crate) headers: &'a HeaderMap,
    /// The response types that the client accepts.
    pub(crate) accepts: Accepts,
    /// The connection that it belongs to, if it was sent over HTTP+SSE.
    pub(crate) sse: Option<&'a Arc<SseConnection>>,
}

impl RpcRequest<'_> {
    /// A response that is complete, as JSON or, if the client prefers it, as a stream.
    pub(crate) fn response(&self, response: &RpcResponse) -> HandlerResponse {
        let message = MessageChunks::response(self.id, response);
        if !self.origin.accepts.prefers_events {
            return HandlerResponse::message(StatusCode::OK, message);
        }
        let log = EventLog::transient();
        log.finish(message.pieces());
        HandlerResponse::events(log.read())
    }
}

/// How a request continues after its handler returned.
pub(crate) enum HandlerOutcome {
    /// The response is complete.
    Done(HandlerResponse),
    /// A call is running.
    Call(Box<CallExchange>),
}
