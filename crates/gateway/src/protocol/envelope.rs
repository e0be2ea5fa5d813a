//! Parses the envelope of a JSON-RPC message and nothing below it.
//!
//! Values stay slices of the body: arguments are never parsed into a tree and never reserialized. A duplicate
//! member in the envelope, in `params` or in `_meta` is rejected, also when escapes hide that two names are
//! equal, so that no two parsers can disagree on what a message says.

use std::borrow::Cow;
use std::fmt;

use gatehouse_mcp_wire::envelope::Envelope;
use gatehouse_mcp_wire::raw::{Members, text_of};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::protocol::rpc_error::HttpRpcError;

/// Maximum length of a request id, in bytes.
const MAX_ID_BYTES: usize = 256;

/// A message, borrowed from the body.
#[derive(Debug)]
pub(crate) enum RpcMessage<'a> {
    Request {
        /// The id, byte for byte as the client wrote it.
        id: &'a str,
        method: Cow<'a, str>,
        /// Empty if absent.
        params: Members<'a>,
    },
    Notification {
        method: Cow<'a, str>,
        /// Empty if absent.
        params: Members<'a>,
    },
    /// A response to a request that the gateway sent.
    Response(ClientResponse<'a>),
}

/// A response to a request that the gateway sent.
#[derive(Debug)]
pub(crate) struct ClientResponse<'a> {
    /// The id, byte for byte.
    pub(crate) id: Option<&'a str>,
    /// `result`, or the whole `error` object; `None` if there is neither or both.
    pub(crate) outcome: Option<Result<&'a RawValue, &'a RawValue>>,
}

/// Parses a request body.
pub(crate) fn parse(body: &[u8]) -> Result<RpcMessage<'_>, HttpRpcError> {
    let text = std::str::from_utf8(body).map_err(|_| HttpRpcError::parse("The body is not UTF-8."))?;
    if text.trim_ascii_start().starts_with('[') {
        return Err(HttpRpcError::invalid_request(
            "Batches are not supported: send one JSON-RPC message per request.",
        ));
    }
    message(serde_json::from_str(text).map_err(|error| parse_error(&error))?)
}

fn parse_error(error: &serde_json::Error) -> HttpRpcError {
    if error.is_data() {
        HttpRpcError::invalid_request(format!("Not a JSON-RPC message: {error}"))
    } else {
        HttpRpcError::parse(format!("Not JSON: {error}"))
    }
}

enum RawParams<'a> {
    Members(Members<'a>),
    SomethingElse,
}

fn message<'a>(envelope: Envelope<'a, RawParams<'a>>) -> Result<RpcMessage<'a>, HttpRpcError> {
    if envelope.version.and_then(text_of).as_deref() != Some("2.0") {
        return Err(HttpRpcError::invalid_request("The member `jsonrpc` must be \"2.0\"."));
    }
    let is_response = envelope.result.is_some() || envelope.error.is_some();
    if is_response && envelope.method.is_some() {
        return Err(HttpRpcError::invalid_request("A message is either a request or a response, not both."));
    }
    let outcome = match (envelope.result, envelope.error) {
        (Some(result), None) => Some(Ok(result)),
        (None, Some(error)) => Some(Err(error)),
        (Some(_), Some(_)) | (None, None) => None,
    };
    let id = match envelope.id.map(RawValue::get) {
        None => None,
        Some(id) if is_id(id) => Some(id),
        Some(_) if is_response => return Ok(RpcMessage::Response(ClientResponse { id: None, outcome })),
        Some(_) => {
            return Err(HttpRpcError::invalid_request(
                "The member `id` must be a string or a number of at most 256 bytes.",
            ));
        }
    };
    let Some(method) = envelope.method else {
        if is_response {
            return Ok(RpcMessage::Response(ClientResponse { id, outcome }));
        }
        return Err(HttpRpcError::invalid_request("The member `method` is missing."));
    };
    let params = match envelope.params {
        None => Members::default(),
        Some(RawParams::Members(members)) => members,
        Some(RawParams::SomethingElse) => {
            return Err(
                HttpRpcError::invalid_params("The member `params` must be an object.").with_optional_id(id)
            );
        }
    };
    Ok(match id {
        Some(id) => RpcMessage::Request { id, method, params },
        None => RpcMessage::Notification { method, params },
    })
}

fn is_id(raw: &str) -> bool {
    raw.len() <= MAX_ID_BYTES
        && raw.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

impl<'de> Deserialize<'de> for RawParams<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamsVisitor;
        impl<'de> Visitor<'de> for ParamsVisitor {
            type Value = RawParams<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("params")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Members::deserialize(MapAccessDeserializer::new(map)).map(RawParams::Members)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(RawParams::SomethingElse)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(RawParams::SomethingElse)
            }
        }
        deserializer.deserialize_any(ParamsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> (String, String, Vec<(String, String)>) {
        match parse(body.as_bytes()).unwrap() {
            RpcMessage::Request { id, method, params } => {
                (id.to_owned(), method.into_owned(), texts_of(&params))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn preserves_value_bytes() {
        let (id, method, params) = request(
            r#" {"params":{"name":"x","arguments":{"n":12345678901234567890,"f":1.50,"z":null , "a":1}},"jsonrpc":"2.0","id":1e2,"method":"tools/call","extra":[1]} "#,
        );
        assert_eq!((id.as_str(), method.as_str()), ("1e2", "tools/call"));
        assert_eq!(params[0], ("name".into(), r#""x""#.into()));
        assert_eq!(params[1].1, r#"{"n":12345678901234567890,"f":1.50,"z":null , "a":1}"#);
    }

    #[test]
    fn preserves_id_bytes() {
        for id in [r#""a""#, r#""\u0041""#, "0", "-7", "1.0", "99999999999999999999"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(request(&body).0, id);
        }
    }

    #[test]
    fn rejects_malformed_messages() {
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#, "x".repeat(300));
        let many = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{{},"k7":0}}}}"#,
            (0..40).map(|n| format!(r#""k{n}":0"#)).collect::<Vec<_>>().join(",")
        );
        for (body, code) in [
            ("", -32700),
            ("{", -32700),
            ("nonsense", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32700),
            ("[]", -32600),
            (r#" [{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
            ("7", -32600),
            (r#""text""#, -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, -32602),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":"p"}"#, -32602),
            // Duplicate names, also when an escape hides it.
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"}}"#, -32600),
            (long.as_str(), -32600),
            (many.as_str(), -32600),
        ] {
            let rpc_error = parse(body.as_bytes()).expect_err(body);
            assert_eq!(rpc_error.code, code, "{body}");
        }
        assert_eq!(parse(b"\xff{}").unwrap_err().code, -32700);
    }

    #[test]
    fn tells_notifications_from_responses() {
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap(),
            RpcMessage::Notification { .. }
        ));
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#).unwrap(),
            RpcMessage::Response(_)
        ));
        assert!(matches!(
            parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#).unwrap(),
            RpcMessage::Response(_)
        ));
    }

    #[test]
    fn accepts_deeply_nested_values() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(parse(deep.as_bytes()).is_ok());
    }

    /// Fuzz target `envelope`: an accepted message means the same to a generic JSON parser as it does here.
    #[test]
    fn fuzz_envelope() {
        use gatehouse_fuzz::{fuzz, json, mutated};
        use proptest::prelude::*;
        use serde_json::Value;
        let texts = |known: &'static [&'static str]| prop::sample::select(known).prop_map(str::to_owned);
        let params = json::object(vec![
            ("name", texts(&["\"files__read\"", "\"\\u0061\"", "7"]).boxed()),
            ("arguments", json::value().boxed()),
            ("_meta", texts(&["{}", "{\"progressToken\":1}", "null"]).boxed()),
        ]);
        let message = json::object(vec![
            ("jsonrpc", texts(&["\"2.0\"", "\"2.0\"", "\"2.0\"", "\"2\\u002e0\"", "2.0", "null"]).boxed()),
            (
                "id",
                texts(&["1", "\"a\"", "\"\\u0061\"", "-1", "1.0", "null", "{}", "99999999999999999999"])
                    .boxed(),
            ),
            ("method", texts(&["\"tools/call\"", "\"tools/call\"", "\"ping\"", "\"a\\/b\"", "7"]).boxed()),
            ("params", prop_oneof![3 => params, 1 => json::value()].boxed()),
            ("result", prop_oneof![1 => json::value(), 9 => Just(String::new())].boxed()),
            ("extra", json::value().boxed()),
        ]);
        // Members without a value are removed: most messages have no result.
        let message = message.prop_map(|text| text.replace("\"result\":,", "").replace(",\"result\":}", "}"));
        fuzz("envelope", &mutated(message, json::TOKENS), |text| {
            let Ok(message) = parse(text.as_bytes()) else { return Ok(()) };
            let raw: Members<'_> = Members::read(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert!(raw.text("jsonrpc").as_deref() == Some("2.0"));
            let (id, method, params) = match &message {
                RpcMessage::Request { id, method, params } => (Some(*id), method, params),
                RpcMessage::Notification { method, params } => (None, method, params),
                RpcMessage::Response(_) => {
                    prop_assert!(raw.get("method").is_none());
                    prop_assert!(raw.get("result").is_some() || raw.get("error").is_some());
                    return Ok(());
                }
            };
            prop_assert!(raw.get("result").is_none() && raw.get("error").is_none());
            prop_assert_eq!(raw.get("id").map(RawValue::get), id);
            prop_assert!(raw.text("method").as_deref() == Some(&**method));
            match raw.get("params") {
                None => prop_assert_eq!(params.iter().count(), 0),
                Some(sent) => {
                    let sent = Members::of(sent).map_err(|e| TestCaseError::fail(e.to_string()))?;
                    prop_assert!(texts_of(&sent) == texts_of(params), "params differ");
                }
            }
            // A parser that keeps the last of two equal keys sees the same, since no key is duplicated.
            if let Ok(Value::Object(other)) = serde_json::from_str(&text) {
                prop_assert_eq!(other.get("method").and_then(Value::as_str), Some(&**method));
                prop_assert_eq!(other.len(), raw.names().count());
                let there = other.get("params").and_then(Value::as_object).map_or(0, serde_json::Map::len);
                prop_assert_eq!(there, params.iter().count());
            }
            Ok(())
        })
        .unwrap();
    }

    fn texts_of(members: &Members<'_>) -> Vec<(String, String)> {
        members.iter().map(|(name, value)| (name.to_owned(), value.get().to_owned())).collect()
    }
}
