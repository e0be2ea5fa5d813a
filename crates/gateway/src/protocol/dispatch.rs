//! Parses a message that a client posted, and passes it to the handlers of the family of revisions that it belongs
//! to.

use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::ServerSelection;
use hyper::StatusCode;

use crate::protocol::envelope::{self, RpcMessage};
use crate::protocol::mcp_headers;
use crate::protocol::request::{HandlerOutcome, PostedMessage, RpcRequest};
use crate::protocol::response::HandlerResponse;
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::session_resumption;
use crate::protocol::state::ProtocolState;
use crate::protocol::stateful;
use crate::protocol::stateless;
use crate::revision::Revision;

/// Serves one message.
pub(crate) async fn dispatch(
    state: &Arc<ProtocolState>,
    posted: PostedMessage<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    let message = envelope::parse(posted.body)?;
    if !mcp_headers::is_stateless(posted.origin.headers) {
        session_resumption::resume(state, &posted.origin, posted.peer).await;
    }
    if let (ServerSelection::One(server), RpcMessage::Request { id, .. }) = (posted.origin.servers, &message)
    {
        let cancel = posted.origin.client.disconnected.child_token();
        let first_lists = state.tool_service.await_first_lists(server.clone(), cancel);
        first_lists.await.map_err(|reason| HttpRpcError::new(StatusCode::OK, -32603, reason).with_id(id))?;
    }
    match handle(state, posted, message)? {
        HandlerOutcome::Done(response) => Ok(response),
        HandlerOutcome::Call(exchange) => Ok(exchange.respond().await),
    }
}

fn handle(
    state: &Arc<ProtocolState>,
    posted: PostedMessage<'_>,
    message: RpcMessage<'_>,
) -> Result<HandlerOutcome, HttpRpcError> {
    let PostedMessage { origin, is_first_request, peer, .. } = posted;
    // HTTP+SSE exists only in the revisions with sessions.
    let is_stateless = origin.sse.is_none() && mcp_headers::is_stateless(origin.headers);
    let (id, method, params) = match message {
        RpcMessage::Response(response) => {
            return stateful::handle_response(state, &origin, response).map(HandlerOutcome::Done);
        }
        RpcMessage::Notification { method, params } => {
            if is_stateless {
                return Ok(HandlerOutcome::Done(HandlerResponse::empty(StatusCode::ACCEPTED)));
            }
            return stateful::handle_notification(state, &origin, &method, &params).map(HandlerOutcome::Done);
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
            origin,
            is_first_request,
            peer,
            id,
            method: &method,
            params: &params,
            meta: meta.as_ref(),
        };
        let names_version =
            meta.as_ref().is_some_and(|meta| meta.get(stateless::META_PROTOCOL_VERSION).is_some());
        let is_stateless = is_stateless || origin.sse.is_none() && names_version;
        match &*method {
            "initialize" if is_stateless => {
                Err(HttpRpcError::unknown_method("initialize", Revision::STATELESS))
            }
            "initialize" => stateful::initialize(&request).map(HandlerOutcome::Done),
            "server/discover" if origin.sse.is_none() => stateless::handle_request(&request),
            _ if is_stateless => stateless::handle_request(&request),
            _ => stateful::handle_request(&request),
        }
    };
    handle_request().map_err(|rpc_error| rpc_error.with_id(id))
}
