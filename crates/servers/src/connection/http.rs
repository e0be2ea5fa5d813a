//! A server over Streamable HTTP, both revision families.
//!
//! rmcp does the handshake and holds the standing event stream. Gatehouse's own requests are POSTed
//! raw, and their responses are read unchanged, as one body or as events. An expired session ends
//! the connection; the actor opens a new one.

mod client;
pub(super) mod endpoint;
pub(super) mod events;
pub(crate) mod headers;
mod program;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use http::HeaderMap;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::client::RmcpClient;
use self::endpoint::{Endpoint, HeaderSource, Posted, PostedBody, Sources};
use self::events::Events;
use self::headers::ParamHeaders;
use super::calls::{Origin, Ticket};
use super::close::{CloseCause, CloseReason, Closing};
use super::envelope::{self, Incoming, Meta, OwnMeta};
use super::error::{ConnectError, RequestError};
use super::lifecycle::{self, RawCapabilities, Refusal};
use super::listen::Listening;
use super::redact::Redactor;
use super::router::{Question, Router, RouterParts, SendBack};
use super::{ConnectSpec, Connection, Era, Handshake, Inbound, LifecycleHint, Link, Outgoing, references};
use crate::outgoing::Reply;

/// Longest pause before rmcp reopens its event stream.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Time limit for messages to the server that expect no response.
const ASIDE: Duration = Duration::from_secs(5);
/// How long the end of a stream is awaited after its response has come.
const DRAIN: Duration = Duration::from_secs(1);
/// How often the stream of one response is resumed without a new message.
const RESUMES: u32 = 5;
/// The pause before resuming if the server sets none, and the longest pause that it may set.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_RESUME_PAUSE: Duration = Duration::from_secs(30);

/// The HTTP transport of one server.
pub(super) struct HttpLink {
    endpoint: Arc<Endpoint>,
    router: Arc<Router>,
    closing: Arc<Closing>,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    annotated: ParamHeaders,
    agreed: OnceLock<Agreed>,
    listening: OnceLock<Listening>,
}

/// How long the standing event stream may delay a connection.
const LISTENED: Duration = Duration::from_secs(1);

/// What the handshake determined for every request.
struct Agreed {
    era: Era,
    own_meta: OwnMeta,
}

/// Connects and shakes hands.
pub(super) async fn connect(
    spec: &ConnectSpec,
    inbound: mpsc::Sender<Inbound>,
    cancel: &CancellationToken,
) -> Result<Connection, ConnectError> {
    let limit = spec.config.limits.connect();
    let attempt = async {
        let endpoint = endpoint(spec).await?;
        let mut last = ConnectError::Cancelled;
        for hint in spec.lifecycle.order() {
            match shake_hands(spec, &endpoint, &inbound, *hint).await {
                Ok(connection) => return Ok(connection),
                Err((error, again)) => {
                    last = error.redacted(&spec.redactor);
                    if !again {
                        break;
                    }
                }
            }
            tracing::debug!(server = %spec.config.id, error = %last, "another lifecycle is tried");
        }
        Err(last)
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ConnectError::Cancelled),
        outcome = tokio::time::timeout(limit, attempt) => {
            outcome.unwrap_or(Err(ConnectError::TimedOut { after: limit }))
        }
    }
}

/// The endpoint of a remote server, for any HTTP-based transport.
pub(super) async fn endpoint(spec: &ConnectSpec) -> Result<Arc<Endpoint>, ConnectError> {
    let Some(remote) = spec.config.transport.remote() else {
        return Err(ConnectError::Unsupported { kind: spec.config.transport.kind() });
    };
    let fields = remote.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let values = references::resolve(spec, "headers", fields).await?;
    let program = remote
        .headers_from
        .as_ref()
        .map(|program| HeaderSource { program: program.clone(), environment: spec.deps.environment.clone() });
    let endpoint = Endpoint::new(
        &remote.url,
        &values,
        Sources {
            tokens: Arc::clone(&spec.deps.tokens),
            server: Arc::clone(&spec.config),
            program,
            redactor: spec.redactor.clone(),
        },
    )?;
    endpoint.refresh_headers().await?;
    Ok(Arc::new(endpoint))
}

/// One handshake; the flag in the error says whether another lifecycle may succeed.
async fn shake_hands(
    spec: &ConnectSpec,
    endpoint: &Arc<Endpoint>,
    inbound: &mpsc::Sender<Inbound>,
    hint: LifecycleHint,
) -> Result<Connection, (ConnectError, bool)> {
    let deps = &spec.deps;
    endpoint.set_session(None);
    drop(endpoint.take_fault());
    let send_back: SendBack = {
        let endpoint = Arc::clone(endpoint);
        Arc::new(move |message| {
            let endpoint = Arc::clone(&endpoint);
            Box::pin(async move { aside(&endpoint, message).await })
        })
    };
    let router = Arc::new(Router::new(RouterParts {
        config: Arc::clone(&spec.config),
        deps: Arc::clone(deps),
        inbound: inbound.clone(),
        send_back,
        redactor: spec.redactor.clone(),
    }));
    let capabilities = Arc::new(RawCapabilities::default());
    let listened = CancellationToken::new();
    let client = RmcpClient {
        endpoint: Arc::clone(endpoint),
        router: Arc::clone(&router),
        capabilities: Arc::clone(&capabilities),
        listened: listened.clone(),
    };
    let mut pauses = ExponentialBackoff::default();
    pauses.max_delay = Some(LONGEST_PAUSE);
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(endpoint.url()).reinit_on_expired_session(false);
    config.retry_config = Arc::new(pauses);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    match lifecycle::negotiate(transport, hint, &capabilities).await {
        Ok((service, handshake)) => {
            if handshake.era == Era::Stateful && endpoint.standing().contains_key(endpoint::SESSION) {
                // Some servers lose requests that they send before that stream is open.
                if tokio::time::timeout(LISTENED, listened.cancelled()).await.is_err() {
                    tracing::debug!(server = %spec.config.id, "the server opens its stream late");
                }
            }
            let link = HttpLink {
                endpoint: Arc::clone(endpoint),
                router,
                closing: Arc::new(Closing::default()),
                tasks: deps.tasks.clone(),
                runtime: tokio::runtime::Handle::current(),
                annotated: ParamHeaders::default(),
                agreed: OnceLock::new(),
                listening: OnceLock::new(),
            };
            Ok(link.live(service, handshake))
        }
        Err(Refusal::Final(error)) => Err((error, false)),
        Err(Refusal::Lifecycle(error)) => Err((error, true)),
        Err(Refusal::Transport(what)) => Err(match endpoint.take_fault() {
            // An HTTP status is the same for every lifecycle, with one exception: a probe that made
            // the server fail says nothing about `initialize`.
            Some(error @ RequestError::Status { status: 500.., .. }) => {
                (error.into(), hint == LifecycleHint::Auto)
            }
            Some(error @ RequestError::Protocol(_)) => (error.into(), true),
            Some(error) => (error.into(), false),
            None => (ConnectError::Protocol(format!("the handshake broke off ({what}).")), true),
        }),
    }
}

impl HttpLink {
    fn live(self, service: lifecycle::Service, handshake: Handshake) -> Connection {
        let agreed = Agreed { era: handshake.era, own_meta: lifecycle::own_meta(&handshake) };
        self.agreed.get_or_init(|| agreed);
        self.endpoint.set_version(&handshake.protocol);
        let link = Arc::new(self);
        let listener = Arc::clone(&link);
        let listening = Listening::start(&handshake, &link.closing, &link.tasks, move |outgoing| {
            let link = Arc::clone(&listener);
            async move { link.request(outgoing).await }
        });
        if let Some(listening) = listening {
            link.listening.get_or_init(|| listening);
        }
        let connection = Connection::new(handshake, Link::Http(Arc::clone(&link)), service);
        let tasks = link.tasks.clone();
        let closing = Arc::clone(&link.closing);
        let router = Arc::clone(&link.router);
        tasks.spawn(async move {
            closing.asked().await;
            closing.tell(CloseReason::new(CloseCause::Asked));
            router.end();
            closing.done();
        });
        connection
    }

    pub(super) fn closing(&self) -> &Closing {
        &self.closing
    }

    /// Removes the server's secrets from what leaves the connection.
    pub(super) fn redactor(&self) -> &Redactor {
        self.endpoint.redactor()
    }

    fn is_stateless(&self) -> bool {
        self.agreed.get().is_some_and(|agreed| agreed.era == Era::Stateless)
    }

    /// `_meta` members of its requests; known after the handshake.
    pub(super) fn own_meta(&self) -> Option<&OwnMeta> {
        self.agreed.get().map(|agreed| &agreed.own_meta)
    }

    /// The `subscriptions/listen` stream, on the stateless revision.
    pub(super) fn listening(&self) -> Option<&Listening> {
        self.listening.get()
    }

    /// Sends a request and waits for its response.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Reply, RequestError> {
        let Outgoing { method, params, progress, responder, limit, cancel } = outgoing;
        let token = progress.is_some().then_some(());
        let Some(mut ticket) = self.router.calls.begin(progress, responder) else { return Err(self.ended()) };
        let heard = Arc::clone(&ticket.heard);
        let number = ticket.number;
        let waiting = Waiting { link: self, number };
        let mut headers = self.endpoint.standing();
        if self.is_stateless() {
            headers.extend(headers::of_request(method, &params, &self.annotated));
        }
        let none = OwnMeta::default();
        let own = self.own_meta().unwrap_or(&none);
        let message = envelope::request(number, method, &params, Meta { token, own });
        drop(params);
        let work = async {
            tokio::select! {
                biased;
                done = self.exchange(message, headers, &mut ticket) => done,
                _ = self.closing.reason() => Err(self.ended()),
            }
        };
        let outcome = limit.run(work, &heard, &cancel).await;
        match &outcome {
            // Only in these cases is the server still working on the request, so `Waiting` cancels
            // it.
            Err(RequestError::TimedOut { .. } | RequestError::Cancelled) => {}
            Err(_) => {
                self.router.calls.forget(number);
            }
            Ok(Reply::Result(result)) if method == "tools/list" && self.is_stateless() => {
                self.annotated.learn(result)
            }
            Ok(_) => {}
        }
        drop(waiting);
        if matches!(outcome, Err(RequestError::SessionGone)) {
            self.closing.tell(CloseReason::new(CloseCause::SessionGone));
            self.closing.ask();
        }
        outcome
    }

    fn ended(&self) -> RequestError {
        let reason = self.closing.known().unwrap_or_else(|| CloseReason::new(CloseCause::Asked));
        RequestError::Closed(reason.to_string())
    }

    async fn exchange(
        &self,
        message: Vec<u8>,
        headers: HeaderMap,
        ticket: &mut Ticket,
    ) -> Result<Reply, RequestError> {
        let Posted { body, .. } = self.endpoint.post(message, headers, Some(&ticket.heard)).await?;
        match body {
            PostedBody::Json(bytes) => self.whole(&bytes, ticket),
            PostedBody::Events(events) => self.stream(events, ticket).await,
            PostedBody::Accepted => {
                Err(RequestError::Protocol("it took note of a request instead of answering it.".to_owned()))
            }
        }
    }

    /// Reads a response that is the whole body.
    fn whole(&self, bytes: &[u8], ticket: &mut Ticket) -> Result<Reply, RequestError> {
        let wrong = || RequestError::Protocol("its answer is not a message of the protocol.".to_owned());
        for part in envelope::split(bytes).map_err(|_| wrong())? {
            match envelope::read(part) {
                // An error without an id can only belong to the one request that was POSTed.
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Ok(Reply::Error(error.to_owned()));
                }
                Ok(message) => self.take(&message, ticket.number),
                Err(envelope::NotAMessage) => return Err(wrong()),
            }
        }
        ticket.answer.try_recv().map_err(|_| {
            RequestError::Protocol("it answered another request than the one that was asked.".to_owned())
        })
    }

    /// Reads a response from an event stream, which is resumed if it breaks.
    async fn stream(&self, mut events: Events, ticket: &mut Ticket) -> Result<Reply, RequestError> {
        let mut last_event = None;
        let mut pause = RESUME_PAUSE;
        let mut resumes = 0;
        loop {
            let broken = loop {
                let event = tokio::select! {
                    biased;
                    answer = &mut ticket.answer => {
                        self.drain(events);
                        return self.answered(answer);
                    }
                    event = events.next() => event,
                };
                match event {
                    Some(Ok(event)) => {
                        if let Some(retry) = event.retry {
                            pause = Duration::from_millis(retry).min(LONGEST_RESUME_PAUSE);
                        }
                        last_event = event.id.or(last_event);
                        if let Some(data) = event.data.filter(|data| !data.trim().is_empty()) {
                            if let Some(reply) = self.event(&data, ticket.number) {
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
                RequestError::Protocol(match broken {
                    Some(why) => format!("the stream of its answer broke ({why})."),
                    None => "the stream of its answer ended without the answer.".to_owned(),
                })
            };
            // Without an event id the stream cannot be resumed.
            let Some(from) = last_event.as_deref().filter(|_| resumes < RESUMES) else { return Err(lost()) };
            resumes += 1;
            tokio::time::sleep(pause).await;
            match self.endpoint.get(Some(from), self.endpoint.standing()).await {
                Ok(Some(again)) => events = again,
                Ok(None) => return Err(lost()),
                Err(RequestError::Network(_)) => events = futures::stream::empty().boxed(),
                Err(error) => return Err(error),
            }
        }
    }

    fn answered(&self, answer: Result<Reply, oneshot::error::RecvError>) -> Result<Reply, RequestError> {
        answer.map_err(|_| self.ended())
    }

    /// Processes one event of a response stream. Returns an error without an id, which ends the
    /// stream.
    fn event(&self, data: &str, call: u64) -> Option<Reply> {
        let Ok(parts) = envelope::split(data.as_bytes()) else {
            tracing::debug!("an event is no message and is passed over");
            return None;
        };
        for part in parts {
            match envelope::read(part) {
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Some(Reply::Error(error.to_owned()));
                }
                Ok(message) => self.take(&message, call),
                Err(envelope::NotAMessage) => tracing::debug!("an event is no message and is passed over"),
            }
        }
        None
    }

    fn take(&self, message: &Incoming<'_>, call: u64) {
        match message {
            Incoming::Response { id: Some(id), outcome } => {
                if let Some(number) = envelope::own_number(id) {
                    self.router.calls.answer(number, *outcome);
                }
            }
            Incoming::Response { id: None, .. } => {}
            Incoming::Notification { method, params } => {
                self.router.notification(method, *params, Origin::Call(call))
            }
            Incoming::Request { id, method, params } => {
                self.router.asked(Question { id, method, params: *params }, Origin::Call(call));
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
            if tokio::time::timeout(DRAIN, all).await.is_err() {
                tracing::trace!("a stream stays open after its answer and is dropped");
            }
        };
        self.tasks.spawn_on(rest, &self.runtime);
    }
}

/// Sends a message that expects no response.
async fn aside(endpoint: &Endpoint, message: Vec<u8>) {
    match tokio::time::timeout(ASIDE, endpoint.post(message, endpoint.standing(), None)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a message beside a request could not be sent"),
        Err(_) => tracing::debug!("a message beside a request took too long"),
    }
}

/// Cancels the request on the server when the caller stops waiting. On the stateless revision
/// closing the stream is the cancellation.
struct Waiting<'a> {
    link: &'a HttpLink,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.link.router.calls.forget(self.number) && !self.link.is_stateless() {
            let endpoint = Arc::clone(&self.link.endpoint);
            let message = envelope::cancelled(self.number, "The caller no longer waits.");
            self.link.tasks.spawn_on(async move { aside(&endpoint, message).await }, &self.link.runtime);
        }
    }
}
