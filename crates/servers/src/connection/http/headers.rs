//! Headers of the stateless revision: method, name, and the arguments that a tool's schema asks to
//! have as headers (`x-mcp-header`).
//!
//! A middle box may route by them, so they say exactly what the body says; a number goes out as it
//! is written there.

use std::borrow::Cow;
use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::RwLock;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::outgoing::OutgoingParams;

const MARK: (&str, &str) = ("=?base64?", "?=");
const ANNOTATION: &str = "x-mcp-header";

/// The annotated arguments of each tool, taken from the lists that the server gives.
#[derive(Default)]
pub(super) struct ParamHeaders {
    tools: RwLock<HashMap<String, Vec<Annotated>>>,
}

/// An argument that goes out as a header too.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Annotated {
    path: Vec<String>,
    header: String,
}

impl ParamHeaders {
    /// Learns from the result of a `tools/list`.
    pub(super) fn learn(&self, result: &RawValue) {
        #[derive(Deserialize)]
        struct Listed<'a> {
            #[serde(borrow, default)]
            tools: Vec<&'a RawValue>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Tool {
            name: String,
            #[serde(default)]
            input_schema: Value,
        }
        let Ok(Listed { tools }) = serde_json::from_str::<Listed<'_>>(result.get()) else { return };
        for raw in tools {
            // Most schemas have none; those are not parsed.
            let annotated = raw.get().contains(ANNOTATION);
            if !annotated && self.tools.read().is_empty() {
                continue;
            }
            let Ok(tool) = serde_json::from_str::<Tool>(raw.get()) else { continue };
            let mut found = Vec::new();
            if annotated {
                collect(&tool.input_schema, &mut Vec::new(), &mut found);
            }
            if found.is_empty() {
                self.tools.write().remove(&tool.name);
            } else {
                self.tools.write().insert(tool.name, found);
            }
        }
    }

    /// Adds the headers of a call.
    fn add(&self, tool: &str, arguments: &RawValue, headers: &mut HeaderMap) {
        let tools = self.tools.read();
        let Some(annotated) = tools.get(tool) else { return };
        for Annotated { path, header } in annotated {
            if let Some(text) = argument(arguments, path)
                && let Ok(name) = HeaderName::from_bytes(format!("mcp-param-{header}").as_bytes())
                && let Ok(value) = HeaderValue::from_str(&encode(&text))
            {
                headers.insert(name, value);
            }
        }
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Annotated>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get(ANNOTATION).and_then(Value::as_str)
            && !header.is_empty()
        {
            found.push(Annotated { path: path.clone(), header: header.to_owned() });
        }
        collect(property, path, found);
        path.pop();
    }
}

/// The text of a primitive argument; a number as it is written.
fn argument(arguments: &RawValue, path: &[String]) -> Option<String> {
    let mut here = Cow::Borrowed(arguments);
    for step in path {
        let members: HashMap<String, Box<RawValue>> = serde_json::from_str(here.get()).ok()?;
        here = Cow::Owned(members.into_iter().find(|(name, _)| name == step)?.1);
    }
    match here.get().as_bytes().first()? {
        b'"' => serde_json::from_str(here.get()).ok(),
        b'{' | b'[' | b'n' => None,
        _ => Some(here.get().to_owned()),
    }
}

/// A text as a header's value: as it is where it can be, else wrapped.
fn encode(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim_matches(' ').len() != text.len();
    let looks_wrapped = text.starts_with(MARK.0) && text.ends_with(MARK.1);
    if trimmed || looks_wrapped || !text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        Cow::Owned(format!("{}{}{}", MARK.0, BASE64_STANDARD.encode(text), MARK.1))
    } else {
        Cow::Borrowed(text)
    }
}

/// The headers that say what is in the body.
pub(super) fn of_request(method: &str, params: &OutgoingParams, annotated: &ParamHeaders) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put("mcp-method", method);
    let named_by = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    };
    let name = named_by.and_then(|member| params.text(member));
    if let Some(name) = &name {
        put("mcp-name", &encode(name));
    }
    if method == "tools/call"
        && let (Some(name), Some(arguments)) = (name, params.get("arguments"))
    {
        annotated.add(&name, arguments, &mut headers);
    }
    headers
}

/// What is wrong with the `x-mcp-header` annotations of a tool's input schema, if anything is. A
/// tool with a wrong one must not be offered (TOOL-3).
#[must_use]
pub fn param_header_fault(input_schema: &str) -> Option<String> {
    if !input_schema.contains(ANNOTATION) {
        return None;
    }
    let schema: Value = serde_json::from_str(input_schema).ok()?;
    let mut seen = Vec::new();
    fault_in(&schema, Place::Root, &mut seen)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Property,
    Elsewhere,
}

fn fault_in(schema: &Value, place: Place, seen: &mut Vec<String>) -> Option<String> {
    match schema {
        Value::Array(items) => items.iter().find_map(|item| fault_in(item, Place::Elsewhere, seen)),
        Value::Object(members) => members.iter().find_map(|(key, value)| match key.as_str() {
            ANNOTATION => annotation_fault(schema, value, place, seen),
            "properties" => {
                let inside = if place == Place::Elsewhere { Place::Elsewhere } else { Place::Property };
                value.as_object()?.values().find_map(|property| fault_in(property, inside, seen))
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                value.as_object()?.values().find_map(|schema| fault_in(schema, Place::Elsewhere, seen))
            }
            // What is in these is data, not a schema.
            "default" | "const" | "enum" | "examples" => None,
            _ => fault_in(value, Place::Elsewhere, seen),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn annotation_fault(schema: &Value, header: &Value, place: Place, seen: &mut Vec<String>) -> Option<String> {
    if place != Place::Property {
        return Some(
            "x-mcp-header may only stand at a property that is reached through properties alone".to_owned(),
        );
    }
    let Some(header) = header.as_str() else { return Some("x-mcp-header must be a text".to_owned()) };
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if header.is_empty() || !header.bytes().all(token) {
        return Some(format!("x-mcp-header \"{}\" is no name for a header", header.escape_debug()));
    }
    let lower = header.to_ascii_lowercase();
    if seen.contains(&lower) {
        return Some(format!("two properties have the x-mcp-header \"{header}\""));
    }
    seen.push(lower);
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => None,
        _ => {
            Some(format!("the property with x-mcp-header \"{header}\" is neither text, integer nor boolean"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn values_travel_plain_where_they_can() {
        let table = [
            ("us-east", "us-east"),
            ("a b", "a b"),
            ("", ""),
            (" a", "=?base64?IGE=?="),
            ("gr\u{fc}n", "=?base64?Z3LDvG4=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
        ];
        for (text, expected) in table {
            assert_eq!(encode(text), expected, "{text:?}");
        }
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let annotated = ParamHeaders::default();
        annotated.learn(&raw(
            r#"{"tools":[{"name":"other","inputSchema":{}},{"name":"q","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},
                "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},
                "gone":{"type":"string","x-mcp-header":"Gone"},
                "free":{"type":"string"}}}}]}"#,
        ));
        let params = OutgoingParams::none().with_text("name", "q").with(
            "arguments",
            raw(r#"{"region":"eu \u00e9","deep":{"n":12345678901234567890},"gone":null,"free":"x"}"#),
        );
        let headers = of_request("tools/call", &params, &annotated);
        let get = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(get("mcp-method"), Some("tools/call"));
        assert_eq!(get("mcp-name"), Some("q"));
        assert_eq!(get("mcp-param-region"), Some("=?base64?ZXUgw6k=?="));
        assert_eq!(get("mcp-param-n"), Some("12345678901234567890"));
        assert_eq!(get("mcp-param-gone"), None);
        assert_eq!(headers.len(), 4);

        annotated.learn(&raw(
            r#"{"tools":[{"name":"q","inputSchema":{"properties":{"region":{"type":"string"}}}}]}"#,
        ));
        assert_eq!(of_request("tools/call", &params, &annotated).len(), 2, "a new list without annotations");
    }

    #[test]
    fn wrong_annotations_are_named() {
        let table = [
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#, None),
            (r#"{"properties":{"a":{"type":"object","default":{"x-mcp-header":1}}}}"#, None),
            (r#"{"x-mcp-header":"A"}"#, Some("reached through properties")),
            (
                r#"{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}"#,
                Some("reached through properties"),
            ),
            (
                r#"{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}"#,
                Some("reached through"),
            ),
            (r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#, Some("neither text")),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}"#, Some("no name")),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":3}}}"#, Some("must be a text")),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                Some("two properties"),
            ),
        ];
        for (schema, expected) in table {
            match (param_header_fault(schema), expected) {
                (None, None) => {}
                (Some(fault), Some(words)) if fault.contains(words) => {}
                (fault, _) => panic!("{schema}: {fault:?}"),
            }
        }
    }
}
