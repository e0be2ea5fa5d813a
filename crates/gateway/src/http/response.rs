//! HTTP responses: a JSON body of known length, or an SSE stream.
//!
//! Large results are written from the buffer in which they arrived; only the envelope around them is new.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use gatehouse_mcp_wire::headers::SESSION_ID;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use crate::protocol::rpc_error::HttpRpcError;
use crate::session::event_log::EventReader;

#[derive(Debug)]
pub(crate) enum GatewayBody {
    /// A body that is known in full.
    Whole(MessageChunks),
    /// An SSE stream.
    Events(Pin<Box<EventReader>>),
}

/// Up to three pieces of one message, written one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageChunks([Bytes; 3]);

impl MessageChunks {
    /// Results up to this size in bytes are copied into one piece, which is cheaper than writing three.
    const COPY_LIMIT: usize = 16 * 1024;

    /// A message of one piece.
    pub(crate) fn single(bytes: Bytes) -> Self {
        Self([bytes, Bytes::new(), Bytes::new()])
    }

    /// A JSON-RPC response: the id byte for byte, then `result` or `error` with its raw value.
    pub(crate) fn response(id: &str, value: &RpcResponse) -> Self {
        let (member, head, rest) = match value {
            RpcResponse::Result { head, rest } => (r#","result":"#, *head, rest),
            RpcResponse::Error(rest) => (r#","error":"#, "", rest),
        };
        let small = rest.len() <= Self::COPY_LIMIT;
        let mut first =
            BytesMut::with_capacity(64 + id.len() + head.len() + if small { rest.len() } else { 0 });
        first.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        first.extend_from_slice(id.as_bytes());
        first.extend_from_slice(member.as_bytes());
        first.extend_from_slice(head.as_bytes());
        if small {
            first.extend_from_slice(rest);
            first.extend_from_slice(b"}");
            Self::single(first.freeze())
        } else {
            Self([first.freeze(), rest.clone(), Bytes::from_static(b"}")])
        }
    }

    /// Total length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.0.iter().map(|piece| &**piece)
    }

    fn take_next(&mut self) -> Option<Bytes> {
        self.0.iter_mut().find(|piece| !piece.is_empty()).map(std::mem::take)
    }
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(crate) enum RpcResponse {
    /// A result, in two parts that are written one after another.
    Result {
        /// Inserted bytes that come first.
        head: &'static str,
        /// The remaining bytes of the upstream's result.
        rest: Bytes,
    },
    /// A JSON-RPC error object.
    Error(Bytes),
}

impl RpcResponse {
    /// A result that is complete in itself.
    pub(crate) fn result(text: impl Into<Bytes>) -> Self {
        Self::Result { head: "", rest: text.into() }
    }
}

impl From<&HttpRpcError> for RpcResponse {
    fn from(rpc_error: &HttpRpcError) -> Self {
        Self::Error(rpc_error.object().into())
    }
}

impl Body for GatewayBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(parts) => Poll::Ready(parts.take_next().map(|piece| Ok(Frame::data(piece)))),
            Self::Events(reader) => {
                reader.as_mut().poll_next(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(parts) => parts.len() == 0,
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(parts) => SizeHint::with_exact(parts.len() as u64),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

/// A JSON response.
pub(crate) fn json(status: StatusCode, parts: MessageChunks) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Whole(parts));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
    if rpc_error.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A status without a body.
pub(crate) fn empty(status: StatusCode) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Whole(MessageChunks::default()));
    *response.status_mut() = status;
    response
}

/// 405 with the `Allow` header.
pub(crate) fn method_not_allowed(allowed: &'static str) -> Response<GatewayBody> {
    let refused =
        HttpRpcError::new(StatusCode::METHOD_NOT_ALLOWED, -32600, "This HTTP method is not served here.");
    let mut response = rpc_error(&refused);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// An SSE response.
pub(crate) fn events(reader: EventReader) -> Response<GatewayBody> {
    let mut response = Response::new(GatewayBody::Events(Box::pin(reader)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Adds the `Mcp-Session-Id` header.
pub(crate) fn with_session_id(mut response: Response<GatewayBody>, session: &str) -> Response<GatewayBody> {
    if let Ok(value) = HeaderValue::from_str(session) {
        response.headers_mut().insert(SESSION_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &MessageChunks) -> String {
        parts.pieces().map(|piece| std::str::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn preserves_id_and_value_bytes() {
        let result = RpcResponse::Result {
            head: r#"{"resultType":"complete","#,
            rest: Bytes::from_static(br#""n":1e400}"#),
        };
        assert_eq!(
            text(&MessageChunks::response(r#""\u0041""#, &result)),
            r#"{"jsonrpc":"2.0","id":"\u0041","result":{"resultType":"complete","n":1e400}}"#
        );
        let error = RpcResponse::Error(Bytes::from_static(br#"{"code":-1,"message":""}"#));
        assert_eq!(
            text(&MessageChunks::response("7", &error)),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":""}}"#
        );
    }

    #[test]
    fn does_not_copy_large_results() {
        let large = Bytes::from(format!("[{}1]", "1,".repeat(20_000)));
        let parts = MessageChunks::response("1", &RpcResponse::result(large.clone()));
        assert_eq!(parts.pieces().nth(1).unwrap().as_ptr(), large.as_ptr());
        assert_eq!(
            text(&parts),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, std::str::from_utf8(&large).unwrap())
        );
        assert_eq!(parts.len(), text(&parts).len());
    }
}
