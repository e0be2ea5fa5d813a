//! The data folder on disk: owner lock, atomic file writes, permissions.
//!
//! On Unix, everything here is readable by the owner only (modes 0700 and 0600). A file is replaced by
//! renaming, never written in place, so that a crash leaves either the old or the new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::{ErrorCode, UserError, message};
use sha2::{Digest as _, Sha256};

use super::owner::Owner;
use crate::error::StoreError;

const LOCK_FILE: &str = "owner.lock";

/// The exclusive lock of a data folder, held until dropped.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
}

impl OwnerLock {
    pub(crate) fn take(dir: &Path, owner: Owner) -> Result<Self, StoreError> {
        let path = dir.join(LOCK_FILE);
        let mut file =
            owner_only::file(OpenOptions::new().read(true).write(true).create(true).truncate(false))
                .open(&path)
                .map_err(StoreError::io(message!("error.store.lockUnopened")))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let holder = file.read_to_string(&mut holder).ok().map(|_| holder.trim().to_owned());
                return Err(StoreError::DataFolderInUse {
                    holder: holder.filter(|holder| !holder.is_empty()),
                });
            }
            Err(TryLockError::Error(source)) => {
                return Err(StoreError::io(message!("error.store.folderUnlocked"))(source));
            }
        }
        let note = format!("{}, process {}\n", owner.as_str(), std::process::id());
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(note.as_bytes()))
            .map_err(StoreError::io(message!("error.store.lockUnwritten")))?;
        Ok(Self { file })
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing the file isn't enough: a child process between fork and exec has the file open too and
        // shares the lock.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the data folder could not be given back");
        }
    }
}

/// Creates the data folder with owner-only permissions and returns its canonical path. Must be called before
/// anything is put into the folder: a folder that isn't Gatehouse's yet and isn't empty keeps its mode, since
/// it may be shared on purpose.
///
/// # Errors
/// When the folder can't be created, or contains something else and is accessible to others.
pub fn prepare(dir: &Path) -> Result<PathBuf, StoreError> {
    let cannot = || StoreError::io(message!("error.store.folderUnmade", folder = dir.display().to_string()));
    let is_ours = !dir.exists() || dir.join(LOCK_FILE).exists();
    fs::create_dir_all(dir).map_err(cannot())?;
    let dir = dir.canonicalize().map_err(cannot())?;
    let is_empty = fs::read_dir(&dir).map_err(cannot())?.next().is_none();
    if is_ours || is_empty {
        set_mode(&dir, 0o700)?;
    } else if is_open_to_others(&dir).map_err(cannot())? {
        let what = message!("error.store.folderOpen", folder = dir.display().to_string());
        return Err(StoreError::Config(
            UserError::new(ErrorCode::Storage, what)
                .with_cause(message!("error.store.folderOpenCause"))
                .with_hint(message!("error.store.folderOpenHint")),
        ));
    }
    Ok(dir)
}

/// Identifies a data folder by its canonical path, in keys of a secret store that other folders share.
pub(crate) fn folder_id(dir: &Path) -> String {
    let digest = hex::encode(Sha256::digest(dir.as_os_str().as_encoded_bytes()));
    digest[..32].to_owned()
}

/// Makes a file owner-only, if it exists.
pub(crate) fn restrict_to_owner(path: &Path) -> Result<(), StoreError> {
    if path.is_file() { set_mode(path, 0o600) } else { Ok(()) }
}

/// Creates an empty owner-only file unless it exists, so that code that opens it afterwards keeps the mode.
pub(crate) fn create_owner_only(path: &Path) -> Result<(), StoreError> {
    owner_only::file(OpenOptions::new().write(true).create(true).truncate(false))
        .open(path)
        .map_err(StoreError::io(message!("error.store.fileUnmade", file = display_name(path))))?;
    restrict_to_owner(path)
}

/// Replaces a file atomically.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    atomic_file::replace(path, content)
        .map_err(StoreError::io(message!("error.store.fileUnwritten", file = display_name(path))))
}

#[cfg(unix)]
fn is_open_to_others(dir: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::metadata(dir)?.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(StoreError::io(message!("error.store.modeUnset", file = display_name(path))))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> Result<(), StoreError> {
    Ok(())
}

fn display_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
