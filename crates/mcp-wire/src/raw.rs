//! JSON objects as raw text: access to their members and replacement of single values without changing
//! any other byte. Never builds a tree of values.
//!
//! Keys and values are borrowed from the text; only a key that contains escapes is copied.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::write_string;
use crate::keys::first_repeated;

/// The members of an object in their order, values as written. No key occurs twice.
#[derive(Debug, Default)]
pub struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Parses an object.
    ///
    /// # Errors
    /// The text is not JSON, not an object, or has a duplicate key.
    pub fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Parses an object from a raw value.
    ///
    /// # Errors
    /// It is not an object, or has a duplicate key.
    pub fn of(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        Self::read(raw.get())
    }

    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// The value of a member that is a string.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(text_of)
    }

    /// The value of a member that is a boolean.
    pub fn flag(&self, name: &str) -> Option<bool> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| &**name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenMembers(members) = WrittenMembers::deserialize(deserializer)?;
        match first_repeated(members.iter().map(|(name, _)| &**name)) {
            Some(name) => Err(repeated(name)),
            None => Ok(Self(members)),
        }
    }
}

/// The members of an object as written, including duplicate keys: for a file that a person edits, where
/// each duplicate is reported with its line. Everything else is read as [`Members`].
pub struct WrittenMembers<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for WrittenMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = WrittenMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(Text(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(WrittenMembers(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// The error for a duplicate key. A long key is cut.
pub(crate) fn repeated<E: serde::de::Error>(name: &str) -> E {
    let shown: String = name.chars().take(64).collect();
    E::custom(format_args!("the member `{}` appears twice", shown.escape_debug()))
}

/// A string that stays borrowed if it has no escapes.
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
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

/// The text of a raw value that is a string.
#[must_use]
pub fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// The byte range of a part within the text that it was borrowed from.
#[must_use]
pub fn place(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize).min(whole.len());
    start..(start + part.len()).min(whole.len())
}

/// Replaces the given ranges of a text; they must not overlap.
#[must_use]
pub fn splice(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(place, _)| place.start);
    let mut out = String::with_capacity(text.len() + edits.iter().map(|(_, new)| new.len()).sum::<usize>());
    let mut done = 0;
    for (place, new) in edits {
        out.push_str(text.get(done..place.start).unwrap_or_default());
        out.push_str(&new);
        done = place.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// The edits of an object that remove members, for [`splice`]. All that stays keeps its bytes, white space included.
#[must_use]
pub fn removal(
    object: &str,
    members: &Members<'_>,
    is_removed: impl Fn(&str) -> bool,
) -> Vec<(Range<usize>, String)> {
    let mut edits = Vec::new();
    let mut end = object.find('{').map_or(0, |at| at + 1);
    let mut is_first = true;
    for (index, (name, value)) in members.iter().enumerate() {
        let start = std::mem::replace(&mut end, place(object, value.get()).end);
        if is_removed(name) {
            edits.push((start..end, String::new()));
        } else if std::mem::take(&mut is_first) && index > 0 {
            // Between two members there is nothing but white space and the comma.
            let comma =
                object.get(start..).and_then(|rest| rest.find(',')).map_or(start, |at| start + at + 1);
            edits.push((start..comma, String::new()));
        }
    }
    edits
}

/// A text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

/// An object with the given members.
#[must_use]
pub fn object<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> String {
    let mut out = String::from("{");
    for (name, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        write_string(&mut out, name);
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    out
}

/// JSON text as a raw value; `null` if it is not JSON.
#[must_use]
pub fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splice_changes_nothing_but_the_value() {
        let text = r#"{ "b" : 1.00 ,"name":"x",  "a":{"name":"x"} }"#;
        let members = Members::read(text).unwrap();
        let name = place(text, members.get("name").unwrap().get());
        assert_eq!(
            splice(text, vec![(name, quoted("files__x"))]),
            r#"{ "b" : 1.00 ,"name":"files__x",  "a":{"name":"x"} }"#
        );
    }

    #[test]
    fn removing_members_keeps_all_other_bytes() {
        for (text, kept) in [
            (r#"{ "x" :1, "k" : [1.0 ] , "\u0078":2}"#, None),
            (r#"{"k":1}"#, Some(r#"{"k":1}"#)),
            (r#"{ "x":1 }"#, Some("{ }")),
            (r#"{"x":"},{" , "y":1}"#, Some("{}")),
            (r#"{"x":1 , "k" : [1.0 ]	, "y":2 ,"\u006c":null }"#, Some(r#"{ "k" : [1.0 ] ,"\u006c":null }"#)),
            (r#"{ "k":1, "y":{"x":1},"l":2, "x":3 }"#, Some(r#"{ "k":1,"l":2 }"#)),
            (r#"{"y":[","],"x":1, "k":"," }"#, Some(r#"{ "k":"," }"#)),
            (r#"{"\u0078":1,"k":{"x":1}}"#, Some(r#"{"k":{"x":1}}"#)),
            ("{}", Some("{}")),
        ] {
            let removed = Members::read(text)
                .ok()
                .map(|members| splice(text, removal(text, &members, |name| matches!(name, "x" | "y"))));
            assert_eq!(removed.as_deref(), kept, "{text}");
        }
    }

    #[test]
    fn members_keep_order_and_bytes() {
        let members = Members::read(r#"{"z":12345678901234567890,"a":[1, 2],"z2":"\u0041"}"#).unwrap();
        assert_eq!(members.names().collect::<Vec<_>>(), ["z", "a", "z2"]);
        assert_eq!(object(members.iter()), r#"{"z":12345678901234567890,"a":[1, 2],"z2":"\u0041"}"#);
        assert_eq!(members.text("z2").as_deref(), Some("A"));
    }

    #[test]
    fn what_is_no_object_or_has_a_key_twice_is_refused() {
        let many: Vec<String> = (0..40).map(|number| format!("\"k{number}\":0")).collect();
        let many = format!("{{{},\"k7\":0}}", many.join(","));
        for text in [
            "[]",
            "1",
            "",
            "{\"a\":}",
            "null",
            "{\"a\":1} x",
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":2,"\u0061":1}"#,
            r#"{"é":1,"\u00e9":1}"#,
            r#"{"":1,"":1}"#,
            r#"{"\ud800":1}"#,
            many.as_str(),
        ] {
            assert!(Members::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn keys_that_only_look_alike_are_different() {
        for text in [r#"{"a":1,"A":1}"#, r#"{"é":1,"e\u0301":1}"#, r#"{"a":{"b":1},"c":{"b":1,"b":2}}"#] {
            assert!(Members::read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_key_without_escapes_is_borrowed() {
        let members = Members::read(r#"{"plain":1,"\u0065scaped":2}"#).unwrap();
        assert!(matches!(members.0[0].0, Cow::Borrowed("plain")));
        assert!(matches!(&members.0[1].0, Cow::Owned(name) if name == "escaped"));
    }
}
