//! What was ever let through, by server and name. It outlives the records that it is made of, so that
//! a tool in daily use is not called new because its first calls were dropped.

use gatehouse_model::{CallRecord, Decision, ServerId};
use rusqlite::{Connection, OptionalExtension, params};

use super::Activity;
use crate::error::StoreError;

impl Activity {
    /// Whether something of a server, by the name that rules go by, was ever let through. Blocks on
    /// the disk. Calls of the last 200 ms may be missing.
    ///
    /// # Errors
    /// When the database refuses.
    pub fn was_allowed(&self, server: &ServerId, name: &str) -> Result<bool, StoreError> {
        let reader = self.reader.lock();
        let mut query = reader.prepare_cached("SELECT 1 FROM used WHERE server = ?1 AND name = ?2")?;
        Ok(query.query_row(params![server.as_str(), name], |_| Ok(())).optional()?.is_some())
    }
}

/// Notes a call that was let through.
pub(super) fn note(connection: &Connection, record: &CallRecord) -> Result<(), StoreError> {
    if record.verdict.decision == Decision::Allow {
        connection
            .prepare_cached("INSERT OR IGNORE INTO used (server, name) VALUES (?1, ?2)")?
            .execute(params![record.server.as_str(), record.subject.rule_name()])?;
    }
    Ok(())
}
