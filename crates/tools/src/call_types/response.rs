//! What a call ends with: the response to its client as raw bytes, and its outcome.

use std::fmt;

use gatehouse_mcp_wire::raw::{quoted, raw};
use gatehouse_model::record::CallOutcome;
use serde_json::value::RawValue;

/// A tool result with `isError` and this text.
#[must_use]
pub fn error_result(text: &str) -> Box<RawValue> {
    raw(format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(text)))
}

/// JSON-RPC error code for a request other than a tool call that didn't run, for whatever reason.
pub(crate) const NOT_RUN: i32 = -32000;

/// A JSON-RPC error object.
pub(crate) fn rpc_error(code: i32, message: &str) -> Box<RawValue> {
    raw(format!(r#"{{"code":{code},"message":{}}}"#, quoted(message)))
}

/// The response to the client, as raw bytes. A denied tool call is a result with `isError`.
#[derive(Clone)]
pub enum CallResponse {
    /// The JSON-RPC `result`.
    Result(Box<RawValue>),
    /// The whole JSON-RPC `error` object.
    Error(Box<RawValue>),
}

/// Prints only the variant and the length: results must not get into logs.
impl fmt::Debug for CallResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Result(raw) => write!(f, "CallResponse::Result({} bytes)", raw.get().len()),
            Self::Error(raw) => write!(f, "CallResponse::Error({} bytes)", raw.get().len()),
        }
    }
}

impl CallResponse {
    /// The raw bytes of either variant.
    pub fn body(&self) -> &RawValue {
        match self {
            Self::Result(raw) | Self::Error(raw) => raw,
        }
    }
}

/// Outcome of a call.
#[derive(Clone)]
pub(crate) struct FinishedCall {
    pub(crate) end: CallResponse,
    pub(crate) outcome: CallOutcome,
    /// Gatehouse's own message, if the outcome isn't the server's.
    pub(crate) own_text: Option<Box<str>>,
    /// Whether the call reached its server and this is the result.
    pub(crate) has_run: bool,
}

/// Prints only the variant and length: results must not get into logs.
impl fmt::Debug for FinishedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FinishedCall").field("end", &self.end).finish_non_exhaustive()
    }
}

impl FinishedCall {
    pub(crate) fn with_text(text: &str, outcome: CallOutcome) -> Self {
        Self {
            end: CallResponse::Result(error_result(text)),
            outcome,
            own_text: Some(text.into()),
            has_run: false,
        }
    }

    /// Outcome with a given response: the server's, or an error from resolving the target.
    pub(crate) fn from_response(end: CallResponse, outcome: CallOutcome) -> Self {
        Self { end, outcome, own_text: None, has_run: false }
    }

    /// Sets whether this is the result of a call that ran on its server.
    pub(crate) fn with_run(self, has_run: bool) -> Self {
        Self { has_run, ..self }
    }

    /// Size of the body in bytes.
    pub(crate) fn size(&self) -> usize {
        self.end.body().get().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_result_is_valid_json() {
        let result = error_result("a \"b\" \n\u{0}");
        let value: serde_json::Value = serde_json::from_str(result.get()).unwrap();
        assert_eq!(value["isError"], true);
        assert_eq!(value["content"][0]["text"], "a \"b\" \n\u{0}");
    }
}
