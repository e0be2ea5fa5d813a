//! An MCP registry on loopback whose answers a test chooses. It speaks plain HTTP, one request a connection.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A running registry; it ends when it is dropped.
#[derive(Debug)]
pub struct McpRegistryServer {
    /// Its address.
    pub address: String,
    shared: Arc<RegistryShared>,
    serving: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct RegistryShared {
    /// Status and body by path without the query.
    answers: Mutex<HashMap<String, (u16, String)>>,
    requests: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl McpRegistryServer {
    /// Starts a registry without entries.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(RegistryShared::default());
        let own = Arc::clone(&shared);
        let serving = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.is_over.load(Ordering::SeqCst) {
                    return;
                }
                // A client that leaves early is its own affair.
                answer(&own, stream).unwrap_or_default();
            }
        });
        Ok(Self { address, shared, serving: Some(serving) })
    }

    /// Sets what is answered at a path.
    pub fn answer(&self, path: &str, status: u16, body: &str) {
        self.shared.answers.lock().insert(path.to_owned(), (status, body.to_owned()));
    }

    /// Publishes versions of one entry, the newest one first.
    pub fn publish(&self, versions: &[Value]) -> Result<()> {
        let listed: Vec<Value> = versions
            .iter()
            .enumerate()
            .map(|(index, server)| {
                json!({"server": server, "_meta": {"io.modelcontextprotocol.registry/official":
                    {"status": "active", "publishedAt": "2026-05-01T10:00:00Z", "isLatest": index == 0}}})
            })
            .collect();
        let first = listed.first().context("no version")?;
        let name = first["server"]["name"].as_str().context("no name")?.replace('/', "%2F");
        let path = format!("/v0.1/servers/{name}/versions");
        self.answer(&path, 200, &json!({"servers": listed}).to_string());
        self.answer(&format!("{path}/latest"), 200, &first.to_string());
        for one in &listed {
            let version = one["server"]["version"].as_str().context("no version")?;
            self.answer(&format!("{path}/{version}"), 200, &one.to_string());
        }
        Ok(())
    }

    /// The requests so far: paths with their queries.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().clone()
    }
}

impl Drop for McpRegistryServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread, which then ends.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap_or_default();
        }
    }
}

fn answer(shared: &RegistryShared, stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
    }
    let target = first.split_whitespace().nth(1).context("no target")?.to_owned();
    let path = target.split('?').next().unwrap_or_default();
    let known = shared.answers.lock().get(path).cloned();
    let (status, body) = known.unwrap_or_else(|| (404, r#"{"error":"Not found"}"#.to_owned()));
    shared.requests.lock().push(target);
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} Answer\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    Ok(stream.flush()?)
}
