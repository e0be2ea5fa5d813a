//! Permissions from the user's side: a draft of rules is simulated over the calls of a real client, an
//! auto-approve setting is applied for one client on every server, and a refused resource is called a
//! resource.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::client::{CallOutcome, Client, Sdk};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::{Gatehouse, Person};
use gatehouse_tests::http::BackgroundCall;
use serde_json::{Value, json};

const REVISION: &str = "2025-11-25";

fn operator_output(gatehouse: &Gatehouse, words: &[&str]) -> Result<String> {
    let output = gatehouse.run_as_operator(words)?;
    ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn answered(
    client: &mut Client,
    person: &mut Person,
    (tool, arguments): (&str, Value),
    answer: &str,
) -> Result<CallOutcome> {
    let call = client.begin(tool, &arguments)?;
    let question = person.next_approval()?;
    ensure!(question["request"]["exposedName"] == tool, "{question:#}");
    person.answer(&question, answer)?;
    client.finish(&call)
}

#[test]
fn simulates_draft_and_sets_auto_approve_for_one_client() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for server in ["Notes", "Time"] {
        gatehouse.await_status(server, "connected")?;
    }
    let token = gatehouse.add_client("Claude")?;
    let other = gatehouse.add_client("Cursor")?;
    let mut client = Client::connect(Sdk::TypeScript, REVISION, &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    let add_note = || ("add_note", json!({ "text": "milk" }));
    let time = || ("current_time", json!({ "timezone": "UTC" }));
    ensure!(answered(&mut client, &mut person, add_note(), "allow")?.is_ok());
    ensure!(answered(&mut client, &mut person, ("list_notes", json!({})), "deny")?.is_tool_error());
    ensure!(answered(&mut client, &mut person, time(), "deny")?.is_tool_error());

    // How many would be allowed, need approval, be denied, and which change.
    let draft = ["--auto-approve", "Notes=all", "--deny", "Notes:list_notes", "--for", "Claude"];
    let words = [&["policy", "simulate", "--since", "1h"][..], &draft].concat();
    let found = gatehouse.ask(&words)?;
    ensure!(found["calls"] == 3 && found["gone"] == 0 && found["incomplete"] == 0, "{found:#}");
    ensure!(found["now"] == json!({ "allowed": 0, "asked": 3, "denied": 0 }), "{found:#}");
    ensure!(found["draft"] == json!({ "allowed": 1, "asked": 1, "denied": 1 }), "{found:#}");
    let changes = found["changes"].as_array().context("changes")?;
    let change = |tool: &str| changes.iter().find(|change| change["subject"]["name"] == tool);
    ensure!(changes.len() == 2, "{found:#}");
    ensure!(change("add_note").is_some_and(|change| change["draft"] == "allow"), "{found:#}");
    ensure!(
        change("list_notes").is_some_and(|change| change["rule"]["rule"] == "explicit_deny"),
        "{found:#}"
    );
    let report = operator_output(&gatehouse, &words)?;
    for part in ["add_note", "draft-1", "Of 3 calls since", "1 would be allowed (now 0)", "2 are decided"] {
        ensure!(report.contains(part), "{part} is missing in {report}");
    }
    // The same from a file: nothing is changed.
    let file = gatehouse.folder("drafts")?.join("draft.json");
    let everything = json!({ "autoApprove": [{ "to": "all" }] });
    std::fs::write(&file, everything.to_string())?;
    let found = gatehouse.ask(&["policy", "simulate", "--draft", file.to_str().context("path")?])?;
    ensure!(found["draft"]["allowed"] == 3, "{found:#}");
    ensure!(gatehouse.ask(&["policy", "show"])?["rules"] == json!([]), "a simulation left a rule");
    for wrong in [
        &["--allow", "*"][..],
        &["--allow", "Notes:none"],
        &["--auto-approve", "none=all"],
        &["--without", "x"],
    ] {
        let words = [&["policy", "simulate"][..], wrong].concat();
        ensure!(!gatehouse.run_as_operator(&words)?.status.success(), "{wrong:?} was taken");
    }

    // An auto-approve setting for one client, on both servers at once, and by the operator only.
    let preset = ["policy", "auto-approve", "all", "--every-server", "--client", "Claude"];
    ensure!(gatehouse.run_unprivileged(&preset)?.status.code() == Some(4), "anybody may allow everything");
    gatehouse.ask(&preset)?;
    // On each server the first use needs approval.
    for wish in [add_note(), time()] {
        ensure!(answered(&mut client, &mut person, wish, "allow")?.is_ok());
    }
    for (tool, arguments) in [("add_note", json!({ "text": "eggs" })), ("current_time", json!({}))] {
        ensure!(client.call(tool, &arguments)?.is_ok(), "{tool} was not allowed");
    }
    let mut second = Client::connect(Sdk::TypeScript, REVISION, &gatehouse.endpoint, Some(&other))?;
    for wish in [add_note(), time()] {
        ensure!(answered(&mut second, &mut person, wish, "deny")?.is_tool_error());
    }
    let rules = gatehouse.ask(&["policy", "show"])?;
    let rules = rules["rules"].as_array().context("rules")?;
    let servers = gatehouse.ask(&["servers", "list"])?;
    let servers = servers.as_array().context("servers")?;
    ensure!(rules.len() == servers.len(), "{rules:#?}");
    for server in servers {
        let id = &server["config"]["id"];
        let rule = rules.iter().find(|rule| rule["rule"]["server"]["server"] == *id).context("no rule")?;
        let used = ["Notes", "Time"].iter().any(|name| server["config"]["name"] == *name);
        ensure!(rule["lastUsed"].is_number() == used, "{rule:#}");
    }
    ensure!(operator_output(&gatehouse, &["policy", "show"])?.contains("LAST USED"));
    let audit = operator_output(&gatehouse, &["audit"])?;
    ensure!(audit.contains("runs without asking on Notes for Claude: everything"), "{audit}");
    gatehouse.ask(&["policy", "auto-approve", "Notes", "ask", "--client", "Claude"])?;
    ensure!(answered(&mut client, &mut person, add_note(), "deny")?.is_tool_error());
    ensure!(client.call("current_time", &json!({}))?.is_ok());
    gatehouse.ask(&["clients", "revoke", "Claude"])?;
    ensure!(gatehouse.ask(&["policy", "show"])?["rules"] == json!([]), "the client's rules outlived it");
    Ok(())
}

/// A masked value is revealed to the operator on request, and to no other caller.
#[test]
fn reveals_masked_argument_only_to_operator() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("Claude")?;
    let mut client = Client::connect(Sdk::TypeScript, REVISION, &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    let call = client.begin("echo", &json!({ "text": "hello", "password": "hunter2hunter2" }))?;
    let question = person.next_approval()?;
    ensure!(!question.to_string().contains("hunter2"), "{question:#}");
    let arguments = question["request"]["arguments"].as_array().context("arguments")?;
    let place =
        arguments.iter().position(|argument| argument["masked"] == true).context("nothing is masked")?;
    let wanted = json!({ "id": question["id"], "hash": question["request"]["hash"], "argument": place });
    let shown = gatehouse.command("approvals.reveal", &wanted)?;
    ensure!(shown["text"] == r#""hunter2hunter2""#, "{shown}");
    let stale = json!({ "id": question["id"], "hash": "other", "argument": place });
    ensure!(gatehouse.command("approvals.reveal", &stale).is_err(), "a hash that was not shown counted");
    person.answer(&question, "deny")?;
    client.finish(&call)?;
    for words in [&["calls"][..], &["audit", "list"]] {
        ensure!(!gatehouse.ask(words)?.to_string().contains("hunter2"), "{words:?}");
    }
    let events = gatehouse.command("events.list", &json!({}))?;
    ensure!(!events.to_string().contains("hunter2") && !gatehouse.stderr().contains("hunter2"));
    Ok(())
}

/// A client that requested a resource does not read about a tool (PERM-12).
#[test]
fn denial_names_resource_not_tool() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("Claude")?;
    let mut client = Client::connect(Sdk::TypeScript, REVISION, &gatehouse.endpoint, Some(&token))?;
    let mut person = gatehouse.person()?;
    let refused = std::thread::scope(|scope| {
        let read = scope.spawn(|| client.ask("read", "fixture://note"));
        let question = person.next_approval()?;
        person.answer(&question, "deny not that one")?;
        read.join().expect("no panic")
    })?;
    let words = refused.text();
    ensure!(matches!(refused, CallOutcome::Error(_)), "{refused:?}");
    ensure!(words.contains("no fault of the resource") && words.contains("not that one"), "{words}");
    ensure!(!words.contains("tool"), "{words}");
    Ok(())
}

/// Trusting the labels of a server, and ceasing to, judges its waiting read again, each time as another approval
/// request with the same hash. Only the operator may, and only for the server that the request showed (PERM-2, 16).
#[test]
fn trusted_labels_judge_a_waiting_read_again() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Claude")?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "list_notes", "{}");
    let asked = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let reason = |question: &Value| question["request"]["class"]["reason"]["by"].clone();
    ensure!(reason(&asked) == "untrusted_label", "{asked:#}");
    ensure!(asked["request"]["class"]["class"] == "write", "{asked:#}");

    let server = &asked["request"]["server"];
    let order = |trusted: bool, generation: &Value| json!({ "server": server["id"], "trusted": trusted, "generation": generation });
    let unprivileged = gatehouse.run_unprivileged(&["servers", "trust-labels", "Notes"])?;
    ensure!(unprivileged.status.code() == Some(4), "anybody may trust labels");
    let stale = json!(server["generation"].as_u64().context("generation")? + 1);
    let refused = gatehouse.command("servers.trustLabels", &order(true, &stale));
    ensure!(refused.is_err(), "the labels of another generation were trusted");
    ensure!(
        approvals::wait_for_pending(&gatehouse, 1)?[0]["id"] == asked["id"],
        "a refused order changed it"
    );

    let rejudged = |before: &Value, by: &str| {
        eventually(format!("the call is judged again by {by}"), || {
            let pending = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
            let is_new = pending["id"] != before["id"] && reason(&pending) == by;
            Ok(if is_new { Ok(pending) } else { Err(format!("{pending:#}")) })
        })
    };
    gatehouse.command("servers.trustLabels", &order(true, &server["generation"]))?;
    let trusted = rejudged(&asked, "trusted_label")?;
    ensure!(trusted["request"]["class"]["class"] == "read", "{trusted:#}");
    ensure!(trusted["request"]["hash"] == asked["request"]["hash"], "it is another call");
    let reads = |choice: &Value| {
        choice["width"] == "reads" && choice["lifetime"] == "until_quit" && choice["everyClient"] == false
    };
    ensure!(
        !approvals::choices(&asked)?.iter().any(reads) && approvals::choices(&trusted)?.iter().any(reads)
    );
    ensure!(
        approvals::allow(&gatehouse, &asked["id"], &asked["request"]["hash"], &approvals::once_choice())
            .is_err(),
        "the request that was judged again can still be answered"
    );

    gatehouse.command("servers.trustLabels", &order(false, &server["generation"]))?;
    let again = rejudged(&trusted, "untrusted_label")?;
    gatehouse.command("servers.trustLabels", &order(true, &server["generation"]))?;
    let last = rejudged(&again, "trusted_label")?;
    let all_reads =
        json!({ "lifetime": "until_quit", "width": "reads", "everyClient": false, "conditions": [] });
    approvals::allow(&gatehouse, &last["id"], &last["request"]["hash"], &all_reads)?;
    ensure!(!call.end()?.body.contains(r#""isError":true"#), "it did not run");

    let audit = gatehouse.ask(&["audit", "list"])?;
    let entries = audit.as_array().context("the audit is not a list")?;
    let mut said: Vec<(u64, bool)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry["event"]["audit"] == "labels_trusted") {
        let event = &entry["event"];
        ensure!(event["by"] == "operator" && event["server"] == server["id"], "{entry:#}");
        said.push((entry["seq"].as_u64().context("seq")?, event["trusted"] == true));
    }
    said.sort_unstable();
    let order: Vec<bool> = said.into_iter().map(|(_, trusted)| trusted).collect();
    ensure!(order == [true, false, true], "{order:?}");
    ensure!(operator_output(&gatehouse, &["audit"])?.contains("said the operator"));
    Ok(())
}
