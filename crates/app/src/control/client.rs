//! Client side of the control socket, for `gatehousectl` and tests. The process that listens at the
//! socket's path may not be Gatehouse: with a key, nothing is sent before the peer has proved that it
//! knows the key too; without one, only commands that need no authority are sent, and proposals to a window.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use gatehouse_model::command::{Authority, COMMANDS, Command, TypedCommand};
use gatehouse_model::{ErrorCode, Secret, UserError, message};
use gatehouse_store::ControlKey;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::{FramedRead, LinesCodec};

use super::channel::{self, ChannelError, KeyOwner, LineOpener, LineSealer, Welcome};
use super::listen;
use super::wire::{EVENTS, EventsArgs, MAX_SEALED_LINE_BYTES, OutgoingRequest, ResponseLine};
use crate::authority::{can_be_proposed, not_permitted};
use crate::events::StreamEvent;

/// Time limit for the peer's proof that it knows the key.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

type BoxedReader = Box<dyn AsyncRead + Send + Unpin>;
type ControlWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// One connection to a running Gatehouse; one request at a time.
pub struct ControlClient {
    lines: ControlLineReader,
    writer: ControlWriter,
    last_id: u64,
    key: Option<(KeyOwner, ControlKey)>,
    /// Whether commands that need the operator's authority are sent without it, where the window can confirm them.
    is_proposing: bool,
    sealer: Option<LineSealer>,
}

impl ControlClient {
    /// Connects to the process that holds the control socket of a data folder.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] if there is none.
    pub async fn connect(data_dir: &Path) -> Result<Self, UserError> {
        let stream = listen::connect(data_dir).await.map_err(|e| not_running(data_dir, &e))?;
        let (reader, writer) = tokio::io::split(stream);
        let reader: BoxedReader = Box::new(reader);
        let framed = FramedRead::new(reader, LinesCodec::new_with_max_length(MAX_SEALED_LINE_BYTES));
        let lines = ControlLineReader { framed, opener: None };
        Ok(Self { lines, writer: Box::new(writer), last_id: 0, key: None, is_proposing: false, sealer: None })
    }

    /// Authenticates as the operator from now on, over a channel to which only a holder of the same key
    /// can be the peer. The key itself is never sent.
    #[must_use]
    pub fn with_operator_key(mut self, key: Option<Secret>) -> Self {
        self.key = key.map(|key| (KeyOwner::Operator, ControlKey::of_operator_key(&key)));
        self
    }

    /// Proposes to the window what needs the operator's authority, as long as there is no key. The peer proves nothing then:
    /// it gets what it is sent, whatever program it is.
    #[must_use]
    pub fn with_proposals(mut self) -> Self {
        self.is_proposing = true;
        self
    }

    /// Whether a command waits for the user to confirm it in the window.
    pub fn proposes<R: TypedCommand>(&self, request: &R) -> bool {
        let args = to_raw_value(request);
        R::NEEDS == Authority::Operator && args.is_ok_and(|args| self.proposes_raw(R::NAME, &args))
    }

    fn proposes_raw(&self, command: &str, args: &RawValue) -> bool {
        let can_be = || Command::parse(command, args).is_ok_and(|command| can_be_proposed(&command));
        self.key.is_none() && self.is_proposing && can_be()
    }

    /// Authenticates as a client from now on, over a channel to which only a process that knows the
    /// token can be the peer. The token itself is never sent.
    #[must_use]
    pub fn with_client_token(mut self, token: &Secret) -> Self {
        let token_sha256 = hex::encode(Sha256::digest(token.reveal().as_bytes()));
        self.key = Some((KeyOwner::Client { token_sha256 }, ControlKey::of_client_token(token)));
        self
    }

    /// Runs a command.
    ///
    /// # Errors
    /// Gatehouse's own error; [`ErrorCode::NotPermitted`] if the peer does not prove that it knows the
    /// key, or if the command needs a key and there is none (in the latter case nothing was sent);
    /// [`ErrorCode::NotRunning`] if the connection is lost.
    pub async fn run<R: TypedCommand>(&mut self, request: &R) -> Result<R::Reply, UserError> {
        let args = to_raw_value(request).map_err(|e| internal(&e))?;
        let reply = self.run_raw(R::NAME, &args).await?;
        serde_json::from_str(reply.get()).map_err(|e| internal(&e))
    }

    /// Runs a command by name, with arguments and reply as JSON.
    pub async fn run_raw(&mut self, command: &str, args: &RawValue) -> Result<Box<RawValue>, UserError> {
        if self.key.is_none()
            && let Some(rule) = COMMANDS.iter().find(|rule| rule.name == command)
            && rule.needs > Authority::Anyone
            && !self.proposes_raw(command, args)
        {
            return Err(not_permitted(*rule));
        }
        let id = self.send(command, args).await?;
        loop {
            let answer = self.lines.next().await?;
            if let Some(problem) = answer.problem.filter(|_| answer.id.is_none_or(|of| of == id)) {
                return Err(problem);
            }
            if let Some(reply) = answer.reply.filter(|_| answer.id == Some(id)) {
                return Ok(reply);
            }
        }
    }

    /// Turns the connection into a stream of events.
    pub async fn events(mut self, after: Option<u64>) -> Result<ControlEvents, UserError> {
        let args = to_raw_value(&EventsArgs { after }).map_err(|e| internal(&e))?;
        let id = self.send(EVENTS, &args).await?;
        Ok(ControlEvents { id, lines: self.lines, _writer: self.writer })
    }

    /// Waits until the connection ends. That is when that Gatehouse does, unless another program holds the socket and
    /// passes on what is said: it can keep the connection open. Only an answer proves that Gatehouse still runs.
    pub async fn closed(&mut self) {
        while self.lines.next_raw().await.is_ok() {}
    }

    async fn send(&mut self, command: &str, args: &RawValue) -> Result<u64, UserError> {
        self.authenticate().await?;
        self.last_id = self.last_id.saturating_add(1);
        let line = OutgoingRequest { id: self.last_id, command, args };
        let line = serde_json::to_vec(&line).map_err(|e| internal(&e))?;
        let line = match &mut self.sealer {
            Some(sealer) => sealer.seal(line).map_err(|ChannelError(why)| connection_lost(&why))?,
            None => line,
        };
        self.write(line).await?;
        Ok(self.last_id)
    }

    /// Makes the channel if there is a key and no channel yet.
    async fn authenticate(&mut self) -> Result<(), UserError> {
        let Some((owner, key)) = self.key.clone().filter(|_| self.sealer.is_none()) else { return Ok(()) };
        let (pending, hello) =
            channel::start_handshake(owner).map_err(|ChannelError(why)| connection_lost(&why))?;
        let hello = serde_json::to_vec(&hello).map_err(|e| internal(&e))?;
        self.write(hello).await?;
        // Anything else comes from an unauthenticated peer and is not shown.
        let answer = tokio::time::timeout(HANDSHAKE_TIMEOUT, self.lines.next_raw()).await;
        let answer = answer.map_err(|_| connection_lost(&"it did not answer"))??;
        let made = serde_json::from_str::<Welcome>(&answer)
            .ok()
            .and_then(|welcome| pending.finish(&key, &welcome).ok())
            .ok_or_else(unproven_error)?;
        self.sealer = Some(made.sealer);
        self.lines.opener = Some(made.opener);
        // Gatehouse is authenticated from here on, so its replies have no length limit: a call may be
        // shown in full.
        *self.lines.framed.decoder_mut() = LinesCodec::new();
        // The server takes longer lines only from a peer that proved to know the key; this empty line is
        // the proof.
        let proof = match &mut self.sealer {
            Some(sealer) => sealer.seal(Vec::new()).map_err(|ChannelError(why)| connection_lost(&why))?,
            None => return Ok(()),
        };
        self.write(proof).await
    }

    async fn write(&mut self, mut line: Vec<u8>) -> Result<(), UserError> {
        line.push(b'\n');
        self.writer.write_all(&line).await.map_err(|e| connection_lost(&e))?;
        self.writer.flush().await.map_err(|e| connection_lost(&e))
    }
}

/// A stream of events from a running Gatehouse.
pub struct ControlEvents {
    id: u64,
    lines: ControlLineReader,
    _writer: ControlWriter,
}

impl ControlEvents {
    /// Waits for the next event.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] if the connection is lost, or the error that Gatehouse answered.
    pub async fn next(&mut self) -> Result<StreamEvent, UserError> {
        loop {
            let answer = self.lines.next().await?;
            if let Some(problem) = answer.problem {
                return Err(problem);
            }
            if answer.id != Some(self.id) {
                continue;
            }
            if answer.missed {
                return Ok(StreamEvent::Missed);
            }
            if let Some(envelope) = answer.event {
                return Ok(StreamEvent::Event(Arc::new(envelope)));
            }
        }
    }
}

/// Incoming lines, decrypted if there is a channel.
struct ControlLineReader {
    framed: FramedRead<BoxedReader, LinesCodec>,
    opener: Option<LineOpener>,
}

impl ControlLineReader {
    async fn next_raw(&mut self) -> Result<String, UserError> {
        match self.framed.next().await {
            Some(Ok(line)) => Ok(line),
            Some(Err(e)) => Err(connection_lost(&e)),
            None => Err(connection_lost(&"the connection ended")),
        }
    }

    async fn next(&mut self) -> Result<ResponseLine, UserError> {
        let line = self.next_raw().await?;
        let line = match &mut self.opener {
            Some(opener) => opener.open(&line).map_err(|ChannelError(why)| connection_lost(&why))?,
            None => line,
        };
        serde_json::from_str(&line).map_err(|e| internal(&e))
    }
}

fn not_running(data_dir: &Path, error: &io::Error) -> UserError {
    let not_running = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            UserError::new(ErrorCode::NotRunning, message!("error.app.unreachable"))
                .with_cause(format!("{error}."))
        }
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => UserError::new(
            ErrorCode::NotRunning,
            message!("error.app.noGatehouse", folder = data_dir.display().to_string()),
        ),
        _ => UserError::new(ErrorCode::NotRunning, message!("error.app.unreachable"))
            .with_cause(format!("{error}.")),
    };
    not_running.with_hint(message!("error.app.noGatehouseHint"))
}

fn unproven_error() -> UserError {
    UserError::new(ErrorCode::NotPermitted, message!("error.app.unproven"))
        .with_cause(message!("error.app.unprovenCause"))
        .with_hint(message!("error.app.unprovenHint"))
}

fn connection_lost(error: &dyn std::fmt::Display) -> UserError {
    UserError::new(ErrorCode::NotRunning, message!("error.app.connectionLost"))
        .with_cause(message!("error.app.connectionLostCause", reason = error.to_string()))
}

fn internal(error: &serde_json::Error) -> UserError {
    UserError::new(ErrorCode::Internal, message!("error.app.badReply")).with_cause(format!("{error}."))
}
