//! One connection to the control socket: its first line, its channel, and its lines, which become requests.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use gatehouse_model::{ErrorCode, UserError, message};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection_slots::ConnectionSlot;
use super::requests::{execute_request, send, stream_events};
use crate::authority::Credential;
use crate::command_service::CommandService;
use crate::control::channel::{self, Channel, ChannelError, Hello, KeyOwner, LineOpener, LineSealer};
use crate::control::wire::{
    EVENTS, MAX_PLAIN_LINE_BYTES, MAX_SEALED_LINE_BYTES, OutgoingResponse, RequestLine, ResponseBody,
};

/// Time limit for the first line of a connection.
const FIRST_LINE_TIMEOUT: Duration = Duration::from_secs(5);
/// Limit of concurrent requests per connection.
const MAX_REQUESTS: usize = 64;
/// Lines that may be queued for writing per connection.
const OUTBOX_CAPACITY: usize = 64;

/// One connection, from its first line to its end.
pub(super) struct ControlConnection {
    command_service: Arc<CommandService>,
    /// Process id of the peer, if known.
    process: Option<u32>,
    closed: CancellationToken,
    tasks: TaskTracker,
    requests: Arc<Semaphore>,
    /// The key that the peer proved to know.
    credential: Credential,
    /// Decrypts incoming lines if there is a channel.
    opener: Option<LineOpener>,
    /// Held until the peer is authenticated as the operator.
    slot: Option<ConnectionSlot>,
}

impl ControlConnection {
    pub(super) fn new(
        command_service: Arc<CommandService>,
        process: Option<u32>,
        closed: CancellationToken,
        tasks: TaskTracker,
        slot: ConnectionSlot,
    ) -> Self {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        let (credential, slot) = (Credential::Nothing, Some(slot));
        Self { command_service, process, closed, tasks, requests, credential, opener: None, slot }
    }

    /// Handles the lines of the peer until the connection ends.
    pub(super) async fn serve<S: AsyncRead + AsyncWrite + Send + 'static>(mut self, stream: S) {
        let _close_on_drop = self.closed.clone().drop_guard();
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = FramedRead::new(reader, LinesCodec::new_with_max_length(MAX_PLAIN_LINE_BYTES));
        let first = tokio::time::timeout(FIRST_LINE_TIMEOUT, self.line(&mut reader)).await;
        let Ok(Some(first)) = first else { return };
        let hello = first.as_ref().ok().and_then(|line| serde_json::from_str::<Hello>(line).ok());
        let sealer = match &hello {
            None => None,
            Some(hello) => {
                let Some(sealer) = self.handshake(hello, &mut writer).await else { return };
                Some(sealer)
            }
        };
        // Without a channel, the first line is a request.
        let mut unhandled = hello.is_none().then_some(first);
        let mut is_limit_raised = false;
        let (outbox, lines) = mpsc::channel(OUTBOX_CAPACITY);
        self.tasks.spawn(write_lines(writer, lines, sealer, self.closed.clone()));
        loop {
            let line = match unhandled.take() {
                Some(line) => Some(line),
                None => self.line(&mut reader).await,
            };
            let Some(line) = line else { return };
            if !self.handle_line(line, &outbox).await {
                return;
            }
            // A line was decrypted, so the peer is authenticated and may send longer lines. The line was
            // read whole, so nothing is lost by replacing the decoder.
            if self.opener.is_some() && !is_limit_raised {
                is_limit_raised = true;
                *reader.decoder_mut() = LinesCodec::new_with_max_length(MAX_SEALED_LINE_BYTES);
            }
        }
    }

    /// The next line; `None` at the end of the connection.
    async fn line<R: AsyncRead + Unpin>(
        &self,
        reader: &mut FramedRead<R, LinesCodec>,
    ) -> Option<Result<String, LinesCodecError>> {
        tokio::select! {
            () = self.closed.cancelled() => None,
            line = reader.next() => line,
        }
    }

    /// Answers a client's [`Hello`] and makes the channel; `None` if it cannot be made.
    async fn handshake<W: AsyncWrite + Unpin>(
        &mut self,
        hello: &Hello,
        writer: &mut W,
    ) -> Option<LineSealer> {
        let made = self.channel(hello).await;
        let line = match &made {
            Ok((line, _)) => line.clone(),
            Err(ChannelError(why)) => {
                tracing::info!(why, "no channel was made on the control socket");
                let error = UserError::new(ErrorCode::NotPermitted, message!("error.app.noChannel"));
                serde_json::to_vec(&OutgoingResponse { id: None, body: ResponseBody::Problem(&error) })
                    .ok()?
            }
        };
        let written = async {
            writer.write_all(&line).await?;
            writer.write_all(b"\n").await?;
            writer.flush().await
        };
        written.await.ok()?;
        let (_, Channel { sealer, opener }) = made.ok()?;
        self.opener = Some(opener);
        Some(sealer)
    }

    /// Makes the channel of a [`Hello`], and the line that answers it. From then on the connection has the
    /// credential of the key's owner.
    async fn channel(&mut self, hello: &Hello) -> Result<(Vec<u8>, Channel), ChannelError> {
        let (credential, key) = match &hello.owner {
            KeyOwner::Operator => self.command_service.state().operator.key(),
            KeyOwner::Client { token_sha256 } => self.command_service.client_key(token_sha256.clone()).await,
        }
        .ok_or(ChannelError("there is no such key"))?;
        let (handshake, channel) = channel::accept_handshake(&key, hello)?;
        self.credential = credential;
        let line =
            serde_json::to_vec(&handshake).map_err(|_| ChannelError("the answer cannot be written"))?;
        Ok((line, channel))
    }

    /// Handles one line; `false` if the connection has to be closed.
    async fn handle_line(
        &mut self,
        line: Result<String, LinesCodecError>,
        outbox: &mpsc::Sender<Vec<u8>>,
    ) -> bool {
        let line = match line {
            Ok(line) => line,
            Err(LinesCodecError::MaxLineLengthExceeded) if self.opener.is_none() => {
                let error = UserError::new(ErrorCode::BadRequest, message!("error.app.lineTooLong"))
                    .with_cause(message!(
                        "error.app.lineTooLongCause",
                        size = (MAX_PLAIN_LINE_BYTES / 1024 / 1024).to_string()
                    ));
                return send(outbox, None, ResponseBody::Problem(&error)).await;
            }
            Err(_) => return false,
        };
        let line = match self.opener.as_mut().map(|opener| opener.open(&line)) {
            None if line.trim().is_empty() => return true,
            None => line,
            Some(Ok(opened)) => {
                // Only the holder of the key can write a line that opens.
                if matches!(self.credential, Credential::OperatorKey(_)) {
                    self.slot = None;
                }
                if opened.is_empty() {
                    return true;
                }
                opened
            }
            Some(Err(ChannelError(why))) => {
                tracing::warn!(why, "a channel on the control socket was ended");
                return false;
            }
        };
        self.start_request(&line, outbox).await
    }

    /// Starts one request; `false` if the connection has to be closed.
    async fn start_request(&self, line: &str, outbox: &mpsc::Sender<Vec<u8>>) -> bool {
        let request: RequestLine = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(e) => {
                let error = UserError::new(ErrorCode::BadRequest, message!("error.app.notARequest"))
                    .with_cause(format!("{e}."));
                return send(outbox, None, ResponseBody::Problem(&error)).await;
            }
        };
        let credential = self.credential;
        // A replaced key gives no authority.
        if self.command_service.state().operator.authority(credential).is_none() {
            return false;
        }
        let Ok(slot) = Arc::clone(&self.requests).acquire_owned().await else { return false };
        let (command_service, closed, outbox) =
            (Arc::clone(&self.command_service), self.closed.clone(), outbox.clone());
        let process = self.process;
        self.tasks.spawn(async move {
            let work = async {
                if request.command == EVENTS {
                    stream_events(&command_service, &request, credential, &outbox, &closed).await;
                } else {
                    // Checked when the request runs, not when the line arrived: the key may have been
                    // replaced since.
                    let Some(authority) = command_service.state().operator.authority(credential) else {
                        closed.cancel();
                        return;
                    };
                    execute_request(&command_service, &request, authority, process, &outbox).await;
                }
            };
            tokio::select! {
                biased;
                () = closed.cancelled() => {}
                () = work => {}
            }
            drop(slot);
        });
        true
    }
}

/// Writes the queued lines, encrypted if there is a channel.
async fn write_lines<W: AsyncWrite + Send>(
    writer: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut sealer: Option<LineSealer>,
    closed: CancellationToken,
) {
    let mut writer = std::pin::pin!(writer);
    let work = async {
        while let Some(mut line) = lines.recv().await {
            // Encrypted here and nowhere earlier, so that lines are numbered in the order in which they
            // are sent.
            if let Some(sealer) = &mut sealer {
                line = sealer.seal(line).map_err(|ChannelError(why)| std::io::Error::other(why))?;
            }
            line.push(b'\n');
            writer.write_all(&line).await?;
            writer.flush().await?;
        }
        writer.shutdown().await
    };
    let written = tokio::select! {
        () = closed.cancelled() => Ok(()),
        written = work => written,
    };
    if let Err(error) = written {
        tracing::debug!(%error, "a control connection broke");
        closed.cancel();
    }
}
