//! HTTP responses: a JSON body of known length, or an SSE stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use gatehouse_mcp_wire::headers::SESSION_ID;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use crate::protocol::response::{HandlerResponse, MessageChunks, ResponseContent};
use crate::protocol::rpc_error::HttpRpcError;
use crate::rest::exchange::RestResponse;
use crate::session::event_log::EventReader;

#[derive(Debug)]
pub(crate) enum GatewayBody {
    /// A body that is known in full.
    Whole(MessageChunks),
    /// An SSE stream.
    Events(Pin<Box<EventReader>>),
}

impl Body for GatewayBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(message) => Poll::Ready(message.take_next().map(|piece| Ok(Frame::data(piece)))),
            Self::Events(reader) => {
                reader.as_mut().poll_next(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(message) => message.len() == 0,
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(message) => SizeHint::with_exact(message.len() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// What a handler returned, as an HTTP response.
pub(crate) fn render(response: HandlerResponse) -> Response<GatewayBody> {
    let HandlerResponse { content, opened_session } = response;
    let mut response = match content {
        ResponseContent::Empty(status) => empty(status),
        ResponseContent::Message { status, message } => json(status, message),
        ResponseContent::Events(reader) => events(reader),
    };
    if let Some(value) = opened_session.and_then(|session| HeaderValue::from_str(&session).ok()) {
        response.headers_mut().insert(SESSION_ID, value);
    }
    response
}

fn json(status: StatusCode, message: MessageChunks) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Whole(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn events(reader: EventReader) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Events(Box::pin(reader)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn empty(status: StatusCode) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Whole(MessageChunks::default()));
    *response.status_mut() = status;
    response
}

/// A response of the REST tool API.
pub(crate) fn rest(response: RestResponse) -> Response<GatewayBody> {
    let RestResponse { status, media_type, headers, body } = response;
    let has_body = !body.is_empty();
    let mut response = Response::new(GatewayBody::Whole(MessageChunks::single(body)));
    *response.status_mut() = status;
    response.headers_mut().extend(headers);
    if has_body {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    }
    if ends_connection(status) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Whether the connection is closed after an error: if it showed no valid token, or its request wasn't read
/// to the end.
fn ends_connection(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::TOO_MANY_REQUESTS
    )
}

/// An error as a JSON response.
pub(crate) fn rpc_error(rpc_error: &HttpRpcError) -> Response<GatewayBody> {
    let mut response = json(rpc_error.status(), MessageChunks::single(rpc_error.body()));
    if ends_connection(rpc_error.status()) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(challenge) = rpc_error.challenge().and_then(|text| HeaderValue::from_str(text).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// 405 with the `Allow` header.
pub(crate) fn method_not_allowed(allowed: &'static str) -> Response<GatewayBody> {
    let error =
        HttpRpcError::new(StatusCode::METHOD_NOT_ALLOWED, -32600, "This HTTP method is not served here.");
    let mut response = rpc_error(&error);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
