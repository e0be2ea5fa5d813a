//! Clients of the revisions with sessions go on after a restart of Gatehouse, without `initialize` and without
//! noticing. What was limited to the session has ended, and nobody else gets in with its id.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::client::{CallOutcome, Client, Sdk};
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{self, RawHttpResponse};
use serde_json::{Value, json};

const REVISION: &str = "2025-11-25";

/// How Gatehouse ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The user quits it.
    Quit,
    /// It crashes.
    Kill,
}

/// Ends Gatehouse and starts it again; the server is connected when this returns.
fn restart(gatehouse: &mut Gatehouse, end: End) -> Result<()> {
    let endpoint = gatehouse.endpoint.clone();
    match end {
        End::Quit => gatehouse.stop()?,
        End::Kill => gatehouse.kill()?,
    }
    gatehouse.launch()?;
    ensure!(gatehouse.endpoint == endpoint, "another address: {}", gatehouse.endpoint);
    gatehouse.await_status("fixture", "connected")?;
    Ok(())
}

/// Third-party clients, in the middle of their session: the list, calls with progress, and the log level that they set
/// before.
#[test]
fn sdk_clients_go_on_after_restart() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let _server = add(&gatehouse, "fixture", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["policy", "auto-approve", "fixture", "all"])?;
    let token = gatehouse.add_client("SDK")?;
    let mut script = Client::connect_answering(REVISION, &gatehouse.endpoint, &token, &json!({}))?;
    let mut python = Client::connect(Sdk::Python, REVISION, &gatehouse.endpoint, Some(&token))?;
    let names = |tools: Vec<Value>| -> Vec<Value> { tools.iter().map(|tool| tool["name"].clone()).collect() };
    let before = names(script.tools()?);
    ensure!(names(python.tools()?) == before, "two lists");
    script.ask("level", "notice")?;
    ensure!(script.call("say", &json!({ "level": "notice", "text": "before" }))?.is_ok(), "no call before");
    ensure!(script.next_message("logged")?["logged"] == "before", "no log before");
    for end in [End::Quit, End::Kill] {
        restart(&mut gatehouse, end)?;
        for client in [&mut script, &mut python] {
            ensure!(names(client.tools()?) == before, "{end:?}: another list");
            let arguments = json!({ "after": "restart" });
            let echoed = client.call("echo", &arguments)?;
            let is_echoed =
                matches!(&echoed, CallOutcome::Result(result) if result["structuredContent"] == arguments);
            ensure!(is_echoed, "{end:?}: {echoed:?}");
        }
        let slow = script.begin("slow", &json!({ "ms": 400, "progress": 2 }))?;
        script.next_message("progressOf")?;
        ensure!(script.finish(&slow)?.is_ok(), "{end:?}: no result");
        script.call("say", &json!({ "level": "info", "text": "too little" }))?;
        script.call("say", &json!({ "level": "notice", "text": "after" }))?;
        ensure!(script.next_message("logged")?["logged"] == "after", "{end:?}: the log level was lost");
    }
    let shown = gatehouse.ask(&["clients", "list"])?;
    let client = shown.as_array().into_iter().flatten().find(|client| client["name"] == "SDK");
    ensure!(client.context("the client is listed")?["sessions"] == 2, "{shown:#}");
    Ok(())
}

/// What the user allowed for the session of a client is not allowed in the one that the client goes on with.
#[test]
fn approval_for_session_ends_at_restart() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let _server = add(&gatehouse, "fixture", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("SDK")?;
    let mut client = Client::connect_answering(REVISION, &gatehouse.endpoint, &token, &json!({}))?;
    let call = client.begin("echo", &json!({ "n": 1 }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let choice = approvals::choices(&question)?
        .iter()
        .find(|choice| {
            choice["lifetime"] == "session" && choice["width"] == "tool" && choice["everyClient"] == false
        })
        .with_context(|| format!("the session is not offered: {question:#}"))?;
    let choice =
        json!({ "lifetime": "session", "width": choice["width"], "everyClient": false, "conditions": [] });
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &choice)?;
    ensure!(client.finish(&call)?.is_ok(), "not allowed");
    ensure!(client.call("echo", &json!({ "n": 2 }))?.is_ok(), "not allowed for the session");
    restart(&mut gatehouse, End::Quit)?;
    let call = client.begin("echo", &json!({ "n": 3 }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    approvals::deny(&gatehouse, &question)?;
    ensure!(client.finish(&call)?.is_tool_error(), "it ran");
    Ok(())
}

/// A client in raw HTTP.
struct RawClient<'a> {
    gatehouse: &'a Gatehouse,
    token: &'a str,
}

impl RawClient<'_> {
    fn send(&self, method: &str, session: Option<&str>, body: &str) -> Result<RawHttpResponse> {
        let authorization = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        http::send(method, &self.gatehouse.endpoint, &headers, body.as_bytes())
    }

    fn open(&self) -> Result<String> {
        let params =
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
        let opened = self.send("POST", None, &body)?;
        let id = opened.header("mcp-session-id").with_context(|| format!("no session: {opened:?}"))?;
        Ok(id.to_owned())
    }

    /// Status and body of a ping.
    fn ping(&self, session: &str) -> Result<(u16, String)> {
        let answer = self.send("POST", Some(session), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
        Ok((answer.status, answer.body))
    }

    fn delete(&self, session: &str) -> Result<u16> {
        Ok(self.send("DELETE", Some(session), "")?.status)
    }
}

/// Tried: to take over or bring back a session with its id, which is no secret: with another client's token, with the id
/// of another Gatehouse, with an edited one, after its end, and after its client was revoked. Stopped by: an id is sealed
/// for one client with its token and with a key of this folder, and ends are recorded. The response is always that to a
/// session that never existed.
#[test]
fn ids_open_nothing_for_others() -> Result<()> {
    let elsewhere = Gatehouse::start()?;
    let token = elsewhere.add_client("agent")?;
    let of_elsewhere = RawClient { gatehouse: &elsewhere, token: &token }.open()?;
    let mut gatehouse = Gatehouse::start()?;
    let (agent, thief) = (gatehouse.add_client("agent")?, gatehouse.add_client("thief")?);
    let client = RawClient { gatehouse: &gatehouse, token: &agent };
    let (session, ended) = (client.open()?, client.open()?);
    ensure!(session.len() < 400 && session.bytes().all(|byte| byte.is_ascii_graphic()), "{session}");
    ensure!(client.delete(&ended)? == 204, "not ended");
    ensure!(client.ping(&ended)?.0 == 404, "it goes on");
    // Even a crash doesn't bring it back.
    gatehouse.kill()?;
    gatehouse.launch()?;
    let client = RawClient { gatehouse: &gatehouse, token: &agent };
    let unknown = client.ping("ses-0")?;
    ensure!(unknown.0 == 404 && unknown.1.contains("-32001"), "{unknown:?}");
    let last = session.char_indices().last().context("empty")?.0;
    let (head, tail) = session.split_at(session.len() / 2);
    for (what, id) in [
        ("ended", ended.clone()),
        ("of another Gatehouse", of_elsewhere),
        ("shorter", session[..last].to_owned()),
        ("edited", format!("{head}x{}", &tail[1..])),
        ("10 KB", "A".repeat(10 * 1024)),
        ("10 KB more", format!("{session}{}", "A".repeat(10 * 1024))),
    ] {
        ensure!(client.ping(&id)? == unknown, "{what}: {:?}", client.ping(&id)?);
    }
    let other = RawClient { gatehouse: &gatehouse, token: &thief };
    ensure!(other.ping(&session)? == unknown, "another client's token");
    ensure!(other.delete(&session)? == 404, "another client ended it");
    ensure!(client.ping(&session)?.0 == 200, "its own client");
    gatehouse.ask(&["clients", "revoke", "agent"])?;
    ensure!(client.ping(&session)?.0 == 401, "revoked");
    let again = gatehouse.add_client("agent")?;
    for _ in 0..2 {
        let client = RawClient { gatehouse: &gatehouse, token: &again };
        ensure!(client.ping(&session)? == unknown, "a new client of the same name");
        gatehouse.stop()?;
        gatehouse.launch()?;
    }
    Ok(())
}
