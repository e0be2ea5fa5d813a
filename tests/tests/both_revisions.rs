//! Servers that speak both families of revisions (GATE-5, SRV-2, SRV-15): each client has what its own revision offers,
//! a server is told what the calling client declared, and a setting pins the revision.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::client::{CallOutcome, Client};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::http::StatelessClient;
use gatehouse_tests::paths;
use serde_json::{Value, json};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn answers() -> Value {
    json!({
        "form": { "action": "accept", "content": { "name": "Zoe" } },
        "url": { "action": "accept" },
        "sampling": "Hello from a model",
        "roots": [{ "uri": "file:///work", "name": "work" }],
    })
}

fn allowed(gatehouse: &Gatehouse, name: &str, over: ServerTransport, more: &[&str]) -> Result<FixtureServer> {
    let upstream = add(gatehouse, name, over, more)?;
    gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
    Ok(upstream)
}

/// The revision of a connected server.
fn protocol(gatehouse: &Gatehouse, server: &str) -> Result<String> {
    let status = gatehouse.await_status(server, "connected")?;
    Ok(status["status"]["protocol"]
        .as_str()
        .with_context(|| format!("no revision in {status:#}"))?
        .to_owned())
}

fn asks_all(client: &mut Client) -> Result<()> {
    for (tool, answer, expected) in [
        ("ask_form", "/content/name", "Zoe"),
        ("ask_url", "/action", "accept"),
        ("ask_model", "/content/text", "Hello from a model"),
        ("ask_roots", "/roots/0/uri", "file:///work"),
    ] {
        let outcome = client.call(tool, &json!({}))?;
        let CallOutcome::Result(result) = &outcome else { anyhow::bail!("{tool}: {outcome:?}") };
        let given = result["structuredContent"]["answer"].pointer(answer);
        ensure!(given.and_then(Value::as_str) == Some(expected), "{tool}: {result:#}");
    }
    Ok(())
}

/// A server that can ask only while it works on a call, which only the older revisions have. A client of these is asked
/// over a connection of its own revision. Over a connection of the newest one the server's own refusal arrives, as it
/// would without a gateway. A program has one connection, on which it can ask clients of both.
#[test]
fn server_asks_clients_of_the_older_revisions() -> Result<()> {
    for (over, main) in
        [(ServerTransport::Http, NEW), (ServerTransport::Ws, NEW), (ServerTransport::Stdio, OLD)]
    {
        let gatehouse = Gatehouse::start()?;
        let log = gatehouse.folder("log")?.join("received");
        let words = ["--fault", "asks-in-calls", "--log", log.to_str().context("path")?];
        let _upstream = allowed(&gatehouse, "both", over, &words)?;
        ensure!(protocol(&gatehouse, "both")? == main, "{over:?}");
        let token = gatehouse.add_client("Able")?;
        let mut newest = Client::connect_answering(NEW, &gatehouse.endpoint, &token, &answers())?;
        let mut older = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
        asks_all(&mut older).with_context(|| format!("{over:?}"))?;
        if main == NEW {
            let refused = newest.call("ask_form", &json!({}))?;
            ensure!(refused.text().contains("only while it works"), "{over:?}: {refused:?}");
        } else {
            asks_all(&mut newest)?;
        }
        asks_all(&mut older)?;
        let received = fs::read_to_string(&log)?;
        ensure!(received.matches(r#""method":"initialize""#).count() == 1, "{over:?}: {received}");
        ensure!(protocol(&gatehouse, "both")? == main, "its status changed");
    }
    Ok(())
}

/// Progress, log messages and cancellation in both revisions, of one server.
#[test]
fn both_revisions_have_all_of_a_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("received");
    let words = ["--log", log.to_str().context("path")?];
    let _upstream = allowed(&gatehouse, "both", ServerTransport::Http, &words)?;
    let token = gatehouse.add_client("Able")?;
    for (round, revision) in [NEW, OLD].into_iter().enumerate() {
        let mut client = Client::connect_answering(revision, &gatehouse.endpoint, &token, &answers())?;
        asks_all(&mut client).context(revision)?;
        client.ask("level", "notice")?;
        let call = client.begin("slow", &json!({ "ms": 300, "progress": 3 }))?;
        ensure!(client.finish(&call)?.is_ok(), "{revision}");
        ensure!(client.progress_of(&call).len() == 3, "{revision}: progress was lost");
        client.call("say", &json!({ "level": "info", "text": "too little" }))?;
        client.call("say", &json!({ "level": "alert", "text": "enough" }))?;
        ensure!(client.next_message("logged")?["logged"] == "enough", "{revision}");
        let call = client.begin("slow", &json!({ "ms": 60_000, "progress": 1000 }))?;
        until_slow_calls(&log, "started", 2 * (round + 1))?;
        client.cancel(&call)?;
        until_slow_calls(&log, "cancelled", round + 1)?;
    }
    Ok(())
}

/// Waits until so many slow calls were started, or cancelled, by the server's log.
fn until_slow_calls(log: &Path, state: &str, count: usize) -> Result<()> {
    eventually(format!("{count} slow calls to be {state}"), || {
        let text = fs::read_to_string(log)?;
        let calls = text.lines().filter(|line| line.starts_with("# slow") && line.ends_with(state));
        Ok(if calls.count() >= count { Ok(()) } else { Err(text) })
    })
}

/// A call declares what its client declared, and a server that needs more refuses it. Nobody is bothered.
#[test]
fn server_is_told_what_the_client_declared() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("received");
    let words =
        ["--lifecycle", "modern", "--fault", "checks-capabilities", "--log", log.to_str().context("path")?];
    let _upstream = allowed(&gatehouse, "strict", ServerTransport::Http, &words)?;
    let token = gatehouse.add_client("Raw")?;
    let ask = |capabilities: &'static str| {
        let client = StatelessClient { name: "bytes", capabilities };
        client.send(&gatehouse.endpoint, &token, "tools/call", r#""name":"ask_form","arguments":{}"#)
    };
    for declared in ["{}", r#"{"elicitation":{"url":{}}}"#, r#"{"sampling": {}, "roots":{}}"#] {
        let response = ask(declared)?;
        ensure!(response.status == 400, "{declared}: {response:?}");
        let body: Value = serde_json::from_str(&response.body)?;
        ensure!(body["error"]["code"] == -32021, "{declared}: {body:#}");
        let required = &body["error"]["data"]["requiredCapabilities"];
        ensure!(*required == json!({ "elicitation": { "form": {} } }), "{declared}: {body:#}");
    }
    let declared = r#"{"elicitation":{"form": {}},"extensions":{"example.org/x":{"a":1.0}}}"#;
    let response = ask(declared)?;
    ensure!(response.status == 200 && response.body.contains("input_required"), "{response:?}");
    let received = fs::read_to_string(&log)?;
    ensure!(received.contains(declared), "it was not told the very words: {received}");

    // A client of an older revision declared its capabilities once.
    let mut able = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
    asks_all(&mut able)?;
    let mut plain = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &json!({}))?;
    let refused = plain.call("ask_form", &json!({}))?;
    ensure!(matches!(&refused, CallOutcome::Error(error) if error["code"] == -32021), "{refused:?}");
    let pending = gatehouse.ask(&["approvals", "list"])?;
    ensure!(pending.as_array().is_some_and(Vec::is_empty), "the user was asked: {pending:#}");
    Ok(())
}

/// Pinning another revision reconnects and keeps the permissions; a server that lacks it says so.
#[test]
fn setting_pins_the_revision() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let upstream = FixtureServer::start(ServerTransport::Http, &["--fault", "asks-in-calls"])?;
    gatehouse.ask(&["servers", "add", "both", "--url", &upstream.url, "--protocol-version", OLD])?;
    ensure!(protocol(&gatehouse, "both")? == OLD, "it was added with another one");
    gatehouse.ask(&["policy", "auto-approve", "both", "all"])?;
    let token = gatehouse.add_client("Able")?;
    let mut newest = Client::connect_answering(NEW, &gatehouse.endpoint, &token, &answers())?;
    let mut older = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
    asks_all(&mut newest).context("a client of the newest revision at an older connection")?;
    asks_all(&mut older)?;
    let file = gatehouse.data_dir().join("servers.json");
    ensure!(
        fs::read_to_string(&file)?.contains(r#""protocolVersion": "2025-11-25""#),
        "it is not in the file"
    );

    gatehouse.ask(&["servers", "set", "both", "protocolVersion=2026-07-28"])?;
    eventually("the other revision", || {
        let now = protocol(&gatehouse, "both")?;
        Ok(if now == NEW { Ok(()) } else { Err(now) })
    })?;
    let refused = older.call("ask_form", &json!({}))?;
    ensure!(refused.text().contains("only while it works"), "no second connection: {refused:?}");
    ensure!(older.call("echo", &json!({}))?.is_ok(), "it is still the same server, with its permissions");

    gatehouse.ask(&["servers", "set", "both", "--unset", "protocolVersion"])?;
    eventually("a connection for the older client", || {
        let asked = older.call("ask_form", &json!({}))?;
        Ok(if asked.is_ok() { Ok(()) } else { Err(asked.text()) })
    })?;
    ensure!(!fs::read_to_string(&file)?.contains("protocolVersion"), "the usual setting is not written");

    let _old = add(&gatehouse, "old", ServerTransport::Http, &["--lifecycle", "legacy"])?;
    gatehouse.ask(&["servers", "set", "old", "protocolVersion=2026-07-28"])?;
    let text = status_text(&gatehouse.await_status("old", "failed")?["status"])?;
    ensure!(text.contains(NEW) && text.contains("settings"), "{text}");
    Ok(())
}

/// The official SDK for Python, whose `ctx.elicit` exists only on the older revisions.
#[test]
fn sdk_server_asks_during_a_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let python = paths::python()?;
    let script = paths::tests_dir().join("py/asking_server.py");
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new(&python);
    command.arg(&script).arg(port.to_string()).stderr(Stdio::null());
    let _server = ChildProcess::start("the asking server", &mut command)?;
    eventually("the server to listen", || Ok(std::net::TcpStream::connect(("127.0.0.1", port)).map(drop)))?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    gatehouse.ask(&["servers", "add", "remote", "--url", &url])?;
    let words = [python.to_str().context("path")?, script.to_str().context("path")?];
    gatehouse.ask(&["servers", "add", "program", "--", words[0], words[1]])?;
    let token = gatehouse.add_client("Able")?;
    for (server, main) in [("remote", NEW), ("program", OLD)] {
        ensure!(protocol(&gatehouse, server)? == main, "{server}");
        gatehouse.ask(&["policy", "auto-approve", server, "all"])?;
    }
    let tools = gatehouse.ask(&["tools", "list"])?;
    let exposed = |server: &str| -> Result<String> {
        let mut all = tools.as_array().into_iter().flatten();
        let found = all.find(|tool| tool["serverName"] == server && tool["name"] == "greet");
        Ok(found.with_context(|| format!("{tools:#}"))?["exposedName"]
            .as_str()
            .context("no name")?
            .to_owned())
    };
    let (remote, program) = (exposed("remote")?, exposed("program")?);
    let mut older = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
    let mut newest = Client::connect_answering(NEW, &gatehouse.endpoint, &token, &answers())?;
    for (client, tool) in [(&mut older, &remote), (&mut newest, &program)] {
        let greeted = client.call(tool, &json!({}))?;
        ensure!(greeted.text() == "Hello Zoe", "{tool}: {greeted:?}");
    }
    ensure!(older.call(&program, &json!({}))?.text() == "Hello Zoe", "a program asks an older client");

    // Results of the newest revision, for a client of an older one: without what only the newest has.
    gatehouse.ask(&["servers", "set", "remote", "protocolVersion=2026-07-28"])?;
    eventually("the pinned revision", || {
        let greeted = older.call(&remote, &json!({}))?.text();
        Ok(if greeted.contains("no back-channel") { Ok(()) } else { Err(greeted) })
    })?;
    let outcome = older.call(&remote.replace("greet", "hello"), &json!({}))?;
    let CallOutcome::Result(result) = &outcome else { anyhow::bail!("{outcome:?}") };
    ensure!(outcome.text() == "Hello", "{result:#}");
    ensure!(result.get("resultType").is_none() && result.get("_meta").is_none(), "{result:#}");
    Ok(())
}
