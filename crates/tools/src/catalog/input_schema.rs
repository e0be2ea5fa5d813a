//! Completes input schemas for clients. Many clients drop a tool, or the whole list, if an input schema lacks
//! `type: object` or `properties`. Arguments are always an object, so what is added here says nothing that the schema
//! didn't say. Everything else, fingerprints too, is about what the server sent.

use std::ops::Range;

use gatehouse_mcp_wire::raw::{Members, place};
use serde_json::value::RawValue;

const EMPTY: &str = r#"{"type":"object","properties":{}}"#;

/// The edits of a tool's definition that complete its input schema; none if it is complete, or is for something other
/// than an object. A list that is to stay as its server wrote it leaves these out.
pub(crate) fn completion(definition: &str, members: &Members<'_>) -> Vec<(Range<usize>, String)> {
    let Some(schema) = members.get("inputSchema") else {
        let inside = definition.len() - definition.trim_start().len() + 1;
        let comma = if members.names().next().is_none() { "" } else { "," };
        return vec![(inside..inside, format!(r#""inputSchema":{EMPTY}{comma}"#))];
    };
    let at = place(definition, schema.get());
    if is_null(schema) {
        return vec![(at, EMPTY.to_owned())];
    }
    let Ok(keywords) = Members::of(schema) else { return Vec::new() };
    let mut edits = Vec::new();
    let mut missing = Vec::new();
    match keywords.get("type") {
        None => missing.push(r#""type":"object""#),
        Some(kind) if is_null(kind) || is_union_with_object(kind) => {
            edits.push((place(definition, kind.get()), r#""object""#.to_owned()));
        }
        Some(kind) if serde_json::from_str::<String>(kind.get()).is_ok_and(|kind| kind == "object") => {}
        Some(_) => return Vec::new(),
    }
    match keywords.get("properties") {
        None => missing.push(r#""properties":{}"#),
        Some(properties) if is_null(properties) || is_empty_array(properties) => {
            edits.push((place(definition, properties.get()), "{}".to_owned()));
        }
        Some(_) => {}
    }
    if let Some(required) = keywords.get("required").filter(|required| is_null(required)) {
        edits.push((place(definition, required.get()), "[]".to_owned()));
    }
    if !missing.is_empty() {
        let comma = if keywords.names().next().is_none() { "" } else { "," };
        edits.push((at.start + 1..at.start + 1, format!("{}{comma}", missing.join(","))));
    }
    edits
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// Some languages write an empty object so.
fn is_empty_array(value: &RawValue) -> bool {
    serde_json::from_str::<Vec<&RawValue>>(value.get()).is_ok_and(|items| items.is_empty())
}

/// Whether several types are allowed, objects among them.
fn is_union_with_object(kind: &RawValue) -> bool {
    serde_json::from_str::<Vec<String>>(kind.get())
        .is_ok_and(|kinds| kinds.iter().any(|kind| kind == "object"))
}

#[cfg(test)]
mod tests {
    use gatehouse_mcp_wire::raw::splice;

    use super::*;

    fn completed(definition: &str) -> String {
        let members = Members::read(definition).unwrap();
        splice(definition, completion(definition, &members))
    }

    #[test]
    fn completes_schema_and_keeps_other_bytes() {
        let of = |schema: &str| format!(r#"{{ "name":"a" ,"inputSchema": {schema},"n":1.00}}"#);
        for (before, after) in [
            ("{}", EMPTY),
            ("{ }", r#"{"type":"object","properties":{} }"#),
            ("null", EMPTY),
            (r#"{"type":"object"}"#, r#"{"properties":{},"type":"object"}"#),
            (r#"{"properties":{"x": 1e0}}"#, r#"{"type":"object","properties":{"x": 1e0}}"#),
            (
                r#"{"$schema":"s","additionalProperties":false}"#,
                r#"{"type":"object","properties":{},"$schema":"s","additionalProperties":false}"#,
            ),
            (
                r#"{"type": null, "properties" :null,"required":null}"#,
                r#"{"type": "object", "properties" :{},"required":[]}"#,
            ),
            (r#"{"type":["null","object"],"properties":[ ]}"#, r#"{"type":"object","properties":{}}"#),
            // Complete, or not for an object.
            (r#"{"type":"object","properties":{}}"#, r#"{"type":"object","properties":{}}"#),
            (r#"{"type":"obje\u0063t","properties":{}}"#, r#"{"type":"obje\u0063t","properties":{}}"#),
            (r#"{"type":"string"}"#, r#"{"type":"string"}"#),
            (r#"{"type":7,"properties":null}"#, r#"{"type":7,"properties":null}"#),
            (r#"{"type":"object","properties":[1]}"#, r#"{"type":"object","properties":[1]}"#),
        ] {
            assert_eq!(completed(&of(before)), of(after), "{before}");
        }
        assert_eq!(completed(r#"{"name":"a"}"#), format!(r#"{{"inputSchema":{EMPTY},"name":"a"}}"#));
    }
}
