//! Which tools (and other subjects) were ever permitted, by server and name, and when each rule last decided
//! a call.
//!
//! The first is kept longer than the call records, so that a tool in daily use isn't reported as new because
//! its first records were deleted. The second is deleted along with the records.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{CallRecord, Decision, GrantId, ServerId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::Activity;
use crate::error::StoreError;

impl Activity {
    /// Whether a call to this subject (server and the name used in rules) was ever permitted. Blocks on the
    /// disk. Calls of the last 200 ms may be missing.
    pub fn was_allowed(&self, server: &ServerId, name: &str) -> Result<bool, StoreError> {
        let reader = self.reader.lock();
        let mut query = reader.prepare_cached("SELECT 1 FROM used WHERE server = ?1 AND name = ?2")?;
        Ok(query.query_row(params![server.as_str(), name], |_| Ok(())).optional()?.is_some())
    }

    /// When each rule last decided a call, within the retention of the call records. Blocks on the disk.
    /// Calls of the last 200 ms may be missing.
    pub fn rules_used(&self) -> Result<Vec<(GrantId, Timestamp)>, StoreError> {
        let reader = self.reader.lock();
        let mut query = reader.prepare_cached("SELECT rule, at FROM rule_used")?;
        let used = query.query_map([], |row| {
            let rule: String = row.get(0)?;
            Ok((GrantId::new(rule), Timestamp(row.get(1)?)))
        })?;
        Ok(used.collect::<Result<_, _>>()?)
    }
}

/// Records permitted calls, and the rules that decided calls: each subject and each rule once.
pub(super) fn record_calls(connection: &Connection, records: &[CallRecord]) -> Result<(), StoreError> {
    let mut allowed = BTreeSet::new();
    let mut rules = BTreeMap::new();
    for record in records {
        if record.verdict.decision == Decision::Allow {
            allowed.insert((record.server.as_str(), record.subject.rule_name()));
        }
        if let Some(rule) = record.verdict.rule.deciding_grant() {
            let at = rules.entry(rule.as_str()).or_insert(record.at);
            *at = record.at.max(*at);
        }
    }
    let mut insert =
        connection.prepare_cached("INSERT OR IGNORE INTO used (server, name) VALUES (?1, ?2)")?;
    for (server, name) in allowed {
        insert.execute(params![server, name])?;
    }
    let mut update = connection.prepare_cached(
        "INSERT INTO rule_used (rule, at) VALUES (?1, ?2)
         ON CONFLICT (rule) DO UPDATE SET at = MAX(at, excluded.at)",
    )?;
    for (rule, at) in rules {
        update.execute(params![rule, at.0])?;
    }
    Ok(())
}

/// Deletes the times of rules that decided no call since then.
pub(super) fn prune(connection: &Connection, before: Timestamp) -> Result<(), StoreError> {
    connection.execute("DELETE FROM rule_used WHERE at < ?1", [before.0])?;
    Ok(())
}
