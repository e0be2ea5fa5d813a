//! Client side of the control socket, for `gatehousectl` and tests. The process that listens at the
//! socket's path may not be Gatehouse: with a key, nothing is sent before the peer has proved that it
//! knows the key too; without one, only commands that need no authority are sent.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use gatehouse_model::command::{Authority, COMMANDS, Request};
use gatehouse_model::{ErrorCode, Problem, Secret};
use gatehouse_store::ControlKey;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::{FramedRead, LinesCodec};

use super::channel::{self, Broken, KeyOf, Opener, Sealer, Welcome};
use super::listen;
use super::wire::{AnswerLine, EVENTS, EventsArgs, LONGEST_SEALED_LINE, RequestOut};
use crate::authority::not_permitted;
use crate::events::Heard;

/// Time limit for the peer's proof that it knows the key.
const HANDSHAKE: Duration = Duration::from_secs(10);

type Reading = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// One connection to a running Gatehouse; one request at a time.
pub struct ControlClient {
    lines: Lines,
    writing: Writing,
    last: u64,
    key: Option<(KeyOf, ControlKey)>,
    sealer: Option<Sealer>,
}

impl ControlClient {
    /// Connects to the process that holds the control socket of a data folder.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] if there is none.
    pub async fn connect(data_dir: &Path) -> Result<Self, Problem> {
        let stream = listen::connect(data_dir).await.map_err(|e| not_running(data_dir, &e))?;
        let (reading, writing) = tokio::io::split(stream);
        let reading: Reading = Box::new(reading);
        let framed = FramedRead::new(reading, LinesCodec::new_with_max_length(LONGEST_SEALED_LINE));
        let lines = Lines { framed, opener: None };
        Ok(Self { lines, writing: Box::new(writing), last: 0, key: None, sealer: None })
    }

    /// Authenticates as the operator from now on, over a channel to which only a holder of the same key
    /// can be the peer. The key itself is never sent.
    #[must_use]
    pub fn with_operator_key(mut self, key: Option<Secret>) -> Self {
        self.key = key.map(|key| (KeyOf::Operator, ControlKey::of_operator_key(&key)));
        self
    }

    /// Authenticates as a client from now on, over a channel to which only a process that knows the
    /// token can be the peer. The token itself is never sent.
    #[must_use]
    pub fn with_client_token(mut self, token: &Secret) -> Self {
        let token_sha256 = hex::encode(Sha256::digest(token.reveal().as_bytes()));
        self.key = Some((KeyOf::Client { token_sha256 }, ControlKey::of_client_token(token)));
        self
    }

    /// Runs a command.
    ///
    /// # Errors
    /// Gatehouse's own error; [`ErrorCode::NotPermitted`] if the peer does not prove that it knows the
    /// key, or if the command needs a key and there is none (in the latter case nothing was sent);
    /// [`ErrorCode::NotRunning`] if the connection is lost.
    pub async fn run<R: Request>(&mut self, request: &R) -> Result<R::Reply, Problem> {
        let args = to_raw_value(request).map_err(|e| internal(&e))?;
        let reply = self.run_raw(R::NAME, &args).await?;
        serde_json::from_str(reply.get()).map_err(|e| internal(&e))
    }

    /// Runs a command by name, with arguments and reply as JSON.
    ///
    /// # Errors
    /// Same as [`ControlClient::run`].
    pub async fn run_raw(&mut self, command: &str, args: &RawValue) -> Result<Box<RawValue>, Problem> {
        if self.key.is_none()
            && let Some(rule) = COMMANDS.iter().find(|rule| rule.name == command)
            && rule.needs > Authority::Anyone
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
    ///
    /// # Errors
    /// Same as [`ControlClient::run`].
    pub async fn events(mut self, after: Option<u64>) -> Result<ControlEvents, Problem> {
        let args = to_raw_value(&EventsArgs { after }).map_err(|e| internal(&e))?;
        let id = self.send(EVENTS, &args).await?;
        Ok(ControlEvents { id, lines: self.lines, _writing: self.writing })
    }

    async fn send(&mut self, command: &str, args: &RawValue) -> Result<u64, Problem> {
        self.authenticate().await?;
        self.last = self.last.saturating_add(1);
        let line = RequestOut { id: self.last, command, args };
        let line = serde_json::to_vec(&line).map_err(|e| internal(&e))?;
        let line = match &mut self.sealer {
            Some(sealer) => sealer.seal(line).map_err(|Broken(why)| gone(&why))?,
            None => line,
        };
        self.write(line).await?;
        Ok(self.last)
    }

    /// Makes the channel if there is a key and no channel yet.
    async fn authenticate(&mut self) -> Result<(), Problem> {
        let Some((key_of, key)) = self.key.clone().filter(|_| self.sealer.is_none()) else { return Ok(()) };
        let (begun, hello) = channel::begin(key_of).map_err(|Broken(why)| gone(&why))?;
        let hello = serde_json::to_vec(&hello).map_err(|e| internal(&e))?;
        self.write(hello).await?;
        // Anything else comes from an unauthenticated peer and is not shown.
        let answer = tokio::time::timeout(HANDSHAKE, self.lines.raw()).await;
        let answer = answer.map_err(|_| gone(&"it did not answer"))??;
        let made = serde_json::from_str::<Welcome>(&answer)
            .ok()
            .and_then(|welcome| begun.finish(&key, &welcome).ok())
            .ok_or_else(unproven)?;
        self.sealer = Some(made.sealer);
        self.lines.opener = Some(made.opener);
        // Gatehouse is authenticated from here on, so its replies have no length limit: a call may be
        // shown in full.
        *self.lines.framed.decoder_mut() = LinesCodec::new();
        // The server takes longer lines only from a peer that proved to know the key; this empty line is
        // the proof.
        let proof = match &mut self.sealer {
            Some(sealer) => sealer.seal(Vec::new()).map_err(|Broken(why)| gone(&why))?,
            None => return Ok(()),
        };
        self.write(proof).await
    }

    async fn write(&mut self, mut line: Vec<u8>) -> Result<(), Problem> {
        line.push(b'\n');
        self.writing.write_all(&line).await.map_err(|e| gone(&e))?;
        self.writing.flush().await.map_err(|e| gone(&e))
    }
}

/// A stream of events from a running Gatehouse.
pub struct ControlEvents {
    id: u64,
    lines: Lines,
    _writing: Writing,
}

impl ControlEvents {
    /// Waits for the next event.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] if the connection is lost, or the error that Gatehouse answered.
    pub async fn next(&mut self) -> Result<Heard, Problem> {
        loop {
            let answer = self.lines.next().await?;
            if let Some(problem) = answer.problem {
                return Err(problem);
            }
            if answer.id != Some(self.id) {
                continue;
            }
            if answer.missed {
                return Ok(Heard::Missed);
            }
            if let Some(envelope) = answer.event {
                return Ok(Heard::Event(Arc::new(envelope)));
            }
        }
    }
}

/// Incoming lines, decrypted if there is a channel.
struct Lines {
    framed: FramedRead<Reading, LinesCodec>,
    opener: Option<Opener>,
}

impl Lines {
    async fn raw(&mut self) -> Result<String, Problem> {
        match self.framed.next().await {
            Some(Ok(line)) => Ok(line),
            Some(Err(e)) => Err(gone(&e)),
            None => Err(gone(&"the connection ended")),
        }
    }

    async fn next(&mut self) -> Result<AnswerLine, Problem> {
        let line = self.raw().await?;
        let line = match &mut self.opener {
            Some(opener) => opener.open(&line).map_err(|Broken(why)| gone(&why))?,
            None => line,
        };
        serde_json::from_str(&line).map_err(|e| internal(&e))
    }
}

fn not_running(data_dir: &Path, error: &io::Error) -> Problem {
    let problem = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            Problem::new(ErrorCode::NotRunning, "Gatehouse cannot be reached.").why(format!("{error}."))
        }
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            Problem::new(ErrorCode::NotRunning, format!("No Gatehouse runs on {}.", data_dir.display()))
        }
        _ => Problem::new(ErrorCode::NotRunning, "Gatehouse cannot be reached.").why(format!("{error}.")),
    };
    problem.todo("Start it with `gatehousectl serve --data-dir DIR`, or name its folder with --data-dir.")
}

fn unproven() -> Problem {
    Problem::new(
        ErrorCode::NotPermitted,
        "What answers at the control socket did not prove that it knows this key or token. Nothing was sent.",
    )
    .why("The key or token is not right, this Gatehouse takes none (its own windows answer), or another program holds the socket.")
    .todo("Check the key. If it is right, find out which program listens there before you enter it again.")
}

fn gone(error: &dyn std::fmt::Display) -> Problem {
    Problem::new(ErrorCode::NotRunning, "Gatehouse is gone.")
        .why(format!("The control socket broke: {error}."))
}

fn internal(error: &serde_json::Error) -> Problem {
    Problem::new(ErrorCode::Internal, "Gatehouse answered something that cannot be read.")
        .why(format!("{error}."))
}
