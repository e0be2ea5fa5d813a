//! Raw HTTP requests, for what no well-behaved client would send.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::child_process::{ChildProcess, TEST_TIMEOUT};
use crate::paths;

/// An answer, read until the server closes the connection.
#[derive(Debug)]
pub struct RawHttpResponse {
    /// Status code.
    pub status: u16,
    /// Header lines.
    pub head: String,
    /// Body, as text; chunked bodies are left as they are.
    pub body: String,
}

impl RawHttpResponse {
    /// A header by its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }
}

/// Sends a POST with these headers and this body, and reads the whole answer.
pub fn post(endpoint: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<RawHttpResponse> {
    send("POST", endpoint, headers, body)
}

/// Sends a request with these headers and this body, and reads the whole answer.
pub fn send(method: &str, endpoint: &str, headers: &[(&str, &str)], body: &[u8]) -> Result<RawHttpResponse> {
    let rest = endpoint.strip_prefix("http://").context("not an http address")?;
    let (authority, path) = rest.split_once('/').context("no path")?;
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    stream.set_write_timeout(Some(TEST_TIMEOUT))?;
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
    Ok(RawHttpResponse { status, head: head.to_owned(), body: body.to_owned() })
}

/// The simplest client of revision 2026-07-28: one request, one JSON answer.
pub fn stateless_request(endpoint: &str, token: &str, method: &str, params: &str) -> Result<RawHttpResponse> {
    StatelessClient { name: "bytes", capabilities: "{}" }.send(endpoint, token, method, params)
}

/// The description of such a client, as JSON text.
#[derive(Clone, Copy, Debug)]
pub struct StatelessClient<'a> {
    /// Its name, without the quotes.
    pub name: &'a str,
    pub capabilities: &'a str,
}

impl StatelessClient<'_> {
    /// Sends one request.
    pub fn send(self, endpoint: &str, token: &str, method: &str, params: &str) -> Result<RawHttpResponse> {
        let (headers, body) = self.request(token, method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
        post(endpoint, &headers, body.as_bytes())
    }

    /// The headers and the body of a request.
    fn request(self, token: &str, method: &str, params: &str) -> (Vec<(&'static str, String)>, String) {
        let Self { name: says, capabilities } = self;
        // The name or URI is repeated in a header.
        let name = [r#""name":""#, r#""uri":""#, r#""taskId":""#]
            .iter()
            .find_map(|member| params.split_once(member))
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or_else(String::new, |(name, _)| name.to_owned());
        let meta = format!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"{says}","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
        );
        let params = match params {
            "" => format!("{{{meta}}}"),
            members => format!("{{{members},{meta}}}"),
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#);
        let mut headers = vec![
            ("Authorization", format!("Bearer {token}")),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("MCP-Protocol-Version", "2026-07-28".to_owned()),
            ("Mcp-Method", method.to_owned()),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", name));
        }
        (headers, body)
    }

    /// Makes another program call a tool with these params, byte for byte as [`StatelessClient::begin`] would:
    /// node with a script of ours, so that the peer process is a known program with another name.
    pub fn begin_with_paste(self, endpoint: &str, token: &str, params: &str) -> Result<Elsewhere> {
        let (headers, body) = self.request(token, "tools/call", params);
        let headers: Vec<(String, String)> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Elsewhere::post(endpoint, &headers, &body)
    }
}

/// The script of the other program.
pub const ELSEWHERE: &str = "post.mjs";

/// A request of another program.
#[derive(Debug)]
pub struct Elsewhere(ChildProcess);

impl Elsewhere {
    /// Makes another program post a message: node with a script of ours.
    pub fn post(endpoint: &str, headers: &[(String, String)], body: &str) -> Result<Self> {
        let headers: Map<String, Value> =
            headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let mut program = Command::new("node");
        let mut lines = ChildProcess::start(
            "another program",
            program.arg(paths::tests_dir().join("js").join(ELSEWHERE)),
        )?;
        lines.write_line(&json!({ "url": endpoint, "headers": headers, "body": body }).to_string())?;
        Ok(Self(lines))
    }

    /// Its answer. The header lines are left out.
    pub fn end(mut self) -> Result<RawHttpResponse> {
        let answer: Value = serde_json::from_str(&self.0.next_line()?)?;
        let status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let body = answer["body"].as_str().map(str::to_owned);
        let (Some(status), Some(body)) = (status, body) else { bail!("no answer: {answer}") };
        Ok(RawHttpResponse { status, head: String::new(), body })
    }
}

/// A request that waits for its answer on another thread.
#[derive(Debug)]
pub struct BackgroundCall(std::thread::JoinHandle<Result<RawHttpResponse>>);

impl BackgroundCall {
    /// Calls a tool; the arguments are sent unchanged.
    #[must_use]
    pub fn call(endpoint: &str, token: &str, tool: &str, arguments: &str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        StatelessClient { name: "bytes", capabilities: "{}" }.begin(endpoint, token, &params)
    }

    /// Calls a tool as a client does that calls again, with the same arguments, whenever it is told to: after how long it
    /// is told depends on what was learned of its time-outs.
    #[must_use]
    pub fn until_decided(endpoint: &str, token: &str, tool: &str, arguments: &str) -> Self {
        let [endpoint, token, tool, arguments] = [endpoint, token, tool, arguments].map(str::to_owned);
        Self(std::thread::spawn(move || {
            loop {
                let answer = Self::call(&endpoint, &token, &tool, &arguments).end()?;
                if !answer.body.contains("still waiting for the user") {
                    return Ok(answer);
                }
            }
        }))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Its answer.
    pub fn end(self) -> Result<RawHttpResponse> {
        self.0.join().map_err(|_| anyhow::anyhow!("the call broke off"))?
    }
}

impl StatelessClient<'static> {
    /// Calls a tool with these params, on another thread.
    #[must_use]
    pub fn begin(self, endpoint: &str, token: &str, params: &str) -> BackgroundCall {
        self.begin_request(endpoint, token, "tools/call", params)
    }

    /// Sends a request with this method and these params, on another thread.
    #[must_use]
    pub fn begin_request(
        self,
        endpoint: &str,
        token: &str,
        method: &'static str,
        params: &str,
    ) -> BackgroundCall {
        let (endpoint, token, params) = (endpoint.to_owned(), token.to_owned(), params.to_owned());
        BackgroundCall(std::thread::spawn(move || self.send(&endpoint, &token, method, &params)))
    }
}
