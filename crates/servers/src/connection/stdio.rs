//! A server over the standard streams of a process of ours.
//!
//! One task keeps the process: it notices its end, even when a grandchild still holds the streams,
//! says why, and leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::Transport;
use gatehouse_model::server::LogLine;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::close::{CloseCause, CloseReason, Closing};
use super::envelope::{self, Meta, OwnMeta};
use super::error::{ConnectError, RequestError};
use super::lifecycle::{self, LinePipe, RawCapabilities, Refusal};
use super::references::{self, Redactor};
use super::router::Router;
use super::wire::{Garbage, LineReader, LineSender};
use super::{ConnectSpec, Connection, Handshake, Inbound, LifecycleHint, Link, Outgoing, listen};
use crate::child::log::{LogFile, Tail, read_lines};
use crate::child::{self, Child, ChildSpec, Exit, Started};
use crate::outgoing::Reply;

/// How long the login shell and the keychain may take together; a server's own limit begins after
/// that.
const PREPARING: Duration = Duration::from_secs(15);
/// How long what a process printed before its end is still read.
const DRAIN: Duration = Duration::from_millis(500);
/// How long a process that closed its output gets to say how it ends.
const EXIT_AFTER_CLOSE: Duration = Duration::from_secs(1);
/// Messages that wait for rmcp.
const RMCP_ROOM: usize = 256;

/// The wire of one process.
pub(super) struct StdioLink {
    sender: Arc<LineSender>,
    router: Arc<Router>,
    closing: Arc<Closing>,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    /// What requests carry; known after the handshake.
    own_meta: std::sync::OnceLock<OwnMeta>,
}

/// A process whose handshake has not been made yet.
struct Opened {
    link: Arc<StdioLink>,
    pipe: LinePipe,
    capabilities: Arc<RawCapabilities>,
    garbage: Arc<Garbage>,
}

/// Starts the process and shakes hands; starts it again with another lifecycle where the first
/// one was not understood.
pub(super) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ConnectError::Cancelled),
        prepared = tokio::time::timeout(PREPARING, prepare(spec)) => match prepared {
            Ok(prepared) => prepared?,
            Err(_) => return Err(ConnectError::TimedOut { after: PREPARING }),
        },
    };
    let limit = spec.config.limits.connect();
    let deadline = tokio::time::Instant::now() + limit;
    let hints: &[LifecycleHint] = match spec.lifecycle {
        LifecycleHint::Auto => &[LifecycleHint::Auto, LifecycleHint::Initialize],
        LifecycleHint::Initialize => &[LifecycleHint::Initialize, LifecycleHint::Auto],
        LifecycleHint::Discover => &[LifecycleHint::Discover, LifecycleHint::Initialize],
    };
    let mut last = ConnectError::Cancelled;
    for hint in hints {
        let opened = open(spec, &prepared, inbound.clone()).await?;
        // Nothing of a process that does not become a connection may stay, not even when this
        // future is dropped.
        let mut ends = EndsOnDrop(Some(Arc::clone(&opened.link)));
        let Opened { link, pipe, capabilities, garbage } = opened;
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Refusal::Final(ConnectError::Cancelled)),
            outcome = tokio::time::timeout_at(deadline, lifecycle::negotiate(pipe, *hint, &capabilities)) => {
                match outcome {
                    Ok(outcome) => outcome,
                    Err(_) => Err(Refusal::Final(match garbage.nothing_else() {
                        Some(first) => CloseReason::new(CloseCause::NotProtocol(first)).into(),
                        None => ConnectError::TimedOut { after: limit },
                    })),
                }
            }
        };
        let (error, again) = match outcome {
            Ok((service, handshake)) => {
                ends.0 = None;
                return Ok(link.live(service, handshake));
            }
            Err(Refusal::Final(error)) => (error, false),
            Err(Refusal::Lifecycle(error)) => (error, true),
            Err(Refusal::Transport(what)) => {
                let reason = tokio::time::timeout(EXIT_AFTER_CLOSE * 2, link.closing.reason()).await;
                let reason = reason.unwrap_or_else(|_| CloseReason::new(CloseCause::Broken(what)));
                let again = !matches!(reason.cause, CloseCause::NotProtocol(_) | CloseCause::TooLong(_));
                (reason.into(), again)
            }
        };
        link.closing.ask();
        link.closing.gone().await;
        last = error;
        if !again {
            break;
        }
        tracing::debug!(server = %spec.config.id, error = %last, "another lifecycle is tried");
    }
    Err(last)
}

struct EndsOnDrop(Option<Arc<StdioLink>>);

impl Drop for EndsOnDrop {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.closing.ask();
        }
    }
}

struct Prepared {
    child: ChildSpec,
    redactor: Redactor,
}

async fn prepare(spec: &ConnectSpec) -> Result<Prepared, ConnectError> {
    let Transport::Stdio { command, args, env, cwd } = &spec.config.transport else {
        return Err(ConnectError::Unsupported { kind: spec.config.transport.kind() });
    };
    let surroundings = spec.deps.environment.get().await;
    let fields = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let own = references::resolve(&spec.config, "env", fields, &spec.deps.secrets).await?;
    let own_path = own.values.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.reveal());
    let folder = surroundings.folder(cwd.as_deref())?;
    let program = surroundings.find(command, &folder, own_path)?;
    Ok(Prepared {
        child: ChildSpec {
            program,
            args: args.clone(),
            env: surroundings.with(own.values.iter().map(|(name, value)| (name.as_str(), value.reveal()))),
            cwd: folder,
            marker: String::new(),
        },
        redactor: own.redactor,
    })
}

async fn open(
    spec: &ConnectSpec,
    prepared: &Prepared,
    inbound: mpsc::Sender<Inbound>,
) -> Result<Opened, ConnectError> {
    let deps = &spec.deps;
    let child = &prepared.child;
    let child = ChildSpec {
        program: child.program.clone(),
        args: child.args.clone(),
        env: child.env.clone(),
        cwd: child.cwd.clone(),
        marker: deps.run.marker(&spec.config.id),
    };
    let Started { child, stdin, stdout, stderr } =
        child::start(&child, &deps.run).await.map_err(|error| {
            let command = prepared.child.program.display().to_string();
            ConnectError::CannotStart { command, why: error.to_string() }
        })?;

    let router = Arc::new(Router::new(inbound, Arc::clone(&deps.clock), deps.tasks.clone()));
    let closing = Arc::new(Closing::default());
    let tail = Arc::new(Tail::default());
    let (to_rmcp, from_reader) = mpsc::channel(RMCP_ROOM);
    let sender = Arc::new(LineSender::new(stdin));
    let link = Arc::new(StdioLink {
        sender: Arc::clone(&sender),
        router: Arc::clone(&router),
        closing: Arc::clone(&closing),
        tasks: deps.tasks.clone(),
        runtime: tokio::runtime::Handle::current(),
        own_meta: std::sync::OnceLock::new(),
    });

    let capabilities = Arc::new(RawCapabilities::default());
    let garbage = Arc::new(Garbage::default());
    let reader = LineReader {
        router: Arc::clone(&router),
        rmcp: to_rmcp,
        capabilities: Arc::clone(&capabilities),
        garbage: Arc::clone(&garbage),
        redactor: prepared.redactor.clone(),
    };
    let stop_reading = CancellationToken::new();
    let reading = deps.tasks.spawn(reader.run(stdout, stop_reading.clone()));
    let file = LogFile::new(&deps.data_dir, &spec.config.id);
    let redactor = prepared.redactor.clone();
    let stderr = {
        let tail = Arc::clone(&tail);
        let router = Arc::clone(&router);
        deps.tasks.spawn(read_lines(stderr, file, move |line| {
            let LogLine { text, .. } = router.stderr(redactor.redact(line));
            tail.push(text.clone());
            text
        }))
    };
    let keeper =
        Keeper { child, reading, stop_reading, stderr, tail, sender: Arc::clone(&sender), router, closing };
    deps.tasks.spawn(keeper.keep());
    Ok(Opened { link, pipe: LinePipe::new(sender, from_reader), capabilities, garbage })
}

/// Keeps a process from its start to its end.
struct Keeper {
    child: Child,
    reading: JoinHandle<CloseCause>,
    stop_reading: CancellationToken,
    stderr: JoinHandle<()>,
    tail: Arc<Tail>,
    sender: Arc<LineSender>,
    router: Arc<Router>,
    closing: Arc<Closing>,
}

impl Keeper {
    async fn keep(mut self) {
        let cause = self.first_cause().await;
        let mut last_lines = Arc::from([]);
        if cause != CloseCause::Asked {
            // The last words may still be in the pipe.
            if tokio::time::timeout(DRAIN, &mut self.stderr).await.is_err() {
                tracing::debug!("something still holds the standard error of a server");
            }
            last_lines = self.tail.last_words();
        }
        self.closing.tell(CloseReason { cause, last_lines });
        self.router.calls.end();
        self.stop_reading.cancel();
        self.sender.close().await;
        let exit = self.child.stop().await;
        tracing::debug!(?exit, "a server's process is gone");
        self.stderr.abort();
        self.closing.done();
    }

    async fn first_cause(&mut self) -> CloseCause {
        tokio::select! {
            biased;
            () = self.closing.asked() => CloseCause::Asked,
            exit = self.child.wait() => {
                // Answers that were given before the end still count.
                if !self.reading.is_finished() && tokio::time::timeout(DRAIN, &mut self.reading).await.is_err() {
                    tracing::debug!("something still holds the output of a process that has ended");
                }
                exit.into()
            }
            ended = &mut self.reading => match ended {
                Ok(CloseCause::OutputClosed) => {
                    match tokio::time::timeout(EXIT_AFTER_CLOSE, self.child.wait()).await {
                        Ok(exit) => exit.into(),
                        Err(_) => CloseCause::OutputClosed,
                    }
                }
                Ok(cause) => cause,
                Err(error) => CloseCause::Broken(error.to_string()),
            },
        }
    }
}

impl From<Exit> for CloseCause {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => Self::Exited(code),
            Exit::Signal(signal) => Self::Signalled(signal),
        }
    }
}

impl StdioLink {
    fn live(self: Arc<Self>, service: lifecycle::Service, handshake: Handshake) -> Connection {
        let own = lifecycle::own_meta(&handshake);
        self.own_meta.get_or_init(|| own);
        let filter = listen::wanted(&handshake);
        let link = Arc::clone(&self);
        let connection = Connection::new(handshake, Link::Stdio(self), service);
        if let Some(filter) = filter {
            let closing = Arc::clone(&link.closing);
            let tasks = link.tasks.clone();
            tasks.spawn(listen::keep(filter, closing, move |outgoing| {
                let link = Arc::clone(&link);
                async move { link.request(outgoing).await }
            }));
        }
        connection
    }

    /// How it ends.
    pub(super) fn closing(&self) -> &Closing {
        &self.closing
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Reply, RequestError> {
        let Outgoing { method, params, progress, limit, cancel } = outgoing;
        let token = progress.is_some().then_some(());
        let Some(ticket) = self.router.calls.begin(progress) else { return Err(self.ended().await) };
        let waiting = Waiting { link: self, number: ticket.number };
        let own = self.own_meta.get_or_init(OwnMeta::default);
        let message = envelope::request(ticket.number, method, &params, Meta { token, own });
        drop(params);
        let work = async {
            if self.sender.send(message).await.is_err() {
                return Err(self.ended().await);
            }
            match ticket.answer.await {
                Ok(reply) => Ok(reply),
                Err(_) => Err(self.ended().await),
            }
        };
        let outcome = limit.run(work, &ticket.heard, &cancel).await;
        drop(waiting);
        outcome
    }

    /// Why nothing can be sent or answered any more.
    async fn ended(&self) -> RequestError {
        let reason = match self.closing.known() {
            Some(reason) => reason,
            // The pipe breaks a moment before the end of the process is known.
            None => tokio::time::timeout(EXIT_AFTER_CLOSE * 2, self.closing.reason())
                .await
                .unwrap_or_else(|_| CloseReason::new(CloseCause::OutputClosed)),
        };
        RequestError::Closed(reason.to_string())
    }
}

/// Tells the server to stop when nobody waits for its answer any more.
struct Waiting<'a> {
    link: &'a StdioLink,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.link.router.calls.forget(self.number) {
            let sender = Arc::clone(&self.link.sender);
            let message = envelope::cancelled(self.number, "The caller no longer waits.");
            self.link.tasks.spawn_on(
                async move {
                    if sender.send(message).await.is_err() {
                        tracing::debug!("the server is gone and need not be told to stop");
                    }
                },
                &self.link.runtime,
            );
        }
    }
}
