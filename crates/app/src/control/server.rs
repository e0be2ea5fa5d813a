//! The listening end of the control socket. It reads lines, checks the operator key that came with
//! each, and hands the command to the facade; it decides nothing itself.

use std::path::Path;
use std::sync::Arc;

use futures::StreamExt as _;
use gatehouse_model::command::Command;
use gatehouse_model::{Envelope, ErrorCode, Problem};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::listen::Listener;
use super::wire::{AnswerOut, BodyOut, EVENTS, EventsArgs, LONGEST_LINE, RequestLine};
use crate::authority::Authority;
use crate::events::Heard;
use crate::facade::Facade;
use crate::redact::without_contents;

/// Connections at one time.
const CONNECTIONS: usize = 256;
/// Requests of one connection that run at one time.
const REQUESTS: usize = 64;
/// Lines that wait to be written to one connection.
const OUTBOX: usize = 64;

/// The listening end.
pub(crate) struct ControlServer {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl ControlServer {
    /// Opens the socket of a data folder, which the caller holds.
    pub(crate) fn bind(data_dir: &Path, facade: Arc<Facade>) -> Result<Self, Problem> {
        let listener = Listener::bind(data_dir).map_err(|e| {
            Problem::new(ErrorCode::Storage, "The control socket could not be opened.").why(format!("{e}."))
        })?;
        let server = Self { cancel: CancellationToken::new(), tasks: TaskTracker::new() };
        let (cancel, tasks) = (server.cancel.clone(), server.tasks.clone());
        server.tasks.spawn(accept(listener, facade, cancel, tasks));
        Ok(server)
    }

    /// Closes the socket and every connection.
    pub(crate) async fn shutdown(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn accept(mut listener: Listener, facade: Arc<Facade>, cancel: CancellationToken, tasks: TaskTracker) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.map_err(std::io::Error::other)?;
            listener.accept().await.map(|(stream, process)| (place, stream, process))
        };
        let accepted = tokio::select! {
            () = cancel.cancelled() => return,
            accepted = next => accepted,
        };
        match accepted {
            Ok((place, stream, process)) => {
                let around = (cancel.child_token(), tasks.clone());
                let connection = Connection::new(Arc::clone(&facade), process, around);
                tasks.spawn(async move {
                    connection.serve(stream).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the control socket could not be taken");
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(std::time::Duration::from_millis(100)) => {}
                }
            }
        }
    }
}

struct Connection {
    facade: Arc<Facade>,
    /// The process at the other end.
    process: Option<u32>,
    gone: CancellationToken,
    tasks: TaskTracker,
    requests: Arc<Semaphore>,
}

impl Connection {
    fn new(
        facade: Arc<Facade>,
        process: Option<u32>,
        (gone, tasks): (CancellationToken, TaskTracker),
    ) -> Self {
        Self { facade, process, gone, tasks, requests: Arc::new(Semaphore::new(REQUESTS)) }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Send + 'static>(self, stream: S) {
        let _gone_with_us = self.gone.clone().drop_guard();
        let (reading, writing) = tokio::io::split(stream);
        let (outbox, lines) = mpsc::channel(OUTBOX);
        self.tasks.spawn(write_lines(writing, lines, self.gone.clone()));
        let mut reading = FramedRead::new(reading, LinesCodec::new_with_max_length(LONGEST_LINE));
        loop {
            let line = tokio::select! {
                () = self.gone.cancelled() => return,
                line = reading.next() => line,
            };
            let going_on = match line {
                Some(Ok(line)) if line.trim().is_empty() => true,
                Some(Ok(line)) => self.take(&line, &outbox).await,
                Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                    let problem = Problem::new(ErrorCode::BadRequest, "The line is too long.")
                        .why(format!("A request may have {} MiB.", LONGEST_LINE / 1024 / 1024));
                    send(&outbox, None, BodyOut::Problem(&problem)).await
                }
                Some(Err(LinesCodecError::Io(_))) | None => false,
            };
            if !going_on {
                return;
            }
        }
    }

    /// Starts one request; `false` when the connection is of no more use.
    async fn take(&self, line: &str, outbox: &mpsc::Sender<Vec<u8>>) -> bool {
        let request: RequestLine = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(e) => {
                let problem =
                    Problem::new(ErrorCode::BadRequest, "The line is not a request.").why(format!("{e}."));
                return send(outbox, None, BodyOut::Problem(&problem)).await;
            }
        };
        let authority = match self.facade.authority(request.operator_key.as_ref()) {
            Ok(authority) => authority,
            Err(problem) => return send(outbox, Some(request.id), BodyOut::Problem(&problem)).await,
        };
        let Ok(place) = Arc::clone(&self.requests).acquire_owned().await else { return false };
        let (facade, gone, outbox) = (Arc::clone(&self.facade), self.gone.clone(), outbox.clone());
        let process = self.process;
        self.tasks.spawn(async move {
            let work = async {
                if request.command == EVENTS {
                    stream_events(&facade, &request, authority, &outbox).await;
                } else {
                    answer(&facade, &request, (authority, process), &outbox).await;
                }
            };
            tokio::select! {
                () = gone.cancelled() => {}
                () = work => {}
            }
            drop(place);
        });
        true
    }
}

async fn answer(
    facade: &Facade,
    request: &RequestLine,
    (authority, process): (Authority, Option<u32>),
    outbox: &mpsc::Sender<Vec<u8>>,
) {
    let parsed = match &request.args {
        Some(args) => Command::parse(&request.command, args),
        None => RawValue::from_string("{}".to_owned())
            .map_err(|e| Problem::new(ErrorCode::Internal, e.to_string()))
            .and_then(|args| Command::parse(&request.command, &args)),
    };
    let outcome = match parsed {
        Ok(Command::Call(call)) => facade.call(call, process).await,
        Ok(command) => facade.execute(command, authority).await,
        Err(problem) => Err(problem),
    };
    match outcome {
        Ok(reply) => send(outbox, Some(request.id), BodyOut::Reply(&reply)).await,
        Err(problem) => send(outbox, Some(request.id), BodyOut::Problem(&problem)).await,
    };
}

async fn stream_events(
    facade: &Facade,
    request: &RequestLine,
    authority: Authority,
    outbox: &mpsc::Sender<Vec<u8>>,
) {
    let args = match request.args.as_ref().map(|args| serde_json::from_str::<EventsArgs>(args.get())) {
        None => EventsArgs::default(),
        Some(Ok(args)) => args,
        Some(Err(e)) => {
            let problem = Problem::new(ErrorCode::BadRequest, "The arguments of events are not right.")
                .why(format!("{e}."));
            send(outbox, Some(request.id), BodyOut::Problem(&problem)).await;
            return;
        }
    };
    let mut stream = match args.after {
        Some(after) => facade.bus().listen_after(after),
        None => facade.bus().listen(),
    };
    while let Some(heard) = stream.next().await {
        let going_on = match heard {
            Heard::Missed => send(outbox, Some(request.id), BodyOut::Missed(true)).await,
            Heard::Event(envelope) => match authority {
                Authority::Operator => send(outbox, Some(request.id), BodyOut::Event(&envelope)).await,
                Authority::Anyone => {
                    let envelope: Envelope = without_contents(&envelope);
                    send(outbox, Some(request.id), BodyOut::Event(&envelope)).await
                }
            },
        };
        if !going_on {
            return;
        }
    }
}

async fn send(outbox: &mpsc::Sender<Vec<u8>>, id: Option<u64>, body: BodyOut<'_>) -> bool {
    match serde_json::to_vec(&AnswerOut { id, body }) {
        Ok(mut line) => {
            line.push(b'\n');
            outbox.send(line).await.is_ok()
        }
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            false
        }
    }
}

async fn write_lines<W: AsyncWrite + Send>(
    writing: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    gone: CancellationToken,
) {
    let mut writing = std::pin::pin!(writing);
    let work = async {
        while let Some(line) = lines.recv().await {
            writing.write_all(&line).await?;
            writing.flush().await?;
        }
        writing.shutdown().await
    };
    let written = tokio::select! {
        () = gone.cancelled() => Ok(()),
        written = work => written,
    };
    if let Err(error) = written {
        tracing::debug!(%error, "a control connection broke");
        gone.cancel();
    }
}
