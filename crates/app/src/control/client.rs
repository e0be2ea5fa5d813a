//! The calling end of the control socket, for `gatehousectl` and tests.

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt as _;
use gatehouse_model::command::Request;
use gatehouse_model::{ErrorCode, Problem, Secret};
use serde_json::value::{RawValue, to_raw_value};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio_util::codec::{FramedRead, LinesCodec};

use super::listen;
use super::wire::{AnswerLine, EVENTS, EventsArgs, LONGEST_LINE, RequestOut};
use crate::events::Heard;

type Reading = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// One connection to a running Gatehouse; one request at a time.
pub struct ControlClient {
    lines: FramedRead<Reading, LinesCodec>,
    writing: Writing,
    last: u64,
    operator_key: Option<Secret>,
}

impl ControlClient {
    /// Connects to the Gatehouse that holds a data folder.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] when there is none.
    pub async fn connect(data_dir: &Path) -> Result<Self, Problem> {
        let stream = listen::connect(data_dir).await.map_err(|e| not_running(data_dir, &e))?;
        let (reading, writing) = tokio::io::split(stream);
        let reading: Reading = Box::new(reading);
        let lines = FramedRead::new(reading, LinesCodec::new_with_max_length(LONGEST_LINE));
        Ok(Self { lines, writing: Box::new(writing), last: 0, operator_key: None })
    }

    /// Shows the operator key with every request from now on.
    #[must_use]
    pub fn with_operator_key(mut self, key: Option<Secret>) -> Self {
        self.operator_key = key;
        self
    }

    /// Runs a command.
    ///
    /// # Errors
    /// What Gatehouse answers, or [`ErrorCode::NotRunning`] when it is gone.
    pub async fn run<R: Request>(&mut self, request: &R) -> Result<R::Reply, Problem> {
        let args = to_raw_value(request).map_err(|e| internal(&e))?;
        let reply = self.run_raw(R::NAME, &args).await?;
        serde_json::from_str(reply.get()).map_err(|e| internal(&e))
    }

    /// Runs a command by its name, with arguments and reply as JSON.
    ///
    /// # Errors
    /// What Gatehouse answers, or [`ErrorCode::NotRunning`] when it is gone.
    pub async fn run_raw(&mut self, command: &str, args: &RawValue) -> Result<Box<RawValue>, Problem> {
        let id = self.send(command, args).await?;
        loop {
            let answer = next_line(&mut self.lines).await?;
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
    /// [`ErrorCode::NotRunning`] when Gatehouse is gone.
    pub async fn events(mut self, after: Option<u64>) -> Result<ControlEvents, Problem> {
        let args = to_raw_value(&EventsArgs { after }).map_err(|e| internal(&e))?;
        let id = self.send(EVENTS, &args).await?;
        Ok(ControlEvents { id, lines: self.lines, _writing: self.writing })
    }

    async fn send(&mut self, command: &str, args: &RawValue) -> Result<u64, Problem> {
        self.last = self.last.saturating_add(1);
        let operator_key = self.operator_key.as_ref().map(Secret::reveal);
        let line = RequestOut { id: self.last, command, args, operator_key };
        let mut line = serde_json::to_vec(&line).map_err(|e| internal(&e))?;
        line.push(b'\n');
        self.writing.write_all(&line).await.map_err(|e| gone(&e))?;
        self.writing.flush().await.map_err(|e| gone(&e))?;
        Ok(self.last)
    }
}

/// A stream of events from a running Gatehouse.
pub struct ControlEvents {
    id: u64,
    lines: FramedRead<Reading, LinesCodec>,
    _writing: Writing,
}

impl ControlEvents {
    /// Waits for the next event.
    ///
    /// # Errors
    /// [`ErrorCode::NotRunning`] when Gatehouse is gone, or why it refuses.
    pub async fn next(&mut self) -> Result<Heard, Problem> {
        loop {
            let answer = next_line(&mut self.lines).await?;
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

async fn next_line(lines: &mut FramedRead<Reading, LinesCodec>) -> Result<AnswerLine, Problem> {
    match lines.next().await {
        Some(Ok(line)) => serde_json::from_str(&line).map_err(|e| internal(&e)),
        Some(Err(e)) => Err(gone(&e)),
        None => Err(gone(&"the connection ended")),
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

fn gone(error: &dyn std::fmt::Display) -> Problem {
    Problem::new(ErrorCode::NotRunning, "Gatehouse is gone.")
        .why(format!("The control socket broke: {error}."))
}

fn internal(error: &serde_json::Error) -> Problem {
    Problem::new(ErrorCode::Internal, "Gatehouse answered something that cannot be read.")
        .why(format!("{error}."))
}
