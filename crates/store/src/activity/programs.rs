//! The programs from which permitted calls of each client came. Kept longer than the call records, so that
//! the use of a stolen token by another program is recognised even after the records are gone (PERM-9).

use std::collections::BTreeMap;

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

/// Records the programs of permitted calls, each once for its client.
pub(super) fn record_calls(connection: &Connection, records: &[CallRecord]) -> Result<(), StoreError> {
    let mut programs = BTreeMap::new();
    for record in records {
        if let Some(program) = record.program.as_ref().filter(|_| record.verdict.decision == Decision::Allow)
        {
            let at = programs.entry((record.client.as_str(), program)).or_insert(record.at);
            *at = record.at.max(*at);
        }
    }
    let mut update = connection.prepare_cached(
        "INSERT INTO programs (client, program, at) VALUES (?1, ?2, ?3)
         ON CONFLICT (client, program) DO UPDATE SET at = MAX(at, excluded.at)",
    )?;
    for ((client, program), at) in programs {
        update.execute(params![client, program, at.0])?;
    }
    Ok(())
}
