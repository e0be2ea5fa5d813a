//! Objects as raw JSON: looking at their members and exchanging single values without touching any
//! other byte. Never builds a tree of values.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order, values as they are written.
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; `None` when the text is none.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of a member; the last one where a name is there twice, as most readers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// All members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The value of a member that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The value of a member that is true or false.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// Where a part lies in the text that it was borrowed from.
pub(crate) fn place(whole: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize).min(whole.len());
    start..(start + part.len()).min(whole.len())
}

/// Exchanges the given places of a text; places must not overlap.
pub(crate) fn splice(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
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

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    // A text can always be written as JSON.
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

/// An object of the given members.
pub(crate) fn object<'a>(members: impl Iterator<Item = (&'a str, &'a RawValue)>) -> String {
    let mut out = String::from("{");
    for (name, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&quoted(name));
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    out
}

/// JSON text as a raw value; `null` if it is not JSON after all.
pub(crate) fn raw(text: String) -> Box<RawValue> {
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
    fn members_keep_order_and_bytes() {
        let members = Members::read(r#"{"z":12345678901234567890,"a":[1, 2],"z2":"\u0041"}"#).unwrap();
        assert_eq!(members.names().collect::<Vec<_>>(), ["z", "a", "z2"]);
        assert_eq!(object(members.iter()), r#"{"z":12345678901234567890,"a":[1, 2],"z2":"\u0041"}"#);
        assert_eq!(members.text("z2").as_deref(), Some("A"));
    }

    #[test]
    fn what_is_no_object_has_no_members() {
        for text in ["[]", "1", "", "{\"a\":}", "null"] {
            assert!(Members::read(text).is_none(), "{text}");
        }
    }
}
