//! Golden files: every format against the same tools, results and calls. Each output has a line for each line of its input,
//! so that a change of a rule is a change of some lines.
//!
//! After a change that is meant, write the outputs anew and read what changed in them:
//!
//! ```sh
//! GATEHOUSE_REWRITE_GOLDEN=1 cargo test -p gatehouse-models --test adapters golden
//! ```

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gatehouse_mcp_wire::raw::quoted;
use gatehouse_models::adapters::{
    AdaptedTools, CallDefect, ToolFormat, detect_format, read_call, render_result,
};
use serde_json::value::RawValue;

use crate::json;

/// Set to write the outputs anew.
const REWRITE: &str = "GATEHOUSE_REWRITE_GOLDEN";

#[test]
fn golden_definitions() {
    let tools = lines("tools.jsonl");
    for format in ToolFormat::ALL {
        let adapted = AdaptedTools::new(format, tools.iter().map(|tool| &**tool));
        let mut out = String::new();
        for definition in adapted.definitions() {
            writeln!(out, "{definition}").unwrap();
        }
        for tool in adapted.simplified() {
            writeln!(out, "{}", serde_json::to_string(tool).unwrap()).unwrap();
        }
        for tool in adapted.left_out() {
            writeln!(out, r#"{{"leftOut":{},"reason":{}}}"#, quoted(&tool.tool), quoted(&tool.reason))
                .unwrap();
        }
        compare(&format!("definitions-{}.jsonl", file_name(format)), &out);
    }
}

#[test]
fn golden_results() {
    let results = lines("results.jsonl");
    for format in ToolFormat::ALL {
        let mut out = String::new();
        for result in &results {
            let rendered = render_result(format, "call_1", "read_file", result);
            let lost = serde_json::to_string(&rendered.lost).unwrap();
            writeln!(out, r#"{{"result":{},"lost":{lost}}}"#, rendered.json).unwrap();
        }
        compare(&format!("results-{}.jsonl", file_name(format)), &out);
    }
}

#[test]
fn golden_calls() {
    let mut out = String::new();
    for call in lines("calls.jsonl") {
        let Some(format) = detect_format(&call) else {
            writeln!(out, r#"{{"format":null}}"#).unwrap();
            continue;
        };
        let read = match read_call(format, &call) {
            Ok(call) => format!(
                r#""id":{},"name":{},"arguments":{},"repairedFrom":{},"providerItem":{}"#,
                quoted(&call.id),
                quoted(&call.name),
                call.arguments,
                call.repaired_from.map_or("null".to_owned(), |text| quoted(&text)),
                call.provider_item.map_or("null".to_owned(), |item| item.json.get().to_owned()),
            ),
            Err(CallDefect::Arguments(call)) => {
                format!(r#""id":{},"unusable":{}"#, quoted(&call.id), quoted(&call.reason))
            }
            Err(CallDefect::NotACall(reason)) => format!(r#""notACall":{}"#, quoted(&reason)),
        };
        writeln!(out, r#"{{"format":"{}",{read}}}"#, file_name(format)).unwrap();
    }
    compare("calls-read.jsonl", &out);
}

fn file_name(format: ToolFormat) -> &'static str {
    match format {
        ToolFormat::Mcp => "mcp",
        ToolFormat::OpenAiChat => "openai-chat",
        ToolFormat::OpenAiResponses => "openai-responses",
        ToolFormat::Anthropic => "anthropic",
        ToolFormat::Gemini => "gemini",
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/adapters/golden")
}

fn lines(name: &str) -> Vec<Box<RawValue>> {
    fs::read_to_string(folder().join(name)).unwrap().lines().map(json).collect()
}

fn compare(name: &str, found: &str) {
    let file = folder().join(name);
    if std::env::var_os(REWRITE).is_some() {
        fs::write(&file, found).unwrap();
        return;
    }
    // A checkout may have converted the line ends.
    let wanted = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    for (number, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "{name}, line {}; {REWRITE}=1 writes it anew", number + 1);
    }
    assert_eq!(found.lines().count(), wanted.lines().count(), "{name}; {REWRITE}=1 writes it anew");
}
