//! The interface of secret stores. Secrets can't be listed or exported.

use gatehouse_model::{Secret, message};

use super::key::SecretKey;
use crate::error::SecretError;

/// Stores secrets. Every call may block: a keychain takes milliseconds, or as long as the user takes to
/// unlock it.
pub trait SecretStore: Send + Sync {
    /// The secret with this key, if there is one.
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError>;

    /// Stores a secret, replacing the previous one. Durable on return, unless the store is in memory.
    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError>;

    /// Deletes a secret. Succeeds if there is none.
    fn delete(&self, key: &SecretKey) -> Result<(), SecretError>;

    /// Deletes secrets. One that can't be deleted doesn't keep the others.
    ///
    /// # Errors
    /// The first error, after all were tried.
    fn delete_all(&self, keys: &[SecretKey]) -> Result<(), SecretError> {
        let mut outcome = Ok(());
        for key in keys {
            let deleted = self.delete(key);
            outcome = outcome.and(deleted);
        }
        outcome
    }

    fn kind(&self) -> SecretStoreKind;

    /// Changes the passphrase. Durable on return; after an error the old one stays valid.
    ///
    /// # Errors
    /// [`SecretError::WrongPassphrase`] if `old` isn't the current passphrase. [`SecretError::Refused`] if
    /// `new` has fewer than 8 characters, the store has no passphrase, or the disk refuses.
    fn change_passphrase(&self, _old: &Secret, _new: &Secret) -> Result<(), SecretError> {
        Err(SecretError::refused(message!("error.store.noPassphrase")))
    }
}

/// The kinds of secret stores (AUTH-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretStoreKind {
    /// The system's keychain.
    Keychain,
    /// An encrypted file with a passphrase.
    Vault,
    /// Memory: lost when Gatehouse ends.
    Memory,
}

impl SecretStoreKind {
    /// `keychain`, `vault` or `memory`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keychain => "keychain",
            Self::Vault => "vault",
            Self::Memory => "memory",
        }
    }
}
