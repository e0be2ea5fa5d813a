//! Secrets in memory: for machines without a keychain whose user doesn't want a vault, and for tests.

use std::collections::HashMap;

use gatehouse_model::Secret;
use parking_lot::Mutex;

use super::key::SecretKey;
use super::secret_store::{SecretStore, SecretStoreKind};
use crate::error::SecretError;

#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<SecretKey, Secret>>);

impl SecretStore for Memory {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        Ok(self.0.lock().get(key).cloned())
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        self.0.lock().insert(key.clone(), secret.clone());
        Ok(())
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        self.0.lock().remove(key);
        Ok(())
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Memory
    }
}
