//! The envelope of a JSON-RPC message: its top-level members as raw text, without what is below them.
//!
//! The only rule checked here is that no member occurs twice; the reader checks which members a message
//! must have.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::keys::first_repeated;
use crate::raw::{Text, repeated};

/// The members of a message. The reader chooses the type of `params`.
#[derive(Debug)]
pub struct Envelope<'a, P = &'a RawValue> {
    pub version: Option<&'a RawValue>,
    pub id: Option<&'a RawValue>,
    pub method: Option<Cow<'a, str>>,
    pub params: Option<P>,
    pub result: Option<&'a RawValue>,
    pub error: Option<&'a RawValue>,
}

impl<'de: 'a, 'a, P: Deserialize<'de>> Deserialize<'de> for Envelope<'a, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<P>(PhantomData<P>);
        impl<'de, P: Deserialize<'de>> Visitor<'de> for Object<P> {
            type Value = Envelope<'de, P>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message, which is an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope {
                    version: None,
                    id: None,
                    method: None,
                    params: None,
                    result: None,
                    error: None,
                };
                let mut others: Vec<Cow<'de, str>> = Vec::new();
                while let Some(Text(name)) = map.next_key()? {
                    match &*name {
                        "jsonrpc" => once(&mut envelope.version, &name, map.next_value()?)?,
                        "id" => once(&mut envelope.id, &name, map.next_value()?)?,
                        "method" => once(&mut envelope.method, &name, map.next_value::<Text<'_>>()?.0)?,
                        "params" => once(&mut envelope.params, &name, map.next_value()?)?,
                        "result" => once(&mut envelope.result, &name, map.next_value()?)?,
                        "error" => once(&mut envelope.error, &name, map.next_value()?)?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            others.push(name);
                        }
                    }
                }
                match first_repeated(others.iter().map(|name| &**name)) {
                    Some(name) => Err(repeated(name)),
                    None => Ok(envelope),
                }
            }
        }
        deserializer.deserialize_map(Object(PhantomData))
    }
}

fn once<T, E: serde::de::Error>(member: &mut Option<T>, name: &str, value: T) -> Result<(), E> {
    match member.replace(value) {
        None => Ok(()),
        Some(_) => Err(repeated(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_kept_as_they_are_written() {
        let text = r#"{ "params":[1, 2],"id":1e2 ,"jsonrpc":2.0,"m\u0065thod":"a\/b","extra":{"x":1} }"#;
        let envelope: Envelope<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(envelope.id.unwrap().get(), "1e2");
        assert_eq!(envelope.version.unwrap().get(), "2.0");
        assert_eq!(envelope.method.as_deref(), Some("a/b"));
        assert_eq!(envelope.params.unwrap().get(), "[1, 2]");
        assert!(envelope.result.is_none() && envelope.error.is_none());
    }

    #[test]
    fn a_member_that_occurs_twice_is_refused() {
        for text in [
            r#"{"id":1,"id":2,"method":"m"}"#,
            r#"{"id":null,"\u0069d":2}"#,
            r#"{"result":1,"result":2}"#,
            r#"{"x":1,"method":"m","x":1}"#,
            r#"{"x":1,"method":"m","\u0078":1}"#,
        ] {
            assert!(serde_json::from_str::<Envelope<'_>>(text).is_err(), "{text}");
        }
    }
}
