//! Where secrets are kept: the keychain of the system, a vault with a passphrase, or memory.
//!
//! A secret is found by its whole key and never by a part of it, so that one that was bound to a
//! server, a generation and a field serves nothing else. Nothing here exports secrets, and only the names of
//! those of servers are listed, so that they can be deleted when their server is no more (`indexed.rs`).

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

/// Purpose of the secrets of a server's configuration.
const SERVER: &str = "server";
/// Purpose of what is kept of a server's sign-in.
const SIGN_IN: &str = "sign-in";

/// Generations of a server whose secrets are looked for when it goes.
const GENERATIONS: u32 = 32;

/// Keeps secrets. Every call may block: a keychain takes milliseconds, or as long as the user
/// takes to unlock it.
pub trait SecretStore: Send + Sync {
    /// The secret under a key, if there is one.
    ///
    /// # Errors
    /// When the store is locked or does not answer.
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError>;

    /// Keeps a secret under a key, in the place of the one before. Durable on return, unless the
    /// store is memory.
    ///
    /// # Errors
    /// When the store is locked or does not answer.
    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError>;

    /// Forgets the secret under a key; it is no error if there is none.
    ///
    /// # Errors
    /// When the store is locked or does not answer.
    fn delete(&self, key: &SecretKey) -> Result<(), SecretError>;

    /// What sort of store this is.
    fn kind(&self) -> SecretKind;

    /// Has everything open with another passphrase from now on. Durable on return; after an error
    /// the old one holds.
    ///
    /// # Errors
    /// [`SecretError::WrongPassphrase`] when the old one is not the one that holds, and
    /// [`SecretError::Refused`] for a new one of fewer than 8 characters, for a store that has none, and
    /// when the disk refuses.
    fn change_passphrase(&self, _old: &Secret, _new: &Secret) -> Result<(), SecretError> {
        Err(SecretError::Refused { reason: "only a vault has a passphrase".to_owned() })
    }
}

/// The sorts of secret stores (AUTH-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// The keychain of the system.
    Keychain,
    /// An encrypted file with a passphrase.
    Vault,
    /// Memory: gone when Gatehouse ends.
    Memory,
}

impl SecretKind {
    /// `keychain`, `vault` or `memory`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Keychain => "keychain",
            Self::Vault => "vault",
            Self::Memory => "memory",
        }
    }
}

/// What a secret is for: purpose, owner and field, all of which must be the same to find it again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SecretKey(String);

impl SecretKey {
    /// A key from its three parts; different parts never make the same key.
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

    /// A secret of one server's configuration, bound to what the server is (SRV-16) and the field
    /// that it may be put into, for example `env/API_KEY` or `headers/Authorization` (PERM-16).
    #[must_use]
    pub fn bound(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner(to), field)
    }

    /// The same as older versions named it, without what the server is. Nothing is read by this name.
    #[must_use]
    pub fn bound_before_identity(to: &ServerBinding, field: &str) -> Self {
        Self::new(SERVER, &owner_before_identity(to), field)
    }

    /// The sign-in of one server, bound to what the server is (SRV-16) and the resource that the
    /// token is for (AUTH-5). The issuer is kept with the token and compared when it is read.
    #[must_use]
    pub fn sign_in(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner(to), resource)
    }

    /// The same as older versions named it, without what the server is. Nothing is read by this name.
    #[must_use]
    pub fn sign_in_before_identity(to: &ServerBinding, resource: &str) -> Self {
        Self::new(SIGN_IN, &owner_before_identity(to), resource)
    }

    /// The key with this text.
    fn of_account(text: String) -> Self {
        Self(text)
    }

    /// Whether it is for a secret or the sign-in of a server.
    fn is_of_a_server(&self) -> bool {
        matches!(self.0.split('|').next(), Some(SERVER | SIGN_IN))
    }

    /// The key as one text, as keychains want it.
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

/// A server as secrets were bound to it in the generations before, as far back as they are looked for, and as they
/// are now. What else it was in those generations is not known, so it is taken to be the same.
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

/// Opens the keychain of the system, and checks that it answers.
///
/// # Errors
/// [`SecretError::Unavailable`] where there is none, [`SecretError::Locked`] where it is locked.
pub fn open_keychain() -> Result<Arc<dyn SecretStore>, SecretError> {
    keychain::Keychain::open().map(|keychain| Arc::new(keychain) as Arc<dyn SecretStore>)
}

/// Whether a data folder has a vault, as far as that can be told without its passphrase.
///
/// # Errors
/// [`SecretError::Damaged`] or [`SecretError::NewerVersion`] for one that no passphrase can open, and
/// [`SecretError::Refused`] when the disk refuses.
pub fn has_vault(dir: &Path) -> Result<bool, SecretError> {
    vault::is_there(dir)
}

/// Where the vault of a data folder is, or would be.
#[must_use]
pub fn vault_file(dir: &Path) -> PathBuf {
    vault::file(dir)
}

/// Opens the vault that a data folder has.
///
/// # Errors
/// As [`open_vault`]; [`SecretError::Refused`] also where there is none.
pub fn unlock_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    match vault::Vault::unlock(dir, passphrase)? {
        Some(vault) => Ok(Arc::new(vault)),
        None => Err(SecretError::Refused { reason: "there is no vault".to_owned() }),
    }
}

/// Makes an empty vault in a data folder that has none.
///
/// # Errors
/// [`SecretError::Refused`] for a passphrase of fewer than 8 characters, where there is a vault, whatever
/// it is like, and when the disk refuses.
pub fn make_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    vault::check_new(passphrase)?;
    match vault::is_there(dir) {
        Ok(false) => {
            vault::Vault::create(dir, passphrase).map(|vault| Arc::new(vault) as Arc<dyn SecretStore>)
        }
        Err(error @ SecretError::Refused { .. }) => Err(error),
        Ok(true) | Err(_) => Err(SecretError::Refused { reason: "there is a vault already".to_owned() }),
    }
}

/// Opens the vault of a data folder, or makes an empty one. Takes about a tenth of a second and
/// 64 MiB for the key, which is derived this once.
///
/// # Errors
/// [`SecretError::WrongPassphrase`], [`SecretError::Damaged`], [`SecretError::NewerVersion`], or
/// [`SecretError::Refused`] when the disk refuses.
pub fn open_vault(dir: &Path, passphrase: &Secret) -> Result<Arc<dyn SecretStore>, SecretError> {
    vault::Vault::open(dir, passphrase).map(|vault| Arc::new(vault) as Arc<dyn SecretStore>)
}

/// A store that lasts as long as this process.
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
    fn a_bound_key_names_what_the_server_is_and_the_field() {
        let bound = |generation, identity: &str| ServerBinding {
            server: "srv-1".into(),
            generation: Generation(generation),
            identity: identity.into(),
        };
        let key = SecretKey::bound(&bound(2, "i"), "env/API_KEY");
        assert_eq!(key.account(), "server|srv-1@2#i|env/API_KEY");
        let older = SecretKey::bound_before_identity(&bound(2, "i"), "env/API_KEY");
        assert_eq!(older.account(), "server|srv-1@2|env/API_KEY");
        assert_ne!(key, SecretKey::bound(&bound(3, "i"), "env/API_KEY"));
        assert_ne!(key, SecretKey::bound(&bound(2, "j"), "env/API_KEY"));
        assert_ne!(key, SecretKey::bound(&bound(2, "i"), "env/OTHER"));
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
