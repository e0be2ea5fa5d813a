//! The data folder as a whole: owner lock, and the parts of the store.
//!
//! Opening takes the owner lock first; nothing in the folder is touched without it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::connection::StoredConnections;
use gatehouse_model::grant::StoredPermissions;
use gatehouse_model::profile::StoredProfiles;
use gatehouse_model::provider::StoredModels;
use gatehouse_model::{ClientEntry, Clock, OAuthTokenFamily, Settings};
use parking_lot::Mutex;

use crate::activity::{Activity, Retention};
use crate::audit::Audit;
use crate::conversations::ConversationStore;
use crate::data_folder::database;
use crate::data_folder::folder::{self, OwnerLock};
use crate::data_folder::owner::Owner;
use crate::definitions::DefinitionStore;
use crate::error::StoreError;
use crate::known_lists::KnownLists;
use crate::sealed::context::SealContext;
use crate::sealed::control_keys::ControlKeys;
use crate::sealed::record::Sealed;
use crate::sealed::secret_index::IndexedSecrets;
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};
use crate::servers_file::ServersFile;
use crate::sessions::SessionStore;

/// Options for opening a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data folder; created if it doesn't exist.
    pub dir: PathBuf,
    pub owner: Owner,
    pub secrets: Arc<dyn SecretStore>,
    pub clock: Arc<dyn Clock>,
}

impl Store {
    /// Locks the data folder and opens its parts. The retention of call records is taken from the settings;
    /// while those are rejected, no record is deleted. Blocks.
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_inner(options, None)
    }
}

/// All parts of a data folder.
pub struct Store {
    dir: PathBuf,
    owner: Owner,
    secrets: Arc<dyn SecretStore>,
    /// The same store with its index; `None` for a memory store.
    index: Option<Arc<IndexedSecrets>>,
    servers: ServersFile,
    permissions: Sealed<StoredPermissions>,
    clients: Sealed<Vec<ClientEntry>>,
    oauth_tokens: Sealed<Vec<OAuthTokenFamily>>,
    profiles: Sealed<StoredProfiles>,
    connections: Sealed<StoredConnections>,
    models: Sealed<StoredModels>,
    settings: Sealed<Settings>,
    control_keys: ControlKeys,
    audit: Audit,
    activity: Activity,
    definitions: DefinitionStore,
    known_lists: KnownLists,
    sessions: SessionStore,
    conversations: ConversationStore,
    _lock: OwnerLock,
}

impl Store {
    /// Locks the data folder and opens its parts. Blocks.
    ///
    /// # Errors
    /// [`StoreError::DataFolderInUse`] if another Gatehouse process has it open; otherwise when the disk or a
    /// database refuses, or the database was written by a newer version.
    pub fn open_with_retention(options: StoreOptions, retention: Retention) -> Result<Self, StoreError> {
        Self::open_inner(options, Some(retention))
    }

    fn open_inner(options: StoreOptions, retention: Option<Retention>) -> Result<Self, StoreError> {
        let StoreOptions { dir, owner, secrets, clock } = options;
        let dir = folder::prepare(&dir)?;
        let lock = OwnerLock::take(&dir, owner)?;
        let ledger = database::open(&dir.join(database::LEDGER), database::LEDGER_MIGRATIONS)?;
        let ledger = Arc::new(Mutex::new(ledger));
        let seals = SealContext::new(&dir, owner, Arc::clone(&ledger), Arc::clone(&secrets));
        let settings = Sealed::<Settings>::new(&seals, "settings");
        let retention = retention.unwrap_or_else(|| match settings.load() {
            Ok(set) => Retention::from_settings(&set.unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "no call record is dropped until the settings are put right");
                Retention::EVERYTHING
            }
        });
        let index = match secrets.kind() {
            SecretStoreKind::Memory => None,
            SecretStoreKind::Keychain | SecretStoreKind::Vault => {
                Some(Arc::new(IndexedSecrets::new(seals.clone())))
            }
        };
        let secrets: Arc<dyn SecretStore> = match &index {
            Some(index) => Arc::<IndexedSecrets>::clone(index),
            None => secrets,
        };
        Ok(Self {
            settings,
            servers: ServersFile::open(&dir, Sealed::new(&seals, "servers"))?,
            permissions: Sealed::new(&seals, "rights"),
            clients: Sealed::new(&seals, "clients"),
            oauth_tokens: Sealed::new(&seals, "oauth-tokens"),
            profiles: Sealed::new(&seals, "profiles"),
            connections: Sealed::new(&seals, "connections"),
            models: Sealed::new(&seals, "models"),
            control_keys: ControlKeys::new(&seals),
            audit: Audit::open(&seals, Arc::clone(&clock))?,
            sessions: SessionStore::open(&dir.join(database::SESSIONS), &seals, Arc::clone(&clock))?,
            conversations: ConversationStore::open(&dir.join(database::CONVERSATIONS))?,
            activity: Activity::open(&dir.join(database::ACTIVITY), retention, clock)?,
            definitions: DefinitionStore::new(ledger),
            known_lists: KnownLists::new(&dir, seals),
            dir,
            owner,
            secrets,
            index,
            _lock: lock,
        })
    }

    /// `servers.json` with its confirmed copy.
    pub fn servers(&self) -> &ServersFile {
        &self.servers
    }

    /// Sealed permissions: permanent allow and deny rules, access classes and trusted labels.
    pub fn permissions(&self) -> &Sealed<StoredPermissions> {
        &self.permissions
    }

    /// Sealed list of the clients that may connect.
    pub fn clients(&self) -> &Sealed<Vec<ClientEntry>> {
        &self.clients
    }

    /// Sealed digests of the tokens of clients that connect by OAuth.
    pub fn oauth_tokens(&self) -> &Sealed<Vec<OAuthTokenFamily>> {
        &self.oauth_tokens
    }

    /// Sealed profiles of clients, with who uses them.
    pub fn profiles(&self) -> &Sealed<StoredProfiles> {
        &self.profiles
    }

    /// Sealed connections of AI applications: what may be written to their settings files when they are disconnected.
    pub fn connections(&self) -> &Sealed<StoredConnections> {
        &self.connections
    }

    /// Sealed model providers, without their keys, and what their models are used for.
    pub fn models(&self) -> &Sealed<StoredModels> {
        &self.models
    }

    /// Sealed global settings.
    pub fn settings(&self) -> &Sealed<Settings> {
        &self.settings
    }

    /// Keys that authenticate the two ends of the control socket.
    pub fn control_keys(&self) -> &ControlKeys {
        &self.control_keys
    }

    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    pub fn definitions(&self) -> &DefinitionStore {
        &self.definitions
    }

    /// The last lists of each server.
    pub fn known_lists(&self) -> &KnownLists {
        &self.known_lists
    }

    /// What sessions of clients need after a restart.
    pub fn sessions(&self) -> &SessionStore {
        &self.sessions
    }

    /// Conversations with models.
    pub fn conversations(&self) -> &ConversationStore {
        &self.conversations
    }

    pub fn secrets(&self) -> Arc<dyn SecretStore> {
        Arc::clone(&self.secrets)
    }

    /// Deletes the secrets and sign-ins of servers and the keys of model providers in this owner's secret store that
    /// aren't in use: those of removed servers and providers and of earlier generations and addresses. At most 1,000 at once, the rest the next time. Returns their number.
    /// Blocks.
    ///
    /// # Errors
    /// The first error of the disk or the secret store. Everything that could be deleted is deleted then; nothing is
    /// if the index of the secrets can't be verified.
    pub fn sweep_secrets(&self, in_use: &HashSet<SecretKey>) -> Result<usize, StoreError> {
        self.index.as_ref().map_or(Ok(0), |index| index.sweep(in_use))
    }

    /// The canonical path of the data folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Flushes everything that is queued, waiting at most two seconds for a secret store that doesn't answer.
    /// Blocks. The owner lock is released when the store is dropped.
    pub fn close(&self) {
        self.activity.flush();
        self.audit.flush();
    }
}
