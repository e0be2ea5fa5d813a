//! Finds the process that owns the other end of a connection on this computer, or that listens at an address.
//!
//! Linux reports it in its tables of sockets and of open files; elsewhere the system's own tool is run,
//! `lsof` or `netstat`. `None` if it can't be determined, also for a peer on another computer or in a
//! container.

use std::net::{IpAddr, SocketAddr};

/// An address on this computer that connections can be made to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopbackTarget {
    /// Any loopback address where absent.
    pub(crate) ip: Option<IpAddr>,
    pub(crate) port: u16,
}

impl LoopbackTarget {
    /// Whether a socket that listens there can be the one that is connected to.
    fn is_served_by(self, listening: SocketAddr) -> bool {
        let ip = listening.ip().to_canonical();
        let is_there = self.ip.map_or(ip.is_loopback(), |wanted| ip == wanted);
        listening.port() == self.port && (is_there || ip.is_unspecified())
    }
}

/// The only value, or `None` if there are several different ones.
fn unambiguous<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// The process that listens at an address; `None` also if several may.
#[cfg(target_os = "linux")]
pub(super) async fn listener(target: LoopbackTarget) -> Option<u32> {
    tokio::task::spawn_blocking(move || linux::listener(target)).await.ok().flatten()
}

#[cfg(target_os = "macos")]
pub(super) async fn listener(target: LoopbackTarget) -> Option<u32> {
    let at = format!("-iTCP:{}", target.port);
    let text = output("/usr/sbin/lsof", &["-nP", "-a", &at, "-sTCP:LISTEN", "-Fpn"]).await?;
    listing::listener_of_lsof(&text, target)
}

#[cfg(windows)]
pub(super) async fn listener(target: LoopbackTarget) -> Option<u32> {
    let folder = std::env::var("SystemRoot").ok()?;
    let text = output(&format!("{folder}\\System32\\netstat.exe"), &["-ano"]).await?;
    listing::listener_of_netstat(&text, target)
}

/// The process that owns the `remote` address of a connection whose other end is `local`. The processes in
/// `latest` are tried first.
#[cfg(target_os = "linux")]
pub(super) async fn owner(remote: SocketAddr, local: SocketAddr, latest: Vec<u32>) -> Option<u32> {
    tokio::task::spawn_blocking(move || linux::owner(remote, local, &latest)).await.ok().flatten()
}

#[cfg(target_os = "macos")]
pub(super) async fn owner(remote: SocketAddr, local: SocketAddr, _latest: Vec<u32>) -> Option<u32> {
    let at = format!("-iTCP@{remote}");
    let text = output("/usr/sbin/lsof", &["-nP", "-a", &at, "-sTCP:ESTABLISHED", "-Fpn"]).await?;
    listing::of_lsof(&text, remote, local)
}

#[cfg(windows)]
pub(super) async fn owner(remote: SocketAddr, local: SocketAddr, _latest: Vec<u32>) -> Option<u32> {
    let folder = std::env::var("SystemRoot").ok()?;
    let protocol = if remote.is_ipv4() { "TCP" } else { "TCPv6" };
    let text = output(&format!("{folder}\\System32\\netstat.exe"), &["-ano", "-p", protocol]).await?;
    listing::of_netstat(&text, remote, local)
}

#[cfg(any(target_os = "macos", windows))]
async fn output(program: &str, words: &[&str]) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command.args(words).stdin(std::process::Stdio::null()).kill_on_drop(true);
    #[cfg(windows)]
    command.creation_flags(0x0800_0000); // CREATE_NO_WINDOW
    match command.output().await {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            tracing::debug!(%error, program, "the peer process of a connection could not be found");
            None
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::net::{IpAddr, SocketAddr};

    use procfs::net::TcpState;
    use procfs::process::{FDTarget, Process, all_processes};

    use super::{LoopbackTarget, unambiguous};

    pub(super) fn listener(target: LoopbackTarget) -> Option<u32> {
        let tables = [procfs::net::tcp(), procfs::net::tcp6()];
        let sockets = tables.into_iter().flatten().flatten();
        let inodes = sockets
            .filter(|socket| socket.state == TcpState::Listen && target.is_served_by(socket.local_address))
            .map(|socket| socket.inode);
        holder(unambiguous(inodes)?, &[])
    }

    pub(super) fn owner(remote: SocketAddr, local: SocketAddr, latest: &[u32]) -> Option<u32> {
        holder(inode(remote, local)?, latest)
    }

    /// A process that has a socket open. Those in `latest` are tried first.
    fn holder(inode: u64, latest: &[u32]) -> Option<u32> {
        let known = latest.iter().filter_map(|pid| Process::new(i32::try_from(*pid).ok()?).ok());
        let all = all_processes().into_iter().flatten().filter_map(Result::ok);
        known
            .chain(all)
            .find(|process| holds_socket(process, inode))
            .and_then(|process| u32::try_from(process.pid()).ok())
    }

    /// Inode of the socket at the remote end.
    fn inode(remote: SocketAddr, local: SocketAddr) -> Option<u64> {
        let tables = [procfs::net::tcp(), procfs::net::tcp6()];
        let mut sockets = tables.into_iter().flatten().flatten();
        sockets
            .find(|socket| {
                canonical(socket.local_address) == remote && canonical(socket.remote_address) == local
            })
            .map(|socket| socket.inode)
            .filter(|inode| *inode != 0)
    }

    /// Converts an IPv4-mapped IPv6 address to IPv4.
    fn canonical(address: SocketAddr) -> SocketAddr {
        match address.ip() {
            IpAddr::V6(ip) => SocketAddr::new(ip.to_canonical(), address.port()),
            IpAddr::V4(_) => address,
        }
    }

    fn holds_socket(process: &Process, inode: u64) -> bool {
        let Ok(mut files) = process.fd() else { return false };
        files.any(|file| {
            file.is_ok_and(|file| matches!(file.target, FDTarget::Socket(socket) if socket == inode))
        })
    }
}

/// Parsers for the output of the tools of other systems.
#[cfg(any(target_os = "macos", windows, test))]
mod listing {
    use std::net::SocketAddr;

    use super::{LoopbackTarget, unambiguous};

    /// `lsof -Fpn` of sockets that listen: a line `p` with the process, and a line `n` for each address.
    #[cfg(any(target_os = "macos", test))]
    pub(super) fn listener_of_lsof(text: &str, target: LoopbackTarget) -> Option<u32> {
        let mut process: Option<u32> = None;
        let mut found = Vec::new();
        for line in text.lines() {
            if let Some(pid) = line.strip_prefix('p') {
                process = pid.parse().ok();
            } else if let Some(address) = line.strip_prefix('n')
                && let Ok(address) = address.replace('*', "0.0.0.0").parse()
                && target.is_served_by(address)
            {
                found.extend(process);
            }
        }
        unambiguous(found.into_iter())
    }

    /// `netstat -ano`: a socket that listens has the remote port 0.
    #[cfg(any(windows, test))]
    pub(super) fn listener_of_netstat(text: &str, target: LoopbackTarget) -> Option<u32> {
        let listening = text.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["TCP", at, remote, _, pid] = words.as_slice() else { return None };
            let (at, remote): (SocketAddr, SocketAddr) = (at.parse().ok()?, remote.parse().ok()?);
            let is_match = remote.port() == 0 && target.is_served_by(at);
            if is_match { pid.parse().ok() } else { None }
        });
        unambiguous(listening)
    }

    /// `lsof -Fpn`: a line `p` with the process, and a line `n` for each of its connections, `remote->local`.
    #[cfg(any(target_os = "macos", test))]
    pub(super) fn of_lsof(text: &str, remote: SocketAddr, local: SocketAddr) -> Option<u32> {
        let wanted = format!("{remote}->{local}");
        let mut process = None;
        for line in text.lines() {
            if let Some(pid) = line.strip_prefix('p') {
                process = pid.parse().ok();
            } else if line.strip_prefix('n') == Some(wanted.as_str()) {
                return process;
            }
        }
        None
    }

    /// `netstat -ano`: protocol, local address, remote address, state and process, seen from each process.
    #[cfg(any(windows, test))]
    pub(super) fn of_netstat(text: &str, remote: SocketAddr, local: SocketAddr) -> Option<u32> {
        text.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, from, to, _, pid] = words.as_slice() else { return None };
            let is_match = from.parse() == Ok(remote) && to.parse() == Ok(local);
            if is_match { pid.parse().ok() } else { None }
        })
    }

    #[test]
    fn parses_lsof_and_netstat_output() {
        let (remote, local) = ("127.0.0.1:51022".parse().unwrap(), "127.0.0.1:7000".parse().unwrap());
        let lsof = "p77\nf12\nn127.0.0.1:7000->127.0.0.1:51022\np4242\nf3\nn127.0.0.1:51023->127.0.0.1:7000\nf9\nn127.0.0.1:51022->127.0.0.1:7000\n";
        assert_eq!(of_lsof(lsof, remote, local), Some(4242));
        assert_eq!(of_lsof("", remote, local), None);
        let netstat = "\r\nActive Connections\r\n\r\n  Proto  Local Address  Foreign Address  State  PID\r\n  TCP    127.0.0.1:7000         127.0.0.1:51022        ESTABLISHED     77\r\n  TCP    127.0.0.1:51022        127.0.0.1:7000         ESTABLISHED     4242\r\n";
        assert_eq!(of_netstat(netstat, remote, local), Some(4242));
        assert_eq!(of_netstat("nothing", remote, local), None);
    }

    #[test]
    fn finds_the_only_process_that_listens() {
        let v4 = LoopbackTarget { ip: Some("127.0.0.1".parse().unwrap()), port: 7000 };
        let any = LoopbackTarget { ip: None, port: 7000 };
        for (addresses, of_v4, of_any) in [
            (vec![(4, "127.0.0.1:7000")], Some(4), Some(4)),
            (vec![(4, "*:7000")], Some(4), Some(4)),
            (vec![(4, "127.0.0.1:7000"), (5, "[::1]:7000")], Some(4), None),
            (vec![(4, "127.0.0.1:7000"), (4, "[::1]:7000")], Some(4), Some(4)),
            (vec![(4, "127.0.0.1:7001"), (5, "192.168.0.1:7000")], None, None),
        ] {
            let lsof: String = addresses.iter().map(|(pid, at)| format!("p{pid}\nf3\nn{at}\n")).collect();
            let row = |(pid, at): &(u32, &str)| {
                format!("  TCP    {}    0.0.0.0:0    ABHÖREN    {pid}\r\n", at.replace('*', "0.0.0.0"))
            };
            let netstat: String = addresses.iter().map(row).collect();
            for (target, expected) in [(v4, of_v4), (any, of_any)] {
                assert_eq!(listener_of_lsof(&lsof, target), expected, "{lsof}");
                assert_eq!(listener_of_netstat(&netstat, target), expected, "{netstat}");
            }
        }
    }
}
