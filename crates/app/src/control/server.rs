//! Server side of the control socket. Reads lines, plain or encrypted, and passes the commands in them
//! to the facade with the authority that the channel proves; it makes no decisions itself. The first
//! line determines for the whole connection whether there is a channel.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use gatehouse_model::command::{Authority, Command};
use gatehouse_model::{Envelope, ErrorCode, Problem};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::channel::{self, Broken, Channel, Hello, KeyOf, Opener, Sealer};
use super::listen::Listener;
use super::wire::{
    AnswerOut, BodyOut, EVENTS, EventsArgs, LONGEST_PLAIN_LINE, LONGEST_SEALED_LINE, RequestLine,
};
use crate::authority::Proved;
use crate::events::Heard;
use crate::facade::Facade;
use crate::redact::without_contents;

/// Limit of simultaneous connections that are not authenticated as the operator.
const CONNECTIONS: usize = 256;
/// Time limit for the first line of a connection.
const FIRST_LINE: Duration = Duration::from_secs(5);
/// Limit of concurrent requests per connection.
const REQUESTS: usize = 64;
/// Lines that may be queued for writing per connection.
const OUTBOX: usize = 64;

pub(crate) struct ControlServer {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl ControlServer {
    /// Opens the socket of a data folder. The caller must hold the lock of the folder.
    pub(crate) fn bind(data_dir: &Path, facade: Arc<Facade>) -> Result<Self, Problem> {
        let listener = Listener::bind(data_dir).map_err(|e| {
            Problem::new(ErrorCode::Storage, "The control socket could not be opened.").why(format!("{e}."))
        })?;
        let server = Self { cancel: CancellationToken::new(), tasks: TaskTracker::new() };
        let (cancel, tasks) = (server.cancel.clone(), server.tasks.clone());
        server.tasks.spawn(accept(listener, facade, cancel, tasks));
        Ok(server)
    }

    /// Closes the socket and all connections.
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
    let strangers = Arc::new(Strangers::default());
    loop {
        let accepted = tokio::select! {
            () = cancel.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, process)) => {
                let around = (cancel.child_token(), tasks.clone());
                let place = Place::take(&strangers, around.0.clone());
                let connection = Connection::new(Arc::clone(&facade), process, around, place);
                tasks.spawn(connection.serve(stream));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the control socket could not be taken");
                tokio::select! {
                    () = cancel.cancelled() => return,
                    () = tokio::time::sleep(Duration::from_millis(100)) => {}
                }
            }
        }
    }
}

/// The connections that are not authenticated as the operator, oldest first, and the number of the last.
#[derive(Default)]
struct Strangers(Mutex<(u64, VecDeque<(u64, CancellationToken)>)>);

/// A slot among them, released when dropped.
struct Place {
    among: Arc<Strangers>,
    number: u64,
}

impl Place {
    /// Takes a slot. If all are taken, the oldest connection is closed, so that other processes cannot
    /// lock the operator out by filling all slots.
    fn take(among: &Arc<Strangers>, gone: CancellationToken) -> Self {
        let mut held = among.0.lock();
        let (last, all) = &mut *held;
        *last = last.wrapping_add(1);
        let number = *last;
        let oldest = if all.len() >= CONNECTIONS { all.pop_front() } else { None };
        if let Some((_, oldest)) = oldest {
            oldest.cancel();
        }
        all.push_back((number, gone));
        drop(held);
        Self { among: Arc::clone(among), number }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.among.0.lock().1.retain(|(number, _)| *number != self.number);
    }
}

struct Connection {
    facade: Arc<Facade>,
    /// Process id of the peer, if known.
    process: Option<u32>,
    gone: CancellationToken,
    tasks: TaskTracker,
    requests: Arc<Semaphore>,
    /// The key that the peer proved to know.
    proved: Proved,
    /// Decrypts incoming lines if there is a channel.
    opener: Option<Opener>,
    /// Held until the peer is authenticated as the operator.
    place: Option<Place>,
}

impl Connection {
    fn new(
        facade: Arc<Facade>,
        process: Option<u32>,
        (gone, tasks): (CancellationToken, TaskTracker),
        place: Place,
    ) -> Self {
        let requests = Arc::new(Semaphore::new(REQUESTS));
        let (proved, place) = (Proved::Nothing, Some(place));
        Self { facade, process, gone, tasks, requests, proved, opener: None, place }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Send + 'static>(mut self, stream: S) {
        let _gone_with_us = self.gone.clone().drop_guard();
        let (reading, mut writing) = tokio::io::split(stream);
        let mut reading = FramedRead::new(reading, LinesCodec::new_with_max_length(LONGEST_PLAIN_LINE));
        let first = tokio::time::timeout(FIRST_LINE, self.line(&mut reading)).await;
        let Ok(Some(first)) = first else { return };
        let hello = first.as_ref().ok().and_then(|line| serde_json::from_str::<Hello>(line).ok());
        let (mut next, sealer) = match hello {
            None => (Some(first), None),
            Some(hello) => match self.welcome(&hello, &mut writing).await {
                Some(sealer) => (None, Some(sealer)),
                None => return,
            },
        };
        let mut is_long = false;
        let (outbox, lines) = mpsc::channel(OUTBOX);
        self.tasks.spawn(write_lines(writing, lines, sealer, self.gone.clone()));
        loop {
            let line = match next.take() {
                Some(line) => Some(line),
                None => self.line(&mut reading).await,
            };
            let Some(line) = line else { return };
            if !self.hear(line, &outbox).await {
                return;
            }
            // A line was decrypted, so the peer is authenticated and may send longer lines. The line was
            // read whole, so nothing is lost by replacing the decoder.
            if self.opener.is_some() && !is_long {
                is_long = true;
                *reading.decoder_mut() = LinesCodec::new_with_max_length(LONGEST_SEALED_LINE);
            }
        }
    }

    /// The next line; `None` at the end of the connection.
    async fn line<R: AsyncRead + Unpin>(
        &self,
        reading: &mut FramedRead<R, LinesCodec>,
    ) -> Option<Result<String, LinesCodecError>> {
        tokio::select! {
            () = self.gone.cancelled() => None,
            line = reading.next() => line,
        }
    }

    /// Answers a client's [`Hello`] and makes the channel; `None` if it cannot be made.
    async fn welcome<W: AsyncWrite + Unpin>(&mut self, hello: &Hello, writing: &mut W) -> Option<Sealer> {
        let made = self.channel(hello).await;
        let line = match &made {
            Ok((line, _)) => line.clone(),
            Err(Broken(why)) => {
                tracing::info!(why, "no channel was made on the control socket");
                let problem =
                    Problem::new(ErrorCode::NotPermitted, "There is no channel with this key here.");
                serde_json::to_vec(&AnswerOut { id: None, body: BodyOut::Problem(&problem) }).ok()?
            }
        };
        let written = async {
            writing.write_all(&line).await?;
            writing.write_all(b"\n").await?;
            writing.flush().await
        };
        written.await.ok()?;
        let (_, Channel { sealer, opener }) = made.ok()?;
        self.opener = Some(opener);
        Some(sealer)
    }

    async fn channel(&mut self, hello: &Hello) -> Result<(Vec<u8>, Channel), Broken> {
        let (proved, key) = match &hello.key_of {
            KeyOf::Operator => self.facade.parts().operator.key(),
            KeyOf::Client { token_sha256 } => self.facade.client_key(token_sha256.clone()).await,
        }
        .ok_or(Broken("there is no such key"))?;
        let (welcome, channel) = channel::answer(&key, hello)?;
        self.proved = proved;
        let line = serde_json::to_vec(&welcome).map_err(|_| Broken("the answer cannot be written"))?;
        Ok((line, channel))
    }

    /// Handles one line; `false` if the connection has to be closed.
    async fn hear(&mut self, line: Result<String, LinesCodecError>, outbox: &mpsc::Sender<Vec<u8>>) -> bool {
        let line = match line {
            Ok(line) => line,
            Err(LinesCodecError::MaxLineLengthExceeded) if self.opener.is_none() => {
                let problem = Problem::new(ErrorCode::BadRequest, "The line is too long.")
                    .why(format!("A request may have {} MiB.", LONGEST_PLAIN_LINE / 1024 / 1024));
                return send(outbox, None, BodyOut::Problem(&problem)).await;
            }
            Err(_) => return false,
        };
        let line = match self.opener.as_mut().map(|opener| opener.open(&line)) {
            None if line.trim().is_empty() => return true,
            None => line,
            Some(Ok(opened)) => {
                if matches!(self.proved, Proved::OperatorKey(_)) {
                    self.place = None;
                }
                if opened.is_empty() {
                    return true;
                }
                opened
            }
            Some(Err(Broken(why))) => {
                tracing::warn!(why, "a channel on the control socket was ended");
                return false;
            }
        };
        self.take(&line, outbox).await
    }

    /// Starts one request; `false` if the connection has to be closed.
    async fn take(&self, line: &str, outbox: &mpsc::Sender<Vec<u8>>) -> bool {
        let request: RequestLine = match serde_json::from_str(line) {
            Ok(request) => request,
            Err(e) => {
                let problem =
                    Problem::new(ErrorCode::BadRequest, "The line is not a request.").why(format!("{e}."));
                return send(outbox, None, BodyOut::Problem(&problem)).await;
            }
        };
        let proved = self.proved;
        // A replaced key gives no authority.
        if self.facade.parts().operator.authority(proved).is_none() {
            return false;
        }
        let Ok(place) = Arc::clone(&self.requests).acquire_owned().await else { return false };
        let (facade, gone, outbox) = (Arc::clone(&self.facade), self.gone.clone(), outbox.clone());
        let process = self.process;
        self.tasks.spawn(async move {
            let work = async {
                if request.command == EVENTS {
                    stream_events(&facade, &request, proved, &outbox, &gone).await;
                } else {
                    // Checked when the request runs, not when the line arrived: the key may have been
                    // replaced since.
                    let Some(authority) = facade.parts().operator.authority(proved) else {
                        gone.cancel();
                        return;
                    };
                    answer(&facade, &request, (authority, process), &outbox).await;
                }
            };
            tokio::select! {
                biased;
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
        Ok(command @ Command::Call(_)) => facade.call(command, authority, process).await,
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
    proved: Proved,
    outbox: &mpsc::Sender<Vec<u8>>,
    gone: &CancellationToken,
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
            Heard::Event(envelope) => match facade.parts().operator.authority(proved) {
                Some(Authority::Operator) => send(outbox, Some(request.id), BodyOut::Event(&envelope)).await,
                Some(Authority::Anyone | Authority::Client) => {
                    let envelope: Envelope = without_contents(&envelope);
                    send(outbox, Some(request.id), BodyOut::Event(&envelope)).await
                }
                None => {
                    gone.cancel();
                    false
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
        Ok(line) => outbox.send(line).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            false
        }
    }
}

async fn write_lines<W: AsyncWrite + Send>(
    writing: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut sealer: Option<Sealer>,
    gone: CancellationToken,
) {
    let mut writing = std::pin::pin!(writing);
    let work = async {
        while let Some(mut line) = lines.recv().await {
            // Encrypted here and nowhere earlier, so that lines are numbered in the order in which they
            // are sent.
            if let Some(sealer) = &mut sealer {
                line = sealer.seal(line).map_err(|Broken(why)| std::io::Error::other(why))?;
            }
            line.push(b'\n');
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
