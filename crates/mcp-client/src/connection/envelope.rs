//! The JSON-RPC envelope of a message: the only part that Gatehouse parses or writes. Params and
//! results are borrowed when read and copied byte for byte when written.

use std::borrow::Cow;

use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::raw::{Members, quoted};
use gatehouse_model::server::LogLevel;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::request::RequestParams;

/// One parsed message.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    Response {
        /// Its id; `None` if it is missing or `null`.
        id: Option<&'a RawValue>,
        /// The result, or the error object.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
    /// A request of the server.
    Request {
        id: &'a RawValue,
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
}

/// The bytes are not a JSON-RPC message.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON-RPC message")]
pub(super) struct InvalidMessage;

fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Parses one message.
pub(super) fn read(bytes: &[u8]) -> Result<Incoming<'_>, InvalidMessage> {
    let members: Envelope<'_> = serde_json::from_slice(bytes).map_err(|_| InvalidMessage)?;
    let id = members.id.filter(|id| !is_null(id));
    // A message with a method is never a response, whatever other members it has. Old JSON-RPC
    // libraries write `error: null` next to a result.
    match (members.method, id, members.result, members.error.filter(|error| !is_null(error))) {
        (Some(method), Some(id), _, _) => Ok(Incoming::Request { id, method, params: members.params }),
        (Some(method), None, _, _) => Ok(Incoming::Notification { method, params: members.params }),
        (None, id, _, Some(error)) => Ok(Incoming::Response { id, outcome: Err(error) }),
        (None, id, Some(result), None) => Ok(Incoming::Response { id, outcome: Ok(result) }),
        (None, _, None, None) => Err(InvalidMessage),
    }
}

/// Splits a batch (revision 2025-03-26) into its messages; a single message is returned as it is.
pub(super) fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, InvalidMessage> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(|_| InvalidMessage)?;
            Ok(items.into_iter().map(|item| item.get().as_bytes()).collect())
        }
        _ => Ok(vec![bytes]),
    }
}

/// The number in an id (or progress token) that Gatehouse issued: `"g12"`.
pub(super) fn parse_own_id(id: &RawValue) -> Option<u64> {
    id.get().strip_prefix("\"g")?.strip_suffix('"')?.parse().ok()
}

/// Writes the id with this number as JSON.
fn push_id(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"\"g");
    out.extend_from_slice(number.to_string().as_bytes());
    out.push(b'"');
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(quoted(text).as_bytes());
    }
}

/// Members of `_meta` that describe one connection and must not be forwarded to the next.
const HOP_BY_HOP_META: [&str; 3] =
    ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo", CLIENT_CAPABILITIES];

/// What the sender of a request can be asked while the server processes it (2026-07-28).
pub(super) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The log level while the server processes a request (2026-07-28, Logging).
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// `_meta` members that every request carries on the stateless revision.
#[derive(Debug, Default)]
pub(super) struct RequestMeta {
    members: Vec<(&'static str, Box<str>)>,
    log_level: Mutex<Option<LogLevel>>,
}

impl RequestMeta {
    /// Takes members as JSON text.
    pub(super) fn new(members: Vec<(&'static str, Box<str>)>) -> Self {
        Self { members, log_level: Mutex::default() }
    }

    /// Sets the log level for requests that don't specify one themselves.
    pub(super) fn set_log_level(&self, level: Option<LogLevel>) {
        *self.log_level.lock() = level;
    }

    fn names(&self, name: &str) -> bool {
        self.members.iter().any(|(own, _)| *own == name)
    }
}

/// Writes a request.
pub(super) fn request(number: u64, method: &str, params: &RequestParams, meta: MetaOptions<'_>) -> Vec<u8> {
    let mut out = start(params);
    out.extend_from_slice(b"\"id\":");
    push_id(&mut out, number);
    out.push(b',');
    let MetaOptions { token, own, capabilities } = meta;
    finish(&mut out, method, params, MetaOptions { token: token.map(|()| number), own, capabilities });
    out
}

/// What Gatehouse adds to `_meta`.
#[derive(Clone, Copy)]
pub(super) struct MetaOptions<'a, T = ()> {
    /// Set if progress is wanted.
    pub(super) token: Option<T>,
    /// What the revision requires.
    pub(super) own: &'a RequestMeta,
    /// Declared instead of Gatehouse's own capabilities, where requests declare them.
    pub(super) capabilities: Option<&'a RawValue>,
}

/// Writes the response to a request of the server; the id is returned byte for byte.
pub(super) fn answer(id: &str, answer: &Result<Box<RawValue>, Box<RawValue>>) -> Vec<u8> {
    let (member, body) = match answer {
        Ok(result) => (",\"result\":", result),
        Err(error) => (",\"error\":", error),
    };
    let mut out = Vec::with_capacity(id.len() + body.get().len() + 48);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    for piece in [id, member, body.get(), "}"] {
        out.extend_from_slice(piece.as_bytes());
    }
    out
}

/// Writes the notification that cancels one of Gatehouse's requests. Without a reason, it has one that
/// is true of all.
pub(super) fn cancelled(number: u64, reason: Option<&str>) -> Vec<u8> {
    let reason = reason.unwrap_or("The caller no longer waits.");
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":",
    );
    push_id(&mut out, number);
    out.extend_from_slice(b",\"reason\":");
    push_text(&mut out, reason);
    out.extend_from_slice(b"}}");
    out
}

fn start(params: &RequestParams) -> Vec<u8> {
    let body: usize = params.members.iter().map(|(name, raw)| name.len() + raw.get().len() + 4).sum();
    let meta = params.meta.as_ref().map_or(0, |meta| meta.get().len());
    let mut out = Vec::with_capacity(body + meta + 512);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    out
}

fn finish(out: &mut Vec<u8>, method: &str, params: &RequestParams, meta: MetaOptions<'_, u64>) {
    out.extend_from_slice(b"\"method\":");
    push_text(out, method);
    let with_meta = params.meta.is_some() || meta.token.is_some() || !meta.own.members.is_empty();
    if !params.members.is_empty() || with_meta {
        out.extend_from_slice(b",\"params\":{");
        let mut first = true;
        for (name, raw) in &params.members {
            member(out, &mut first, name, raw.get());
        }
        if with_meta {
            if !first {
                out.push(b',');
            }
            out.extend_from_slice(b"\"_meta\":{");
            push_meta(out, params.meta.as_deref(), meta);
            out.push(b'}');
        }
        out.push(b'}');
    }
    out.push(b'}');
}

fn member(out: &mut Vec<u8>, first: &mut bool, name: &str, raw: &str) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    push_text(out, name);
    out.push(b':');
    out.extend_from_slice(raw.as_bytes());
}

fn push_meta(out: &mut Vec<u8>, theirs: Option<&RawValue>, meta: MetaOptions<'_, u64>) {
    let mut first = true;
    let mut log_level = *meta.own.log_level.lock();
    if let Some(theirs) = theirs {
        match Members::of(theirs) {
            Ok(members) => {
                for (name, raw) in members.iter() {
                    // The client's progress token would lead to notifications that cannot be
                    // attributed, and the client's revision, info and capabilities apply to its own
                    // connection only.
                    if name != "progressToken" && !HOP_BY_HOP_META.contains(&name) && !meta.own.names(name) {
                        log_level.take_if(|_| name == LOG_LEVEL);
                        member(out, &mut first, name, raw.get());
                    }
                }
            }
            Err(_) => tracing::debug!("a request's _meta is no object and is left out"),
        }
    }
    for (name, raw) in &meta.own.members {
        let declared = meta.capabilities.filter(|_| *name == CLIENT_CAPABILITIES);
        member(out, &mut first, name, declared.map_or(&**raw, RawValue::get));
    }
    if let Some(level) = log_level {
        member(out, &mut first, LOG_LEVEL, &format!("\"{}\"", level.as_str()));
    }
    if let Some(number) = meta.token {
        if !first {
            out.push(b',');
        }
        out.extend_from_slice(b"\"progressToken\":");
        push_id(out, number);
    }
}

/// Makes a message fit on one line. Unescaped line ends can only be white space between tokens
/// (inside a string they are escaped), so replacing them with a space doesn't change the message.
pub(super) fn to_line(message: &mut Vec<u8>) {
    if memchr::memchr2(b'\n', b'\r', message).is_some() {
        for byte in message.iter_mut() {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
    message.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn classifies_messages() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":"g1","result":null}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, "response"),
            (r#"{"id":7,"method":"ping"}"#, "request"),
            (r#"{"id":null,"method":"notifications/message"}"#, "notification"),
            (r#"{"method":"x","params":[1]}"#, "notification"),
            (r#"{"level":"info"}"#, "none"),
            ("42", "none"),
            // Duplicate members are rejected: two parsers could read two different messages.
            (r#"{"id":"g1","id":"g2","result":{}}"#, "none"),
            (r#"{"id":"g1","result":{},"r\u0065sult":1}"#, "none"),
            ("Server listening on port 3000", "none"),
            (r#"{"id":1,"result":{}"#, "none"),
        ];
        for (line, expected) in table {
            let found = match read(line.as_bytes()) {
                Ok(Incoming::Response { .. }) => "response",
                Ok(Incoming::Request { .. }) => "request",
                Ok(Incoming::Notification { .. }) => "notification",
                Err(InvalidMessage) => "none",
            };
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn result_bytes_are_unchanged() {
        let line = r#"{"id":"g9","result":{ "n":12345678901234567890,"z":null, "a" : [1.0, 1e2] } }"#;
        let Ok(Incoming::Response { id, outcome: Ok(result) }) = read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(parse_own_id(id.unwrap()), Some(9));
        assert_eq!(result.get(), r#"{ "n":12345678901234567890,"z":null, "a" : [1.0, 1e2] }"#);
    }

    #[test]
    fn params_bytes_are_unchanged() {
        let params = RequestParams::none()
            .with_text("name", "do \"it\"")
            .with("arguments", raw(r#"{"z":1, "a":18446744073709551616,"n":null}"#));
        assert_eq!(
            text(request(
                3,
                "tools/call",
                &params,
                MetaOptions { token: None, own: &RequestMeta::default(), capabilities: None }
            )),
            r#"{"jsonrpc":"2.0","id":"g3","method":"tools/call","params":{"name":"do \"it\"","arguments":{"z":1, "a":18446744073709551616,"n":null}}}"#
        );
        assert_eq!(
            text(request(
                4,
                "ping",
                &RequestParams::none(),
                MetaOptions { token: None, own: &RequestMeta::default(), capabilities: None }
            )),
            r#"{"jsonrpc":"2.0","id":"g4","method":"ping"}"#
        );
    }

    #[test]
    fn replaces_only_own_meta_members() {
        let own =
            RequestMeta::new(vec![("io.modelcontextprotocol/protocolVersion", "\"2026-07-28\"".into())]);
        let params = RequestParams {
            members: vec![],
            meta: Some(raw(
                r#"{"b":1e3,"progressToken":5,"io.modelcontextprotocol/protocolVersion":"x","a":{"k" :1}}"#,
            )),
        };
        assert_eq!(
            text(request(5, "m", &params, MetaOptions { token: Some(()), own: &own, capabilities: None })),
            concat!(
                r#"{"jsonrpc":"2.0","id":"g5","method":"m","params":{"_meta":{"b":1e3,"a":{"k" :1},"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"g5"}}}"#
            )
        );
    }

    #[test]
    fn declares_capabilities_of_the_calling_client() {
        let own = RequestMeta::new(vec![(CLIENT_CAPABILITIES, r#"{"sampling":{}}"#.into())]);
        let declared = raw(r#"{"elicitation": {"form":{}},"x":1e3}"#);
        let written = |capabilities, own: &RequestMeta| {
            let meta = MetaOptions { token: None, own, capabilities };
            text(request(7, "m", &RequestParams::none(), meta))
        };
        let with = |capabilities: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":"g7","method":"m","params":{{"_meta":{{"{CLIENT_CAPABILITIES}":{capabilities}}}}}}}"#
            )
        };
        assert_eq!(written(Some(&declared), &own), with(declared.get()));
        assert_eq!(written(None, &own), with(r#"{"sampling":{}}"#));
        // A revision with a handshake declares them there, once for the whole connection.
        let stateful = written(Some(&declared), &RequestMeta::default());
        assert_eq!(stateful, r#"{"jsonrpc":"2.0","id":"g7","method":"m"}"#);
    }

    #[test]
    fn strips_hop_by_hop_meta_for_older_revision() {
        let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"kept":1}"#;
        let params = RequestParams { members: vec![], meta: Some(raw(meta)) };
        assert_eq!(
            text(request(
                6,
                "m",
                &params,
                MetaOptions { token: None, own: &RequestMeta::default(), capabilities: None }
            )),
            r#"{"jsonrpc":"2.0","id":"g6","method":"m","params":{"_meta":{"kept":1}}}"#
        );
    }

    #[test]
    fn removes_line_ends() {
        let mut message = b"{\"a\":\r\n[1,\n2],\"t\":\"x\\ny\"}".to_vec();
        to_line(&mut message);
        assert_eq!(message, b"{\"a\":  [1, 2],\"t\":\"x\\ny\"}\n");
    }

    #[test]
    fn splits_batches() {
        let parts = split(br#" [{"id":1,"result":{}}, {"method":"x"}]"#).unwrap();
        assert_eq!(parts, [&br#"{"id":1,"result":{}}"#[..], &br#"{"method":"x"}"#[..]]);
        assert_eq!(split(b"{}").unwrap(), [b"{}"]);
        assert!(split(b"[nonsense").is_err());
    }
}
