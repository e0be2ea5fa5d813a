//! An agent tries to turn a person's answer into something else: it floods the queue, changes its
//! arguments, changes the tool, swaps one approval request for another, and continues a call that was
//! allowed once. Each test states what the agent tried and what stopped it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::{ChildProcess, TEST_TIMEOUT};
use gatehouse_tests::client::{CallOutcome, Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{BackgroundCall, StatelessClient};
use gatehouse_tests::{approvals, fixture, http};
use serde_json::{Value, json};

/// A fixture that logs what reaches it, and its log file.
fn logging_fixture(
    gatehouse: &Gatehouse,
    over: ServerTransport,
    more: &[&str],
) -> Result<(FixtureServer, std::path::PathBuf)> {
    let log = gatehouse.folder("log")?.join("messages");
    let mut words = vec!["--log", log.to_str().context("path")?];
    words.extend_from_slice(more);
    Ok((add(gatehouse, "raw", over, &words)?, log))
}

/// The calls that reached the server.
fn calls(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains(r#""tools/call""#)).map(str::to_owned).collect()
}

fn is_stale(answer: Result<Value>) -> bool {
    answer.is_err_and(|problem| problem.to_string().contains("another call"))
}

/// A script that an agent writes on the fly: it makes one call and prints its answer.
const SCRIPT: &str = r#"
const { ENDPOINT, TOKEN, BODY } = process.env;
const headers = {
  "authorization": `Bearer ${TOKEN}`, "content-type": "application/json",
  "accept": "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "write_note",
};
fetch(ENDPOINT, { method: "POST", headers, body: BODY }).then((answer) => answer.text()).then(console.log);
"#;

/// Starts the script in a new interpreter; no two have the same text.
fn script(gatehouse: &Gatehouse, token: &str, name: &str) -> Result<ChildProcess> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "script", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "write_note", "arguments": { "text": "milk" }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut command = Command::new("node");
    command
        .args(["-e", &format!("// {name}{SCRIPT}")])
        .env("ENDPOINT", &gatehouse.endpoint)
        .env("TOKEN", token)
        .env("BODY", body.to_string());
    ChildProcess::start(name, &mut command)
}

/// Whether the script's call ran, by its answer.
fn ran(script: &mut ChildProcess) -> Result<bool> {
    let answer = script.wait_for_line(|line| line.contains(r#""result""#))?;
    Ok(!answer.contains(r#""isError":true"#))
}

/// Tried: 70 calls that need approval, so that another client's request is not seen. Stopped by: the
/// limit of 64 for each client; further calls are refused at once. The other client's requests keep
/// their place, and are answered.
#[test]
fn limits_pending_approvals_per_client() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("flood")?;
    let quiet = gatehouse.add_client("quiet")?;
    let before = BackgroundCall::call(&gatehouse.endpoint, &quiet, "add_note", r#"{"text":"before"}"#);
    approvals::wait_for_pending(&gatehouse, 1)?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let calls: Vec<String> = (0..70)
        .map(|n| client.begin("add_note", &json!({ "text": format!("note {n}") })))
        .collect::<Result<_>>()?;
    approvals::wait_for_pending(&gatehouse, 65)?;
    let after = BackgroundCall::call(&gatehouse.endpoint, &quiet, "add_note", r#"{"text":"after"}"#);
    let all = approvals::wait_for_pending(&gatehouse, 66)?;
    for (at, call) in [(0, before), (65, after)] {
        let question = &all[at];
        ensure!(question["request"]["client"]["name"] == "quiet", "{at}: {question:#}");
        approvals::allow(
            &gatehouse,
            &question["id"],
            &question["request"]["hash"],
            &approvals::once_choice(),
        )?;
        let end = call.end()?;
        ensure!(!end.body.contains("isError\":true"), "the quiet one was refused: {end:?}");
    }
    approvals::wait_for_pending(&gatehouse, 64)?;
    // Six of the flood end at once; which ones depends on the order of arrival.
    let mut refused = 0;
    gatehouse.ask(&["pause"])?;
    for call in &calls {
        let answer = client.finish(call)?;
        ensure!(!answer.is_ok(), "a note was added: {answer:?}");
        refused += usize::from(answer.text().contains("64"));
    }
    ensure!(refused == 6, "{refused} were refused for being too many");
    Ok(())
}

/// Tried: a call that differs from the one shown by one blank, by the notation of a number, by the order
/// of keys, by an escape, by a member beside the arguments; and an answer with the hash of another call.
/// Stopped by: the hash over the bytes; each is a separate approval request, and only the one that was
/// answered is sent, as it was shown.
#[test]
fn approval_covers_exact_argument_bytes() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    const SHOWN: &str = r#"{"n":1,"m":"x"}"#;
    let shown = BackgroundCall::call(&gatehouse.endpoint, &token, "echo", SHOWN);
    let first = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let others = [
        r#"{"n": 1,"m":"x"}"#,
        r#"{"n":1.0,"m":"x"}"#,
        r#"{"n":1e0,"m":"x"}"#,
        r#"{"n":"1","m":"x"}"#,
        r#"{"m":"x","n":1}"#,
        r#"{"n":1,"m":"\u0078"}"#,
        r#"{"n":1,"m":"x "}"#,
        r#"{"n":1,"m":"x","o":null}"#,
        r#"{"n":1,"m":"x"},"later":{"ttl":1}"#,
    ];
    let waiting: Vec<BackgroundCall> =
        others.iter().map(|other| BackgroundCall::call(&gatehouse.endpoint, &token, "echo", other)).collect();
    let all = approvals::wait_for_pending(&gatehouse, others.len() + 1)?;
    let mut hashes: Vec<&str> = all.iter().filter_map(|one| one["request"]["hash"].as_str()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    ensure!(hashes.len() == all.len(), "two calls have one hash: {hashes:?}");
    for other in all.iter().filter(|other| other["id"] != first["id"]) {
        for (id, hash) in [(&first, other), (other, &first)] {
            let answer =
                approvals::allow(&gatehouse, &id["id"], &hash["request"]["hash"], &approvals::once_choice());
            ensure!(is_stale(answer), "an answer with the hash of another call was taken");
        }
    }
    approvals::wait_for_pending(&gatehouse, all.len())?;
    approvals::allow(&gatehouse, &first["id"], &first["request"]["hash"], &approvals::once_choice())?;
    ensure!(shown.end()?.body.contains(SHOWN), "what was shown did not run");
    for other in all.iter().filter(|other| other["id"] != first["id"]) {
        approvals::deny(&gatehouse, other)?;
    }
    for call in waiting {
        ensure!(call.end()?.body.contains(r#""isError":true"#), "another call ran");
    }
    let sent = calls(&log);
    ensure!(sent.len() == 1 && sent[0].contains(&format!(r#""arguments":{SHOWN}"#)), "{sent:#?}");
    Ok(())
}

/// Tried: another definition of the tool while the approval is pending. Stopped by: the check before
/// dispatch; nothing is sent, and the approval is requested again and shows what changed.
#[test]
fn asks_again_when_tool_changes_while_pending() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) =
        logging_fixture(&gatehouse, ServerTransport::Stdio, &["--fault", "changes-tools"])?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "grant", "raw", "--tool", "mutate"])?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, fixture::CHANGED_TOOL, r#"{"a":1}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    change_tools(&gatehouse, &token)?;
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    let again = loop {
        let again = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        if again["id"] != question["id"] {
            break again;
        }
        ensure!(Instant::now() < deadline, "it was not asked again");
    };
    let ask = &again["request"];
    ensure!(ask["hash"] != question["request"]["hash"], "another definition, the same hash");
    ensure!(ask["changes"][0]["pointer"] == "/description", "it does not say what changed: {again:#}");
    ensure!(ask["changes"][0]["after"].to_string().contains(fixture::CHANGED_DESCRIPTION), "{again:#}");
    ensure!(ask["warnings"].to_string().contains("definition_changed"), "{again:#}");
    ensure!(!approvals::offers_always(&again)?, "always is on offer: {again:#}");
    let sent = calls(&log);
    ensure!(sent.len() == 1 && sent[0].contains("mutate"), "the changed tool was sent to: {sent:#?}");
    approvals::deny(&gatehouse, &again)?;
    ensure!(call.end()?.body.contains(r#""isError":true"#), "the changed tool ran");
    ensure!(calls(&log).len() == 1, "the changed tool ran");
    Ok(())
}

/// Makes the fixture change its definitions, and waits until the change is known.
fn change_tools(gatehouse: &Gatehouse, token: &str) -> Result<()> {
    http::stateless_request(&gatehouse.endpoint, token, "tools/call", r#""name":"mutate","arguments":{}"#)?;
    await_definition(gatehouse, true)
}

/// Waits until it is known that the fixture's tool has its changed definition, or the one that it begins with.
fn await_definition(gatehouse: &Gatehouse, is_changed: bool) -> Result<()> {
    eventually_holds("the fixture's definition to be noticed", || {
        let tools = gatehouse.ask(&["tools", "list"])?.to_string();
        Ok(tools.contains(fixture::CHANGED_DESCRIPTION) == is_changed)
    })
}

/// Tried: a tool that changes after it was allowed permanently, with all others of its server. Stopped by: the pinned
/// definition; the grant is suspended, the approval request shows what changed, and can be answered permanently for
/// what it shows alone.
#[test]
fn suspends_grant_when_tool_changes() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) =
        logging_fixture(&gatehouse, ServerTransport::Stdio, &["--fault", "changes-tools"])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let fine = http::stateless_request(
        &gatehouse.endpoint,
        &token,
        "tools/call",
        r#""name":"echo","arguments":{}"#,
    )?;
    ensure!(fine.status == 200, "{fine:?}");
    change_tools(&gatehouse, &token)?;
    let before = calls(&log).len();
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, fixture::CHANGED_TOOL, "{}");
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(question["request"]["changes"].to_string().contains("/description"), "{question:#}");
    let is_wide = |choice: &Value| choice["width"] != "call" && choice["width"] != "tool";
    let offers = |choice: &Value| choice["lifetime"] == "always" && is_wide(choice);
    ensure!(!approvals::choices(&question)?.iter().any(offers), "too much is on offer: {question:#}");
    let wide = json!({ "lifetime": "always", "width": "server", "everyClient": false, "conditions": [] });
    let taken = approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &wide);
    ensure!(
        taken.is_err_and(|problem| problem.to_string().contains("not offered")),
        "a wide answer was taken"
    );
    approvals::deny(&gatehouse, &question)?;
    ensure!(
        call.end()?.body.contains(r#""isError":true"#) && calls(&log).len() == before,
        "the changed tool ran"
    );
    Ok(())
}

/// The answer to the approval request that shows what changed approves the definition for good. From then on the tool
/// runs with each definition that was approved, in whichever the server comes.
#[test]
fn remembers_each_definition_that_was_approved() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) =
        logging_fixture(&gatehouse, ServerTransport::Stdio, &["--fault", "changes-tools"])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    change_tools(&gatehouse, &token)?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, fixture::CHANGED_TOOL, r#"{"n":1}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "always-tool"])?;
    let end = call.end()?;
    ensure!(!end.body.contains(r#""isError":true"#), "the answer let nothing run: {end:?}");

    // A new process begins with the first definition again.
    gatehouse.ask(&["servers", "reconnect", "raw"])?;
    await_definition(&gatehouse, false)?;
    for n in [2, 3] {
        let arguments = format!(r#"{{"n":{n}}}"#);
        let call = BackgroundCall::call(&gatehouse.endpoint, &token, fixture::CHANGED_TOOL, &arguments);
        eventually_holds(format!("call {n} to end without a question"), || Ok(call.is_finished()))?;
        ensure!(calls(&log).iter().any(|sent| sent.contains(&arguments)), "call {n} was not sent");
        change_tools(&gatehouse, &token)?;
    }
    Ok(())
}

/// Tried: to cancel a harmless call at the moment of the answer, so that a harmful one takes its place.
/// Stopped by: id and hash of the answer. The cancelled request stays what it was, for that call only;
/// an answer to one that is gone has no effect; the other stays pending.
#[test]
fn approval_of_cancelled_call_covers_no_other() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let gone = gatehouse.add_client("gone")?;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let harmless = client.begin("echo", &json!({ "harmless": true }))?;
    let shown = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    client.cancel(&harmless)?;
    client.finish(&harmless)?;
    let harmful = client.begin("echo", &json!({ "harmful": true }))?;
    let both = approvals::wait_for_pending(&gatehouse, 2)?;
    ensure!(both[0]["id"] == shown["id"], "the first is in another place: {both:#?}");
    ensure!(
        is_stale(approvals::allow(
            &gatehouse,
            &shown["id"],
            &both[1]["request"]["hash"],
            &approvals::once_choice()
        )),
        "taken"
    );
    ensure!(
        is_stale(approvals::allow(
            &gatehouse,
            &both[1]["id"],
            &shown["request"]["hash"],
            &approvals::once_choice()
        )),
        "taken"
    );
    approvals::allow(&gatehouse, &shown["id"], &shown["request"]["hash"], &approvals::once_choice())?;
    let left = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(left["id"] == both[1]["id"], "the other was touched: {left:#}");
    ensure!(calls(&log).is_empty(), "something was sent: {:#?}", calls(&log));

    // An approval request whose client is gone for good is gone too; its answer reaches no other.
    let theirs = BackgroundCall::call(&gatehouse.endpoint, &gone, "echo", r#"{"theirs":true}"#);
    let two = approvals::wait_for_pending(&gatehouse, 2)?;
    let last = two.iter().find(|one| one["id"] != left["id"]).context("no second question")?;
    gatehouse.ask(&["clients", "revoke", "gone"])?;
    approvals::wait_for_pending(&gatehouse, 1)?;
    let late = approvals::allow(&gatehouse, &last["id"], &last["request"]["hash"], &approvals::once_choice());
    ensure!(is_stale(late), "an answer to what is gone was taken");
    ensure!(approvals::wait_for_pending(&gatehouse, 1)?[0]["id"] == left["id"], "the other was touched");
    approvals::deny(&gatehouse, &left)?;
    ensure!(client.finish(&harmful)?.is_tool_error(), "the harmful one ran");
    theirs.end()?;
    ensure!(calls(&log).is_empty(), "something was sent: {:#?}", calls(&log));

    // The approval was for the harmless call, and is valid for it once.
    ensure!(client.call("echo", &json!({ "harmless": true }))?.is_ok(), "the ticket was not honoured");
    ensure!(calls(&log).len() == 1, "{:#?}", calls(&log));
    Ok(())
}

const ABLE: StatelessClient<'static> =
    StatelessClient { name: "bytes", capabilities: r#"{"elicitation":{"form":{},"url":{}}}"# };

/// The `requestState` of an answer.
fn state(answer: &http::RawHttpResponse) -> Result<String> {
    let rest = answer.body.split_once(r#""requestState":""#).with_context(|| format!("{answer:?}"))?.1;
    Ok(rest.split_once('"').context("no end of the state")?.0.to_owned())
}

fn round(arguments: &str, state: &str) -> String {
    let answer = r#"{"action":"accept","content":{"name":"Zoe"}}"#;
    format!(
        r#""name":"ask_form","arguments":{arguments},"inputResponses":{{"first":{answer},"q1":{answer}}},"requestState":"{state}""#
    )
}

/// Tried: the second round of an input-required call that was allowed once, with other arguments, to
/// another tool, with a made-up state, as another client, and a second time. Stopped by: client, call
/// and state have to be those of the first round, and each state is valid once. The correct second round
/// needs no approval.
#[test]
fn rejects_foreign_or_reused_request_state() -> Result<()> {
    for lifecycle in ["modern", "legacy"] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) =
            logging_fixture(&gatehouse, ServerTransport::Stdio, &["--lifecycle", lifecycle])?;
        let token = gatehouse.add_client("agent")?;
        let other = gatehouse.add_client("other")?;
        let call = ABLE.begin(&gatehouse.endpoint, &token, r#""name":"ask_form","arguments":{"a":1}"#);
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::allow(
            &gatehouse,
            &question["id"],
            &question["request"]["hash"],
            &approvals::once_choice(),
        )?;
        let right = state(&call.end()?)?;
        let refused = |token: &str, params: &str, what: &str| -> Result<()> {
            let call = ABLE.begin(&gatehouse.endpoint, token, params);
            // A state of Gatehouse's own is refused as such, a state of the server leads to a new
            // approval request.
            if right.starts_with("gatehouse:") && params.contains("gatehouse:") {
                let end = call.end()?;
                ensure!(end.body.contains("requestState"), "{lifecycle}, {what}: {end:?}");
                approvals::wait_for_pending(&gatehouse, 0)?;
                return Ok(());
            }
            let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
            approvals::deny(&gatehouse, &question)?;
            let end = call.end()?;
            ensure!(end.body.contains(r#""isError":true"#), "{lifecycle}, {what}: {end:?}");
            Ok(())
        };
        refused(&token, &round(r#"{"a":2}"#, &right), "other arguments")?;
        refused(&token, &round(r#"{"a": 1}"#, &right), "one blank more")?;
        // The name of the tool comes first.
        let elsewhere = round(r#"{"a":1}"#, &right).replacen("ask_form", "ask_url", 1);
        refused(&token, &elsewhere, "another tool")?;
        refused(&token, &round(r#"{"a":1}"#, "ask_form 999"), "a state of its own")?;
        refused(&other, &round(r#"{"a":1}"#, &right), "somebody else's state")?;
        ensure!(calls(&log).len() == 1, "{lifecycle}: {:#?}", calls(&log));
        let end = ABLE.begin(&gatehouse.endpoint, &token, &round(r#"{"a":1}"#, &right)).end()?;
        ensure!(end.body.contains("Zoe"), "{lifecycle}: the right round was not let through: {end:?}");
        let sent = calls(&log).len();
        refused(&token, &round(r#"{"a":1}"#, &right), "a state a second time")?;
        ensure!(calls(&log).len() == sent, "{lifecycle}: {:#?}", calls(&log));
    }
    Ok(())
}

/// Tried: the second round of another program's call, byte for byte and with the state that was issued
/// for it, by a program with the same token. Stopped by: a round is bound to the peer process seen in
/// the first one. The attacker's is refused, or needs approval as a separate call; the state stays valid
/// for the program that it was issued to.
#[test]
fn another_program_goes_on_with_a_round() -> Result<()> {
    for lifecycle in ["modern", "legacy"] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) =
            logging_fixture(&gatehouse, ServerTransport::Stdio, &["--lifecycle", lifecycle])?;
        let token = gatehouse.add_client("agent")?;
        let call = ABLE.begin(&gatehouse.endpoint, &token, r#""name":"ask_form","arguments":{"a":1}"#);
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::allow(
            &gatehouse,
            &question["id"],
            &question["request"]["hash"],
            &approvals::once_choice(),
        )?;
        let right = state(&call.end()?)?;
        let params = round(r#"{"a":1}"#, &right);
        let stolen = ABLE.begin_with_paste(&gatehouse.endpoint, &token, &params)?;
        let end = if right.starts_with("gatehouse:") {
            stolen.end()?
        } else {
            let asked = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
            let seen = &asked["request"]["client"]["seenFrom"]["program"];
            ensure!(seen["path"].as_str().is_some_and(|path| path.ends_with(http::ELSEWHERE)), "{seen:#}");
            ensure!(
                asked["request"]["arguments"].to_string().contains("Zoe"),
                "the round is not shown: {asked:#}"
            );
            approvals::deny(&gatehouse, &asked)?;
            stolen.end()?
        };
        ensure!(
            end.body.contains("requestState") || end.body.contains(r#""isError":true"#),
            "{lifecycle}: {end:?}"
        );
        ensure!(!end.body.contains("Zoe"), "{lifecycle}: the other program got the result: {end:?}");
        approvals::wait_for_pending(&gatehouse, 0)?;
        ensure!(calls(&log).len() == 1, "{lifecycle}: it went out: {:#?}", calls(&log));
        let end = ABLE.begin(&gatehouse.endpoint, &token, &params).end()?;
        ensure!(end.body.contains("Zoe"), "{lifecycle}: the right round was not let through: {end:?}");
        approvals::wait_for_pending(&gatehouse, 0)?;
    }
    Ok(())
}

/// Tried: an approval that led to a page (`-32042`) as an approval of other arguments, and of any number
/// of calls. Stopped by: the retries that follow are for the identical call, and end with it.
#[test]
fn url_elicitation_retry_covers_only_same_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    let token = gatehouse.add_client("agent")?;
    let able = json!({ "url": { "action": "accept" } });
    let mut client = Client::connect_answering("2025-11-25", &gatehouse.endpoint, &token, &able)?;
    let call = client.begin("ask_url_error", &json!({ "times": 2 }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    let is_page =
        |answer: &CallOutcome| matches!(answer, CallOutcome::Error(error) if error["code"] == -32042);
    let first = client.finish(&call)?;
    ensure!(is_page(&first), "{first:?}");
    let other = client.begin("ask_url_error", &json!({ "times": 3 }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &question)?;
    ensure!(client.finish(&other)?.is_tool_error(), "other arguments ran");
    let again = client.call("ask_url_error", &json!({ "times": 2 }))?;
    ensure!(is_page(&again), "the same call was asked again: {again:?}");
    let done = client.call("ask_url_error", &json!({ "times": 2 }))?;
    ensure!(done.text().contains("signed"), "{done:?}");
    ensure!(calls(&log).len() == 3, "{:#?}", calls(&log));
    let more = client.begin("ask_url_error", &json!({ "times": 2 }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &question)?;
    ensure!(client.finish(&more)?.is_tool_error(), "it ran on under a yes that was used up");
    Ok(())
}

/// Tried: a server that loses its session when the call arrives, so that the call is sent twice for one
/// approval, or needs two. Stopped by: the approval goes with the call into the new session once, and
/// ends with it.
#[test]
fn lost_session_sends_approved_call_once() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let more = ["--lifecycle", "legacy", "--fault", "loses-session"];
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Http, &more)?;
    let token = gatehouse.add_client("agent")?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "echo", r#"{"once":true}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    let end = call.end()?;
    ensure!(end.body.contains(r#"{"once":true}"#), "{end:?}");
    // The first was refused by the server, which has not executed it.
    ensure!(calls(&log).len() == 2, "{:#?}", calls(&log));
    let again = BackgroundCall::call(&gatehouse.endpoint, &token, "echo", r#"{"once":true}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &question)?;
    ensure!(again.end()?.body.contains(r#""isError":true"#) && calls(&log).len() == 2, "it ran again");
    Ok(())
}

/// Tried: answers to a round that was never opened, with a made-up state, beside the arguments of a tool
/// that a rule allows. Stopped by: a call that continues no known round is shown with the arguments, and
/// no rule covers it; after a denial, nothing of it reached the server.
#[test]
fn asks_for_call_with_forged_request_state() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let plain = r#""name":"write_note","arguments":{"text":"plain"}"#;
    let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", plain)?;
    ensure!(answer.status == 200 && calls(&log).len() == 1, "the rule lets nothing through: {answer:?}");
    let forged = format!(
        r#"{plain},"inputResponses":{{"sure":{{"action":"accept","content":{{"all":true}}}}}},"requestState":"forged-state""#
    );
    let call =
        StatelessClient { name: "agent", capabilities: "{}" }.begin(&gatehouse.endpoint, &token, &forged);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let shown = question["request"]["arguments"].to_string();
    ensure!(shown.contains("forged-state") && shown.contains("accept"), "not shown: {shown}");
    ensure!(calls(&log).len() == 1, "it went out before anybody answered");
    approvals::deny(&gatehouse, &question)?;
    let end = call.end()?;
    ensure!(end.body.contains(r#""isError":true"#), "{end:?}");
    ensure!(calls(&log).len() == 1, "it went out after a no");
    Ok(())
}

/// Tried: another script of the same interpreter (`node -e`), which has the token, sends the identical
/// call of a pending approval, so that the approval applies to it: while it is pending, and after the
/// process that made the call has exited. Stopped by: if it cannot be determined what runs in a program,
/// an approval request and its late answer are for the one process that made the call.
#[test]
fn another_script_of_the_interpreter_calls_the_same() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse, ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let mut own = script(&gatehouse, &token, "own")?;
    let shown = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let mut thief = script(&gatehouse, &token, "thief")?;
    let both = approvals::wait_for_pending(&gatehouse, 2)?;
    let program = |question: &Value| question["request"]["client"]["seenFrom"]["program"].clone();
    ensure!(program(&both[0])["isKnown"] == false, "it is known what runs: {:#}", both[0]);
    ensure!(program(&both[0]) == program(&both[1]), "it was seen from another program: {:#}", both[1]);
    ensure!(both[0]["request"] == shown["request"], "what is shown changed: {:#}", both[0]);
    ensure!(both[1]["request"]["hash"] != shown["request"]["hash"], "two processes, one hash");
    approvals::allow(&gatehouse, &shown["id"], &shown["request"]["hash"], &approvals::once_choice())?;
    ensure!(ran(&mut own)?, "what was shown did not run");
    let left = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(left["id"] == both[1]["id"], "the other was touched: {left:#}");
    approvals::deny(&gatehouse, &left)?;
    ensure!(!ran(&mut thief)? && calls(&log).len() == 1, "the other script ran: {:#?}", calls(&log));

    let gone = script(&gatehouse, &token, "gone")?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    drop(gone);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] != false {
        ensure!(Instant::now() < deadline, "the question still has its client");
    }
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    approvals::wait_for_pending(&gatehouse, 0)?;
    let mut thief = script(&gatehouse, &token, "late thief")?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &question)?;
    ensure!(!ran(&mut thief)? && calls(&log).len() == 1, "the late yes was for another: {:#?}", calls(&log));
    Ok(())
}
