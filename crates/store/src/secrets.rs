//! Secret stores: the system's keychain, a vault with a passphrase, or memory.
//!
//! A secret is looked up by its complete key, never by a part of it, so that a secret that is bound to a
//! server, a generation and a field can't be used for another. Secrets can't be exported. Only the names of
//! servers' secrets are listed, so that they can be deleted when their server is removed (`indexed.rs`).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_model::{Generation, Secret, ServerBinding};

use crate::error::SecretError;

mod indexed;
mod keychain;
mod memory;
mod vault;

pub(crate) use indexed::Indexed;

/// Purpose of the secrets in a server's configuration.
const SERVER: &str = "server";
/// Purpose of a server's sign-in state.
const SIGN_IN: &str = "sign-in";

/// Number of earlier generations of a server whose secrets are deleted with it.
const GENERATIONS: u32 = 32;

/// Stores secrets. Every call may block: a keychain takes milliseconds, or as long as the user takes to
/// unlock it.
pub trait SecretStore: Send + Sync {
    /// The secret with this key, if there is one.
    ///
    /// # Errors
    /// When the store is locked or doesn't answer.
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError>;

    /// Stores a secret, replacing the previous one. Durable on return, unless the store is in memory.
    ///
    /// # Errors
    /// When the store is locked or doesn't answer.
    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError>;

    /// Deletes a secret. Succeeds if there is none.
    ///
    /// # Errors
    /// When the store is locked or doesn't answer.
    fn delete(&self, key: &SecretKey) -> Result<(), SecretError>;

    fn kind(&self) -> SecretStoreKind;

    /// Changes the passphrase. Durable on return; after an error the old one stays valid.
    ///
    /// # Errors
    /// [`SecretError::WrongPassphrase`] if `old` isn't the current passphrase. [`SecretError::Refused`] if
    /// `new` has fewer than 8 characters, the store has no passphrase, or the disk refuses.
    fn change_passphrase(&self, _old: &Secret, _new: &Secret) -> Result<(), SecretError> {
        Err(SecretError::Refused { reason: "only a vault has a passphrase".to_owned() })
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keychain => "keychain",
            Self::Vault => "vault",
            Self::Memory => "memory",
        }
    }
}

/// Key of a secret: purpose, owner and field. All three must match to find the secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretKey(String);

impl SecretKey {
    /// A key from its three parts. Different parts never result in the same key.
    #[must_use]
    pub fn new(purpose: &str, owner: &str, field: &str) -> Self {
        let mut text = String::with_capacity(purpose.len() + owner.len() + field.len() + 2);
        for (index, part) in [purpose, owner, field].into_iter().enumerate() {
            if index > 0 {
                text.push('|');
            }
            for c in part.chars() {
                match c {
                    '%' => text.push_str("%25"),
                    '|' => text.push_str("%7C"),
                    other => text.push(other),
                }
            }
        }
        Self(text)
    }

    /// Key of a secret in a server's configuration, bound to the identity of the server (SRV-16) and the
    /// field that it may be used in, for example `env/API_KEY` or `headers/Authorization` (PERM-16).
    #[must_use]
    pub fn for_server_field(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner(to), field)
    }

    /// The key that older versions used, without the server's identity. Only used for deletion, never to read
    /// a secret.
    #[must_use]
    pub fn for_field_before_identity(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner_before_identity(to), field)
    }

    /// Key of a server's sign-in, bound to the identity of the server (SRV-16) and the resource that the
    /// token is for (AUTH-5). The issuer is stored with the token and compared when it is read.
    #[must_use]
    pub fn sign_in(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner(to), resource)
    }

    /// The key that older versions used, without the server's identity. Only used for deletion, never to read
    /// a secret.
    #[must_use]
    pub fn sign_in_before_identity(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner_before_identity(to), resource)
    }

    /// Converts [`Self::account`] back to a key.
    fn of_account(text: String) -> Self {
        Self(text)
    }

    /// Whether this is the key of a server's secret or sign-in.
    fn is_of_a_server(&self) -> bool {
        matches!(self.0.split('|').next(), Some(SERVER | SIGN_IN))
    }

    /// The key as one string, for use as an account name in keychains.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.0
    }
}

fn owner(to: &ServerBinding) -> String {
    format!("{}#{}", owner_before_identity(to), to.identity)
}

fn owner_before_identity(to: &ServerBinding) -> String {
    format!("{}@{}", to.server, to.generation)
}

/// Bindings of a server in its earlier generations (as many as are looked for) and the current one. The
/// identities in earlier generations aren't known, so the current one is assumed.
pub fn generations(present: &ServerBinding) -> impl Iterator<Item = ServerBinding> {
    let last = present.generation.0;
    (last.saturating_sub(GENERATIONS)..=last)
        .map(|generation| ServerBinding { generation: Generation(generation), ..present.clone() })
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

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
        None => Err(SecretError::Refused { reason: "there is no vault".to_owned() }),
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
        Ok(true) | Err(_) => Err(SecretError::Refused { reason: "there is a vault already".to_owned() }),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_parts_make_different_keys() {
        let of = |a, b, c| SecretKey::new(a, b, c).account().to_owned();
        assert_ne!(of("a|b", "c", "d"), of("a", "b|c", "d"));
        assert_ne!(of("a", "b%7Cc", "d"), of("a", "b|c", "d"));
        assert_eq!(of("a", "b", "c"), "a|b|c");
    }

    #[test]
    fn server_field_key_contains_binding_and_field() {
        let bound = |generation, identity: &str| ServerBinding {
            server: "srv-1".into(),
            generation: Generation(generation),
            identity: identity.into(),
        };
        let key = SecretKey::for_server_field(&bound(2, "i"), "env/API_KEY");
        assert_eq!(key.account(), "server|srv-1@2#i|env/API_KEY");
        let older = SecretKey::for_field_before_identity(&bound(2, "i"), "env/API_KEY");
        assert_eq!(older.account(), "server|srv-1@2|env/API_KEY");
        assert_ne!(key, SecretKey::for_server_field(&bound(3, "i"), "env/API_KEY"));
        assert_ne!(key, SecretKey::for_server_field(&bound(2, "j"), "env/API_KEY"));
        assert_ne!(key, SecretKey::for_server_field(&bound(2, "i"), "env/OTHER"));
        let sign_in = SecretKey::sign_in(&bound(2, "i"), "registration");
        assert_eq!(sign_in.account(), "sign-in|srv-1@2#i|registration");
        let older = SecretKey::sign_in_before_identity(&bound(2, "i"), "registration");
        assert_eq!(older.account(), "sign-in|srv-1@2|registration");
    }

    #[test]
    fn secrets_of_servers_are_told_from_the_seals() {
        let of = |purpose| SecretKey::new(purpose, "a", "b").is_of_a_server();
        assert!(of("server") && of("sign-in"));
        assert!(!of("seal") && !of("control") && !of("server|") && !of("servers"));
    }

    #[test]
    fn the_present_generation_and_32_before_are_looked_for() {
        let to = |generation| ServerBinding {
            server: "srv-1".into(),
            generation: Generation(generation),
            identity: "i".into(),
        };
        let found = |generation| generations(&to(generation)).collect::<Vec<_>>();
        assert_eq!(found(0), [to(0)]);
        assert_eq!(found(2), [to(0), to(1), to(2)]);
        assert_eq!((found(1000).len(), found(1000).first()), (33, Some(&to(968))));
    }
}
