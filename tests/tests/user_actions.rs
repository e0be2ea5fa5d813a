//! User actions on a server's page: resources read, subscribed to and completed, prompts fetched, tools
//! run, results shown and saved. They use the same commands as the window.

use std::time::Instant;
use std::{fs, thread};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::{Value, json};

fn shown<'a>(shown: &'a Value, kind: &str) -> Result<&'a Value> {
    let parts = shown["parts"].as_array().context("no parts")?;
    let found = parts.iter().find(|part| part["content"]["kind"] == kind);
    found.map(|part| &part["content"]).with_context(|| format!("no {kind} in {shown:#}"))
}

#[test]
fn uses_resources_prompts_and_completions() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for lifecycle in ["legacy", "modern"] {
        let _upstream = add(&gatehouse, lifecycle, ServerTransport::Stdio, &["--lifecycle", lifecycle])?;
        let catalog = gatehouse.command("servers.catalog", &json!({ "server": lifecycle }))?;
        ensure!(catalog["resources"].as_array().is_some_and(|all| all.len() == 3), "{catalog:#}");
        ensure!(catalog["templates"][0]["variables"] == json!(["id"]), "{catalog:#}");
        ensure!(catalog["declared"]["subscribe"] == true, "{catalog:#}");
        let greet =
            catalog["prompts"].as_array().into_iter().flatten().find(|prompt| prompt["name"] == "greet");
        ensure!(greet.context("no greet")?["arguments"][0]["required"] == true, "{catalog:#}");

        let read = |uri: &str| {
            gatehouse.command("servers.readResource", &json!({ "server": lifecycle, "uri": uri }))
        };
        let image = read("fixture://image")?;
        ensure!(shown(&image, "binary")?["mimeType"] == "image/png", "{image:#}");
        let big = read("fixture://big")?;
        let text = &shown(&big, "text")?["text"];
        ensure!(text["wholeBytes"] == 2 * 1024 * 1024, "{}", text["wholeBytes"]);
        ensure!(text["text"].as_str().is_some_and(|text| text.len() == 64 * 1024), "it was not cut");
        let item = read("fixture://item/7")?;
        ensure!(item["end"]["end"] == "ok", "{item:#}");
        let missing = read("fixture://nothing")?;
        ensure!(missing["end"]["end"] == "error", "{missing:#}");

        let prompt = json!({ "server": lifecycle, "prompt": "greet", "arguments": { "name": "Zoe", "tone": "terse" } });
        let prompt = gatehouse.command("servers.getPrompt", &prompt)?;
        ensure!(prompt["parts"][0]["role"] == "user", "{prompt:#}");
        ensure!(
            shown(&prompt, "text")?["text"]["text"].as_str().is_some_and(|text| text.contains("Zoe")),
            "{prompt:#}"
        );

        let of = json!({ "kind": "prompt", "name": "greet" });
        let wanted = json!({ "server": lifecycle, "of": of, "argument": "tone", "value": "f" });
        let completed = gatehouse.command("servers.complete", &wanted)?;
        ensure!(completed["values"] == json!(["formal", "friendly"]), "{completed}");
        let of = json!({ "kind": "template", "uriTemplate": "fixture://item/{id}" });
        let wanted = json!({ "server": lifecycle, "of": of, "argument": "id", "value": "1" });
        let completed = gatehouse.command("servers.complete", &wanted)?;
        ensure!(completed["values"].as_array().is_some_and(|all| all.len() == 100), "{completed}");
        ensure!(completed["hasMore"] == true, "{completed}");

        let uri = "fixture://note";
        let watch = |on: bool| json!({ "server": lifecycle, "uri": uri, "on": on });
        gatehouse.command("servers.watchResource", &watch(true))?;
        let catalog = gatehouse.command("servers.catalog", &json!({ "server": lifecycle }))?;
        ensure!(catalog["watched"] == json!([uri]), "{}", catalog["watched"]);
        try_out(&gatehouse, lifecycle, "write_note", r#"{"text":"new"}"#)?;
        eventually_holds("an event of the changed resource", || {
            let events = gatehouse.command("events.list", &json!({}))?;
            Ok(events
                .as_array()
                .into_iter()
                .flatten()
                .any(|event| event["event"]["event"] == "resources_changed" && event["event"]["uri"] == uri))
        })?;
        gatehouse.command("servers.watchResource", &watch(false))?;
        gatehouse.ask(&["servers", "remove", lifecycle])?;
    }
    Ok(())
}

fn try_out(gatehouse: &Gatehouse, server: &str, tool: &str, arguments: &str) -> Result<Value> {
    gatehouse.command("servers.callTool", &json!({ "server": server, "tool": tool, "arguments": arguments }))
}

/// A tool run by the user needs no approval, is recorded as the user's, and is refused if the user has
/// blocked the tool.
#[test]
fn runs_tool_without_approval() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let media = try_out(&gatehouse, "raw", "media", "{}")?;
    for kind in ["text", "binary", "link"] {
        shown(&media, kind)?;
    }
    let fails = try_out(&gatehouse, "raw", "fails", "{}")?;
    ensure!(fails["end"]["end"] == "tool_error", "{fails:#}");
    ensure!(
        fails["meta"].as_str().is_some_and(|meta| meta.contains("fixture/why")),
        "isError lost its _meta: {fails:#}"
    );
    let typed = try_out(&gatehouse, "raw", "typed", "{}")?;
    ensure!(typed["unfit"] == Value::Null && typed["structured"]["text"] == r#"{"n":1}"#, "{typed:#}");
    let calls = gatehouse.ask(&["calls"])?;
    ensure!(
        calls[0]["verdict"]["rule"]["rule"] == "by_user" && calls[0]["clientName"] == "Gatehouse",
        "{}",
        calls[0]
    );

    gatehouse.ask(&["policy", "deny", "raw", "--tool", "echo"])?;
    let blocked = try_out(&gatehouse, "raw", "echo", "{}")?;
    ensure!(blocked["end"]["end"] == "tool_error", "what is blocked was run: {blocked:#}");

    for (fault, words) in [("wrong-output", "does not fit"), ("no-output", "no structuredContent")] {
        let _upstream = add(&gatehouse, fault, ServerTransport::Stdio, &["--fault", fault])?;
        let unfit = try_out(&gatehouse, fault, "typed", "{}")?;
        ensure!(unfit["unfit"].as_str().is_some_and(|why| why.contains(words)), "{fault}: {unfit:#}");
    }
    let refused =
        gatehouse.command("servers.callTool", &json!({ "server": "raw", "tool": "none", "arguments": "{}" }));
    ensure!(refused.is_err(), "a tool that is not there was called");
    Ok(())
}

/// A run that the user stops is cancelled at the server too.
#[test]
fn stopping_a_run_cancels_it_at_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("notes")?.join("log");
    let _upstream =
        add(&gatehouse, "raw", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    let slow = json!({ "server": "raw", "tool": "slow", "arguments": r#"{"ms":600000}"#, "run": "mine" });
    let commands = gatehouse.commands()?;
    let began = Instant::now();
    thread::scope(|scope| {
        let run = scope.spawn(|| commands.run("servers.callTool", &slow));
        // The start of the run is asynchronous; before it there is nothing to stop.
        while !run.is_finished() {
            ensure!(began.elapsed() < TEST_TIMEOUT, "the run was not stopped");
            commands.run("servers.stopRun", &json!({ "run": "mine" }))?;
        }
        run.join().expect("no panic")?;
        Ok(())
    })?;
    while !fs::read_to_string(&log)?.contains("cancelled") {
        ensure!(began.elapsed() < TEST_TIMEOUT, "the server was not told");
        thread::yield_now();
    }
    Ok(())
}

/// The log level reaches a server of the older revisions and is set again after a reconnect.
#[test]
fn sets_log_level_across_reconnect() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("raw");
    let words = ["--lifecycle", "legacy", "--log", log.to_str().context("path")?];
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &words)?;
    gatehouse.command("servers.setLogLevel", &json!({ "server": "raw", "level": "warning" }))?;
    try_out(&gatehouse, "raw", "say", r#"{"level":"info","text":"not this"}"#)?;
    try_out(&gatehouse, "raw", "say", r#"{"level":"error","text":"but this"}"#)?;
    let lines = gatehouse.ask(&["servers", "log", "raw"])?;
    let said: Vec<&Value> =
        lines.as_array().into_iter().flatten().filter(|line| line["source"] == "server").collect();
    ensure!(said.len() == 1 && said[0]["level"] == "error", "{lines:#}");
    ensure!(said[0]["text"].as_str().is_some_and(|text| text.contains("but this")), "{lines:#}");
    gatehouse.ask(&["servers", "reconnect", "raw"])?;
    eventually_holds("the level to be set again", || {
        Ok(std::fs::read_to_string(&log)?.matches("logging/setLevel").count() >= 2)
    })
}
