//! The system's keychain: Secret Service on Linux, Keychain on macOS, Credential Manager on Windows. Every
//! secret is an item of its own under the service name `gatehouse`.

use std::sync::Arc;

use gatehouse_model::{Secret, message};
use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};

use super::key::SecretKey;
use super::secret_store::{SecretStore, SecretStoreKind};
use crate::error::SecretError;

const SERVICE: &str = "gatehouse";

pub(super) struct Keychain {
    store: Arc<dyn CredentialStoreApi + Send + Sync>,
}

impl Keychain {
    pub(super) fn open() -> Result<Self, SecretError> {
        let keychain = Self { store: native_store().map_err(|e| translate(&e))? };
        // A keychain that can't store anything is useless: find out now, not at the first grant.
        let probe = SecretKey::new("probe", "gatehouse", "probe");
        if keychain.get(&probe)?.is_none() {
            keychain.set(&probe, &Secret::new("Gatehouse can use this keychain."))?;
        }
        Ok(keychain)
    }

    fn entry(&self, key: &SecretKey) -> Result<Entry, SecretError> {
        self.store.build(SERVICE, key.account(), None).map_err(|e| translate(&e))
    }
}

impl SecretStore for Keychain {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        match self.entry(key)?.get_password() {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(translate(&error)),
        }
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        self.entry(key)?.set_password(secret.reveal()).map_err(|e| translate(&e))
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        match self.entry(key)?.delete_credential() {
            Ok(()) | Err(Error::NoEntry) => Ok(()),
            Err(error) => Err(translate(&error)),
        }
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Keychain
    }
}

#[cfg(target_os = "linux")]
fn native_store() -> keyring_core::Result<Arc<dyn CredentialStoreApi + Send + Sync>> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
fn native_store() -> keyring_core::Result<Arc<dyn CredentialStoreApi + Send + Sync>> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(target_os = "windows")]
fn native_store() -> keyring_core::Result<Arc<dyn CredentialStoreApi + Send + Sync>> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "windows")))]
fn native_store() -> keyring_core::Result<Arc<dyn CredentialStoreApi + Send + Sync>> {
    Err(Error::NoDefaultStore)
}

/// Converts a keychain error. These errors contain no secret, except for those that contain raw bytes, which
/// are left out.
fn translate(error: &Error) -> SecretError {
    match error {
        Error::NoStorageAccess(_) => SecretError::Locked,
        Error::PlatformFailure(cause) => SecretError::unavailable(cause.to_string()),
        Error::NoDefaultStore => SecretError::unavailable(message!("error.store.noKnownKeychain")),
        Error::BadEncoding(_) | Error::BadDataFormat(..) => {
            SecretError::refused(message!("error.store.foreignSecret"))
        }
        other => SecretError::refused(other.to_string()),
    }
}
