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

use crate::event_log::EventReader;
use crate::fault::Fault;

#[derive(Debug)]
pub(crate) enum ReplyBody {
    /// A body that is known in full.
    Whole(Parts),
    /// An SSE stream.
    Events(Pin<Box<EventReader>>),
}

/// Up to three pieces of one message, written one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts([Bytes; 3]);

impl Parts {
    /// Results up to this size in bytes are copied into one piece, which is cheaper than writing three.
    const SMALL: usize = 16 * 1024;

    /// A message of one piece.
    pub(crate) fn one(bytes: Bytes) -> Self {
        Self([bytes, Bytes::new(), Bytes::new()])
    }

    /// A JSON-RPC response: the id byte for byte, then `result` or `error` with its raw value.
    pub(crate) fn answer(id: &str, value: &Answer) -> Self {
        let (member, head, rest) = match value {
            Answer::Result { head, rest } => (r#","result":"#, *head, rest),
            Answer::Error(rest) => (r#","error":"#, "", rest),
        };
        let small = rest.len() <= Self::SMALL;
        let mut first =
            BytesMut::with_capacity(64 + id.len() + head.len() + if small { rest.len() } else { 0 });
        first.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        first.extend_from_slice(id.as_bytes());
        first.extend_from_slice(member.as_bytes());
        first.extend_from_slice(head.as_bytes());
        if small {
            first.extend_from_slice(rest);
            first.extend_from_slice(b"}");
            Self::one(first.freeze())
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
pub(crate) enum Answer {
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

impl Answer {
    /// A result that is complete in itself.
    pub(crate) fn result(text: impl Into<Bytes>) -> Self {
        Self::Result { head: "", rest: text.into() }
    }
}

impl From<&Fault> for Answer {
    fn from(fault: &Fault) -> Self {
        Self::Error(fault.object().into())
    }
}

impl Body for ReplyBody {
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
pub(crate) fn json(status: StatusCode, parts: Parts) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(parts));
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
pub(crate) fn fault(fault: &Fault) -> Response<ReplyBody> {
    let mut response = json(fault.status(), Parts::one(fault.body()));
    if ends_connection(fault.status()) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if fault.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A status without a body.
pub(crate) fn empty(status: StatusCode) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(Parts::default()));
    *response.status_mut() = status;
    response
}

/// 405 with the `Allow` header.
pub(crate) fn method_not_allowed(allowed: &'static str) -> Response<ReplyBody> {
    let refused = Fault::new(StatusCode::METHOD_NOT_ALLOWED, -32600, "This HTTP method is not served here.");
    let mut response = fault(&refused);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// An SSE response.
pub(crate) fn events(reader: EventReader) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Events(Box::pin(reader)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Adds the `Mcp-Session-Id` header.
pub(crate) fn with_session(mut response: Response<ReplyBody>, session: &str) -> Response<ReplyBody> {
    if let Ok(value) = HeaderValue::from_str(session) {
        response.headers_mut().insert(SESSION_ID, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &Parts) -> String {
        parts.pieces().map(|piece| std::str::from_utf8(piece).unwrap()).collect()
    }

    #[test]
    fn answers_carry_id_and_value_unchanged() {
        let result = Answer::Result {
            head: r#"{"resultType":"complete","#,
            rest: Bytes::from_static(br#""n":1e400}"#),
        };
        assert_eq!(
            text(&Parts::answer(r#""\u0041""#, &result)),
            r#"{"jsonrpc":"2.0","id":"\u0041","result":{"resultType":"complete","n":1e400}}"#
        );
        let error = Answer::Error(Bytes::from_static(br#"{"code":-1,"message":""}"#));
        assert_eq!(
            text(&Parts::answer("7", &error)),
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":""}}"#
        );
    }

    #[test]
    fn large_results_are_not_copied() {
        let large = Bytes::from(format!("[{}1]", "1,".repeat(20_000)));
        let parts = Parts::answer("1", &Answer::result(large.clone()));
        assert_eq!(parts.pieces().nth(1).unwrap().as_ptr(), large.as_ptr());
        assert_eq!(
            text(&parts),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{}}}"#, std::str::from_utf8(&large).unwrap())
        );
        assert_eq!(parts.len(), text(&parts).len());
    }
}
