//! Properties of the adapters, over generated tools, calls and results.

use gatehouse_fuzz::json as text;
use gatehouse_mcp_wire::json::{Json, read};
use gatehouse_mcp_wire::raw::quoted;
use gatehouse_models::adapters::{
    AdaptedTools, ToolFormat, check_arguments, detect_format, finish_call, read_call, read_calls,
    render_result,
};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::json;

/// A schema with the keywords that matter here, right and wrong.
fn schema() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"{"type":"string"}"#.to_owned()),
        Just(r#"{"type":["integer","null"],"minimum":0}"#.to_owned()),
        Just(r#"{"enum":["a",1,null]}"#.to_owned()),
        Just(r#"{"const":"a","description":"fixed"}"#.to_owned()),
        Just(r##"{"$ref":"#/$defs/a"}"##.to_owned()),
        Just(r##"{"$ref":"#"}"##.to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just(r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#.to_owned()),
        Just("{}".to_owned()),
        text::value(),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[{}]", all.join(",")));
        let properties = text::members(r#""[a-d]""#, inner.clone());
        let names = prop::collection::vec(r#""[a-e]""#, 0..3).prop_map(|all| format!("[{}]", all.join(",")));
        text::object(vec![
            (
                "type",
                prop::sample::select(vec![r#""object""#, r#""array""#, r#"["object","string"]"#])
                    .prop_map(str::to_owned)
                    .boxed(),
            ),
            ("properties", properties.boxed()),
            ("required", names.boxed()),
            ("items", inner.clone().boxed()),
            ("anyOf", list.clone().boxed()),
            ("oneOf", list.clone().boxed()),
            ("allOf", list.boxed()),
            ("additionalProperties", inner.clone().boxed()),
            ("not", inner.clone().boxed()),
            ("$defs", text::members(r#""[a-b]""#, inner).boxed()),
        ])
    })
}

fn adapted(format: ToolFormat, tool: &RawValue) -> AdaptedTools {
    AdaptedTools::new(format, std::iter::once(tool))
}

/// The schema in a definition.
fn parameters(format: ToolFormat, definition: &RawValue) -> Value {
    let definition: Value = serde_json::from_str(definition.get()).unwrap();
    match format {
        ToolFormat::OpenAiChat => definition["function"]["parameters"].clone(),
        ToolFormat::Anthropic => definition["input_schema"].clone(),
        ToolFormat::OpenAiResponses | ToolFormat::Gemini | ToolFormat::Mcp => {
            definition["parameters"].clone()
        }
    }
}

/// What Gemini refuses a whole request for.
fn assert_is_gemini(schema: &Value, at: &str) {
    let Value::Object(members) = schema else { panic!("{at}: {schema}") };
    if let Some(branches) = members.get("anyOf") {
        assert!(
            members.keys().all(|name| matches!(name.as_str(), "anyOf" | "title" | "description")),
            "{at}"
        );
        for branch in branches.as_array().unwrap() {
            assert_is_gemini(branch, at);
        }
        return;
    }
    let kind = members["type"].as_str().unwrap_or_else(|| panic!("{at}: {schema}"));
    for (name, value) in members {
        let of = match name.as_str() {
            "type" | "title" | "description" | "nullable" | "default" | "example" | "format" => kind,
            "enum" | "pattern" | "minLength" | "maxLength" => "STRING",
            "minimum" | "maximum" if kind == "INTEGER" => kind,
            "minimum" | "maximum" => "NUMBER",
            "items" | "minItems" | "maxItems" => "ARRAY",
            "properties" | "required" | "minProperties" | "maxProperties" => "OBJECT",
            _ => panic!("{at}: {name}"),
        };
        assert_eq!(kind, of, "{at}: {name}");
        if name == "properties" {
            for (name, value) in value.as_object().unwrap() {
                assert_is_gemini(value, &format!("{at}/{name}"));
            }
        }
        if name == "required" {
            assert!(
                value
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| members["properties"].get(name.as_str().unwrap()).is_some())
            );
        }
    }
    if kind == "ARRAY" {
        assert_is_gemini(&members["items"], &format!("{at}/items"));
    }
}

/// What OpenAI's strict mode asks of every object.
fn assert_is_strict(schema: &Value) {
    match schema {
        Value::Array(items) => items.iter().for_each(assert_is_strict),
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                let empty = Vec::new();
                let required = members.get("required").and_then(Value::as_array).unwrap_or(&empty);
                assert_eq!(required.len(), properties.len());
                assert_eq!(members.get("additionalProperties"), Some(&Value::Bool(false)));
            }
            members.values().for_each(assert_is_strict);
        }
        _ => {}
    }
}

fn call_object(format: ToolFormat, name: &str, arguments: &str) -> String {
    let name = quoted(name);
    match format {
        ToolFormat::OpenAiChat => format!(
            r#"{{"id":"1","type":"function","function":{{"name":{name},"arguments":{}}}}}"#,
            quoted(arguments)
        ),
        ToolFormat::OpenAiResponses => format!(
            r#"{{"type":"function_call","call_id":"1","name":{name},"arguments":{}}}"#,
            quoted(arguments)
        ),
        ToolFormat::Anthropic => {
            format!(r#"{{"type":"tool_use","id":"1","name":{name},"input":{arguments}}}"#)
        }
        ToolFormat::Gemini => format!(r#"{{"functionCall":{{"id":"1","name":{name},"args":{arguments}}}}}"#),
        ToolFormat::Mcp => format!(r#"{{"id":"1","name":{name},"arguments":{arguments}}}"#),
    }
}

proptest! {
    #[test]
    fn definitions_are_what_the_formats_accept(schema in schema()) {
        let tool = json(&format!(r#"{{"name":"a","inputSchema":{schema}}}"#));
        for format in ToolFormat::ALL {
            let adapted = adapted(format, &tool);
            prop_assert_eq!(adapted.definitions().len() + adapted.left_out().len(), 1);
            let Some(definition) = adapted.definitions().first() else { continue };
            if format == ToolFormat::Mcp {
                prop_assert_eq!(definition.get(), tool.get());
                continue;
            }
            let parameters = parameters(format, definition);
            if format == ToolFormat::Gemini {
                if !parameters.is_null() {
                    assert_is_gemini(&parameters, "");
                }
                continue;
            }
            prop_assert_eq!(&parameters["type"], "object");
            prop_assert!(parameters["properties"].is_object());
            for refused in ["anyOf", "oneOf", "allOf", "$ref"] {
                prop_assert!(parameters.get(refused).is_none(), "{}", refused);
            }
            let has_empty_enum = definition.get().contains(r#""enum":[]"#);
            if definition.get().ends_with(r#""strict":true}"#) || definition.get().ends_with(r#""strict":true}}"#) {
                prop_assert!(!has_empty_enum && adapted.simplified().is_empty());
                assert_is_strict(&parameters);
            }
        }
    }

    #[test]
    fn arguments_come_back_byte_for_byte(
        name in "[a-zA-Z0-9_-]{1,64}",
        arguments in text::members(text::string(), text::value()),
    ) {
        prop_assume!(matches!(read(&arguments), Ok(Json::Object(_))));
        let arguments = arguments.trim();
        let tool = json(&format!(r#"{{"name":{},"inputSchema":{{"type":"object"}}}}"#, quoted(&name)));
        for format in ToolFormat::ALL {
            let adapted = adapted(format, &tool);
            let provider_name = adapted.provider_name(&name).unwrap();
            let call = json(&call_object(format, provider_name, arguments));
            prop_assert_eq!(detect_format(&call), Some(format));
            let read = read_call(format, &call).unwrap();
            prop_assert_eq!(adapted.exposed_name(&read.name), Some(name.as_str()));
            prop_assert_eq!(read.arguments.get(), arguments);
            prop_assert_eq!(read.repaired_from, None);
        }
    }

    #[test]
    fn valid_json_is_never_repaired(arguments in text::value()) {
        let valid = read(&arguments);
        match finish_call("1".to_owned(), "a".to_owned(), &arguments) {
            Ok(call) if call.repaired_from.is_some() => {
                // A string that holds the object.
                prop_assert!(matches!(valid, Ok(Json::String(_))));
            }
            Ok(call) => prop_assert!(call.arguments.get() == arguments.trim() || valid == Ok(Json::Null)),
            Err(_) => prop_assert!(!matches!(valid, Ok(Json::Object(_) | Json::Null))),
        }
    }

    #[test]
    fn texts_of_results_survive(
        texts in prop::collection::vec(".{0,40}", 1..4),
        structured in prop::option::of(text::members(r#""[a-d]""#, text::value())),
        is_error in any::<bool>(),
    ) {
        let structured = structured.filter(|structured| read(structured).is_ok());
        let blocks: Vec<String> =
            texts.iter().map(|text| format!(r#"{{"type":"text","text":{}}}"#, quoted(text))).collect();
        let member = structured.as_ref().map(|json| format!(r#","structuredContent":{json}"#)).unwrap_or_default();
        let result = json(&format!(r#"{{"content":[{}],"isError":{is_error}{member}}}"#, blocks.join(",")));
        for format in ToolFormat::ALL {
            let rendered = render_result(format, "1", "a", &result);
            prop_assert!(rendered.lost.is_empty());
            if format == ToolFormat::Mcp {
                prop_assert_eq!(rendered.json.get(), result.get());
                continue;
            }
            let strings = strings(&serde_json::from_str(rendered.json.get()).unwrap());
            for text in texts.iter().filter(|text| !text.trim().is_empty()) {
                prop_assert!(strings.iter().any(|found| found.contains(text.as_str())), "{}", rendered.json);
            }
        }
    }

    #[test]
    fn any_json_is_taken_without_a_panic(value in text::value(), members in text::members(text::string(), text::value())) {
        for text in [value, members] {
            let Ok(value) = RawValue::from_string(text.trim().to_owned()) else { continue };
            let format = detect_format(&value);
            for other in ToolFormat::ALL {
                let _ = (read_call(other, &value).is_ok(), read_calls(other, &value).is_ok());
                let rendered = render_result(other, "1", "a", &value);
                prop_assert!(serde_json::from_str::<&RawValue>(rendered.json.get()).is_ok());
                let _ = adapted(other, &value);
            }
            let _ = (format, check_arguments(&value, &value).is_ok());
            let tool = json(&format!(r#"{{"name":"a","inputSchema":{value}}}"#));
            drop(check_arguments(&tool, &json("{}")));
        }
    }

    /// What is valid for the model's schema was not forbidden by the server's, in ways that both can say.
    #[test]
    fn optional_arguments_stay_optional(names in prop::collection::btree_set("[a-z]{1,3}", 1..5)) {
        let properties: Map<String, Value> =
            names.iter().map(|name| (name.clone(), serde_json::json!({"type": "string"}))).collect();
        let tool = serde_json::json!({"name": "a", "inputSchema": {"type": "object", "properties": properties}});
        for format in [ToolFormat::OpenAiChat, ToolFormat::OpenAiResponses, ToolFormat::Anthropic, ToolFormat::Gemini] {
            let adapted = adapted(format, &json(&tool.to_string()));
            let parameters = parameters(format, &adapted.definitions()[0]);
            prop_assert!(parameters.get("required").is_none());
            prop_assert!(!adapted.definitions()[0].get().contains(r#""strict":true"#));
        }
    }
}

/// All strings in a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}
