//! The `x-mcp-header` annotations of an input schema (revision 2026-07-28): a tool whose
//! annotations break the rules is not offered at all, since its calls could not be sent rightly.

use std::collections::HashSet;

use crate::raw::Members;

const MEMBER: &str = "x-mcp-header";

/// Checks all annotations of an input schema.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn check_headers(schema: &str) -> Result<(), String> {
    // Nearly no schema has one, so nearly none is walked.
    if !schema.contains("mcp-header") && !schema.contains("\\u") {
        return Ok(());
    }
    let mut seen = HashSet::new();
    walk(schema, Place::Root, &mut seen)
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the input schema itself.
    Root,
    /// It is reached from the root through `properties` alone.
    Property,
    /// Anywhere else.
    Elsewhere,
}

fn walk(schema: &str, at: Place, seen: &mut HashSet<String>) -> Result<(), String> {
    let Some(members) = Members::read(schema) else {
        return match serde_json::from_str::<Vec<&serde_json::value::RawValue>>(schema) {
            Ok(items) => items.into_iter().try_for_each(|item| walk(item.get(), Place::Elsewhere, seen)),
            Err(_) => Ok(()),
        };
    };
    if let Some(value) = members.get(MEMBER) {
        match at {
            Place::Root => return Err(format!("{MEMBER} stands on the input schema itself.")),
            Place::Elsewhere => {
                return Err(format!("{MEMBER} stands where only properties lead to no argument."));
            }
            Place::Property => annotation(value.get(), members.text("type").as_deref(), seen)?,
        }
    }
    for (name, value) in members.iter() {
        match name {
            // Data, not schemas.
            "default" | "const" | "enum" | "examples" | MEMBER => {}
            "properties" => {
                let below = if at == Place::Elsewhere { Place::Elsewhere } else { Place::Property };
                each(value.get(), below, seen)?;
            }
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => {
                each(value.get(), Place::Elsewhere, seen)?;
            }
            _ => walk(value.get(), Place::Elsewhere, seen)?,
        }
    }
    Ok(())
}

/// A map from names to schemas.
fn each(map: &str, at: Place, seen: &mut HashSet<String>) -> Result<(), String> {
    let Some(members) = Members::read(map) else { return Ok(()) };
    members.iter().try_for_each(|(_, schema)| walk(schema.get(), at, seen))
}

fn annotation(value: &str, kind: Option<&str>, seen: &mut HashSet<String>) -> Result<(), String> {
    let Ok(header) = serde_json::from_str::<String>(value) else {
        return Err(format!("{MEMBER} is not a text."));
    };
    if header.is_empty() {
        return Err(format!("{MEMBER} is empty."));
    }
    if !header.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return Err(format!("{MEMBER} is not a legal header name."));
    }
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "{MEMBER} “{header}” stands on an argument that is not a text, whole number or boolean."
        ));
    }
    if !seen.insert(header.to_ascii_lowercase()) {
        return Err(format!("{MEMBER} “{header}” is there twice."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_follow_the_rules() {
        for (schema, fine) in [
            (r#"{}"#, true),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}"#, true),
            (r#"{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"N"}}}}}"#, true),
            (r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, true),
            (r#"{"properties":{"a":{"type":"string","default":{"x-mcp-header":""}}}}"#, true),
            (r#"{"x-mcp-header":"A"}"#, false),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#, false),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#, false),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#, false),
            (r#"{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}"#, false),
            (r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#, false),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                false,
            ),
            (r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#, false),
            (r#"{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#, false),
            (r#"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#, false),
            (r#"{"properties":{"a":{"type":"string","x-mcp-\u0068eader":""}}}"#, false),
        ] {
            assert_eq!(check_headers(schema).is_ok(), fine, "{schema}");
        }
    }
}
