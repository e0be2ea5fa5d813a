//! A user wants to use a server that the managed policy does not allow: through an address that
//! resembles an allowed one, through another spelling of a denied one, and through a server that was
//! there before the policy. Each test states what was tried and what stopped it. The tests need a mount
//! namespace, and fail if the machine does not allow one.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport};
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::http;
use serde_json::json;

const REFUSAL: &str = "This computer's administrator does not allow this server.";

/// The example of the documents, which administrators copy.
fn example() -> Result<&'static str> {
    let section = include_str!("../../docs/src/administrators.md");
    let block = section.split("```json").nth(1).context("no example")?;
    block.split("```").next().context("no end of the example")
}

/// Runs a command that the policy may refuse: `None` if it succeeded, else its error message.
fn refusal(gatehouse: &Gatehouse, words: &[&str]) -> Result<Option<String>> {
    let output = gatehouse.run_as_operator(words)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((!output.status.success()).then_some(said))
}

/// Connects to an address without adding the server.
fn tried(gatehouse: &Gatehouse, url: &str) -> Result<Option<String>> {
    refusal(gatehouse, &["servers", "test", "tried", "--url", url])
}

/// Stops a server and starts it again.
fn restart(gatehouse: &Gatehouse, server: &str) -> Result<()> {
    gatehouse.ask(&["servers", "stop", server])?;
    gatehouse.await_status(server, "stopped")?;
    gatehouse.ask(&["servers", "start", server])?;
    Ok(())
}

/// Waits until a server has failed without another retry, and returns the message.
fn failed(gatehouse: &Gatehouse, server: &str) -> Result<String> {
    let status = gatehouse.await_status(server, "failed")?["status"].clone();
    ensure!(status["nextRetry"].is_null(), "it is tried again: {status:#}");
    status_text(&status)
}

/// A server with a URL, which logs the messages that reach it.
fn noted(gatehouse: &Gatehouse, name: &str) -> Result<(FixtureServer, PathBuf)> {
    let log = gatehouse.folder("log")?.join(name);
    Ok((FixtureServer::start(ServerTransport::Http, &["--log", log.to_str().context("path")?])?, log))
}

/// How many messages with this method reached a server.
fn reached(log: &Path, method: &str) -> usize {
    let (text, wanted) = (fs::read_to_string(log).unwrap_or_default(), format!(r#""{method}""#));
    text.lines().filter(|line| !line.starts_with('#') && line.contains(&wanted)).count()
}

/// How many handshakes were started with a server.
fn handshakes(log: &Path) -> usize {
    reached(log, "server/discover") + reached(log, "initialize")
}

/// Tried: addresses that contain an allowed host in their path, query, host name or user name, and
/// addresses with another scheme, port or domain. Stopped by: scheme, host, port and path of the parsed
/// address are compared separately, with the exact file that the documents show, also after a restart.
#[test]
fn it_adds_an_address_that_looks_like_an_allowed_one() -> Result<()> {
    let mut gatehouse = Gatehouse::start_administered()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.administer(example()?)?;
    let mut kept = 0;
    for (number, (url, is_allowed)) in [
        ("https://a.example.com/mcp", true),
        ("https://a.b.example.com/", true),
        ("https://A.EXAMPLE.com:443/mcp?x=1", true),
        ("wss://a.example.com/mcp", true),
        ("https://evil.com/a.example.com/x", false),
        ("https://evil.com/?.example.com/x", false),
        ("https://evil.com/#.example.com/x", false),
        ("https://evil.com\\a.example.com/x", false),
        ("https://a.example.com@evil.com/x", false),
        ("https://evil.com:443/.example.com/x", false),
        ("https://a.example.com.evil.com/x", false),
        ("https://evilexample.com/x", false),
        ("https://example.com/x", false),
        ("https://a.example.co\u{43c}/x", false),
        ("http://a.example.com/x", false),
        ("ws://a.example.com/x", false),
        ("https://a.example.com:8443/x", false),
    ]
    .into_iter()
    .enumerate()
    {
        // Disabled: only the address is checked, and no request is sent to the host.
        let name = format!("server-{number}");
        let refused = refusal(&gatehouse, &["servers", "add", &name, "--disabled", "--url", url])?;
        ensure!(refused.is_none() == is_allowed, "{url}: {refused:?}");
        if let Some(said) = refused {
            ensure!(said.contains(REFUSAL) && said.contains("Ask the help desk"), "{url}: {said}");
        }
        kept += usize::from(is_allowed);
    }
    let listed = gatehouse.ask(&["servers", "list"])?;
    let names =
        listed.as_array().into_iter().flatten().filter_map(|server| server["config"]["name"].as_str());
    let added = names.filter(|name| !["Time", "Notes"].contains(name)).count();
    ensure!(added == kept, "what was refused is kept: {listed:#}");

    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("Time", "connected")?;
    let why = failed(&gatehouse, "Notes")?;
    ensure!(why.contains(REFUSAL) && why.contains("Ask the help desk"), "{why}");
    Ok(())
}

/// Tried: to keep using a server that was there before the policy, to start it again, and to reach it
/// through addresses that contain the allowed one or spell its own differently. Stopped by: the policy
/// is read for each call and each connection; nothing more reaches the server. The allowed server is
/// reached however its address is spelled.
#[test]
fn it_goes_on_with_a_server_that_was_there_before() -> Result<()> {
    let gatehouse = Gatehouse::start_administered()?;
    let ((bad, bad_log), (good, good_log)) = (noted(&gatehouse, "bad")?, noted(&gatehouse, "good")?);
    gatehouse.ask(&["servers", "add", "bad", "--url", &bad.url])?;
    gatehouse.await_status("bad", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "bad", "all"])?;
    let token = gatehouse.add_client("agent")?;
    let before = handshakes(&bad_log);
    ensure!(before > 0, "it was never reached: {}", bad.url);

    let servers = json!({ "allow": [{ "url": good.url }], "reason": "Ask IT." });
    gatehouse.administer(&json!({ "servers": servers }).to_string())?;
    let params = r#""name":"echo","arguments":{}"#;
    let answer = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", params)?;
    ensure!(answer.body.contains("administrator") && answer.body.contains("Ask IT."), "{answer:?}");
    ensure!(reached(&bad_log, "tools/call") == 0, "the call reached it");
    restart(&gatehouse, "bad")?;
    let why = failed(&gatehouse, "bad")?;
    ensure!(why.contains(REFUSAL) && why.contains("Ask IT."), "{why}");

    gatehouse.ask(&["servers", "add", "good", "--url", &good.url])?;
    gatehouse.await_status("good", "connected")?;
    let (port, other) = (good.port()?, bad.port()?);
    for url in [
        bad.url.clone(),
        format!("http://127.0.0.1:{port}@127.0.0.1:{other}/mcp"),
        format!("http://127.0.0.1:{other}/mcp?http://127.0.0.1:{port}/mcp"),
        format!("http://127.0.0.1:{other}/mcp#@127.0.0.1:{port}/mcp"),
        format!("http://127.0.0.1:{other}\\@127.0.0.1:{port}/mcp"),
        format!("http://127.1:{other}/mcp"),
        format!("http://2130706433:{other}/mcp"),
        format!("http://localhost:{port}/mcp"),
        format!("http://127.0.0.1:{port}/mcp/../other"),
    ] {
        let said = tried(&gatehouse, &url)?.with_context(|| format!("{url} was connected to"))?;
        ensure!(said.contains(REFUSAL), "{url}: {said}");
        let said = refusal(&gatehouse, &["servers", "add", "again", "--url", &url])?;
        ensure!(said.is_some_and(|said| said.contains(REFUSAL)), "{url} was added");
    }
    ensure!(handshakes(&bad_log) == before, "somebody spoke with it: {}", fs::read_to_string(&bad_log)?);
    let spelled = format!("http://0x7f.1:{port}/x/../mcp");
    ensure!(tried(&gatehouse, &spelled)?.is_none(), "{spelled} is the allowed one");
    ensure!(handshakes(&good_log) > 1, "it was not reached as {spelled}");
    Ok(())
}

/// Tried: a denied address at another port and in other spellings. Stopped by: the parsed address is
/// compared, and a denial without a port covers every port; nothing reaches the server.
#[test]
fn it_spells_a_denied_address_in_another_way() -> Result<()> {
    let gatehouse = Gatehouse::start_administered()?;
    let (server, log) = noted(&gatehouse, "denied")?;
    ensure!(tried(&gatehouse, &server.url)?.is_none(), "nothing denies it yet");
    let before = handshakes(&log);
    gatehouse.administer(r#"{"servers":{"deny":[{"url":"http://127.0.0.1/mcp"}]}}"#)?;
    let port = server.port()?;
    for url in [
        server.url.clone(),
        format!("http://127.1:{port}/mcp"),
        format!("http://0x7f000001:{port}/mcp"),
        format!("HTTP://2130706433:{port}/mcp"),
        format!("http://[::ffff:127.0.0.1]:{port}/mcp"),
        format!("http://somebody@127.0.0.1:{port}/mcp?x=1#y"),
        format!("http://127.0.0.1:{port}/x/../mcp"),
        format!("http://127.0.0.1:{port}/%6dcp"),
        format!("http://127.0.0.1:{port}//mcp"),
        format!("ws://127.0.0.1:{port}/mcp"),
    ] {
        let said = tried(&gatehouse, &url)?.with_context(|| format!("{url} was connected to"))?;
        ensure!(said.contains(REFUSAL), "{url}: {said}");
    }
    ensure!(
        handshakes(&log) == before && before > 0,
        "somebody spoke with it: {}",
        fs::read_to_string(&log)?
    );
    Ok(())
}

/// Tried: nothing; the administrator wrote a pattern that cannot be parsed and was meant to deny.
/// Stopped by: an invalid policy forbids every server, including the built-in ones, until it is
/// corrected.
#[test]
fn a_pattern_that_cannot_be_read_lets_nothing_pass() -> Result<()> {
    let gatehouse = Gatehouse::start_administered()?;
    gatehouse.await_status("Time", "connected")?;
    gatehouse.administer(r#"{"servers":{"deny":[{"url":"*evil*"}]}}"#)?;
    let said = refusal(&gatehouse, &["servers", "add", "clock", "--builtin", "time"])?;
    ensure!(said.is_some_and(|said| said.contains("cannot be read")), "it was added");
    restart(&gatehouse, "Time")?;
    let why = failed(&gatehouse, "Time")?;
    ensure!(why.contains("cannot be read") && why.contains("/etc/gatehouse/policy.json"), "{why}");
    gatehouse.administer(r#"{"servers":{"deny":[{"url":"https://evil.example/*"}]}}"#)?;
    gatehouse.ask(&["servers", "start", "Time"])?;
    gatehouse.await_status("Time", "connected")?;
    Ok(())
}
