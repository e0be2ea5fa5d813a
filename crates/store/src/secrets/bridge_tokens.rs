//! Client tokens that `gatehousectl bridge` connects with: in the user's keychain, since AI clients that start a
//! bridge can keep no secret, and a token in their settings file could be read by every program.
//!
//! A token is found by data folder, owner and the client's name, never by anything that a running Gatehouse says:
//! what answers at the control socket has proved nothing when a bridge chooses its token.

use std::path::Path;
use std::sync::Arc;

use gatehouse_model::Secret;

use super::key::SecretKey;
use super::secret_store::SecretStore;
use crate::data_folder::folder::folder_id;
use crate::data_folder::owner::Owner;
use crate::error::SecretError;

/// The bridge tokens of one data folder. All calls block on the secret store.
pub struct BridgeTokens {
    secrets: Arc<dyn SecretStore>,
    folder: String,
}

impl BridgeTokens {
    /// `dir` is the canonical path of the data folder.
    #[must_use]
    pub fn new(dir: &Path, secrets: Arc<dyn SecretStore>) -> Self {
        Self { secrets, folder: folder_id(dir) }
    }

    /// The token of the client with this name.
    ///
    /// # Errors
    /// When the secret store doesn't answer.
    pub fn get(&self, owner: Owner, client: &str) -> Result<Option<Secret>, SecretError> {
        self.secrets.get(&self.key(owner, client))
    }

    /// Stores the token of a client, replacing the previous one.
    ///
    /// # Errors
    /// When the secret store doesn't answer.
    pub fn set(&self, owner: Owner, client: &str, token: &Secret) -> Result<(), SecretError> {
        self.secrets.set(&self.key(owner, client), token)
    }

    /// Deletes the token of a client, if there is one.
    ///
    /// # Errors
    /// When the secret store doesn't answer.
    pub fn delete(&self, owner: Owner, client: &str) -> Result<(), SecretError> {
        self.secrets.delete(&self.key(owner, client))
    }

    /// Names of clients are unique without regard to case, so they are compared in the same way here.
    fn key(&self, owner: Owner, client: &str) -> SecretKey {
        let name = client.trim().to_lowercase();
        SecretKey::new("bridge", &self.folder, &format!("{}/{name}", owner.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::memory;

    #[test]
    fn finds_a_token_only_by_folder_owner_and_name() {
        let secrets = memory();
        let tokens = BridgeTokens::new(Path::new("/one"), Arc::clone(&secrets));
        tokens.set(Owner::Serve, "Claude", &Secret::new("t")).unwrap();
        let get = |folder, owner, name| {
            let found = BridgeTokens::new(Path::new(folder), Arc::clone(&secrets)).get(owner, name).unwrap();
            found.map(|token| token.reveal().to_owned())
        };
        assert_eq!(get("/one", Owner::Serve, " claude ").as_deref(), Some("t"));
        assert_eq!(get("/one", Owner::Window, "Claude"), None);
        assert_eq!(get("/two", Owner::Serve, "Claude"), None);
        assert_eq!(get("/one", Owner::Serve, "Claude 2"), None);
        tokens.delete(Owner::Window, "Claude").unwrap();
        assert!(get("/one", Owner::Serve, "Claude").is_some(), "another owner's");
        tokens.delete(Owner::Serve, "CLAUDE").unwrap();
        assert_eq!(get("/one", Owner::Serve, "Claude"), None);
    }
}
