//! What handlers return: a message, a stream of events, or a bare status.
//!
//! Large results are sent from the buffer in which they arrived; only the envelope around them is new.

use bytes::{Bytes, BytesMut};
use hyper::StatusCode;

use crate::protocol::rpc_error::HttpRpcError;
use crate::session::event_log::EventReader;

/// What a handler returns.
#[derive(Debug)]
pub(crate) struct HandlerResponse {
    pub(crate) content: ResponseContent,
    /// The id of the session that the request opened, which is sent in the `Mcp-Session-Id` header.
    pub(crate) opened_session: Option<Box<str>>,
}

#[derive(Debug)]
pub(crate) enum ResponseContent {
    /// A status without a body.
    Empty(StatusCode),
    /// One JSON-RPC message.
    Message { status: StatusCode, message: MessageChunks },
    /// An SSE stream.
    Events(EventReader),
}

impl HandlerResponse {
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { content: ResponseContent::Empty(status), opened_session: None }
    }

    pub(crate) fn message(status: StatusCode, message: MessageChunks) -> Self {
        Self { content: ResponseContent::Message { status, message }, opened_session: None }
    }

    pub(crate) fn events(reader: EventReader) -> Self {
        Self { content: ResponseContent::Events(reader), opened_session: None }
    }
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

    /// The next piece that was not written yet.
    pub(crate) fn take_next(&mut self) -> Option<Bytes> {
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
