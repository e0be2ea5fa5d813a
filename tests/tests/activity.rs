//! Past calls in the product: filters and figures (UI-5, UI-7), exports of all forms, what a caller without the operator key
//! sees of them, records without arguments and results, and rules that are found to be wider than needed and narrowed.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_model::grant::Rule;
use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallRecord, Decision, Timestamp, Verdict};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use serde_json::{Value, json};

const DAY: i64 = 24 * 3_600_000;

fn lines(output: &std::process::Output) -> Result<Vec<String>> {
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout.clone())?.lines().map(str::to_owned).collect())
}

fn call(gatehouse: &Gatehouse, token: &str, (tool, arguments): (&str, &str)) -> Result<()> {
    BackgroundCall::call(&gatehouse.endpoint, token, tool, arguments).end()?;
    Ok(())
}

/// A client calls a tool that runs and one that is refused.
fn with_calls() -> Result<(Gatehouse, String)> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Time", "connected")?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("=agent")?;
    gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
    gatehouse.ask(&["policy", "deny", "Notes", "--all"])?;
    call(&gatehouse, &token, ("current_time", r#"{"timezone":"Europe/Vienna"}"#))?;
    call(&gatehouse, &token, ("list_notes", "{}"))?;
    Ok((gatehouse, token))
}

#[test]
fn calls_are_filtered_counted_and_exported() -> Result<()> {
    let (gatehouse, _) = with_calls()?;
    let names = |words: &[&str]| -> Result<Vec<String>> {
        let calls = gatehouse.ask(&[&["calls"][..], words].concat())?;
        let calls = calls.as_array().context("calls")?.iter();
        Ok(calls.map(|call| call["subject"]["name"].as_str().unwrap_or_default().to_owned()).collect())
    };
    for (words, expected) in [
        (&[][..], &["list_notes", "current_time"][..]),
        (&["--tool", "current_time"], &["current_time"]),
        (&["--decision", "deny"], &["list_notes"]),
        (&["--outcome", "denied"], &["list_notes"]),
        (&["--outcome", "ok", "--text", "vienna"], &["current_time"]),
        (&["--outcome", "error"], &[]),
        (&["--since", "1h", "--limit", "1"], &["list_notes"]),
    ] {
        ensure!(names(words)? == expected, "{words:?}: {:?}", names(words)?);
    }

    let stats = gatehouse.ask(&["calls", "stats", "--by", "client"])?;
    let expected = json!({ "ok": 1, "errors": 0, "denied": 1, "unfinished": 0 });
    ensure!(stats["totals"] == expected && stats["points"][0]["counts"] == expected, "{stats:#}");
    ensure!(stats["mostUsed"].as_array().is_some_and(|tools| tools.len() == 2), "{stats:#}");
    let text = lines(&gatehouse.run_as_operator(&["calls", "stats"])?)?;
    ensure!(text[0] == "2 calls: 1 ok, 0 failed, 1 denied, 0 unfinished", "{text:#?}");

    let export = |format: &str| lines(&gatehouse.run_as_operator(&["calls", "export", "--format", format])?);
    let csv = export("csv")?;
    ensure!(csv.len() == 3 && csv[1].contains("\"'=agent\"") && csv[2].contains("Europe/Vienna"), "{csv:#?}");
    let records = export("jsonl")?;
    let records: Vec<Value> =
        records.iter().map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
    ensure!(records[0]["judged"].as_array().is_some_and(|checks| !checks.is_empty()), "{records:#?}");
    let har: Value = serde_json::from_str(&export("har")?.concat())?;
    ensure!(har["log"]["entries"].as_array().is_some_and(|entries| entries.len() == 2), "{har:#}");
    let denied = lines(&gatehouse.run_as_operator(&["calls", "export", "--decision", "deny"])?)?;
    ensure!(denied.len() == 1 && denied[0].contains("list_notes"), "{denied:#?}");
    Ok(())
}

/// How a call was judged tells whether conditions hold for its arguments, also those of a block that anyone may add.
#[test]
fn without_the_key_nothing_of_the_contents_is_seen() -> Result<()> {
    let (gatehouse, _) = with_calls()?;
    let seen = lines(&gatehouse.run_unprivileged(&["--json", "calls"])?)?.concat();
    let seen: Value = serde_json::from_str(&seen)?;
    let calls = seen.as_array().context("calls")?;
    ensure!(calls.len() == 2, "{seen:#}");
    for call in calls {
        for member in ["judged", "arguments", "result"] {
            ensure!(call[member].is_null(), "{member}: {call:#}");
        }
    }
    let counted = lines(&gatehouse.run_unprivileged(&["--json", "calls", "stats"])?)?.concat();
    ensure!(counted.contains("current_time") && !counted.contains("Vienna"), "{counted}");
    let rule = gatehouse.ask(&["policy", "show"])?["rules"][0]["rule"]["id"].clone();
    let narrowed = gatehouse.run_unprivileged(&["policy", "narrow", rule.as_str().context("a rule")?])?;
    ensure!(narrowed.status.code() == Some(4), "{narrowed:?}");
    Ok(())
}

/// The call itself is recorded. Nothing of its arguments, its result or the server's error is in any file, also of a call that
/// is large enough to be recorded in the background.
#[test]
fn stores_no_bodies_of_a_server_that_switched_them_off() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    call(&gatehouse, &token, ("echo", r#"{"text":"juniper"}"#))?;
    gatehouse.ask(&["servers", "set", "raw", "recordBodies=false"])?;
    gatehouse.await_status("raw", "connected")?;
    let large = json!({ "text": format!("rowan {}", "x".repeat(10_000)) }).to_string();
    call(&gatehouse, &token, ("echo", r#"{"text":"hawthorn"}"#))?;
    call(&gatehouse, &token, ("echo", &large))?;
    call(&gatehouse, &token, ("say", r#"{"level":"hazel"}"#))?;

    let count = |text: &str| -> Result<Option<usize>> {
        Ok(gatehouse.ask(&["calls", "--text", text])?.as_array().map(Vec::len))
    };
    eventually_holds("four calls are recorded", || {
        Ok(gatehouse.ask(&["calls"])?.as_array().is_some_and(|calls| calls.len() == 4))
    })?;
    let calls = gatehouse.ask(&["calls"])?;
    let by_tool = |call: &Value| call["subject"]["name"].as_str().map(str::to_owned);
    let calls = calls.as_array().context("calls")?;
    let tools: Vec<_> = calls.iter().filter_map(by_tool).collect();
    ensure!(tools == ["say", "echo", "echo", "echo"], "{tools:?}");
    for call in &calls[..3] {
        ensure!(call["arguments"].is_null() && call["result"].is_null(), "{call:#}");
        ensure!(call["bytesIn"].as_u64() > Some(0) && call["bytesOut"].as_u64() > Some(0), "{call:#}");
    }
    let outcome = &calls[0]["outcome"];
    ensure!(*outcome == json!({ "outcome": "rpc_error", "code": -32602, "message": "" }), "{outcome:#}");
    ensure!(calls[3]["arguments"].to_string().contains("juniper"), "{:#}", calls[3]);
    ensure!(count("juniper")? == Some(1) && count("hawthorn")? == Some(0) && count("rowan")? == Some(0));

    gatehouse.stop()?;
    let mut stored = Vec::new();
    for file in fs::read_dir(gatehouse.data_dir())? {
        let path = file?.path();
        if path.is_file() {
            stored.extend(fs::read(path)?);
        }
    }
    let is_stored = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    ensure!(is_stored("juniper"), "what is stored isn't found");
    for text in ["hawthorn", "rowan", "hazel", "no such level"] {
        ensure!(!is_stored(text), "{text} is stored");
    }

    // The setting stays over a restart.
    gatehouse.launch()?;
    let server = gatehouse.await_status("raw", "connected")?;
    ensure!(server["config"]["recordBodies"] == false, "{:#}", server["config"]);
    Ok(())
}

/// The rule and its use are made older on the disk, since nobody waits for 30 days.
#[test]
fn wide_rule_is_found_narrowed_and_widened_again() -> Result<()> {
    let (mut gatehouse, token) = with_calls()?;
    ensure!(gatehouse.ask(&["policy", "findings"])?["rules"] == json!([]), "found too early");
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let shown = gatehouse.ask(&["policy", "show"])?;
    let denies =
        shown["rules"].as_array().context("rules")?.iter().find(|one| one["rule"]["effect"] == "deny");
    let deny = denies.and_then(|one| one["rule"]["id"].as_str()).context("the deny")?;
    gatehouse.ask(&["policy", "unblock", deny])?;
    call(&gatehouse, &token, ("list_notes", "{}"))?;
    gatehouse.stop()?;

    let store = gatehouse.open_store()?;
    let mut permissions = store.permissions().load()?.context("permissions")?;
    let old = |at: Timestamp| Timestamp(at.0 - 40 * DAY);
    for rule in &mut permissions.rules {
        rule.created = old(rule.created);
    }
    store.permissions().save(&permissions)?;
    let newest = store.activity().list(&CallFilter { limit: Some(1), ..CallFilter::default() })?;
    let newest = newest.first().context("a call")?;
    store.activity().record(CallRecord {
        at: old(newest.at),
        verdict: Verdict { decision: Decision::Ask, rule: Rule::DefaultAsk },
        ..newest.clone()
    });
    store.activity().flush();
    drop(store);

    gatehouse.launch()?;
    gatehouse.await_status("Notes", "connected")?;
    let found = gatehouse.ask(&["policy", "findings"])?;
    let wide = found["rules"].as_array().context("rules")?.iter();
    let wide: Vec<&Value> = wide.filter(|one| one["finding"]["used"] == json!(["list_notes"])).collect();
    let [wide] = wide[..] else { anyhow::bail!("{found:#}") };
    let rule = wide["rule"].as_str().context("a rule")?;
    let text = lines(&gatehouse.run_as_operator(&["policy", "findings"])?)?.join("\n");
    ensure!(text.contains("wider than ever needed: used for list_notes"), "{text}");

    let allowed = |tool: &str| -> Result<bool> {
        let tools = gatehouse.command("tools.list", &json!({ "server": "Notes" }))?;
        let tool = tools.as_array().context("tools")?.iter().find(|one| one["name"] == tool);
        Ok(tool.context("the tool")?["permission"]["decision"] == "allow")
    };
    ensure!(allowed("add_note")? && allowed("list_notes")?, "the wide rule doesn't count");
    gatehouse.ask(&["policy", "narrow", rule])?;
    ensure!(!allowed("add_note")? && allowed("list_notes")?, "it was not narrowed");
    gatehouse.ask(&["undo"])?;
    ensure!(allowed("add_note")? && allowed("list_notes")?, "it was not undone");
    Ok(())
}
