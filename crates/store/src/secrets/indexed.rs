//! A persistent secret store with an index of the names of servers' secrets and sign-ins, since a keychain
//! can't list what it contains. A name is added before its secret is stored, and removed after the secret was
//! deleted, so that what a crash, a locked keychain or a late browser response left behind is found and
//! deleted. The index contains no secrets and grants nothing. Anyone who can write files can change it, so
//! only secrets of servers are ever deleted because of it, and none that a server uses.

use std::collections::HashSet;
use std::sync::Arc;

use gatehouse_model::Secret;
use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::{SecretKey, SecretKind, SecretStore};
use crate::error::{SecretError, StoreError};
use crate::store::Owner;

pub(crate) struct Indexed {
    inner: Arc<dyn SecretStore>,
    ledger: Arc<Mutex<Connection>>,
    /// Owner and kind of store. Each combination has servers of its own.
    place: String,
}

impl Indexed {
    pub(crate) fn new(inner: Arc<dyn SecretStore>, ledger: Arc<Mutex<Connection>>, owner: Owner) -> Self {
        let place = format!("{}/{}", owner.word(), inner.kind().word());
        Self { inner, ledger, place }
    }

    /// Deletes each server secret that isn't in use, and returns the number of deleted ones.
    ///
    /// # Errors
    /// When the disk or the store refuses; the rest is deleted the next time.
    pub(crate) fn sweep(&self, in_use: &HashSet<SecretKey>) -> Result<usize, StoreError> {
        let is_left = |key: &SecretKey| key.is_of_a_server() && !in_use.contains(key);
        let left: Vec<SecretKey> = self.listed()?.into_iter().filter(is_left).collect();
        for key in &left {
            self.delete(key)?;
        }
        Ok(left.len())
    }

    fn listed(&self) -> Result<Vec<SecretKey>, StoreError> {
        let ledger = self.ledger.lock();
        let mut query = ledger.prepare_cached("SELECT secret FROM kept_secrets WHERE place = ?1")?;
        // A value of another type wasn't written by us and is skipped.
        let names =
            query.query_map([&self.place], |row| Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned)))?;
        let names = names.collect::<rusqlite::Result<Vec<Option<String>>>>()?;
        Ok(names.into_iter().flatten().map(SecretKey::of_account).collect())
    }

    /// Adds a name, unless it is in the index.
    fn list(&self, key: &SecretKey) -> rusqlite::Result<()> {
        let ledger = self.ledger.lock();
        let is_there = ledger
            .prepare_cached("SELECT 1 FROM kept_secrets WHERE place = ?1 AND secret = ?2")?
            .exists(params![self.place, key.account()])?;
        if !is_there {
            ledger
                .prepare_cached("INSERT INTO kept_secrets (place, secret) VALUES (?1, ?2)")?
                .execute(params![self.place, key.account()])?;
        }
        Ok(())
    }

    fn strike(&self, key: &SecretKey) -> rusqlite::Result<()> {
        self.ledger
            .lock()
            .prepare_cached("DELETE FROM kept_secrets WHERE place = ?1 AND secret = ?2")?
            .execute(params![self.place, key.account()])?;
        Ok(())
    }
}

impl SecretStore for Indexed {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.inner.get(key)
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        if key.is_of_a_server() {
            self.list(key).map_err(|error| SecretError::Refused { reason: error.to_string() })?;
        }
        self.inner.set(key, secret)
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.inner.delete(key)?;
        if key.is_of_a_server()
            && let Err(error) = self.strike(key)
        {
            // The secret is deleted; its name is removed the next time that it is deleted.
            tracing::warn!(%error, "the name of a deleted secret could not be struck off");
        }
        Ok(())
    }

    fn kind(&self) -> SecretKind {
        self.inner.kind()
    }

    fn change_passphrase(&self, old: &Secret, new: &Secret) -> Result<(), SecretError> {
        self.inner.change_passphrase(old, new)
    }
}
