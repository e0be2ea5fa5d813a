//! Records that grant permissions, sealed so that a modified or an old copy is detected (PERM-16).
//!
//! The body is in the database with a counter and an HMAC-SHA256 over both. The key and the last counter are
//! in the secret store, in one item. A save writes the body with counter n+1 first and then the counter n+1
//! to the secret store. A crash in between leaves a body that is one ahead; it is accepted once, and the
//! counter is then advanced. Anything else that doesn't match is rejected: there is no way to read a record
//! without verifying its seal.

use std::marker::PhantomData;
use std::sync::Arc;

use hmac::{Hmac, Mac};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use super::context::{SealContext, SealSecret, hmac_with_key};
use crate::error::{SealError, SecretError, StoreError};
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};

/// A record that is only trusted with a valid seal. All calls block on the disk and on the secret store.
pub struct Sealed<T> {
    ledger: Arc<Mutex<Connection>>,
    secrets: Arc<dyn SecretStore>,
    record: String,
    key: SecretKey,
    /// Serializes loads and saves, so that the database isn't locked while a keychain call takes its time.
    io_lock: Mutex<()>,
    content: PhantomData<fn() -> T>,
}

/// The row of one record in the database.
struct SealedRow {
    counter: u64,
    body: Vec<u8>,
    mac: Vec<u8>,
}

impl<T: Serialize + DeserializeOwned> Sealed<T> {
    pub(crate) fn new(seals: &SealContext, name: &str) -> Self {
        // Seals of a memory store are lost with it. They have names of their own, so that they don't conflict
        // with persistent ones.
        let record = match seals.secrets.kind() {
            SecretStoreKind::Memory => format!("{name}/{}/memory", seals.owner.as_str()),
            SecretStoreKind::Keychain | SecretStoreKind::Vault => format!("{name}/{}", seals.owner.as_str()),
        };
        Self {
            ledger: Arc::clone(&seals.ledger),
            secrets: Arc::clone(&seals.secrets),
            key: seals.key(&record),
            record,
            io_lock: Mutex::new(()),
            content: PhantomData,
        }
    }

    /// The record, if one was ever sealed.
    ///
    /// # Errors
    /// When it exists and is rejected, or can't be verified. The caller must then act as if it granted
    /// nothing.
    pub fn load(&self) -> Result<Option<T>, SealError> {
        let _guard = self.io_lock.lock();
        let row = self.load_row().map_err(|e| self.unreadable(&e.to_string()))?;
        let stored = self.load_seal_secret().map_err(|cause| self.locked(cause))?;
        let Some((row, stored)) = self.match_stores(row, stored)? else {
            return Ok(None);
        };
        if row.counter != stored.counter {
            // The save that wrote this body was interrupted. Complete it, so that the previous copy counts as
            // old.
            self.store_seal_secret(&SealSecret { key: stored.key, counter: row.counter })
                .map_err(|cause| self.locked(cause))?;
        }
        serde_json::from_slice(&row.body).map(Some).map_err(|e| self.unreadable(&e.to_string()))
    }

    /// Seals a record in place of the previous one, which must be valid. Durable on return; after an error
    /// the previous record is valid, or (if not even that could be restored) none is.
    ///
    /// # Errors
    /// [`StoreError::Seal`] if the existing record is rejected; otherwise when the disk or the secret store
    /// refuses.
    pub fn save(&self, content: &T) -> Result<(), StoreError> {
        let _guard = self.io_lock.lock();
        self.match_stores(self.load_row()?, self.load_seal_secret()?)?;
        self.write_sealed(content)
    }

    /// As [`Self::save`], but also replaces a record that is rejected. Only for actions of the user, since it
    /// puts a valid record in place of one that was found to be forged.
    ///
    /// # Errors
    /// When the disk or the secret store refuses.
    pub fn overwrite(&self, content: &T) -> Result<(), StoreError> {
        let _guard = self.io_lock.lock();
        self.write_sealed(content)
    }

    fn write_sealed(&self, content: &T) -> Result<(), StoreError> {
        let body = serde_json::to_vec(content)?;
        let before = self.load_row()?;
        let mut stored = match self.load_seal_secret()? {
            Some(stored) => stored,
            None => {
                let fresh = SealSecret::fresh()?;
                self.store_seal_secret(&fresh)?;
                fresh
            }
        };
        let settled = match &before {
            Some(row) => row.counter == stored.counter && self.is_mac_valid(row, &stored.key),
            None => stored.counter == 0,
        };
        if !settled {
            // A body with the next counter may exist already, so that counter is skipped.
            stored.counter = stored.counter.saturating_add(1);
            self.store_seal_secret(&stored)?;
        }
        let next = stored.counter.saturating_add(1);
        let mac = self.mac(&stored.key, next, &body).to_vec();
        self.write(&SealedRow { counter: next, body, mac })?;
        stored.counter = next;
        if let Err(error) = self.store_seal_secret(&stored) {
            let undone = match &before {
                Some(row) => self.write(row),
                None => self.delete_row(),
            };
            if let Err(second) = undone {
                tracing::error!(record = %self.record, error = %second, "a failed save could not be undone");
            }
            return Err(error.into());
        }
        Ok(())
    }

    /// Verifies that the two parts match; `None` if nothing was ever sealed.
    fn match_stores(
        &self,
        row: Option<SealedRow>,
        stored: Option<SealSecret>,
    ) -> Result<Option<(SealedRow, SealSecret)>, SealError> {
        let record = || self.record.clone();
        let (row, stored) = match (row, stored) {
            (None, None) => return Ok(None),
            (None, Some(stored)) if stored.counter == 0 => return Ok(None),
            (None, Some(_)) => return Err(SealError::Gone { record: record() }),
            (Some(_), None) if self.secrets.kind() == SecretStoreKind::Memory => return Ok(None),
            (Some(_), None) => return Err(SealError::MissingKey { record: record() }),
            (Some(row), Some(stored)) => (row, stored),
        };
        if !self.is_mac_valid(&row, &stored.key) {
            return Err(SealError::BadMac { record: record() });
        }
        if row.counter == stored.counter || row.counter == stored.counter.saturating_add(1) {
            Ok(Some((row, stored)))
        } else {
            Err(SealError::OldCopy { record: record(), found: row.counter, kept: stored.counter })
        }
    }

    fn load_row(&self) -> rusqlite::Result<Option<SealedRow>> {
        self.ledger
            .lock()
            .prepare_cached("SELECT counter, body, mac FROM sealed WHERE name = ?1")?
            .query_row([&self.record], |row| {
                // A value of another type wasn't written by us. It is read as empty, so the seal won't match.
                let bytes = |column| {
                    Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_bytes().unwrap_or_default().to_vec())
                };
                let counter = row.get_ref(0)?.as_i64().ok().and_then(|counter| u64::try_from(counter).ok());
                Ok(SealedRow { counter: counter.unwrap_or(u64::MAX), body: bytes(1)?, mac: bytes(2)? })
            })
            .optional()
    }

    fn write(&self, row: &SealedRow) -> Result<(), StoreError> {
        let counter = i64::try_from(row.counter).unwrap_or(i64::MAX);
        self.ledger
            .lock()
            .prepare_cached(
                "INSERT OR REPLACE INTO sealed (name, counter, body, mac) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![self.record, counter, row.body, row.mac])?;
        Ok(())
    }

    fn delete_row(&self) -> Result<(), StoreError> {
        self.ledger.lock().execute("DELETE FROM sealed WHERE name = ?1", [&self.record])?;
        Ok(())
    }

    fn load_seal_secret(&self) -> Result<Option<SealSecret>, SecretError> {
        SealSecret::read(&*self.secrets, &self.key)
    }

    fn store_seal_secret(&self, secret: &SealSecret) -> Result<(), SecretError> {
        secret.write(&*self.secrets, &self.key)
    }

    fn is_mac_valid(&self, row: &SealedRow, key: &[u8; 32]) -> bool {
        self.hmac(key, row.counter, &row.body).verify_slice(&row.mac).is_ok()
    }

    fn mac(&self, key: &[u8; 32], counter: u64, body: &[u8]) -> [u8; 32] {
        self.hmac(key, counter, body).finalize().into_bytes().into()
    }

    fn hmac(&self, key: &[u8; 32], counter: u64, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = hmac_with_key(key);
        mac.update(b"gatehouse sealed record 1");
        mac.update(&(self.record.len() as u64).to_be_bytes());
        mac.update(self.record.as_bytes());
        mac.update(&counter.to_be_bytes());
        mac.update(body);
        mac
    }

    fn locked(&self, cause: SecretError) -> SealError {
        SealError::Locked { record: self.record.clone(), cause }
    }

    fn unreadable(&self, cause: &str) -> SealError {
        SealError::Unreadable { record: self.record.clone(), cause: cause.to_owned() }
    }
}
