//! What the user calls in the Playground (TOOL-8): as a client by that client's profile and permissions, with a record that
//! names both; results that don't match their schema, which fail here and are only flagged at the gateway (TOOL-5); tools
//! that run only as tasks (TOOL-10); and the messages on the wire.

use std::fs;
use std::thread;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::fixture::ODD_RESULT_MEMBERS;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::{CommandRunner, Gatehouse};
use serde_json::{Value, json};

fn run_as(
    commands: &CommandRunner,
    client: Option<&str>,
    (tool, arguments): (&str, &Value),
) -> Result<Value> {
    let call = json!({ "server": "raw", "tool": tool, "arguments": arguments.to_string(), "client": client });
    commands.run("servers.callTool", &call)
}

fn last_record(gatehouse: &Gatehouse) -> Result<Value> {
    let calls = gatehouse.command("calls.list", &json!({ "filter": { "byUser": true, "limit": 1 } }))?;
    calls.get(0).cloned().context("no record")
}

fn text(view: &Value) -> &str {
    view["parts"][0]["content"]["text"]["text"].as_str().unwrap_or_default()
}

/// Nothing allows the tool for the client, so its call is asked about once; what the user calls as the user is not.
#[test]
fn a_call_as_a_client_is_judged_as_one_of_that_client() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.add_client("Agent")?;
    gatehouse.add_client("Other")?;
    let commands = gatehouse.commands()?;
    let echo = ("echo", &json!({ "a": 1 }));

    let asked = thread::scope(|scope| {
        let call = scope.spawn(|| run_as(&commands, Some("Agent"), echo));
        let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        let client = &pending["request"]["client"];
        ensure!(client["name"] == "Agent" && client["byUser"] == true, "{pending:#}");
        let hash = &pending["request"]["hash"];
        approvals::allow(&gatehouse, &pending["id"], hash, &approvals::once_choice())?;
        call.join().expect("no panic")
    })?;
    ensure!(asked["end"]["end"] == "ok" && asked["verdict"]["rule"]["rule"] == "answered", "{asked:#}");
    ensure!(asked["waitedMs"].as_u64().is_some_and(|waited| waited > 0), "{asked:#}");
    let record = last_record(&gatehouse)?;
    ensure!(record["id"] == asked["call"], "{record:#}");
    ensure!(record["clientName"] == "Agent" && record["byUser"] == true, "{record:#}");

    let messages = asked["messages"].as_array().context("messages")?;
    let sent = messages[0]["text"]["text"].as_str().unwrap_or_default();
    ensure!(messages[0]["sent"] == true && sent.contains(r#""method":"tools/call""#), "{messages:#?}");
    let received = messages[1]["text"]["text"].as_str().unwrap_or_default();
    ensure!(messages[1]["sent"] == false && received.contains(r#""result""#), "{messages:#?}");

    // A rule for one client is no rule for the user or another one.
    let choice = json!({ "lifetime": "always", "width": "tool" });
    let deny =
        json!({ "server": "raw", "tool": "echo", "client": "Agent", "choice": choice, "reason": null });
    gatehouse.command("policy.deny", &deny)?;
    let denied = run_as(&commands, Some("Agent"), echo)?;
    ensure!(denied["end"]["end"] == "tool_error" && denied["verdict"]["decision"] == "deny", "{denied:#}");
    ensure!(denied["messages"] == json!([]), "it was sent: {denied:#}");
    let own = run_as(&commands, None, echo)?;
    ensure!(own["end"]["end"] == "ok" && own["verdict"]["rule"]["rule"] == "by_user", "{own:#}");
    let record = last_record(&gatehouse)?;
    ensure!(record["clientName"] == "Gatehouse" && record["byUser"] == true, "{record:#}");

    // What its profile doesn't show does not exist for the client.
    let profile = json!({ "name": "None", "servers": [], "otherServers": "hidden" });
    let profile = gatehouse.command("profiles.add", &json!({ "settings": profile }))?;
    gatehouse.command("clients.set", &json!({ "client": "Other", "profile": profile["profile"]["id"] }))?;
    let hidden = run_as(&commands, Some("Other"), echo)?;
    ensure!(hidden["end"]["end"] == "error", "{hidden:#}");
    ensure!(hidden["verdict"]["rule"]["rule"] == "hidden_by_profile", "{hidden:#}");
    let read = json!({ "server": "raw", "uri": "fixture://note", "client": "Other" });
    let hidden = gatehouse.command("servers.readResource", &read)?;
    ensure!(hidden["verdict"]["rule"]["rule"] == "hidden_by_profile", "{hidden:#}");

    ensure!(run_as(&commands, Some("Nobody"), echo).is_err(), "a client that is not there called");
    Ok(())
}

/// Over every transport the request and the response are there byte for byte; a built-in server has none.
#[test]
fn messages_are_shown_as_they_stood_on_the_wire() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for over in ServerTransport::ALL {
        let _upstream = add(&gatehouse, "raw", over, &[])?;
        let view = run_as(&gatehouse.commands()?, None, ("odd", &json!({ "zeta": 1 })))?;
        let messages = view["messages"].as_array().context("messages")?;
        ensure!(messages.len() == 2, "{over:?}: {messages:#?}");
        let [sent, received] = [0, 1].map(|at| messages[at]["text"]["text"].as_str().unwrap_or_default());
        ensure!(sent.contains(r#""arguments":{"zeta":1}"#), "{over:?}: {sent}");
        ensure!(received.contains(ODD_RESULT_MEMBERS), "{over:?}: {received}");
        gatehouse.ask(&["servers", "remove", "raw"])?;
    }
    let call = json!({ "server": "Time", "tool": "current_time", "arguments": "{}" });
    let view = gatehouse.command("servers.callTool", &call)?;
    ensure!(view["end"]["end"] == "ok" && view["messages"] == json!([]), "{view:#}");
    Ok(())
}

/// Runs of the user teach nothing about the client: it isn't seen by them.
#[test]
fn a_call_as_a_client_does_not_count_as_seen() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.add_client("Agent")?;
    gatehouse.command("policy.autoApprove", &json!({ "server": "raw", "to": "all" }))?;
    let allowed = run_as(&gatehouse.commands()?, Some("Agent"), ("echo", &json!({})))?;
    ensure!(allowed["end"]["end"] == "ok" && allowed["waitedMs"] == 0, "{allowed:#}");
    let clients = gatehouse.command("clients.list", &json!({}))?;
    ensure!(clients[0]["lastSeen"] == Value::Null, "{clients:#}");
    let printed = gatehouse.ask(&["call", "--as", "Agent", "echo", "a=1"])?;
    ensure!(printed["end"]["end"] == "ok", "{printed:#}");
    let listed = gatehouse.ask(&["calls", "--by-user"])?;
    ensure!(listed.as_array().is_some_and(|all| all.len() == 2), "{listed:#}");
    Ok(())
}

/// The same result: no success for the user, and passed on to a client, with a mark in its record.
#[test]
fn a_result_that_misses_its_schema_fails_here_and_is_flagged_at_the_gateway() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Agent")?;
    for fault in ["wrong-output", "no-output"] {
        let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", fault])?;
        gatehouse.command("policy.autoApprove", &json!({ "server": "raw", "to": "all" }))?;
        let view = run_as(&gatehouse.commands()?, None, ("typed", &json!({})))?;
        ensure!(view["unfit"].as_str().is_some_and(|why| !why.is_empty()), "{fault}: {view:#}");
        let call = json!({ "token": token, "tool": "typed", "arguments": "{}" });
        let reply = gatehouse.command("call", &call)?;
        ensure!(reply["isToolError"] == false && reply["isRpcError"] == false, "{fault}: {reply:#}");
        eventually_holds("the flag in the record", || {
            let calls = gatehouse.command("calls.list", &json!({ "filter": { "limit": 1 } }))?;
            Ok(calls[0]["clientName"] == "Agent" && calls[0]["outcome"]["outcome"] == "unfit")
        })?;
        gatehouse.ask(&["servers", "remove", "raw"])?;
    }
    Ok(())
}

/// A tool that runs only as a task is followed to its result, and cancelled by `tasks/cancel`.
#[test]
fn a_tool_that_requires_a_task_runs_as_one() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("raw");
    let words = ["--lifecycle", "legacy", "--fault", "tasks", "--log", log.to_str().context("path")?];
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &words)?;
    let commands = gatehouse.commands()?;
    let done = run_as(&commands, None, ("long_chore", &json!({ "ms": 300 })))?;
    ensure!(done["end"]["end"] == "ok" && text(&done) == "done", "{done:#}");

    let endless = json!({
        "server": "raw", "tool": "long_chore", "arguments": r#"{"ms":600000}"#, "run": "mine",
    });
    let cancelled = thread::scope(|scope| {
        let run = scope.spawn(|| commands.run("servers.callTool", &endless));
        eventually("the task to work", || {
            let running = gatehouse.command("calls.running", &json!({}))?;
            let is_there = running[0]["run"] == "mine" && running[0]["task"] == "working";
            Ok(if is_there { Ok(()) } else { Err(running) })
        })?;
        commands.run("servers.stopRun", &json!({ "run": "mine" }))?;
        run.join().expect("no panic")
    })?;
    ensure!(cancelled["end"]["end"] == "tool_error", "{cancelled:#}");
    eventually_holds("tasks/cancel at the server", || {
        Ok(fs::read_to_string(&log)?.lines().any(|line| line.contains("cancelled")))
    })?;
    eventually_holds("its record", || Ok(last_record(&gatehouse)?["outcome"]["outcome"] == "cancelled"))
}
