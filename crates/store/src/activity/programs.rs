//! From which programs the calls of a client came that were let through. It outlives the records that it is
//! made of, so that a token in other hands is marked long after (PERM-9).

use gatehouse_model::{CallRecord, ClientId, Decision};
use rusqlite::{Connection, params};

use super::Activity;
use crate::error::StoreError;

impl Activity {
    /// The programs that calls of a client came from and were let through, the latest first. Blocks on the
    /// disk. Calls of the last 200 ms may be missing.
    ///
    /// # Errors
    /// When the database refuses.
    pub fn programs_of(&self, client: &ClientId) -> Result<Vec<String>, StoreError> {
        let reader = self.reader.lock();
        let mut query =
            reader.prepare_cached("SELECT program FROM programs WHERE client = ?1 ORDER BY at DESC")?;
        let programs = query.query_map([client.as_str()], |row| row.get(0))?;
        Ok(programs.collect::<Result<_, _>>()?)
    }
}

/// Notes the program of a call that was let through.
pub(super) fn note(connection: &Connection, record: &CallRecord) -> Result<(), StoreError> {
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
