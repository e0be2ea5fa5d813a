//! JSON-RPC messages as the bridge needs them: what kind a line is, whom it belongs to, and the errors that the
//! bridge itself answers with. The bytes of a message are passed on as they are.

use std::borrow::Cow;

use bytes::Bytes;
use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::headers::name_member;
use gatehouse_mcp_wire::raw::{Members, quoted};
use serde_json::value::RawValue;

const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;
/// The code that MCP SDKs use for a connection that was closed.
pub(super) const CONNECTION_CLOSED: i32 = -32000;
/// The code of the gateway for an unknown session.
pub(super) const SESSION_NOT_FOUND: i32 = -32001;
/// The code of the gateway for a header that does not match the body.
pub(super) const HEADER_MISMATCH: i32 = -32020;

/// The id of an answer to a message that has none.
const NO_ID: &str = "null";

/// The member of `_meta` that names the revision of a request without a session.
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// One message.
pub(super) enum StdioMessage<'a> {
    Request {
        /// The id, byte for byte.
        id: &'a str,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Response {
        /// The id, byte for byte.
        id: &'a str,
        /// Whether it has a `result`.
        is_result: bool,
    },
}

/// Reads a message.
///
/// # Errors
/// The message that answers it, if it is none.
pub(super) fn parse(line: &[u8]) -> Result<StdioMessage<'_>, Bytes> {
    let text =
        std::str::from_utf8(line).map_err(|_| error(NO_ID, PARSE_ERROR, "The message is not UTF-8."))?;
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|cause| {
        if cause.is_data() {
            error(NO_ID, INVALID_REQUEST, &format!("Not a JSON-RPC message: {cause}"))
        } else {
            error(NO_ID, PARSE_ERROR, &format!("Not JSON: {cause}"))
        }
    })?;
    let id = envelope.id.map(RawValue::get);
    match (id, envelope.method) {
        (Some(id), Some(method)) => Ok(StdioMessage::Request { id, method, params: envelope.params }),
        (None, Some(method)) => Ok(StdioMessage::Notification { method, params: envelope.params }),
        (id, None) if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(StdioMessage::Response { id: id.unwrap_or(NO_ID), is_result: envelope.result.is_some() })
        }
        (id, None) => {
            Err(error(id.unwrap_or(NO_ID), INVALID_REQUEST, "The message has neither a method nor a result."))
        }
    }
}

/// The id of the request that a cancellation is about, byte for byte.
pub(super) fn cancelled_id(params: Option<&RawValue>) -> Option<&str> {
    Members::of(params?).ok()?.get("requestId").map(RawValue::get)
}

/// The revisions to which a request belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// With `initialize` and sessions.
    Stateful,
    /// Without. The version that the request names, if it does.
    Stateless { version: Option<String> },
}

/// A request of the client.
#[derive(Debug)]
pub(super) struct StdioRequest {
    /// The whole message.
    pub(super) line: Bytes,
    /// The id, byte for byte.
    pub(super) id: Box<str>,
    pub(super) method: Box<str>,
    pub(super) family: Family,
    /// What the header `Mcp-Name` repeats.
    pub(super) name: Option<String>,
}

impl StdioRequest {
    /// # Errors
    /// The message that answers it, if its params are no object or have a member twice.
    pub(super) fn new(line: Bytes, id: &str, method: &str, params: Option<&RawValue>) -> Result<Self, Bytes> {
        let invalid = |cause| {
            error(id, INVALID_PARAMS, &format!("The member `params` must be an object. In it {cause}"))
        };
        let params = params.map_or_else(|| Ok(Members::default()), Members::of).map_err(invalid)?;
        let meta = params.get("_meta").and_then(|meta| Members::of(meta).ok());
        let version = meta.and_then(|meta| meta.text(PROTOCOL_VERSION).map(Cow::into_owned));
        let is_stateless = version.is_some() || method == "server/discover";
        let family = if is_stateless { Family::Stateless { version } } else { Family::Stateful };
        let name = name_member(method).and_then(|member| params.text(member)).map(Cow::into_owned);
        Ok(Self { line, id: id.into(), method: method.into(), family, name })
    }

    /// One member of its params.
    pub(super) fn param(&self, name: &str) -> Option<&RawValue> {
        let text = std::str::from_utf8(&self.line).ok()?;
        let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
        Members::of(envelope.params?).ok()?.get(name)
    }
}

/// An answer with an error.
pub(super) fn error(id: &str, code: i32, message: &str) -> Bytes {
    error_object(id, &format!(r#"{{"code":{code},"message":{}}}"#, quoted(message)))
}

/// As [`error`], with the error object as JSON.
pub(super) fn error_object(id: &str, object: &str) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{object}}}"#).into()
}

/// What an answer over HTTP says about a request.
pub(super) struct Answer {
    /// The message for the client.
    pub(super) message: Bytes,
    /// The code if it is an error.
    pub(super) code: Option<i64>,
}

impl Answer {
    /// Reads the body of a response to the request with this id. An error that the gateway sent before it knew
    /// the id gets it here. `None` if the body is no answer to this request.
    pub(super) fn read(id: &str, body: &Bytes) -> Option<Self> {
        let envelope: Envelope<'_> = serde_json::from_slice(body).ok()?;
        let found = envelope.id.map_or(NO_ID, RawValue::get);
        match (envelope.result, envelope.error) {
            (Some(_), None) if found == id => Some(Self { message: one_line(body.clone()), code: None }),
            (None, Some(problem)) if found == id || found == NO_ID => {
                let code = Members::of(problem).ok()?.get("code");
                let code = code.and_then(|code| code.get().parse().ok()).unwrap_or_default();
                let message =
                    if found == id { one_line(body.clone()) } else { error_object(id, problem.get()) };
                Some(Self { message: one_line(message), code: Some(code) })
            }
            _ => None,
        }
    }
}

/// A message on one line. JSON has line ends only between its tokens, where a space means the same.
pub(super) fn one_line(message: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &message).is_none() {
        return message;
    }
    message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> StdioRequest {
        let line = Bytes::copy_from_slice(line.as_bytes());
        match parse(&line).unwrap() {
            StdioMessage::Request { id, method, params } => {
                StdioRequest::new(line.clone(), id, &method, params).unwrap()
            }
            _ => panic!("not a request"),
        }
    }

    #[test]
    fn tells_requests_of_both_families_apart() {
        let stateful =
            request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\u0062"}}"#);
        assert_eq!((stateful.family.clone(), stateful.name.as_deref()), (Family::Stateful, Some("ab")));
        let stateless = request(
            r#"{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"a:b","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        );
        assert_eq!(stateless.family, Family::Stateless { version: Some("2026-07-28".into()) });
        assert_eq!((stateless.name.as_deref(), &*stateless.id), (Some("a:b"), r#""x""#));
        assert_eq!(stateless.param("uri").unwrap().get(), r#""a:b""#);
        let discover = request(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        assert_eq!(discover.family, Family::Stateless { version: None });
    }

    #[test]
    fn answers_what_is_no_message() {
        for (line, id, code) in [
            ("nonsense", "null", PARSE_ERROR),
            ("{", "null", PARSE_ERROR),
            ("[]", "null", INVALID_REQUEST),
            ("7", "null", INVALID_REQUEST),
            (r#"{"id":1,"id":2,"method":"m"}"#, "null", INVALID_REQUEST),
            (r#"{"id":1,"jsonrpc":"2.0"}"#, "1", INVALID_REQUEST),
        ] {
            let answer = parse(line.as_bytes()).err().unwrap();
            let wanted = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
            assert!(answer.starts_with(wanted.as_bytes()), "{line}: {answer:?}");
        }
        assert!(parse(b"\xff").is_err());
    }

    #[test]
    fn gives_an_answer_its_id_and_keeps_its_bytes() {
        let body = Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":7,\n\"result\":{\"n\": 1e400}}");
        let answer = Answer::read("7", &body).unwrap();
        assert_eq!(&answer.message[..], b"{\"jsonrpc\":\"2.0\",\"id\":7, \"result\":{\"n\": 1e400}}");
        assert!(Answer::read("8", &body).is_none());
        let refusal = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no","data":1.0}}"#;
        let answer = Answer::read("\"a\"", &Bytes::from_static(refusal)).unwrap();
        assert_eq!(answer.code, Some(-32600));
        assert_eq!(
            &answer.message[..],
            br#"{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"no","data":1.0}}"#
        );
    }
}
