//! An agent tries to use a grant for a host with another scheme or another port of that host. Each test
//! states what was tried and what stopped it.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::asks;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::Waiting;
use gatehouse_tests::server::{Over, add};
use serde_json::json;

fn runs(gatehouse: &Gatehouse, token: &str, url: &str) -> Result<()> {
    let end = Waiting::call(&gatehouse.endpoint, token, "echo", &json!({ "url": url }).to_string()).end()?;
    ensure!(end.body.contains(url), "{url} did not run: {end:?}");
    Ok(())
}

fn is_asked(gatehouse: &Gatehouse, token: &str, url: &str) -> Result<()> {
    let call = Waiting::call(&gatehouse.endpoint, token, "echo", &json!({ "url": url }).to_string());
    let question = asks::waiting(gatehouse, 1).with_context(|| format!("{url} was not asked"))?.remove(0);
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    ensure!(call.end()?.body.contains(r#""isError":true"#), "{url} ran");
    Ok(())
}

/// Tried: a file share, a scheme that is a tool of its own, and other ports of an allowed host. Stopped
/// by: a condition about a host only matches http, https, ws, wss and ftp, and the default port if it
/// names none.
#[test]
fn it_goes_to_another_port_or_by_another_scheme() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", Over::Stdio, &[])?;
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
        runs(&gatehouse, &token, fine)?;
    }
    for other in [
        "file://127.0.0.1/etc/passwd",
        "gopher://127.0.0.1:6379/_x",
        "javascript://127.0.0.1/x",
        "http://127.0.0.1:3000/a",
        "http://127.0.0.1:443/a",
    ] {
        is_asked(&gatehouse, &token, other)?;
    }
    Ok(())
}

/// Tried: the default port, and another one, where a specific port was allowed. Stopped by: the proposed
/// condition of the approval request, and the one written on a command line, contain the port.
#[test]
fn it_goes_to_another_port_than_the_one_that_was_asked_about() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", Over::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    let (here, usual, other) = ("http://127.0.0.1:3000/a", "http://127.0.0.1/a", "http://127.0.0.1:3001/a");
    let first = Waiting::call(&gatehouse.endpoint, &token, "echo", &json!({ "url": here }).to_string());
    let question = asks::waiting(&gatehouse, 1)?.remove(0);
    let choice = asks::narrowed(&question, "until_quit", "host_is")?;
    asks::allow(&gatehouse, &question["id"], &question["ask"]["hash"], &choice)?;
    ensure!(first.end()?.body.contains(here), "it did not run");
    runs(&gatehouse, &token, here)?;
    is_asked(&gatehouse, &token, usual)?;
    is_asked(&gatehouse, &token, other)?;

    gatehouse.ask(&["policy", "grant", "raw", "--tool", "echo", "--when", "url host 127.0.0.1:3001"])?;
    runs(&gatehouse, &token, other)?;
    is_asked(&gatehouse, &token, usual)?;
    let wrong =
        gatehouse.operator(&["policy", "grant", "raw", "--tool", "echo", "--when", "url host http://x/"])?;
    ensure!(String::from_utf8_lossy(&wrong.stderr).contains("write only its host"), "{wrong:?}");
    let never = gatehouse.operator(&["policy", "grant", "raw", "--tool", "echo", "--when", "url like [a"])?;
    ensure!(String::from_utf8_lossy(&never.stderr).contains("can never hold"), "{never:?}");
    Ok(())
}
