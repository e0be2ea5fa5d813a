//! `gatehousectl` beside a window (CTL-1): what changes something waits until the window accepts it, and the window shows
//! what would be done. The window is the one that browsers show, with the real core and shell.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::window::Desktop;
use gatehouse_tests::{http, paths};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An address at which no bus is.
const NO_BUS: &str = "unix:path=/nonexistent/bus";

/// A Gatehouse with a window, and its user. It ends when it is dropped.
struct WindowedGatehouse {
    _host: ChildProcess,
    address: String,
    folder: TempDir,
}

impl WindowedGatehouse {
    fn start(bus: &str) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("gatehouse-test-").tempdir()?;
        let home = folder.path().join("user");
        let pages = folder.path().join("pages");
        for made in [&home, &pages] {
            fs::create_dir(made)?;
        }
        let mut command = Command::new(paths::program("browser-host")?);
        command.arg("--data-dir").arg(folder.path().join("data")).arg("--pages").arg(pages);
        command
            .env("HOME", &home)
            .env("SHELL", "/bin/sh")
            .env("XDG_CONFIG_HOME", "")
            .env("DBUS_SESSION_BUS_ADDRESS", bus);
        let mut host = ChildProcess::start("browser-host", &mut command)?;
        let line: Value = serde_json::from_str(&host.next_line()?)?;
        let address = line["address"].as_str().context("no address")?.to_owned();
        Ok(Self { _host: host, address, folder })
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// Runs a command as the window does.
    fn command(&self, name: &str, args: &Value) -> Result<Value> {
        let headers = [("Content-Type", "application/json"), ("Origin", self.address.as_str())];
        let body = json!({ "name": name, "args": args }).to_string();
        let reply = http::post(&format!("{}/host/command", self.address), &headers, body.as_bytes())?;
        ensure!(reply.status == 200, "{name}: {}", reply.body);
        Ok(serde_json::from_str(&reply.body)?)
    }

    /// The proposal that waits.
    fn proposal(&self) -> Result<Value> {
        eventually("a proposal", || {
            let pending = self.command("approvals.list", &json!({}))?;
            let all = pending.as_array().context("no list")?;
            let found = all.iter().find(|pending| pending["request"]["kind"] == "command").cloned();
            Ok(found.ok_or(pending))
        })
    }

    fn answer(&self, proposal: &Value, answer: &Value) -> Result<()> {
        let answers = json!({ "answers": [{ "id": proposal["id"], "hash": null, "answer": answer }] });
        self.command("approvals.answer", &answers).map(drop)
    }

    fn accept(&self, proposal: &Value) -> Result<()> {
        self.answer(proposal, &json!({ "answer": "accept", "content": null }))
    }

    fn has_server(&self, name: &str) -> Result<bool> {
        let servers = self.command("servers.list", &json!({}))?;
        Ok(servers.as_array().context("no list")?.iter().any(|view| view["config"]["name"] == name))
    }

    /// Begins a command line of a program without a terminal.
    fn begin(&self, words: &[&str]) -> Result<Child> {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(paths::program("gatehousectl")?).arg("--json").arg("--data-dir");
        command.arg(self.folder.path().join("data")).args(words).env("LC_ALL", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// Runs a command line that the window accepts. Returns what was shown, and the reply.
    fn accepted(&self, words: &[&str]) -> Result<(Value, Value)> {
        let program = self.begin(words)?;
        let proposal = self.proposal()?;
        self.accept(&proposal)?;
        let output = program.wait_with_output()?;
        ensure!(output.status.success(), "{output:?}");
        ensure!(said(&output).contains("Waiting for your answer in Gatehouse's window"), "{output:?}");
        Ok((proposal["request"].clone(), serde_json::from_slice(&output.stdout)?))
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}

#[test]
fn adds_and_removes_a_server_once_the_window_accepts() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    let (shown, reply) = gatehouse.accepted(&["servers", "add", "Clock", "--builtin", "time"])?;
    ensure!(
        shown["command"] == "servers.add" && shown["what"]["params"]["server"]["text"] == "Clock",
        "{shown:#}"
    );
    // Whoever runs gatehousectl, which is this test.
    let program = shown["seenFrom"]["program"]["name"].as_str();
    ensure!(program.is_some_and(|name| name.starts_with("proposals")), "{shown:#}");
    ensure!(reply["config"]["name"] == "Clock", "{reply:#}");

    let declined = gatehouse.begin(&["servers", "remove", "Clock"])?;
    gatehouse.answer(&gatehouse.proposal()?, &json!({ "answer": "decline" }))?;
    let output = declined.wait_with_output()?;
    ensure!(output.status.code() == Some(4), "{output:?}");
    ensure!(said(&output).contains("declined in Gatehouse's window"), "{output:?}");
    ensure!(gatehouse.has_server("Clock")?);

    let mut left = gatehouse.begin(&["servers", "remove", "Clock"])?;
    gatehouse.proposal()?;
    left.kill()?;
    left.wait()?;
    gatehouse.accepted(&["servers", "remove", "Clock"])?;
    ensure!(!gatehouse.has_server("Clock")?);
    Ok(())
}

#[test]
fn reads_nothing_for_a_program_without_the_key() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    for words in [
        &["servers", "import", "cursor", "--list"][..],
        &["clients", "connect", "cursor", "--dry-run"],
        &["approvals", "list"],
        &["servers", "rename", "Time", "Clock"],
    ] {
        let output = gatehouse.begin(words)?.wait_with_output()?;
        ensure!(output.status.code() == Some(4), "{words:?}: {output:?}");
    }
    ensure!(gatehouse.command("approvals.list", &json!({}))? == json!([]));
    Ok(())
}

#[test]
fn imports_what_the_window_showed() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    let file = gatehouse.home().join("mcp.json");
    let fixture = json!({ "command": "fixture-program", "args": ["--token", "s3cret"], "disabled": true });
    fs::write(&file, json!({ "mcpServers": { "fixture": fixture, "other": fixture } }).to_string())?;
    let file = file.to_str().context("path")?;
    let (shown, outcomes) = gatehouse.accepted(&["servers", "import", file, "--only", "fixture"])?;
    ensure!(shown["command"] == "imports.runByName", "{shown:#}");
    let text = shown.to_string();
    ensure!(text.contains("fixture-program") && text.contains("/fixture/command"), "{shown:#}");
    ensure!(!text.contains("s3cret"), "{shown:#}");
    ensure!(outcomes[0]["problem"].is_null(), "{outcomes:#}");
    ensure!(gatehouse.has_server("fixture")? && !gatehouse.has_server("other")?);
    Ok(())
}

#[test]
fn connects_an_application_as_the_window_showed() -> Result<()> {
    let desktop = Desktop::start()?;
    let gatehouse = WindowedGatehouse::start(desktop.bus())?;
    let file = gatehouse.home().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().context("no folder")?)?;
    let before = "{\n  \"mcpServers\": { \"other\": { \"command\": \"npx\", \"env\": { \"KEY\": \"sk-secret\" } } }\n}\n";
    fs::write(&file, before)?;

    let late = gatehouse.begin(&["clients", "connect", "cursor"])?;
    let proposal = gatehouse.proposal()?;
    let changed = before.replace("npx", "uvx");
    fs::write(&file, &changed)?;
    gatehouse.accept(&proposal)?;
    let output = late.wait_with_output()?;
    ensure!(!output.status.success(), "{output:?}");
    ensure!(read(&file) == Some(changed.clone()), "a change that nobody saw was made");

    let (shown, reply) = gatehouse.accepted(&["clients", "connect", "cursor"])?;
    ensure!(shown["files"][0]["path"] == json!(file), "{shown:#}");
    let lines = shown["files"][0]["lines"].to_string();
    ensure!(lines.contains("gatehouse") && !lines.contains("sk-secret"), "{shown:#}");
    ensure!(reply["client"]["name"] == "Cursor", "{reply:#}");
    ensure!(read(&file).is_some_and(|text| text.contains("\"gatehouse\"")));

    gatehouse.accepted(&["clients", "disconnect", "cursor"])?;
    ensure!(read(&file) == Some(changed.clone()));
    Ok(())
}
