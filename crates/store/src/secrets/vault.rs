//! An encrypted file with a passphrase, for machines without a keychain (AUTH-8).
//!
//! `vault.bin`: a magic word, the argon2id parameters, a salt, a check value, a nonce, and the
//! XChaCha20-Poly1305 encryption of all secrets, with everything before it authenticated. The key
//! is derived once, at opening; every change writes the whole file under a new nonce. An old copy
//! of the whole folder cannot be told from the last one: there is no place outside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use gatehouse_model::Secret;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::{SecretKey, SecretKind, SecretStore};
use crate::error::SecretError;
use crate::folder;
use crate::store::random;

const FILE: &str = "vault.bin";
const MAGIC: &[u8; 15] = b"gatehouse vault";
const VERSION: u8 = 1;
const SALT: usize = 16;
const CHECK: usize = 16;
const NONCE: usize = 24;
/// Magic, version, three parameters, salt, check.
const HEADER: usize = 15 + 1 + 12 + SALT + CHECK;

/// 64 MiB, three passes, one lane.
const COST: Cost = Cost { memory_kib: 64 * 1024, passes: 3, lanes: 1 };

#[derive(Clone, Copy)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

pub(super) struct Vault {
    path: PathBuf,
    cipher: XChaCha20Poly1305,
    header: [u8; HEADER],
    content: Mutex<Content>,
}

/// All secrets by their account, wiped when dropped.
#[derive(Default)]
struct Content(BTreeMap<String, String>);

impl Drop for Content {
    fn drop(&mut self) {
        for secret in self.0.values_mut() {
            secret.zeroize();
        }
    }
}

impl Vault {
    pub(super) fn open(dir: &Path, passphrase: &Secret) -> Result<Self, SecretError> {
        let dir = folder::prepare(dir).map_err(refused)?;
        let path = dir.join(FILE);
        match std::fs::read(&path) {
            Ok(bytes) => Self::read(path, &bytes, passphrase),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::create(path, passphrase),
            Err(error) => Err(refused(error)),
        }
    }

    fn create(path: PathBuf, passphrase: &Secret) -> Result<Self, SecretError> {
        let salt: [u8; SALT] = random().map_err(refused)?;
        let (key, check) = derive(passphrase, &salt, COST)?;
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.push(VERSION);
        for number in [COST.memory_kib, COST.passes, COST.lanes] {
            header.extend_from_slice(&number.to_be_bytes());
        }
        header.extend_from_slice(&salt);
        header.extend_from_slice(&check);
        let header = header.try_into().map_err(|_| damaged("its header has another length"))?;
        let vault = Self {
            path,
            cipher: XChaCha20Poly1305::new(&Key::from(*key)),
            header,
            content: Mutex::default(),
        };
        vault.write(&Content::default())?;
        Ok(vault)
    }

    fn read(path: PathBuf, bytes: &[u8], passphrase: &Secret) -> Result<Self, SecretError> {
        let (start, rest) = bytes.split_at_checked(HEADER).ok_or_else(|| damaged("it is too short"))?;
        let header: [u8; HEADER] = start.try_into().map_err(|_| damaged("it is too short"))?;
        let (magic, rest_of_header) = header.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(damaged("it does not begin like a vault"));
        }
        match rest_of_header[0] {
            VERSION => {}
            0 => return Err(damaged("its version is not one")),
            _ => return Err(SecretError::NewerVersion),
        }
        let number = |index: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&rest_of_header[1 + index * 4..5 + index * 4]);
            u32::from_be_bytes(four)
        };
        let cost = Cost { memory_kib: number(0), passes: number(1), lanes: number(2) };
        // A foreign file must not make us spend the machine's memory.
        if cost.memory_kib > 1024 * 1024 || cost.passes > 16 || cost.lanes > 4 {
            return Err(damaged("its cost parameters are out of bounds"));
        }
        let (salt, check) = rest_of_header[13..].split_at(SALT);
        let (key, own_check) = derive(passphrase, salt, cost)?;
        if own_check != check {
            return Err(SecretError::WrongPassphrase);
        }
        let cipher = XChaCha20Poly1305::new(&Key::from(*key));
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or_else(|| damaged("it is too short"))?;
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| damaged("it is too short"))?;
        let plain = cipher
            .decrypt(&XNonce::from(nonce), Payload { msg: sealed, aad: &header })
            .map_err(|_| damaged("its content was changed"))?;
        let plain = Zeroizing::new(plain);
        let content =
            serde_json::from_slice(&plain).map_err(|_| damaged("its content is not what was written"))?;
        folder::tighten(&path).map_err(refused)?;
        Ok(Self { path, cipher, header, content: Mutex::new(Content(content)) })
    }

    fn write(&self, content: &Content) -> Result<(), SecretError> {
        let plain = Zeroizing::new(serde_json::to_vec(&content.0).map_err(refused)?);
        let nonce: [u8; NONCE] = random().map_err(refused)?;
        let sealed = self
            .cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: &plain, aad: &self.header })
            .map_err(|_| SecretError::Refused { reason: "the vault cannot be encrypted".to_owned() })?;
        let mut file = Vec::with_capacity(HEADER + NONCE + sealed.len());
        file.extend_from_slice(&self.header);
        file.extend_from_slice(&nonce);
        file.extend_from_slice(&sealed);
        folder::replace(&self.path, &file).map_err(refused)
    }
}

impl SecretStore for Vault {
    fn get(&self, key: &SecretKey) -> Result<Option<Secret>, SecretError> {
        Ok(self.content.lock().0.get(key.account()).map(Secret::new))
    }

    fn set(&self, key: &SecretKey, secret: &Secret) -> Result<(), SecretError> {
        let mut content = self.content.lock();
        let before = content.0.insert(key.account().to_owned(), secret.reveal().to_owned());
        self.write(&content).inspect_err(|_| {
            match before {
                Some(before) => content.0.insert(key.account().to_owned(), before),
                None => content.0.remove(key.account()),
            };
        })
    }

    fn delete(&self, key: &SecretKey) -> Result<(), SecretError> {
        let mut content = self.content.lock();
        let Some(before) = content.0.remove(key.account()) else { return Ok(()) };
        self.write(&content).inspect_err(|_| {
            content.0.insert(key.account().to_owned(), before);
        })
    }

    fn kind(&self) -> SecretKind {
        SecretKind::Vault
    }
}

/// The key, and a value that tells a wrong passphrase from a damaged file and nothing of the key.
fn derive(
    passphrase: &Secret,
    salt: &[u8],
    cost: Cost,
) -> Result<(Zeroizing<[u8; 32]>, [u8; CHECK]), SecretError> {
    let params = Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(64))
        .map_err(|_| damaged("its cost parameters are out of bounds"))?;
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

fn damaged(reason: &str) -> SecretError {
    SecretError::Damaged { reason: reason.to_owned() }
}

#[allow(clippy::needless_pass_by_value, reason = "used as a function in map_err")]
fn refused(error: impl ToString) -> SecretError {
    SecretError::Refused { reason: error.to_string() }
}
