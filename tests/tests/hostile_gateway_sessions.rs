//! One client of the gateway tries to act on what belongs to another: its session, its streams, its calls, the requests
//! that servers send it, what is kept for it. Each test states what was tried and what stopped it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add, logged_calls};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{BackgroundCall, RawHttpResponse, StatelessClient};
use gatehouse_tests::session_client::SessionClient;
use serde_json::{Value, json};

/// Form with one text, as the arguments of the fixture's tool.
const FORM: &str =
    r#"{"message":"m","schema":{"type":"object","properties":{"v":{"type":"string"}},"required":["v"]}}"#;

/// A Gatehouse with the fixture, of which everything is allowed, and two clients.
struct TwoClientTestbed {
    gatehouse: Gatehouse,
    own: String,
    foreign: String,
    /// What reached the server.
    log: PathBuf,
    _server: FixtureServer,
}

impl TwoClientTestbed {
    fn start() -> Result<Self> {
        let testbed = Self::asking()?;
        testbed.gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
        Ok(testbed)
    }

    /// The same, but each call is asked about.
    fn asking() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let log = gatehouse.folder("log")?.join("messages");
        let words = ["--log", log.to_str().context("path")?];
        let server = add(&gatehouse, "raw", ServerTransport::Stdio, &words)?;
        let (own, foreign) = (gatehouse.add_client("own")?, gatehouse.add_client("foreign")?);
        Ok(Self { gatehouse, own, foreign, log, _server: server })
    }

    fn open(&self, token: &str) -> Result<SessionClient> {
        open(&self.gatehouse, token)
    }

    /// The client in two sessions, and another client, in its own session and in the first of them.
    fn sessions(&self) -> Result<ForeignSessions> {
        let (own, elsewhere, foreign) =
            (self.open(&self.own)?, self.open(&self.own)?, self.open(&self.foreign)?);
        let intruder = foreign.in_session_of(&own);
        Ok(ForeignSessions { own, elsewhere, foreign, intruder })
    }
}

struct ForeignSessions {
    own: SessionClient,
    /// The same client in another session.
    elsewhere: SessionClient,
    /// Another client.
    foreign: SessionClient,
    /// That client in the session of the first.
    intruder: SessionClient,
}

impl ForeignSessions {
    /// Posts a message everywhere but where it belongs. The foreign session is not found, and elsewhere nobody learns that
    /// it is about anything.
    fn post_elsewhere(&self, message: &str) -> Result<()> {
        for (who, client, status) in [
            ("foreign", &self.foreign, 202),
            ("elsewhere", &self.elsewhere, 202),
            ("intruder", &self.intruder, 404),
        ] {
            let answer = client.post(message)?;
            ensure!(answer.status == status, "{who}: {answer:?}");
        }
        Ok(())
    }
}

/// Opens a session of a client that can fill in forms.
fn open(gatehouse: &Gatehouse, token: &str) -> Result<SessionClient> {
    SessionClient::open(&gatehouse.endpoint, token, "2025-11-25", &json!({ "elicitation": {} }))
}

/// The JSON of a `data:` line.
fn data(line: &str) -> Result<Value> {
    let json = line.trim().strip_prefix("data: ").with_context(|| format!("no data: {line:?}"))?;
    Ok(serde_json::from_str(json)?)
}

/// Tried: to answer a request of a server that was sent to another client, or to another session of the same client, by
/// its id. Stopped by: a response counts only in the session to which the request was sent.
#[test]
fn answer_to_a_server_request_counts_in_its_session_alone() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let sessions = testbed.sessions()?;
    let mut call = sessions.own.call("1", "ask_form", FORM)?;
    let request = data(&call.line("elicitation/create")?)?;
    let answer = |content: &str| {
        let result = json!({ "action": "accept", "content": { "v": content } });
        json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
    };
    sessions.post_elsewhere(&answer("forged"))?;
    ensure!(sessions.own.post(&answer("right"))?.status == 202);
    let result = data(&call.answer()?)?;
    ensure!(
        result["result"]["structuredContent"]["answer"]["content"] == json!({ "v": "right" }),
        "{result:#}"
    );
    // Nor is it answered twice.
    ensure!(sessions.own.post(&answer("again"))?.status == 202);
    Ok(())
}

/// Tried: to cancel the call of another client, or of another session, by its id. Stopped by: ids belong to a session.
#[test]
fn cancellation_counts_in_its_session_alone() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let sessions = testbed.sessions()?;
    let mut call = sessions.own.call("5", "slow", r#"{"ms":2000,"progress":4}"#)?;
    call.line(r#""progress":1"#)?;
    sessions.post_elsewhere(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"mine"}}"#,
    )?;
    let result = data(&call.answer()?)?;
    ensure!(result["id"] == 5 && result["result"]["content"][0]["text"] == "slept", "{result:#}");
    let log = fs::read_to_string(&testbed.log)?;
    ensure!(!log.contains("notifications/cancelled") && log.contains("finished"), "{log}");
    Ok(())
}

/// Tried: to receive the progress of another client's call by calling with the same progress token. Stopped by: each call
/// has a progress token of its own toward the server, and progress goes to the stream of its call.
#[test]
fn progress_goes_to_its_own_call_alone() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let sessions = testbed.sessions()?;
    let mut own = sessions.own.call("7", "slow", r#"{"ms":1200,"progress":3}"#)?;
    own.line(r#""progress":1"#)?;
    for (who, client) in [("foreign", &sessions.foreign), ("elsewhere", &sessions.elsewhere)] {
        let lines = client.call("7", "slow", r#"{"ms":900,"progress":0}"#)?.lines_to(r#""result""#)?.concat();
        ensure!(lines.contains("slept") && !lines.contains("notifications/progress"), "{who}: {lines}");
    }
    let lines = own.lines_to(r#""result""#)?.concat();
    ensure!(lines.matches("notifications/progress").count() == 2 && lines.contains("slept"), "{lines}");
    Ok(())
}

/// Tried: to read the stream of another client's call, by the id of its last event. Stopped by: streams belong to a
/// session, which is found only for its client.
#[test]
fn stream_is_resumed_in_its_session_alone() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let sessions = testbed.sessions()?;
    let lines = sessions.own.call("9", "slow", r#"{"ms":400,"progress":2}"#)?.lines_to(r#""result""#)?;
    let first = lines.iter().find_map(|line| line.strip_prefix("id: ")).context("no event id")?.trim();
    for (who, client, status) in [
        ("foreign", &sessions.foreign, 400),
        ("elsewhere", &sessions.elsewhere, 400),
        ("intruder", &sessions.intruder, 404),
    ] {
        let answer = client.resume(first)?;
        ensure!(answer.status == status && !answer.body.contains("slept"), "{who}: {answer:?}");
    }
    let answer = sessions.own.resume(first)?;
    ensure!(answer.status == 200 && answer.body.contains("slept"), "{answer:?}");
    Ok(())
}

/// Tried: to use an id of a request again while that is in flight, so that one answer passes for the other's. Stopped by:
/// the second is refused. Afterwards, and in another session, the id is free.
#[test]
fn id_in_flight_is_not_used_again() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let sessions = testbed.sessions()?;
    let mut first = sessions.own.call("3", "slow", r#"{"ms":1500,"progress":2}"#)?;
    first.line(r#""progress":1"#)?;
    let again =
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}"#;
    let refused = sessions.own.post(again)?;
    ensure!(refused.status == 400 && refused.body.contains("in use"), "{refused:?}");
    let other = sessions.elsewhere.post(again)?;
    ensure!(other.status == 200 && other.body.contains(r#"{"n":1}"#), "{other:?}");
    ensure!(first.answer()?.contains("slept"));
    let later = sessions.own.post(again)?;
    ensure!(later.status == 200 && later.body.contains(r#"{"n":1}"#), "{later:?}");
    ensure!(logged_calls(&testbed.log, "") == 3);
    Ok(())
}

/// A call of a client of 2026-07-28 that can fill in forms.
fn ask_form(testbed: &TwoClientTestbed, token: &str, members: &str) -> Result<RawHttpResponse> {
    let client = StatelessClient { name: "raw", capabilities: r#"{"elicitation":{"form":{}}}"# };
    client.send(&testbed.gatehouse.endpoint, token, "tools/call", members)
}

/// Tried: to send the answer that a call waits for with a `requestState` that was edited, of another client, for another
/// call, or used before. Stopped by: the state is a random number that is looked up together with its client and its
/// call, and counts once. None of the attempts uses it up.
#[test]
fn request_state_is_for_one_answer_of_its_client() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    let call = format!(r#""name":"ask_form","arguments":{FORM}"#);
    let asked = ask_form(&testbed, &testbed.own, &call)?;
    let member = |name: &str| {
        let rest = asked.body.split_once(&format!(r#""{name}":"#))?.1;
        Some(rest.split('"').nth(1)?.to_owned())
    };
    let (state, key) =
        (member("requestState").context("no state")?, member("inputRequests").context("no key")?);
    let answered = |call: &str, state: &str, value: &str| {
        let responses = json!({ key.as_str(): { "action": "accept", "content": { "v": value } } });
        format!(r#"{call},"inputResponses":{responses},"requestState":"{state}""#)
    };
    let last = if state.ends_with('0') { '1' } else { '0' };
    let edited = format!("{}{last}", &state[..state.len() - 1]);
    let (call, state, edited) = (call.as_str(), state.as_str(), edited.as_str());
    let (own, foreign) = (testbed.own.as_str(), testbed.foreign.as_str());
    let other_call = call.replace(r#""m""#, r#""other""#);
    for (what, token, call, state) in [
        ("edited", own, call, edited),
        ("cut", own, call, "gatehouse:"),
        ("of another client", foreign, call, state),
        ("of another call", own, other_call.as_str(), state),
        ("of another tool", own, r#""name":"echo","arguments":{}"#, state),
    ] {
        let refused = ask_form(&testbed, token, &answered(call, state, "forged"))?;
        ensure!(
            refused.body.contains("-32602") && refused.body.contains("requestState"),
            "{what}: {refused:?}"
        );
    }
    let right = answered(call, state, "right");
    let answer = ask_form(&testbed, &testbed.own, &right)?;
    ensure!(answer.body.contains(r#""v":"right""#), "{answer:?}");
    let replayed = ask_form(&testbed, &testbed.own, &right)?;
    ensure!(replayed.body.contains("-32602") && !replayed.body.contains("right"), "{replayed:?}");
    ensure!(
        logged_calls(&testbed.log, "") == 1,
        "one of them reached the server: {}",
        fs::read_to_string(&testbed.log)?
    );
    Ok(())
}

/// Tried: to get the result that is kept for another client, which perhaps didn't receive it, by the same call. Stopped
/// by: results are kept for a client; another one is asked about anew. The first client gets it, once.
#[test]
fn kept_result_is_for_its_client_alone() -> Result<()> {
    const MARK: &str = "gatehouse/earlierResult";
    let testbed = TwoClientTestbed::asking()?;
    let gatehouse = &testbed.gatehouse;
    let call =
        |token: &str| BackgroundCall::call(&gatehouse.endpoint, token, "write_note", r#"{"text":"for one"}"#);
    let first = call(&testbed.own);
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    approvals::wait_for_min_client_timeout(&question)?;
    approvals::allow(gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    ensure!(first.end()?.body.contains("kept"));
    let foreign = call(&testbed.foreign);
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    approvals::deny(gatehouse, &question)?;
    let foreign = foreign.end()?;
    ensure!(foreign.body.contains(r#""isError":true"#) && !foreign.body.contains(MARK), "{foreign:?}");
    let again = call(&testbed.own).end()?;
    ensure!(again.body.contains(MARK), "{again:?}");
    ensure!(logged_calls(&testbed.log, "") == 1, "it ran again");
    Ok(())
}

/// Tried: another program with the token of the client lists the tasks of its calls, reads the result of one, or cancels
/// it. Stopped by: a task is for the program whose call it was, as a result that is kept is.
#[test]
fn task_is_for_its_program_alone() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let words = ["--lifecycle", "legacy", "--fault", "tasks"];
    let _server = add(&gatehouse, "worker", ServerTransport::Stdio, &words)?;
    gatehouse.ask(&["policy", "auto-approve", "worker", "all"])?;
    let own = open(&gatehouse, &gatehouse.add_client("own")?)?;
    let message = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let call = json!({ "name": "chore", "arguments": { "ms": 300 }, "task": { "ttl": 60_000 } });
    let begun = own.post(&message("tools/call", call))?;
    let id = begun.body.split_once(r#""taskId":""#).and_then(|(_, rest)| rest.split_once('"'));
    let task = json!({ "taskId": id.with_context(|| format!("no task: {begun:?}"))?.0 });
    let list = message("tasks/list", json!({}));
    let listed = own.post_elsewhere(&list)?;
    ensure!(listed.body.contains(r#""tasks":[]"#), "{listed:?}");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let refused = own.post_elsewhere(&message(method, task.clone()))?;
        ensure!(refused.body.contains("-32602") && !refused.body.contains("done"), "{method}: {refused:?}");
    }
    let result = own.post(&message("tasks/result", task.clone()))?;
    ensure!(result.body.contains("done"), "{result:?}");
    ensure!(own.post(&list)?.body.contains("completed"));
    Ok(())
}

/// Tried: names that look like that of a server, or lead to it by another spelling. Stopped by: a name is decoded once and
/// compared exactly.
#[test]
fn lookalike_of_a_server_name_is_no_server() -> Result<()> {
    let testbed = TwoClientTestbed::start()?;
    // Composed, so that the decomposed spelling is another text.
    testbed.gatehouse.ask(&["servers", "rename", "raw", "caf\u{e9}"])?;
    let at = |path: &str| -> Result<u16> {
        let endpoint = testbed.gatehouse.endpoint.replace("/mcp", path);
        let client = StatelessClient { name: "raw", capabilities: "{}" };
        Ok(client.send(&endpoint, &testbed.own, "tools/list", "")?.status)
    };
    ensure!(at("/servers/caf%C3%A9/mcp")? == 200);
    for path in [
        "/servers/cafe%CC%81/mcp",
        "/servers/CAF%C3%89/mcp",
        "/servers/caf%E9/mcp",
        "/servers/caf%25C3%25A9/mcp",
        "/servers/c%D0%B0f%C3%A9/mcp",
        "/servers/%EF%BD%83af%C3%A9/mcp",
        "/servers/caf%C3%A9%00/mcp",
        "/servers/caf%C3%A9%E2%80%8B/mcp",
        "/servers/caf%C3%A9%2fmcp",
        "/servers/..%2f..%2fmcp",
        "/servers/x%2f..%2fcaf%C3%A9/mcp",
        "/servers/./caf%C3%A9/mcp",
        "/servers/caf%C3%A9/../caf%C3%A9/mcp",
        "/servers/raw/mcp",
    ] {
        ensure!(at(path)? == 404, "{path}");
    }
    Ok(())
}
