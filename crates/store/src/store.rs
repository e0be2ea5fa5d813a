//! The data folder as a whole: one owner at a time, and the parts that live in it.
//!
//! Opening takes the owner lock first; nothing in the folder is touched without it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::grant::Rights;
use gatehouse_model::{ClientEntry, Clock, Settings};
use parking_lot::Mutex;

use crate::activity::{Activity, Retention};
use crate::audit::Audit;
use crate::control_keys::ControlKeys;
use crate::database;
use crate::definitions::Definitions;
use crate::error::StoreError;
use crate::folder::{self, OwnerLock};
use crate::sealed::{SealPlace, Sealed};
use crate::secrets::{Indexed, SecretKey, SecretKind, SecretStore};
use crate::servers_file::ServersFile;

/// Who runs on the data folder. Rights that were given under one never count under the other:
/// every sealed record exists once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The app with its windows.
    Window,
    /// `gatehousectl serve`.
    Serve,
}

impl Owner {
    /// `window` or `serve`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Serve => "serve",
        }
    }
}

/// What a store needs.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data folder; made if it does not exist.
    pub dir: PathBuf,
    /// Who runs on it.
    pub owner: Owner,
    /// Where secrets are kept.
    pub secrets: Arc<dyn SecretStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Store {
    /// Takes the data folder and opens what is in it, keeping call records as long as the settings
    /// say; as long as those cannot be believed, all of them. Blocks.
    ///
    /// # Errors
    /// As [`Store::open_with`].
    pub fn open(options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_keeping(options, None)
    }
}

/// Everything that a data folder keeps, for its one owner.
pub struct Store {
    dir: PathBuf,
    owner: Owner,
    secrets: Arc<dyn SecretStore>,
    /// The same, unless it dies with this process.
    index: Option<Arc<Indexed>>,
    servers: ServersFile,
    rights: Sealed<Rights>,
    clients: Sealed<Vec<ClientEntry>>,
    settings: Sealed<Settings>,
    control_keys: ControlKeys,
    audit: Audit,
    activity: Activity,
    definitions: Definitions,
    _lock: OwnerLock,
}

impl Store {
    /// Takes the data folder and opens what is in it. Blocks.
    ///
    /// # Errors
    /// [`StoreError::DataFolderInUse`] when another Gatehouse has it; else when the disk or a
    /// database refuses, or was written by a newer version.
    pub fn open_with(options: StoreOptions, retention: Retention) -> Result<Self, StoreError> {
        Self::open_keeping(options, Some(retention))
    }

    fn open_keeping(options: StoreOptions, retention: Option<Retention>) -> Result<Self, StoreError> {
        let StoreOptions { dir, owner, secrets, clock } = options;
        let dir = folder::prepare(&dir)?;
        let lock = OwnerLock::take(&dir, owner)?;
        let ledger = database::open(&dir.join(database::LEDGER), database::LEDGER_STEPS)?;
        let ledger = Arc::new(Mutex::new(ledger));
        let place = SealPlace::new(&dir, owner, Arc::clone(&ledger), Arc::clone(&secrets));
        let settings = Sealed::<Settings>::new(&place, "settings");
        let retention = retention.unwrap_or_else(|| match settings.load() {
            Ok(set) => Retention::of(&set.unwrap_or_default()),
            Err(error) => {
                tracing::warn!(%error, "no call record is dropped until the settings are put right");
                Retention::EVERYTHING
            }
        });
        let index = match secrets.kind() {
            SecretKind::Memory => None,
            SecretKind::Keychain | SecretKind::Vault => {
                Some(Arc::new(Indexed::new(Arc::clone(&secrets), Arc::clone(&ledger), owner)))
            }
        };
        let secrets: Arc<dyn SecretStore> = match &index {
            Some(index) => Arc::<Indexed>::clone(index),
            None => secrets,
        };
        Ok(Self {
            settings,
            servers: ServersFile::open(&dir, Sealed::new(&place, "servers"))?,
            rights: Sealed::new(&place, "rights"),
            clients: Sealed::new(&place, "clients"),
            control_keys: ControlKeys::new(&place),
            audit: Audit::open(&place, Arc::clone(&clock))?,
            activity: Activity::open(&dir.join(database::ACTIVITY), retention, clock)?,
            definitions: Definitions::new(ledger),
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

    /// Always-grants, always-denies, access classes and trusted labels.
    pub fn rights(&self) -> &Sealed<Rights> {
        &self.rights
    }

    /// The clients that have a token.
    pub fn clients(&self) -> &Sealed<Vec<ClientEntry>> {
        &self.clients
    }

    /// What the user set for Gatehouse as a whole.
    pub fn settings(&self) -> &Sealed<Settings> {
        &self.settings
    }

    /// What proves who is at the other end of the control socket.
    pub fn control_keys(&self) -> &ControlKeys {
        &self.control_keys
    }

    /// What must never be lost.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// The call records.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Definitions of tools.
    pub fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// The store for secrets.
    pub fn secrets(&self) -> Arc<dyn SecretStore> {
        Arc::clone(&self.secrets)
    }

    /// Deletes what this owner's store for secrets has of servers and is not in use: secrets and sign-ins of those
    /// that are no more, and of what the others were once. Answers how many there were. Blocks.
    ///
    /// # Errors
    /// When the disk or the secret store refuses; the rest is deleted the next time.
    pub fn sweep_secrets(&self, in_use: &HashSet<SecretKey>) -> Result<usize, StoreError> {
        self.index.as_ref().map_or(Ok(0), |index| index.sweep(in_use))
    }

    /// The data folder, without links in its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Who runs on it.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// Writes out everything that is still on its way; a secret store that does not answer gets two
    /// seconds. Blocks. The lock goes when the store is dropped.
    pub fn close(&self) {
        self.activity.flush();
        self.audit.flush();
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    gatehouse_common::random::bytes().map_err(|e| StoreError::Random(e.to_string()))
}
