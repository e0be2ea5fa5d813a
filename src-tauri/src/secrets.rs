//! Selects the secret store: the keychain; if there is none, a vault whose passphrase the user enters,
//! or memory, as the user chooses (AUTH-8). A passphrase goes from the page to the vault: it is not
//! stored, logged or returned.

use std::path::Path;
use std::sync::Arc;

use gatehouse_app::{SecretError, SecretKind, SecretStore, has_vault, memory, open_keychain, vault_file};
use gatehouse_model::Problem;
use serde::Serialize;

/// The secret store found at the start.
pub(crate) enum Found {
    /// A store that is open.
    Open(Arc<dyn SecretStore>),
    /// No keychain, but a vault, which the user has to unlock or to skip.
    Locked,
}

/// Looks for the keychain, then for a vault; if there is neither, uses memory, which the status reports.
/// A keychain that exists and does not open is an error: otherwise the permissions sealed with it would
/// be replaced silently.
pub(crate) fn find(data_dir: &Path) -> Result<Found, Problem> {
    match open_keychain() {
        Ok(keychain) => Ok(Found::Open(keychain)),
        Err(SecretError::Unavailable { reason }) => without_keychain(data_dir, &reason),
        Err(error) => Err(error.into()),
    }
}

fn without_keychain(data_dir: &Path, reason: &str) -> Result<Found, Problem> {
    match has_vault(data_dir) {
        Ok(false) => {
            tracing::warn!(reason, "no keychain: secrets and rights last until Gatehouse ends");
            Ok(Found::Open(memory()))
        }
        // The page reads which of them it is.
        Ok(true) | Err(SecretError::Damaged { .. } | SecretError::NewerVersion) => {
            tracing::info!(reason, "no keychain: waiting for the passphrase of the vault");
            Ok(Found::Locked)
        }
        Err(error) => Err(error.into()),
    }
}

/// The state of the vault for the main page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VaultView {
    state: VaultState,
    fault: Option<Fault>,
    /// Path of the vault, whether it exists or not.
    file: String,
}

/// How secrets are kept, as far as the vault is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VaultState {
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
pub(crate) enum Fault {
    /// Its content is damaged.
    Damaged,
    /// A newer version of Gatehouse wrote it.
    Newer,
}

impl VaultView {
    /// Looks for the vault. `kind` is the secret store in use, if one is open.
    pub(crate) fn look(data_dir: &Path, kind: Option<SecretKind>) -> Result<Self, Problem> {
        let (there, fault) = match has_vault(data_dir) {
            Ok(there) => (there, None),
            Err(SecretError::Damaged { .. }) => (true, Some(Fault::Damaged)),
            Err(SecretError::NewerVersion) => (true, Some(Fault::Newer)),
            Err(error) => return Err(error.into()),
        };
        let state = match kind {
            None => VaultState::Locked,
            Some(SecretKind::Keychain) => VaultState::Keychain,
            Some(SecretKind::Vault) => VaultState::Open,
            Some(SecretKind::Memory) if there => VaultState::PutAside,
            Some(SecretKind::Memory) => VaultState::Absent,
        };
        Ok(Self { state, fault, file: vault_file(data_dir).display().to_string() })
    }
}

/// Result of a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tried {
    /// It is correct.
    Right,
    /// It is wrong.
    Wrong,
    /// The vault cannot be read with any passphrase.
    Damaged,
    /// A newer version of Gatehouse wrote the vault.
    Newer,
}

impl Tried {
    /// What an error says about the passphrase; errors that say nothing about it are returned.
    pub(crate) fn from_error(error: SecretError) -> Result<Self, Problem> {
        match error {
            SecretError::WrongPassphrase => Ok(Self::Wrong),
            SecretError::Damaged { reason } => {
                tracing::warn!(reason, "the vault is damaged");
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
    fn the_page_is_told_what_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let state = |kind| VaultView::look(folder.path(), kind).unwrap().state;
        let locked = || matches!(without_keychain(folder.path(), "none"), Ok(Found::Locked));
        assert_eq!(state(Some(SecretKind::Memory)), VaultState::Absent);
        assert!(!locked());
        make_vault(folder.path(), &Secret::new("correct horse")).unwrap();
        for (kind, expected) in [
            (None, VaultState::Locked),
            (Some(SecretKind::Memory), VaultState::PutAside),
            (Some(SecretKind::Vault), VaultState::Open),
            (Some(SecretKind::Keychain), VaultState::Keychain),
        ] {
            assert_eq!(state(kind), expected);
        }
        assert!(locked());
        let view = VaultView::look(folder.path(), None).unwrap();
        assert_eq!(serde_json::to_value(&view).unwrap()["state"], "locked");
        assert!(Path::new(&view.file).exists());
        std::fs::write(&view.file, "nothing of ours").unwrap();
        assert_eq!(VaultView::look(folder.path(), None).unwrap().fault, Some(Fault::Damaged));
        assert!(locked(), "a damaged vault is not replaced");
    }

    #[test]
    fn only_what_a_passphrase_does_is_said_of_it() {
        assert_eq!(Tried::from_error(SecretError::WrongPassphrase), Ok(Tried::Wrong));
        assert_eq!(Tried::from_error(SecretError::NewerVersion), Ok(Tried::Newer));
        let damaged = SecretError::Damaged { reason: "cut".to_owned() };
        assert_eq!(Tried::from_error(damaged), Ok(Tried::Damaged));
        let refused = SecretError::Refused { reason: "the disk is full".to_owned() };
        assert!(Tried::from_error(refused).unwrap_err().what.contains("the disk is full"));
    }
}
