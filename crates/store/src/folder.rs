//! The data folder on disk: who owns it, how its files are written, who may read them.
//!
//! Everything here is for the owner only (0700, 0600). A file is replaced by rename, never
//! written in place, so that a crash leaves the old one or the new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gatehouse_common::{atomic_file, owner_only};
use gatehouse_model::{ErrorCode, Problem};

use crate::error::StoreError;
use crate::store::Owner;

const LOCK_FILE: &str = "owner.lock";

/// Holds the lock of a data folder for as long as it lives.
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
                .map_err(StoreError::io("The lock of the data folder cannot be opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                if file.read_to_string(&mut holder).is_err() || holder.trim().is_empty() {
                    "another process".clone_into(&mut holder);
                }
                return Err(StoreError::DataFolderInUse { holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(StoreError::Io { what: "The data folder cannot be locked".to_owned(), source });
            }
        }
        let note = format!("{}, process {}\n", owner.word(), std::process::id());
        file.set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(note.as_bytes()))
            .map_err(StoreError::io("The lock of the data folder cannot be written"))?;
        Ok(Self { file })
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started in this moment has the file open too until it
        // runs its program, and the lock belongs to both.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the data folder could not be given back");
        }
    }
}

/// Makes the data folder, owner-only, and answers its path without links. It has to come before
/// anything is put into the folder: one that is not Gatehouse's yet and not empty keeps its mode,
/// since it may be shared for a reason.
///
/// # Errors
/// When the folder cannot be made, or holds something else and is open to others.
pub fn prepare(dir: &Path) -> Result<PathBuf, StoreError> {
    let cannot = || StoreError::io(format!("The data folder {} cannot be made", dir.display()));
    let is_ours = !dir.exists() || dir.join(LOCK_FILE).exists();
    fs::create_dir_all(dir).map_err(cannot())?;
    let dir = dir.canonicalize().map_err(cannot())?;
    let is_empty = fs::read_dir(&dir).map_err(cannot())?.next().is_none();
    if is_ours || is_empty {
        set_mode(&dir, 0o700)?;
    } else if is_open_to_others(&dir).map_err(cannot())? {
        let what = format!("The folder {} holds other things and is open to other users.", dir.display());
        return Err(StoreError::Config(
            Problem::new(ErrorCode::Storage, what)
                .why("Gatehouse keeps secrets and rights in its folder.")
                .todo("Choose another folder, or close this one to others: chmod 700."),
        ));
    }
    Ok(dir)
}

/// Takes the rights of everybody but the owner from a file, if it exists.
pub(crate) fn tighten(path: &Path) -> Result<(), StoreError> {
    if path.is_file() { set_mode(path, 0o600) } else { Ok(()) }
}

/// Makes an empty owner-only file unless it exists, so that whoever opens it next keeps its mode.
pub(crate) fn touch(path: &Path) -> Result<(), StoreError> {
    owner_only::file(OpenOptions::new().write(true).create(true).truncate(false))
        .open(path)
        .map_err(StoreError::io(format!("{} cannot be made", shown(path))))?;
    tighten(path)
}

/// Replaces a file whole or not at all.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    atomic_file::replace(path, content).map_err(StoreError::io(format!("{} cannot be written", shown(path))))
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
        .map_err(StoreError::io(format!("The mode of {} cannot be set", shown(path))))
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) -> Result<(), StoreError> {
    Ok(())
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
