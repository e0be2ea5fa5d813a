//! An attacker wants to act without a trace: to sign in and out, and to get answers to a server's
//! requests, without an audit entry. Each test states what was tried and what stopped it.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::oidc::Browser;
use gatehouse_tests::sign_in::{SignInCommand, SignInTestbed};
use rusqlite::Connection;
use serde_json::{Value, json};

const OLD: &str = "2025-11-25";

/// Entries of a kind, oldest first.
fn entries(gatehouse: &Gatehouse, kind: &str) -> Result<Vec<Value>> {
    let all = gatehouse.ask(&["audit", "list", "--limit", "1000"])?;
    let all = all.as_array().context("no entries")?;
    Ok(all.iter().map(|entry| entry["event"].clone()).filter(|event| event["audit"] == kind).collect())
}

fn outcomes(gatehouse: &Gatehouse) -> Result<Vec<String>> {
    let text = |event: &Value| event["what"].as_str().unwrap_or_default().to_owned();
    Ok(entries(gatehouse, "sign_in")?.iter().map(text).collect())
}

/// Blocks writes to the audit database until it is dropped.
fn hold_ledger(gatehouse: &Gatehouse) -> Result<Connection> {
    let ledger = Connection::open(gatehouse.data_dir().join("ledger.db"))?;
    ledger.execute_batch("BEGIN EXCLUSIVE")?;
    Ok(ledger)
}

/// Tried: to sign in, to be refused, to lose the tokens and to sign out without a trace. Stopped by: an
/// entry for each, with server, account and authorization server, and without any token or code.
#[test]
fn audits_every_sign_in_and_sign_out() -> Result<()> {
    let mut testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    Browser::refusing("ann").visit(&signing.address)?;
    signing.wait_for_failure()?;
    testbed.sign_in("diary", "ann")?;
    testbed.provider.revoke("ann")?;
    ensure!(!testbed.call("diary", "whoami", &json!({}))?.is_ok(), "revoked tokens were taken");
    testbed.gatehouse.await_status("diary", "needs_auth")?;
    testbed.sign_in("diary", "ann")?;
    testbed.gatehouse.ask(&["servers", "sign-out", "diary"])?;
    let expected = ["failed", "signed_in", "expired", "signed_in", "signed_out", "tokens_revoked"];
    ensure!(outcomes(&testbed.gatehouse)? == expected, "{:?}", outcomes(&testbed.gatehouse)?);
    let written = entries(&testbed.gatehouse, "sign_in")?;
    ensure!(written[0]["reason"].is_string(), "why it was refused is missing: {}", written[0]);
    for entry in &written[1..] {
        ensure!(entry["issuer"] == testbed.provider.issuer.as_str(), "{entry}");
        ensure!(entry["account"].as_str().is_some_and(|account| account.contains("ann")), "{entry}");
    }
    let words = testbed.gatehouse.run_as_operator(&["audit"])?;
    let words = String::from_utf8(words.stdout)?;
    for sentence in ["signed in to diary as ann", "signed out of diary", "tokens for diary revoked"] {
        ensure!(words.contains(sentence), "“{sentence}” is not in {words}");
    }
    ensure!(testbed.gatehouse.ask(&["audit", "verify"])?["result"] == "whole", "the chain is broken");
    testbed.end()
}

/// Tried: to get a form, a page, a model's answer and more scopes without an audit entry. Stopped by: an
/// entry for each answer that names server, client, kind and decision, and nothing that was entered.
#[test]
fn audits_every_answered_server_request() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Plain")?;
    let _upstream = add(&gatehouse, "curious", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    gatehouse.ask(&["policy", "auto-approve", "curious", "all"])?;
    let mut client = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    for (tool, word) in [("ask_form", "allow"), ("ask_url", "deny"), ("ask_model", "deny")] {
        let call = client.begin(tool, &json!({}))?;
        let question = person.next_approval()?;
        person.answer(&question, word)?;
        client.finish(&call)?;
    }
    let written = entries(&gatehouse, "server_request_answered")?;
    let found: Vec<(&str, &str)> = written
        .iter()
        .map(|entry| {
            (entry["request"].as_str().unwrap_or_default(), entry["answer"].as_str().unwrap_or_default())
        })
        .collect();
    ensure!(found == [("form", "accepted"), ("url", "declined"), ("sampling", "declined")], "{written:#?}");
    for entry in &written {
        ensure!(entry["server"].is_string() && entry["by"] == "operator", "{entry}");
        ensure!(!entry.to_string().contains("Ann"), "what was entered is in the audit: {entry}");
    }
    let words = String::from_utf8(gatehouse.run_as_operator(&["audit"])?.stdout)?;
    ensure!(words.contains("form of curious for Plain: accepted by the operator"), "{words}");
    Ok(())
}

/// Tried: to have an answer accepted while the audit cannot be written. Stopped by: the answer is
/// refused, the request stays pending, and the server gets nothing until the audit can be written.
#[test]
fn rejects_answers_while_audit_is_unwritable() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Plain")?;
    let _upstream = add(&gatehouse, "curious", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    gatehouse.ask(&["policy", "auto-approve", "curious", "all"])?;
    let mut client = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    let call = client.begin("ask_form", &json!({}))?;
    let question = person.next_approval()?;
    let answer = json!({ "answers": [{
        "id": question["id"], "hash": null, "answer": { "answer": "accept", "content": "{\"name\":\"Zoe\"}" },
    }] });
    let held = hold_ledger(&gatehouse)?;
    let refused = gatehouse.command("approvals.answer", &answer);
    ensure!(refused.is_err(), "it counted without a trace: {refused:?}");
    let pending = gatehouse.ask(&["approvals", "list"])?;
    ensure!(pending[0]["id"] == question["id"], "the request is gone: {pending:#}");
    drop(held);
    gatehouse.command("approvals.answer", &answer)?;
    let end = client.finish(&call)?;
    ensure!(format!("{end:?}").contains("Zoe"), "{end:?}");
    ensure!(entries(&gatehouse, "server_request_answered")?.len() == 1, "one answer, one entry");
    Ok(())
}

/// Tried: to sign in while the audit cannot be written. Stopped by: the tokens are not stored.
#[test]
fn rejects_sign_in_while_audit_is_unwritable() -> Result<()> {
    let testbed = SignInTestbed::start(&[])?;
    testbed.add("diary")?;
    let signing = SignInCommand::begin(&testbed.gatehouse, "diary")?;
    let held = hold_ledger(&testbed.gatehouse)?;
    Browser::of("ann").visit(&signing.address)?;
    signing.wait_for_failure()?;
    drop(held);
    ensure!(testbed.state("diary")?["is"] == "out", "signed in without a trace");
    ensure!(!outcomes(&testbed.gatehouse)?.contains(&"signed_in".to_owned()), "it says so all the same");
    testbed.end()
}
