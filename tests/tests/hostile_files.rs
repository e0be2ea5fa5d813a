//! An agent that may edit files of the same user uses them to extend its permissions: settings,
//! databases, learned data, the audit. Each test states what the agent tried and what stopped it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, fixture, http};
use rusqlite::Connection;
use serde_json::{Value, json};

/// Tried: an additional server in `servers.json`. Stopped by: the confirmation of the edit; the last
/// confirmed configuration keeps running.
#[test]
fn asks_before_running_edited_servers_file() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let file = gatehouse.data_dir().join("servers.json");
    let ran = gatehouse.folder("log")?.join("ran");
    let mut servers: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    servers["mcpServers"]["evil"] =
        json!({ "command": "sh", "args": ["-c", format!("touch {}", ran.display())] });
    fs::write(&file, servers.to_string())?;
    let mut person = gatehouse.person()?;
    let question = person.next_approval()?;
    ensure!(
        question["request"]["kind"] == "config_change" && question["request"]["server"] == "evil",
        "{question:#}"
    );
    ensure!(!ran.exists(), "it ran before anybody confirmed it");
    person.answer(&question, "deny")?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !gatehouse.ask(&["audit", "list"])?.to_string().contains("hand_edit") {
        ensure!(Instant::now() < deadline, "the refusal is not in the audit");
    }
    gatehouse.stop()?;
    gatehouse.launch()?;
    let listed = gatehouse.ask(&["servers", "list"])?.to_string();
    ensure!(!listed.contains("evil") && !ran.exists(), "it came in by a restart: {listed}");
    Ok(())
}

/// Copies the databases of a data folder to or from a backup.
fn copy_databases(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().contains(".db") {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// Tried: databases from before a grant was revoked. Stopped by: the counter of the seal, which is in
/// the secret store and has advanced.
#[test]
fn rejects_restored_old_database() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    gatehouse.stop()?;
    let old = gatehouse.folder("old")?;
    copy_databases(&gatehouse.data_dir(), &old)?;
    gatehouse.launch()?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "ask"])?;
    gatehouse.stop()?;
    for entry in fs::read_dir(gatehouse.data_dir())?.flatten() {
        if entry.file_name().to_string_lossy().contains(".db") {
            fs::remove_file(entry.path())?;
        }
    }
    copy_databases(&old, &gatehouse.data_dir())?;
    gatehouse.launch()?;
    let shown = gatehouse.ask(&["policy", "show"])?;
    ensure!(shown["verified"] == false, "an old copy passes for the present one: {shown:#}");
    ensure!(gatehouse.problems()?.contains("permissions"), "nobody is told");
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let call = client.begin("add_note", &json!({ "text": "revived" }))?;
    let mut person = gatehouse.person()?;
    let question = person.next_approval()?;
    person.answer(&question, "deny")?;
    ensure!(client.finish(&call)?.is_tool_error(), "the revoked grant lives");
    Ok(())
}

/// A tool that is allowed by a grant, and the client that uses it; Gatehouse is stopped.
fn with_a_grant() -> Result<(Gatehouse, String)> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "grant", "Notes", "--tool", "list_notes"])?;
    gatehouse.stop()?;
    Ok((gatehouse, token))
}

fn ledger(gatehouse: &Gatehouse) -> Result<Connection> {
    Ok(Connection::open(gatehouse.data_dir().join("ledger.db"))?)
}

/// Tried: a forged grant, written into the database in every possible way: in the text of the
/// permissions, as a record with another number, with the seal of another record, and by deleting the
/// record. Stopped by: the seal over text and number. Nothing is allowed any more, including what was
/// allowed before, and the status reports it.
#[test]
fn rejects_forged_grant() -> Result<()> {
    let forgeries: [(&str, &str); 5] = [
        (
            "a tool for another",
            "UPDATE sealed SET body = CAST(replace(CAST(body AS TEXT), 'list_notes', 'add_note') AS BLOB) WHERE name LIKE 'rights/%'",
        ),
        ("another number", "UPDATE sealed SET counter = counter + 1 WHERE name LIKE 'rights/%'"),
        (
            "the seal of another record",
            "UPDATE sealed SET mac = (SELECT mac FROM sealed WHERE name NOT LIKE 'rights/%') WHERE name LIKE 'rights/%'",
        ),
        ("a seal of zeros", "UPDATE sealed SET mac = zeroblob(32) WHERE name LIKE 'rights/%'"),
        ("no record", "DELETE FROM sealed WHERE name LIKE 'rights/%'"),
    ];
    for (what, sql) in forgeries {
        let (mut gatehouse, token) = with_a_grant()?;
        let changed = ledger(&gatehouse)?.execute(sql, [])?;
        ensure!(changed > 0, "{what}: there was nothing to forge");
        gatehouse.launch()?;
        gatehouse.await_status("Notes", "connected")?;
        let shown = gatehouse.ask(&["policy", "show"])?;
        ensure!(shown["verified"] == false, "{what}: it is believed: {shown:#}");
        ensure!(gatehouse.problems()?.contains("permissions"), "{what}: nobody is told");
        for tool in ["add_note", "list_notes"] {
            let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, tool, r#"{"text":"x"}"#);
            let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
            ensure!(!approvals::offers_always(&question)?, "{what}: something lasting is on offer");
            gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
            ensure!(call.end()?.body.contains(r#""isError":true"#), "{what}: {tool} ran");
        }
    }
    Ok(())
}

/// Tried: entries of the audit changed, removed, added, and the head reset to an earlier one. Stopped
/// by: the chain, the seal of each entry and the seal of the head; `verify` names the first broken
/// entry.
#[test]
fn detects_audit_tampering() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    for number in 0..6 {
        gatehouse.add_client(&format!("client {number}"))?;
    }
    gatehouse.stop()?;
    let home = gatehouse.data_dir().join("ledger.db");
    // The present head with its seal, to restore later.
    let old_head: String = Connection::open(&home)?.query_row(
        "SELECT format('UPDATE audit_head SET seq = %d, hash = x''%s'', mac = x''%s''', seq, hex(hash), hex(mac)) FROM audit_head",
        [],
        |row| row.get(0),
    )?;
    gatehouse.launch()?;
    gatehouse.add_client("one more")?;
    gatehouse.ask(&["pause"])?;
    gatehouse.stop()?;
    let last: i64 = Connection::open(&home)?.query_row("SELECT MAX(seq) FROM audit", [], |row| row.get(0))?;
    ensure!(!old_head.contains(&format!("seq = {last},")), "nothing was written since: {old_head}");
    let whole = gatehouse.folder("whole")?;
    copy_databases(&gatehouse.data_dir(), &whole)?;

    let attempts = [
        (
            "an event changed",
            "UPDATE audit SET event = (SELECT event FROM audit WHERE seq = 7) WHERE seq = 3",
            3,
        ),
        ("a time changed", "UPDATE audit SET at = at - 1 WHERE seq = 4", 4),
        ("a seal taken off", "UPDATE audit SET mac = NULL WHERE seq = 5", 5),
        ("the first one removed", "DELETE FROM audit WHERE seq = 1", 1),
        ("one in the middle removed", "DELETE FROM audit WHERE seq = 4", 4),
        (
            "two exchanged",
            "UPDATE audit SET seq = -3 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4; UPDATE audit SET seq = 4 WHERE seq = -3",
            3,
        ),
        ("all of them removed", "DELETE FROM audit", 1),
        (
            "one added at the end",
            "INSERT INTO audit (seq, at, event, hash, mac) SELECT seq + 1, at, event, hash, mac FROM audit ORDER BY seq DESC LIMIT 1",
            last + 1,
        ),
        ("the last one removed", "DELETE FROM audit WHERE seq = (SELECT MAX(seq) FROM audit)", last),
        (
            "the end removed and the head put where it ends now",
            "DELETE FROM audit WHERE seq = (SELECT MAX(seq) FROM audit); UPDATE audit_head SET seq = (SELECT MAX(seq) FROM audit), hash = (SELECT hash FROM audit ORDER BY seq DESC LIMIT 1)",
            last,
        ),
        ("an old head put back over all entries", &*old_head, last + 1),
        ("the head emptied", "UPDATE audit_head SET seq = 0, hash = zeroblob(32), mac = NULL", last + 1),
    ];
    for (what, tamper, first) in attempts {
        for entry in fs::read_dir(gatehouse.data_dir())?.flatten() {
            if entry.file_name().to_string_lossy().contains(".db") {
                fs::remove_file(entry.path())?;
            }
        }
        copy_databases(&whole, &gatehouse.data_dir())?;
        let db = Connection::open(&home)?;
        let triggers = db
            .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()?;
        for trigger in triggers {
            db.execute_batch(&format!("DROP TRIGGER {trigger}"))?;
        }
        db.execute_batch(tamper).with_context(|| what.to_owned())?;
        drop(db);
        gatehouse.launch()?;
        // The start itself is recorded, and repairs nothing: after a foreign head it leaves a gap.
        for turn in 0..2 {
            let output = gatehouse.run_as_operator(&["--json", "audit", "verify"])?;
            let verdict: Value = serde_json::from_slice(&output.stdout)?;
            ensure!(!output.status.success() && verdict["result"] == "broken", "{what}: {verdict}");
            ensure!(
                verdict["seq"] == first,
                "{what}, turn {turn}: {verdict}, not {first}; {:#}",
                gatehouse.ask(&["audit", "list"])?
            );
            gatehouse.add_client(&format!("turn {turn}"))?;
        }
        gatehouse.stop()?;
    }
    Ok(())
}

/// Tried: the allowed definition rewritten in the database, so that the approval request for a changed
/// tool shows hardly any change. Stopped by: the fingerprint in the sealed permissions; a text with
/// another fingerprint is not shown, and the whole tool is shown as new.
#[test]
fn detects_rewritten_tool_definition() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "changes-tools"])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.stop()?;
    let changed = ledger(&gatehouse)?.execute(
        "UPDATE definitions SET definition = replace(definition, 'Gives its arguments back.', ?1) WHERE definition LIKE '%Gives its arguments back.%'",
        [fixture::CHANGED_DESCRIPTION],
    )?;
    ensure!(changed > 0, "no definition was kept");
    gatehouse.launch()?;
    gatehouse.await_status("raw", "connected")?;
    http::stateless_request(&gatehouse.endpoint, &token, "tools/call", r#""name":"mutate","arguments":{}"#)?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !gatehouse.ask(&["tools", "list"])?.to_string().contains(fixture::CHANGED_DESCRIPTION) {
        ensure!(Instant::now() < deadline, "the change was never noticed");
    }
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, fixture::CHANGED_TOOL, "{}");
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let changes = question["request"]["changes"].as_array().context("no changes")?;
    let whole = changes.iter().any(|change| {
        change["pointer"] == "/description"
            && change["before"].is_null()
            && change["after"].to_string().contains(fixture::CHANGED_DESCRIPTION)
    });
    ensure!(whole, "the forged text is believed: {question:#}");
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    ensure!(call.end()?.body.contains(r#""isError":true"#), "the changed tool ran");
    Ok(())
}

/// Tried: the files without a seal: client time-outs, and names of tools, so that the name of an allowed
/// tool leads to another one. Stopped by: neither grants anything; the grant is for the tool's own name,
/// so the other tool needs approval and is shown as what it is.
#[test]
fn unsealed_files_confer_no_permissions() -> Result<()> {
    let (mut gatehouse, token) = with_a_grant()?;
    let names = gatehouse.data_dir().join("tool-names.json");
    let kept = fs::read_to_string(&names)?;
    let exposed = |name: &str| format!(r#""exposed":"{name}""#);
    let packed = serde_json::from_str::<Value>(&kept)?.to_string();
    let swapped = packed
        .replace(&exposed("list_notes"), &exposed("swap"))
        .replace(&exposed("add_note"), &exposed("list_notes"))
        .replace(&exposed("swap"), &exposed("add_note"));
    ensure!(swapped != packed, "the names are not there: {kept}");
    let waits = gatehouse.data_dir().join("client-waits.json");
    for forged in [r#"{"version":1,"clients":{}}"#, "{", r#"{"version":99}"#, "\u{0}"] {
        fs::write(&names, &swapped)?;
        fs::write(&waits, forged)?;
        gatehouse.launch()?;
        gatehouse.await_status("Notes", "connected")?;
        let call =
            http::BackgroundCall::call(&gatehouse.endpoint, &token, "list_notes", r#"{"text":"swapped"}"#);
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(question["request"]["subject"]["name"] == "add_note", "it is shown as another: {question:#}");
        gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
        ensure!(call.end()?.body.contains(r#""isError":true"#), "{forged}: it ran");
        gatehouse.stop()?;
    }
    Ok(())
}
