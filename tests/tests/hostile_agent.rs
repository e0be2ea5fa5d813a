//! An agent that runs as the same user tries to extend its own permissions: it runs the commands that a
//! person runs, connects to open sockets, and uses credentials it once had. Each test states what the
//! agent tried and what stopped it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::Command;

use anyhow::{Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http, paths};
use serde_json::{Value, json};

/// Tried: every command that widens the agent's permissions. Stopped by: the operator key, which the
/// agent does not have.
#[test]
fn rejects_cli_commands_without_operator_key() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.add_client("agent")?;
    for words in [
        &["servers", "add", "evil", "--", "sh"][..],
        &["clients", "add", "twin"],
        &["policy", "auto-approve", "Notes", "all"],
        &["policy", "grant", "Notes", "--tool", "add_note"],
        &["servers", "trust-labels", "Notes"],
        &["tools", "classify", "Notes", "add_note", "read"],
        &["approvals", "list"],
        &["approvals", "watch"],
        &["resume"],
    ] {
        let output = gatehouse.run_unprivileged(words)?;
        ensure!(output.status.code() == Some(4), "{words:?} ended with {output:?}");
    }
    let rules = gatehouse.ask(&["policy", "show"])?;
    ensure!(rules["rules"].as_array().is_some_and(Vec::is_empty), "rules appeared: {rules:#}");
    Ok(())
}

/// Tried: to answer the approval request for its own call, as a command and on the socket, with the id
/// that the agent found out. Stopped by: the operator key.
#[test]
fn rejects_agent_answering_its_own_approval() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", r#"{"text":"mine"}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let id = question["id"].as_str().unwrap_or_default();
    for word in ["allow", "always-tool", "always-server"] {
        let output = gatehouse.run_unprivileged(&["approvals", "answer", id, word])?;
        ensure!(output.status.code() == Some(4), "{word} ended with {output:?}");
    }
    let answer = json!({ "answer": "allow", "choice": approvals::once_choice() });
    let args = json!({ "answers": [{ "id": id, "hash": question["request"]["hash"], "answer": answer }] });
    let stream = UnixStream::connect(gatehouse.data_dir().join("control.sock"))?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    for (key, code) in [(None, "not_permitted"), (Some(""), "bad_request"), (Some(&*token), "bad_request")] {
        let mut line = json!({ "id": 1, "command": "approvals.answer", "args": args });
        if let Some(key) = key {
            line["operatorKey"] = json!(key);
        }
        (&stream).write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        BufReader::new(stream.try_clone()?).read_line(&mut answer)?;
        let answer: Value = serde_json::from_str(&answer)?;
        ensure!(answer["problem"]["code"] == code, "{key:?}: {answer}");
    }
    ensure!(approvals::wait_for_pending(&gatehouse, 1)?[0]["id"] == id, "the question is gone");
    gatehouse.ask(&["approvals", "answer", id, "deny"])?;
    let end = call.end()?;
    ensure!(end.body.contains("user refused") || end.body.contains(r#""isError":true"#), "{end:?}");
    Ok(())
}

/// Tried: the control socket with no key, an empty one, and a guess. Stopped by: the socket's mode,
/// which keeps other users out, and the operator key.
#[test]
fn rejects_control_socket_requests_without_key() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let socket = gatehouse.data_dir().join("control.sock");
    let mode = fs::metadata(&socket)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "the socket's mode is {mode:o}");
    let stream = UnixStream::connect(&socket)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut ask = |line: &str| -> Result<Value> {
        (&stream).write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        reader.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    };
    for (key, code) in [("", "not_permitted"), (r#","operatorKey":"guess""#, "bad_request")] {
        let answer = ask(&format!(r#"{{"id":1,"command":"clients.add","args":{{"name":"x"}}{key}}}"#))?;
        ensure!(answer["problem"]["code"] == code, "{key}: {answer}");
    }
    let answer = ask(r#"{"id":2,"command":"no.such","args":{}}"#)?;
    ensure!(answer["problem"]["code"] == "bad_request", "{answer}");
    let answer = ask("this is not JSON")?;
    ensure!(answer["problem"]["code"] == "bad_request", "{answer}");
    Ok(())
}

/// Tried: a token that was rotated, one that was revoked, and both after a restart. Stopped by: the list
/// of clients, which contains the current token only.
#[test]
fn rejects_rotated_and_revoked_tokens() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let first = gatehouse.add_client("agent")?;
    let gone = gatehouse.add_client("gone")?;
    let status = |gatehouse: &Gatehouse, token: &str| -> Result<u16> {
        let params = r#""name":"add_note","arguments":{"text":"replayed"}"#;
        Ok(http::stateless_request(&gatehouse.endpoint, token, "tools/call", params)?.status)
    };
    ensure!(status(&gatehouse, &first)? == 200 && status(&gatehouse, &gone)? == 200, "no use at first");
    let second = gatehouse.ask(&["clients", "rotate", "agent"])?["token"].as_str().unwrap_or("").to_owned();
    gatehouse.ask(&["clients", "revoke", "gone"])?;
    for _ in 0..2 {
        ensure!(status(&gatehouse, &second)? == 200, "the present token is refused");
        for old in [&first, &gone] {
            ensure!(status(&gatehouse, old)? == 401, "an old token is taken");
        }
        gatehouse.stop()?;
        gatehouse.launch()?;
        gatehouse.await_status("Notes", "connected")?;
    }
    Ok(())
}

/// Tried: another `serve` on the folder in use, also with a new operator key. Stopped by: the lock of
/// the folder, which one process holds. The agent is not given a key, and the key of the running process
/// stays valid.
#[test]
fn rejects_second_serve_on_folder_in_use() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let key = gatehouse.folder("own")?.join("key");
    for more in ["", "--new-operator-key"] {
        let output = Command::new("/bin/sh")
            .arg("-c")
            .arg(r#"exec 3>"$OWN"; exec "$0" serve --data-dir "$DATA" --secrets memory --operator-key-fd 3 $MORE"#)
            .arg(paths::program("gatehousectl")?)
            .env("OWN", &key)
            .env("MORE", more)
            .env("DATA", gatehouse.data_dir())
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success() && said.contains("in use"), "{output:?}");
        ensure!(output.stdout.is_empty(), "{output:?}");
        ensure!(fs::read(&key)?.is_empty(), "it was told a key");
    }
    gatehouse.add_client("later")?;
    Ok(())
}

/// Tried: to continue after a pause, and to end it. Stopped by: the pause, which only the operator can
/// end.
#[test]
fn pause_blocks_calls_until_operator_resumes() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    ensure!(client.call("add_note", &json!({ "text": "one" }))?.is_ok(), "not allowed at first");
    ensure!(gatehouse.run_unprivileged(&["pause"])?.status.success(), "anyone may pause");
    let answer = client.call("add_note", &json!({ "text": "two" }))?;
    ensure!(answer.is_tool_error() && answer.text().contains("pause"), "{answer:?}");
    ensure!(gatehouse.run_unprivileged(&["resume"])?.status.code() == Some(4), "anyone may resume");
    gatehouse.ask(&["resume"])?;
    ensure!(client.call("add_note", &json!({ "text": "three" }))?.is_ok(), "still paused");
    Ok(())
}

/// Tried: to find a token, the key or a secret argument in the files. Stopped by: they are not written,
/// and every file is readable by its owner only.
#[test]
fn writes_no_secrets_to_files() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("agent")?;
    let key = gatehouse.operator_key()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let secret = "sk-live-0123456789abcdefghijklmnop";
    client.call("add_note", &json!({ "text": "a note", "api_key": secret }))?;
    eventually_holds("the record of the call with its arguments", || {
        Ok(gatehouse.ask(&["calls"])?.to_string().contains("a note"))
    })?;
    gatehouse.stop()?;
    let mut files = vec![gatehouse.data_dir()];
    let mut read = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            continue;
        }
        let mode = fs::symlink_metadata(&path)?.permissions().mode() & 0o777;
        ensure!(mode & 0o077 == 0, "{} is open to others: {mode:o}", path.display());
        let bytes = fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for (what, word) in
            [("the token", token.as_str()), ("the operator key", &key), ("a secret argument", secret)]
        {
            ensure!(!text.contains(word), "{what} stands in {}", path.display());
        }
        read += 1;
    }
    ensure!(read >= 3, "only {read} files were looked at");
    let stderr = gatehouse.stderr();
    ensure!(!stderr.contains(&token) && !stderr.contains(&key), "a secret was printed");
    Ok(())
}
