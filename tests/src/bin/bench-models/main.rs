//! Cost of model providers' formats: the definitions of ten thousand tools, calls and results, without servers, models or
//! I/O; and what the streaming client adds to the latency of each event.
//!
//! `cargo xtask bench models` builds it with optimisation and runs it.

mod stream_latency;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gatehouse_models::adapters::{AdaptedTools, ToolFormat, check_arguments, finish_call, render_result};
use serde_json::value::RawValue;

const TOOLS: usize = 10_000;
/// Most time that the definitions of all tools may take in one format.
const LIMIT: Duration = Duration::from_millis(200);
/// How often the definitions are made; the median counts.
const ROUNDS: usize = 9;
/// Number of operations per measurement of a single one.
const BATCH: usize = 10_000;

fn main() -> Result<()> {
    // All are measured, also if the first takes too long.
    [definitions(), calls_and_results(), stream_latency::measure()].into_iter().collect()
}

/// The definitions of all tools, with names and the report.
fn definitions() -> Result<()> {
    let tools: Vec<Box<RawValue>> = (0..TOOLS).map(tool).collect::<Result<_>>()?;
    let bytes: usize = tools.iter().map(|tool| tool.get().len()).sum();
    println!(
        "definitions of {TOOLS} tools, {} bytes each, median of {ROUNDS}; at most {LIMIT:?}",
        bytes / TOOLS
    );
    for format in ToolFormat::ALL {
        let mut took: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let began = Instant::now();
                black_box(AdaptedTools::new(format, tools.iter().map(|tool| &**tool)));
                began.elapsed()
            })
            .collect();
        took.sort_unstable();
        let median = took.get(ROUNDS / 2).copied().unwrap_or_default();
        println!("{:<52}{:>10.1} ms", format!("{format:?}"), median.as_secs_f64() * 1000.0);
        let adapted = AdaptedTools::new(format, tools.iter().map(|tool| &**tool));
        ensure!(adapted.definitions().len() == TOOLS, "{format:?}: {:?}", adapted.left_out().first());
        ensure!(median <= LIMIT, "{format:?} takes {median:?}");
    }
    Ok(())
}

/// What one call of a tool costs besides.
fn calls_and_results() -> Result<()> {
    let arguments =
        r#"{"path":"/home/ana/notes/2026/shopping.md","limit":20,"options":{"deep":true,"kinds":["a"]}}"#;
    let broken = format!("{},}}", arguments.trim_end_matches('}').to_owned() + "}");
    let tool = tool(0)?;
    let raw = RawValue::from_string(arguments.to_owned())?;
    let result = RawValue::from_string(format!(
        r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#,
        "some text of a result ".repeat(50)
    ))?;
    ensure!(check_arguments(&tool, &raw).is_ok(), "the arguments don't fit");
    println!("one operation, mean of {BATCH}");
    row("finish_call", || {
        black_box(finish_call(String::new(), String::new(), black_box(arguments))).is_ok()
    })?;
    row("finish_call of JSON to repair", || {
        black_box(finish_call(String::new(), String::new(), black_box(&broken))).is_ok()
    })?;
    row("check_arguments", || black_box(check_arguments(&tool, &raw)).is_ok())?;
    for format in ToolFormat::ALL {
        row(&format!("render_result, {format:?}"), || {
            black_box(render_result(format, "call_1", "read_file", &result)).lost.is_empty()
        })?;
    }
    Ok(())
}

fn row(name: &str, mut one: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    for _ in 0..BATCH {
        ensure!(one(), "{name} fails");
    }
    println!("{name:<52}{:>10} ns", began.elapsed().as_nanos() / BATCH as u128);
    Ok(())
}

/// A tool as servers list them: some arguments, nested and optional ones among them, and each fourth with a definition that
/// is referred to.
fn tool(number: usize) -> Result<Box<RawValue>> {
    let mut tool = serde_json::json!({
        "name": format!("server{}__read_file_{number}", number % 20),
        "title": "Read a file",
        "description": "Reads a file and returns its text. Relative paths are relative to the first root. Large files \
                        are cut; use `offset` to read on. Fails if the file does not exist or is not a text.",
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The path of the file.", "minLength": 1},
                "limit": {
                    "anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000}, {"type": "null"}],
                    "default": null, "title": "Limit"
                },
                "format": {"type": "string", "enum": ["text", "json", "base64"], "default": "text"},
                "options": {
                    "type": "object",
                    "properties": {
                        "deep": {"type": "boolean"},
                        "kinds": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}
                    },
                    "required": ["deep"]
                }
            },
            "required": ["path"]
        },
        "annotations": {"readOnlyHint": true}
    });
    if number.is_multiple_of(4) {
        tool["inputSchema"]["$defs"] =
            serde_json::json!({"Range": {"type": "object", "properties": {"from": {"type": "integer"}}}});
        tool["inputSchema"]["properties"]["range"] = serde_json::json!({"$ref": "#/$defs/Range"});
    }
    Ok(RawValue::from_string(tool.to_string())?)
}
