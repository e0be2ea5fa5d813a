//! Arguments of clients and answers of servers pass through unchanged, byte for byte.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{http, paths};

fn with_fixture(
    transport: &str,
) -> Result<(Gatehouse, String, std::path::PathBuf, Option<gatehouse_tests::child_process::ChildProcess>)> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("messages");
    let server = paths::program("fixture-server")?;
    let server = server.to_str().context("path")?;
    let log_path = log.to_str().context("path")?;
    let mut child = None;
    if transport == "stdio" {
        gatehouse.ask(&["servers", "add", "raw", "--", server, "--log", log_path])?;
    } else {
        let mut command = std::process::Command::new(server);
        command.args(["--http", "0", "--log", log_path]);
        let mut lines = gatehouse_tests::child_process::ChildProcess::start("fixture-server", &mut command)?;
        let ready: serde_json::Value = serde_json::from_str(&lines.next_line()?)?;
        gatehouse.ask(&["servers", "add", "raw", "--url", ready["url"].as_str().context("url")?])?;
        child = Some(lines);
    }
    gatehouse.await_status("raw", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("bytes")?;
    Ok((gatehouse, token, log, child))
}

/// Unknown members, nulls, numbers beyond 64 bits, unusual key order and white space.
const ODD: &str = r#"{"z":12345678901234567890,"a":null,"m":{"y":-0.10e+05,"b":[1,  2,null],"":"empty"},"e":1E400,"u":"\u00e9\ud83d\ude00/\/"}"#;

fn arguments_come_through(transport: &str) -> Result<()> {
    let (gatehouse, token, log, _child) = with_fixture(transport)?;
    let answer = http::stateless_request(
        &gatehouse.endpoint,
        &token,
        "tools/call",
        &format!(r#""name":"echo","arguments":{ODD}"#),
    )?;
    ensure!(answer.status == 200, "{answer:?}");
    ensure!(answer.body.contains(ODD), "the result was re-written: {}", answer.body);
    let received = fs::read_to_string(&log)?;
    ensure!(received.contains(&format!(r#""arguments":{ODD}"#)), "the arguments were re-written: {received}");
    Ok(())
}

#[test]
fn preserves_bytes_over_stdio() -> Result<()> {
    arguments_come_through("stdio")
}

#[test]
fn preserves_bytes_over_http() -> Result<()> {
    arguments_come_through("http")
}

#[test]
fn preserves_odd_result_bytes() -> Result<()> {
    for transport in ["stdio", "http"] {
        let (gatehouse, token, _log, _child) = with_fixture(transport)?;
        let through = http::stateless_request(
            &gatehouse.endpoint,
            &token,
            "tools/call",
            r#""name":"odd","arguments":{}"#,
        )?;
        ensure!(
            through.body.contains(gatehouse_tests::fixture::ODD_RESULT_MEMBERS),
            "{transport}: the odd result was re-written: {}",
            through.body
        );
    }
    Ok(())
}

#[test]
fn lists_ten_thousand_tools_with_raw_schemas() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let server = paths::program("fixture-server")?;
    gatehouse.ask(&[
        "servers",
        "add",
        "raw",
        "--",
        server.to_str().context("path")?,
        "--fault",
        "many-tools",
    ])?;
    gatehouse.await_status("raw", "connected")?;
    let token = gatehouse.add_client("bytes")?;
    let mut cursor = String::new();
    let mut names = std::collections::BTreeSet::new();
    loop {
        let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/list", &cursor)?;
        ensure!(answer.status == 200, "{}", answer.head);
        let page: serde_json::Value = serde_json::from_str(&answer.body)?;
        for tool in page["result"]["tools"].as_array().context("tools")? {
            let name = tool["name"].as_str().context("name")?;
            ensure!(names.insert(name.to_owned()), "{name} is listed twice");
            ensure!(name.len() <= 64, "{name} is too long");
        }
        match page["result"].get("nextCursor") {
            Some(next) => cursor = format!(r#""cursor":{next}"#),
            None => break,
        }
    }
    ensure!(names.len() >= 10_000, "only {} tools", names.len());
    Ok(())
}
