//! An agent spells the names of its arguments so that Gatehouse checks one value and the server uses
//! another. Each test states what the agent tried and what stopped it.
#![cfg(unix)]

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::fixture::LENIENT_TOOL;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{BackgroundCall, RawHttpResponse};
use serde_json::json;

/// Spellings of the name `path` that some parser treats as equal.
const SPELLINGS: [&str; 5] = ["Path", "PATH", "path\0", "_path", "pa-th"];

fn call(gatehouse: &Gatehouse, token: &str, arguments: &str) -> Result<RawHttpResponse> {
    BackgroundCall::call(&gatehouse.endpoint, token, LENIENT_TOOL, arguments).end()
}

fn assert_asked(gatehouse: &Gatehouse, token: &str, arguments: &str) -> Result<()> {
    approvals::assert_asked(gatehouse, token, LENIENT_TOOL, arguments).map(drop)
}

/// Tried: beside the one path inside the allowed folder, another one under a name that the server treats
/// as equal. Stopped by: a condition on an argument matches only if no other member of that object may
/// be confused with it.
#[test]
fn condition_fails_on_ambiguous_argument_names() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "folds-names"])?;
    let token = gatehouse.add_client("agent")?;
    let (inside, outside) = (gatehouse.folder("in")?, gatehouse.folder("out")?);
    fs::write(inside.join("a.txt"), "harmless")?;
    fs::write(outside.join("a.txt"), "s3cret")?;
    let (fine, secret) = (inside.join("a.txt"), outside.join("a.txt"));
    let (fine, secret) = (fine.to_str().context("path")?, secret.to_str().context("path")?);

    let plain = json!({ "path": fine }).to_string();
    let first = BackgroundCall::call(&gatehouse.endpoint, &token, LENIENT_TOOL, &plain);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let choice = approvals::folder_choice(&question, "always")?;
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &choice)?;
    ensure!(first.end()?.body.contains("harmless"), "the first call did not run");
    ensure!(call(&gatehouse, &token, &plain)?.body.contains("harmless"), "what is inside asks");

    for name in SPELLINGS {
        let name = json!(name);
        for both in [
            format!(r#"{{"path":{},{name}:{}}}"#, json!(fine), json!(secret)),
            format!(r#"{{{name}:{},"path":{}}}"#, json!(secret), json!(fine)),
        ] {
            assert_asked(&gatehouse, &token, &both)?;
        }
        assert_asked(&gatehouse, &token, &format!(r#"{{{name}:{}}}"#, json!(fine)))?;
    }
    ensure!(call(&gatehouse, &token, &plain)?.body.contains("harmless"), "the grant is gone");
    Ok(())
}

/// Tried: a call denied by a condition, with another spelling of the argument's name. Stopped by: a deny
/// also applies if its argument is absent and one is present that may be confused with it.
#[test]
fn deny_covers_ambiguous_argument_names() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "folds-names"])?;
    let token = gatehouse.add_client("agent")?;
    let (inside, outside) = (gatehouse.folder("in")?, gatehouse.folder("out")?);
    fs::write(inside.join("a.txt"), "harmless")?;
    fs::write(outside.join("a.txt"), "s3cret")?;
    let (fine, secret) = (inside.join("a.txt"), outside.join("a.txt"));
    let (fine, secret) = (json!(fine), json!(secret));

    gatehouse.ask(&["policy", "grant", "raw", "--tool", LENIENT_TOOL])?;
    let only = json!({
        "server": "raw", "tool": LENIENT_TOOL, "client": null, "reason": null,
        "choice": {
            "lifetime": "always", "width": "tool", "everyClient": true,
            "conditions": [{ "pointer": "/path", "test": { "test": "inside", "folder": outside } }],
        },
    });
    gatehouse.command("policy.deny", &only)?;
    let ran = call(&gatehouse, &token, &format!(r#"{{"path":{fine}}}"#))?;
    ensure!(ran.body.contains("harmless"), "what is not denied does not run: {ran:?}");
    let denied = call(&gatehouse, &token, &format!(r#"{{"path":{secret}}}"#))?;
    ensure!(denied.body.contains(r#""isError":true"#), "{denied:?}");
    for name in SPELLINGS {
        let name = json!(name);
        for arguments in [
            format!(r#"{{{name}:{secret}}}"#),
            format!(r#"{{"path":{fine},{name}:{secret}}}"#),
            format!(r#"{{{name}:{secret},"path":{fine}}}"#),
        ] {
            let end = call(&gatehouse, &token, &arguments)?;
            ensure!(end.body.contains(r#""isError":true"#), "{arguments} ran: {end:?}");
            ensure!(!end.body.contains("s3cret"), "{arguments} was read: {end:?}");
        }
    }
    Ok(())
}
