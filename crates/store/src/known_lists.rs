//! The last lists (tools, resources, prompts) of each server, so that they are known again from the start.
//!
//! They name what people are asked about and what a wide rule is pinned to, so anything that this owner didn't write
//! here is ignored: each file has a MAC over the server's id and its content. There is no counter, so an old copy is
//! accepted; it can only show what the server once offered, and no call is judged by it (the caller sees to that).
//! Nothing is stored for a secret store in memory, whose keys end with the process.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_common::owner_only;
use gatehouse_model::{ServerId, message};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::data_folder::folder;
use crate::error::{SecretError, StoreError};
use crate::sealed::context::{RowKey, SealContext};
use crate::secrets::secret_store::SecretStoreKind;

/// The folder in the data folder, with one folder for each owner.
const FOLDER: &str = "known-lists";
/// Part of the name of the key.
const KEY: &str = "known_lists";

/// The lists of one owner's servers, one file for each server. All calls block on the disk.
pub struct KnownLists {
    folder: PathBuf,
    seals: SealContext,
    /// Once it was read or made.
    key: Mutex<Option<Arc<RowKey>>>,
    /// The MACs of what is stored, as far as it was read or written, so that nothing is written twice.
    macs: Mutex<HashMap<ServerId, [u8; 32]>>,
}

impl KnownLists {
    pub(crate) fn new(dir: &Path, seals: SealContext) -> Self {
        Self {
            folder: dir.join(FOLDER).join(seals.owner.as_str()),
            seals,
            key: Mutex::default(),
            macs: Mutex::default(),
        }
    }

    /// What was stored for these servers. What can't be verified is left out, and files of other servers are
    /// deleted.
    ///
    /// # Errors
    /// When the secret store doesn't answer. Nothing is deleted then.
    pub fn load(&self, servers: &HashSet<ServerId>) -> Result<HashMap<ServerId, String>, StoreError> {
        if !self.is_persistent() {
            return Ok(HashMap::new());
        }
        let Some(key) = self.key()? else { return Ok(HashMap::new()) };
        let expected: HashSet<PathBuf> = servers.iter().map(|server| self.file(server)).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !expected.contains(&entry.path()) {
                remove(&entry.path());
            }
        }
        let known = servers.iter().filter_map(|server| {
            let stored = fs::read_to_string(self.file(server)).ok()?;
            let verified = stored.split_once('\n').filter(|(mac, text)| {
                let mac = hex::decode(mac).unwrap_or_default();
                key.is_mac_valid(&[server.as_str(), text], &mac)
            });
            match verified {
                Some((_, text)) => {
                    self.macs.lock().insert(server.clone(), key.mac(&[server.as_str(), text]));
                    Some((server.clone(), text.to_owned()))
                }
                None => {
                    tracing::warn!(%server, "the last known lists were not written by Gatehouse and are ignored");
                    None
                }
            }
        });
        Ok(known.collect())
    }

    /// Stores the lists of a server, in place of the earlier ones.
    ///
    /// # Errors
    /// When the disk or the secret store refuses.
    pub fn keep(&self, server: &ServerId, text: &str) -> Result<(), StoreError> {
        if !self.is_persistent() {
            return Ok(());
        }
        let mac = self.key_or_new()?.mac(&[server.as_str(), text]);
        if self.macs.lock().get(server) == Some(&mac) {
            return Ok(());
        }
        owner_only::make_folder(&self.folder)
            .map_err(StoreError::io(message!("error.store.fileUnmade", file = FOLDER)))?;
        folder::replace(&self.file(server), format!("{}\n{text}", hex::encode(mac)).as_bytes())?;
        self.macs.lock().insert(server.clone(), mac);
        Ok(())
    }

    /// Deletes the lists of a server.
    pub fn forget(&self, server: &ServerId) {
        self.macs.lock().remove(server);
        remove(&self.file(server));
    }

    fn is_persistent(&self) -> bool {
        self.seals.secrets.kind() != SecretStoreKind::Memory
    }

    /// An id can contain characters that file names can't, so its hash is the name.
    fn file(&self, server: &ServerId) -> PathBuf {
        let digest = hex::encode(Sha256::digest(server.as_str()));
        self.folder.join(format!("{}.lists", digest.get(..32).unwrap_or_default()))
    }

    fn key(&self) -> Result<Option<Arc<RowKey>>, SecretError> {
        let mut key = self.key.lock();
        if key.is_none() {
            *key = self.seals.row_key(KEY)?.map(Arc::new);
        }
        Ok(key.clone())
    }

    fn key_or_new(&self) -> Result<Arc<RowKey>, SecretError> {
        let mut key = self.key.lock();
        match &*key {
            Some(known) => Ok(Arc::clone(known)),
            None => Ok(Arc::clone(key.insert(Arc::new(self.seals.row_key_or_new(KEY)?)))),
        }
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "the last known lists of a removed server could not be deleted");
        }
        Ok(()) | Err(_) => {}
    }
}
