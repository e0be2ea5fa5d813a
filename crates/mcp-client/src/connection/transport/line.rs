//! A server over a line-based transport (any pair of byte streams): sends raw requests and matches
//! responses by id. The handshake is retried with another lifecycle if the first was not
//! understood; the process or stream of a failed handshake is gone before the next one is opened.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_model::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::line_io::{LineReader, LineSender, NonProtocolOutput};
use super::rmcp_line::RmcpLineTransport;
use crate::bounds;
use crate::connection::close::CloseSignal;
use crate::connection::envelope::{self, RequestMeta};
use crate::connection::lifecycle::{self, FailedHandshake, HandshakeError};
use crate::connection::pending_requests::BegunRequest;
use crate::connection::raw_handshake::RawHandshake;
use crate::connection::router::{MessageRouter, ResponseSender, RouterDeps};
use crate::connection::subscription_stream::SubscriptionStream;
use crate::connection::{ConnectSpec, Connection, ConnectionTransport, Handshake, Inbound};
use crate::error::{CloseCause, CloseReason};
use crate::error::{ConnectError, RequestError};
use crate::limit::CallLimit;
use crate::redact::Redactor;
use crate::request::{CancelReason, RpcOutcome, UpstreamRequest};

/// How long a broken transport may take to report why.
pub(in crate::connection) const REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// Capacity of the pipe between lines and what carries them, in bytes.
pub(in crate::connection) const PIPE_BYTES: usize = 64 * 1024;

/// The connection to one server over lines.
pub(in crate::connection) struct LineTransport {
    pub(in crate::connection) sender: Arc<LineSender>,
    pub(in crate::connection) router: Arc<MessageRouter>,
    pub(in crate::connection) closing: Arc<CloseSignal>,
    /// Removes the server's secrets from what leaves the connection.
    pub(in crate::connection) redactor: Redactor,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    /// `_meta` members of requests; known after the handshake.
    pub(in crate::connection) request_meta: OnceLock<RequestMeta>,
    subscriptions: OnceLock<SubscriptionStream>,
}

/// An open transport before the handshake.
pub(in crate::connection) struct UnnegotiatedLine {
    pub(in crate::connection) transport: Arc<LineTransport>,
    pipe: RmcpLineTransport,
    raw_handshake: Arc<RawHandshake>,
    non_protocol: Arc<NonProtocolOutput>,
}

/// The running reader of a transport.
pub(in crate::connection) struct ReaderTask {
    pub(in crate::connection) task: JoinHandle<CloseCause>,
    pub(in crate::connection) stop: CancellationToken,
}

/// Opens transports to one server.
pub(in crate::connection) trait LineConnector: Sync {
    /// Opens one. The opener also spawns the task that ends it when its closing is requested.
    fn open(&self) -> BoxFuture<'_, Result<UnnegotiatedLine, ConnectError>>;
}

/// Builds a connection over a pair of byte streams: `from` the server and `to` it.
pub(in crate::connection) fn start_line(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    from: impl AsyncRead + Send + Unpin + 'static,
    to: impl AsyncWrite + Send + Unpin + 'static,
) -> (UnnegotiatedLine, ReaderTask) {
    let deps = &spec.deps;
    let sender = Arc::new(LineSender::new(to));
    let send_response: ResponseSender = {
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
    let router = Arc::new(MessageRouter::new(RouterDeps {
        config,
        deps: Arc::clone(deps),
        inbound,
        send_response,
        redactor: spec.redactor.clone(),
    }));
    let (to_rmcp, from_reader) = mpsc::channel(bounds::HANDSHAKE_MESSAGES);
    let raw_handshake = Arc::new(RawHandshake::default());
    let non_protocol = Arc::new(NonProtocolOutput::default());
    let reader = LineReader {
        router: Arc::clone(&router),
        rmcp: to_rmcp,
        handshake: Arc::clone(&raw_handshake),
        non_protocol: Arc::clone(&non_protocol),
        redactor: spec.redactor.clone(),
    };
    let stop = CancellationToken::new();
    let task = deps.tasks.spawn(reader.run(from, stop.clone()));
    let transport = Arc::new(LineTransport {
        sender: Arc::clone(&sender),
        router,
        closing: Arc::new(CloseSignal::default()),
        redactor: spec.redactor.clone(),
        tasks: deps.tasks.clone(),
        runtime: tokio::runtime::Handle::current(),
        request_meta: OnceLock::new(),
        subscriptions: OnceLock::new(),
    });
    let pipe = RmcpLineTransport::new(sender, from_reader);
    (UnnegotiatedLine { transport, pipe, raw_handshake, non_protocol }, ReaderTask { task, stop })
}

/// Builds a connection over a task that carries messages between lines and another kind of stream. `carry` gets its
/// end of the lines; its future returns when either side has ended.
pub(in crate::connection) fn start_carried<C>(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    carry: impl FnOnce(DuplexStream, Arc<LineTransport>) -> C,
) -> UnnegotiatedLine
where
    C: Future<Output = CloseCause> + Send + 'static,
{
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (from, to) = tokio::io::split(ours);
    let (opened, reading) = start_line(spec, inbound, from, to);
    let tasks = &spec.deps.tasks;
    let carrier = tasks.spawn(carry(theirs, Arc::clone(&opened.transport)));
    tasks.spawn(supervise(Arc::clone(&opened.transport), reading, carrier));
    opened
}

/// Opens a transport and shakes hands; repeats this with another lifecycle if the first one was not
/// understood.
pub(in crate::connection) async fn connect(
    spec: &ConnectSpec,
    opener: &dyn LineConnector,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let limit = spec.config.limits.connect();
    let deadline = Instant::now() + limit;
    let mut last = ConnectError::CANCELLED;
    for hint in spec.lifecycles() {
        let opened = tokio::time::timeout_at(deadline, opener.open()).await;
        let opened = opened.unwrap_or(Err(ConnectError::TimedOut { after: limit }))?;
        // A transport that doesn't become a connection must be closed entirely, even if this future
        // is dropped.
        let mut ends = CloseOnDrop(Some(Arc::clone(&opened.transport)));
        let UnnegotiatedLine { transport, pipe, raw_handshake, non_protocol } = opened;
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(HandshakeError::Final(ConnectError::CANCELLED)),
            outcome = tokio::time::timeout_at(deadline, lifecycle::negotiate(pipe, *hint, &raw_handshake)) => {
                match outcome {
                    Ok(outcome) => outcome,
                    Err(_) => Err(HandshakeError::Final(match non_protocol.first_if_only() {
                        Some(first) => CloseReason::new(CloseCause::NotProtocol(first)).into(),
                        None => ConnectError::TimedOut { after: limit },
                    })),
                }
            }
        };
        let FailedHandshake { error, may_try_another } = match outcome {
            Ok((service, handshake)) => {
                ends.0 = None;
                return Ok(transport.into_connection(service, handshake));
            }
            Err(HandshakeError::Final(error)) => FailedHandshake { error, may_try_another: false },
            Err(HandshakeError::Lifecycle(error)) => FailedHandshake { error, may_try_another: true },
            Err(HandshakeError::Transport(what)) => {
                let reason = tokio::time::timeout(REASON_TIMEOUT, transport.closing.wait_for_reason()).await;
                let reason = reason.unwrap_or_else(|_| CloseReason::new(CloseCause::Broken(what.into())));
                let may_try_another = !matches!(
                    reason.cause,
                    CloseCause::NotProtocol(_) | CloseCause::TooLong(_) | CloseCause::Refused(_)
                );
                FailedHandshake { error: reason.into(), may_try_another }
            }
        };
        transport.closing.request_close();
        transport.closing.wait_until_closed().await;
        last = error.redacted(&spec.redactor);
        if !may_try_another {
            break;
        }
        tracing::debug!(server = %spec.config.id, error = %last, "another lifecycle is tried");
    }
    Err(last)
}

struct CloseOnDrop(Option<Arc<LineTransport>>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(transport) = &self.0 {
            transport.closing.request_close();
        }
    }
}

/// Supervises a transport that is driven by a task. When the task or the reader ends, or the end is
/// requested, everything is closed.
async fn supervise(
    transport: Arc<LineTransport>,
    mut reading: ReaderTask,
    mut carrier: JoinHandle<CloseCause>,
) {
    let cause = tokio::select! {
        biased;
        () = transport.closing.close_requested() => CloseCause::Requested,
        ended = &mut carrier => ended.unwrap_or_else(|error| CloseCause::Broken(error.to_string().into())),
        ended = &mut reading.task => ended.unwrap_or_else(|error| CloseCause::Broken(error.to_string().into())),
    };
    transport.closing.set_reason(CloseReason::new(cause));
    transport.router.end();
    reading.stop.cancel();
    transport.sender.close().await;
    // The task ends by itself when its streams end, after a closing handshake.
    if !carrier.is_finished() && tokio::time::timeout(REASON_TIMEOUT, &mut carrier).await.is_err() {
        carrier.abort();
    }
    transport.closing.mark_closed();
}

impl LineTransport {
    fn into_connection(self: Arc<Self>, service: lifecycle::RmcpService, handshake: Handshake) -> Connection {
        let own = lifecycle::request_meta(&handshake);
        self.request_meta.get_or_init(|| own);
        let transport = Arc::clone(&self);
        let subscriptions =
            SubscriptionStream::start(&handshake, &self.closing, &self.tasks, move |request| {
                let transport = Arc::clone(&transport);
                async move { transport.request(request, CallLimit::none()).await }
            });
        if let Some(subscriptions) = subscriptions {
            self.subscriptions.get_or_init(|| subscriptions);
        }
        Connection::new(handshake, ConnectionTransport::Line(self), service)
    }

    pub(in crate::connection) fn closing(&self) -> &CloseSignal {
        &self.closing
    }

    /// The `subscriptions/listen` stream, on the stateless revision.
    pub(in crate::connection) fn subscriptions(&self) -> Option<&SubscriptionStream> {
        self.subscriptions.get()
    }

    /// Sends a request and waits for its response.
    pub(in crate::connection) async fn request(
        &self,
        request: UpstreamRequest,
        limit: CallLimit,
    ) -> Result<RpcOutcome, RequestError> {
        let own = self.request_meta.get_or_init(RequestMeta::default);
        let Some(begun) = self.router.pending_requests.begin(request, own) else {
            return Err(self.ended().await);
        };
        let BegunRequest { ticket, message, cancel, cancel_reason } = begun;
        let waiting = LineCancelOnDrop { transport: self, number: ticket.number, reason: cancel_reason };
        let work = async {
            if self.sender.send(message).await.is_err() {
                return Err(self.ended().await);
            }
            match ticket.answer.await {
                Ok(reply) => Ok(reply),
                Err(_) => Err(self.ended().await),
            }
        };
        let outcome = limit.run(work, &ticket.clock, &cancel).await;
        drop(waiting);
        outcome
    }

    /// Why nothing can be sent or received any more.
    async fn ended(&self) -> RequestError {
        // The stream breaks a moment before the reason is known.
        let reason = tokio::time::timeout(REASON_TIMEOUT, self.closing.wait_for_reason()).await;
        reason.unwrap_or_else(|_| CloseReason::new(CloseCause::OutputClosed)).into()
    }
}

/// Cancels the request on the server when the caller stops waiting.
struct LineCancelOnDrop<'a> {
    transport: &'a LineTransport,
    number: u64,
    reason: CancelReason,
}

impl Drop for LineCancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.transport.router.pending_requests.forget(self.number) {
            let sender = Arc::clone(&self.transport.sender);
            let message = envelope::cancelled(self.number, self.reason.get());
            self.transport.tasks.spawn_on(
                async move {
                    if sender.send(message).await.is_err() {
                        tracing::debug!("the server is gone and need not be told to stop");
                    }
                },
                &self.transport.runtime,
            );
        }
    }
}
