//! Schemas that would grow or go on without end.

use std::time::{Duration, Instant};

use gatehouse_models::adapters::{AdaptedTools, ToolFormat};
use serde_json::Value;

use crate::json;

/// All formats take these schemas in bounded time and space, and write JSON.
fn assert_bounded(schema: &str) {
    let tool = json(&format!(r#"{{"name":"a","inputSchema":{schema}}}"#));
    for format in ToolFormat::ALL {
        let began = Instant::now();
        let adapted = AdaptedTools::new(format, std::iter::once(&*tool));
        assert!(began.elapsed() < Duration::from_secs(20), "{format:?}: {schema:.80}");
        for definition in adapted.definitions() {
            assert!(definition.get().len() < 8 * 1024 * 1024, "{format:?}: {schema:.80}");
            serde_json::from_str::<Value>(definition.get()).unwrap();
        }
        for tool in adapted.simplified() {
            assert!(tool.changes.len() <= 200);
        }
    }
}

#[test]
fn references_do_not_multiply_without_end() {
    let chain = |link: &dyn Fn(usize) -> String| {
        let links: String = (0..40).map(|n| format!(r#""d{n}":{},"#, link(n + 1))).collect();
        format!(
            r##"{{"type":"object","properties":{{"a":{{"$ref":"#/$defs/d0"}}}},"$defs":{{{links}"d40":{{"type":"string"}}}}}}"##
        )
    };
    assert_bounded(&chain(&|n| {
        format!(r##"{{"allOf":[{{"$ref":"#/$defs/d{n}"}},{{"$ref":"#/$defs/d{n}"}}]}}"##)
    }));
    assert_bounded(&chain(&|n| {
        format!(r##"{{"anyOf":[{{"$ref":"#/$defs/d{n}"}},{{"$ref":"#/$defs/d{n}"}}]}}"##)
    }));
    assert_bounded(&chain(&|n| {
        format!(
            r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/d{n}"}},"y":{{"$ref":"#/$defs/d{n}"}}}}}}"##
        )
    }));
    assert_bounded(&chain(&|n| {
        format!(
            r##"{{"properties":{{"x":{{"type":"string"}}}},"anyOf":[{{"$ref":"#/$defs/d{n}"}},{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/d{n}"}}}}}}]}}"##
        )
    }));
}

#[test]
fn circles_of_references_end() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##,
        r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}"##,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}"##,
        r##"{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}"##,
        r##"{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/properties/a"},{"$ref":"#"}]}}}"##,
        r##"{"type":"object","properties":{"a":{"items":{"$ref":"#/properties/a/items"}}}}"##,
        r##"{"type":"object","properties":{"a":{"type":["object","array"],"items":{"$ref":"#"},"properties":{"b":{"$ref":"#"}}}}}"##,
    ] {
        assert_bounded(schema);
    }
}

#[test]
fn deep_and_wide_schemas_are_cut() {
    let deep = format!("{}{{}}{}", r#"{"type":"object","properties":{"a":"#.repeat(60), "}}".repeat(60));
    assert_bounded(&deep);
    let unions = format!("{}{{}}{}", r#"{"anyOf":[{"type":"string"},"#.repeat(60), "]}".repeat(60));
    assert_bounded(&format!(r#"{{"type":"object","properties":{{"a":{unions}}}}}"#));
    let wide: Vec<String> = (0..10_000).map(|n| format!(r#""p{n}":{{"type":"string"}}"#)).collect();
    let names: Vec<String> = (0..10_000).map(|n| format!("\"p{n}\"")).collect();
    let wide = format!(r#"{{"properties":{{{}}},"required":[{}]}}"#, wide.join(","), names.join(","));
    assert_bounded(&wide);
    assert_bounded(&format!(r#"{{"allOf":[{wide},{wide}],"anyOf":[{wide},{wide}]}}"#));
    let text = "x".repeat(200_000);
    let uses: Vec<String> = (0..1_000).map(|n| format!(r##""p{n}":{{"$ref":"#/$defs/t"}}"##)).collect();
    assert_bounded(&format!(
        r#"{{"type":"object","properties":{{{}}},"$defs":{{"t":{{"type":"string","enum":["{text}"]}}}}}}"#,
        uses.join(",")
    ));
}

#[test]
fn a_change_in_a_definition_is_named_there_once() {
    let tool = json(
        r##"{"name":"a","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/d/0"},"y":{"$ref":"#/$defs/d/0"}},"$defs":{"d":[{"type":"string","format":"uri"}]}}}"##,
    );
    let adapted = AdaptedTools::new(ToolFormat::Gemini, std::iter::once(&*tool));
    assert_eq!(adapted.simplified()[0].changes, ["/$defs/d/0/format"]);
}
