//! A server over a line-based transport (any pair of byte streams): sends raw requests and matches
//! responses by id. The handshake is retried with another lifecycle if the first was not
//! understood; the process or stream of a failed handshake is gone before the next one is opened.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_model::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::close::{CloseCause, CloseReason, Closing};
use super::envelope::{self, Meta, OwnMeta};
use super::error::{ConnectError, RequestError};
use super::lifecycle::{self, LinePipe, RawCapabilities, Refusal};
use super::listen::Listening;
use super::redact::Redactor;
use super::router::{Router, RouterParts, SendBack};
use super::wire::{Garbage, LineReader, LineSender};
use super::{ConnectSpec, Connection, Handshake, Inbound, Link, Outgoing};
use crate::bounds;
use crate::outgoing::Reply;

/// How long a broken transport may take to report why.
pub(super) const REASON: Duration = Duration::from_secs(2);

/// The connection to one server over lines.
pub(super) struct LineLink {
    pub(super) sender: Arc<LineSender>,
    pub(super) router: Arc<Router>,
    pub(super) closing: Arc<Closing>,
    /// Removes the server's secrets from what leaves the connection.
    pub(super) redactor: Redactor,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    /// `_meta` members of requests; known after the handshake.
    pub(super) own_meta: OnceLock<OwnMeta>,
    listening: OnceLock<Listening>,
}

/// An open transport before the handshake.
pub(super) struct Opened {
    pub(super) link: Arc<LineLink>,
    pipe: LinePipe,
    capabilities: Arc<RawCapabilities>,
    garbage: Arc<Garbage>,
}

/// The running reader of a transport.
pub(super) struct Reading {
    pub(super) task: JoinHandle<CloseCause>,
    pub(super) stop: CancellationToken,
}

/// Opens transports to one server.
pub(super) trait Opener: Sync {
    /// Opens one. The opener also spawns the task that ends it when its closing is requested.
    fn open(&self) -> BoxFuture<'_, Result<Opened, ConnectError>>;
}

/// Builds a connection over a pair of byte streams.
pub(super) fn lay(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    (from, to): (impl AsyncRead + Send + Unpin + 'static, impl AsyncWrite + Send + Unpin + 'static),
) -> (Opened, Reading) {
    let deps = &spec.deps;
    let sender = Arc::new(LineSender::new(to));
    let send_back: SendBack = {
        let sender = Arc::clone(&sender);
        Arc::new(move |message| {
            let sender = Arc::clone(&sender);
            Box::pin(async move {
                if sender.send(message).await.is_err() {
                    tracing::debug!("the server is gone and gets no answer");
                }
            })
        })
    };
    let config = Arc::clone(&spec.config);
    let router = Arc::new(Router::new(RouterParts {
        config,
        deps: Arc::clone(deps),
        inbound,
        send_back,
        redactor: spec.redactor.clone(),
    }));
    let (to_rmcp, from_reader) = mpsc::channel(bounds::HANDSHAKE_MESSAGES);
    let capabilities = Arc::new(RawCapabilities::default());
    let garbage = Arc::new(Garbage::default());
    let reader = LineReader {
        router: Arc::clone(&router),
        rmcp: to_rmcp,
        capabilities: Arc::clone(&capabilities),
        garbage: Arc::clone(&garbage),
        redactor: spec.redactor.clone(),
    };
    let stop = CancellationToken::new();
    let task = deps.tasks.spawn(reader.run(from, stop.clone()));
    let link = Arc::new(LineLink {
        sender: Arc::clone(&sender),
        router,
        closing: Arc::new(Closing::default()),
        redactor: spec.redactor.clone(),
        tasks: deps.tasks.clone(),
        runtime: tokio::runtime::Handle::current(),
        own_meta: OnceLock::new(),
        listening: OnceLock::new(),
    });
    let pipe = LinePipe::new(sender, from_reader);
    (Opened { link, pipe, capabilities, garbage }, Reading { task, stop })
}

/// Opens a transport and shakes hands; repeats this with another lifecycle if the first one was not
/// understood.
pub(super) async fn connect(
    spec: &ConnectSpec,
    opener: &dyn Opener,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let limit = spec.config.limits.connect();
    let deadline = Instant::now() + limit;
    let mut last = ConnectError::Cancelled;
    for hint in spec.lifecycle.order() {
        let opened = tokio::time::timeout_at(deadline, opener.open()).await;
        let opened = opened.unwrap_or(Err(ConnectError::TimedOut { after: limit }))?;
        // A transport that doesn't become a connection must be closed entirely, even if this future
        // is dropped.
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
                let reason = tokio::time::timeout(REASON, link.closing.reason()).await;
                let reason = reason.unwrap_or_else(|_| CloseReason::new(CloseCause::Broken(what)));
                let again = !matches!(
                    reason.cause,
                    CloseCause::NotProtocol(_) | CloseCause::TooLong(_) | CloseCause::Refused(_)
                );
                (reason.into(), again)
            }
        };
        link.closing.ask();
        link.closing.gone().await;
        last = error.redacted(&spec.redactor);
        if !again {
            break;
        }
        tracing::debug!(server = %spec.config.id, error = %last, "another lifecycle is tried");
    }
    Err(last)
}

struct EndsOnDrop(Option<Arc<LineLink>>);

impl Drop for EndsOnDrop {
    fn drop(&mut self) {
        if let Some(link) = &self.0 {
            link.closing.ask();
        }
    }
}

/// Supervises a transport that is driven by a task. When the task or the reader ends, or the end is
/// requested, everything is closed.
pub(super) async fn keep(link: Arc<LineLink>, mut reading: Reading, mut carrier: JoinHandle<CloseCause>) {
    let cause = tokio::select! {
        biased;
        () = link.closing.asked() => CloseCause::Asked,
        ended = &mut carrier => ended.unwrap_or_else(|error| CloseCause::Broken(error.to_string())),
        ended = &mut reading.task => ended.unwrap_or_else(|error| CloseCause::Broken(error.to_string())),
    };
    link.closing.tell(CloseReason::new(cause));
    link.router.end();
    reading.stop.cancel();
    link.sender.close().await;
    // The task ends by itself when its streams end, after a closing handshake.
    if !carrier.is_finished() && tokio::time::timeout(REASON, &mut carrier).await.is_err() {
        carrier.abort();
    }
    link.closing.done();
}

impl LineLink {
    fn live(self: Arc<Self>, service: lifecycle::Service, handshake: Handshake) -> Connection {
        let own = lifecycle::own_meta(&handshake);
        self.own_meta.get_or_init(|| own);
        let link = Arc::clone(&self);
        let listening = Listening::start(&handshake, &self.closing, &self.tasks, move |outgoing| {
            let link = Arc::clone(&link);
            async move { link.request(outgoing).await }
        });
        if let Some(listening) = listening {
            self.listening.get_or_init(|| listening);
        }
        Connection::new(handshake, Link::Line(self), service)
    }

    pub(super) fn closing(&self) -> &Closing {
        &self.closing
    }

    /// The `subscriptions/listen` stream, on the stateless revision.
    pub(super) fn listening(&self) -> Option<&Listening> {
        self.listening.get()
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Reply, RequestError> {
        let Outgoing { method, params, progress, responder, limit, cancel } = outgoing;
        let token = progress.is_some().then_some(());
        let Some(ticket) = self.router.calls.begin(progress, responder) else {
            return Err(self.ended().await);
        };
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

    /// Why nothing can be sent or received any more.
    async fn ended(&self) -> RequestError {
        let reason = match self.closing.known() {
            Some(reason) => reason,
            // The stream breaks a moment before the reason is known.
            None => tokio::time::timeout(REASON, self.closing.reason())
                .await
                .unwrap_or_else(|_| CloseReason::new(CloseCause::OutputClosed)),
        };
        match reason.cause {
            CloseCause::Refused(error) => error,
            _ => RequestError::Closed(reason.to_string()),
        }
    }
}

/// Cancels the request on the server when the caller stops waiting.
struct Waiting<'a> {
    link: &'a LineLink,
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
