//! A lasting store for secrets that has a list of the names under which secrets and sign-ins of servers are kept
//! in it, since a keychain does not tell what it holds. A name is written down before its secret is kept, and
//! struck off after the secret was deleted. So what a crash, a locked keychain or a late answer of a browser left
//! behind is found and deleted.
//!
//! The list holds no secret, and anybody who can write files can change it. A name in a keychain holds neither
//! folder nor owner, so a row that was written in could name a secret that is in use elsewhere. Therefore each row
//! has a MAC under a key of this folder and owner: what this owner did not write is not deleted by the list. Nor is
//! anything but a secret of a server, nor one that a server has a use for.

use std::collections::HashSet;

use gatehouse_model::Secret;
use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::context::{RowKey, SealContext};
use crate::error::{SecretError, StoreError};
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};

/// Secrets that one sweep deletes at most: a start does not wait longer for a slow keychain.
const AT_ONCE: usize = 1_000;
/// What the key of the rows is for.
const TABLE: &str = "kept_secrets";

pub(crate) struct IndexedSecrets {
    seals: SealContext,
    /// Owner and kind of store. Each has servers of its own.
    place: String,
    /// One change of the list together with its secret at a time, so that none is kept whose name a deletion of
    /// the one before strikes off. The ledger itself is not held while a keychain takes its time.
    turn: Mutex<()>,
}

impl IndexedSecrets {
    pub(crate) fn new(seals: SealContext) -> Self {
        let place = format!("{}/{}", seals.owner.as_str(), seals.secrets.kind().as_str());
        Self { seals, place, turn: Mutex::new(()) }
    }

    /// Deletes secrets of servers that are not in use, up to [`AT_ONCE`], and answers how many there were. One
    /// that cannot be deleted does not keep the others.
    ///
    /// # Errors
    /// When the list or its key cannot be read; then nothing is deleted. Else the first refusal of the store; what
    /// is left is deleted the next time.
    pub(crate) fn sweep(&self, in_use: &HashSet<SecretKey>) -> Result<usize, StoreError> {
        let Some(row_key) = self.seals.row_key(TABLE)? else { return Ok(0) };
        let is_left = |key: &SecretKey| key.is_of_a_server() && !in_use.contains(key);
        let mut count = 0;
        let mut refusal = None;
        for key in self.listed(&row_key)?.into_iter().filter(is_left).take(AT_ONCE) {
            match self.delete(&key) {
                Ok(()) => count += 1,
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        match refusal {
            Some(error) => Err(StoreError::Secret(error)),
            None => Ok(count),
        }
    }

    /// The names that this owner wrote down. Other rows in their place are removed.
    fn listed(&self, row_key: &RowKey) -> Result<Vec<SecretKey>, StoreError> {
        let mut ledger = self.seals.ledger.lock();
        let transaction = ledger.transaction()?;
        let mut names = Vec::new();
        let mut foreign = 0_usize;
        {
            let mut query =
                transaction.prepare_cached("SELECT secret, mac FROM kept_secrets WHERE place = ?1")?;
            let mut rows = query.query([&self.place])?;
            while let Some(row) = rows.next()? {
                // What has another shape was not written by us; no MAC fits it.
                let mac = row.get_ref(1)?.as_bytes().unwrap_or_default();
                match row.get_ref(0)?.as_str() {
                    Ok(name) if row_key.is_mac_valid(&[self.place.as_str(), name], mac) => {
                        names.push(SecretKey::of_account(name.to_owned()));
                    }
                    _ => foreign += 1,
                }
            }
        }
        if foreign > 0 {
            tracing::warn!(foreign, "rows in the list of kept secrets were not written by this owner");
            transaction.execute("DELETE FROM kept_secrets WHERE place = ?1", [&self.place])?;
            for name in &names {
                self.write(&transaction, row_key, name)?;
            }
            transaction.commit()?;
        }
        Ok(names)
    }

    /// Writes a name down, if it is not there as this owner writes it.
    fn list(&self, row_key: &RowKey, key: &SecretKey) -> rusqlite::Result<()> {
        let ledger = self.seals.ledger.lock();
        let mac = self.mac(row_key, key);
        let is_there = ledger
            .prepare_cached("SELECT 1 FROM kept_secrets WHERE place = ?1 AND secret = ?2 AND mac = ?3")?
            .exists(params![self.place, key.account(), mac])?;
        if is_there { Ok(()) } else { self.write(&ledger, row_key, key) }
    }

    fn write(&self, ledger: &Connection, row_key: &RowKey, key: &SecretKey) -> rusqlite::Result<()> {
        ledger
            .prepare_cached("INSERT OR REPLACE INTO kept_secrets (place, secret, mac) VALUES (?1, ?2, ?3)")?
            .execute(params![self.place, key.account(), self.mac(row_key, key)])?;
        Ok(())
    }

    fn mac(&self, row_key: &RowKey, key: &SecretKey) -> [u8; 32] {
        row_key.mac(&[self.place.as_str(), key.account()])
    }

    fn strike(&self, key: &SecretKey) -> rusqlite::Result<()> {
        self.seals
            .ledger
            .lock()
            .prepare_cached("DELETE FROM kept_secrets WHERE place = ?1 AND secret = ?2")?
            .execute(params![self.place, key.account()])?;
        Ok(())
    }
}

impl SecretStore for IndexedSecrets {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.seals.secrets.get(key)
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        if !key.is_of_a_server() {
            return self.seals.secrets.set(key, secret);
        }
        let _turn = self.turn.lock();
        let row_key = self.seals.row_key_or_new(TABLE)?;
        self.list(&row_key, key).map_err(|error| SecretError::Refused { reason: error.to_string() })?;
        self.seals.secrets.set(key, secret)
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        if !key.is_of_a_server() {
            return self.seals.secrets.delete(key);
        }
        let _turn = self.turn.lock();
        self.seals.secrets.delete(key)?;
        if let Err(error) = self.strike(key) {
            // The secret is gone; its name is struck off when it is deleted once more.
            tracing::warn!(%error, "the name of a deleted secret could not be struck off");
        }
        Ok(())
    }

    fn kind(&self) -> SecretStoreKind {
        self.seals.secrets.kind()
    }

    fn change_passphrase(&self, old: &Secret, new: &Secret) -> Result<(), SecretError> {
        self.seals.secrets.change_passphrase(old, new)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::data_folder::database::LEDGER_MIGRATIONS;
    use crate::data_folder::owner::Owner;
    use crate::secrets::memory;

    #[test]
    fn a_sweep_has_an_end_and_the_next_one_goes_on() {
        let ledger = Connection::open_in_memory().unwrap();
        for step in LEDGER_MIGRATIONS {
            ledger.execute_batch(step).unwrap();
        }
        let ledger = Arc::new(Mutex::new(ledger));
        let seals = SealContext::new(Path::new("folder"), Owner::Window, ledger, memory());
        let indexed = IndexedSecrets::new(seals);
        for number in 0..AT_ONCE + 5 {
            let key = SecretKey::new("server", "a", &format!("env/{number}"));
            indexed.set(&key, &Secret::new("s")).unwrap();
        }
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), AT_ONCE);
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), 5);
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), 0);
    }
}
