//! Servers that we did not write, each called through the gateway by a client that we did not
//! write.
#![allow(missing_docs, reason = "a test binary has no public items")]

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk, npm_server};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::places;
use serde_json::json;

fn everything(gatehouse: &Gatehouse) -> Result<()> {
    let script = npm_server("server-everything");
    gatehouse.ask(&[
        "servers",
        "add",
        "everything",
        "--",
        "node",
        script.to_str().context("path")?,
        "stdio",
    ])?;
    gatehouse.await_status("everything", "connected")?;
    Ok(())
}

#[test]
fn everything_over_stdio_with_progress() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    everything(&gatehouse)?;
    gatehouse.ask(&["policy", "auto-approve", "everything", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    for (sdk, revision) in [
        (Sdk::TypeScript, "2026-07-28"),
        (Sdk::TypeScript, "2025-11-25"),
        (Sdk::Python, "2026-07-28"),
        (Sdk::Python, "2025-11-25"),
    ] {
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let answer = client.call("echo", &json!({ "message": "through the gate" }))?;
        ensure!(answer.text() == "Echo: through the gate", "{sdk:?} {revision}: {answer:?}");
        let call = client.begin("trigger-long-running-operation", &json!({ "duration": 1, "steps": 4 }))?;
        let answer = client.finish(&call)?;
        ensure!(answer.is_ok(), "{sdk:?} {revision}: {answer:?}");
        let progress = client.progress_of(&call).len();
        ensure!(progress == 4, "{sdk:?} {revision}: {progress} of 4 progress notifications came through");
    }
    Ok(())
}

#[test]
fn everything_over_streamable_http() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = std::process::Command::new("node");
    command
        .arg(npm_server("server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stderr(std::process::Stdio::null());
    let _server = gatehouse_tests::lines::Lines::start("server-everything", &mut command)?;
    let deadline = std::time::Instant::now() + gatehouse_tests::lines::PATIENCE;
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(std::time::Instant::now() < deadline, "the server never listened");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let url = format!("http://127.0.0.1:{port}/mcp");
    gatehouse.ask(&["servers", "add", "remote", "--url", &url])?;
    gatehouse.await_status("remote", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "remote", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let answer = client.call("get-sum", &json!({ "a": 2, "b": 40 }))?;
    ensure!(answer.text().contains("42"), "{answer:?}");
    let call = client.begin("trigger-long-running-operation", &json!({ "duration": 1, "steps": 3 }))?;
    ensure!(client.finish(&call)?.is_ok(), "the long operation failed");
    ensure!(client.progress_of(&call).len() == 3, "progress was lost");
    Ok(())
}

#[test]
fn time_from_pypi() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let python = places::python()?;
    let python = python.to_str().context("path")?;
    gatehouse.ask(&["servers", "add", "clock", "--", python, "-m", "mcp_server_time"])?;
    gatehouse.await_status("clock", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "clock", "all"])?;
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::Python, "2025-11-25", &gatehouse.endpoint, Some(&token))?;
    let answer = client.call("get_current_time", &json!({ "timezone": "Europe/Zurich" }))?;
    ensure!(answer.is_ok() && answer.text().contains("Europe/Zurich"), "{answer:?}");
    Ok(())
}

#[test]
fn the_built_in_servers_need_no_runtime() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let folder = gatehouse.folder("shared")?;
    std::fs::write(folder.join("hello.txt"), "hello")?;
    gatehouse.ask(&[
        "servers",
        "add",
        "folder",
        "--builtin",
        "files",
        "--folder",
        folder.to_str().context("path")?,
    ])?;
    for name in ["time", "notes", "folder"] {
        let servers = gatehouse.ask(&["servers", "list"])?;
        let found = servers
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|server| server["config"]["name"].as_str())
            .find(|found| found.eq_ignore_ascii_case(name))
            .with_context(|| format!("no {name} in {servers:#}"))?
            .to_owned();
        gatehouse.await_status(&found, "connected")?;
        gatehouse.ask(&["policy", "auto-approve", &found, "all"])?;
    }
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let read = client.call("read_file", &json!({ "path": "hello.txt" }))?;
    ensure!(read.is_ok() && read.text().contains("hello"), "{read:?}");
    let outside = client.call("read_file", &json!({ "path": "../data/servers.json" }))?;
    ensure!(outside.is_tool_error(), "a path outside the folder was read: {outside:?}");
    let time = client.call("current_time", &json!({ "timezone": "Asia/Tokyo" }))?;
    ensure!(time.is_ok() && time.text().contains("Tokyo"), "{time:?}");
    ensure!(client.call("add_note", &json!({ "text": "milk" }))?.is_ok(), "no note was added");
    ensure!(client.call("search_notes", &json!({ "query": "milk" }))?.text().contains("milk"), "not found");
    Ok(())
}
