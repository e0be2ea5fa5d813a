//! An agent makes what the operator reads as large as possible, so that it cannot be read or exhausts
//! memory. Each test states what the agent tried and what stopped it.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use serde_json::{Value, json};

/// Maximum bytes of a reply, with some room for the summary of each approval request.
const BOUND: usize = 17 * 1024 * 1024;

/// Waits until this many approvals are pending, without reading them.
fn until_waiting(gatehouse: &Gatehouse, count: usize) -> Result<()> {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while gatehouse.ask(&["status"])?["waiting"] != count {
        ensure!(Instant::now() < deadline, "there were never {count} questions");
    }
    Ok(())
}

/// Whether an approval request contains all of its choices; fails if only a part of them is missing.
fn has_offers(question: &Value) -> Result<bool> {
    let offers = ["choices", "denials"]
        .map(|of| question["request"][of].as_array().is_some_and(|all| !all.is_empty()));
    ensure!(offers[0] == offers[1], "a part of what it offers is missing: {}", question["id"]);
    Ok(offers[0])
}

/// The arguments of an approval request as one JSON text. The tests send none that is masked or has
/// hidden characters.
fn shown(question: &Value) -> Result<String> {
    ensure!(has_offers(question)?, "it offers nothing");
    let arguments = question["request"]["arguments"].as_array().context("no arguments")?;
    let member = |argument: &Value| Some(format!("{}:{}", argument["name"], argument["text"].as_str()?));
    let members: Option<Vec<String>> = arguments.iter().map(member).collect();
    Ok(format!("{{{}}}", members.context("an argument without its text")?.join(",")))
}

/// The ids of the approval requests that came with their arguments, in a reply to a reader that already
/// knows some; every request is in the reply, and states what is missing.
fn complete_ids(reply: &Value, known: &[Value], count: usize) -> Result<Vec<Value>> {
    let all = reply.as_array().context("no list")?;
    ensure!(all.len() == count, "{} questions instead of {count}", all.len());
    let mut complete = Vec::new();
    for question in all {
        let (id, ask) = (&question["id"], &question["request"]);
        ensure!(id.is_string() && ask["hash"].is_string() && ask["subject"]["name"] == "add_note", "{id}");
        ensure!(ask["argumentBytes"].as_u64().is_some_and(|bytes| bytes > 300_000), "{id} has another size");
        let is_missing = ask["arguments"].is_null();
        ensure!(
            ask["isAbridged"] == (is_missing && !known.contains(id)),
            "{id} does not say what is missing"
        );
        ensure!(has_offers(question)? != is_missing, "{id} has arguments and offers apart");
        if !is_missing {
            complete.push(id.clone());
        }
    }
    Ok(complete)
}

/// Makes many calls pending, and reads them with the core's own replies, with `approvals list` and with
/// `approvals watch`.
fn reads_all_of(arguments: &BTreeSet<String>) -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let call = |arguments: &String| BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", arguments);
    let calls: Vec<BackgroundCall> = arguments.iter().map(call).collect();
    until_waiting(&gatehouse, calls.len())?;

    let (mut known, mut replies) = (Vec::new(), 0);
    while known.len() < calls.len() {
        let reply = gatehouse.command("approvals.list", &json!({ "known": known }))?;
        let bytes = reply.to_string().len();
        ensure!(bytes < BOUND, "a reply has {bytes} bytes");
        let more = complete_ids(&reply, &known, calls.len())?;
        ensure!(!more.is_empty(), "a reply brings nothing");
        known.extend(more);
        replies += 1;
    }
    ensure!(replies > 1, "one reply had room for all");

    let listed = gatehouse.ask(&["approvals", "list"])?;
    let listed: BTreeSet<String> =
        listed.as_array().context("no list")?.iter().map(shown).collect::<Result<_>>()?;
    ensure!(listed == *arguments, "the list does not show what was sent");
    let mut person = gatehouse.person()?;
    let mut watched = BTreeSet::new();
    let mut last = Value::Null;
    for _ in &calls {
        last = person.next_approval()?;
        watched.insert(shown(&last)?);
    }
    ensure!(watched == *arguments, "the watch does not show what was sent");
    person.answer(&last, "deny")?;
    until_waiting(&gatehouse, calls.len() - 1)
}

/// Tried: many calls with large arguments, so that the list of pending approvals is too large to be
/// read. Stopped by: one reply has room for 16 MiB; the other requests are named in it and their
/// arguments come in a later reply.
#[test]
fn it_asks_with_large_arguments() -> Result<()> {
    let text = "line of a text that is rather long. ".repeat(116_000);
    let arguments = |at: usize| json!({ "text": format!("{at} {text}") }).to_string();
    reads_all_of(&(0..5).map(arguments).collect())
}

/// Tried: the same with many small arguments, which take more room than their names and texts. Stopped
/// by: the overhead of each argument counts as well.
#[test]
fn it_asks_with_many_small_arguments() -> Result<()> {
    let small: Vec<String> = (0..60_000).map(|at| format!(r#""a{at}":1"#)).collect();
    let small = small.join(",");
    let arguments = |at: usize| format!(r#"{{"n":{at},{small}}}"#);
    reads_all_of(&(0..6).map(arguments).collect())
}
