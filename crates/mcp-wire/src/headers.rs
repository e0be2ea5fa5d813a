//! The MCP headers of the stateless revision that repeat parts of the body: `Mcp-Method`, `Mcp-Name`,
//! and one `Mcp-Param-*` for each argument whose schema requests it with `x-mcp-header`.
//!
//! Intermediaries may act on the headers alone, so they must match the body exactly: one side writes
//! them and the other compares them by the strict rules here. A number has the same text as in the body.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderName;
use serde_json::value::RawValue;

use crate::json::{self, Json};
use crate::raw::{Members, text_of};

pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAM: &str = "mcp-param-";

/// The schema keyword that names the header for an argument.
const ANNOTATION: &str = "x-mcp-header";

const WRAPPED: (&str, &str) = ("=?base64?", "?=");

/// The member of `params` that the header `Mcp-Name` repeats.
#[must_use]
pub fn name_member(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// A text as a header value: unchanged if possible, else encoded as `=?base64?…?=`.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim_matches(' ').len() != text.len();
    let looks_wrapped = text.starts_with(WRAPPED.0) && text.ends_with(WRAPPED.1);
    if trimmed || looks_wrapped || !text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        Cow::Owned(format!("{}{}{}", WRAPPED.0, STANDARD.encode(text), WRAPPED.1))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text of a header value; `None` if the encoding is invalid.
#[must_use]
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix(WRAPPED.0).and_then(|inner| inner.strip_suffix(WRAPPED.1)) {
        None => Some(value.into()),
        Some(inner) => {
            STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
        }
    }
}

/// One argument that a tool's schema requires to be repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    pub name: HeaderName,
    /// The property names that lead to the argument.
    path: Vec<String>,
}

impl ParamHeader {
    /// All of them in a tool's definition.
    ///
    /// # Errors
    /// A message that says what is wrong with the annotations: a tool with an invalid one must be left
    /// out of the catalog, since its calls could not be sent correctly (TOOL-3).
    pub fn of_tool(definition: &RawValue) -> Result<Vec<Self>, String> {
        if !may_be_annotated(definition.get()) {
            return Ok(Vec::new());
        }
        let members = Members::of(definition).map_err(|_| "Its definition cannot be read.")?;
        members.get("inputSchema").map_or_else(|| Ok(Vec::new()), |schema| Self::of_schema(schema.get()))
    }

    /// All of them in an input schema.
    ///
    /// # Errors
    /// As [`of_tool`](Self::of_tool).
    pub fn of_schema(schema: &str) -> Result<Vec<Self>, String> {
        if !may_be_annotated(schema) {
            return Ok(Vec::new());
        }
        let schema = json::read(schema)
            .map_err(|defect| format!("Its inputSchema cannot be read safely: {defect}."))?;
        let mut found = Vec::new();
        walk(&schema, &SchemaPosition::Root, &mut found)?;
        Ok(found)
    }

    /// The value of the argument: the text of a string, or a number or boolean as written. `None` if the
    /// argument is absent, `null`, an object or an array.
    pub fn value_in<'a>(&self, arguments: &'a RawValue) -> Option<Cow<'a, str>> {
        let mut here = arguments;
        for step in &self.path {
            here = Members::of(here).ok()?.get(step)?;
        }
        match here.get().as_bytes().first()? {
            b'"' => text_of(here),
            b't' | b'f' | b'-' | b'0'..=b'9' => Some(Cow::Borrowed(here.get())),
            _ => None,
        }
    }
}

/// Fast path: schemas with annotations are rare, so nearly no schema is parsed. An annotation spelled
/// with escapes contains escapes in the ASCII range.
fn may_be_annotated(text: &str) -> bool {
    text.contains("mcp-header") || text.contains("\\u00")
}

enum SchemaPosition {
    Root,
    /// Reached from the root through `properties` of these names only.
    Property(Vec<String>),
    Elsewhere,
}

fn walk(schema: &Json, at: &SchemaPosition, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let members = match schema {
        Json::Object(members) => members,
        Json::Array(items) => {
            return items.iter().try_for_each(|item| walk(item, &SchemaPosition::Elsewhere, found));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return Ok(()),
    };
    if let Some(annotation) = schema.get(ANNOTATION) {
        match at {
            SchemaPosition::Root => return Err(format!("{ANNOTATION} stands on the input schema itself.")),
            SchemaPosition::Elsewhere => {
                return Err(format!("{ANNOTATION} stands where only properties lead to no argument."));
            }
            SchemaPosition::Property(path) => {
                let name = header_name(annotation, schema.get("type").and_then(Json::as_str))?;
                if found.iter().any(|other| other.name == name) {
                    return Err(format!("{ANNOTATION} “{}” is there twice.", shown(annotation)));
                }
                found.push(ParamHeader { name, path: path.clone() });
            }
        }
    }
    for (name, value) in members {
        match &**name {
            // Data, not schemas.
            "default" | "const" | "enum" | "examples" | ANNOTATION => {}
            "properties" => {
                for (property, schema) in members_of(value) {
                    let below = match at {
                        SchemaPosition::Root => SchemaPosition::Property(vec![property.to_string()]),
                        SchemaPosition::Property(path) => SchemaPosition::Property(
                            path.iter().cloned().chain([property.to_string()]).collect(),
                        ),
                        SchemaPosition::Elsewhere => SchemaPosition::Elsewhere,
                    };
                    walk(schema, &below, found)?;
                }
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                for (_, schema) in members_of(value) {
                    walk(schema, &SchemaPosition::Elsewhere, found)?;
                }
            }
            _ => walk(value, &SchemaPosition::Elsewhere, found)?,
        }
    }
    Ok(())
}

/// The entries of a map from names to schemas; any other value has none.
fn members_of(map: &Json) -> &[(Box<str>, Json)] {
    match map {
        Json::Object(members) => members,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => &[],
    }
}

fn header_name(annotation: &Json, kind: Option<&str>) -> Result<HeaderName, String> {
    let Some(text) = annotation.as_str() else { return Err(format!("{ANNOTATION} is not a text.")) };
    if text.is_empty() {
        return Err(format!("{ANNOTATION} is empty."));
    }
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let name = HeaderName::from_bytes(format!("{PARAM}{text}").as_bytes());
    let Some(name) = name.ok().filter(|_| text.bytes().all(token)) else {
        return Err(format!("{ANNOTATION} is not a legal header name."));
    };
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "{ANNOTATION} “{text}” stands on an argument that is not a text, whole number or boolean."
        ));
    }
    Ok(name)
}

fn shown(annotation: &Json) -> &str {
    annotation.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn values_travel_plain_where_they_can() {
        for (text, expected) in [
            ("us-east", "us-east"),
            ("a b", "a b"),
            ("", ""),
            (" a", "=?base64?IGE=?="),
            ("gr\u{fc}n", "=?base64?Z3LDvG4=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ] {
            assert_eq!(encode(text), expected, "{text:?}");
            assert_eq!(decode(expected).as_deref(), Some(text), "{text:?}");
        }
        for wrong in ["=?base64?x?=", "=?base64?/w==?=", "=?base64?YQ?="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn annotations_follow_the_rules() {
        for (schema, fault) in [
            (r#"{}"#, None),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}"#, None),
            (r#"{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"N"}}}}}"#, None),
            (r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, None),
            (r#"{"properties":{"a":{"type":"string","default":{"x-mcp-header":""}}}}"#, None),
            (r#"{"properties":{"a":{"type":"object","const":{"x-mcp-header":1}}}}"#, None),
            (r#"{"x-mcp-header":"A"}"#, Some("on the input schema itself")),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#, Some("is empty")),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#, Some("not a text")),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
                Some("not a legal header name"),
            ),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}"#,
                Some("not a legal header name"),
            ),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"ü"}}}"#, Some("not a legal header name")),
            (r#"{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}"#, Some("not a text, whole number")),
            (
                r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
                Some("not a text, whole number"),
            ),
            (r#"{"properties":{"a":{"x-mcp-header":"A"}}}"#, Some("not a text, whole number")),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                Some("twice"),
            ),
            (
                r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
                Some("only properties"),
            ),
            (
                r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
                Some("only properties"),
            ),
            (r#"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#, Some("only properties")),
            (
                r#"{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}"#,
                Some("only properties"),
            ),
            (r#"{"properties":{"a":{"type":"string","x-mcp-\u0068eader":""}}}"#, Some("is empty")),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A","x-mcp-\u0068eader":"B"}}}"#,
                Some("occurs twice"),
            ),
        ] {
            match (ParamHeader::of_schema(schema), fault) {
                (Ok(_), None) => {}
                (Err(found), Some(words)) if found.contains(words) => {}
                (found, _) => panic!("{schema}: {found:?}"),
            }
        }
        let deep = format!("{}\"x-mcp-header\":1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(ParamHeader::of_schema(&deep).is_err());
    }

    #[test]
    fn the_value_of_an_argument_is_what_is_written() {
        let tool = raw(r#"{"name":"q","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-h\u0065ader":"N"}}}}}}"#);
        let found = ParamHeader::of_tool(&tool).unwrap();
        assert_eq!(
            found.iter().map(|header| header.name.as_str()).collect::<Vec<_>>(),
            ["mcp-param-region", "mcp-param-n"]
        );
        for (arguments, region, n) in [
            (
                r#"{"region":"eu \u00e9","deep":{"n":12345678901234567890}}"#,
                Some("eu é"),
                Some("12345678901234567890"),
            ),
            (r#"{"reg\u0069on":"eu","deep":{"n":1.0}}"#, Some("eu"), Some("1.0")),
            (r#"{"region":null,"deep":{"n":{}}}"#, None, None),
            (r#"{"region":true,"deep":[1]}"#, Some("true"), None),
            (r#"{"region":"a","region":"b"}"#, None, None),
            ("[]", None, None),
        ] {
            let arguments = raw(arguments);
            let values: Vec<_> = found.iter().map(|header| header.value_in(&arguments)).collect();
            assert_eq!((values[0].as_deref(), values[1].as_deref()), (region, n), "{arguments}");
        }
    }
}
