//! An agent tries to use a grant for a host with another scheme or another port of that host. Each test
//! states what was tried and what stopped it.

use anyhow::{Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use serde_json::json;

fn assert_runs(gatehouse: &Gatehouse, token: &str, url: &str) -> Result<()> {
    let end =
        BackgroundCall::call(&gatehouse.endpoint, token, "echo", &json!({ "url": url }).to_string()).end()?;
    ensure!(end.body.contains(url), "{url} did not run: {end:?}");
    Ok(())
}

fn assert_asked(gatehouse: &Gatehouse, token: &str, url: &str) -> Result<()> {
    approvals::assert_asked(gatehouse, token, "echo", &json!({ "url": url }).to_string()).map(drop)
}

/// Tried: a file share, a scheme that is a tool of its own, and other ports of an allowed host. Stopped
/// by: a condition about a host only matches http, https, ws, wss and ftp, and the default port if it
/// names none.
#[test]
fn rejects_other_scheme_or_port_of_allowed_host() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    // As it was stored before conditions had ports.
    let choice = json!({
        "lifetime": "always", "width": "tool", "everyClient": true,
        "conditions": [{ "pointer": "/url", "test": { "test": "host_is", "host": "127.0.0.1" } }],
    });
    gatehouse.command(
        "policy.grant",
        &json!({ "server": "raw", "tool": "echo", "client": null, "choice": choice }),
    )?;
    for fine in ["http://127.0.0.1/a", "https://127.0.0.1:443/a", "ws://127.0.0.1/a"] {
        assert_runs(&gatehouse, &token, fine)?;
    }
    for other in [
        "file://127.0.0.1/etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "javascript://127.0.0.1/x",
        "http://127.0.0.1:3000/a",
        "http://127.0.0.1:443/a",
    ] {
        assert_asked(&gatehouse, &token, other)?;
    }
    Ok(())
}

/// Tried: the default port, and another one, where a specific port was allowed. Stopped by: the proposed
/// condition of the approval request, and the one written on a command line, contain the port.
#[test]
fn rejects_port_other_than_approved() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let (here, usual, other) = ("http://127.0.0.1:3000/a", "http://127.0.0.1/a", "http://127.0.0.1:3001/a");
    let first =
        BackgroundCall::call(&gatehouse.endpoint, &token, "echo", &json!({ "url": here }).to_string());
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let choice = approvals::narrowed(&question, "until_quit", "host_is")?;
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &choice)?;
    ensure!(first.end()?.body.contains(here), "it did not run");
    assert_runs(&gatehouse, &token, here)?;
    assert_asked(&gatehouse, &token, usual)?;
    assert_asked(&gatehouse, &token, other)?;

    gatehouse.ask(&["policy", "grant", "raw", "--tool", "echo", "--when", "url host 127.0.0.1:3001"])?;
    assert_runs(&gatehouse, &token, other)?;
    assert_asked(&gatehouse, &token, usual)?;
    let wrong = gatehouse.run_as_operator(&[
        "policy",
        "grant",
        "raw",
        "--tool",
        "echo",
        "--when",
        "url host http://x/",
    ])?;
    ensure!(String::from_utf8_lossy(&wrong.stderr).contains("write only its host"), "{wrong:?}");
    let never =
        gatehouse.run_as_operator(&["policy", "grant", "raw", "--tool", "echo", "--when", "url like [a"])?;
    ensure!(String::from_utf8_lossy(&never.stderr).contains("can never hold"), "{never:?}");
    Ok(())
}
