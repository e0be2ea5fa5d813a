//! JSON-RPC errors that the gateway itself answers with, and the HTTP status that goes with each.
//!
//! Errors of upstream servers never come through here: they travel as raw bytes.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::StatusCode;

/// An error of the gateway. Carries the request's id once it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    code: i32,
    message: Cow<'static, str>,
    /// JSON text.
    data: Option<String>,
    status: StatusCode,
    id: Option<String>,
}

impl Fault {
    /// An error with its HTTP status.
    pub(crate) fn new(status: StatusCode, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, status, id: None }
    }

    /// -32700
    pub(crate) fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32700, message)
    }

    /// -32600
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    /// -32602 because the message itself has the wrong shape.
    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32602, message)
    }

    /// -32601; the stateless revision says it with 404, the older ones inside a 200.
    pub(crate) fn unknown_method(method: &str, stateless: bool) -> Self {
        let status = if stateless { StatusCode::NOT_FOUND } else { StatusCode::OK };
        let shown: String = method.chars().take(64).collect();
        Self::new(status, -32601, format!("There is no method {shown}."))
    }

    /// -32020
    pub(crate) fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    /// -32022
    pub(crate) fn unsupported_version(asked: &str, supported: &[&str]) -> Self {
        let mut fault =
            Self::new(StatusCode::BAD_REQUEST, -32022, "This version of the protocol is not supported.");
        fault.data = Some(serde_json::json!({ "requested": asked, "supported": supported }).to_string());
        fault
    }

    /// Says more.
    pub(crate) fn with_data(mut self, data: &serde_json::Value) -> Self {
        self.data = Some(data.to_string());
        self
    }

    /// Names the request that it answers.
    pub(crate) fn for_id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Names the request that it answers, where there is one.
    pub(crate) fn maybe_for(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned);
        self
    }

    /// Its code.
    #[cfg(test)]
    pub(crate) fn code(&self) -> i32 {
        self.code
    }

    /// Its HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The error object alone.
    pub(crate) fn object(&self) -> String {
        let message = serde_json::Value::from(&*self.message);
        match &self.data {
            None => format!(r#"{{"code":{},"message":{message}}}"#, self.code),
            Some(data) => format!(r#"{{"code":{},"message":{message},"data":{data}}}"#, self.code),
        }
    }

    /// The whole message.
    pub(crate) fn body(&self) -> Bytes {
        let id = self.id.as_deref().unwrap_or("null");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, self.object()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        assert_eq!(
            Fault::parse("bad \"x\"").body(),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad \"x\""}}"#
        );
        assert_eq!(
            Fault::unsupported_version("1.0", &["2026-07-28"]).for_id("\"a\"").body(),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32022,"message":"This version of the protocol is not supported.","data":{"requested":"1.0","supported":["2026-07-28"]}}}"#
        );
    }
}
