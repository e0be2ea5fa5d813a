//! JSON-RPC errors that the gateway itself returns, each with its HTTP status.
//!
//! Errors of upstream servers don't pass through here: they are forwarded as raw bytes.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;

use crate::revision::Revision;

/// An error of the gateway. Has the request's id once it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpRpcError {
    /// The JSON-RPC error code.
    pub(crate) code: i32,
    message: Cow<'static, str>,
    /// The `data` member, as JSON text.
    data: Option<String>,
    status: StatusCode,
    id: Option<String>,
    /// The `WWW-Authenticate` header of a 401.
    challenge: Option<String>,
}

impl HttpRpcError {
    pub(crate) fn new(status: StatusCode, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, status, id: None, challenge: None }
    }

    /// -32700 (parse error).
    pub(crate) fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32700, message)
    }

    /// -32600 (invalid request).
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    /// -32602 with HTTP 400: the message itself has the wrong shape.
    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32602, message)
    }

    /// -32601 (method not found). The stateless revision uses HTTP 404, the older ones 200.
    pub(crate) fn unknown_method(method: &str, revision: Revision) -> Self {
        let status = if revision == Revision::STATELESS { StatusCode::NOT_FOUND } else { StatusCode::OK };
        let shown: String = method.chars().take(64).collect();
        Self::new(status, -32601, format!("There is no method {shown}."))
    }

    /// What was asked for is a stream, which the client doesn't accept.
    pub(crate) fn events_not_accepted() -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, -32600, "Accept must name text/event-stream.")
    }

    /// HTTP 404: there is no such session. The client has to begin anew.
    pub(crate) fn no_such_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, -32001, "Session not found: begin anew with initialize.")
    }

    /// HTTP 404: the server of an endpoint is gone, or was never there. Says the same for all paths.
    pub(crate) fn no_such_endpoint() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            -32600,
            "There is nothing here; the endpoints are /mcp and, for one enabled server, /servers/NAME/mcp. The REST tool API has /v1/tools, /v1/tools/call and /v1/openapi.json.",
        )
    }

    /// -32020: an MCP header differs from the body.
    pub(crate) fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    /// -32022: unsupported protocol version.
    pub(crate) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let mut rpc_error =
            Self::new(StatusCode::BAD_REQUEST, -32022, "This version of the protocol is not supported.");
        rpc_error.data =
            Some(serde_json::json!({ "requested": requested, "supported": supported }).to_string());
        rpc_error
    }

    /// Sets the `data` member.
    pub(crate) fn with_data(mut self, data: &serde_json::Value) -> Self {
        self.data = Some(data.to_string());
        self
    }

    /// Sets the id of the request that this error responds to.
    pub(crate) fn with_id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// As [`Self::with_id`], if there is an id.
    pub(crate) fn with_optional_id(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned);
        self
    }

    /// Sets the `WWW-Authenticate` header.
    pub(crate) fn with_challenge(mut self, challenge: String) -> Self {
        self.challenge = Some(challenge);
        self
    }

    pub(crate) fn challenge(&self) -> Option<&str> {
        self.challenge.as_deref()
    }

    /// Whether it responds to a request.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What is wrong, as sentences.
    pub(crate) fn into_message(self) -> Cow<'static, str> {
        self.message
    }

    /// The error object without the envelope.
    pub(crate) fn object(&self) -> String {
        let message = serde_json::Value::from(&*self.message);
        match &self.data {
            None => format!(r#"{{"code":{},"message":{message}}}"#, self.code),
            Some(data) => format!(r#"{{"code":{},"message":{message},"data":{data}}}"#, self.code),
        }
    }

    /// The whole JSON-RPC message.
    pub(crate) fn body(&self) -> Bytes {
        let id = self.id.as_deref().unwrap_or("null");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, self.object()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_error_bodies() {
        assert_eq!(
            HttpRpcError::parse("bad \"x\"").body(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad \"x\""}}"#
        );
        assert_eq!(
            HttpRpcError::unsupported_version("1.0", &["2026-07-28"]).with_id("\"a\"").body(),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"This version of the protocol is not supported.","data":{"requested":"1.0","supported":["2026-07-28"]}}}"#
        );
    }
}
