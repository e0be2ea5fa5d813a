//! An agent with old or forged records: permissions and secrets given for another command, under the id
//! and the generation of an existing server. The records are sealed, so these tests forge them with the
//! user's own passphrase: even then they grant nothing. Each test states what the agent tried and what
//! stopped it.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_model::{IdentityHash, RuleEffect};
use gatehouse_store::SecretKey;
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http};
use serde_json::json;

/// Tried: grants, access classes and trusted labels that were given for another command under the same
/// id and generation, and ones in the format of an older version. Stopped by: the hash of the server's
/// identity, which is part of a rule's binding. Every call needs approval, the rules are revoked and the
/// audit records that. A deny stays.
#[test]
fn rejects_permissions_bound_to_another_command() -> Result<()> {
    for identity in ["0000000000000000000000000000000000000000000000000000000000000000", ""] {
        let mut gatehouse = Gatehouse::start()?;
        gatehouse.await_status("Notes", "connected")?;
        let token = gatehouse.add_client("agent")?;
        gatehouse.ask(&["policy", "grant", "Notes", "--tool", "list_notes"])?;
        gatehouse.ask(&["policy", "grant", "Notes", "--all"])?;
        gatehouse.ask(&["policy", "deny", "Notes", "--tool", "add_note"])?;
        gatehouse.ask(&["tools", "classify", "Notes", "search_notes", "read"])?;
        gatehouse.ask(&["servers", "trust-labels", "Notes"])?;
        gatehouse.stop()?;
        {
            let store = gatehouse.open_store()?;
            let mut permissions = store.permissions().load()?.context("no permissions")?;
            let bound = permissions.rules.iter_mut().filter_map(|rule| rule.server.as_mut());
            let others = permissions.overrides.iter_mut().map(|user| &mut user.server);
            for binding in bound.chain(others).chain(&mut permissions.trusted_labels) {
                binding.identity = IdentityHash::new(identity);
            }
            store.permissions().save(&permissions)?;
            store.close();
        }
        gatehouse.launch()?;
        gatehouse.await_status("Notes", "connected")?;
        let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "list_notes", "{}");
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(
            question["request"]["class"]["reason"]["by"] != "trusted_label",
            "the labels are trusted: {question:#}"
        );
        gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
        ensure!(call.end()?.body.contains(r#""isError":true"#), "“{identity}”: it ran");
        let blocked = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", r#"{"text":"x"}"#);
        let blocked = blocked.end()?.body;
        // A call that waits for the user ends with an error too, some time later.
        ensure!(
            blocked.contains(r#""isError":true"#) && !blocked.contains("still waiting for the user"),
            "the deny is gone: {blocked}"
        );
        let deadline = Instant::now() + TEST_TIMEOUT;
        let shown = loop {
            let shown = gatehouse.ask(&["policy", "show"])?;
            if shown["rules"].as_array().is_some_and(|rules| rules.len() == 1) {
                break shown;
            }
            ensure!(
                Instant::now() < deadline,
                "“{identity}”: what confers nothing is still shown: {shown:#}"
            );
        };
        ensure!(shown["verified"] == true, "{shown:#}");
        let rules = shown["rules"].as_array().context("no rules")?;
        ensure!(
            rules.len() == 1 && rules[0]["rule"]["effect"] == serde_json::to_value(RuleEffect::Deny)?,
            "“{identity}”: what confers nothing is still shown: {shown:#}"
        );
        ensure!(shown["overrides"] == json!([]) && shown["trustedLabels"] == json!([]));
        ensure!(
            gatehouse.ask(&["audit", "list"])?.to_string().contains("revoked"),
            "the audit does not say so"
        );
    }
    Ok(())
}

/// Tried: a secret that was stored for another command under the same id, generation and field. Stopped
/// by: its key in the secret store, which contains the hash of the server's identity; the server starts
/// without the secret and reports that it is missing.
#[test]
fn rejects_secret_bound_to_another_command() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let program = gatehouse_tests::paths::program("fixture-server")?;
    let program = program.to_str().context("path")?;
    let transport = json!({
        "type": "stdio", "command": program, "args": [], "env": { "KEY": "${secret:KEY}" }, "cwd": null,
    });
    let secrets = json!([{ "field": "env/KEY", "value": "s3cr3t" }]);
    let added = json!({ "draft": { "name": "raw", "transport": transport }, "trustLabels": false, "secrets": secrets });
    gatehouse.command("servers.add", &added)?;
    gatehouse.await_status("raw", "connected")?;
    gatehouse.stop()?;
    {
        let store = gatehouse.open_store()?;
        let servers = store.servers().load().servers;
        let raw = servers.iter().find(|server| server.name == "raw").context("no server")?;
        let secrets = store.secrets();
        let (own, field) = (raw.binding(), "env/KEY");
        let kept = secrets
            .get(&SecretKey::for_server_field(&own, field))?
            .context("it is kept under another name")?;
        secrets.delete(&SecretKey::for_server_field(&own, field))?;
        let mut another = own;
        another.identity = IdentityHash::new("another command");
        secrets.set(&SecretKey::for_server_field(&another, field), &kept)?;
        store.close();
    }
    gatehouse.launch()?;
    let server = gatehouse.await_status("raw", "failed")?;
    ensure!(server["status"]["message"].to_string().contains("env/KEY"), "{server:#}");
    Ok(())
}
