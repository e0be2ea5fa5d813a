//! HTTP+SSE, the transport of 2024-11-05: a GET opens a stream of events that begins with the address to which the
//! client posts its messages, and all responses come on that stream.
//!
//! Only the transport differs: a message is served like any other of the revisions with sessions. The session ends
//! with its stream.

use std::sync::{Arc, OnceLock};

use hyper::StatusCode;

use crate::clients::token;
use crate::protocol::accept_header::Accepts;
use crate::protocol::dispatch;
use crate::protocol::request::{PostedMessage, RequestOrigin};
use crate::protocol::response::{HandlerResponse, MessageChunks, ResponseContent};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::state::ProtocolState;
use crate::session::event_log::{EventLog, endpoint_event};
use crate::session::sse_connections::SseConnection;

/// Opens a stream. Messages for it are posted to `messages_path`.
pub(crate) fn open(
    state: &Arc<ProtocolState>,
    origin: &RequestOrigin<'_>,
    messages_path: &str,
) -> Result<HandlerResponse, HttpRpcError> {
    if !origin.accepts.events {
        return Err(HttpRpcError::events_not_accepted());
    }
    let random = token::random::<16>()
        .map_err(|error| HttpRpcError::new(StatusCode::INTERNAL_SERVER_ERROR, -32603, error.to_string()))?;
    let id = format!("sse-{}", hex::encode(random));
    let connection = Arc::new(SseConnection {
        log: EventLog::shared(
            endpoint_event(&format!("{messages_path}?sessionId={id}")),
            &state.retained_bytes,
            &origin.client.entry.id,
        ),
        id,
        client: Arc::clone(origin.client),
        narrowing: origin.viewer.narrowing.clone(),
        servers: origin.servers.clone(),
        session: OnceLock::new(),
    });
    state.sse_connections.insert(&connection);
    if origin.client.disconnected.is_cancelled() {
        connection.log.end();
    }
    let weak = Arc::downgrade(state);
    let reader = connection.log.read().on_end(move || {
        connection.log.end();
        let Some(state) = weak.upgrade() else { return };
        state.sse_connections.remove(&connection.id);
        if let Some(session) = connection.session.get() {
            state.end_session(session);
        }
    });
    Ok(HandlerResponse::events(reader))
}

/// Serves one message. Its response, if it has one, goes to the stream.
pub(crate) async fn post(
    state: &Arc<ProtocolState>,
    posted: PostedMessage<'_>,
    connection: &Arc<SseConnection>,
) -> Result<HandlerResponse, HttpRpcError> {
    // The response goes to the stream, whatever the POST accepts.
    let accepts = Accepts { json: true, events: true, prefers_events: false };
    let origin = RequestOrigin { sse: Some(connection), accepts, ..posted.origin };
    let message = match dispatch::dispatch(state, PostedMessage { origin, ..posted }).await {
        Ok(HandlerResponse { content: ResponseContent::Message { message, .. }, .. }) => message,
        Ok(HandlerResponse { content: ResponseContent::Empty(_) | ResponseContent::Events(_), .. }) => {
            return Ok(HandlerResponse::empty(StatusCode::ACCEPTED));
        }
        Err(rpc_error) if rpc_error.has_id() => MessageChunks::single(rpc_error.body()),
        Err(rpc_error) => return Err(rpc_error),
    };
    connection.log.deliver(message.pieces()).await;
    Ok(HandlerResponse::empty(StatusCode::ACCEPTED))
}
