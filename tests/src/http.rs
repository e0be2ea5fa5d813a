//! Requests byte by byte, for what no well-behaved client would send.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result};

use crate::lines::PATIENCE;

/// An answer, read until the other side closes.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header lines.
    pub head: String,
    /// Body, as text; chunked bodies are left as they came.
    pub body: String,
}

/// Sends a POST with these headers and this body, and reads the whole answer.
///
/// # Errors
/// When the connection fails.
pub fn post(endpoint: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer> {
    send("POST", endpoint, headers, body)
}

/// Sends a request with these headers and this body, and reads the whole answer.
///
/// # Errors
/// When the connection fails.
pub fn send(method: &str, endpoint: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<Answer> {
    let rest = endpoint.strip_prefix("http://").context("not an http address")?;
    let (authority, path) = rest.split_once('/').context("no path")?;
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head =
        format!("{method} /{path} HTTP/1.1\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("Host: {authority}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    // A server that refuses by the headers alone may close before it has read the whole body.
    stream.write_all(body).ok();
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        anyhow::ensure!(!bytes.is_empty(), "no answer: {error}");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").context("no end of the headers")?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no status")?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// A client of revision 2026-07-28 in its simplest form: one request, one JSON answer.
///
/// # Errors
/// When the connection fails.
pub fn modern(endpoint: &str, token: &str, method: &str, params: &str) -> Result<Answer> {
    Modern { name: "bytes", can: "{}" }.send(endpoint, token, method, params)
}

/// What such a client says of itself, as JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Modern<'a> {
    /// Its name, as it stands between the quotes.
    pub name: &'a str,
    /// Its capabilities.
    pub can: &'a str,
}

impl Modern<'_> {
    /// Sends one request.
    ///
    /// # Errors
    /// When the connection fails.
    pub fn send(self, endpoint: &str, token: &str, method: &str, params: &str) -> Result<Answer> {
        let Self { name: says, can } = self;
        let name = params
            .split_once(r#""name":""#)
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or_else(String::new, |(name, _)| name.to_owned());
        let meta = format!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{says}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{can}}}"#
        );
        let params = match params {
            "" => format!("{{{meta}}}"),
            members => format!("{{{members},{meta}}}"),
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        let authorization = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", name.as_str()));
        }
        post(endpoint, &headers, body.as_bytes())
    }
}

/// A request that waits in a thread of its own for what becomes of it.
#[derive(Debug)]
pub struct Waiting(std::thread::JoinHandle<Result<Answer>>);

impl Waiting {
    /// Calls a tool; the arguments are sent to the byte.
    #[must_use]
    pub fn call(endpoint: &str, token: &str, tool: &str, arguments: &str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        Modern { name: "bytes", can: "{}" }.begin(endpoint, token, &params)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    /// What became of it.
    ///
    /// # Errors
    /// When the connection failed.
    pub fn end(self) -> Result<Answer> {
        self.0.join().map_err(|_| anyhow::anyhow!("the call broke off"))?
    }
}

impl Modern<'static> {
    /// Calls a tool with these params, in a thread.
    #[must_use]
    pub fn begin(self, endpoint: &str, token: &str, params: &str) -> Waiting {
        let (endpoint, token, params) = (endpoint.to_owned(), token.to_owned(), params.to_owned());
        Waiting(std::thread::spawn(move || self.send(&endpoint, &token, "tools/call", &params)))
    }
}
