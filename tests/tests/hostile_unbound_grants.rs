//! Another program, which has a client's token, tries to use a grant for that client: a grant given
//! before any program was seen is bound to none. Each test states what was tried and what stopped it.

use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, paths};
use serde_json::{Value, json};

const REVISION: &str = "2026-07-28";
const NOTE: &str = "add_note";

fn connect(gatehouse: &Gatehouse, token: &str, sdk: Sdk) -> Result<Client> {
    Client::connect(sdk, REVISION, &gatehouse.endpoint, Some(token))
}

fn note(text: &str) -> Value {
    json!({ "text": text })
}

/// A warning of an approval request, by its kind.
fn warning<'a>(question: &'a Value, kind: &str) -> Option<&'a Value> {
    question["request"]["warnings"].as_array()?.iter().find(|warning| warning["warning"] == kind)
}

fn program(question: &Value) -> &Value {
    &question["request"]["client"]["seenFrom"]["program"]["path"]
}

fn allow(gatehouse: &Gatehouse, question: &Value) -> Result<()> {
    approvals::allow(gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    Ok(())
}

/// Calls, answers the expected approval request, and returns it.
fn call_and_answer(gatehouse: &Gatehouse, client: &mut Client, text: &str, allowed: bool) -> Result<Value> {
    let call = client.begin(NOTE, &note(text))?;
    let question =
        approvals::wait_for_pending(gatehouse, 1).with_context(|| format!("{text} was not asked"))?.remove(0);
    if allowed {
        allow(gatehouse, &question)?;
    } else {
        approvals::deny(gatehouse, &question)?;
    }
    let end = client.finish(&call)?;
    ensure!(end.is_ok() == allowed, "{text}: {end:?}");
    Ok(question)
}

/// The only rule.
fn rule(gatehouse: &Gatehouse) -> Result<Value> {
    let shown = gatehouse.ask(&["policy", "show"])?;
    let rules = shown["rules"].as_array().context("rules")?;
    ensure!(rules.len() == 1, "{shown:#}");
    Ok(rules[0].clone())
}

/// Whether the rule waits for its first use, according to both its view and its sentence.
fn is_unbound(gatehouse: &Gatehouse) -> Result<bool> {
    let rule = rule(gatehouse)?;
    let waits = rule["reach"]["waitsForFirstUse"].as_bool().context("waits")?;
    let is_said = rule["sentence"]["key"].as_str().context("sentence")? == "rule.waits";
    ensure!(waits == is_said && waits == rule["rule"]["program"].is_null(), "{rule:#}");
    Ok(waits)
}

/// Tried: a grant for one client is used from another program that has its token: before the client has
/// used it, and after. Stopped by: the grant covers nothing before its first use, which needs approval
/// and names the program; allowing it binds the grant to that program, denying leaves it unbound, and
/// any other program needs approval, also after a restart.
#[test]
fn unbound_grant_asks_and_binds_on_first_use() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all", "--client", "agent"])?;
    ensure!(is_unbound(&gatehouse)?, "it is bound to nothing, and counts");

    // The attacker calls first. A denied call binds nothing.
    let mut thief = connect(&gatehouse, &token, Sdk::Python)?;
    let question = call_and_answer(&gatehouse, &mut thief, "thief 1", false)?;
    let named = warning(&question, "unbound_grant").with_context(|| format!("no warning: {question:#}"))?;
    ensure!(named["program"] == *program(&question) && named["what"]["key"] == "rule.all", "{named}");
    ensure!(named["grant"] == rule(&gatehouse)?["rule"]["id"] && is_unbound(&gatehouse)?, "{named}");

    let mut own = connect(&gatehouse, &token, Sdk::TypeScript)?;
    let question = call_and_answer(&gatehouse, &mut own, "own 1", true)?;
    ensure!(warning(&question, "unbound_grant").is_some(), "{question:#}");
    ensure!(
        !is_unbound(&gatehouse)? && rule(&gatehouse)?["rule"]["program"] == *program(&question),
        "not bound"
    );
    ensure!(own.call(NOTE, &note("own 2"))?.is_ok(), "its first use did not bind it");
    ensure!(own.call("list_notes", &json!({}))?.is_ok(), "it is bound for one tool alone");

    for turn in 0..2 {
        let mut thief = connect(&gatehouse, &token, Sdk::Python)?;
        let asks = call_and_answer(&gatehouse, &mut thief, &format!("thief {turn} later"), false)?;
        ensure!(warning(&asks, "unbound_grant").is_none(), "it can be bound twice: {asks:#}");
        let other = warning(&asks, "other_program").with_context(|| format!("{asks:#}"))?;
        ensure!(other["before"] == *program(&question), "{other}");
        let mut own = connect(&gatehouse, &token, Sdk::TypeScript)?;
        ensure!(own.call(NOTE, &note(&format!("own {turn} later")))?.is_ok(), "the grant is gone");
        if turn == 0 {
            gatehouse.stop()?;
            gatehouse.launch()?;
            gatehouse.await_status("Notes", "connected")?;
        }
    }
    let audit = gatehouse.ask(&["audit", "list"])?.to_string();
    ensure!(audit.contains(r#""grant_bound""#), "the audit does not know of it: {audit}");
    Ok(())
}

/// Tried: to call at the same moment as the client, so that the approval of the client's call applies to
/// both. Stopped by: the approval binds the grant to the program that was shown; the other request ends,
/// its answer is too late, and it is put again without the grant. The same holds for a temporary grant.
#[test]
fn unbound_grant_binds_to_one_of_two_programs() -> Result<()> {
    for lifetime in ["always", "quit", "15m"] {
        let gatehouse = Gatehouse::start()?;
        gatehouse.await_status("Notes", "connected")?;
        let token = gatehouse.add_client("agent")?;
        let grant = ["policy", "grant", "Notes", "--tool", NOTE, "--client", "agent", "--for", lifetime];
        gatehouse.ask(&grant)?;
        ensure!(is_unbound(&gatehouse)?, "{lifetime}");
        let mut own = connect(&gatehouse, &token, Sdk::TypeScript)?;
        let call = own.begin(NOTE, &note("own"))?;
        let shown = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        let mut thief = connect(&gatehouse, &token, Sdk::Python)?;
        let stolen = thief.begin(NOTE, &note("thief"))?;
        let both = approvals::wait_for_pending(&gatehouse, 2)?;
        ensure!(both.iter().all(|one| warning(one, "unbound_grant").is_some()), "{lifetime}: {both:#?}");
        let beside = both.iter().find(|one| one["id"] != shown["id"]).context("one question for two")?;
        allow(&gatehouse, &shown)?;
        ensure!(own.finish(&call)?.is_ok(), "{lifetime}: what was allowed did not run");
        let anew = eventually(format_args!("{lifetime}: a request without the grant"), || {
            let left = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
            Ok(if left["id"] == beside["id"] { Err(format!("{left:#}")) } else { Ok(left) })
        })?;
        ensure!(allow(&gatehouse, beside).is_err(), "{lifetime}: the old question took an answer");
        ensure!(warning(&anew, "unbound_grant").is_none(), "{lifetime}: {anew:#}");
        approvals::deny(&gatehouse, &anew)?;
        ensure!(thief.finish(&stolen)?.is_tool_error(), "{lifetime}: the other program's call ran");
        ensure!(rule(&gatehouse)?["rule"]["program"] == *program(&shown), "{lifetime}: bound to another one");
        ensure!(own.call(NOTE, &note("own 2"))?.is_ok(), "{lifetime}: the grant is gone");
    }
    Ok(())
}

/// Calls with code from the command line, so that it cannot be determined what runs.
fn unknown_program(gatehouse: &Gatehouse, token: &str, text: &str) -> Result<Child> {
    const CODE: &str = r#"
import os, sys, urllib.request
headers = {
    "Authorization": "Bearer " + os.environ["TOKEN"],
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "add_note",
}
request = urllib.request.Request(sys.argv[1], data=sys.argv[2].encode(), headers=headers)
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
sys.stdout.write(direct.open(request).read().decode())
"#;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": { "name": "code", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": NOTE, "arguments": note(text), "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut command = Command::new(paths::python()?);
    command.args(["-c", CODE, &gatehouse.endpoint, &body.to_string()]).env("TOKEN", token);
    Ok(command.stdout(Stdio::piped()).spawn()?)
}

/// Tried: to use the grant, or to have it bound, from an interpreter that runs code of its command line.
/// Stopped by: it cannot be determined what runs there, so each call needs approval, nothing permanent
/// is offered, and an approval binds nothing.
#[test]
fn unbound_grant_never_binds_to_unknown_program() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all", "--client", "agent"])?;
    let is_asked = |text: &str| -> Result<()> {
        let call = unknown_program(&gatehouse, &token, text)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(warning(&question, "unbound_grant").is_none(), "{question:#}");
        ensure!(warning(&question, "unknown_program").is_some(), "{question:#}");
        let choices = approvals::choices(&question)?;
        ensure!(choices.iter().all(|choice| choice["lifetime"] == "once"), "{choices:#?}");
        allow(&gatehouse, &question)?;
        let end = call.wait_with_output()?;
        let said = String::from_utf8_lossy(&end.stdout);
        ensure!(end.status.success() && !said.contains(r#""isError":true"#), "{said}");
        Ok(())
    };
    for text in ["one", "two"] {
        is_asked(text)?;
        ensure!(is_unbound(&gatehouse)?, "{text} bound it");
    }
    let mut own = connect(&gatehouse, &token, Sdk::TypeScript)?;
    call_and_answer(&gatehouse, &mut own, "own", true)?;
    ensure!(!is_unbound(&gatehouse)?, "not bound");
    is_asked("three")
}

/// Tried: the user tries a call as a client whose allows were used by some program before, so that what the user allows
/// there goes to a program that the request doesn't show. Stopped by: such a request offers nothing lasting, and binds no
/// grant.
#[test]
fn trying_a_call_as_a_client_binds_nothing() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.await_status("Time", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all", "--client", "agent"])?;
    let mut own = connect(&gatehouse, &token, Sdk::TypeScript)?;
    call_and_answer(&gatehouse, &mut own, "own", true)?;
    ensure!(!is_unbound(&gatehouse)?, "a program is known for the client");

    gatehouse.ask(&["policy", "auto-approve", "Time", "all", "--client", "agent"])?;
    let commands = gatehouse.commands()?;
    let call = json!({ "server": "Time", "tool": "current_time", "arguments": "{}", "client": "agent" });
    let (question, end) = thread::scope(|scope| {
        let running = scope.spawn(|| commands.run("servers.callTool", &call));
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        allow(&gatehouse, &question)?;
        Ok::<_, anyhow::Error>((question, running.join().expect("no panic")?))
    })?;
    ensure!(end["end"]["end"] == "ok", "{end:#}");
    let choices = approvals::choices(&question)?;
    ensure!(choices.iter().all(|choice| choice["lifetime"] == "once"), "{question:#}");
    ensure!(warning(&question, "unbound_grant").is_none(), "{question:#}");
    let shown = gatehouse.ask(&["policy", "show"])?;
    let rules = shown["rules"].as_array().context("rules")?;
    let unbound = rules.iter().filter(|rule| rule["rule"]["program"].is_null()).count();
    ensure!(rules.len() == 2 && unbound == 1, "{shown:#}");
    Ok(())
}
