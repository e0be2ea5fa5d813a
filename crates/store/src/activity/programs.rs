//! The programs from which permitted calls of each client came. Kept longer than the call records, so that
//! the use of a stolen token by another program is recognised even after the records are gone (PERM-9).

use gatehouse_model::{CallRecord, ClientId, Decision};
use rusqlite::{Connection, params};

use super::Activity;
use crate::error::StoreError;

impl Activity {
    /// The programs from which permitted calls of a client came, latest first. Blocks on the disk. Calls of
    /// the last 200 ms may be missing.
    pub fn programs_of(&self, client: &ClientId) -> Result<Vec<String>, StoreError> {
        let reader = self.reader.lock();
        let mut query =
            reader.prepare_cached("SELECT program FROM programs WHERE client = ?1 ORDER BY at DESC")?;
        let programs = query.query_map([client.as_str()], |row| row.get(0))?;
        Ok(programs.collect::<Result<_, _>>()?)
    }
}

/// Records the program of a permitted call.
pub(super) fn record_call(connection: &Connection, record: &CallRecord) -> Result<(), StoreError> {
    let Some(program) = &record.program else { return Ok(()) };
    if record.verdict.decision == Decision::Allow {
        connection
            .prepare_cached(
                "INSERT INTO programs (client, program, at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (client, program) DO UPDATE SET at = MAX(at, excluded.at)",
            )?
            .execute(params![record.client.as_str(), program, record.at.0])?;
    }
    Ok(())
}
