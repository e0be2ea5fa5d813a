//! An agent that runs as the same user tries to help itself. Each test says what it tried and what
//! stopped it.
#![allow(missing_docs, reason = "a test binary has no public items")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::lines::PATIENCE;
use gatehouse_tests::{http, places};
use serde_json::{Value, json};

#[test]
fn it_runs_gatehousectl_without_the_key() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.add_client("agent")?;
    for words in [
        &["servers", "add", "evil", "--", "sh"][..],
        &["clients", "add", "twin"],
        &["policy", "auto-approve", "Notes", "all"],
        &["policy", "grant", "Notes", "--tool", "add_note"],
        &["servers", "trust-labels", "Notes"],
        &["tools", "classify", "Notes", "add_note", "read"],
        &["approvals", "list"],
        &["approvals", "watch"],
        &["resume"],
    ] {
        let output = gatehouse.anyone(words)?;
        ensure!(output.status.code() == Some(4), "{words:?} ended with {output:?}");
    }
    let rules = gatehouse.ask(&["policy", "show"])?;
    ensure!(rules["rules"].as_array().is_some_and(Vec::is_empty), "rules appeared: {rules:#}");
    Ok(())
}

#[test]
fn it_speaks_to_the_socket_itself() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let socket = gatehouse.data_dir().join("control.sock");
    let mode = fs::metadata(&socket)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "the socket's mode is {mode:o}");
    let stream = UnixStream::connect(&socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut ask = |line: &str| -> Result<Value> {
        (&stream).write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        reader.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    };
    for key in ["", r#","operatorKey":"""#, r#","operatorKey":"guess""#, r#","operatorKey":null"#] {
        let answer = ask(&format!(r#"{{"id":1,"command":"clients.add","args":{{"name":"x"}}{key}}}"#))?;
        ensure!(answer["problem"]["code"] == "not_permitted", "{key}: {answer}");
    }
    let answer = ask(r#"{"id":2,"command":"no.such","args":{}}"#)?;
    ensure!(answer["problem"]["code"] == "bad_request", "{answer}");
    let answer = ask("this is not JSON")?;
    ensure!(answer["problem"]["code"] == "bad_request", "{answer}");
    Ok(())
}

#[test]
fn it_edits_the_servers_file() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let file = gatehouse.data_dir().join("servers.json");
    let ran = gatehouse.folder("log")?.join("ran");
    let mut servers: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    servers["mcpServers"]["evil"] =
        json!({ "command": "sh", "args": ["-c", format!("touch {}", ran.display())] });
    fs::write(&file, servers.to_string())?;
    let mut person = gatehouse.person()?;
    let question = person.question()?;
    ensure!(question["ask"]["ask"] == "config_change" && question["ask"]["server"] == "evil", "{question:#}");
    ensure!(!ran.exists(), "it ran before anybody confirmed it");
    person.answer(&question, "deny")?;
    let deadline = Instant::now() + PATIENCE;
    while !gatehouse.ask(&["audit", "list"])?.to_string().contains("hand_edit") {
        ensure!(Instant::now() < deadline, "the refusal is not in the audit");
    }
    gatehouse.stop()?;
    gatehouse.launch()?;
    let listed = gatehouse.ask(&["servers", "list"])?.to_string();
    ensure!(!listed.contains("evil") && !ran.exists(), "it came in by a restart: {listed}");
    Ok(())
}

/// Copies the databases of a data folder away, or back.
fn copy_databases(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().contains(".db") {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

#[test]
fn it_restores_an_old_database_to_revive_a_revoked_grant() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    gatehouse.stop()?;
    let old = gatehouse.folder("old")?;
    copy_databases(&gatehouse.data_dir(), &old)?;
    gatehouse.launch()?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "ask"])?;
    gatehouse.stop()?;
    for entry in fs::read_dir(gatehouse.data_dir())?.flatten() {
        if entry.file_name().to_string_lossy().contains(".db") {
            fs::remove_file(entry.path())?;
        }
    }
    copy_databases(&old, &gatehouse.data_dir())?;
    gatehouse.launch()?;
    let shown = gatehouse.ask(&["policy", "show"])?;
    ensure!(shown["verified"] == false, "an old copy passes for the present one: {shown:#}");
    ensure!(gatehouse.ask(&["status"])?["problems"].to_string().contains("rights"), "nobody is told");
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let call = client.begin("add_note", &json!({ "text": "revived" }))?;
    let mut person = gatehouse.person()?;
    let question = person.question()?;
    person.answer(&question, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "the revoked grant lives");
    Ok(())
}

#[test]
fn it_forges_a_grant_and_tampers_with_the_audit() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "reads"])?;
    gatehouse.stop()?;
    let mut changed = 0;
    for entry in fs::read_dir(gatehouse.data_dir())?.flatten() {
        if !entry.file_name().to_string_lossy().contains(".db") {
            continue;
        }
        let bytes = fs::read(entry.path())?;
        // The same length, so that the database itself stays readable.
        let forged = replace(&bytes, br#"{"width":"reads"}"#, br#"{"width":"reado"}"#);
        if forged != bytes {
            fs::write(entry.path(), forged)?;
            changed += 1;
        }
    }
    ensure!(changed > 0, "there was nothing to forge");
    gatehouse.launch()?;
    let shown = gatehouse.ask(&["policy", "show"])?;
    // A broken chain is told by the exit code too, for scripts.
    let output = gatehouse.operator(&["--json", "audit", "verify"])?;
    let audit: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(output.status.success() == (audit["result"] == "whole"), "{output:?}");
    ensure!(shown["verified"] == false || audit["result"] == "broken", "nobody noticed: {shown:#} {audit}");
    Ok(())
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[test]
fn it_changes_the_tool_after_it_was_allowed() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let server = places::program("fixture-server")?;
    let words = ["servers", "add", "raw", "--", server.to_str().context("path")?, "--fault", "changes-tools"];
    gatehouse.ask(&words)?;
    gatehouse.await_status("raw", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let fine = http::modern(&gatehouse.endpoint, &token, "tools/call", r#""name":"echo","arguments":{}"#)?;
    ensure!(fine.status == 200, "{fine:?}");
    http::modern(&gatehouse.endpoint, &token, "tools/call", r#""name":"mutate","arguments":{}"#)?;
    let changed = gatehouse_tests::fixture::CHANGED_TOOL;
    let deadline = Instant::now() + PATIENCE;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    loop {
        let tools = gatehouse.ask(&["tools", "list"])?.to_string();
        if tools.contains(gatehouse_tests::fixture::CHANGED_DESCRIPTION) {
            break;
        }
        ensure!(Instant::now() < deadline, "the changed definition was never noticed");
    }
    let call = client.begin(changed, &json!({}))?;
    let mut person = gatehouse.person()?;
    let question = person.question()?;
    let changes = question["ask"]["changes"].to_string();
    ensure!(changes.contains("/description"), "it does not say what changed: {question:#}");
    ensure!(!question["ask"]["choices"].to_string().contains("always"), "always is on offer: {question:#}");
    person.answer(&question, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "the changed tool ran");
    Ok(())
}

#[test]
fn it_floods_the_person_with_questions() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("flood")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let calls: Vec<String> = (0..70)
        .map(|n| client.begin("add_note", &json!({ "text": format!("note {n}") })))
        .collect::<Result<_>>()?;
    // Six of them end at once; which ones is up to the order of arrival.
    let mut refused = 0;
    let deadline = Instant::now() + PATIENCE;
    while gatehouse.ask(&["approvals", "list"])?.as_array().is_none_or(|asks| asks.len() < 64) {
        ensure!(Instant::now() < deadline, "never 64 questions");
    }
    gatehouse.ask(&["pause"])?;
    for call in &calls {
        let answer = client.finish(call)?;
        ensure!(!answer.is_ok(), "a note was added: {answer:?}");
        refused += usize::from(answer.text().contains("64"));
    }
    ensure!(refused == 6, "{refused} were refused for being too many");
    Ok(())
}

#[test]
fn a_pause_stops_everything_and_only_the_operator_ends_it() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    ensure!(client.call("add_note", &json!({ "text": "one" }))?.is_ok(), "not allowed at first");
    ensure!(gatehouse.anyone(&["pause"])?.status.success(), "anyone may pause");
    let answer = client.call("add_note", &json!({ "text": "two" }))?;
    ensure!(answer.is_tool_error() && answer.text().contains("pause"), "{answer:?}");
    ensure!(gatehouse.anyone(&["resume"])?.status.code() == Some(4), "anyone may resume");
    gatehouse.ask(&["resume"])?;
    ensure!(client.call("add_note", &json!({ "text": "three" }))?.is_ok(), "still paused");
    Ok(())
}

#[test]
fn nothing_secret_is_written_anywhere() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("agent")?;
    let key = gatehouse.operator_key()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let secret = "sk-live-0123456789abcdefghijklmnop";
    client.call("add_note", &json!({ "text": "a note", "api_key": secret }))?;
    gatehouse.stop()?;
    let mut files = vec![gatehouse.data_dir()];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            continue;
        }
        let mode = fs::symlink_metadata(&path)?.permissions().mode() & 0o777;
        ensure!(mode & 0o077 == 0, "{} is open to others: {mode:o}", path.display());
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for (what, word) in
            [("the token", token.as_str()), ("the operator key", &key), ("a secret argument", secret)]
        {
            ensure!(!text.contains(word), "{what} stands in {}", path.display());
        }
        read += 1;
    }
    ensure!(read >= 3, "only {read} files were looked at");
    let stderr = gatehouse.stderr();
    ensure!(!stderr.contains(&token) && !stderr.contains(&key), "a secret was printed");
    Ok(())
}
