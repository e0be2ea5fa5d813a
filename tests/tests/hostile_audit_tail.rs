//! An agent that may edit files of the same user truncates the audit, to remove the latest decisions.
//! Each test states what the agent tried and what stopped it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use rusqlite::Connection;
use serde_json::Value;

fn ledger(gatehouse: &Gatehouse) -> PathBuf {
    gatehouse.data_dir().join("ledger.db")
}

/// Copies the audit and its head into a separate database.
fn take_copy(gatehouse: &Gatehouse, name: &str) -> Result<PathBuf> {
    let copy = gatehouse.folder("copies")?.join(name);
    let db = Connection::open(ledger(gatehouse))?;
    db.execute("ATTACH ?1 AS copy", [copy.to_str().context("path")?])?;
    db.execute_batch(
        "CREATE TABLE copy.audit AS SELECT * FROM main.audit; CREATE TABLE copy.audit_head AS SELECT * FROM main.audit_head;",
    )?;
    Ok(copy)
}

/// Replaces the present audit by a copy, bypassing the triggers; everything else stays as it is.
fn put_back(gatehouse: &Gatehouse, copy: &Path) -> Result<()> {
    let db = Connection::open(ledger(gatehouse))?;
    db.execute("ATTACH ?1 AS copy", [copy.to_str().context("path")?])?;
    let triggers = db
        .prepare("SELECT name FROM main.sqlite_master WHERE type = 'trigger'")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    for trigger in triggers {
        db.execute_batch(&format!("DROP TRIGGER main.{trigger}"))?;
    }
    db.execute_batch(
        "DELETE FROM main.audit; INSERT INTO main.audit SELECT * FROM copy.audit;
         DELETE FROM main.audit_head; INSERT INTO main.audit_head SELECT * FROM copy.audit_head;",
    )?;
    Ok(())
}

fn last(gatehouse: &Gatehouse) -> Result<i64> {
    Ok(Connection::open(ledger(gatehouse))?.query_row("SELECT MAX(seq) FROM audit", [], |row| row.get(0))?)
}

/// Checks that `verify` names the first missing entry, and that the status reports it.
fn assert_gap_reported(gatehouse: &Gatehouse, first: i64) -> Result<()> {
    let output = gatehouse.run_as_operator(&["--json", "audit", "verify"])?;
    let verdict: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(!output.status.success() && verdict["result"] == "broken", "it passes: {verdict}");
    ensure!(verdict["seq"] == first, "{verdict}, not {first}");
    let problems = gatehouse.problems()?;
    ensure!(problems.contains("audit") && problems.contains("missing"), "nobody is told: {problems}");
    Ok(())
}

/// Tried: the end of the audit cut off and an old copy of its sealed head restored, so that the
/// remaining entries are consistent. Stopped by: the mark beside the key in the secret store, which
/// records how far the audit had come. The first missing entry is named, and the status reports it until
/// the operator acknowledges it; the gap stays in the chain, also after a restart by another process and
/// after more new entries than were cut.
#[test]
fn detects_truncated_audit_with_restored_head() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    for number in 0..3 {
        gatehouse.add_client(&format!("client {number}"))?;
    }
    gatehouse.stop()?;
    let first = last(&gatehouse)? + 1;
    let copy = take_copy(&gatehouse, "old")?;
    gatehouse.launch()?;
    gatehouse.await_status("Notes", "connected")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    gatehouse.stop()?;
    put_back(&gatehouse, &copy)?;
    for turn in 0..3 {
        gatehouse.launch()?;
        assert_gap_reported(&gatehouse, first).with_context(|| format!("turn {turn}"))?;
        for number in 0..10 {
            gatehouse.add_client(&format!("later {turn} {number}"))?;
        }
        assert_gap_reported(&gatehouse, first).with_context(|| format!("turn {turn}, later"))?;
        gatehouse.stop()?;
    }
    gatehouse.launch()?;
    let refused = gatehouse.run_unprivileged(&["audit", "acknowledge"])?;
    ensure!(!refused.status.success(), "anybody may silence it");
    gatehouse.ask(&["audit", "acknowledge"])?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    ensure!(!gatehouse.problems()?.contains("missing"), "it is said for ever");
    ensure!(!gatehouse.run_as_operator(&["audit", "verify"])?.status.success(), "the gap is mended");
    Ok(())
}

/// Tried: the same after Gatehouse was killed, so that it could not record the end of the audit at its
/// stop. Stopped by: the mark that is written every few entries.
#[test]
fn detects_truncation_after_kill() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.stop()?;
    let first = last(&gatehouse)? + 1;
    let copy = take_copy(&gatehouse, "old")?;
    gatehouse.launch()?;
    for number in 0..12 {
        gatehouse.add_client(&format!("client {number}"))?;
    }
    gatehouse.kill()?;
    put_back(&gatehouse, &copy)?;
    gatehouse.launch()?;
    assert_gap_reported(&gatehouse, first)
}

/// Tried: the same while Gatehouse runs. Stopped by: the last entry, which Gatehouse has in memory.
#[test]
fn detects_truncation_while_running() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.add_client("before")?;
    let first = last(&gatehouse)? + 1;
    let copy = take_copy(&gatehouse, "old")?;
    gatehouse.add_client("after")?;
    put_back(&gatehouse, &copy)?;
    assert_gap_reported(&gatehouse, first)?;
    gatehouse.add_client("later")?;
    assert_gap_reported(&gatehouse, first)
}

/// Not an attack: a crash leaves a mark that lags behind.
#[test]
fn accepts_audit_after_crash() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    for number in 0..5 {
        gatehouse.add_client(&format!("client {number}"))?;
    }
    gatehouse.kill()?;
    gatehouse.launch()?;
    ensure!(gatehouse.run_as_operator(&["audit", "verify"])?.status.success(), "{}", gatehouse.stderr());
    ensure!(!gatehouse.problems()?.contains("audit"), "a false alarm");
    Ok(())
}
