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
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::lines::PATIENCE;
use gatehouse_tests::server::{Over, Upstream};
use gatehouse_tests::{http, places};
use serde_json::json;

const SECRET: &str = "hunter2-swordfish-0451";

/// Everything is logged, so that messages below the default level are searched too.
const LOUD: &str = "info,rmcp=debug,gatehouse_servers=trace,gatehouse_tools=trace,gatehouse_gateway=trace,gatehouse_app=trace";

struct Scene {
    gatehouse: Gatehouse,
    heard: Heard,
    token: String,
}

/// Receives every event, including those that are not stored.
struct Heard(Arc<Mutex<String>>);

impl Heard {
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
        begun.recv_timeout(PATIENCE)?;
        Ok(Self(all))
    }

    fn text(&self) -> Result<String> {
        Ok(self.0.lock().map_err(|_| anyhow::anyhow!("poisoned"))?.clone())
    }

    fn until(&self, words: &str) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
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

impl Scene {
    fn start() -> Result<Self> {
        let mut gatehouse = Gatehouse::start()?;
        gatehouse.stop()?;
        gatehouse.launch_in(&[("GATEHOUSE_LOG", LOUD)])?;
        let token = gatehouse.add_client("agent")?;
        let heard = Heard::listen(&gatehouse)?;
        Ok(Self { gatehouse, heard, token })
    }

    /// Adds a server that leaks its secret, given in its environment or in a header.
    fn add(&self, name: &str, over: Over, faults: &[&str]) -> Result<Option<Upstream>> {
        let mut words = vec!["--fault", "leaks"];
        for fault in faults {
            words.extend(["--fault", fault]);
        }
        let leaks = format!("leaks={SECRET}");
        let (transport, field, upstream) = if over == Over::Stdio {
            let program = places::program("fixture-server")?;
            let env = json!({ "FIXTURE_SECRET": "${secret:FIXTURE_SECRET}" });
            let transport = json!({ "type": "stdio", "command": program, "args": words, "env": env });
            (transport, "env/FIXTURE_SECRET", None)
        } else {
            words[1] = &leaks;
            let upstream = Upstream::start(over, &words)?;
            let kind = match over {
                Over::Sse => "sse",
                Over::Ws => "ws",
                Over::Http | Over::Stdio => "http",
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

    fn call(&self, tool: &str) -> Result<http::Answer> {
        let params = format!(r#""name":"{tool}","arguments":{{}}"#);
        http::modern(&self.gatehouse.endpoint, &self.token, "tools/call", &params)
    }

    /// Searches for the secret in the output of all commands that read, in the events, and in every
    /// file.
    fn search(mut self, names: &[&str]) -> Result<()> {
        for words in
            [&["servers", "list"][..], &["status"], &["calls"], &["audit", "list"], &["tools", "list"]]
        {
            clean(&format!("{words:?}"), &self.gatehouse.ask(words)?.to_string())?;
        }
        for name in names {
            clean(name, &self.gatehouse.ask(&["servers", "log", name])?.to_string())?;
        }
        clean("the journal", &self.gatehouse.command("events.list", &json!({}))?.to_string())?;
        let server = self.gatehouse.command("servers.list", &json!({}))?;
        for server in server.as_array().into_iter().flatten() {
            let offer =
                self.gatehouse.command("servers.offer", &json!({ "server": server["config"]["id"] }))?;
            clean("what a server offers", &offer.to_string())?;
        }
        self.gatehouse.stop()?;
        clean("the events", &self.heard.text()?)?;
        clean("standard error", &self.gatehouse.stderr())?;
        look_into(&self.gatehouse.data_dir())
    }
}

fn clean(what: &str, text: &str) -> Result<()> {
    let around =
        text.find(SECRET).map(|at| text.chars().skip(at.saturating_sub(200)).take(400).collect::<String>());
    ensure!(around.is_none(), "the secret is in {what}: …{}…", around.unwrap_or_default());
    Ok(())
}

fn look_into(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            look_into(&path)?;
        } else if path.is_file() {
            clean(&path.display().to_string(), &String::from_utf8_lossy(&fs::read(&path)?))?;
        }
    }
    Ok(())
}

/// Calls everything of a server that leaks, and waits until the calls were recorded.
fn provoke(scene: &Scene, name: &str, over: Over) -> Result<()> {
    let upstream = scene.add(name, over, &[])?;
    scene.gatehouse.await_status(name, "connected")?;
    scene.gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
    for (tool, words) in
        [("leak", "failed with"), ("typed", "structuredContent"), ("echo", "structuredContent")]
    {
        let answer = scene.call(tool)?;
        ensure!(answer.body.contains(words), "{name} {tool}: {answer:?}");
    }
    // The result itself reaches the client unchanged; an error does not contain the secret.
    ensure!(scene.call("typed")?.body.contains(SECRET), "the result was changed");
    clean("an error for the client", &scene.call("leak")?.body)?;
    let server = scene.gatehouse.await_status(name, "connected")?;
    clean("the status", &server.to_string())?;
    ensure!(server.to_string().contains("•"), "nothing was said that had to be taken out: {server}");
    let deadline = Instant::now() + PATIENCE;
    while scene.gatehouse.ask(&["calls"])?.as_array().map_or(0, Vec::len) < 5 {
        ensure!(Instant::now() < deadline, "the calls were not recorded");
    }
    drop(upstream);
    let listed = scene.gatehouse.ask(&["servers", "list"])?.to_string();
    clean("the status of a server that is gone", &listed)?;
    scene.gatehouse.ask(&["servers", "remove", name])?;
    Ok(())
}

/// Tried: the secret in standard error, in the handshake, in definitions, log messages, progress,
/// results that violate their schema, and errors. Stopped by: redaction where data enters from a
/// connection, and in records.
#[test]
fn it_tells_the_secret_of_its_environment() -> Result<()> {
    let scene = Scene::start()?;
    provoke(&scene, "local", Over::Stdio)?;
    scene.search(&[])
}

/// Tried: the same with the secret of a header, over every remote transport.
#[test]
fn it_tells_the_secret_of_a_header() -> Result<()> {
    for over in [Over::Http, Over::Sse, Over::Ws] {
        let scene = Scene::start()?;
        provoke(&scene, "remote", over)?;
        scene.search(&[])?;
    }
    Ok(())
}

/// Tried: the secret in the body of an HTTP error and in the last output of a process. Stopped by: the
/// same.
#[test]
fn it_tells_the_secret_at_its_end() -> Result<()> {
    let scene = Scene::start()?;
    let _upstream = scene.add("refusing", Over::Http, &["http-status=500"])?;
    scene.add("dying", Over::Stdio, &["dies-after=50"])?;
    for (name, words) in [("refusing", "refused •"), ("dying", "started with •")] {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let listed = scene.gatehouse.ask(&["servers", "list"])?;
            clean(name, &listed.to_string())?;
            let found =
                listed.as_array().into_iter().flatten().find(|server| server["config"]["name"] == name);
            if found.is_some_and(|server| server["status"].to_string().contains(words)) {
                break;
            }
            ensure!(Instant::now() < deadline, "{name} never failed in these words: {listed:#}");
        }
    }
    scene.heard.until("refused •")?;
    scene.search(&["refusing", "dying"])
}
