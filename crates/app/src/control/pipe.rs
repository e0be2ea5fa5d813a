//! The named pipe of the control socket on Windows. A new pipe has the default security descriptor, which
//! gives its creator full access; it must be the first instance of its name, and remote clients are
//! rejected.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};

/// `ERROR_PIPE_BUSY`: every instance of the pipe is in use.
const PIPE_BUSY: i32 = 231;

/// The listening end. The caller must hold the lock of the data folder.
pub(super) struct ControlListener {
    name: OsString,
    next: NamedPipeServer,
}

pub(super) type ControlStream = NamedPipeServer;

impl ControlListener {
    pub(super) fn bind(data_dir: &Path) -> io::Result<Self> {
        let name = pipe_name(data_dir)?;
        let next =
            ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(&name)?;
        Ok(Self { name, next })
    }

    /// Waits for a connection. The peer's process id is not known on this platform.
    pub(super) async fn accept(&mut self) -> io::Result<(ControlStream, Option<u32>)> {
        self.next.connect().await?;
        let next = ServerOptions::new().reject_remote_clients(true).create(&self.name)?;
        Ok((std::mem::replace(&mut self.next, next), None))
    }
}

/// Connects to the Gatehouse that holds a data folder.
pub(super) async fn connect(data_dir: &Path) -> io::Result<NamedPipeClient> {
    let name = pipe_name(data_dir)?;
    for _ in 0..40 {
        match ClientOptions::new().open(&name) {
            Err(e) if e.raw_os_error() == Some(PIPE_BUSY) => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            opened => return opened,
        }
    }
    Err(io::Error::from(io::ErrorKind::TimedOut))
}

fn pipe_name(data_dir: &Path) -> io::Result<OsString> {
    let data_dir = std::fs::canonicalize(data_dir)?;
    let digest = hex::encode(Sha256::digest(data_dir.as_os_str().as_encoded_bytes()));
    Ok(format!(r"\\.\pipe\gatehouse-{digest}").into())
}
