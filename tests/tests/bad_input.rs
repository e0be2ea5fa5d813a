//! Invalid input gives a clear error at the right place; no data is lost and nothing is left running.

use std::fs;
use std::net::TcpListener;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::http::{self, RawHttpResponse};
use gatehouse_tests::paths;
use serde_json::Value;

#[test]
fn broken_servers_file_falls_back_to_last_good_copy() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let file = gatehouse.data_dir().join("servers.json");
    gatehouse.stop()?;
    let good = fs::read_to_string(&file)?;
    let broken = good.replacen('{', "{ oops", 1);
    fs::write(&file, &broken)?;
    gatehouse.launch()?;
    ensure!(fs::read_to_string(&file)? == broken, "the broken file was overwritten");
    let said = gatehouse.problems()?;
    ensure!(said.contains("servers.json") && said.contains("line 1"), "it does not say where: {said}");
    gatehouse.await_status("Time", "connected")?;
    let refused = gatehouse.run_as_operator(&["servers", "add", "more", "--", "true"])?;
    ensure!(!refused.status.success(), "a server was added over a broken file");
    ensure!(fs::read_to_string(&file)? == broken, "the broken file was overwritten");
    Ok(())
}

#[test]
fn unknown_field_fails_only_its_entry() -> Result<()> {
    let gatehouse = Gatehouse::start_with(|data| {
        let file = r#"{"version":1,"mcpServers":{"typo":{"comand":"true"},"fine":{"type":"builtin","builtin":{"kind":"time"}}}}"#;
        fs::write(data.join("servers.json"), file)?;
        Ok(())
    })?;
    let said = gatehouse.problems()?;
    ensure!(said.contains("typo") && said.contains("comand") && said.contains("command"), "{said}");
    let kept = fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
    ensure!(kept.contains(r#""comand""#), "the entry was lost: {kept}");
    Ok(())
}

#[test]
fn entry_with_thousands_of_unknown_fields_is_one_short_problem() -> Result<()> {
    let fields: Vec<String> = (0..10_000).map(|index| format!(r#""colour{index}":1"#)).collect();
    let file = format!(
        r#"{{"version":1,"mcpServers":{{"odd":{{"command":"true",{}}},"odd too":{{"env":{{{}}},"command":"true"}}}}}}"#,
        fields.join(","),
        fields.join(","),
    );
    let mut gatehouse = Gatehouse::start_with(|data| Ok(fs::write(data.join("servers.json"), &file)?))?;
    for _ in 0..2 {
        let said = gatehouse.problems()?;
        ensure!(said.contains("“odd”") && said.contains("“odd too”"), "{said}");
        ensure!(said.contains("colour0") && !said.contains("colour20") && said.len() < 4000, "{said}");
        let kept = fs::read_to_string(gatehouse.data_dir().join("servers.json"))?;
        ensure!(kept.contains("colour9999"), "the entry was lost");
        gatehouse.stop()?;
        gatehouse.launch()?;
    }
    Ok(())
}

#[test]
fn rejects_newer_servers_file_unchanged() -> Result<()> {
    let newer = r#"{"version":99,"mcpServers":{}}"#;
    let gatehouse = Gatehouse::start_with(|data| Ok(fs::write(data.join("servers.json"), newer)?))?;
    ensure!(gatehouse.problems()?.contains("newer"), "{}", gatehouse.problems()?);
    let refused = gatehouse.run_as_operator(&["servers", "add", "more", "--", "true"])?;
    ensure!(!refused.status.success(), "a server was added to a file of a newer version");
    ensure!(fs::read_to_string(gatehouse.data_dir().join("servers.json"))? == newer, "it was changed");
    Ok(())
}

#[test]
fn reports_port_in_use() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let other = tempfile::tempdir()?;
    let output = std::process::Command::new(paths::program("gatehousectl")?)
        .args(["serve", "--secrets", "memory", "--listen", &address, "--data-dir"])
        .arg(other.path())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && output.stdout.is_empty(), "it started: {output:?}");
    ensure!(said.contains(&address) && said.contains("in use"), "{said}");
    drop(gatehouse);
    Ok(())
}

#[test]
fn rejects_second_owner_of_data_folder() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let output = std::process::Command::new(paths::program("gatehousectl")?)
        .args(["serve", "--secrets", "memory", "--data-dir"])
        .arg(gatehouse.data_dir())
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains("in use"), "{said}");
    ensure!(gatehouse.ask(&["status"])?["running"].as_u64() >= Some(1), "the first one suffered");
    Ok(())
}

#[test]
fn listens_only_on_loopback() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let output = std::process::Command::new(paths::program("gatehousectl")?)
        .args(["serve", "--secrets", "memory", "--listen", "0.0.0.0:0", "--data-dir"])
        .arg(folder.path())
        .output()?;
    ensure!(!output.status.success() && output.stdout.is_empty(), "it listened: {output:?}");
    ensure!(String::from_utf8_lossy(&output.stderr).contains("loopback"), "{output:?}");
    Ok(())
}

fn failed_status(gatehouse: &Gatehouse, words: &[&str]) -> Result<Value> {
    gatehouse.ask(words)?;
    gatehouse.await_status("odd", "failed")
}

#[test]
fn reports_missing_command() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let status = failed_status(&gatehouse, &["servers", "add", "odd", "--", "no-such-command-anywhere"])?;
    let said = status_text(&status["status"])?;
    ensure!(said.contains("no-such-command-anywhere") && said.contains("not found"), "{said}");
    ensure!(status["status"]["error"] == "configuration", "{status:#}");
    ensure!(status["status"]["nextRetry"].is_null(), "it is retried: {status:#}");
    Ok(())
}

#[test]
fn reports_server_that_prints_no_mcp() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let script = "while :; do echo 'Listening on port 3000 …'; done";
    let status = failed_status(&gatehouse, &["servers", "add", "odd", "--", "sh", "-c", script])?;
    let said = status_text(&status["status"])?;
    ensure!(said.contains("Listening on port 3000"), "it does not show what came: {said}");
    Ok(())
}

#[test]
fn reports_last_output_of_crashed_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let script = "echo 'API key is missing' >&2; exit 3";
    let status = failed_status(&gatehouse, &["servers", "add", "odd", "--", "sh", "-c", script])?;
    let said = status_text(&status["status"])?;
    ensure!(said.contains("API key is missing") && said.contains('3'), "{said}");
    Ok(())
}

const LIST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn list_with(gatehouse: &Gatehouse, more: &[(&str, &str)], body: &[u8]) -> Result<RawHttpResponse> {
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
    ];
    headers.extend_from_slice(more);
    http::post(&gatehouse.endpoint, &headers, body)
}

#[test]
fn rejects_bad_token_host_and_origin() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = format!("Bearer {}", gatehouse.add_client("right")?);
    let right = ("Authorization", token.as_str());
    let fine = list_with(&gatehouse, &[right], LIST)?;
    ensure!(fine.status == 200 && fine.body.contains("current_time"), "{fine:?}");

    for wrong in
        [&[][..], &[("Authorization", "Bearer nonsense")][..], &[("Authorization", "Basic eDp5")][..]]
    {
        let refused = list_with(&gatehouse, wrong, LIST)?;
        ensure!(refused.status == 401, "{refused:?}");
        ensure!(refused.head.to_ascii_lowercase().contains("www-authenticate: bearer"), "{refused:?}");
        ensure!(!refused.body.contains("current_time"), "tools without a token: {refused:?}");
    }
    for foreign in [("Host", "attacker.example"), ("Origin", "https://attacker.example"), ("Origin", "null")]
    {
        let refused = list_with(&gatehouse, &[right, foreign], LIST)?;
        ensure!(refused.status == 403, "{foreign:?}: {refused:?}");
    }
    gatehouse.ask(&["clients", "revoke", "right"])?;
    ensure!(list_with(&gatehouse, &[right], LIST)?.status == 401, "a revoked token works");
    Ok(())
}

#[test]
fn rejects_20_mib_request() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = format!("Bearer {}", gatehouse.add_client("big")?);
    let mut body = LIST.to_vec();
    body.extend(std::iter::repeat_n(b' ', 20 << 20));
    let refused = list_with(&gatehouse, &[("Authorization", token.as_str())], &body)?;
    ensure!(refused.status == 413, "{}", refused.head);
    ensure!(list_with(&gatehouse, &[("Authorization", token.as_str())], LIST)?.status == 200, "it suffered");
    Ok(())
}

#[test]
fn rejects_duplicate_keys_and_lone_surrogates() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("messages");
    let server = paths::program("fixture-server")?;
    let words = ["servers", "add", "raw", "--", server.to_str().context("path")?, "--log"];
    gatehouse.ask(&[&words[..], &[log.to_str().context("path")?]].concat())?;
    gatehouse.await_status("raw", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("sly")?;
    for (arguments, word) in [
        (r#"{"path":"/fine","path":"/etc/shadow"}"#, "path"),
        (r#"{"deep":[{"a":{"k":1,"\u006b":2}}]}"#, "deep"),
        (r#"{"text":"\ud800"}"#, "text"),
    ] {
        let params = format!(r#""name":"echo","arguments":{arguments}"#);
        let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", &params)?;
        ensure!(answer.body.contains("-32602") && answer.body.contains(word), "{arguments}: {}", answer.body);
    }
    let doubled = r#""name":"echo","arguments":{"a":"seen-once"},"arguments":{"a":"seen-twice"}"#;
    let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", doubled)?;
    ensure!(answer.body.contains(r#""error""#), "doubled arguments were taken: {}", answer.body);
    let received = fs::read_to_string(&log)?;
    ensure!(!received.contains("tools/call"), "one of them reached the server: {received}");
    Ok(())
}

fn fails_with(output: &Output, code: i32) -> bool {
    output.status.code() == Some(code)
}

#[test]
fn cli_rejects_unknown_arguments() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    ensure!(
        fails_with(&gatehouse.run_as_operator(&["servers", "frobnicate"])?, 2),
        "usage errors end with 2"
    );
    ensure!(
        fails_with(&gatehouse.run_as_operator(&["servers", "stop", "nobody"])?, 1),
        "no such server ends with 1"
    );
    let absent = tempfile::tempdir()?;
    let mut command = std::process::Command::new(paths::program("gatehousectl")?);
    let output = command.arg("--data-dir").arg(absent.path()).arg("status").output()?;
    ensure!(fails_with(&output, 3), "nothing running ends with 3: {output:?}");
    Ok(())
}

#[test]
fn failed_start_leaves_no_process() -> Result<()> {
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let folder = tempfile::tempdir()?;
    let mut command = std::process::Command::new(paths::program("gatehousectl")?);
    command.args(["serve", "--secrets", "memory", "--listen", &address, "--data-dir"]).arg(folder.path());
    let mut serve = ChildProcess::start("serve", &mut command)?;
    ensure!(!serve.wait()?.success(), "it started on a port in use");
    let free = std::process::Command::new(paths::program("gatehousectl")?)
        .arg("--data-dir")
        .arg(folder.path())
        .arg("status")
        .output()?;
    ensure!(fails_with(&free, 3), "something still answers: {free:?}");
    Ok(())
}
