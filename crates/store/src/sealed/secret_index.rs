//! A persistent secret store with an index: the names of the secrets and sign-ins of servers and of the keys of model
//! providers in it, since a keychain can't be listed. A name is written before its secret is stored, and removed after the secret was deleted. So what a
//! crash, a locked keychain or a late response of a browser left behind is found and deleted.
//!
//! The index contains no secret, and anybody who can write files can change it. A name contains neither folder nor
//! owner, so a forged row could name a secret that is in use elsewhere. Therefore each row has a MAC under a key of
//! this folder and owner: a row that this owner didn't write never leads to a deletion. Nor is anything deleted but
//! secrets that no server and no model provider uses.

use std::collections::HashSet;

use gatehouse_model::Secret;
use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::context::{RowKey, SealContext};
use crate::error::{SecretError, StoreError};
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};

/// Maximum number of secrets that one sweep deletes, so that a slow keychain doesn't delay a start for long.
const MAX_PER_SWEEP: usize = 1_000;
/// The table of the index; part of the name of its key.
const TABLE: &str = "kept_secrets";

pub(crate) struct IndexedSecrets {
    seals: SealContext,
    /// Owner and kind of store, each of which has servers of its own. The column `place`.
    scope: String,
    /// Held while a row and its secret are changed together, so that a deletion doesn't remove the name of a secret
    /// that was just stored. The ledger isn't locked while a keychain takes its time.
    change_lock: Mutex<()>,
}

impl IndexedSecrets {
    pub(crate) fn new(seals: SealContext) -> Self {
        let scope = format!("{}/{}", seals.owner.as_str(), seals.secrets.kind().as_str());
        Self { seals, scope, change_lock: Mutex::new(()) }
    }

    /// Deletes listed secrets that aren't in use, up to [`MAX_PER_SWEEP`], and returns their number. One that
    /// can't be deleted doesn't keep the others.
    ///
    /// # Errors
    /// When the index or its key can't be read; nothing is deleted then. Otherwise the first error of the store; what
    /// is left is deleted the next time.
    pub(crate) fn sweep(&self, in_use: &HashSet<SecretKey>) -> Result<usize, StoreError> {
        let Some(row_key) = self.seals.row_key(TABLE)? else { return Ok(0) };
        let is_unused = |key: &SecretKey| key.is_listed() && !in_use.contains(key);
        let mut count = 0;
        let mut first_error = None;
        for key in self.listed(&row_key)?.into_iter().filter(is_unused).take(MAX_PER_SWEEP) {
            match self.delete(&key) {
                Ok(()) => count += 1,
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match first_error {
            Some(error) => Err(StoreError::Secret(error)),
            None => Ok(count),
        }
    }

    /// The names that this owner wrote. Rows without a valid MAC are skipped and removed.
    fn listed(&self, row_key: &RowKey) -> Result<Vec<SecretKey>, StoreError> {
        let mut ledger = self.seals.ledger.lock();
        let transaction = ledger.transaction()?;
        let mut names = Vec::new();
        let mut foreign = 0_usize;
        {
            let mut query =
                transaction.prepare_cached("SELECT secret, mac FROM kept_secrets WHERE place = ?1")?;
            let mut rows = query.query([&self.scope])?;
            while let Some(row) = rows.next()? {
                // A value of another type wasn't written by us. No MAC is valid for it.
                let mac = row.get_ref(1)?.as_bytes().unwrap_or_default();
                match row.get_ref(0)?.as_str() {
                    Ok(name) if row_key.is_mac_valid(&[self.scope.as_str(), name], mac) => {
                        names.push(SecretKey::of_account(name.to_owned()));
                    }
                    _ => foreign += 1,
                }
            }
        }
        if foreign > 0 {
            tracing::warn!(foreign, "rows in the index of secrets were not written by this owner");
            transaction.execute("DELETE FROM kept_secrets WHERE place = ?1", [&self.scope])?;
            for name in &names {
                self.write(&transaction, row_key, name)?;
            }
            transaction.commit()?;
        }
        Ok(names)
    }

    /// Writes a name, unless it is there with a valid MAC.
    fn insert(&self, row_key: &RowKey, key: &SecretKey) -> rusqlite::Result<()> {
        let ledger = self.seals.ledger.lock();
        let mac = self.mac(row_key, key);
        let exists = ledger
            .prepare_cached("SELECT 1 FROM kept_secrets WHERE place = ?1 AND secret = ?2 AND mac = ?3")?
            .exists(params![self.scope, key.account(), mac])?;
        if exists { Ok(()) } else { self.write(&ledger, row_key, key) }
    }

    fn write(&self, ledger: &Connection, row_key: &RowKey, key: &SecretKey) -> rusqlite::Result<()> {
        ledger
            .prepare_cached("INSERT OR REPLACE INTO kept_secrets (place, secret, mac) VALUES (?1, ?2, ?3)")?
            .execute(params![self.scope, key.account(), self.mac(row_key, key)])?;
        Ok(())
    }

    fn mac(&self, row_key: &RowKey, key: &SecretKey) -> [u8; 32] {
        row_key.mac(&[self.scope.as_str(), key.account()])
    }

    fn remove(&self, key: &SecretKey) -> rusqlite::Result<()> {
        self.seals
            .ledger
            .lock()
            .prepare_cached("DELETE FROM kept_secrets WHERE place = ?1 AND secret = ?2")?
            .execute(params![self.scope, key.account()])?;
        Ok(())
    }
}

impl SecretStore for IndexedSecrets {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.seals.secrets.get(key)
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        if !key.is_listed() {
            return self.seals.secrets.set(key, secret);
        }
        let _guard = self.change_lock.lock();
        let row_key = self.seals.row_key_or_new(TABLE)?;
        self.insert(&row_key, key).map_err(|error| SecretError::refused(error.to_string()))?;
        self.seals.secrets.set(key, secret)
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        if !key.is_listed() {
            return self.seals.secrets.delete(key);
        }
        let _guard = self.change_lock.lock();
        self.seals.secrets.delete(key)?;
        if let Err(error) = self.remove(key) {
            // The secret is deleted. Its name is removed by the next sweep.
            tracing::warn!(%error, "the name of a deleted secret could not be removed");
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
    fn limits_a_sweep_and_continues_with_the_next() {
        let ledger = Connection::open_in_memory().unwrap();
        for step in LEDGER_MIGRATIONS {
            ledger.execute_batch(step).unwrap();
        }
        let ledger = Arc::new(Mutex::new(ledger));
        let seals = SealContext::new(Path::new("folder"), Owner::Window, ledger, memory());
        let indexed = IndexedSecrets::new(seals);
        for number in 0..MAX_PER_SWEEP + 5 {
            let key = SecretKey::new("server", "a", &format!("env/{number}"));
            indexed.set(&key, &Secret::new("s")).unwrap();
        }
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), MAX_PER_SWEEP);
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), 5);
        assert_eq!(indexed.sweep(&HashSet::new()).unwrap(), 0);
    }
}
