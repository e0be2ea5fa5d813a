//! Renewal lock across processes: an exclusive lock on one file per server. The operating system releases it
//! when the file is closed, also if the process dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_common::owner_only;
use gatehouse_model::{ServerId, message};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::error::AuthError;

/// How long to wait for another process. Longer than a renewal can take.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Holds the lock until dropped.
pub(crate) struct RenewalLock {
    _file: Option<File>,
}

/// Path of a server's lock file. The id may be any text, so its hash is used in the file name.
fn path(folder: &Path, server: &ServerId) -> PathBuf {
    let name = hex::encode(&Sha256::digest(server.as_str())[..8]);
    folder.join("locks").join(format!("sign-in-{name}.lock"))
}

/// Removes the lock file of a server that was removed.
pub(crate) async fn forget(folder: &Path, server: &ServerId) {
    if let Err(error) = tokio::fs::remove_file(path(folder, server)).await
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::debug!(%error, "the lock file of a sign-in could not be removed");
    }
}

/// Waits for the lock of a server. If the lock file can't be opened or the file system doesn't support locks,
/// continues without a lock.
pub(crate) async fn acquire(folder: &Path, server: &ServerId) -> Result<RenewalLock, AuthError> {
    let path = path(folder, server);
    let opened = tokio::task::spawn_blocking(move || {
        if let Some(folder) = path.parent() {
            owner_only::make_folder(folder)?;
        }
        owner_only::file(OpenOptions::new().create(true).truncate(false).write(true)).open(path)
    });
    let file = match opened.await.map_err(|_| AuthError::Aborted)? {
        Ok(file) => file,
        Err(error) => {
            tracing::warn!(%error, "the lock of a sign-in cannot be opened; going on without");
            return Ok(RenewalLock { _file: None });
        }
    };
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(RenewalLock { _file: Some(file) }),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                tokio::time::sleep(POLL_INTERVAL).await
            }
            Err(TryLockError::WouldBlock) => {
                return Err(AuthError::Unreachable(message!("error.auth.cause.otherGatehouse").into()));
            }
            Err(TryLockError::Error(error)) => {
                tracing::warn!(%error, "the lock of a sign-in cannot be held; going on without");
                return Ok(RenewalLock { _file: None });
            }
        }
    }
}
