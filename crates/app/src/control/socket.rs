//! The Unix socket of the control channel: its path, that only its owner can reach it, and that the peer
//! is the same user. A socket file is removed only by the process that holds the data folder.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use gatehouse_common::owner_only;
use sha2::{Digest as _, Sha256};
use tokio::net::{UnixListener, UnixStream};

const NAME: &str = "control.sock";
/// Longest socket path, in bytes, that every supported system accepts.
const MAX_PATH_LEN: usize = 100;

/// The listening end. The caller must hold the lock of the data folder.
pub(super) struct ControlListener {
    socket: UnixListener,
    path: PathBuf,
}

pub(super) type ControlStream = UnixStream;

impl ControlListener {
    pub(super) fn bind(data_dir: &Path) -> io::Result<Self> {
        let path = socket_paths(data_dir)?
            .into_iter()
            .next()
            .ok_or_else(|| io::Error::other("there is no place for the socket"))?;
        if let Some(folder) = path.parent() {
            owner_only::make_folder(folder)?;
            check_folder(folder)?;
        }
        remove_stale(&path)?;
        let socket = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { socket, path })
    }

    /// Waits for a connection of the same user. Returns the peer's process id if known.
    pub(super) async fn accept(&mut self) -> io::Result<(ControlStream, Option<u32>)> {
        loop {
            let (stream, _) = self.socket.accept().await?;
            match check_peer(&stream) {
                Ok(()) => {
                    let process = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
                    return Ok((stream, process));
                }
                Err(error) => tracing::warn!(%error, "a connection to the control socket was refused"),
            }
        }
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the control socket was gone already");
        }
    }
}

/// Connects to the Gatehouse that holds a data folder.
pub(super) async fn connect(data_dir: &Path) -> io::Result<UnixStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for path in socket_paths(data_dir)? {
        if let Some(folder) = path.parent() {
            match check_folder(folder) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                checked => checked?,
            }
        }
        match UnixStream::connect(&path).await {
            Ok(stream) => {
                check_peer(&stream)?;
                return Ok(stream);
            }
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Possible paths of the socket of a data folder, preferred first. If the path inside the folder is too
/// long for a socket, a folder named by the data folder's hash is used instead.
fn socket_paths(data_dir: &Path) -> io::Result<Vec<PathBuf>> {
    let data_dir = std::fs::canonicalize(data_dir)?;
    let inside = data_dir.join(NAME);
    if inside.as_os_str().len() <= MAX_PATH_LEN {
        return Ok(vec![inside]);
    }
    let digest = hex::encode(Sha256::digest(data_dir.as_os_str().as_bytes()));
    let folder = format!("gatehouse-{}", digest.get(..24).unwrap_or(&digest));
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let roots = runtime.into_iter().chain([PathBuf::from("/tmp")]);
    Ok(roots
        .map(|root| root.join(&folder).join(NAME))
        .filter(|p| p.as_os_str().len() <= MAX_PATH_LEN)
        .collect())
}

/// Requires that only this user can write to the folder; another user with write access could
/// impersonate Gatehouse.
fn check_folder(folder: &Path) -> io::Result<()> {
    let about = std::fs::symlink_metadata(folder)?;
    let is_private = about.is_dir() && about.uid() == own_uid() && about.mode() & 0o077 == 0;
    if is_private {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the folder {} must belong to you and be closed to others (mode 0700)", folder.display()),
    ))
}

fn check_peer(stream: &UnixStream) -> io::Result<()> {
    if stream.peer_cred()?.uid() == own_uid() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "the other end of the control socket is another user",
    ))
}

fn own_uid() -> u32 {
    nix::unistd::Uid::effective().as_raw()
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(about) if about.file_type().is_socket() => std::fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{} is in the way and is not a socket", path.display()),
        )),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        dir
    }

    #[tokio::test]
    async fn socket_is_private_and_removed_on_drop() {
        let dir = private_dir();
        let path = dir.path().join(NAME);
        let listener = ControlListener::bind(dir.path()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        connect(dir.path()).await.unwrap();
        drop(listener);
        assert!(!path.exists());
        assert!(connect(dir.path()).await.is_err());
    }

    #[tokio::test]
    async fn replaces_stale_socket_but_no_other_file() {
        let dir = private_dir();
        let path = dir.path().join(NAME);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(ControlListener::bind(dir.path()).unwrap());
        std::fs::write(&path, "precious").unwrap();
        assert!(ControlListener::bind(dir.path()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn uses_short_path_when_data_dir_is_too_long() {
        let dir = private_dir();
        let deep = dir.path().join("x".repeat(120));
        owner_only::make_folder(&deep).unwrap();
        let listener = ControlListener::bind(&deep).unwrap();
        assert!(listener.path.as_os_str().len() <= MAX_PATH_LEN);
        connect(&deep).await.unwrap();
        let folder = listener.path.parent().unwrap().to_owned();
        drop(listener);
        std::fs::remove_dir(folder).unwrap();
    }

    #[tokio::test]
    async fn rejects_folder_open_to_others() {
        let dir = private_dir();
        let _listener = ControlListener::bind(dir.path()).unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(connect(dir.path()).await.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(ControlListener::bind(dir.path()).is_err());
    }
}
