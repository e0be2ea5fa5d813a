//! Parses `servers.json` into members, each kept as written.
//!
//! This module doesn't interpret entries; it only ensures that what isn't understood is preserved when the
//! file is rewritten.

use std::borrow::Cow;
use std::fmt::Write as _;

use gatehouse_mcp_wire::raw::{self, WrittenMembers};
use serde_json::value::RawValue;

/// The version that this Gatehouse writes.
pub(super) const VERSION: u64 = 1;

/// One entry of `mcpServers`.
#[derive(Clone, Debug)]
pub(super) struct RawEntry {
    pub(super) name: String,
    pub(super) raw: Box<RawValue>,
    /// Line on which its value starts.
    pub(super) line: usize,
}

/// The parsed file.
#[derive(Clone, Debug, Default)]
pub(super) struct ServersDocument {
    /// Version of the file; 0 if it has none.
    pub(super) version: u64,
    pub(super) entries: Vec<RawEntry>,
    /// All other members of the file.
    pub(super) rest: Vec<(String, Box<RawValue>)>,
}

/// Why the file can't be used at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidDocument {
    /// Invalid JSON or structure, at this place.
    Broken { line: usize, column: usize, reason: String },
    /// Written by a newer version.
    Newer { version: u64 },
}

/// Parses the text.
pub(super) fn read(text: &str) -> Result<ServersDocument, InvalidDocument> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let WrittenMembers(members) = serde_json::from_str(text).map_err(|e| syntax_error(&e))?;
    let mut document = ServersDocument::default();
    let (mut version, mut entries) = (None, None);
    for (name, raw) in members {
        let at = |reason: &str| {
            let (line, column) = place(text, raw);
            InvalidDocument::Broken { line, column, reason: reason.to_owned() }
        };
        match &*name {
            "version" if version.is_some() => return Err(at("“version” is there twice")),
            "mcpServers" if entries.is_some() => return Err(at("“mcpServers” is there twice")),
            "version" => {
                let number = serde_json::from_str::<u64>(raw.get())
                    .map_err(|_| at("“version” is not a whole number"))?;
                version = Some(number);
            }
            "mcpServers" => {
                let WrittenMembers(servers) =
                    serde_json::from_str(raw.get()).map_err(|_| at("“mcpServers” is not an object"))?;
                let entry = |(name, value): (Cow<'_, str>, &RawValue)| RawEntry {
                    name: name.into_owned(),
                    raw: value.to_owned(),
                    line: place(text, value).0,
                };
                entries = Some(servers.into_iter().map(entry).collect::<Vec<_>>());
            }
            _ => document.rest.push((name.into_owned(), raw.to_owned())),
        }
    }
    document.version = version.unwrap_or(0);
    if document.version > VERSION {
        return Err(InvalidDocument::Newer { version: document.version });
    }
    document.entries = entries.unwrap_or_default();
    Ok(document)
}

/// Formats the document as this version of Gatehouse does.
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

fn syntax_error(error: &serde_json::Error) -> InvalidDocument {
    let text = error.to_string();
    let reason = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned();
    InvalidDocument::Broken { line: error.line(), column: error.column(), reason }
}

/// Line and column, from 1, of a value that was parsed from this text and borrows from it.
fn place(text: &str, value: &RawValue) -> (usize, usize) {
    let before = text.get(..raw::place(text, value.get()).start).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_documents_report_line_and_column() {
        let broken =
            |line, column, reason: &str| InvalidDocument::Broken { line, column, reason: reason.to_owned() };
        for (text, wanted) in [
            ("{\n  \"version\": 1,\n}", broken(3, 1, "trailing comma")),
            ("", broken(1, 0, "EOF while parsing a value")),
            ("[]", broken(1, 0, "invalid type: sequence, expected an object")),
            ("{\"version\": \"1\"}", broken(1, 13, "“version” is not a whole number")),
            ("{\"version\":1,\n \"mcpServers\": []}", broken(2, 16, "“mcpServers” is not an object")),
            ("{\"mcpServers\":{},\"mcpServers\":{}}", broken(1, 31, "“mcpServers” is there twice")),
            ("{\"version\":2}", InvalidDocument::Newer { version: 2 }),
        ] {
            assert_eq!(read(text).unwrap_err(), wanted, "{text}");
        }
    }

    #[test]
    fn preserves_member_order_and_text() {
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

    /// Fuzz target `servers_json`: whatever was read is written back without loss; a valid entry has no
    /// duplicate field; and migrating twice is the same as migrating once.
    #[test]
    fn fuzz_servers_json() {
        use gatehouse_fuzz::{fuzz, json, mutated};
        use gatehouse_mcp_wire::json::read as read_strictly;
        use proptest::prelude::*;

        use super::super::{entry, migrate};
        let texts =
            |known: &'static [&'static str]| prop::sample::select(known).prop_map(str::to_owned).boxed();
        let entry = json::object(vec![
            ("type", texts(&["\"stdio\"", "\"http\"", "\"websocket\"", "\"builtin\"", "7"])),
            ("command", texts(&["\"npx\"", "\" \"", "null"])),
            ("args", texts(&["[]", "[\"-y\"]", "[1]"])),
            ("env", json::members(json::string(), json::string()).boxed()),
            ("url", texts(&["\"https://a.example/mcp\"", "\"ftp://a\"", "\"\""])),
            ("builtin", texts(&["{\"kind\":\"time\"}", "{\"kind\":\"files\",\"folder\":\"/a\"}", "{}"])),
            ("disabled", texts(&["true", "false", "1"])),
            ("limits", texts(&["{}", "{\"callSecs\":null}", "{\"callSecs\":1,\"callSecs\":2}"])),
            ("gatehouse", texts(&["{\"id\":\"srv-1\"}", "{}"])),
        ]);
        let entries = json::members(json::string(), prop_oneof![4 => entry, 1 => json::value()]);
        let file = json::object(vec![
            ("version", texts(&["0", "1", "1", "2", "\"1\"", "-1"])),
            ("mcpServers", prop_oneof![9 => entries, 1 => json::value()].boxed()),
            ("inputs", json::value().boxed()),
        ]);
        fuzz("servers_json", &mutated(file, json::TOKENS), |text| {
            let document = match read(&text) {
                Ok(document) => document,
                Err(InvalidDocument::Broken { line, .. }) => {
                    prop_assert!(line <= text.matches('\n').count() + 1);
                    return Ok(());
                }
                Err(InvalidDocument::Newer { version }) => {
                    prop_assert!(version > VERSION);
                    return Ok(());
                }
            };
            let named = |document: &ServersDocument| {
                document.entries.iter().map(|e| (e.name.clone(), e.raw.get().to_owned())).collect::<Vec<_>>()
            };
            let others = |document: &ServersDocument| {
                document
                    .rest
                    .iter()
                    .map(|(name, raw)| (name.clone(), raw.get().to_owned()))
                    .collect::<Vec<_>>()
            };
            let written =
                write(&named(&document), &document.rest).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let again = read(&written).map_err(|e| TestCaseError::fail(format!("{e:?}: {written}")))?;
            prop_assert_eq!(named(&again), named(&document));
            prop_assert_eq!(others(&again), others(&document));
            let present = migrate::migrate_to_current(document.clone());
            prop_assert_eq!(present.version, VERSION);
            prop_assert_eq!(present.entries.len(), document.entries.len());
            prop_assert_eq!(named(&migrate::migrate_to_current(present.clone())), named(&present));
            for one in &present.entries {
                if entry::read(&one.raw).is_ok() {
                    prop_assert!(read_strictly(one.raw.get()).is_ok(), "{}", one.raw);
                }
            }
            Ok(())
        })
        .unwrap();
    }
}
