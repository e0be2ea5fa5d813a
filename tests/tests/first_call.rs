//! The path of a first call with real servers, clients and approvals: a client lists the tools and calls
//! one, a person sees the full call and allows or denies it, the answer is returned, everything is in
//! the audit, and grants survive a restart.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::client::{CallOutcome, Client, Sdk, npm_server};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::{Value, json};

/// A Gatehouse with the filesystem server from npm over one folder, and a client's token.
fn with_files(client: &str) -> Result<(Gatehouse, std::path::PathBuf, String)> {
    let gatehouse = Gatehouse::start()?;
    let folder = gatehouse.folder("notes")?;
    fs::write(folder.join("todo.md"), "- buy milk\n- call Bo")?;
    let server = npm_server("server-filesystem");
    let words = [
        "servers",
        "add",
        "files",
        "--",
        "node",
        server.to_str().context("path")?,
        folder.to_str().context("path")?,
    ];
    gatehouse.ask(&words)?;
    gatehouse.await_status("files", "connected")?;
    let token = gatehouse.add_client(client)?;
    Ok((gatehouse, folder, token))
}

fn argument<'a>(question: &'a Value, name: &str) -> Result<&'a str> {
    question["request"]["arguments"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|shown| shown["name"] == name)
        .and_then(|shown| shown["text"].as_str())
        .with_context(|| format!("no argument {name} in {question:#}"))
}

fn first_call_flow(sdk: Sdk, revision: &str) -> Result<()> {
    let (mut gatehouse, folder, token) = with_files("Writer")?;
    let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
    let names: Vec<String> =
        client.tools()?.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
    ensure!(names.iter().any(|name| name == "read_text_file"), "the tools are not listed: {names:?}");

    let todo = folder.join("todo.md");
    let todo = todo.to_str().context("path")?;
    let mut person = gatehouse.person()?;

    // "Allow once" lets exactly this call through.
    let call = client.begin("read_text_file", &json!({ "path": todo }))?;
    let question = person.next_approval()?;
    ensure!(question["request"]["client"]["name"] == "Writer", "client: {question:#}");
    ensure!(question["request"]["server"]["name"] == "files", "server: {question:#}");
    ensure!(question["request"]["subject"]["name"] == "read_text_file", "tool: {question:#}");
    ensure!(argument(&question, "path")? == format!("{todo:?}"), "arguments: {question:#}");
    person.answer(&question, "allow")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_ok() && answer.text().contains("buy milk"), "allowed, yet {answer:?}");

    // The same call again needs a new approval; a denial's reason reaches the model.
    let call = client.begin("read_text_file", &json!({ "path": todo }))?;
    let question = person.next_approval()?;
    person.answer(&question, "deny not before lunch")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_tool_error(), "denied, yet {answer:?}");
    ensure!(answer.text().contains("not before lunch"), "the reason is missing: {answer:?}");
    ensure!(answer.text().contains("user"), "it does not say who refused: {answer:?}");

    // The server's labels are trusted: its reads can be allowed permanently.
    gatehouse.ask(&["servers", "trust-labels", "files"])?;
    let call = client.begin("read_text_file", &json!({ "path": todo }))?;
    let question = person.next_approval()?;
    ensure!(question["request"]["class"]["class"] == "read", "class: {question:#}");
    person.answer(&question, "always-reads")?;
    ensure!(client.finish(&call)?.is_ok(), "allowed for good, yet refused");
    let answer = client.call("read_text_file", &json!({ "path": todo }))?;
    ensure!(answer.is_ok(), "reads are allowed, yet {answer:?}");

    // A write still needs approval, and nothing was written before the answer.
    let target = folder.join("new.md");
    let arguments = json!({ "path": target.to_str(), "content": "written" });
    let call = client.begin("write_file", &arguments)?;
    let question = person.next_approval()?;
    ensure!(question["request"]["class"]["class"] == "write", "class: {question:#}");
    ensure!(argument(&question, "content")? == r#""written""#, "arguments: {question:#}");
    ensure!(!target.exists(), "written before the answer");
    person.answer(&question, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "a denied write went through");
    ensure!(!target.exists(), "written although denied");

    let call = client.begin("write_file", &arguments)?;
    let question = person.next_approval()?;
    person.answer(&question, "allow")?;
    ensure!(client.finish(&call)?.is_ok(), "an allowed write was refused");
    ensure!(fs::read_to_string(&target)? == "written", "the file holds something else");

    audit_tells(&gatehouse)?;
    survives_restart(&mut gatehouse, sdk, revision, &token, todo)
}

fn audit_tells(gatehouse: &Gatehouse) -> Result<()> {
    let audit = gatehouse.ask(&["audit", "list"])?;
    let entries = audit.as_array().context("the audit is not a list")?;
    let decided: Vec<bool> = entries
        .iter()
        .filter(|entry| entry["event"]["audit"] == "decided")
        .filter_map(|entry| entry["event"]["allowed"].as_bool())
        .collect();
    ensure!(decided == [true, false, true, false, true], "decisions in the audit: {decided:?}");
    for kind in ["server_changed", "client_changed", "labels_trusted", "granted"] {
        ensure!(entries.iter().any(|entry| entry["event"]["audit"] == kind), "no {kind} in {audit:#}");
    }
    let verdict = gatehouse.ask(&["audit", "verify"])?;
    ensure!(verdict["result"] == "whole", "the audit does not verify: {verdict}");
    Ok(())
}

fn survives_restart(
    gatehouse: &mut Gatehouse,
    sdk: Sdk,
    revision: &str,
    token: &str,
    todo: &str,
) -> Result<()> {
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("files", "connected")?;
    let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(token))?;
    let answer = client.call("read_text_file", &json!({ "path": todo }))?;
    ensure!(answer.is_ok(), "the grant is gone after a restart: {answer:?}");
    // The record of the last one is written after its answer.
    eventually("the records of all calls", || {
        let calls = gatehouse.ask(&["calls"])?;
        Ok(if calls.as_array().is_some_and(|calls| calls.len() >= 7) { Ok(()) } else { Err(calls) })
    })?;
    gatehouse.stop()
}

#[test]
fn typescript_client_of_2026_07_28() -> Result<()> {
    first_call_flow(Sdk::TypeScript, "2026-07-28")
}

#[test]
fn typescript_client_of_2025_11_25() -> Result<()> {
    first_call_flow(Sdk::TypeScript, "2025-11-25")
}

#[test]
fn python_client_of_2026_07_28() -> Result<()> {
    first_call_flow(Sdk::Python, "2026-07-28")
}

#[test]
fn python_client_of_2025_11_25() -> Result<()> {
    first_call_flow(Sdk::Python, "2025-11-25")
}

#[test]
fn cancelled_call_leaves_ticket_for_same_call() -> Result<()> {
    let (gatehouse, folder, token) = with_files("Impatient")?;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    let path = folder.join("late.md");
    let arguments = json!({ "path": path.to_str(), "content": "late" });
    let call = client.begin("write_file", &arguments)?;
    let question = person.next_approval()?;
    client.cancel(&call)?;
    let answer = client.finish(&call)?;
    ensure!(matches!(answer, CallOutcome::Error(_)), "a cancelled call ended well: {answer:?}");
    // The cancellation may not have arrived yet; the answer is meant for an approval whose client no
    // longer waits.
    let deadline = Instant::now() + TEST_TIMEOUT;
    while gatehouse.ask(&["approvals", "list"])?[0]["waiting"] != false {
        ensure!(Instant::now() < deadline, "the cancellation never arrived");
    }
    person.answer(&question, "allow")?;

    let other = json!({ "path": path.to_str(), "content": "something else" });
    let call = client.begin("write_file", &other)?;
    let second = person.next_approval()?;
    ensure!(second["request"]["hash"] != question["request"]["hash"], "another call, the same hash");
    person.answer(&second, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "the ticket let another call through");

    ensure!(client.call("write_file", &arguments)?.is_ok(), "the ticket was not honoured");
    ensure!(fs::read_to_string(&path)? == "late", "the file holds something else");

    let call = client.begin("write_file", &arguments)?;
    let third = person.next_approval()?;
    person.answer(&third, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "the ticket was used twice");
    Ok(())
}

#[test]
fn denies_call_without_approver() -> Result<()> {
    let (mut gatehouse, folder, token) = with_files("Alone")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let path = folder.join("never.md");
    let call = client.begin("write_file", &json!({ "path": path.to_str(), "content": "x" }))?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while gatehouse.ask(&["approvals", "list"])?.as_array().is_none_or(Vec::is_empty) {
        ensure!(Instant::now() < deadline, "the question never came");
    }
    gatehouse.stop()?;
    ensure!(!client.finish(&call)?.is_ok(), "a call went through while nobody was there");
    ensure!(!path.exists(), "written although nobody allowed it");
    Ok(())
}
