//! Reads the envelope of a JSON-RPC message and nothing below it.
//!
//! Values stay slices of the body: what a client sends as arguments is never parsed into a tree here and never
//! written anew. A member that appears twice in the envelope, in `params` or in `_meta` is refused, whatever
//! escapes its name is spelled with, so that no two readers of a message can disagree on what it says.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::fault::Fault;

/// Longest id that is accepted, in bytes.
const LONGEST_ID: usize = 256;

/// One message, borrowed from the body.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request {
        /// The id, byte for byte as the client wrote it.
        id: &'a str,
        /// `method`
        method: Cow<'a, str>,
        /// `params`; empty where absent.
        params: Members<'a>,
    },
    /// Wants none.
    Notification {
        /// `method`
        method: Cow<'a, str>,
        /// `params`; empty where absent.
        params: Members<'a>,
    },
    /// Answers a request of ours.
    Answer {
        /// The id, byte for byte.
        id: Option<&'a str>,
        /// `result`, or the whole `error`; `None` where there is neither or both.
        outcome: Option<Result<&'a RawValue, &'a RawValue>>,
    },
}

/// Reads a body.
pub(crate) fn read(body: &[u8]) -> Result<Message<'_>, Fault> {
    let text = std::str::from_utf8(body).map_err(|_| Fault::parse("The body is not UTF-8."))?;
    if text.trim_ascii_start().starts_with('[') {
        return Err(Fault::invalid_request(
            "Batches are not supported: send one JSON-RPC message per request.",
        ));
    }
    let parts: Parts<'_> = serde_json::from_str(text).map_err(|error| defect(&error))?;
    parts.into_message()
}

fn defect(error: &serde_json::Error) -> Fault {
    if error.is_data() {
        Fault::invalid_request(format!("Not a JSON-RPC message: {error}"))
    } else {
        Fault::parse(format!("Not JSON: {error}"))
    }
}

#[derive(Default)]
struct Parts<'a> {
    version: Option<Cow<'a, str>>,
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
    params: Option<Params<'a>>,
    answers: bool,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

enum Params<'a> {
    Members(Members<'a>),
    SomethingElse,
}

impl<'a> Parts<'a> {
    fn into_message(self) -> Result<Message<'a>, Fault> {
        if self.version.as_deref() != Some("2.0") {
            return Err(Fault::invalid_request("The member `jsonrpc` must be \"2.0\"."));
        }
        let outcome = match (self.result, self.error) {
            (Some(result), None) => Some(Ok(result)),
            (None, Some(error)) => Some(Err(error)),
            (Some(_), Some(_)) | (None, None) => None,
        };
        let id = match self.id.map(RawValue::get) {
            None => None,
            Some(id) if is_id(id) => Some(id),
            Some(_) if self.answers => return Ok(Message::Answer { id: None, outcome }),
            Some(_) => {
                return Err(Fault::invalid_request(
                    "The member `id` must be a string or a number of at most 256 bytes.",
                ));
            }
        };
        let Some(method) = self.method else {
            if self.answers {
                return Ok(Message::Answer { id, outcome });
            }
            return Err(Fault::invalid_request("The member `method` is missing."));
        };
        if self.answers {
            return Err(Fault::invalid_request("A message is either a request or an answer, not both."));
        }
        let params = match self.params {
            None => Members::default(),
            Some(Params::Members(members)) => members,
            Some(Params::SomethingElse) => {
                return Err(Fault::invalid_params("The member `params` must be an object.").maybe_for(id));
            }
        };
        Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        })
    }
}

fn is_id(raw: &str) -> bool {
    raw.len() <= LONGEST_ID
        && raw.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Envelope;
        impl<'de> Visitor<'de> for Envelope {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message, which is an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Parts::default();
                let mut others = Names::default();
                while let Some(Text(name)) = map.next_key()? {
                    others.enter(&name).map_err(A::Error::custom)?;
                    match &*name {
                        "jsonrpc" => parts.version = Some(map.next_value::<Text<'_>>()?.0),
                        "id" => parts.id = Some(map.next_value()?),
                        "method" => parts.method = Some(map.next_value::<Text<'_>>()?.0),
                        "params" => parts.params = Some(map.next_value()?),
                        "result" => {
                            parts.answers = true;
                            parts.result = Some(map.next_value()?);
                        }
                        "error" => {
                            parts.answers = true;
                            parts.error = Some(map.next_value()?);
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    others.keep(name);
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_any(Envelope)
    }
}

impl<'de> Deserialize<'de> for Params<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Params<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("params")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Members::collect(map).map(Params::Members)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Params::SomethingElse)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }

            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(Params::SomethingElse)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// The members of an object in their order, each value as the bytes that were sent. No name appears twice.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads the members of an object.
    pub(crate) fn of(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    /// The value of a member.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The value of a member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(text_of)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }

    fn collect<A: MapAccess<'a>>(mut map: A) -> Result<Self, A::Error> {
        let mut members = Vec::with_capacity(4);
        let mut names = Names::default();
        while let Some(Text(name)) = map.next_key()? {
            names.enter(&name).map_err(A::Error::custom)?;
            members.push((name.clone(), map.next_value()?));
            names.keep(name);
        }
        Ok(Self(members))
    }
}

/// The text of a raw value that is a string.
pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Members::collect(map)
            }
        }
        deserializer.deserialize_any(Object)
    }
}

/// Names seen so far. A few are compared one by one; many go into a set, so that a body of a million names
/// costs no more than its length.
#[derive(Default)]
struct Names<'a> {
    few: Vec<Cow<'a, str>>,
    many: std::collections::HashSet<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    const FEW: usize = 16;

    fn enter(&self, name: &str) -> Result<(), String> {
        if self.few.iter().any(|seen| seen == name) || self.many.contains(name) {
            let shown: String = name.chars().take(64).collect();
            return Err(format!("the member `{}` appears twice", shown.escape_debug()));
        }
        Ok(())
    }

    fn keep(&mut self, name: Cow<'a, str>) {
        if self.few.len() < Self::FEW {
            self.few.push(name);
        } else {
            self.many.insert(name);
        }
    }
}

/// A string that stays borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;
        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrowing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> (String, String, Vec<(String, String)>) {
        match read(body.as_bytes()).unwrap() {
            Message::Request { id, method, params } => (
                id.to_owned(),
                method.into_owned(),
                params.iter().map(|(name, value)| (name.to_owned(), value.get().to_owned())).collect(),
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_keep_their_bytes() {
        let (id, method, params) = request(
            r#" {"params":{"name":"x","arguments":{"n":12345678901234567890,"f":1.50,"z":null , "a":1}},"jsonrpc":"2.0","id":1e2,"method":"tools/call","extra":[1]} "#,
        );
        assert_eq!((id.as_str(), method.as_str()), ("1e2", "tools/call"));
        assert_eq!(params[0], ("name".into(), r#""x""#.into()));
        assert_eq!(params[1].1, r#"{"n":12345678901234567890,"f":1.50,"z":null , "a":1}"#);
    }

    #[test]
    fn ids_are_echoed_byte_for_byte() {
        for id in [r#""a""#, r#""\u0041""#, "0", "-7", "1.0", "99999999999999999999"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(request(&body).0, id);
        }
    }

    #[test]
    fn what_is_refused_and_with_which_code() {
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
            // The same name twice, also when an escape hides it.
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","x":1,"x":2}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","name":"b"}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"name":"a","n\u0061me":"b"}}"#, -32600),
            (long.as_str(), -32600),
            (many.as_str(), -32600),
        ] {
            let fault = read(body.as_bytes()).expect_err(body);
            assert_eq!(fault.code(), code, "{body}");
        }
        assert_eq!(read(b"\xff{}").unwrap_err().code(), -32700);
    }

    #[test]
    fn a_message_without_an_id_is_a_notification_and_one_with_a_result_an_answer() {
        assert!(matches!(
            read(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap(),
            Message::Notification { .. }
        ));
        assert!(matches!(read(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#).unwrap(), Message::Answer { .. }));
        assert!(matches!(
            read(br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#).unwrap(),
            Message::Answer { .. }
        ));
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
            "[".repeat(200_000),
            "]".repeat(200_000)
        );
        assert!(read(deep.as_bytes()).is_ok());
    }
}
