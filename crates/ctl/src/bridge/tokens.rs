//! The token that a bridge connects with: from the user's keychain, or from a file descriptor where there is no
//! keychain. Never from an argument, a variable or a file, which other programs can read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_app::{BridgeTokens, Owner, open_keychain};
use gatehouse_model::{Secret, UserError};

/// The Gatehouse with windows, and the one without, have clients of their own.
const OWNERS: [Owner; 2] = [Owner::Window, Owner::Serve];

pub(crate) struct BridgeTokenSource {
    known: Vec<Secret>,
    keychain: Option<KeychainEntry>,
}

/// Where the tokens of a client are.
#[derive(Clone)]
struct KeychainEntry {
    data_dir: PathBuf,
    client: String,
}

impl BridgeTokenSource {
    /// This token only.
    pub(crate) fn fixed(token: Secret) -> Self {
        Self { known: vec![token], keychain: None }
    }

    /// The tokens of a client in the keychain: at most one for each kind of Gatehouse. Blocks.
    ///
    /// # Errors
    /// When the keychain can't be read.
    pub(crate) fn keychain(data_dir: &Path, client: &str) -> Result<Self, UserError> {
        let keychain = KeychainEntry { data_dir: data_dir.to_owned(), client: client.to_owned() };
        Ok(Self { known: keychain.read()?, keychain: Some(keychain) })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn known(&self) -> Vec<Secret> {
        self.known.clone()
    }

    /// Reads the keychain again, and returns the tokens that are new.
    ///
    /// # Errors
    /// Why it can't be read.
    pub(super) async fn read_again(&mut self) -> Result<Vec<Secret>, String> {
        let Some(keychain) = self.keychain.clone() else { return Ok(Vec::new()) };
        let read = tokio::task::spawn_blocking(move || keychain.read()).await;
        let found = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let new = found.iter().filter(|token| !self.known.contains(token)).cloned().collect();
        self.known = found;
        Ok(new)
    }
}

impl KeychainEntry {
    fn read(&self) -> Result<Vec<Secret>, UserError> {
        let tokens = open(&self.data_dir)?;
        let mut found = Vec::new();
        for owner in OWNERS {
            found.extend(tokens.get(owner, &self.client).map_err(UserError::from)?);
        }
        Ok(found)
    }
}

/// The bridge tokens of a data folder, in the keychain. Blocks.
///
/// # Errors
/// When there is no keychain, or it is locked.
pub(crate) fn open(data_dir: &Path) -> Result<BridgeTokens, UserError> {
    let keychain = open_keychain().map_err(UserError::from)?;
    // A data folder that doesn't exist has no tokens.
    let dir = data_dir.canonicalize().unwrap_or_else(|_| data_dir.to_owned());
    Ok(BridgeTokens::new(&dir, Arc::clone(&keychain)))
}
