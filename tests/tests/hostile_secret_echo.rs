//! A server repeats the secret that it was given in everything it sends. Each test searches for the
//! secret in everything that Gatehouse wrote or printed.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::{Result, ensure};
use gatehouse_app::control::ControlClient;
use gatehouse_model::Secret;
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{http, paths};
use serde_json::json;

const SECRET: &str = "hunter2-swordfish-0451";

/// Everything is logged, so that messages below the default level are searched too.
const LOUD: &str = "info,rmcp=debug,gatehouse_mcp_client=trace,gatehouse_servers=trace,gatehouse_tools=trace,gatehouse_gateway=trace,gatehouse_app=trace";

struct EchoTestbed {
    gatehouse: Gatehouse,
    heard: EventRecorder,
    token: String,
}

/// Receives every event, including those that are not stored.
struct EventRecorder(Arc<Mutex<String>>);

impl EventRecorder {
    fn listen(gatehouse: &Gatehouse) -> Result<Self> {
        let (data_dir, key) = (gatehouse.data_dir(), Secret::new(gatehouse.operator_key()?));
        let all = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&all);
        let (ready, begun) = channel();
        std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let client = ControlClient::connect(&data_dir).await?.with_operator_key(Some(key));
                let mut events = client.events(None).await?;
                ready.send(())?;
                loop {
                    let event = format!("{:?}\n", events.next().await?);
                    heard.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.push_str(&event);
                }
            })
        });
        begun.recv_timeout(TEST_TIMEOUT)?;
        Ok(Self(all))
    }

    fn text(&self) -> Result<String> {
        Ok(self.0.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.clone())
    }

    fn wait_for(&self, words: &str) -> Result<String> {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let text = self.text()?;
            if text.contains(words) {
                return Ok(text);
            }
            ensure!(Instant::now() < deadline, "{words} was not heard");
            std::thread::yield_now();
        }
    }
}

impl EchoTestbed {
    fn start() -> Result<Self> {
        let mut gatehouse = Gatehouse::start()?;
        gatehouse.stop()?;
        gatehouse.launch_with_env(&[("GATEHOUSE_LOG", LOUD)])?;
        let token = gatehouse.add_client("agent")?;
        let heard = EventRecorder::listen(&gatehouse)?;
        Ok(Self { gatehouse, heard, token })
    }

    /// Adds a server that leaks its secret, given in its environment or in a header.
    fn add(&self, name: &str, over: ServerTransport, faults: &[&str]) -> Result<Option<FixtureServer>> {
        let mut words = vec!["--fault", "leaks"];
        for fault in faults {
            words.extend(["--fault", fault]);
        }
        let leaks = format!("leaks={SECRET}");
        let (transport, field, upstream) = if over == ServerTransport::Stdio {
            let program = paths::program("fixture-server")?;
            let env = json!({ "FIXTURE_SECRET": "${secret:FIXTURE_SECRET}" });
            let transport = json!({ "type": "stdio", "command": program, "args": words, "env": env });
            (transport, "env/FIXTURE_SECRET", None)
        } else {
            words[1] = &leaks;
            let upstream = FixtureServer::start(over, &words)?;
            let kind = match over {
                ServerTransport::Sse => "sse",
                ServerTransport::Ws => "ws",
                ServerTransport::Http | ServerTransport::Stdio => "http",
            };
            let headers = json!({ "Authorization": "Bearer ${secret:KEY}" });
            let transport = json!({ "type": kind, "url": upstream.url, "headers": headers });
            (transport, "headers/Authorization", Some(upstream))
        };
        let secrets = json!([{ "field": field, "value": SECRET }]);
        let draft = json!({ "name": name, "transport": transport });
        let added = json!({ "draft": draft, "trustLabels": false, "secrets": secrets });
        self.gatehouse.command("servers.add", &added)?;
        Ok(upstream)
    }

    fn call(&self, tool: &str) -> Result<http::RawHttpResponse> {
        let params = format!(r#""name":"{tool}","arguments":{{}}"#);
        http::stateless_request(&self.gatehouse.endpoint, &self.token, "tools/call", &params)
    }

    /// Searches for the secret in the output of all commands that read, in the events, and in every
    /// file.
    fn search(mut self, names: &[&str]) -> Result<()> {
        for words in
            [&["servers", "list"][..], &["status"], &["calls"], &["audit", "list"], &["tools", "list"]]
        {
            ensure_absent(&format!("{words:?}"), &self.gatehouse.ask(words)?.to_string())?;
        }
        for name in names {
            ensure_absent(name, &self.gatehouse.ask(&["servers", "log", name])?.to_string())?;
        }
        ensure_absent("the journal", &self.gatehouse.command("events.list", &json!({}))?.to_string())?;
        ensure!(!self.heard.text()?.is_empty(), "no event was heard");
        self.gatehouse.stop()?;
        ensure_absent("the events", &self.heard.text()?)?;
        ensure_absent("standard error", &self.gatehouse.stderr())?;
        search_folder(&self.gatehouse.data_dir())
    }
}

fn ensure_absent(what: &str, text: &str) -> Result<()> {
    let around =
        text.find(SECRET).map(|at| text.chars().skip(at.saturating_sub(200)).take(400).collect::<String>());
    ensure!(around.is_none(), "the secret is in {what}: …{}…", around.unwrap_or_default());
    Ok(())
}

fn search_folder(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search_folder(&path)?;
        } else if path.is_file() {
            ensure_absent(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path)?))?;
        }
    }
    Ok(())
}

/// Calls everything of a server that leaks, and waits until the calls were recorded.
fn provoke(testbed: &EchoTestbed, name: &str, over: ServerTransport) -> Result<()> {
    let upstream = testbed.add(name, over, &[])?;
    testbed.gatehouse.await_status(name, "connected")?;
    testbed.gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
    for (tool, words) in
        [("leak", "failed with"), ("typed", "structuredContent"), ("echo", "structuredContent")]
    {
        let answer = testbed.call(tool)?;
        ensure!(answer.body.contains(words), "{name} {tool}: {answer:?}");
    }
    // The result itself reaches the client unchanged; an error does not contain the secret.
    ensure!(testbed.call("typed")?.body.contains(SECRET), "the result was changed");
    ensure_absent("an error for the client", &testbed.call("leak")?.body)?;
    let server = testbed.gatehouse.await_status(name, "connected")?;
    ensure_absent("the status", &server.to_string())?;
    ensure!(server.to_string().contains("•"), "nothing was said that had to be taken out: {server}");
    let deadline = Instant::now() + TEST_TIMEOUT;
    while testbed.gatehouse.ask(&["calls"])?.as_array().map_or(0, Vec::len) < 5 {
        ensure!(Instant::now() < deadline, "the calls were not recorded");
    }
    // What it offers is gone with the server, so it is searched here.
    let catalog = json!({ "server": server["config"]["id"] });
    let catalog = testbed.gatehouse.command("servers.catalog", &catalog)?.to_string();
    let tools = testbed.gatehouse.ask(&["tools", "list"])?.to_string();
    let log = testbed.gatehouse.ask(&["servers", "log", name])?.to_string();
    ensure_absent("the log", &log)?;
    for (what, text) in [("what a server offers", catalog), ("its tools", tools)] {
        ensure_absent(what, &text)?;
        ensure!(text.contains("•"), "nothing had to be taken out of {what}: {text}");
    }
    drop(upstream);
    let listed = testbed.gatehouse.ask(&["servers", "list"])?.to_string();
    ensure_absent("the status of a server that is gone", &listed)?;
    testbed.gatehouse.ask(&["servers", "remove", name])?;
    Ok(())
}

/// Tried: the secret in standard error, in the handshake, in definitions, log messages, progress,
/// results that violate their schema, and errors. Stopped by: redaction where data enters from a
/// connection, and in records.
#[test]
fn redacts_environment_secret() -> Result<()> {
    let testbed = EchoTestbed::start()?;
    provoke(&testbed, "local", ServerTransport::Stdio)?;
    testbed.search(&[])
}

/// Tried: the same with the secret of a header, over every remote transport.
#[test]
fn redacts_header_secret() -> Result<()> {
    for over in [ServerTransport::Http, ServerTransport::Sse, ServerTransport::Ws] {
        let testbed = EchoTestbed::start()?;
        provoke(&testbed, "remote", over)?;
        testbed.search(&[])?;
    }
    Ok(())
}

/// Tried: the secret in the body of an HTTP error and in the last output of a process. Stopped by: the
/// same.
#[test]
fn redacts_secret_in_http_errors_and_last_output() -> Result<()> {
    let testbed = EchoTestbed::start()?;
    let _upstream = testbed.add("refusing", ServerTransport::Http, &["http-status=500"])?;
    testbed.add("dying", ServerTransport::Stdio, &["dies-after=50"])?;
    for (name, words) in [("refusing", "refused •"), ("dying", "started with •")] {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            let listed = testbed.gatehouse.ask(&["servers", "list"])?;
            ensure_absent(name, &listed.to_string())?;
            let found =
                listed.as_array().into_iter().flatten().find(|server| server["config"]["name"] == name);
            if found.is_some_and(|server| server["status"].to_string().contains(words)) {
                break;
            }
            ensure!(Instant::now() < deadline, "{name} never failed in these words: {listed:#}");
        }
    }
    testbed.heard.wait_for("refused •")?;
    testbed.search(&["refusing", "dying"])
}
