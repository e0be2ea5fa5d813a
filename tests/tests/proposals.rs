//! `gatehousectl` beside a window (CTL-1): what changes something waits until the window accepts it, and the window shows
//! what would be done. The window is the one that browsers show, with the real core and shell.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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

const CREDENTIAL: &str = "literal-credential-1";

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
        self.begin_in(&[], words)
    }

    /// The same with variables in its environment.
    fn begin_in(&self, env: &[(&str, &str)], words: &[&str]) -> Result<Child> {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(paths::program("gatehousectl")?).arg("--json").arg("--data-dir");
        command.arg(self.folder.path().join("data")).args(words).env("LC_ALL", "C.UTF-8");
        command.envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command.spawn()?)
    }

    /// The settings of a server, as the window sees them.
    fn config(&self, name: &str) -> Result<Value> {
        let servers = self.command("servers.list", &json!({}))?;
        let all = servers.as_array().context("no list")?;
        let found = all.iter().find(|view| view["config"]["name"] == name);
        Ok(found.with_context(|| format!("no server {name}"))?["config"].clone())
    }

    /// Adds a program that never starts, with a credential in plain text.
    fn add_program(&self) -> Result<()> {
        let env = json!({ "API_TOKEN": CREDENTIAL, "MODE": "telling-mode" });
        let transport =
            json!({ "type": "stdio", "command": "never-started", "args": ["--fast"], "env": env });
        let draft = json!({ "name": "local", "enabled": false, "transport": transport });
        self.command("servers.add", &json!({ "draft": draft, "trustLabels": false })).map(drop)
    }

    /// Runs a command line that the window accepts. Returns what was shown, and the reply.
    fn accepted(&self, words: &[&str]) -> Result<(Value, Value)> {
        self.accept_one(self.begin(words)?)
    }

    /// Accepts what a program proposes. Returns what was shown, and the reply.
    fn accept_one(&self, program: Child) -> Result<(Value, Value)> {
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

/// The pointers of the fields that a request shows, with their values after the change.
fn fields<'a>(request: &'a Value) -> Vec<(&'a str, &'a str)> {
    let changes = request["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    changes.iter().map(|change| (text(&change["pointer"]), text(&change["after"]))).collect()
}

#[test]
fn changes_a_server_once_the_window_accepts() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    gatehouse.add_program()?;
    for (words, shown) in [
        (
            &["set", "local", "env.MODE=b", "description=Sleeps"][..],
            &[("/description", "\"Sleeps\""), ("/env/MODE", "\"b\"")][..],
        ),
        (&["enable", "local"], &[("/enabled", "true")]),
        (&["autostart", "local", "off"], &[("/autostart", "false")]),
        (
            &["limits", "local", "--call-limit", "60", "--strict", "on"],
            &[("/limits/callSecs", "60"), ("/limits/strict", "true")],
        ),
        (&["rename", "local", "other"], &[("/name", "\"other\"")]),
    ] {
        let (request, reply) = gatehouse.accepted(&[&["servers"], words].concat())?;
        ensure!(request["command"] == "servers.set", "{words:?}: {request:#}");
        ensure!(request["what"]["params"]["server"]["text"] == "local", "{words:?}: {request:#}");
        ensure!(fields(&request) == shown, "{words:?}: {request:#}");
        ensure!(!reply.to_string().contains(CREDENTIAL), "{words:?}: {reply:#}");
    }
    let config = gatehouse.config("other")?;
    ensure!(config["enabled"] == true && config["autostart"] == false, "{config:#}");
    ensure!(config["limits"]["callSecs"] == 60 && config["limits"]["strict"] == true, "{config:#}");
    ensure!(config["look"]["description"] == "Sleeps", "{config:#}");
    ensure!(config["transport"]["env"] == json!({ "API_TOKEN": CREDENTIAL, "MODE": "b" }), "{config:#}");

    let declined = gatehouse.begin(&["servers", "set", "other", "autostart=true"])?;
    gatehouse.answer(&gatehouse.proposal()?, &json!({ "answer": "decline" }))?;
    let output = declined.wait_with_output()?;
    ensure!(output.status.code() == Some(4), "{output:?}");
    ensure!(gatehouse.config("other")? == config);
    Ok(())
}

/// Tried: to name no setting, to send a credential to another program, and to put the dots in its place. Nobody is asked.
#[test]
fn refuses_changes_of_a_server_before_the_window_is_asked() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    gatehouse.add_program()?;
    let before = gatehouse.config("local")?;
    let long = format!("description={}", "x".repeat(70 * 1024));
    for (words, code, named) in [
        (&["set", "local", "args=x"][..], 2, "args"),
        (&["set", "local", "command=evil"], 1, "env.API_TOKEN"),
        (&["set", "local", "env.OTHER=${kept:env/API_TOKEN}"], 1, "env.OTHER"),
        (&["set", "local", "env.MODE=••••••"], 1, "env.MODE"),
        (&["set", "local", "url=https://x.example/"], 1, "url"),
        (&["set", "local", "limits.connectSecs=0"], 1, "limits.connectSecs"),
        (&["set", "local", &long], 4, "64"),
        (&["rename", "local", "Time"], 1, "name"),
        (&["enable", "nobody"], 1, "nobody"),
    ] {
        let output = gatehouse.begin(&[&["servers"], words].concat())?.wait_with_output()?;
        ensure!(output.status.code() == Some(code), "{words:?}: {output:?}");
        ensure!(said(&output).contains(named), "{words:?}: {output:?}");
        ensure!(!said(&output).contains(CREDENTIAL), "{words:?}: {output:?}");
        ensure!(gatehouse.command("approvals.list", &json!({}))? == json!([]), "{words:?}");
    }
    ensure!(gatehouse.config("local")? == before);
    Ok(())
}

#[test]
fn edits_a_server_in_an_editor_beside_a_window() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    gatehouse.add_program()?;
    let copy = gatehouse.home().join("seen");
    let edit = |script: &str| -> Result<Child> {
        let editor = format!("cp \"$1\" '{}'; {script}; true", copy.display());
        let path = gatehouse.home().join("editor");
        fs::write(&path, format!("#!/bin/sh\n{editor}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        gatehouse.begin_in(&[("VISUAL", path.to_str().context("path")?)], &["servers", "edit", "local"])
    };
    let program = edit("sed -i 's/\"${kept:env.API_TOKEN}\"/\"new-credential\"/' \"$1\"")?;
    let (request, reply) = gatehouse.accept_one(program)?;
    let text = fs::read_to_string(&copy)?;
    ensure!(!text.contains(CREDENTIAL) && !text.contains("telling"), "{text}");
    let shown = request.to_string();
    ensure!(shown.contains("/env/API_TOKEN") && !shown.contains("/env/MODE"), "{request:#}");
    ensure!(!shown.contains("new-credential") && !reply.to_string().contains("new-credential"), "{reply:#}");
    let env = json!({ "API_TOKEN": "new-credential", "MODE": "telling-mode" });
    ensure!(gatehouse.config("local")?["transport"]["env"] == env);

    // Other arguments need all values anew that are hidden there.
    let anew = "s/\"${kept:env.API_TOKEN}\"/\"other-credential\"/; s/••••••/other-mode/";
    let program = edit(&format!("sed -i 's/--fast/--slow/; {anew}' \"$1\""))?;
    let (request, _) = gatehouse.accept_one(program)?;
    let shown = request.to_string();
    ensure!(
        shown.contains("--slow") && shown.contains("/env/MODE") && shown.contains("other-mode"),
        "{request:#}"
    );
    let config = gatehouse.config("local")?;
    let env = json!({ "API_TOKEN": "other-credential", "MODE": "other-mode" });
    ensure!(
        config["transport"]["env"] == env && config["transport"]["args"] == json!(["--slow"]),
        "{config:#}"
    );

    for (script, code, said_word) in [
        ("true", 0, "Nothing changed"),
        ("echo nonsense > \"$1\"", 1, "JSON"),
        ("sed -i 's/\"MODE\"/\"OTHER\"/' \"$1\"", 1, "env.OTHER"),
        ("sed -i 's/--slow/--fast/' \"$1\"", 1, "env.API_TOKEN"),
        ("sed -i 's/--slow/--fast/; s/\"${kept:env.API_TOKEN}\"/\"x\"/' \"$1\"", 1, "env.MODE"),
    ] {
        let output = edit(script)?.wait_with_output()?;
        ensure!(output.status.code() == Some(code), "{script}: {output:?}");
        ensure!(said(&output).contains(said_word), "{script}: {output:?}");
        ensure!(gatehouse.command("approvals.list", &json!({}))? == json!([]), "{script}");
    }
    ensure!(gatehouse.config("local")? == config);
    Ok(())
}

#[test]
fn gives_secrets_with_changed_settings() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    gatehouse.add_program()?;
    let secrets = gatehouse.home().join("secrets");
    fs::write(&secrets, "stored-credential\n")?;
    let program = Command::new("sh")
        .arg("-c")
        .arg("exec setsid --wait \"$0\" --json --data-dir \"$1\" servers set local 'env.API_TOKEN=${secret:T}' --secret-fd 3 3<\"$2\"")
        .arg(paths::program("gatehousectl")?)
        .arg(gatehouse.folder.path().join("data"))
        .arg(&secrets)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (request, reply) = gatehouse.accept_one(program)?;
    ensure!(fields(&request).iter().any(|(pointer, _)| *pointer == "/secrets/env/API_TOKEN"), "{request:#}");
    for text in [request.to_string(), reply.to_string()] {
        ensure!(!text.contains("stored-credential") && !text.contains(CREDENTIAL), "{text}");
    }
    // It is stored for this program as it is: any other variable would get it too.
    let output =
        gatehouse.begin(&["servers", "set", "local", "env.LD_PRELOAD=evil.so"])?.wait_with_output()?;
    ensure!(!output.status.success() && said(&output).contains("env/API_TOKEN"), "{output:?}");
    ensure!(gatehouse.config("local")?["transport"]["env"]["API_TOKEN"] == "${secret:T}");
    Ok(())
}

#[test]
fn reads_nothing_for_a_program_without_the_key() -> Result<()> {
    let gatehouse = WindowedGatehouse::start(NO_BUS)?;
    for words in [
        &["servers", "import", "cursor", "--list"][..],
        &["clients", "connect", "cursor", "--dry-run"],
        &["approvals", "list"],
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
