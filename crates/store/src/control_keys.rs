//! What is kept so that the two ends of the control socket can prove to each other that they know the
//! operator key or a client's token: keys that are derived from those one way. They lie in the store
//! for secrets beside the keys of the seals, and in no file: whoever has one can pass for its owner
//! on the control socket, though not at the gateway.

use std::sync::Arc;

use gatehouse_model::Secret;
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::error::SecretError;
use crate::sealed::{SealPlace, keyed};
use crate::secrets::{SecretKey, SecretStore};
use crate::store::Owner;

/// A key of the control socket.
#[derive(Clone)]
pub struct ControlKey(Zeroizing<[u8; 32]>);

impl ControlKey {
    /// Of the person's key.
    #[must_use]
    pub fn of_operator_key(key: &Secret) -> Self {
        Self::derive(b"gatehouse control key 1: operator", key)
    }

    /// Of a client's token.
    #[must_use]
    pub fn of_client_token(token: &Secret) -> Self {
        Self::derive(b"gatehouse control key 1: client", token)
    }

    /// The key itself.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Both sorts of secrets are 256 random bits, so nothing has to be made slow here.
    fn derive(purpose: &[u8], secret: &Secret) -> Self {
        let digest = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(secret.reveal().as_bytes())));
        let mut mac = keyed(&digest);
        mac.update(purpose);
        // The SHA-256 of a token is kept in the open, so the secret itself has to be in it too.
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
    pub(crate) fn new(place: &SealPlace) -> Self {
        Self { secrets: Arc::clone(&place.secrets), folder: place.folder().to_owned(), owner: place.owner }
    }

    /// The operator's, if one was ever kept.
    ///
    /// # Errors
    /// When the secret store does not answer, or keeps something else there.
    pub fn operator(&self) -> Result<Option<ControlKey>, SecretError> {
        self.get(&self.operators())
    }

    /// Keeps the operator's in the place of the one before.
    ///
    /// # Errors
    /// When the secret store refuses.
    pub fn keep_operator(&self, key: &ControlKey) -> Result<(), SecretError> {
        self.secrets.set(&self.operators(), &text(key))
    }

    /// That of the client whose token has this SHA-256 (hexadecimal).
    ///
    /// # Errors
    /// When the secret store does not answer, or keeps something else there.
    pub fn client(&self, token_sha256: &str) -> Result<Option<ControlKey>, SecretError> {
        self.get(&self.clients(token_sha256))
    }

    /// Keeps that of a client.
    ///
    /// # Errors
    /// When the secret store refuses.
    pub fn keep_client(&self, token_sha256: &str, key: &ControlKey) -> Result<(), SecretError> {
        self.secrets.set(&self.clients(token_sha256), &text(key))
    }

    /// Forgets that of a client.
    ///
    /// # Errors
    /// When the secret store refuses.
    pub fn forget_client(&self, token_sha256: &str) -> Result<(), SecretError> {
        self.secrets.delete(&self.clients(token_sha256))
    }

    fn operators(&self) -> SecretKey {
        SecretKey::new("control", &self.folder, &format!("operator/{}", self.owner.word()))
    }

    fn clients(&self, token_sha256: &str) -> SecretKey {
        SecretKey::new("control", &self.folder, &format!("client/{}/{token_sha256}", self.owner.word()))
    }

    fn get(&self, key: &SecretKey) -> Result<Option<ControlKey>, SecretError> {
        let Some(text) = self.secrets.get(key)? else { return Ok(None) };
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(text.reveal(), &mut *bytes).map_err(|_| SecretError::Damaged {
            reason: "a key of the control socket is not one".to_owned(),
        })?;
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
    fn keys_are_of_one_secret_and_one_purpose() {
        let (one, other) = (Secret::new("one"), Secret::new("other"));
        let key = ControlKey::of_operator_key(&one);
        assert_eq!(key.bytes(), ControlKey::of_operator_key(&one).bytes());
        assert_ne!(key.bytes(), ControlKey::of_operator_key(&other).bytes());
        assert_ne!(key.bytes(), ControlKey::of_client_token(&one).bytes());
        assert_ne!(key.bytes().as_slice(), Sha256::digest(b"one").as_slice());
    }
}
