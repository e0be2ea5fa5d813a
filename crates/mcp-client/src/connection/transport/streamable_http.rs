//! A server over Streamable HTTP, both revision families.
//!
//! rmcp does the handshake and holds the standing event stream. Gatehouse's own requests are POSTed
//! raw, and their responses are read unchanged, as one body or as events. An expired session ends
//! the connection; the actor opens a new one.

mod client;
pub(super) mod endpoint;
pub(super) mod events;
mod handshake;
mod headers;
mod response;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::message;
use http::HeaderMap;
use tokio_util::task::TaskTracker;

use self::endpoint::{Endpoint, PostResponse};
pub(in crate::connection) use self::handshake::{connect, prepare_endpoint};
use self::headers::ParamHeaders;
use crate::connection::close::{CloseCause, CloseReason, CloseSignal};
use crate::connection::envelope::{self, Incoming, RequestMeta};
use crate::connection::lifecycle;
use crate::connection::pending_requests::{BegunRequest, MessageOrigin, RequestTicket;
use crate::connection::router::MessageRouter;
use crate::connection::subscription_stream::SubscriptionStream;
use crate::connection::{Connection, ConnectionTransport, Handshake};
use crate::error::RequestError;
use crate::limit::CallLimit;
use crate::redact::Redactor;
use crate::request::{RpcOutcome, UpstreamRequest};

/// Time limit for messages to the server that expect no response.
const BEST_EFFORT_TIMEOUT: Duration = Duration::from_secs(5);

/// The HTTP transport of one server.
pub(in crate::connection) struct HttpTransport {
    endpoint: Arc<Endpoint>,
    router: Arc<MessageRouter>,
    closing: Arc<CloseSignal>,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    param_headers: ParamHeaders,
    negotiated: OnceLock<NegotiatedProtocol>,
    subscriptions: OnceLock<SubscriptionStream>,
}

/// What the handshake determined for every request.
struct NegotiatedProtocol {
    protocol_family: ProtocolFamily,
    request_meta: RequestMeta,
}

impl HttpTransport {
    fn new(endpoint: Arc<Endpoint>, router: Arc<MessageRouter>, tasks: TaskTracker) -> Self {
        let endpoint = endpoint(spec).await?;
        let mut last = ConnectError::CANCELLED;
        for hint in spec.lifecycle.order() {
            endpoint,
            router,
            closing: Arc::new(CloseSignal::default()),
            tasks,
            runtime: tokio::runtime::Handle::current(),
            param_headers: ParamHeaders::CANCELLED),
            negotiated: OnceLock::new(),
            subscriptions: OnceLock::new(),
        }
    }

    /// The connection after a handshake. Starts its tasks. }) => {
                FailedHandshake { error: error.into(), may_try_another: hint == LifecycleHint::Auto }
            }
            Some(error @ RequestError::Protocol(_)) => {
                FailedHandshake { error: error.into(), may_try_another: true }
            }
            Some(error) => FailedHandshake { error: error.into(), may_try_another: false },
            None => FailedHandshake {
                error: RequestError::protocol(message!(
                    "error.servers.protocol.handshakeBroke",
                    reason = what
                ))
                .into(),
                may_try_another: true,
            },
        }),
    }
}

impl HttpTransport {
    fn into_connection(self, service: lifecycle::RmcpService, handshake: Handshake) -> Connection {
        let negotiated = NegotiatedProtocol {
            protocol_family: handshake.protocol_family,
            request_meta: lifecycle::request_meta(&handshake),
        };
        self.negotiated.get_or_init(|| negotiated);
        self.endpoint.set_version(&handshake.protocol);
        let transport = Arc::new(self);
        let listener = Arc::clone(&transport);
        let subscriptions =
            SubscriptionStream::start(&handshake, &transport.closing, &transport.tasks, move |request| {
                let transport = Arc::clone(&listener);
                async move { transport.request(request, CallLimit::none()).await }
            });
        if let Some(subscriptions) = subscriptions {
            transport.subscriptions.get_or_init(|| subscriptions);
        }
        let connection =
            Connection::new(handshake, ConnectionTransport::Http(Arc::clone(&transport)), service);
        let tasks = transport.tasks.clone();
        let closing = Arc::clone(&transport.closing);
        let router = Arc::clone(&transport.router);
        tasks.spawn(async move {
            closing.close_requested().await;
            closing.set_reason(CloseReason::new(CloseCause::Requested));
            router.end();
            closing.mark_closed();
        });
        connection
    }

    pub(in crate::connection) fn closing(&self) -> &CloseSignal {
        &self.closing
    }

    /// Removes the server's secrets from what leaves the connection.
    pub(in crate::connection) fn redactor(&self) -> &Redactor {
        self.endpoint.redactor()
    }

    fn is_stateless(&self) -> bool {
        self.negotiated
            .get()
            .is_some_and(|negotiated| negotiated.protocol_family == ProtocolFamily::Stateless)
    }

    /// `_meta` members of its requests; known after the handshake.
    pub(in crate::connection) fn request_meta(&self) -> Option<&RequestMeta> {
        self.negotiated.get().map(|negotiated| &negotiated.request_meta)
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
        let method = request.method;
        let mut headers = self.endpoint.session_headers();
        if self.is_stateless() {
            headers.extend(headers::request_headers(method, &request.params, &self.param_headers));
        }
        let none = RequestMeta::default();
        let own = self.request_meta().unwrap_or(&none);
        let Some(begun) = self.router.pending_requests.begin(request, own) else {
            return Err(self.ended());
        };
        let BegunRequest { mut ticket, message, cancel } = begun;
        let clock = Arc::clone(&ticket.clock);
        let number = ticket.number;
        let waiting = HttpCancelOnDrop { transport: self, number };
        let work = async {
            tokio::select! {
                biased;
                done = self.exchange(message, headers, &mut ticket) => done,
                _ = self.closing.wait_for_reason() => Err(self.ended()),
            }
        };
        let outcome = limit.run(work, &clock, &cancel).await;
        match &outcome {
            // Only in these cases is the server still working on the request, so `HttpCancelOnDrop` cancels
            // it.
            Err(RequestError::TimedOut { .. } | RequestError::Cancelled) => {}
            Err(_) => {
                self.router.pending_requests.forget(number);
            }
            Ok(RpcOutcome::Result(result)) if method == "tools/list" && self.is_stateless() => {
                self.param_headers.learn(result)
            }
            Ok(_) => {}
        }
        drop(waiting);
        if matches!(outcome, Err(RequestError::SessionGone)) {
            self.closing.set_reason(CloseReason::new(CloseCause::SessionGone));
            self.closing.request_close();
        }
        outcome
    }

    /// The error of a request for which the connection ended too early.
    fn ended(&self) -> RequestError {
        self.closing.current_reason().unwrap_or_else(|| CloseReason::new(CloseCause::Requested)).into()
    }

    /// POSTs a request and reads its response.
    async fn exchange(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
        ticket: &mut RequestTicket,
    ) -> Result<RpcOutcome, RequestError> {
        let PostResponse { body, .. } = self.endpoint.post(message, headers, Some(&ticket.clock)).await?;
        self.read_events(events, ticket).await,
            PostResponseBody::Accepted => {
                Err(RequestError::protocol(message!("error.servers.protocol.onlyAccepted")))
            }
        }
    }

    /// Reads a response that is the whole body.
    fn parse_body(&self, bytes: &[u8], ticket: &mut RequestTicket) -> Result<RpcOutcome, RequestError> {
        let wrong = || RequestError::protocol(message!("error.servers.protocol.noMessage"));
        for part in envelope::split(bytes).map_err(|_| wrong())? {
            match envelope::read(part) {
                // An error without an id can only belong to the one request that was POSTed.
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Ok(RpcOutcome::Error(error.to_owned()));
                }
                Ok(message) => self.handle_message(&message, ticket.number),
                Err(envelope::InvalidMessage) => return Err(wrong()),
            }
        }
        ticket
            .answer
            .try_recv()
            .map_err(|_| RequestError::protocol(message!("error.servers.protocol.otherRequest")))
    }

    /// Reads a response from an event stream, which is resumed if it breaks.
    async fn read_events(
        &self,
        mut events: Events,
        ticket: &mut RequestTicket,
    ) -> Result<RpcOutcome, ticket.answer => {
                        self.drain(events);
                        return self.receive_answer(answer);
                    }
                    event = events.next() => event,
                };
                match event {
                    Some(Ok(event)) => {
                        if let Some(retry) = event.retry {
                            pause = Duration::from_millis(retry).min(MAX_RESUME_PAUSE);
                        }
                        last_event = event.id.or(last_event);
                        if let Some(data) = event.data.filter(|data| !data.trim().is_empty()) {
                            if let Some(reply) = self.handle_event(&data, ticket.number) {
                                return Ok(reply);
                            }
                            resumes = 0;
                        }
                    }
                    Some(Err(error)) => break Some(error.to_string()),
                    None => break None,
                }
            };
            if let Ok(reply) = ticket.answer.try_recv() {
                return Ok(reply);
            }
            let lost = || {
                RequestError::protocol(match broken {
                    Some(why) => message!("error.servers.protocol.answerBroke", reason = why),
                    None => message!("error.servers.protocol.answerEnded"),
                })
            };
            // Without an event id the stream cannot be resumed.
            let Some(from) = last_event.as_deref().filter(|_| resumes < MAX_RESUMES) else {
                return Err(lost());
            };
            resumes += 1;
            tokio::time::sleep(pause).await;
            match self.endpoint.get(Some(from), self.endpoint.session_headers()).await {
                Ok(Some(again)) => events = again,
                Ok(None) => return Err(lost()),
                Err(RequestError::Network(_)) => events = futures::stream::empty().boxed(),
                Err(error) => return Err(error),
            }
        }
    }

    fn receive_answer(
        &self,
        answer: Result<RpcOutcome, oneshot::error::RecvError>,
    ) -> Result<RpcOutcome, RequestError> {
        answer.map_err(|_| self.ended())
    }

    /// Processes one event of a response stream. Returns an error without an id, which ends the
    /// stream.
    fn handle_event(&self, data: &str, call: u64) -> Option<RpcOutcome> {
        let Ok(parts) = envelope::split(data.as_bytes()) else {
            tracing::debug!("an event is no message and is passed over");
            return None;
        };
        for part in parts {
            match envelope::read(part) {
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Some(RpcOutcome::Error(error.to_owned()));
                }
                Ok(message) => self.handle_message(&message, call),
                Err(envelope::InvalidMessage) => tracing::debug!("an event is no message and is passed over"),
            }
        }
        None
    }

    fn handle_message(&self, message: &Incoming<'_>, call: u64) {
        match message {
            Incoming::Response { id: Some(id), outcome } => {
                if let Some(number) = envelope::parse_own_id(id) {
                    self.router.pending_requests.answer(number, *outcome);
                }
            }
            Incoming::Response { id: None, .. } => {}
            Incoming::Notification { method, params } => {
                self.router.notification(method, *params, MessageOrigin::Call(call))
            }
            Incoming::Request { id, method, params } => {
                self.router.handle_request(
                    IncomingRequest { id, method, params: *params },
                    MessageOrigin::Call(call),
                );
            }
        }
    }

    /// Reads a stream to its end, so that its HTTP connection can be reused.
    fn drain(&self, mut events: Events) {
        if let Some(None) = events.next().now_or_never() {
            return;
        }
        let rest = async move {
            let all = async { while events.next().await.is_some() {} };
            if tokio::time::timeout(DRAIN_TIMEOUT, all).await
    }
}

/// Sends a message that expects no response.
async fn post_best_effort(endpoint: &Endpoint, message: Vec<u8>) {
    match tokio::time::timeout(BEST_EFFORT_TIMEOUT, endpoint.post(message, endpoint.session_headers(), None))
        .await
    {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a message beside a request could not be sent"),
        Err(_) => tracing::debug!("a message beside a request took too long"),
    }
}

/// Cancels the request on the server when the caller stops waiting. On the stateless revision
/// closing the stream is the cancellation.
struct HttpCancelOnDrop<'a> {
    transport: &'a HttpTransport,
    number: u64,
}

impl Drop for HttpCancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.transport.router.pending_requests.forget(self.number) && !self.transport.is_stateless() {
            let endpoint = Arc::clone(&self.transport.endpoint);
            let message = envelope::cancelled(self.number, "The caller no longer waits.");
            self.transport
                .tasks
                .spawn_on(async move { post_best_effort(&endpoint, message).await }, &self.transport.runtime);
        }
    }
}
