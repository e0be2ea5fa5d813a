//! Control keys: with them, the two ends of the control socket prove to each other that they know the
//! operator key or a client's token. They are derived from those with a one-way function and are stored in
//! the secret store next to the sealing keys, not in a file: whoever has a control key can impersonate its
//! owner on the control socket, though not at the gateway.

use std::sync::Arc;

use gatehouse_model::{Secret, message};
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::context::{SealContext, hmac_with_key};
use crate::data_folder::owner::Owner;
use crate::error::SecretError;
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::SecretStore;

/// A key for the control socket.
#[derive(Clone)]
pub struct ControlKey(Zeroizing<[u8; 32]>);

impl ControlKey {
    /// Derives the key of the operator.
    #[must_use]
    pub fn of_operator_key(key: &Secret) -> Self {
        Self::derive(b"gatehouse control key 1: operator", key)
    }

    /// Derives the key of a client.
    #[must_use]
    pub fn of_client_token(token: &Secret) -> Self {
        Self::derive(b"gatehouse control key 1: client", token)
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives a key. Both kinds of secrets have 256 random bits, so no slow key derivation is needed.
    fn derive(purpose: &[u8], secret: &Secret) -> Self {
        let digest = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(secret.reveal().as_bytes())));
        let mut mac = hmac_with_key(&digest);
        mac.update(purpose);
        // The SHA-256 of a token is stored in the clear, so it can't be the only input: the secret itself is
        // included.
        mac.update(secret.reveal().as_bytes());
        Self(Zeroizing::new(mac.finalize().into_bytes().into()))
    }
}

/// The control keys of one data folder and one owner. All calls block on the secret store.
pub struct ControlKeys {
    secrets: Arc<dyn SecretStore>,
    folder: String,
    owner: Owner,
}

impl ControlKeys {
    pub(crate) fn new(seals: &SealContext) -> Self {
        Self { secrets: Arc::clone(&seals.secrets), folder: seals.folder().to_owned(), owner: seals.owner }
    }

    /// The operator's key, if one was stored.
    ///
    /// # Errors
    /// When the secret store doesn't answer, or the stored value isn't a key.
    pub fn operator(&self) -> Result<Option<ControlKey>, SecretError> {
        self.get(&self.operator_key_name())
    }

    /// Stores the operator's key, replacing the previous one.
    pub fn keep_operator(&self, key: &ControlKey) -> Result<(), SecretError> {
        self.secrets.set(&self.operator_key_name(), &text(key))
    }

    /// The key of the client whose token has this SHA-256 (hexadecimal).
    ///
    /// # Errors
    /// When the secret store doesn't answer, or the stored value isn't a key.
    pub fn client(&self, token_sha256: &str) -> Result<Option<ControlKey>, SecretError> {
        self.get(&self.client_key_name(token_sha256))
    }

    /// Stores the key of a client.
    pub fn keep_client(&self, token_sha256: &str, key: &ControlKey) -> Result<(), SecretError> {
        self.secrets.set(&self.client_key_name(token_sha256), &text(key))
    }

    /// Deletes the key of a client.
    pub fn forget_client(&self, token_sha256: &str) -> Result<(), SecretError> {
        self.secrets.delete(&self.client_key_name(token_sha256))
    }

    fn operator_key_name(&self) -> SecretKey {
        SecretKey::new("control", &self.folder, &format!("operator/{}", self.owner.as_str()))
    }

    fn client_key_name(&self, token_sha256: &str) -> SecretKey {
        SecretKey::new("control", &self.folder, &format!("client/{}/{token_sha256}", self.owner.as_str()))
    }

    fn get(&self, key: &SecretKey) -> Result<Option<ControlKey>, SecretError> {
        let Some(text) = self.secrets.get(key)? else { return Ok(None) };
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.reveal(), &mut *bytes)
            .map_err(|_| SecretError::damaged(message!("error.store.storedKeyBroken")))?;
        Ok(Some(ControlKey(bytes)))
    }
}

fn text(key: &ControlKey) -> Secret {
    Secret::new(hex::encode(key.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_keys_depend_on_secret_and_purpose() {
        let (one, other) = (Secret::new("one"), Secret::new("other"));
        let key = ControlKey::of_operator_key(&one);
        assert_eq!(key.bytes(), ControlKey::of_operator_key(&one).bytes());
        assert_ne!(key.bytes(), ControlKey::of_operator_key(&other).bytes());
        assert_ne!(key.bytes(), ControlKey::of_client_token(&one).bytes());
        assert_ne!(key.bytes().as_slice(), Sha256::digest(b"one").as_slice());
    }
}
