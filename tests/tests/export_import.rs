//! Export and import of everything but secrets (DATA-4) from the command line: what one Gatehouse exports, another one
//! imports, only with the operator key, and without letting anything run that was not asked for.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

/// A server that needs a secret, everything of which runs without asking.
fn add_keyed(gatehouse: &Gatehouse) -> Result<()> {
    let transport = json!({
        "type": "stdio",
        "command": paths::program("fixture-server")?,
        "args": [],
        "env": { "API_KEY": "${secret:API_KEY}", "OTHER_KEY": "s3cret-plain" },
        "cwd": null,
        "streams": "sockets",
    });
    let draft = json!({ "name": "keyed", "transport": transport, "enabled": true, "autostart": true });
    let secrets = json!([{ "field": "env/API_KEY", "value": "s3cret-stored" }]);
    gatehouse.command("servers.add", &json!({ "draft": draft, "trustLabels": false, "secrets": secrets }))?;
    gatehouse.await_status("keyed", "connected")?;
    gatehouse.command("policy.autoApprove", &json!({ "server": "keyed", "to": "all" }))?;
    Ok(())
}

fn names(gatehouse: &Gatehouse, noun: &str) -> Result<Vec<String>> {
    let list = gatehouse.ask(&[noun, "list"])?;
    let name = |entry: &Value| {
        let name = if noun == "servers" { &entry["config"]["name"] } else { &entry["name"] };
        name.as_str().unwrap_or_default().to_owned()
    };
    Ok(list.as_array().context("no list")?.iter().map(name).collect())
}

fn rules(gatehouse: &Gatehouse) -> Result<usize> {
    let policy = gatehouse.command("policy.show", &json!({}))?;
    Ok(policy["rules"].as_array().context("no rules")?.len())
}

#[test]
fn configuration_moves_to_another_gatehouse_without_secrets() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add_keyed(&gatehouse)?;
    let token = gatehouse.add_client("agent")?;
    let local = json!({ "name": "Local", "api": "open_ai_chat", "baseUrl": "http://127.0.0.1:9/v1" });
    gatehouse.command("models.addProvider", &json!({ "draft": local, "key": "s3cret-key" }))?;
    let path = gatehouse.folder("exported")?.join("configuration.json");
    let file = path.to_str().context("path")?;

    let refused = gatehouse.run_unprivileged(&["export", file])?;
    ensure!(refused.status.code() == Some(4) && !path.exists(), "{refused:?}");
    gatehouse.ask(&["export", file])?;
    let text = fs::read_to_string(&path)?;
    ensure!(!text.contains("s3cret") && !text.contains(&token), "{text}");
    ensure!(text.contains("${secret:API_KEY}") && text.contains("${secret:OTHER_KEY}"), "{text}");
    let printed = gatehouse.run_as_operator(&["export"])?;
    ensure!(String::from_utf8(printed.stdout)? == text, "standard output has another text");
    let again = gatehouse.run_as_operator(&["export", file])?;
    ensure!(again.status.code() == Some(1), "a file was overwritten: {again:?}");

    let other = Gatehouse::start()?;
    let before = (names(&other, "servers")?, names(&other, "clients")?);
    for words in [&["import", file][..], &["import", file, "--list"]] {
        let refused = other.run_unprivileged(words)?;
        ensure!(refused.status.code() == Some(4), "{words:?}: {refused:?}");
    }
    let listed = other.run_as_operator(&["import", file, "--list"])?;
    let listed = String::from_utf8(listed.stdout)?;
    ensure!(listed.contains("Server keyed") && listed.contains("--allow-rules"), "{listed}");
    ensure!((names(&other, "servers")?, names(&other, "clients")?) == before, "a list changed something");

    // Standard input is empty, so no secret is given.
    let without = other.ask(&["import", file, "--secret-fd", "0"])?;
    ensure!(without["withoutSecrets"] == json!(["keyed"]), "{without:#}");
    ensure!(without["newClients"] == json!(["agent"]) && without["problems"] == json!([]), "{without:#}");
    let providers = other.command("models.show", &json!({}))?["providers"].take();
    ensure!(providers[0]["baseUrl"] == local["baseUrl"] && providers[0]["hasKey"] == false, "{providers:#}");
    ensure!(names(&other, "clients")? == ["agent"] && rules(&other)? == 0, "a rule came by itself");
    other.await_status("keyed", "disabled")?;

    let all = ["import", file, "--on-conflict", "overwrite", "--allow-rules", "--secret-fd", "0"];
    let with_rules = other.ask(&all)?;
    ensure!(with_rules["problems"] == json!([]) && rules(&other)? == 1, "{with_rules:#}");

    fs::write(&path, text.replace("\"clients\"", "\"tokens\""))?;
    let invalid = other.run_as_operator(&["import", file])?;
    ensure!(invalid.status.code() == Some(1), "{invalid:?}");
    ensure!(String::from_utf8(invalid.stderr)?.contains("/tokens"), "it doesn't say where");
    Ok(())
}
