//! Framing of line-based transports: one JSON message per line over a pair of byte streams.
//!
//! Writing: whole messages, with one system call each if the pipe has room. If a sender is dropped
//! in the middle of a message, the next sender writes the rest of it first, so no message is ever
//! torn. Reading: one task, which parses envelopes only. It must never wait for anything but the
//! stream.

use std::io;
use std::sync::Arc;

use gatehouse_common::invisible_chars::one_line;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::RxJsonRpcMessage;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

use crate::bounds;
use crate::connection::envelope::{self, Incoming};
use crate::connection::pending_requests::MessageOrigin;
use crate::connection::raw_handshake::RawHandshake;
use crate::connection::router::{IncomingRequest, MessageRouter};
use crate::error::CloseCause;
use crate::redact::Redactor;

/// Consecutive lines that are no messages, after which the peer is considered not to speak MCP.
const MAX_NON_PROTOCOL_LINES: u32 = 100;
/// Longest part of such a line that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 200;
/// Size of one read, in bytes.
const CHUNK: usize = 64 * 1024;

type BoxedWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// The writing half, shared by all senders.
pub(in crate::connection) struct LineSender {
    write_buffer: tokio::sync::Mutex<WriteBuffer>,
    /// Unblocks a sender whose server doesn't read.
    closed: CancellationToken,
}

struct WriteBuffer {
    /// `None` once closed.
    sink: Option<BoxedWriter>,
    /// The message that is being written; a dropped sender leaves its unwritten rest here.
    rest: Vec<u8>,
    written: usize,
}

impl LineSender {
    pub(in crate::connection) fn new(sink: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let write_buffer = WriteBuffer { sink: Some(Box::new(sink)), rest: Vec::new(), written: 0 };
        Self { write_buffer: tokio::sync::Mutex::new(write_buffer), closed: CancellationToken::new() }
    }

    /// Sends one message. Safe to drop at any time.
    pub(in crate::connection) async fn send(&self, mut message: Vec<u8>) -> io::Result<()> {
        envelope::to_line(&mut message);
        let work = async {
            let mut write_buffer = self.write_buffer.lock().await;
            write_buffer.flush().await?;
            write_buffer.rest = message;
            write_buffer.written = 0;
            write_buffer.flush().await
        };
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            done = work => done,
        }
    }

    /// Closes the stream, which tells a server over stdio to exit.
    pub(in crate::connection) async fn close(&self) {
        self.closed.cancel();
        let sink = self.write_buffer.lock().await.sink.take();
        // A socket that is shut down signals the end to the server even if another descriptor of it
        // is still open.
        if let Some(mut sink) = sink
            && let Err(error) = sink.shutdown().await
        {
            tracing::trace!(%error, "the stream was closed already");
        }
    }
}

impl WriteBuffer {
    async fn flush(&mut self) -> io::Result<()> {
        let Some(sink) = self.sink.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        while let Some(left) = self.rest.get(self.written..)
            && !left.is_empty()
        {
            let count = sink.write(left).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += count;
        }
        self.rest = Vec::new();
        self.written = 0;
        sink.flush().await
    }
}

/// The reading half.
pub(in crate::connection) struct LineReader {
    /// Receives responses to Gatehouse's requests, notifications and the server's requests.
    pub(in crate::connection) router: Arc<MessageRouter>,
    /// Receives messages for rmcp.
    pub(in crate::connection) rmcp: mpsc::Sender<ServerJsonRpcMessage>,
    /// Stores what the handshake declares, as raw JSON.
    pub(in crate::connection) handshake: Arc<RawHandshake>,
    /// Counts lines that are not protocol messages.
    pub(in crate::connection) non_protocol: Arc<NonProtocolOutput>,
    /// Removes secrets from those lines and from messages for rmcp.
    pub(in crate::connection) redactor: Redactor,
}

/// Lines on standard output that are not protocol messages.
#[derive(Default)]
pub(in crate::connection) struct NonProtocolOutput {
    state: Mutex<NonProtocolState>,
}

#[derive(Default)]
struct NonProtocolState {
    first: Option<String>,
    in_a_row: u32,
    messages: u64,
}

impl NonProtocolOutput {
    /// The first such line, if no valid message was received.
    pub(in crate::connection) fn first_if_only(&self) -> Option<String> {
        let state = self.state.lock();
        (state.messages == 0).then(|| state.first.clone()).flatten()
    }

    fn message(&self) {
        let mut state = self.state.lock();
        state.messages += 1;
        state.in_a_row = 0;
        // The next run of such lines records its own first line.
        state.first = None;
    }

    /// Counts one line; returns the first line of the run when the run is too long.
    fn line(&self, shown: &str) -> Option<String> {
        let mut state = self.state.lock();
        state.in_a_row += 1;
        let first = state.first.get_or_insert_with(|| shown.to_owned()).clone();
        (state.in_a_row > MAX_NON_PROTOCOL_LINES).then_some(first)
    }
}

impl LineReader {
    /// Reads until the stream ends, breaks, or is stopped, and returns the cause.
    pub(in crate::connection) async fn run(
        self,
        mut stream: impl AsyncRead + Unpin,
        stop: CancellationToken,
    ) -> CloseCause {
        let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK);
        let mut searched = 0;
        loop {
            if buffer.capacity() - buffer.len() < CHUNK / 4 {
                buffer.reserve(CHUNK);
            }
            let count = tokio::select! {
                biased;
                () = stop.cancelled() => return CloseCause::Requested,
                read = stream.read_buf(&mut buffer) => match read {
                    Ok(count) => count,
                    Err(error) => return CloseCause::Broken(error.to_string().into()),
                },
            };
            if count == 0 {
                // A last message without a line end is valid.
                return self.line(&buffer).err().unwrap_or(CloseCause::OutputClosed);
            }
            let mut begin = 0;
            while let Some(end) = buffer.get(searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
                let line = buffer.get(begin..searched + end).unwrap_or_default();
                if let Err(cause) = self.line(line) {
                    return cause;
                }
                begin = searched + end + 1;
                searched = begin;
            }
            buffer.drain(..begin);
            searched = buffer.len();
            if buffer.len() > bounds::MESSAGE {
                return CloseCause::TooLong(bounds::MESSAGE);
            }
            if buffer.is_empty() && buffer.capacity() > CHUNK * 16 {
                buffer = Vec::with_capacity(CHUNK);
            }
        }
    }

    fn line(&self, line: &[u8]) -> Result<(), CloseCause> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let Ok(messages) = envelope::split(line) else { return self.non_protocol(line) };
        for bytes in messages {
            match envelope::read(bytes) {
                Ok(message) => {
                    self.non_protocol.message();
                    self.message(&message, bytes);
                }
                Err(envelope::InvalidMessage) => self.non_protocol(bytes)?,
            }
        }
        Ok(())
    }

    fn message(&self, message: &Incoming<'_>, bytes: &[u8]) {
        match message {
            Incoming::Response { id: Some(id), outcome } => match envelope::parse_own_id(id) {
                Some(number) => self.router.pending_requests.answer(number, *outcome, bytes),
                None => {
                    if let Ok(result) = outcome {
                        self.handshake.capture(result);
                    }
                    self.to_rmcp(bytes);
                }
            },
            Incoming::Response { id: None, .. } => self.to_rmcp(bytes),
            Incoming::Request { id, method, params } => {
                let request = IncomingRequest { id, method, params: *params };
                self.router.handle_request(request, MessageOrigin::Unspecified);
            }
            Incoming::Notification { method, params } => {
                self.router.notification(method, *params, MessageOrigin::Unspecified)
            }
        }
    }

    fn to_rmcp(&self, bytes: &[u8]) {
        match serde_json::from_slice::<RxJsonRpcMessage<RoleClient>>(&self.redactor.bytes(bytes)) {
            Ok(message) => {
                if let Err(TrySendError::Full(_)) = self.rmcp.try_send(message) {
                    tracing::warn!("the server asks faster than it is answered; a message is dropped");
                }
            }
            Err(error) => tracing::warn!(%error, "a message cannot be read and is dropped"),
        }
    }

    fn non_protocol(&self, line: &[u8]) -> Result<(), CloseCause> {
        let start = line.get(..MAX_SHOWN_CHARS * 4).unwrap_or(line);
        // Redact before truncating: half a secret would not be recognised.
        let start = self.redactor.text(String::from_utf8_lossy(start).into_owned());
        let shown = one_line(&start, MAX_SHOWN_CHARS);
        let too_many = self.non_protocol.line(&shown);
        self.router.stderr(format!("not a protocol message on standard output: {shown}"));
        match too_many {
            Some(first) => Err(CloseCause::NotProtocol(first)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn next_sender_finishes_abandoned_message() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let sender = LineSender::new(ours);
        let first = b"{\"first\":\"longer than the pipe\"}".to_vec();
        assert!(sender.send(first).now_or_never().is_none(), "the pipe is full");
        let mut text = String::new();
        let sending = async {
            sender.send(b"{\"second\":2}".to_vec()).await.unwrap();
            sender.close().await;
        };
        let ((), read) = tokio::join!(sending, theirs.read_to_string(&mut text));
        read.unwrap();
        assert_eq!(text, "{\"first\":\"longer than the pipe\"}\n{\"second\":2}\n");
    }

    #[tokio::test]
    async fn close_releases_blocked_sender() {
        let (ours, _theirs) = tokio::io::duplex(8);
        let sender = Arc::new(LineSender::new(ours));
        let sending = tokio::spawn({
            let sender = Arc::clone(&sender);
            async move { sender.send(vec![b'1'; 100]).await }
        });
        tokio::task::yield_now().await;
        sender.close().await;
        assert_eq!(sending.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
