//! Effects of the user's settings: time limits of calls, naming of tools, strict mode, why a tool is
//! left out, and auto-approve on a server whose tools are not known.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http;
use serde_json::{Value, json};

fn slow(gatehouse: &Gatehouse, token: &str, ms: u32) -> Result<String> {
    let params = format!(r#""name":"slow","arguments":{{"ms":{ms}}}"#);
    Ok(http::stateless_request(&gatehouse.endpoint, token, "tools/call", &params)?.body)
}

/// The limit for all servers ends a call, a server's own takes precedence, and "none" means no limit;
/// also the cap.
#[test]
fn call_timeout_uses_server_or_global_limit() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    let ends = |ms| -> Result<bool> { Ok(slow(&gatehouse, &token, ms)?.contains("did not answer within")) };
    ensure!(!ends(1500)?, "the usual limit is longer");
    gatehouse.ask(&["settings", "set", "--call-limit", "1"])?;
    ensure!(ends(4000)?, "the limit of all servers ends nothing");
    gatehouse.ask(&["servers", "limits", "raw", "--call-limit", "none"])?;
    ensure!(!ends(1500)?, "the server's own limit does not outweigh it");
    gatehouse.ask(&["settings", "set", "--call-limit", "none", "--call-cap", "1"])?;
    ensure!(ends(4000)?, "the cap of all servers ends nothing");
    gatehouse.ask(&["servers", "limits", "raw", "--call-cap", "none"])?;
    ensure!(!ends(1500)?, "a server without a cap has one");
    gatehouse.ask(&["servers", "limits", "raw", "--call-cap", "1", "--call-limit", "default"])?;
    ensure!(ends(4000)?, "the server's own cap ends nothing");
    let server = gatehouse.await_status("raw", "connected")?;
    ensure!(
        server["config"]["limits"]["callCapSecs"] == 1 && server["config"]["limits"]["callSecs"] == "default",
        "{}",
        server["config"]["limits"]
    );
    let file = std::fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    let file: Value = serde_json::from_str(&file)?;
    ensure!(file["mcpServers"]["raw"]["limits"]["callCapSecs"] == 1, "{file:#}");
    let refused = gatehouse.run_as_operator(&["settings", "set", "--call-limit", "0"])?;
    ensure!(!refused.status.success(), "a limit of nothing is taken");
    Ok(())
}

/// Progress restarts the limit for calls without progress.
#[test]
fn progress_resets_idle_timeout() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    gatehouse.ask(&["settings", "set", "--call-limit", "2"])?;
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let answer = client.call("slow", &json!({ "ms": 5000, "progress": 9 }))?;
    ensure!(answer.is_ok() && !answer.is_tool_error(), "{}", answer.text());
    let answer = client.call("slow", &json!({ "ms": 5000, "progress": 0 }))?;
    ensure!(answer.is_tool_error(), "silence has no end: {}", answer.text());
    Ok(())
}

fn names(gatehouse: &Gatehouse) -> Result<Vec<String>> {
    let tools = gatehouse.ask(&["tools", "list", "--server", "Notes"])?;
    let name = |tool: &Value| tool["exposedName"].as_str().map(str::to_owned);
    tools.as_array().into_iter().flatten().map(|tool| name(tool).context("no name")).collect()
}

/// The naming mode applies at once to a connected client, for calls and across a restart; permissions
/// stay, and switching back restores the old names.
#[test]
fn applies_tool_naming_mode() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "grant", "Notes", "--tool", "list_notes"])?;
    let token = gatehouse.add_client("Tester")?;
    let before = names(&gatehouse)?;
    ensure!(before.contains(&"list_notes".to_owned()), "{before:?}");
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    client.tools()?;
    for (mode, name) in [("server", "Notes__list_notes"), ("mcp-server", "mcp__Notes__list_notes")] {
        gatehouse.ask(&["settings", "set", "--tool-names", mode])?;
        client.next_message("toolsChanged")?;
        let seen = client.tools()?;
        ensure!(seen.iter().any(|tool| tool["name"] == name), "{mode}: {seen:?}");
        ensure!(seen.iter().all(|tool| tool["name"] != "list_notes"), "{mode}: both names are there");
        let answer = client.call(name, &json!({}))?;
        ensure!(answer.is_ok() && !answer.is_tool_error(), "{mode}: {}", answer.text());
    }
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("Notes", "connected")?;
    ensure!(names(&gatehouse)?.contains(&"mcp__Notes__list_notes".to_owned()), "a restart forgot it");
    gatehouse.ask(&["settings", "set", "--tool-names", "on-conflict"])?;
    ensure!(names(&gatehouse)? == before, "the old names are not back: {:?}", names(&gatehouse)?);
    Ok(())
}

/// An undeclared list is an error with a reason in strict mode, and an empty list otherwise.
#[test]
fn strict_mode_rejects_undeclared_list() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let without = ["--without", "tools", "--without", "prompts"];
    let _upstream = add(&gatehouse, "bare", ServerTransport::Stdio, &without)?;
    let catalog = || gatehouse.command("servers.catalog", &json!({ "server": "bare" }));
    ensure!(gatehouse.ask(&["tools", "list", "--server", "bare"])? == json!([]), "not empty");
    ensure!(catalog()?["promptsProblem"].is_null(), "an error without strict mode");
    gatehouse.ask(&["servers", "limits", "bare", "--strict", "on"])?;
    let refused = gatehouse.run_as_operator(&["tools", "list", "--server", "bare"])?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("doesn't declare"), "{said}");
    let listed = catalog()?;
    ensure!(listed["promptsProblem"]["message"].to_string().contains("prompts"), "{listed:#}");
    ensure!(listed["resourcesProblem"].is_null(), "what is declared is an error: {listed:#}");
    // One strict server does not affect the tools of the others.
    ensure!(!gatehouse.ask(&["tools", "list"])?.as_array().context("list")?.is_empty());
    gatehouse.ask(&["servers", "limits", "bare", "--strict", "off"])?;
    ensure!(gatehouse.ask(&["tools", "list", "--server", "bare"])? == json!([]), "still an error");
    Ok(())
}

/// A tool that is left out of the catalog is named with the reason; the others are there.
#[test]
fn reports_excluded_tool_with_reason() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "bad-header"])?;
    let omitted = gatehouse.ask(&["tools", "omitted", "--server", "raw"])?;
    let list = omitted.as_array().context("no list")?;
    ensure!(list.len() == 1 && list[0]["name"] == "spoilt", "{omitted:#}");
    ensure!(list[0]["reason"].to_string().contains("x-mcp-header"), "{omitted:#}");
    let words = gatehouse.run_as_operator(&["tools", "list", "--server", "raw"])?;
    let words = String::from_utf8_lossy(&words.stdout).into_owned();
    ensure!(words.contains("Left out") && words.contains("spoilt") && words.contains("echo"), "{words}");
    ensure!(gatehouse.stderr().contains("spoilt"), "the log says nothing of it");
    ensure!(gatehouse.ask(&["tools", "omitted", "--server", "Notes"])? == json!([]));
    Ok(())
}

/// An auto-approve setting that would cover nothing is refused; otherwise the reply says what it covers.
#[test]
fn auto_approve_reports_coverage() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["servers", "autostart", "Notes", "off"])?;
    gatehouse.stop()?;
    // As if it had never been connected: nothing is known of what it has.
    fs::remove_dir_all(gatehouse.data_dir().join("known-lists"))?;
    gatehouse.launch()?;
    gatehouse.await_status("Time", "connected")?;
    gatehouse.await_status("Notes", "stopped")?;
    let refused = gatehouse.run_as_operator(&["policy", "auto-approve", "Notes", "all"])?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(!refused.status.success() && said.contains("aren't known") && said.contains("Start"), "{said}");
    ensure!(gatehouse.ask(&["policy", "show"])?["rules"] == json!([]), "a rule for nothing was made");
    let all = gatehouse.ask(&["policy", "auto-approve", "--every-server", "all"])?;
    ensure!(all["unknown"] == json!(["Notes"]), "{all:#}");
    ensure!(all["servers"].to_string().contains("Time"), "{all:#}");
    gatehouse.ask(&["servers", "start", "Notes"])?;
    gatehouse.await_status("Notes", "connected")?;
    let set = gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    ensure!(set["servers"][0]["tools"].to_string().contains("add_note"), "{set:#}");
    gatehouse.ask(&["servers", "stop", "Notes"])?;
    // Its tools are known from the last connection, and still covered when it is set again.
    let again = gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    ensure!(again["servers"][0]["tools"] == set["servers"][0]["tools"], "{again:#}");
    eventually_holds("asking to cover nothing", || {
        Ok(gatehouse.ask(&["policy", "auto-approve", "Notes", "ask"])?["servers"][0]["tools"] == json!([]))
    })
}
