//! Keys and MACs of the seals of one data folder and one owner. The keys are in the secret store; nothing here
//! ever returns one that it wasn't made for.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::{Secret, message};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use rusqlite::Connection;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::data_folder::folder::folder_id;
use crate::data_folder::owner::Owner;
use crate::error::{SecretError, StoreError};
use crate::random::random_bytes;
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::SecretStore;

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
        Self { ledger, secrets, owner, folder: folder_id(dir) }
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
    /// When the secret store doesn't answer, or has something else there.
    pub(crate) fn row_key(&self, table: &str) -> Result<Option<RowKey>, SecretError> {
        let stored = SealSecret::read(&*self.secrets, &self.row_key_name(table))?;
        Ok(stored.map(|stored| RowKey(stored.key)))
    }

    /// As [`SealContext::row_key`], but makes a key if there is none. One caller at a time for each table.
    ///
    /// # Errors
    /// As [`SealContext::row_key`]; also when the system gives no random bytes.
    pub(crate) fn row_key_or_new(&self, table: &str) -> Result<RowKey, SecretError> {
        if let Some(key) = self.row_key(table)? {
            return Ok(key);
        }
        let fresh = SealSecret::fresh().map_err(|error| SecretError::refused(error.text()))?;
        fresh.write(&*self.secrets, &self.row_key_name(table))?;
        Ok(RowKey(fresh.key))
    }

    fn row_key_name(&self, table: &str) -> SecretKey {
        self.key(&format!("{table}/{}", self.owner.as_str()))
    }
}

/// Seals rows of a table one by one, for one data folder and one owner. It detects rows that this owner didn't
/// write, but not old or missing ones.
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

/// The item of one record in the secret store. For the rows of a table the counter stays 0.
pub(super) struct SealSecret {
    pub(super) key: Zeroizing<[u8; 32]>,
    pub(super) counter: u64,
}

impl SealSecret {
    pub(super) fn fresh() -> Result<Self, StoreError> {
        Ok(Self { key: Zeroizing::new(random_bytes()?), counter: 0 })
    }

    pub(super) fn read(secrets: &dyn SecretStore, name: &SecretKey) -> Result<Option<Self>, SecretError> {
        let Some(text) = secrets.get(name)? else { return Ok(None) };
        let damaged = || SecretError::damaged(message!("error.store.storedKeyBroken"));
        let (key, counter) = text.reveal().split_once(':').ok_or_else(damaged)?;
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(key, &mut *bytes).map_err(|_| damaged())?;
        Ok(Some(Self { key: bytes, counter: counter.parse().map_err(|_| damaged())? }))
    }

    pub(super) fn write(&self, secrets: &dyn SecretStore, name: &SecretKey) -> Result<(), SecretError> {
        let text = format!("{}:{}", hex::encode(*self.key), self.counter);
        secrets.set(name, &Secret::new(text))
    }
}

/// HMAC-SHA256 with this key, which is padded with zeros to the block length (RFC 2104).
pub(crate) fn hmac_with_key(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    Hmac::new((&*block).into())
}
