//! The vault: an encrypted file with a passphrase, for machines without a keychain (AUTH-8).
//!
//! `vault.bin` consists of magic bytes, version, argon2id parameters, salt, a check value, a nonce, and all
//! secrets encrypted with XChaCha20-Poly1305, with the header before the nonce as authenticated data. The key
//! is derived once, when the vault is opened. Every change writes the whole file with a new nonce; a new
//! passphrase also means a new salt and key. An old copy of the whole folder can't be distinguished from the
//! latest one, since nothing is stored outside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use gatehouse_model::{Secret, message};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::key::SecretKey;
use super::secret_store::{SecretStore, SecretStoreKind};
use crate::data_folder::folder;
use crate::error::{SecretError, StoreError};
use crate::random::random_bytes;

const FILE: &str = "vault.bin";
const MAGIC: &[u8; 15] = b"gatehouse vault";
const VERSION: u8 = 1;
const SALT: usize = 16;
const CHECK: usize = 16;
const NONCE: usize = 24;
/// Magic bytes, version, three parameters, salt, check value.
const HEADER: usize = 15 + 1 + 12 + SALT + CHECK;

/// 64 MiB, three passes, one lane.
const KDF_COST: KdfCost = KdfCost { memory_kib: 64 * 1024, passes: 3, lanes: 1 };

/// Minimum number of characters of a new passphrase. Its strength isn't checked otherwise.
const LEAST: usize = 8;

#[derive(Clone, Copy)]
struct KdfCost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

pub(super) struct Vault {
    path: PathBuf,
    state: Mutex<UnlockedVault>,
}

/// The seal and the content, which must change together.
struct UnlockedVault {
    encryption: VaultEncryption,
    content: VaultContent,
}

/// The key derived from a passphrase, and the file header with the parameters of the derivation.
struct VaultEncryption {
    cipher: XChaCha20Poly1305,
    header: [u8; HEADER],
}

/// All secrets by account name, zeroized on drop.
#[derive(Default)]
struct VaultContent(BTreeMap<String, String>);

impl Drop for VaultContent {
    fn drop(&mut self) {
        for secret in self.0.values_mut() {
            secret.zeroize();
        }
    }
}

/// Rejects a new passphrase that is too short.
pub(super) fn validate_new_passphrase(passphrase: &Secret) -> Result<(), SecretError> {
    if passphrase.reveal().chars().count() >= LEAST {
        return Ok(());
    }
    Err(SecretError::refused(message!("error.store.passphraseTooShort", count = LEAST.to_string())))
}

/// Path of the vault file.
pub(super) fn file(dir: &Path) -> PathBuf {
    dir.join(FILE)
}

/// Whether a folder has a vault, as far as this can be determined without its passphrase.
pub(super) fn vault_exists(dir: &Path) -> Result<bool, SecretError> {
    match std::fs::read(file(dir)) {
        Ok(bytes) => read_header(&bytes).map(|_| true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refused(error)),
    }
}

impl Vault {
    pub(super) fn open(dir: &Path, passphrase: &Secret) -> Result<Self, SecretError> {
        match Self::unlock(dir, passphrase)? {
            Some(vault) => Ok(vault),
            None => Self::create(dir, passphrase),
        }
    }

    /// Opens the vault of a folder; `None` if there is none.
    pub(super) fn unlock(dir: &Path, passphrase: &Secret) -> Result<Option<Self>, SecretError> {
        let path = folder::prepare(dir).map_err(not_written)?.join(FILE);
        match std::fs::read(&path) {
            Ok(bytes) => Self::read(path, &bytes, passphrase).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }

    pub(super) fn create(dir: &Path, passphrase: &Secret) -> Result<Self, SecretError> {
        let path = folder::prepare(dir).map_err(not_written)?.join(FILE);
        let (encryption, content) = (VaultEncryption::new(passphrase)?, VaultContent::default());
        encryption.write(&path, &content)?;
        Ok(Self { path, state: Mutex::new(UnlockedVault { encryption, content }) })
    }

    fn read(path: PathBuf, bytes: &[u8], passphrase: &Secret) -> Result<Self, SecretError> {
        let (header, rest) = read_header(bytes)?;
        let (key, check) = derive(passphrase, header.salt(), header.cost())?;
        if check != header.check() {
            return Err(SecretError::WrongPassphrase);
        }
        let cipher = XChaCha20Poly1305::new(&Key::from(*key));
        let header = header.0;
        let (nonce, sealed) = rest
            .split_at_checked(NONCE)
            .ok_or_else(|| SecretError::damaged(message!("error.store.vaultTooShort")))?;
        let nonce: [u8; NONCE] =
            nonce.try_into().map_err(|_| SecretError::damaged(message!("error.store.vaultTooShort")))?;
        let plain = cipher
            .decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: &header })
            .map_err(|_| SecretError::damaged(message!("error.store.vaultChanged")))?;
        let plain = Zeroizing::new(plain);
        let content = serde_json::from_slice(&plain)
            .map_err(|_| SecretError::damaged(message!("error.store.vaultChanged")))?;
        folder::restrict_to_owner(&path).map_err(not_written)?;
        let state =
            UnlockedVault { encryption: VaultEncryption { cipher, header }, content: VaultContent(content) };
        Ok(Self { path, state: Mutex::new(state) })
    }
}

/// A header that was validated.
struct VaultHeader([u8; HEADER]);

impl VaultHeader {
    /// The part after magic bytes and version.
    fn parts(&self) -> &[u8] {
        &self.0[MAGIC.len() + 1..]
    }

    fn cost(&self) -> KdfCost {
        let number = |index: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&self.parts()[index * 4..index * 4 + 4]);
            u32::from_be_bytes(four)
        };
        KdfCost { memory_kib: number(0), passes: number(1), lanes: number(2) }
    }

    fn salt(&self) -> &[u8] {
        &self.parts()[12..12 + SALT]
    }

    fn check(&self) -> &[u8] {
        &self.parts()[12 + SALT..]
    }
}

/// Validates the header of a file, and returns it with the rest.
fn read_header(bytes: &[u8]) -> Result<(VaultHeader, &[u8]), SecretError> {
    let (start, rest) = bytes
        .split_at_checked(HEADER)
        .ok_or_else(|| SecretError::damaged(message!("error.store.vaultTooShort")))?;
    let header = VaultHeader(
        start.try_into().map_err(|_| SecretError::damaged(message!("error.store.vaultTooShort")))?,
    );
    if !header.0.starts_with(MAGIC) {
        return Err(SecretError::damaged(message!("error.store.vaultBadHeader")));
    }
    match header.0[MAGIC.len()] {
        VERSION => {}
        0 => return Err(SecretError::damaged(message!("error.store.vaultBadHeader"))),
        _ => return Err(SecretError::NewerVersion),
    }
    let cost = header.cost();
    // A crafted file must not exhaust the machine's memory.
    if cost.memory_kib > 1024 * 1024 || cost.passes > 16 || cost.lanes > 4 {
        return Err(SecretError::damaged(message!("error.store.vaultBadCost")));
    }
    Ok((header, rest))
}

impl VaultEncryption {
    /// A new seal for this passphrase, with a new salt.
    fn new(passphrase: &Secret) -> Result<Self, SecretError> {
        let salt: [u8; SALT] = random_bytes().map_err(not_written)?;
        let (key, check) = derive(passphrase, &salt, KDF_COST)?;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.push(VERSION);
        for number in [KDF_COST.memory_kib, KDF_COST.passes, KDF_COST.lanes] {
            header.extend_from_slice(&number.to_be_bytes());
        }
        header.extend_from_slice(&salt);
        header.extend_from_slice(&check);
        let header =
            header.try_into().map_err(|_| SecretError::damaged(message!("error.store.vaultBadHeader")))?;
        Ok(Self { cipher: XChaCha20Poly1305::new(&Key::from(*key)), header })
    }

    fn write(&self, path: &Path, content: &VaultContent) -> Result<(), SecretError> {
        let plain = Zeroizing::new(serde_json::to_vec(&content.0).map_err(refused)?);
        let nonce: [u8; NONCE] = random_bytes().map_err(not_written)?;
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &self.header })
            .map_err(|_| SecretError::refused(message!("error.store.vaultUnencrypted")))?;
        let mut file = Vec::with_capacity(HEADER + NONCE + sealed.len());
        file.extend_from_slice(&self.header);
        file.extend_from_slice(&nonce);
        file.extend_from_slice(&sealed);
        folder::replace(path, &file).map_err(not_written)
    }
}

impl SecretStore for Vault {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        Ok(self.state.lock().content.0.get(key.account()).map(Secret::new))
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        let UnlockedVault { encryption, content } = &mut *self.state.lock();
        let before = content.0.insert(key.account().to_owned(), secret.reveal().to_owned());
        encryption.write(&self.path, content).inspect_err(|_| {
            match before {
                Some(before) => content.0.insert(key.account().to_owned(), before),
                None => content.0.remove(key.account()),
            };
        })
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        let UnlockedVault { encryption, content } = &mut *self.state.lock();
        let Some(before) = content.0.remove(key.account()) else { return Ok(()) };
        encryption.write(&self.path, content).inspect_err(|_| {
            content.0.insert(key.account().to_owned(), before);
        })
    }

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Vault
    }

    fn change_passphrase(&self, old: &Secret, new: &Secret) -> Result<(), SecretError> {
        validate_new_passphrase(new)?;
        // Locked for the whole change, so that nothing is written with the old key after the file has the new
        // one.
        let mut state = self.state.lock();
        let header = VaultHeader(state.encryption.header);
        if derive(old, header.salt(), header.cost())?.1 != header.check() {
            return Err(SecretError::WrongPassphrase);
        }
        let encryption = VaultEncryption::new(new)?;
        encryption.write(&self.path, &state.content)?;
        state.encryption = encryption;
        Ok(())
    }
}

/// Derives the key, and a check value that distinguishes a wrong passphrase from a damaged file without
/// revealing anything about the key.
fn derive(
    passphrase: &Secret,
    salt: &[u8],
    cost: KdfCost,
) -> Result<(Zeroizing<[u8; 32]>, [u8; CHECK]), SecretError> {
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(64))
        .map_err(|_| SecretError::damaged(message!("error.store.vaultBadCost")))?;
    let mut both = Zeroizing::new([0_u8; 64]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.reveal().as_bytes(), salt, &mut *both)
        .map_err(refused)?;
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(&both[..32]);
    let mut check = [0; CHECK];
    check.copy_from_slice(&Sha256::digest(&both[32..])[..CHECK]);
    Ok((key, check))
}

#[allow(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn refused(error: impl ToString) -> SecretError {
    SecretError::refused(error.to_string())
}

#[allow(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn not_written(error: StoreError) -> SecretError {
    SecretError::refused(error.text())
}
