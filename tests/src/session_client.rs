//! A client of the revisions with sessions, message by message: for what the SDKs don't show or don't have, and for what no
//! well-behaved client would send.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::http::{self, Elsewhere, RawHttpResponse};
use crate::sse_stream::{ResponseHead, SseStream};

/// A client with a session.
#[derive(Debug)]
pub struct SessionClient {
    endpoint: String,
    token: String,
    session: Option<String>,
    last_id: AtomicU64,
    /// The result of `initialize`.
    pub initialized: Value,
}

/// The messages of a response, as they arrive.
#[derive(Debug)]
pub struct MessageStream {
    stream: SseStream,
    head: ResponseHead,
}

impl SessionClient {
    /// Opens a session.
    pub fn open(endpoint: &str, token: &str, revision: &str, capabilities: &Value) -> Result<Self> {
        let mut client = Self::without_session(endpoint, token);
        let info = json!({ "name": "messages", "version": "1" });
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": info })
            .to_string();
        let mut opened = client.begin("initialize", &params)?;
        client.session = Some(opened.head.field("mcp-session-id").context("no session")?.to_owned());
        client.initialized = opened.next_message()?["result"].take();
        client.send("POST", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(client)
    }

    fn without_session(endpoint: &str, token: &str) -> Self {
        Self {
            endpoint: endpoint.to_owned(),
            token: token.to_owned(),
            session: None,
            last_id: AtomicU64::new(0),
            initialized: Value::Null,
        }
    }

    /// The same token in the session of another.
    #[must_use]
    pub fn in_session_of(&self, other: &Self) -> Self {
        Self { session: other.session.clone(), ..Self::without_session(&self.endpoint, &self.token) }
    }

    /// Sends a request, and returns the whole message with its response.
    pub fn request(&self, method: &str, params: &str) -> Result<Value> {
        let mut stream = self.begin(method, params)?;
        loop {
            let message = stream.next_message()?;
            if message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Sends a request, whose response may take a while.
    pub fn begin(&self, method: &str, params: &str) -> Result<MessageStream> {
        let id = self.last_id.fetch_add(1, Ordering::SeqCst) + 1;
        self.send("POST", &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#))
    }

    /// Answers a request of the server.
    pub fn respond(&self, id: &Value, result: &Value) -> Result<()> {
        self.send("POST", &json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).map(drop)
    }

    /// Opens the stream for messages that belong to no request.
    pub fn listen(&self) -> Result<MessageStream> {
        self.send("GET", "")
    }

    fn send(&self, method: &str, body: &str) -> Result<MessageStream> {
        let mut headers = self.headers();
        headers.push(("Connection".to_owned(), "close".to_owned()));
        let mut stream = SseStream::open(&self.endpoint, method, &headers, body)?;
        let head = stream.head()?;
        ensure!(head.status_line.starts_with("HTTP/1.1 2"), "{method} {body}: {}", head.status_line);
        Ok(MessageStream { stream, head })
    }

    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Accept".to_owned(), "application/json, text/event-stream".to_owned()),
        ];
        headers.extend(self.session.iter().map(|id| ("Mcp-Session-Id".to_owned(), id.clone())));
        headers
    }

    /// Posts a message as it is written, and reads the whole answer.
    pub fn post(&self, body: &str) -> Result<RawHttpResponse> {
        self.exchange("POST", &[], body)
    }

    /// Has another program post a message with the same token in the same session, and reads the whole answer.
    pub fn post_elsewhere(&self, body: &str) -> Result<RawHttpResponse> {
        Elsewhere::post(&self.endpoint, &self.headers(), body)?.end()
    }

    /// Calls a tool; `id` and `arguments` are sent unchanged, and the id is the progress token too.
    pub fn call(&self, id: &str, tool: &str, arguments: &str) -> Result<SseStream> {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"progressToken":{id}}}}}}}"#
        );
        SseStream::open(&self.endpoint, "POST", &self.headers(), &body)
    }

    /// Requests the events after one of its streams.
    pub fn resume(&self, last_event_id: &str) -> Result<RawHttpResponse> {
        self.exchange("GET", &[("Last-Event-ID", last_event_id)], "")
    }

    fn exchange(&self, method: &str, more: &[(&str, &str)], body: &str) -> Result<RawHttpResponse> {
        let own = self.headers();
        let mut headers: Vec<(&str, &str)> = own.iter().map(|(name, value)| (&**name, &**value)).collect();
        headers.extend_from_slice(more);
        http::send(method, &self.endpoint, &headers, body.as_bytes())
    }
}

impl MessageStream {
    /// The next message: that of a JSON body, or of the next event that has one.
    pub fn next_message(&mut self) -> Result<Value> {
        if let Some(length) = self.head.field("content-length") {
            return Ok(serde_json::from_slice(&self.stream.body(length.parse()?)?)?);
        }
        loop {
            let line = self.stream.line("data:")?;
            if let Some(data) = line.trim_end().strip_prefix("data:")
                && let Ok(message) = serde_json::from_str(data)
            {
                return Ok(message);
            }
        }
    }
}
