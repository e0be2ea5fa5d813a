//! The text of `servers.json` taken apart member by member, each kept as it was written.
//!
//! Nothing here knows what an entry means; it only makes sure that what is not understood is not
//! lost when the file is written again.

use std::fmt;
use std::fmt::Write as _;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The version that this Gatehouse writes.
pub(super) const VERSION: u64 = 1;

/// The members of a JSON object in their order, repeated names included.
pub(super) struct Members<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// One entry under `mcpServers`.
#[derive(Clone, Debug)]
pub(super) struct RawEntry {
    pub(super) name: String,
    pub(super) raw: Box<RawValue>,
    /// Line that its value begins on.
    pub(super) line: usize,
}

/// The file taken apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    /// As the file says; 0 where it says nothing.
    pub(super) version: u64,
    pub(super) entries: Vec<RawEntry>,
    /// All other members of the file.
    pub(super) rest: Vec<(String, Box<RawValue>)>,
}

/// Why the file cannot be used at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is not what it should be, at this place.
    Broken { line: usize, column: usize, reason: String },
    /// It was written by a newer version.
    Newer { version: u64 },
}

/// Takes the text apart.
pub(super) fn read(text: &str) -> Result<Document, Unusable> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Members(members) = serde_json::from_str(text).map_err(|e| syntax(&e))?;
    let mut document = Document::default();
    let (mut version, mut entries) = (None, None);
    for (name, raw) in members {
        let at = |reason: &str| {
            let (line, column) = place(text, raw);
            Unusable::Broken { line, column, reason: reason.to_owned() }
        };
        match name.as_str() {
            "version" if version.is_some() => return Err(at("“version” is there twice")),
            "mcpServers" if entries.is_some() => return Err(at("“mcpServers” is there twice")),
            "version" => {
                let number = serde_json::from_str::<u64>(raw.get())
                    .map_err(|_| at("“version” is not a whole number"))?;
                version = Some(number);
            }
            "mcpServers" => {
                let Members(servers) =
                    serde_json::from_str(raw.get()).map_err(|_| at("“mcpServers” is not an object"))?;
                let entry = |(name, value): (String, &RawValue)| RawEntry {
                    name,
                    raw: value.to_owned(),
                    line: place(text, value).0,
                };
                entries = Some(servers.into_iter().map(entry).collect::<Vec<_>>());
            }
            _ => document.rest.push((name, raw.to_owned())),
        }
    }
    document.version = version.unwrap_or(0);
    if document.version > VERSION {
        return Err(Unusable::Newer { version: document.version });
    }
    document.entries = entries.unwrap_or_default();
    Ok(document)
}

/// Writes the document as this version of Gatehouse does.
pub(super) fn write(
    entries: &[(String, String)],
    rest: &[(String, Box<RawValue>)],
) -> serde_json::Result<String> {
    let mut text = format!("{{\n  \"version\": {VERSION},\n  \"mcpServers\": {{");
    let member = |text: &mut String, indent: &str, first: bool, (name, value): (&str, &str)| {
        if !first {
            text.push(',');
        }
        let name = serde_json::to_string(name)?;
        write!(text, "\n{indent}{name}: {value}").map_err(serde::ser::Error::custom)
    };
    for (index, (name, value)) in entries.iter().enumerate() {
        member(&mut text, "    ", index == 0, (name, value))?;
    }
    text.push_str(if entries.is_empty() { "}" } else { "\n  }" });
    for (name, value) in rest {
        member(&mut text, "  ", false, (name, value.get()))?;
    }
    text.push_str("\n}\n");
    Ok(text)
}

fn syntax(error: &serde_json::Error) -> Unusable {
    let text = error.to_string();
    let reason = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned();
    Unusable::Broken { line: error.line(), column: error.column(), reason }
}

/// Line and column, from 1, of a value that was read out of this very text.
fn place(text: &str, value: &RawValue) -> (usize, usize) {
    let offset = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_says_where() {
        let broken =
            |line, column, reason: &str| Unusable::Broken { line, column, reason: reason.to_owned() };
        for (text, wanted) in [
            ("{\n  \"version\": 1,\n}", broken(3, 1, "trailing comma")),
            ("", broken(1, 0, "EOF while parsing a value")),
            ("[]", broken(1, 0, "invalid type: sequence, expected an object")),
            ("{\"version\": \"1\"}", broken(1, 13, "“version” is not a whole number")),
            ("{\"version\":1,\n \"mcpServers\": []}", broken(2, 16, "“mcpServers” is not an object")),
            ("{\"mcpServers\":{},\"mcpServers\":{}}", broken(1, 31, "“mcpServers” is there twice")),
            ("{\"version\":2}", Unusable::Newer { version: 2 }),
        ] {
            assert_eq!(read(text).unwrap_err(), wanted, "{text}");
        }
    }

    #[test]
    fn members_keep_order_text_and_place() {
        let document =
            read("\u{feff}{\"x\":  [1 ],\n\"mcpServers\":{\"b\":{ },\n \"a\":{\"k\":1.0}}}").unwrap();
        let entries: Vec<_> =
            document.entries.iter().map(|e| (e.name.as_str(), e.raw.get(), e.line)).collect();
        assert_eq!(entries, [("b", "{ }", 2), ("a", "{\"k\":1.0}", 3)]);
        assert_eq!(document.rest[0].1.get(), "[1 ]");
        let text = write(&[("b".into(), "{ }".into())], &document.rest).unwrap();
        assert_eq!(
            text,
            "{\n  \"version\": 1,\n  \"mcpServers\": {\n    \"b\": { }\n  },\n  \"x\": [1 ]\n}\n"
        );
    }
}
