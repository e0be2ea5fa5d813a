//! An answer to an approval request contains hand-written conditions on arguments, made to allow more
//! than was shown. Each test states what was tried and what stopped it.

use anyhow::{Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http};
use serde_json::{Value, json};

/// A choice for the requested tool with one condition.
fn when(lifetime: &str, pointer: &str, test: &Value) -> Value {
    let condition = json!({ "pointer": pointer, "test": test });
    json!({ "lifetime": lifetime, "width": "tool", "everyClient": false, "conditions": [condition] })
}

/// A Gatehouse, and a pending call of Notes.
fn pending_note(arguments: &str) -> Result<(Gatehouse, http::BackgroundCall, Value)> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", arguments);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    Ok((gatehouse, call, question))
}

/// The error for an answer that has to be refused; checks that the answer changed nothing.
fn refusal_message(gatehouse: &Gatehouse, question: &Value, choice: &Value) -> Result<String> {
    let answered = approvals::allow(gatehouse, &question["id"], &question["request"]["hash"], choice);
    let Err(error) = answered else { anyhow::bail!("it was taken: {choice}") };
    ensure!(approvals::wait_for_pending(gatehouse, 1)?[0]["id"] == question["id"], "the question is gone");
    let rules = gatehouse.ask(&["policy", "show"])?["rules"].clone();
    ensure!(rules == json!([]), "a rule appeared: {rules:#}");
    Ok(format!("{error:#}"))
}

/// Tried: to allow a call with a condition that matches other calls, so that the click allows calls that
/// were not shown. Stopped by: the condition has to be known to match the present call.
#[test]
fn rejects_condition_that_does_not_cover_the_call() -> Result<()> {
    let (gatehouse, call, question) = pending_note(r#"{"text":"shopping: milk"}"#)?;
    for (pointer, test) in [
        ("/text", json!({ "test": "starts_with", "text": "payroll" })),
        ("/text", json!({ "test": "equals", "value": "\"payroll\"" })),
        ("/text", json!({ "test": "one_of", "values": ["\"a\"", "\"b\""] })),
        ("/text", json!({ "test": "glob", "pattern": "*.sh" })),
        ("/text", json!({ "test": "inside", "folder": "/" })),
        ("/text", json!({ "test": "host_is", "host": "example.org" })),
        ("/nowhere", json!({ "test": "equals", "value": "1" })),
        ("/text", json!({ "test": "equals", "value": "no json" })),
    ] {
        for lifetime in ["until_quit", "always"] {
            let said = refusal_message(&gatehouse, &question, &when(lifetime, pointer, &test))?;
            ensure!(said.contains("condition") || said.contains("Condition"), "{test}: {said}");
        }
    }
    let covers = when("always", "/text", &json!({ "test": "starts_with", "text": "shopping: " }));
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &covers)?;
    let end = call.end()?;
    ensure!(!end.body.contains("isError\":true"), "{end:?}");
    let rules = gatehouse.ask(&["policy", "show"])?["rules"].clone();
    ensure!(rules[0]["rule"]["conditions"] == covers["conditions"], "{rules:#}");
    Ok(())
}

/// Tried: to have a masked value written into a rule, where everyone could read it. Stopped by: a
/// condition must not be about a masked argument, or a part of one.
#[test]
fn rejects_condition_on_masked_argument() -> Result<()> {
    let (gatehouse, call, question) = pending_note(r#"{"text":"a","password":"hunter2-hunter2"}"#)?;
    let is_it = json!({ "test": "equals", "value": "\"hunter2-hunter2\"" });
    let said = refusal_message(&gatehouse, &question, &when("always", "/password", &is_it))?;
    ensure!(said.contains("secret") && !said.contains("hunter2"), "{said}");
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().unwrap_or_default(), "deny"])?;
    call.end()?;
    Ok(())
}

/// Tried: to get “always” with a condition although hidden characters keep it from being offered.
/// Stopped by: a condition narrows an offered choice and adds none.
#[test]
fn rejects_always_choice_that_was_not_offered() -> Result<()> {
    let (gatehouse, call, question) = pending_note("{\"text\":\"milk\u{200b}\"}")?;
    ensure!(!approvals::offers_always(&question)?, "always is offered: {question:#}");
    let starts = json!({ "test": "starts_with", "text": "milk" });
    let said = refusal_message(&gatehouse, &question, &when("always", "/text", &starts))?;
    ensure!(said.contains("not offered"), "{said}");
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().unwrap_or_default(), "deny"])?;
    call.end()?;
    Ok(())
}
