//! A program of the same user accesses the standard streams of the processes that Gatehouse started.
//! Each test states what was tried and what stopped it.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;

/// `O_NONBLOCK` on Linux: opening a pipe whose other end is not open would block.
const NONBLOCK: i32 = 0o4000;
/// "No such device or address": the error on Linux for a socket that is opened by path.
const ENXIO: i32 = 6;

/// A message that was not approved.
const FORGED: &str = r#"{"jsonrpc":"2.0","id":"forged","method":"tools/call","params":{"name":"echo","arguments":{"note":"nobody approved this"}}}"#;

/// Processes of this Gatehouse whose command line contains a word.
fn processes(gatehouse: &Gatehouse, word: &str) -> Result<Vec<u32>> {
    let own = gatehouse.pid()?;
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        if parent == Some(own) && String::from_utf8_lossy(&line).contains(word) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Adds the fixture as a server that logs what it receives; returns its process and its log.
fn add(gatehouse: &Gatehouse, name: &str, options: &[&str]) -> Result<(u32, PathBuf)> {
    let log = gatehouse.folder("log")?.join(format!("{name}.log"));
    let program = paths::program("fixture-server")?;
    let mut words = vec!["servers", "add", name];
    words.extend_from_slice(options);
    let log_path = log.to_str().context("path")?;
    words.extend_from_slice(&["--", program.to_str().context("path")?, "--log", log_path]);
    gatehouse.ask(&words)?;
    gatehouse.await_status(name, "connected")?;
    let found = processes(gatehouse, log_path)?;
    Ok((*found.first().context("the server has no process")?, log))
}

/// The open descriptors of a process and their targets.
fn descriptors(pid: &str) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd"))? {
        let path = entry?.path();
        if let Ok(target) = fs::read_link(&path) {
            found.push((path, target));
        }
    }
    Ok(found)
}

fn open(path: &Path, write: bool) -> std::io::Result<File> {
    OpenOptions::new().read(!write).write(write).custom_flags(NONBLOCK).open(path)
}

/// Checks that every way to open a stream fails because it is a socket.
fn cannot_be_opened(path: &Path) -> Result<()> {
    ensure!(fs::metadata(path)?.file_type().is_socket(), "{} is no socket", path.display());
    for write in [false, true] {
        let error = open(path, write).err().with_context(|| format!("{} was opened", path.display()))?;
        ensure!(error.raw_os_error() == Some(ENXIO), "{}: {error}", path.display());
    }
    Ok(())
}

/// Tried: to write a call to a running server's standard input, and to read its output and errors.
/// Stopped by: socket pairs, which cannot be opened by path.
#[test]
fn server_streams_cannot_be_opened_by_path() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (server, log) = add(&gatehouse, "plain", &[])?;
    for descriptor in 0..=2 {
        cannot_be_opened(Path::new(&format!("/proc/{server}/fd/{descriptor}")))?;
    }
    ensure!(!fs::read_to_string(&log)?.contains("nobody approved this"), "the forged call arrived");
    Ok(())
}

/// Tried: the other ends of the same streams, which Gatehouse itself holds. Stopped by: the same.
#[test]
fn gatehouse_descriptors_cannot_be_opened_by_path() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add(&gatehouse, "plain", &[])?;
    // What the test itself holds was inherited by `serve`.
    let own: HashSet<PathBuf> = descriptors("self")?.into_iter().map(|(_, target)| target).collect();
    for (path, target) in descriptors(&gatehouse.pid()?.to_string())? {
        let is_pipe = target.to_string_lossy().starts_with("pipe:");
        ensure!(!is_pipe || own.contains(&target), "{} is a pipe of its own", path.display());
    }
    Ok(())
}

/// Tried: to keep the input of the child guard open, so that it never acts, or to name other processes
/// to it. Stopped by: the same.
#[test]
fn child_guard_input_cannot_be_opened_by_path() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add(&gatehouse, "plain", &[])?;
    let guards = processes(&gatehouse, "--child-guard")?;
    ensure!(guards.len() == 1, "{guards:?}");
    for guard in guards {
        cannot_be_opened(Path::new(&format!("/proc/{guard}/fd/0")))?;
    }
    Ok(())
}

/// Tried: the same on a server that is configured to use pipes. Stopped by: nothing, as that setting
/// documents; this shows that the tests above can fail.
#[test]
fn pipes_accept_forged_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (server, log) = add(&gatehouse, "piped", &["--pipes"])?;
    let listed = gatehouse.ask(&["servers", "list"])?.to_string();
    ensure!(listed.contains(r#""streams":"pipes""#), "{listed}");
    let mut input = open(Path::new(&format!("/proc/{server}/fd/0")), true)?;
    input.write_all(format!("{FORGED}\n").as_bytes())?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !fs::read_to_string(&log)?.contains("nobody approved this") {
        ensure!(Instant::now() < deadline, "the forged call did not arrive");
        std::thread::yield_now();
    }
    Ok(())
}

/// Tried: a setting that does not exist, and pipes for a remote server. Stopped by: the validation of
/// `servers.json` and of the command line.
#[test]
fn rejects_invalid_stream_settings() -> Result<()> {
    let gatehouse = Gatehouse::start_with(|data| {
        let file = r#"{"version":1,"mcpServers":{"odd":{"command":"cat","streams":"files"}}}"#;
        Ok(fs::write(data.join("servers.json"), file)?)
    })?;
    let said = gatehouse.problems()?;
    ensure!(said.contains("odd") && said.contains("one of sockets, pipes"), "{said}");
    let remote =
        gatehouse.run_as_operator(&["servers", "add", "far", "--url", "http://127.0.0.1:9/", "--pipes"])?;
    ensure!(remote.status.code() == Some(2), "{remote:?}");
    Ok(())
}
