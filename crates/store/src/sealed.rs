//! Records that grant permissions, sealed so that a modified or an old copy is detected (PERM-16).
//!
//! The body is in the database with a counter and an HMAC-SHA256 over both. The key and the last counter are
//! in the secret store, in one item. A save writes the body with counter n+1 first and then the counter n+1
//! to the secret store. A crash in between leaves a body that is one ahead; it is accepted once, and the
//! counter is then advanced. Anything else that doesn't match is rejected: there is no way to read a record
//! without verifying its seal.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use gatehouse_model::Secret;
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::error::{SealError, SecretError, StoreError};
use crate::secrets::{SecretKey, SecretStore, SecretStoreKind};
use crate::store::Owner;

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

/// Where the seals of one data folder and one owner are stored.
#[derive(Clone)]
pub(crate) struct SealContext {
    pub(crate) ledger: Arc<Mutex<Connection>>,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) owner: Owner,
    /// Hash of the folder's path, part of the keys: a copy of the folder elsewhere grants nothing, and an
    /// emptied folder is detected.
    folder: String,
}

impl SealContext {
    pub(crate) fn new(
        dir: &Path,
        owner: Owner,
        ledger: Arc<Mutex<Connection>>,
        secrets: Arc<dyn SecretStore>,
    ) -> Self {
        let folder = hex::encode(Sha256::digest(dir.as_os_str().as_encoded_bytes()));
        Self { ledger, secrets, owner, folder: folder[..32].to_owned() }
    }

    /// The identifier of the folder in keys of the secret store.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    pub(crate) fn key(&self, field: &str) -> SecretKey {
        SecretKey::new("seal", &self.folder, field)
    }

    /// The key that seals single rows of a table, if one was ever made.
    ///
    /// # Errors
    /// When the secret store does not answer, or keeps something else there.
    pub(crate) fn row_key(&self, table: &str) -> Result<Option<RowKey>, SecretError> {
        let kept = SealSecret::read(&*self.secrets, &self.row_key_name(table))?;
        Ok(kept.map(|kept| RowKey(kept.key)))
    }

    /// The same; made where there is none. One caller at a time for each table.
    ///
    /// # Errors
    /// As [`SealContext::row_key`]; also when the system gives no random bytes.
    pub(crate) fn row_key_or_new(&self, table: &str) -> Result<RowKey, SecretError> {
        if let Some(key) = self.row_key(table)? {
            return Ok(key);
        }
        let fresh =
            SealSecret::fresh().map_err(|error| SecretError::Refused { reason: error.to_string() })?;
        fresh.write(&*self.secrets, &self.row_key_name(table))?;
        Ok(RowKey(fresh.key))
    }

    fn row_key_name(&self, table: &str) -> SecretKey {
        self.key(&format!("{table}/{}", self.owner.as_str()))
    }
}

/// Seals rows of a table one by one, for one data folder and one owner. It tells what this owner wrote from what
/// somebody else did, and not whether a row is an old one or missing.
pub(crate) struct RowKey(Zeroizing<[u8; 32]>);

impl RowKey {
    /// The HMAC-SHA256 of a row with these columns.
    pub(crate) fn mac(&self, columns: &[&str]) -> [u8; 32] {
        self.hmac(columns).finalize().into_bytes().into()
    }

    /// Whether a MAC is that of a row with these columns.
    pub(crate) fn is_mac_valid(&self, columns: &[&str], mac: &[u8]) -> bool {
        self.hmac(columns).verify_slice(mac).is_ok()
    }

    fn hmac(&self, columns: &[&str]) -> Hmac<Sha256> {
        let mut mac = hmac_with_key(&self.0);
        mac.update(b"gatehouse sealed row 1");
        for column in columns {
            mac.update(&(column.len() as u64).to_be_bytes());
            mac.update(column.as_bytes());
        }
        mac
    }
}

/// What the secret store keeps for one record; for the rows of a table the counter stays 0.
struct SealSecret {
    key: Zeroizing<[u8; 32]>,
    counter: u64,
}

impl SealSecret {
    fn fresh() -> Result<Self, StoreError> {
        Ok(Self { key: Zeroizing::new(crate::store::random_bytes()?), counter: 0 })
    }

    fn read(secrets: &dyn SecretStore, name: &SecretKey) -> Result<Option<Self>, SecretError> {
        let Some(text) = secrets.get(name)? else { return Ok(None) };
        let damaged = || SecretError::Damaged { reason: "the key of a seal is not one".to_owned() };
        let (key, counter) = text.reveal().split_once(':').ok_or_else(damaged)?;
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(key, &mut *bytes).map_err(|_| damaged())?;
        Ok(Some(Self { key: bytes, counter: counter.parse().map_err(|_| damaged())? }))
    }

    fn write(&self, secrets: &dyn SecretStore, name: &SecretKey) -> Result<(), SecretError> {
        let text = format!("{}:{}", hex::encode(*self.key), self.counter);
        secrets.set(name, &Secret::new(text))
    }
}

/// What the database keeps for one record.
struct SealedRow {
    counter: u64,
    body: Vec<u8>,
    mac: Vec<u8>,
}

impl<T: Serialize + DeserializeOwned> Sealed<T> {
    pub(crate) fn new(place: &SealContext, what: &str) -> Self {
        // Seals of a memory store are lost with it. They have names of their own, so that they don't conflict
        // with persistent ones.
        let record = match place.secrets.kind() {
            SecretStoreKind::Memory => format!("{what}/{}/memory", place.owner.as_str()),
            SecretStoreKind::Keychain | SecretStoreKind::Vault => format!("{what}/{}", place.owner.as_str()),
        };
        Self {
            ledger: Arc::clone(&place.ledger),
            secrets: Arc::clone(&place.secrets),
            key: place.key(&record),
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
        let kept = self.load_seal_secret().map_err(|cause| self.locked(cause))?;
        let Some((row, kept)) = self.match_stores(row, kept)? else {
            return Ok(None);
        };
        if row.counter != kept.counter {
            // The save that wrote this body was interrupted. Complete it, so that the previous copy counts as
            // old.
            self.store_seal_secret(&SealSecret { key: kept.key, counter: row.counter })
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
        let mut kept = match self.load_seal_secret()? {
            Some(kept) => kept,
            None => {
                let fresh = SealSecret::fresh()?;
                self.store_seal_secret(&fresh)?;
                fresh
            }
        };
        let settled = match &before {
            Some(row) => row.counter == kept.counter && self.is_mac_valid(row, &kept.key),
            None => kept.counter == 0,
        };
        if !settled {
            // A body with the next counter may exist already, so that counter is skipped.
            kept.counter = kept.counter.saturating_add(1);
            self.store_seal_secret(&kept)?;
        }
        let next = kept.counter.saturating_add(1);
        let mac = self.mac(&kept.key, next, &body).to_vec();
        self.write(&SealedRow { counter: next, body, mac })?;
        kept.counter = next;
        if let Err(error) = self.store_seal_secret(&kept) {
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
        kept: Option<SealSecret>,
    ) -> Result<Option<(SealedRow, SealSecret)>, SealError> {
        let record = || self.record.clone();
        let (row, kept) = match (row, kept) {
            (None, None) => return Ok(None),
            (None, Some(kept)) if kept.counter == 0 => return Ok(None),
            (None, Some(_)) => return Err(SealError::Gone { record: record() }),
            (Some(_), None) if self.secrets.kind() == SecretStoreKind::Memory => return Ok(None),
            (Some(_), None) => return Err(SealError::MissingKey { record: record() }),
            (Some(row), Some(kept)) => (row, kept),
        };
        if !self.is_mac_valid(&row, &kept.key) {
            return Err(SealError::BadMac { record: record() });
        }
        if row.counter == kept.counter || row.counter == kept.counter.saturating_add(1) {
            Ok(Some((row, kept)))
        } else {
            Err(SealError::OldCopy { record: record(), found: row.counter, kept: kept.counter })
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

    fn store_seal_secret(&self, kept: &SealSecret) -> Result<(), SecretError> {
        kept.write(&*self.secrets, &self.key)
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

/// HMAC-SHA256 with this key, which is padded with zeros to the block length (RFC 2104).
pub(crate) fn hmac_with_key(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    Hmac::new((&*block).into())
}
