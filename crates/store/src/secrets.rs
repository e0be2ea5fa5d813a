//! Secret stores: the system's keychain, a vault with a passphrase, or memory.
//!
//! Secrets can't be exported. Only the names of secrets of servers and model providers are listed, so that they can be
//! deleted when their server or provider is removed (`sealed/secret_index.rs`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::{Secret, message};

use crate::error::SecretError;

pub(crate) mod bridge_tokens;
pub(crate) mod key;
mod keychain;
mod memory;
pub(crate) mod secret_store;
mod vault;

use secret_store::SecretStore;

/// Opens the system's keychain, and checks that it works.
///
/// # Errors
/// [`SecretError::Unavailable`] if there is none, [`SecretError::Locked`] if it is locked.
pub fn open_keychain() -> Result<Arc<dyn SecretStore>, SecretError> {
    keychain::Keychain::open().map(|keychain| Arc::new(keychain) as Arc<dyn SecretStore>)
}

/// Whether a data folder has a vault, as far as this can be determined without its passphrase.
///
/// # Errors
/// [`SecretError::Damaged`] or [`SecretError::NewerVersion`] for a vault that no passphrase can open, and
/// [`SecretError::Refused`] when the disk refuses.
pub fn has_vault(dir: &Path) -> Result<bool, SecretError> {
    vault::vault_exists(dir)
}

/// Path of the vault in a data folder, whether or not it exists.
#[must_use]
pub fn vault_file(dir: &Path) -> PathBuf {
    vault::file(dir)
}

/// Opens the existing vault of a data folder.
///
/// # Errors
/// As [`open_vault`]; [`SecretError::Refused`] also if there is none.
pub fn unlock_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    match vault::Vault::unlock(dir, passphrase)? {
        Some(vault) => Ok(Arc::new(vault)),
        None => Err(SecretError::refused(message!("error.store.noVault"))),
    }
}

/// Creates an empty vault in a data folder that has none.
///
/// # Errors
/// [`SecretError::Refused`] if the passphrase has fewer than 8 characters, if a vault exists, even a damaged
/// one, and when the disk refuses.
pub fn make_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    vault::validate_new_passphrase(passphrase)?;
    match vault::vault_exists(dir) {
        Ok(false) => {
            vault::Vault::create(dir, passphrase).map(|vault| Arc::new(vault) as Arc<dyn SecretStore>)
        }
        Err(error @ SecretError::Refused { .. }) => Err(error),
        Ok(true) | Err(_) => Err(SecretError::refused(message!("error.store.vaultExists"))),
    }
}

/// Opens the vault of a data folder, or creates an empty one. Deriving the key, which is done once, takes
/// about a tenth of a second and 64 MiB.
///
/// # Errors
/// [`SecretError::WrongPassphrase`], [`SecretError::Damaged`], [`SecretError::NewerVersion`], or
/// [`SecretError::Refused`] when the disk refuses.
pub fn open_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    vault::Vault::open(dir, passphrase).map(|vault| Arc::new(vault) as Arc<dyn SecretStore>)
}

/// A store that is lost with this process.
#[must_use]
pub fn memory() -> Arc<dyn SecretStore> {
    Arc::new(memory::Memory::default())
}
