//! The gateway's address and the data folder: the same as `gatehousectl` uses. The last port is reused,
//! so that clients need not be reconfigured.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use gatehouse_common::atomic_file;
use tauri::{AppHandle, Manager, Runtime};

const PORT_FILE: &str = "port";

pub(crate) fn data_dir<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<PathBuf> {
    if let Some(named) = data_dir_override() {
        return Ok(named);
    }
    let name = if cfg!(target_os = "linux") { "gatehouse" } else { "Gatehouse" };
    Ok(app.path().data_dir()?.join(name))
}

/// The data folder set in the environment.
pub(crate) fn data_dir_override() -> Option<PathBuf> {
    std::env::var_os("GATEHOUSE_DATA_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The last port if it is free, else any port.
pub(crate) fn preferred_listen_address(data_dir: &Path) -> SocketAddr {
    let last =
        std::fs::read_to_string(data_dir.join(PORT_FILE)).ok().and_then(|text| text.trim().parse().ok());
    let free = last.filter(|port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    SocketAddr::from((Ipv4Addr::LOCALHOST, free.unwrap_or(0)))
}

/// Stores the port of an endpoint for the next start.
pub(crate) fn save_port(data_dir: &Path, endpoint: &str) {
    let Some(port) = url::Url::parse(endpoint).ok().and_then(|url| url.port()) else { return };
    if let Err(error) = atomic_file::replace(&data_dir.join(PORT_FILE), port.to_string().as_bytes()) {
        tracing::warn!(%error, "the port could not be remembered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuses_last_port_while_free() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(preferred_listen_address(folder.path()).port(), 0);
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        save_port(folder.path(), &format!("http://127.0.0.1:{port}/mcp"));
        assert_eq!(preferred_listen_address(folder.path()).port(), 0);
        drop(taken);
        assert_eq!(preferred_listen_address(folder.path()), SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
}
