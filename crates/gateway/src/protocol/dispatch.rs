//! Parses a message that a client posted, and passes it to the handlers of the family of revisions that it belongs
//! to.

use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::Peer;
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::clients::client_state::ClientState;
use crate::protocol::accept_header::Accepts;
use crate::protocol::envelope::{self, RpcMessage};
use crate::protocol::mcp_headers;
use crate::protocol::request::{HandlerOutcome, RpcRequest};
use crate::protocol::response::HandlerResponse;
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::state::ProtocolState;
use crate::protocol::stateful;
use crate::protocol::stateless;

/// A message that a known client posted.
pub(crate) struct PostedMessage<'a> {
    pub(crate) client: &'a Arc<ClientState>,
    /// Whether this is the client's first request since Gatehouse started.
    pub(crate) is_first_request: bool,
    /// The peer process of the connection.
    pub(crate) peer: &'a Peer,
    pub(crate) headers: &'a HeaderMap,
    /// The response types that the client accepts.
    pub(crate) accepts: Accepts,
    pub(crate) body: &'a [u8],
}

/// Serves one message.
pub(crate) async fn dispatch(
    state: &Arc<ProtocolState>,
    message: PostedMessage<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    match handle(state, &message)? {
        HandlerOutcome::Done(response) => Ok(response),
        HandlerOutcome::Call(exchange) => Ok(exchange.respond().await),
    }
}

fn handle(state: &Arc<ProtocolState>, message: &PostedMessage<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    let PostedMessage { client, is_first_request, peer, headers, accepts, body } = *message;
    let (id, method, params) = match envelope::parse(body)? {
        RpcMessage::Response(response) => {
            return stateful::handle_response(state, client, headers, response).map(HandlerOutcome::Done);
        }
        RpcMessage::Notification { method, params } => {
            if mcp_headers::is_stateless(headers) {
                return Ok(HandlerOutcome::Done(HandlerResponse::empty(StatusCode::ACCEPTED)));
            }
            return stateful::handle_notification(state, client, headers, &method, &params)
                .map(HandlerOutcome::Done);
        }
        RpcMessage::Request { id, method, params } => (id, method, params),
    };
    let handle_request = || {
        let meta = params.get("_meta").map(Members::of).transpose().map_err(|error| {
            if error.to_string().contains("appears twice") {
                HttpRpcError::invalid_request(format!("In _meta {error}"))
            } else {
                HttpRpcError::invalid_params("The member `_meta` must be an object.")
            }
        })?;
        let request = RpcRequest {
            state,
            client,
            is_first_request,
            peer,
            headers,
            accepts,
            id,
            method: &method,
            params: &params,
            meta: meta.as_ref(),
        };
        if method == "initialize" {
            return stateful::initialize(&request).map(HandlerOutcome::Done);
        }
        let names_version =
            meta.as_ref().is_some_and(|meta| meta.get(stateless::META_PROTOCOL_VERSION).is_some());
        if names_version || method == "server/discover" || mcp_headers::is_stateless(headers) {
            stateless::handle_request(&request)
        } else {
            stateful::handle_request(&request)
        }
    };
    handle_request().map_err(|rpc_error| rpc_error.with_id(id))
}
