//! Starts the fixture server and adds it to a Gatehouse, over any of its transports. What that server answers is in
//! `tests/src/fixture.rs`; its program is `tests/src/bin/fixture-server.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::child_process::ChildProcess;
use crate::gatehouse::Gatehouse;
use crate::paths;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerTransport {
    /// Standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
    /// WebSocket.
    Ws,
}

impl ServerTransport {
    pub const ALL: [Self; 4] = [Self::Stdio, Self::Http, Self::Sse, Self::Ws];

    fn option(self) -> Option<&'static str> {
        match self {
            Self::Stdio => None,
            Self::Http => Some("--http"),
            Self::Sse => Some("--sse"),
            Self::Ws => Some("--ws"),
        }
    }
}

/// A server in a separate process, or none if Gatehouse starts it.
#[derive(Debug)]
pub struct FixtureServer {
    child_process: Option<ChildProcess>,
    /// Its URL, if it has one.
    pub url: String,
}

impl FixtureServer {
    /// Starts the fixture on a transport with a URL.
    pub fn start(over: ServerTransport, more: &[&str]) -> Result<Self> {
        Self::start_at(over, 0, more)
    }

    /// Starts the fixture at this port.
    pub fn start_at(over: ServerTransport, port: u16, more: &[&str]) -> Result<Self> {
        let mut command = Command::new(paths::program("fixture-server")?);
        let option = over.option().context("a server over standard streams has no address")?;
        command.args([option, &port.to_string()]).args(more);
        let mut child_process = ChildProcess::start("fixture-server", &mut command)?;
        let ready: Value = serde_json::from_str(&child_process.next_line()?)?;
        let url = ready["url"].as_str().context("no address")?.to_owned();
        Ok(Self { child_process: Some(child_process), url })
    }

    /// The port in its URL.
    pub fn port(&self) -> Result<u16> {
        let rest = self.url.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next());
        let port = rest.and_then(|authority| authority.rsplit(':').next()).context("no port")?;
        Ok(port.parse()?)
    }

    /// Kills it.
    pub fn kill(&mut self) -> Result<()> {
        let mut child_process = self.child_process.take().context("it has ended")?;
        child_process.signal("KILL")?;
        child_process.wait()?;
        Ok(())
    }
}

/// Starts the fixture and adds it; it is connected when this returns.
pub fn add(gatehouse: &Gatehouse, name: &str, over: ServerTransport, more: &[&str]) -> Result<FixtureServer> {
    let upstream = add_unconnected(gatehouse, name, over, more)?;
    gatehouse.await_status(name, "connected")?;
    Ok(upstream)
}

/// Starts the fixture and adds it without waiting for the connection.
pub fn add_unconnected(
    gatehouse: &Gatehouse,
    name: &str,
    over: ServerTransport,
    more: &[&str],
) -> Result<FixtureServer> {
    if over == ServerTransport::Stdio {
        let program = paths::program("fixture-server")?;
        let mut words = vec!["servers", "add", name, "--", program.to_str().context("path")?];
        words.extend_from_slice(more);
        gatehouse.ask(&words)?;
        return Ok(FixtureServer { child_process: None, url: String::new() });
    }
    let upstream = FixtureServer::start(over, more)?;
    gatehouse.ask(&["servers", "add", name, "--url", &upstream.url])?;
    Ok(upstream)
}

/// How many calls with this text in their arguments reached a fixture that was started with `--log`.
#[must_use]
pub fn logged_calls(log: &Path, text: &str) -> usize {
    let messages = fs::read_to_string(log).unwrap_or_default();
    messages.lines().filter(|line| line.contains(r#""tools/call""#) && line.contains(text)).count()
}
