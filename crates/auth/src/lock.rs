//! One renewal at a time across processes: a lock on a file per server. It is let go of when the file
//! is closed, also by a process that dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_common::owner_only;
use gatehouse_model::ServerId;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::AuthError;

/// How long another process may hold it: longer than a renewal can take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is tried.
const EVERY: Duration = Duration::from_millis(40);

/// Holds the lock until dropped.
pub(crate) struct Held {
    _file: Option<File>,
}

/// Where the lock of a server lies. Its id may be any text, so that it is no file name itself.
fn path(folder: &Path, server: &ServerId) -> PathBuf {
    let name = hex::encode(&Sha256::digest(server.as_str())[..8]);
    folder.join("locks").join(format!("sign-in-{name}.lock"))
}

/// Removes the lock file of a server that is no more.
pub(crate) async fn forget(folder: &Path, server: &ServerId) {
    if let Err(error) = tokio::fs::remove_file(path(folder, server)).await
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::debug!(%error, "the lock file of a sign-in could not be removed");
    }
}

/// Waits for the lock of a server. A file system that has no locks is gone on without one.
pub(crate) async fn hold(folder: &Path, server: &ServerId) -> Result<Held, AuthError> {
    let path = path(folder, server);
    let opened = tokio::task::spawn_blocking(move || {
        if let Some(folder) = path.parent() {
            owner_only::make_folder(folder)?;
        }
        owner_only::file(OpenOptions::new().create(true).truncate(false).write(true)).open(path)
    });
    let file = match opened.await.map_err(|_| AuthError::CutOff)? {
        Ok(file) => file,
        Err(error) => {
            tracing::warn!(%error, "the lock of a sign-in cannot be opened; going on without");
            return Ok(Held { _file: None });
        }
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Held { _file: Some(file) }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => tokio::time::sleep(EVERY).await,
            Err(TryLockError::WouldBlock) => {
                return Err(AuthError::Unreachable(
                    "another Gatehouse renews it and does not end.".to_owned(),
                ));
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the lock of a sign-in cannot be held; going on without");
                return Ok(Held { _file: None });
            }
        }
    }
}
