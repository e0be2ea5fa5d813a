//! Undoing removals (UI-12) from the command line: a server comes back with its secret and its permissions, only with the
//! operator key, and not once Gatehouse has ended.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

/// A server that cannot start without its secret, with a rule.
fn add_keyed(gatehouse: &Gatehouse) -> Result<Value> {
    let transport = json!({
        "type": "stdio",
        "command": paths::program("fixture-server")?,
        "args": [],
        "env": { "API_KEY": "${secret:API_KEY}" },
        "cwd": null,
        "streams": "sockets",
    });
    let draft = json!({ "name": "keyed", "transport": transport, "enabled": true, "autostart": true });
    let secrets = json!([{ "field": "env/API_KEY", "value": "s3cret-value" }]);
    let wanted = json!({ "draft": draft, "trustLabels": false, "secrets": secrets });
    let added = gatehouse.command("servers.add", &wanted)?;
    gatehouse.await_status("keyed", "connected")?;
    gatehouse.command("policy.autoApprove", &json!({ "server": "keyed", "to": "all" }))?;
    Ok(added["config"].clone())
}

fn is_there(gatehouse: &Gatehouse) -> Result<bool> {
    let servers = gatehouse.ask(&["servers", "list"])?;
    let servers = servers.as_array().context("no list")?;
    Ok(servers.iter().any(|view| view["config"]["name"] == "keyed"))
}

fn rules(gatehouse: &Gatehouse) -> Result<Vec<Value>> {
    let policy = gatehouse.command("policy.show", &json!({}))?;
    let rules = policy["rules"].as_array().context("no rules")?;
    Ok(rules.iter().map(|view| view["rule"].clone()).collect())
}

#[test]
fn removed_server_comes_back_with_secret_and_rules() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let before = add_keyed(&gatehouse)?;
    let rules_before = rules(&gatehouse)?;
    ensure!(rules_before.len() == 1, "{rules_before:?}");

    let removal = gatehouse.ask(&["servers", "remove", "keyed", "--undoable"])?;
    ensure!(removal["seconds"].as_u64().is_some_and(|seconds| seconds >= 10), "{removal}");
    ensure!(!is_there(&gatehouse)? && rules(&gatehouse)?.is_empty(), "it is still there");
    let refused = gatehouse.run_unprivileged(&["undo"])?;
    ensure!(refused.status.code() == Some(4) && !is_there(&gatehouse)?, "{refused:?}");

    let id = removal["id"].as_str().context("no id")?;
    gatehouse.ask(&["undo", id])?;
    // Without its secret it would fail to start.
    let after = gatehouse.await_status("keyed", "connected")?;
    ensure!(after["config"] == before, "{after:#}");
    ensure!(rules(&gatehouse)? == rules_before, "its rules changed");
    ensure!(gatehouse.ask(&["undo"]).is_err(), "it was undone twice");

    gatehouse.ask(&["servers", "remove", "keyed"])?;
    ensure!(gatehouse.ask(&["undo"]).is_err(), "a removal for good was undone");
    Ok(())
}

#[test]
fn removal_is_complete_when_gatehouse_has_ended() -> Result<()> {
    for ends_by_itself in [true, false] {
        let mut gatehouse = Gatehouse::start()?;
        add_keyed(&gatehouse)?;
        gatehouse.ask(&["servers", "remove", "keyed", "--undoable"])?;
        if ends_by_itself {
            gatehouse.stop()?;
        } else {
            gatehouse.kill()?;
        }
        gatehouse.launch()?;
        ensure!(gatehouse.ask(&["undo"]).is_err(), "it was undone after a restart");
        ensure!(!is_there(&gatehouse)? && rules(&gatehouse)?.is_empty(), "it is back");
    }
    Ok(())
}

#[test]
fn revoked_client_stays_revoked() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.add_client("agent")?;
    gatehouse.ask(&["clients", "revoke", "agent"])?;
    ensure!(gatehouse.ask(&["undo"]).is_err(), "the revocation was undone");
    let clients = gatehouse.ask(&["clients", "list"])?;
    ensure!(clients == json!([]), "{clients}");
    Ok(())
}
