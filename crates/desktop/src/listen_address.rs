//! The gateway's address. The last port is reused, so that clients need not be reconfigured.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;

use gatehouse_common::atomic_file;

const PORT_FILE: &str = "port";

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
