//! Selects the secret store: the keychain; if there is none, a vault whose passphrase the user enters,
//! or memory, as the user chooses (AUTH-8). A passphrase goes from the page to the vault: it is not
//! stored, logged or returned.

use std::path::Path;
use std::sync::Arc;

use gatehouse_app::{
    SecretError, SecretStore, SecretStoreKind, has_vault, memory, open_keychain, vault_file,
};
use gatehouse_model::UserError;
use serde::Serialize;

/// Whether the system's keychain is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeychainUse {
    /// If there is one.
    IfAvailable,
    /// As on a computer that has none.
    Never,
}

/// The secret store found at the start.
pub(crate) enum SecretsAtStart {
    Open(Arc<dyn SecretStore>),
    /// No keychain, but a vault, which the user has to unlock or to skip.
    Locked,
}

/// Looks for the keychain, then for a vault; if there is neither, uses memory, which the status reports.
/// A keychain that exists and does not open is an error: otherwise the permissions sealed with it would
/// be replaced silently.
pub(crate) fn open_secret_store(data_dir: &Path, keychain: KeychainUse) -> Result<SecretsAtStart, UserError> {
    if keychain == KeychainUse::Never {
        return without_keychain(data_dir, "the keychain is not used");
    }
    match open_keychain() {
        Ok(keychain) => Ok(SecretsAtStart::Open(keychain)),
        Err(SecretError::Unavailable { reason }) => without_keychain(data_dir, &reason.to_string()),
        Err(error) => Err(error.into()),
    }
}

fn without_keychain(data_dir: &Path, reason: &str) -> Result<SecretsAtStart, UserError> {
    match has_vault(data_dir) {
        Ok(false) => {
            tracing::warn!(reason, "no keychain: secrets and permissions last until Gatehouse ends");
            Ok(SecretsAtStart::Open(memory()))
        }
        // The page reads which of them it is.
        Ok(true) | Err(SecretError::Damaged { .. } | SecretError::NewerVersion) => {
            tracing::info!(reason, "no keychain: waiting for the passphrase of the vault");
            Ok(SecretsAtStart::Locked)
        }
        Err(error) => Err(error.into()),
    }
}

/// The state of the vault for the main page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VaultView {
    state: VaultState,
    fault: Option<VaultFault>,
    /// Path of the vault, whether it exists or not.
    file: String,
}

/// How secrets are kept, as far as the vault is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum VaultState {
    /// There is a keychain; the vault is not used.
    Keychain,
    /// In memory, and there is no vault.
    Absent,
    /// In memory for this run, although there is a vault.
    PutAside,
    /// Nothing runs before the vault is unlocked or skipped.
    Locked,
    /// In the vault.
    Open,
}

/// Why no passphrase can open the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum VaultFault {
    /// Its content is damaged.
    Damaged,
    /// A newer version of Gatehouse wrote it.
    Newer,
}

impl VaultView {
    /// Looks for the vault. `kind` is the secret store in use, if one is open.
    pub(crate) fn inspect(data_dir: &Path, kind: Option<SecretStoreKind>) -> Result<Self, UserError> {
        let (there, fault) = match has_vault(data_dir) {
            Ok(there) => (there, None),
            Err(SecretError::Damaged { .. }) => (true, Some(VaultFault::Damaged)),
            Err(SecretError::NewerVersion) => (true, Some(VaultFault::Newer)),
            Err(error) => return Err(error.into()),
        };
        let state = match kind {
            None => VaultState::Locked,
            Some(SecretStoreKind::Keychain) => VaultState::Keychain,
            Some(SecretStoreKind::Vault) => VaultState::Open,
            Some(SecretStoreKind::Memory) if there => VaultState::PutAside,
            Some(SecretStoreKind::Memory) => VaultState::Absent,
        };
        Ok(Self { state, fault, file: vault_file(data_dir).display().to_string() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PassphraseResult {
    /// It is correct.
    Right,
    Wrong,
    /// The vault cannot be read with any passphrase.
    Damaged,
    /// A newer version of Gatehouse wrote the vault.
    Newer,
}

impl PassphraseResult {
    /// What an error says about the passphrase; errors that say nothing about it are returned.
    pub(crate) fn from_error(error: SecretError) -> Result<Self, UserError> {
        match error {
            SecretError::WrongPassphrase => Ok(Self::Wrong),
            SecretError::Damaged { reason } => {
                tracing::warn!(%reason, "the vault is damaged");
                Ok(Self::Damaged)
            }
            SecretError::NewerVersion => Ok(Self::Newer),
            other => Err(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gatehouse_app::make_vault;
    use gatehouse_model::Secret;

    #[test]
    fn reports_vault_state() {
        let folder = tempfile::tempdir().unwrap();
        let state = |kind| VaultView::inspect(folder.path(), kind).unwrap().state;
        let locked = || matches!(without_keychain(folder.path(), "none"), Ok(SecretsAtStart::Locked));
        assert_eq!(state(Some(SecretStoreKind::Memory)), VaultState::Absent);
        assert!(!locked());
        make_vault(folder.path(), &Secret::new("correct horse")).unwrap();
        for (kind, expected) in [
            (None, VaultState::Locked),
            (Some(SecretStoreKind::Memory), VaultState::PutAside),
            (Some(SecretStoreKind::Vault), VaultState::Open),
            (Some(SecretStoreKind::Keychain), VaultState::Keychain),
        ] {
            assert_eq!(state(kind), expected);
        }
        assert!(locked());
        let view = VaultView::inspect(folder.path(), None).unwrap();
        assert_eq!(serde_json::to_value(&view).unwrap()["state"], "locked");
        assert!(Path::new(&view.file).exists());
        std::fs::write(&view.file, "nothing of ours").unwrap();
        assert_eq!(VaultView::inspect(folder.path(), None).unwrap().fault, Some(VaultFault::Damaged));
        assert!(locked(), "a damaged vault is not replaced");
    }

    #[test]
    fn maps_only_passphrase_errors() {
        assert_eq!(PassphraseResult::from_error(SecretError::WrongPassphrase), Ok(PassphraseResult::Wrong));
        assert_eq!(PassphraseResult::from_error(SecretError::NewerVersion), Ok(PassphraseResult::Newer));
        let damaged = SecretError::Damaged { reason: "cut".into() };
        assert_eq!(PassphraseResult::from_error(damaged), Ok(PassphraseResult::Damaged));
        let refused = SecretError::Refused { reason: "the disk is full".into() };
        assert!(
            PassphraseResult::from_error(refused)
                .unwrap_err()
                .message
                .to_string()
                .contains("the disk is full")
        );
    }
}
