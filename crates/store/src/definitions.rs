//! Tool definitions by fingerprint, so that a changed definition can be shown next to the one that was
//! approved (PERM-8). They grant nothing: the approved fingerprint is in the sealed permissions.

use std::sync::Arc;

use gatehouse_model::Fingerprint;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::StoreError;

/// Tool definitions, each stored once. All calls block on the disk.
pub struct DefinitionStore {
    ledger: Arc<Mutex<Connection>>,
}

impl DefinitionStore {
    pub(crate) fn new(ledger: Arc<Mutex<Connection>>) -> Self {
        Self { ledger }
    }

    /// Stores a definition.
    pub fn keep(&self, fingerprint: &Fingerprint, definition: &str) -> Result<(), StoreError> {
        self.keep_all([(fingerprint, definition)])
    }

    /// Stores several definitions in one transaction.
    ///
    /// # Errors
    /// When the database refuses; then none of them is stored.
    pub fn keep_all<'a>(
        &self,
        definitions: impl IntoIterator<Item = (&'a Fingerprint, &'a str)>,
    ) -> Result<(), StoreError> {
        let mut ledger = self.ledger.lock();
        let transaction = ledger.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT OR IGNORE INTO definitions (fingerprint, definition) VALUES (?1, ?2)",
            )?;
            for (fingerprint, definition) in definitions {
                insert.execute(params![fingerprint.as_str(), definition])?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    /// The definition with this fingerprint, if it was stored.
    pub fn get(&self, fingerprint: &Fingerprint) -> Result<Option<String>, StoreError> {
        let ledger = self.ledger.lock();
        let mut query = ledger.prepare_cached("SELECT definition FROM definitions WHERE fingerprint = ?1")?;
        Ok(query.query_row([fingerprint.as_str()], |row| row.get(0)).optional()?)
    }
}
