//! Fuzz target `tool_calls`: what a model writes as arguments is taken as it is, repaired without a change of a value, or
//! refused; and a call object never becomes another call.

use gatehouse_fuzz::{fuzz, json, mutated};
use gatehouse_mcp_wire::json::{Json, read};
use gatehouse_models::adapters::{ToolFormat, finish_call, read_call};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// The strings and numbers of a value, in their order, and its keys.
fn scalars(json: &Json, all: &mut Vec<String>) {
    match json {
        Json::String(text) => all.push(text.to_string()),
        Json::Number(text) => all.push(text.to_string()),
        Json::Array(items) => items.iter().for_each(|item| scalars(item, all)),
        Json::Object(members) => {
            for (name, value) in members {
                all.push(name.to_string());
                scalars(value, all);
            }
        }
        Json::Null | Json::Bool(_) => {}
    }
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn fuzz_tool_calls() {
    let wrapped = |text: String| {
        let fenced = format!("```json\n{text}\n```");
        prop_oneof![6 => Just(text), 1 => Just(fenced)]
    };
    let written = mutated(json::members(json::string(), json::value()), json::TOKENS).prop_flat_map(wrapped);
    fuzz("tool_calls", &written, |written| {
        let text = written.trim_matches([' ', '\t', '\r', '\n']);
        let valid = read(text);
        match finish_call("1".to_owned(), "a".to_owned(), &written) {
            Ok(call) => {
                let arguments = read(call.arguments.get());
                prop_assert!(matches!(arguments, Ok(Json::Object(_))), "{}", call.arguments);
                match call.repaired_from {
                    None => {
                        let is_nothing = text.is_empty() || valid == Ok(Json::Null);
                        prop_assert!(call.arguments.get() == text || is_nothing);
                    }
                    Some(original) => {
                        prop_assert_eq!(&original, &written);
                        if matches!(valid, Ok(Json::String(_))) {
                            return Ok(());
                        }
                        prop_assert!(valid.is_err());
                        // Every string and number of the result stands in what was written.
                        let mut found = Vec::new();
                        scalars(&arguments.unwrap(), &mut found);
                        let source = without_spaces(&written);
                        for one in found {
                            let escaped = without_spaces(&one);
                            let plain = escaped.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
                            let may_be_escaped = source.contains('\\');
                            prop_assert!(
                                !plain || may_be_escaped || source.contains(&escaped),
                                "{one} in {written}"
                            );
                        }
                    }
                }
            }
            Err(call) => {
                prop_assert!(!matches!(valid, Ok(Json::Object(_))), "{}", call.reason);
                prop_assert_eq!(call.written, written.clone());
            }
        }
        let Ok(object) = RawValue::from_string(text.to_owned()) else { return Ok(()) };
        for format in ToolFormat::ALL {
            if let Ok(call) = read_call(format, &object) {
                prop_assert!(!call.name.is_empty());
                prop_assert!(matches!(read(call.arguments.get()), Ok(Json::Object(_))));
            }
        }
        Ok(())
    })
    .unwrap();
}
