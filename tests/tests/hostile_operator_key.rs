//! An agent that runs as the same user and can open the secret store starts another Gatehouse on the
//! user's folder, to become its operator. Each test states what the agent tried and what stopped it.

use std::fs;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http, paths};
use serde_json::json;

/// Runs `gatehousectl` with the key in a file.
fn with_key(gatehouse: &Gatehouse, key: &str, words: &[&str]) -> Result<Output> {
    let file = gatehouse.folder("keys")?.join("key");
    fs::write(&file, format!("{key}\n"))?;
    Ok(Command::new("/bin/sh")
        .arg("-c")
        .arg(r#"exec 3<"$OWN"; exec "$0" --data-dir "$DATA" --operator-key-fd 3 "$@""#)
        .arg(paths::program("gatehousectl")?)
        .args(words)
        .env("OWN", &file)
        .env("DATA", gatehouse.data_dir())
        .output()?)
}

/// A tool that runs without approval, and the client that uses it.
fn with_a_grant() -> Result<(Gatehouse, String)> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "grant", "Notes", "--tool", "list_notes"])?;
    Ok((gatehouse, token))
}

fn call(gatehouse: &Gatehouse, token: &str) -> Result<http::RawHttpResponse> {
    http::stateless_request(&gatehouse.endpoint, token, "tools/call", r#""name":"list_notes","arguments":{}"#)
}

/// Tried: another `serve` while the real one is down, on the same folder and with the same secret store,
/// to be given a key. Stopped by: the folder knows its key; no key is handed out, and only the user's is
/// valid. What ran without approval still does, and nothing more.
#[test]
fn reveals_no_key_to_another_serve() -> Result<()> {
    let (mut gatehouse, token) = with_a_grant()?;
    let key = gatehouse.operator_key()?;
    gatehouse.stop()?;
    // The test helper's own start would do what the agent does: it passes a descriptor for the key.
    let told = gatehouse.take_operator_key()?;
    gatehouse.launch()?;
    ensure!(gatehouse.operator_key().unwrap_or_default().is_empty(), "it was told a key");
    for guess in ["", "guess", &*token] {
        let output = with_key(&gatehouse, guess, &["clients", "add", "twin"])?;
        ensure!(!output.status.success(), "{guess:?}: {output:?}");
    }
    gatehouse.restore_operator_key(&told)?;
    ensure!(gatehouse.operator_key()? == key, "another key");
    gatehouse.await_status("Notes", "connected")?;
    let clients = gatehouse.ask(&["clients", "list"])?;
    ensure!(clients.as_array().is_some_and(|clients| clients.len() == 1), "{clients:#}");
    ensure!(!call(&gatehouse, &token)?.body.contains("isError\":true"), "the grant is gone");
    Ok(())
}

/// Tried: a new key, by claiming that the user's is lost, to use the secrets that the user stored.
/// Stopped by: the secrets are no longer usable, everything that was allowed is suspended, the status
/// and the audit report it, and the user's key is refused, so that it cannot go unnoticed. Blocks stay.
/// Classes and labels that are confirmed are in the audit.
#[test]
fn key_reset_suspends_permissions() -> Result<()> {
    let (mut gatehouse, token) = with_a_grant()?;
    let choice = json!({ "lifetime": "always", "width": "tool", "everyClient": true, "conditions": [] });
    let deny =
        json!({ "server": "Notes", "tool": "add_note", "client": null, "choice": choice, "reason": null });
    gatehouse.command("policy.deny", &deny)?;
    gatehouse
        .command("tools.classify", &json!({ "server": "Notes", "tool": "delete_note", "class": "write" }))?;
    gatehouse.command("servers.trustLabels", &json!({ "server": "Notes", "trusted": true }))?;
    let far = json!({ "name": "far", "enabled": false, "transport": { "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": { "X-Key": "${secret:X-Key}" } } });
    let secrets = json!([{ "field": "headers/X-Key", "value": "a-secret-of-a-server" }]);
    gatehouse.command("servers.add", &json!({ "draft": far, "trustLabels": false, "secrets": &secrets }))?;
    let with_what_is_stored = json!({ "server": "far", "draft": far });
    gatehouse.command("servers.edit", &with_what_is_stored)?;
    let before = gatehouse.operator_key()?;
    gatehouse.stop()?;
    gatehouse.take_operator_key()?;
    gatehouse.launch_with(&["--new-operator-key"])?;
    let anew = gatehouse.operator_key()?;
    ensure!(anew.len() == 43 && anew != before, "no key was made anew");
    ensure!(
        with_key(&gatehouse, &before, &["clients", "add", "x"])?.status.code() == Some(4),
        "the old key counts"
    );
    gatehouse.await_status("Notes", "connected")?;
    ensure!(gatehouse.problems()?.contains("suspended"), "nobody is told");
    ensure!(gatehouse.ask(&["audit", "list"])?.to_string().contains("made anew"), "it is not in the audit");
    ensure!(gatehouse.command("servers.edit", &with_what_is_stored).is_err(), "a stored secret still serves");
    let waiting = http::BackgroundCall::call(&gatehouse.endpoint, &token, "list_notes", "{}");
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    ensure!(waiting.end()?.body.contains(r#""isError":true"#), "a suspended rule let it run");
    let rules = gatehouse.ask(&["policy", "show"])?["rules"].clone();
    let effects: Vec<_> =
        rules.as_array().into_iter().flatten().map(|view| view["rule"]["effect"].clone()).collect();
    ensure!(effects == [json!("deny")], "{rules:#}");
    // Also after another start, until it is confirmed.
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("Notes", "connected")?;
    let suspended = gatehouse.ask(&["policy", "suspended"])?;
    ensure!(suspended.as_array().is_some_and(|rules| rules.len() == 1), "{suspended:#}");
    ensure!(
        gatehouse.run_unprivileged(&["policy", "confirm", "--all"])?.status.code() == Some(4),
        "anybody confirms"
    );
    gatehouse.ask(&["policy", "confirm", "--all"])?;
    ensure!(!call(&gatehouse, &token)?.body.contains("isError\":true"), "what was confirmed does not count");
    ensure!(gatehouse.ask(&["policy", "suspended"])? == json!([]));
    let audit = gatehouse.ask(&["audit", "list"])?;
    for (kind, place) in [("class_set", "/event/now/tool"), ("labels_trusted", "/event/server")] {
        let of_kind = audit.as_array().into_iter().flatten().filter(|entry| entry["event"]["audit"] == kind);
        ensure!(of_kind.filter(|entry| entry.pointer(place).is_some()).count() == 2, "{kind}: {audit:#}");
    }
    ensure!(
        gatehouse.command("servers.edit", &with_what_is_stored).is_err(),
        "confirming brings secrets back"
    );
    gatehouse.command("servers.edit", &json!({ "server": "far", "draft": far, "secrets": secrets }))?;
    Ok(())
}

/// Tried: an additional rule among those of the user, with a newly made key: the user makes another key,
/// and confirms the inserted rule together with the suspended ones. Stopped by: each confirmed rule is
/// marked as such in the list from then on, and is named in the audit, also after the status no longer
/// reports it.
#[test]
fn it_slips_a_rule_in_among_those_that_are_confirmed() -> Result<()> {
    let (mut gatehouse, _) = with_a_grant()?;
    for whose in ["agent", "person"] {
        gatehouse.stop()?;
        gatehouse.take_operator_key()?;
        gatehouse.launch_with(&["--new-operator-key"])?;
        gatehouse.await_status("Notes", "connected")?;
        if whose == "agent" {
            gatehouse.ask(&["policy", "grant", "Notes", "--tool", "add_note"])?;
        }
    }
    ensure!(gatehouse.ask(&["policy", "suspended"])?.as_array().is_some_and(|rules| rules.len() == 2));
    gatehouse.ask(&["policy", "confirm", "--all"])?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    ensure!(!gatehouse.problems()?.contains("suspended"));
    let shown = gatehouse.ask(&["policy", "show"])?;
    let rules: Vec<_> =
        shown["rules"].as_array().context("rules")?.iter().map(|view| &view["rule"]).collect();
    ensure!(rules.len() == 2, "{shown:#}");
    let audit = gatehouse.ask(&["audit", "list"])?;
    for rule in rules {
        ensure!(rule["author"]["author"] == "confirmed" && rule["author"]["at"].is_i64(), "{rule:#}");
        let is_named = |entry: &serde_json::Value| {
            entry["event"]["audit"] == "granted" && entry["event"]["rule"] == *rule
        };
        ensure!(audit.as_array().is_some_and(|entries| entries.iter().any(is_named)), "{rule:#}\n{audit:#}");
    }
    for words in [&["policy", "show"][..], &["audit"]] {
        let said = String::from_utf8(gatehouse.run_as_operator(words)?.stdout)?;
        ensure!(said.matches("after it could not be verified").count() == 2, "{words:?}: {said}");
    }
    Ok(())
}

/// Tried: a key that the user replaced because it leaked, on a new connection and on an open one.
/// Stopped by: only the current key is valid, at once and after a restart.
#[test]
fn rejects_rotated_operator_key() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let seen = gatehouse.operator_key()?;
    let mut watching = gatehouse.person()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.rotate_key()?;
    let now = gatehouse.operator_key()?;
    ensure!(now != seen && now.len() == 43, "the key is not another: {now}");
    let waiting = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", r#"{"text":"after"}"#);
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(watching.next_approval().is_err(), "an open watch with the old key goes on");
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    ensure!(waiting.end()?.body.contains(r#""isError":true"#), "it ran");
    for name in ["one", "two"] {
        let output = with_key(&gatehouse, &seen, &["clients", "add", "x"])?;
        ensure!(output.status.code() == Some(4), "the old key counts: {output:?}");
        gatehouse.add_client(name)?;
        gatehouse.stop()?;
        gatehouse.launch()?;
    }
    Ok(())
}
