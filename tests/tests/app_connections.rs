//! Connecting AI applications (UI-6): the entry in an application's settings is started as the application would, with
//! nothing else given, and Disconnect leaves no trace.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::bridge::{Bridge, tool_names};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::window::Desktop;
use serde_json::{Value, json};

/// An address at which no bus is.
const NO_BUS: &str = "unix:path=/nonexistent/bus";

/// What one application has before it is connected, and how its entry is read.
struct Case {
    app: &'static str,
    file: &'static str,
    before: Option<&'static str>,
    /// The words that start the server.
    words: fn(&str) -> Result<Vec<String>>,
}

const CASES: [Case; 6] = [
    Case {
        app: "cursor",
        file: ".cursor/mcp.json",
        before: Some("{\n\t\"mcpServers\": {\n\t\t\"a\": { \"command\": \"a\" }\n\t}\n}"),
        words: |text| json_words(text, "/mcpServers/gatehouse"),
    },
    Case {
        app: "claude-code",
        file: ".claude.json",
        before: None,
        words: |text| json_words(text, "/mcpServers/gatehouse"),
    },
    Case {
        app: "vscode",
        file: ".config/Code/User/mcp.json",
        before: Some("{\r\n  \"inputs\": []\r\n}\r\n"),
        words: |text| json_words(text, "/servers/gatehouse"),
    },
    Case {
        app: "opencode",
        file: ".config/opencode/opencode.json",
        before: None,
        words: |text| json_words(text, "/mcp/gatehouse"),
    },
    Case {
        app: "codex",
        file: ".codex/config.toml",
        before: Some("# Mine\nmodel = \"m\"\n"),
        words: |text| {
            let value = |key: &str| -> Result<Value> {
                let line = text.lines().find_map(|line| line.strip_prefix(key)).context("no such line")?;
                Ok(serde_json::from_str(line)?)
            };
            words_of(&value("command = ")?, &value("args = ")?)
        },
    },
    Case {
        app: "continue",
        file: ".continue/config.yaml",
        before: Some("name: Mine\nversion: 1.0.0\nschema: v1\n"),
        words: |text| {
            let lines = || text.lines().map(str::trim);
            let program = lines().find_map(|line| line.strip_prefix("command: ")).context("no command")?;
            let items = lines().filter_map(|line| line.strip_prefix("- \""));
            let arguments = items.map(|item| serde_json::from_str(&format!("\"{item}")));
            let arguments = arguments.collect::<serde_json::Result<Vec<Value>>>()?;
            words_of(&serde_json::from_str(program)?, &Value::from(arguments))
        },
    },
];

fn json_words(text: &str, entry: &str) -> Result<Vec<String>> {
    let settings: Value = serde_json::from_str(text)?;
    let entry = settings.pointer(entry).with_context(|| format!("no entry in {text}"))?;
    match &entry["command"] {
        Value::Array(_) => words_of(&Value::Null, &entry["command"]),
        program => words_of(program, &entry["args"]),
    }
}

fn words_of(program: &Value, arguments: &Value) -> Result<Vec<String>> {
    let arguments = arguments.as_array().context("no arguments")?;
    let all = std::iter::once(program).filter(|program| !program.is_null()).chain(arguments);
    all.map(|word| Ok(word.as_str().context("no text")?.to_owned())).collect()
}

fn app_view(gatehouse: &Gatehouse, app: &str) -> Result<Value> {
    let apps = gatehouse.ask(&["clients", "apps"])?;
    apps.as_array()
        .into_iter()
        .flatten()
        .find(|view| view["app"] == app)
        .cloned()
        .context("no such application")
}

fn clients(gatehouse: &Gatehouse) -> Result<usize> {
    Ok(gatehouse.ask(&["clients", "list"])?.as_array().context("no list")?.len())
}

fn content(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}

#[test]
fn written_entries_start_a_bridge_and_go_without_a_trace() -> Result<()> {
    let desktop = Desktop::start()?;
    let (gatehouse, home) = Gatehouse::start_for_user(desktop.bus())?;
    gatehouse.await_status("Time", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
    for Case { app, file, before, words } in CASES {
        let file = home.join(file);
        if let Some(before) = before {
            fs::create_dir_all(file.parent().context("no folder")?)?;
            fs::write(&file, before)?;
        }
        let preview = gatehouse.ask(&["clients", "connect", app, "--dry-run"])?;
        ensure!(content(&file).as_deref() == before, "{app}: the preview wrote");
        ensure!(
            preview["files"][0]["lines"].as_array().is_some_and(|lines| !lines.is_empty()),
            "{preview:#}"
        );

        let connected = gatehouse.ask(&["clients", "connect", app])?;
        let name = connected["client"]["name"].as_str().context("no client")?.to_owned();
        let text = content(&file).context("nothing was written")?;
        let entry = words(&text).with_context(|| format!("{app}: {text}"))?;
        ensure!(Path::new(&entry[0]).is_absolute(), "{app}: {entry:?}");
        let start =
            || -> Result<Bridge> { Bridge::run(desktop.command(Path::new(&entry[0])).args(&entry[1..])) };
        let mut bridge = start()?;
        bridge.initialize(&json!({}))?;
        bridge.request(1, "tools/list", &json!({}))?;
        let tools = tool_names(&bridge.answer(1)?)?;
        let tool =
            tools.iter().find(|tool| tool.contains("current_time")).with_context(|| format!("{tools:?}"))?;
        bridge.request(2, "tools/call", &json!({ "name": tool, "arguments": {} }))?;
        let answer = bridge.answer(2)?;
        ensure!(answer["result"].is_object(), "{app}: {answer:#}");
        let view = eventually(format!("the call of {app}"), || {
            let view = app_view(&gatehouse, app)?;
            Ok(if view["lastCall"].is_number() { Ok(view) } else { Err(view.to_string()) })
        })?;
        ensure!(view["state"] == "connected" && view["client"]["name"] == name.as_str(), "{view:#}");
        ensure!(bridge.close()?.success(), "{app}: the bridge failed");

        let rotated = gatehouse.ask(&["clients", "rotate", &name])?;
        ensure!(rotated["isKept"] == true, "{app}: the bridge would not find the new token");
        let mut bridge = start()?;
        bridge.initialize(&json!({}))?;
        ensure!(bridge.close()?.success(), "{app}: the bridge failed with the new token");
        let again = gatehouse.run_as_operator(&["clients", "connect", app])?;
        ensure!(!again.status.success(), "{app} was connected twice");

        gatehouse.ask(&["clients", "disconnect", app])?;
        ensure!(content(&file).as_deref() == before, "{app}: {:?}", content(&file));
        ensure!(app_view(&gatehouse, app)?["state"] == "not_connected", "{app} is still connected");
        ensure!(start()?.process.wait()?.code() == Some(1), "{app}: the token is still in the keychain");
    }
    ensure!(clients(&gatehouse)? == 0, "a client is left");
    Ok(())
}

/// The application's own rule goes into its own file, and out of it.
#[test]
fn allow_rule_comes_and_goes_with_the_connection() -> Result<()> {
    let desktop = Desktop::start()?;
    let (gatehouse, home) = Gatehouse::start_for_user(desktop.bus())?;
    let file = home.join(".claude/settings.json");
    fs::create_dir_all(home.join(".claude"))?;
    let before = "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}\n";
    fs::write(&file, before)?;
    gatehouse.ask(&["clients", "connect", "claude-code", "--allow-rule"])?;
    let rules: Value = serde_json::from_str(&content(&file).context("no file")?)?;
    ensure!(rules["permissions"]["allow"] == json!(["Bash(ls)", "mcp__gatehouse"]), "{rules:#}");

    // Claude Code writes its state in between: only Gatehouse's entry goes.
    let state = home.join(".claude.json");
    let mut changed: Value = serde_json::from_str(&content(&state).context("no file")?)?;
    changed["numStartups"] = json!(1);
    fs::write(&state, changed.to_string())?;
    ensure!(
        app_view(&gatehouse, "claude-code")?["state"] == "connected",
        "a changed file is still connected"
    );
    let done = gatehouse.ask(&["clients", "disconnect", "claude-code"])?;
    ensure!(done["files"][0]["how"] == "entry_removed" && done["files"][1]["how"] == "restored", "{done:#}");
    let left: Value = serde_json::from_str(&content(&state).context("no file")?)?;
    ensure!(left == json!({ "numStartups": 1 }), "{left:#}");
    ensure!(content(&file).as_deref() == Some(before), "the rule is left");

    let none = gatehouse.run_as_operator(&["clients", "connect", "vscode", "--allow-rule"])?;
    ensure!(!none.status.success() && clients(&gatehouse)? == 0, "VS Code has no such rule");
    Ok(())
}

/// Whatever fails, nothing is left half done.
#[test]
fn failed_connections_change_nothing() -> Result<()> {
    let (gatehouse, home) = Gatehouse::start_for_user(NO_BUS)?;
    let file = home.join(".cursor/mcp.json");
    fs::create_dir_all(home.join(".cursor"))?;
    for before in ["{}\n", "{ \"mcpServers\": [] }", "{ \"mcpServers\": "] {
        fs::write(&file, before)?;
        // There is no keychain for the token, or no place for the entry.
        let output = gatehouse.run_as_operator(&["clients", "connect", "cursor"])?;
        ensure!(!output.status.success(), "{output:?}");
        ensure!(content(&file).as_deref() == Some(before), "{before}: {:?}", content(&file));
        ensure!(clients(&gatehouse)? == 0, "{before}: a client is left");
        ensure!(app_view(&gatehouse, "cursor")?["state"] == "not_connected", "{before}: it is connected");
    }
    ensure!(!app_view(&gatehouse, "cursor")?["problem"].is_null(), "a broken file is not named");

    fs::write(&file, "{}\n")?;
    let refused = gatehouse.run_unprivileged(&["clients", "connect", "cursor"])?;
    ensure!(refused.status.code() == Some(4), "{refused:?}");
    let other = json!({ "app": "cursor", "allowRule": false, "fingerprint": "0".repeat(64) });
    ensure!(
        gatehouse.command("clients.connect", &other).is_err(),
        "another change than the one shown was made"
    );
    ensure!(!gatehouse.run_as_operator(&["clients", "disconnect", "cursor"])?.status.success());
    ensure!(content(&file).as_deref() == Some("{}\n"), "the file was changed");
    Ok(())
}

/// What people and applications do to a connection by hand is shown.
#[test]
fn shows_what_became_of_a_connection() -> Result<()> {
    let desktop = Desktop::start()?;
    let (gatehouse, home) = Gatehouse::start_for_user(desktop.bus())?;
    let state = || -> Result<String> {
        Ok(app_view(&gatehouse, "cursor")?["state"].as_str().context("no state")?.to_owned())
    };
    ensure!(app_view(&gatehouse, "cursor")?["isInstalled"] == false, "there is no Cursor");
    fs::create_dir_all(home.join(".cursor"))?;
    let file = home.join(".cursor/mcp.json");
    fs::write(&file, "{ \"mcpServers\": { \"gatehouse\": { \"url\": \"http://127.0.0.1:1/mcp\" } } }")?;
    let view = app_view(&gatehouse, "cursor")?;
    ensure!(view["isInstalled"] == true && view["hasForeignEntry"] == true, "{view:#}");
    fs::write(&file, "{}")?;

    gatehouse.ask(&["clients", "add", "Cursor"])?;
    let connected = gatehouse.ask(&["clients", "connect", "cursor"])?;
    ensure!(connected["client"]["name"] == "Cursor 2" && state()? == "connected", "{connected:#}");
    gatehouse.ask(&["clients", "revoke", "Cursor 2"])?;
    ensure!(state()? == "revoked", "{}", state()?);
    let written = content(&file).context("no file")?;
    fs::write(&file, written.replace("bridge", "other"))?;
    ensure!(state()? == "changed_by_hand", "{}", state()?);
    gatehouse.ask(&["clients", "disconnect", "cursor"])?;
    let left: Value = serde_json::from_str(&content(&file).context("no file")?)?;
    ensure!(left == json!({}) && state()? == "not_connected", "{left:#}");
    ensure!(clients(&gatehouse)? == 1, "only the client that the user added is left");
    Ok(())
}
