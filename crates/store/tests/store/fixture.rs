//! A data folder with a secret store and a clock that tests control.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use gatehouse_model::{Clock, Secret, Timestamp};
use gatehouse_store::{
    Owner, SecretError, SecretKey, SecretStore, SecretStoreKind, Store, StoreError, StoreOptions,
};
use parking_lot::Mutex;

/// A secret store that can be locked, refuse to write or to delete one item, not answer, and go back in time.
#[derive(Default)]
pub(crate) struct TestSecrets {
    items: Mutex<HashMap<String, Secret>>,
    pub(crate) locked: AtomicBool,
    pub(crate) read_only: AtomicBool,
    /// The item that cannot be deleted.
    pub(crate) stuck: Mutex<Option<String>>,
    /// Whoever writes waits as long as a test holds this.
    pub(crate) prompt: Mutex<()>,
}

impl TestSecrets {
    pub(crate) fn snapshot(&self) -> HashMap<String, Secret> {
        self.items.lock().clone()
    }

    pub(crate) fn restore(&self, items: HashMap<String, Secret>) {
        *self.items.lock() = items;
    }

    fn check(&self, writes: bool) -> Result<(), SecretError> {
        if self.locked.load(Ordering::SeqCst) {
            return Err(SecretError::Locked);
        }
        if writes && self.read_only.load(Ordering::SeqCst) {
            return Err(SecretError::Refused { reason: "read only".into() });
        }
        Ok(())
    }
}

impl SecretStore for TestSecrets {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        self.check(false)?;
        Ok(self.items.lock().get(key.account()).cloned())
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        self.check(true)?;
        let _answered = self.prompt.lock();
        self.items.lock().insert(key.account().to_owned(), secret.clone());
        Ok(())
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.check(true)?;
        if self.stuck.lock().as_deref() == Some(key.account()) {
            return Err(SecretError::Refused { reason: "stuck".into() });
        }
        self.items.lock().remove(key.account());
        Ok(())
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Keychain
    }
}

#[derive(Debug)]
pub(crate) struct TestClock(pub(crate) AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct StoreFixture {
    folder: tempfile::TempDir,
    pub(crate) secrets: Arc<TestSecrets>,
    pub(crate) clock: Arc<TestClock>,
}

pub(crate) const NOW: i64 = 1_780_000_000_000;

impl StoreFixture {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            secrets: Arc::default(),
            clock: Arc::new(TestClock(AtomicI64::new(NOW))),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("data").join(name)
    }

    pub(crate) fn options(&self, owner: Owner) -> StoreOptions {
        StoreOptions {
            dir: self.folder.path().join("data"),
            owner,
            secrets: Arc::clone(&self.secrets) as Arc<dyn SecretStore>,
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
        }
    }

    pub(crate) fn open(&self) -> Store {
        self.open_as(Owner::Window).unwrap()
    }

    pub(crate) fn open_as(&self, owner: Owner) -> Result<Store, StoreError> {
        Store::open(self.options(owner))
    }

    /// The ledger as somebody who can write files sees it, triggers out of the way.
    pub(crate) fn tamper(&self, sql: &str) {
        let ledger = rusqlite::Connection::open(self.path("ledger.db")).unwrap();
        ledger
            .execute_batch(
                "DROP TRIGGER IF EXISTS audit_is_append_only; DROP TRIGGER IF EXISTS audit_keeps_its_tail;",
            )
            .unwrap();
        ledger.execute_batch(sql).unwrap();
    }
}
