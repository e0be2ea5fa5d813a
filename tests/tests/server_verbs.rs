//! The verbs of `gatehousectl servers` that change how a server runs and what its settings are, and its log (CTL-1).

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

const LITERAL: &str = "literal-credential-1";

fn server(gatehouse: &Gatehouse, name: &str) -> Result<Value> {
    let servers = gatehouse.ask(&["servers", "list"])?;
    let found = servers.as_array().into_iter().flatten().find(|server| server["config"]["name"] == name);
    Ok(found.with_context(|| format!("{name} is not in {servers:#}"))?.clone())
}

/// Adds a server with a credential in plain text, which runs until it is stopped.
fn add_sleeper(gatehouse: &Gatehouse) -> Result<()> {
    let env = format!("API_TOKEN={LITERAL}");
    let words = ["servers", "add", "sleeper", "--disabled", "--env", &env, "--env", "MODE=a"];
    gatehouse.ask(&[&words[..], &["--", "sleep", "600"]].concat())?;
    Ok(())
}

fn env(gatehouse: &Gatehouse) -> Result<Value> {
    Ok(server(gatehouse, "sleeper")?["config"]["transport"]["env"].clone())
}

/// An editor: a script that gets the file as `$1`.
fn editor(gatehouse: &Gatehouse, script: &str) -> Result<PathBuf> {
    let path = gatehouse.folder("editor")?.join("editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(path)
}

fn edit(gatehouse: &Gatehouse, script: &str) -> Result<Output> {
    let editor = editor(gatehouse, script)?;
    let editor = editor.to_str().context("path")?;
    gatehouse.operator_in(("VISUAL", editor), &["servers", "edit", "sleeper", "--yes"])
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether a server may run and whether it starts by itself are two settings.
#[test]
fn disabled_and_started_when_needed_are_settings_of_their_own() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    // Anyone may stop a server for good; only the operator may let it run again.
    ensure!(gatehouse.run_unprivileged(&["servers", "disable", "Notes"])?.status.success());
    gatehouse.await_status("Notes", "disabled")?;
    ensure!(server(&gatehouse, "Notes")?["config"]["autostart"] == true);
    gatehouse.ask(&["servers", "enable", "Notes"])?;
    gatehouse.await_status("Notes", "connected")?;

    gatehouse.ask(&["servers", "set", "Notes", "autostart=false"])?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["servers", "disable", "Notes"])?;
    gatehouse.await_status("Notes", "disabled")?;
    gatehouse.ask(&["servers", "enable", "Notes"])?;
    gatehouse.await_status("Notes", "stopped")?;
    let shown = gatehouse.run_as_operator(&["servers", "list"])?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    ensure!(
        shown.lines().any(|line| line.starts_with("Notes") && line.contains("starts when needed")),
        "{shown}"
    );
    let file = fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    let file: Value = serde_json::from_str(&file)?;
    ensure!(file.to_string().contains(r#""autostart":false"#), "{file:#}");
    Ok(())
}

/// Whatever lets a server run, or changes what it is, needs the operator key.
#[test]
fn changing_a_server_needs_operator_key() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    ensure!(gatehouse.run_unprivileged(&["servers", "disable", "Notes"])?.status.success());
    let before = server(&gatehouse, "Notes")?["config"].clone();
    for words in [
        &["servers", "enable", "Notes"][..],
        &["servers", "set", "Notes", "enabled=true"],
        &["servers", "set", "Notes", "autostart=false"],
        &["servers", "edit", "Notes", "--yes"],
    ] {
        let output = gatehouse.run_unprivileged(words)?;
        ensure!(output.status.code() == Some(4), "{words:?}: {output:?}");
    }
    ensure!(server(&gatehouse, "Notes")?["config"] == before);
    Ok(())
}

#[test]
fn sets_single_settings_and_keeps_credentials() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add_sleeper(&gatehouse)?;
    let set = |words: &[&str]| gatehouse.run_as_operator(&[&["servers", "set", "sleeper"], words].concat());
    let output = set(&[
        "description=Sleeps",
        "limits.callSecs=none",
        "limits.strict=true",
        "env.MODE=b",
        "--unset",
        "group",
    ])?;
    ensure!(output.status.success(), "{output:?}");
    let said = stderr(&output);
    ensure!(said.contains("/env/MODE") && said.contains("\"b\"") && !said.contains(LITERAL), "{said}");
    let config = server(&gatehouse, "sleeper")?["config"].clone();
    ensure!(config["look"]["description"] == "Sleeps" && config["limits"]["strict"] == true, "{config:#}");
    ensure!(config["limits"]["callSecs"] == Value::Null, "{config:#}");
    ensure!(env(&gatehouse)? == json!({ "API_TOKEN": LITERAL, "MODE": "b" }), "{config:#}");

    for (words, code, named) in [
        (&["args=x"][..], 2, "args"),
        (&["enabled=perhaps"], 2, "enabled"),
        (&["limits.connectSecs=soon"], 2, "limits.connectSecs"),
        (&["--unset", "name"], 2, "name"),
        (&[], 2, "KEY=VALUE"),
        (&["url=https://x.example/"], 1, "url"),
        (&["limits.connectSecs=0"], 1, "limits.connectSecs"),
        (&["name=Notes"], 1, "name"),
        (&["cwd=${kept:cwd}", "env.OTHER=${kept:env/API_TOKEN}"], 1, "env.OTHER"),
        // A credential stays with its program, unless it is given again.
        (&["command=cat"], 1, "env.API_TOKEN"),
        (&["cwd=/tmp"], 1, "env.API_TOKEN"),
        (&["command=cat", "env.API_TOKEN=${kept:env/API_TOKEN}"], 1, "env.API_TOKEN"),
    ] {
        let output = set(words)?;
        ensure!(output.status.code() == Some(code), "{words:?}: {output:?}");
        ensure!(stderr(&output).contains(named), "{words:?}: {output:?}");
    }
    ensure!(server(&gatehouse, "sleeper")?["config"] == config, "a refused change changed something");
    let given = set(&["cwd=/tmp", "env.API_TOKEN=another-credential"])?;
    ensure!(given.status.success(), "{given:?}");
    ensure!(env(&gatehouse)?["API_TOKEN"] == "another-credential");
    gatehouse.ask(&["servers", "set", "sleeper", "name=other", "enabled=true"])?;
    gatehouse.await_status("other", "connecting")?;
    Ok(())
}

#[test]
fn edits_settings_in_editor_without_showing_credentials() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add_sleeper(&gatehouse)?;
    let copy = gatehouse.folder("seen")?.join("text");
    let copy_to = format!("cp \"$1\" '{}'; stat -c %a \"$1\" >> '{}'", copy.display(), copy.display());
    let output = edit(&gatehouse, &format!("{copy_to}; sed -i 's/\"a\"/\"b\"/' \"$1\""))?;
    ensure!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(&copy)?;
    ensure!(text.contains("${kept:env/API_TOKEN}") && !text.contains(LITERAL), "{text}");
    ensure!(text.trim_end().ends_with("600"), "others can read the file: {text}");
    let said = stderr(&output);
    ensure!(said.contains("/env/MODE") && !said.contains(LITERAL), "{said}");
    let config = server(&gatehouse, "sleeper")?["config"].clone();
    ensure!(env(&gatehouse)? == json!({ "API_TOKEN": LITERAL, "MODE": "b" }), "{config:#}");

    for (script, code, said) in [
        ("sed -i 's/\"command\"/\"comand\"/' \"$1\"", 1, "command"),
        ("echo nonsense > \"$1\"", 1, "JSON"),
        // A placeholder is for one field.
        ("sed -i 's/\"MODE\": \"b\"/\"MODE\": \"${kept:env\\/API_TOKEN}\"/' \"$1\"", 1, "env.MODE"),
        // And for one program.
        ("sed -i 's/\"sleep\"/\"cat\"/' \"$1\"", 1, "env.API_TOKEN"),
        ("sed -i 's/600/601/' \"$1\"", 1, "env.API_TOKEN"),
        ("exit 1", 1, "failed"),
        ("true", 0, "Nothing changed"),
    ] {
        let output = edit(&gatehouse, script)?;
        ensure!(output.status.code() == Some(code), "{script}: {output:?}");
        ensure!(stderr(&output).contains(said), "{script}: {output:?}");
    }
    ensure!(server(&gatehouse, "sleeper")?["config"] == config, "a refused change changed something");
    let unconfirmed = gatehouse.run_as_operator(&["servers", "edit", "sleeper"])?;
    ensure!(unconfirmed.status.code() == Some(2), "{unconfirmed:?}");

    // At a terminal the change is shown and has to be confirmed.
    let editor = editor(&gatehouse, "sed -i 's/\"b\"/\"c\"/' \"$1\"")?;
    for (typed, mode) in [("", "b"), ("y", "c")] {
        let visual = ("VISUAL", editor.to_str().context("path")?);
        let mut terminal = gatehouse.begin_at_terminal_in(visual, &["servers", "edit", "sleeper"])?;
        let shown = terminal.wait_for("Change sleeper? (y/N)")?;
        ensure!(shown.contains("after:  \"c\""), "{shown}");
        terminal.write_line(typed)?;
        ensure!(terminal.wait()?.success() == (typed == "y"));
        let config = server(&gatehouse, "sleeper")?["config"].clone();
        ensure!(config["transport"]["env"]["MODE"] == mode, "{typed}: {config:#}");
    }
    Ok(())
}

/// Ctrl+C cancels the command in Gatehouse too: the program that a test started ends.
#[test]
fn interrupting_a_test_ends_its_process() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let pid_file = gatehouse.folder("silent")?.join("pid");
    let script = format!("echo $$ > '{}'; exec sleep 600", pid_file.display());
    let mut terminal =
        gatehouse.begin_at_terminal(&["servers", "test", "silent", "--", "sh", "-c", &script])?;
    let pid = eventually("the process", || {
        let text = fs::read_to_string(&pid_file).unwrap_or_default();
        Ok(if text.ends_with('\n') { Ok(text.trim().to_owned()) } else { Err(text) })
    })?;
    terminal.interrupt()?;
    terminal.wait_for("gatehousectl: Cancelled by Ctrl+C.")?;
    let status = terminal.wait()?;
    ensure!(status.code() == Some(130), "{status}");
    eventually_holds("the process to end", || {
        Ok(!Command::new("kill").args(["-0", &pid]).stderr(Stdio::null()).status()?.success())
    })
}

/// Whether a line of a log begins with its time, to the second, and the server's name.
fn has_time_and_server(line: &str, server: &str) -> bool {
    let mut parts = line.split("  ");
    let time = parts.next().unwrap_or_default();
    let digits = time.chars().filter(char::is_ascii_digit).count();
    digits == 14 && time.matches(':').count() == 2 && parts.next() == Some(server)
}

#[test]
fn follows_logs_until_interrupted_or_nobody_reads() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let fifo = gatehouse.folder("log")?.join("words");
    ensure!(Command::new("mkfifo").arg(&fifo).status()?.success());
    let script =
        format!("echo first >&2; while read -r line < '{}'; do echo \"$line\" >&2; done", fifo.display());
    gatehouse.ask(&["servers", "add", "talking", "--", "sh", "-c", &script])?;
    eventually("the first line", || {
        let log = gatehouse.ask(&["servers", "log", "talking"])?;
        Ok(log.as_array().filter(|lines| !lines.is_empty()).map(|_| ()).ok_or_else(|| log.to_string()))
    })?;
    let last = gatehouse.run_unprivileged(&["servers", "log", "talking"])?;
    let last = String::from_utf8(last.stdout)?;
    let line = last.lines().find(|line| line.ends_with("first")).context("no first line")?;
    ensure!(has_time_and_server(line, "talking"), "{line}");
    let named = gatehouse.ask(&["servers", "log", "talking"])?;
    ensure!(named[0]["name"] == "talking" && named[0]["at"].is_number(), "{named:#}");
    let mut all = gatehouse.begin(&["servers", "log", "--follow"])?;
    let line = all.wait_for_line(|line| line.ends_with("first"))?;
    ensure!(has_time_and_server(&line, "talking"), "{line}");
    let mut one = gatehouse.begin(&["--json", "servers", "log", "-f", "talking"])?;
    one.wait_for_line(|line| line.contains("first"))?;
    fs::write(&fifo, "second\n")?;
    ensure!(has_time_and_server(&all.wait_for_line(|line| line.ends_with("second"))?, "talking"));
    let line: Value = serde_json::from_str(&one.wait_for_line(|line| line.contains("second"))?)?;
    ensure!(line["name"] == "talking" && line["text"] == "second" && line["source"] == "stderr", "{line}");
    for follower in [&mut all, &mut one] {
        follower.signal("INT")?;
        ensure!(follower.wait()?.success(), "Ctrl+C is no error");
    }

    // A reader that goes ends it at once, and not only with the next line. No key is needed.
    let mut follower = Command::new(paths::program("gatehousectl")?)
        .arg("--data-dir")
        .arg(gatehouse.data_dir())
        .args(["servers", "log", "--follow", "talking"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(follower.stdout.take().context("stdout")?).read_line(&mut line)?;
    ensure!(line.contains("first"), "{line}");
    let status = eventually("the end of the follower", || Ok(follower.try_wait()?.ok_or("it runs")))?;
    ensure!(status.success(), "{status}");

    let unknown = gatehouse.run_unprivileged(&["servers", "log", "--follow", "nobody"])?;
    ensure!(unknown.status.code() == Some(1), "{unknown:?}");
    Ok(())
}

#[test]
fn lists_tools_of_one_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let tools = gatehouse.ask(&["tools", "list", "Notes"])?;
    ensure!(tools == gatehouse.ask(&["tools", "list", "--server", "Notes"])?, "{tools:#}");
    let is_of_notes = |tool: &Value| tool["serverName"] == "Notes";
    ensure!(
        tools.as_array().is_some_and(|tools| !tools.is_empty() && tools.iter().all(is_of_notes)),
        "{tools:#}"
    );
    for words in [&["tools", "list", "nobody"][..], &["tools", "omitted", "nobody"]] {
        ensure!(gatehouse.run_as_operator(words)?.status.code() == Some(1), "{words:?}");
    }
    Ok(())
}
