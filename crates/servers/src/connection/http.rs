//! A server over Streamable HTTP, both revisions.
//!
//! rmcp shakes hands and holds the standing event stream; Gatehouse's own requests are POSTed raw,
//! and their answers read as they are, whole or as events. A session that is gone ends the
//! connection: opening another one is the actor's business.

mod client;
mod endpoint;
mod events;
pub(crate) mod headers;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use gatehouse_auth::TokenRequest;
use gatehouse_model::Transport;
use http::{HeaderMap, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::client::RmcpClient;
use self::endpoint::{Endpoint, Posted, PostedBody, SESSION, VERSION};
use self::events::Events;
use self::headers::ParamHeaders;
use super::calls::Ticket;
use super::close::{CloseCause, CloseReason, Closing};
use super::envelope::{self, Incoming, Meta, OwnMeta};
use super::error::{ConnectError, RequestError};
use super::lifecycle::{self, RawCapabilities, Refusal};
use super::router::Router;
use super::{
    ConnectSpec, Connection, Era, Handshake, Inbound, LifecycleHint, Link, Outgoing, listen, references,
};
use crate::outgoing::Reply;

/// Longest answer, and longest event of a stream.
const LONGEST_BODY: usize = 64 * 1024 * 1024;
/// Longest pause before rmcp opens its event stream again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long telling the server something beside a request may take.
const ASIDE: Duration = Duration::from_secs(5);
/// How long the end of a stream is waited for once its answer has come.
const DRAIN: Duration = Duration::from_secs(1);
/// How often the stream of one answer is taken up again.
const RESUMES: u32 = 5;
/// The pause before that, where the server names none, and the longest that it may name.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_RESUME_PAUSE: Duration = Duration::from_secs(30);

/// The way to one server.
pub(super) struct HttpLink {
    endpoint: Arc<Endpoint>,
    router: Arc<Router>,
    closing: Arc<Closing>,
    tasks: TaskTracker,
    runtime: tokio::runtime::Handle,
    annotated: ParamHeaders,
    agreed: OnceLock<Agreed>,
}

/// What the handshake settled for every request.
struct Agreed {
    era: Era,
    version: Option<HeaderValue>,
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
        let endpoint = Arc::new(endpoint(spec).await?);
        let hints: &[LifecycleHint] = match spec.lifecycle {
            LifecycleHint::Auto => &[LifecycleHint::Auto, LifecycleHint::Initialize],
            LifecycleHint::Initialize => &[LifecycleHint::Initialize, LifecycleHint::Auto],
            LifecycleHint::Discover => &[LifecycleHint::Discover, LifecycleHint::Initialize],
        };
        let mut last = ConnectError::Cancelled;
        for hint in hints {
            match shake_hands(spec, &endpoint, &inbound, *hint).await {
                Ok(connection) => return Ok(connection),
                Err((error, again)) => {
                    last = error;
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

async fn endpoint(spec: &ConnectSpec) -> Result<Endpoint, ConnectError> {
    let Transport::Http { url, headers } = &spec.config.transport else {
        return Err(ConnectError::Unsupported { kind: spec.config.transport.kind() });
    };
    let fields = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let resolved = references::resolve(&spec.config, "headers", fields, &spec.deps.secrets).await?;
    let ask = TokenRequest {
        server: spec.config.id.clone(),
        generation: spec.config.generation,
        resource: url.trim().to_owned(),
    };
    Endpoint::new(url, &resolved.values, Arc::clone(&spec.deps.tokens), ask)
}

/// One handshake; the error comes with whether another lifecycle may fare better.
async fn shake_hands(
    spec: &ConnectSpec,
    endpoint: &Arc<Endpoint>,
    inbound: &mpsc::Sender<Inbound>,
    hint: LifecycleHint,
) -> Result<Connection, (ConnectError, bool)> {
    let deps = &spec.deps;
    endpoint.set_session(None);
    drop(endpoint.take_fault());
    let router = Arc::new(Router::new(inbound.clone(), Arc::clone(&deps.clock), deps.tasks.clone()));
    let capabilities = Arc::new(RawCapabilities::default());
    let client = RmcpClient {
        endpoint: Arc::clone(endpoint),
        router: Arc::clone(&router),
        capabilities: Arc::clone(&capabilities),
    };
    let mut pauses = ExponentialBackoff::default();
    pauses.max_delay = Some(LONGEST_PAUSE);
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(endpoint.url()).reinit_on_expired_session(false);
    config.retry_config = Arc::new(pauses);
    let transport = StreamableHttpClientTransport::with_client(client, config);
    match lifecycle::negotiate(transport, hint, &capabilities).await {
        Ok((service, handshake)) => {
            let link = HttpLink {
                endpoint: Arc::clone(endpoint),
                router,
                closing: Arc::new(Closing::default()),
                tasks: deps.tasks.clone(),
                runtime: tokio::runtime::Handle::current(),
                annotated: ParamHeaders::default(),
                agreed: OnceLock::new(),
            };
            Ok(link.live(service, handshake))
        }
        Err(Refusal::Final(error)) => Err((error, false)),
        Err(Refusal::Lifecycle(error)) => Err((error, true)),
        Err(Refusal::Transport(what)) => Err(match endpoint.take_fault() {
            // What the server says by its status is the same whatever the lifecycle, but a probe
            // that made it fail says nothing about `initialize`.
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
        let agreed = Agreed {
            era: handshake.era,
            version: HeaderValue::from_str(&handshake.protocol).ok(),
            own_meta: lifecycle::own_meta(&handshake),
        };
        self.agreed.get_or_init(|| agreed);
        let filter = listen::wanted(&handshake);
        let link = Arc::new(self);
        let connection = Connection::new(handshake, Link::Http(Arc::clone(&link)), service);
        let tasks = link.tasks.clone();
        if let Some(filter) = filter {
            let closing = Arc::clone(&link.closing);
            let link = Arc::clone(&link);
            tasks.spawn(listen::keep(filter, closing, move |outgoing| {
                let link = Arc::clone(&link);
                async move { link.request(outgoing).await }
            }));
        }
        let closing = Arc::clone(&link.closing);
        let router = Arc::clone(&link.router);
        tasks.spawn(async move {
            closing.asked().await;
            closing.tell(CloseReason::new(CloseCause::Asked));
            router.calls.end();
            closing.done();
        });
        connection
    }

    /// How it ends.
    pub(super) fn closing(&self) -> &Closing {
        &self.closing
    }

    fn is_stateless(&self) -> bool {
        self.agreed.get().is_some_and(|agreed| agreed.era == Era::Stateless)
    }

    /// The headers that every message carries after the handshake.
    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = self.agreed.get().and_then(|agreed| agreed.version.clone()) {
            headers.insert(VERSION, version);
        }
        if let Some(session) = self.endpoint.session() {
            headers.insert(SESSION, session);
        }
        headers
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Reply, RequestError> {
        let Outgoing { method, params, progress, limit, cancel } = outgoing;
        let token = progress.is_some().then_some(());
        let Some(mut ticket) = self.router.calls.begin(progress) else { return Err(self.ended()) };
        let heard = Arc::clone(&ticket.heard);
        let number = ticket.number;
        let waiting = Waiting { link: self, number };
        let mut headers = self.headers();
        if self.is_stateless() {
            headers.extend(headers::of_request(method, &params, &self.annotated));
        }
        let none = OwnMeta::default();
        let own = self.agreed.get().map_or(&none, |agreed| &agreed.own_meta);
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
            // Only these leave the server working on it.
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
        let Posted { body, .. } = self.endpoint.post(message, headers).await?;
        match body {
            PostedBody::Json(bytes) => self.whole(&bytes, ticket),
            PostedBody::Events(events) => self.stream(events, ticket).await,
            PostedBody::Accepted => {
                Err(RequestError::Protocol("it took note of a request instead of answering it.".to_owned()))
            }
        }
    }

    /// The answer that is the whole body.
    fn whole(&self, bytes: &[u8], ticket: &mut Ticket) -> Result<Reply, RequestError> {
        let wrong = || RequestError::Protocol("its answer is not a message of the protocol.".to_owned());
        for part in envelope::split(bytes).map_err(|_| wrong())? {
            match envelope::read(part) {
                // An error without an id can only be meant for the one request in front of it.
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Ok(Reply::Error(error.to_owned()));
                }
                Ok(message) => self.take(&message),
                Err(envelope::NotAMessage) => return Err(wrong()),
            }
        }
        ticket.answer.try_recv().map_err(|_| {
            RequestError::Protocol("it answered another request than the one that was asked.".to_owned())
        })
    }

    /// The answer that comes in a stream, which may break and be taken up again.
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
                            if let Some(reply) = self.event(&data) {
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
            // Without an event's id there is no place to go on from.
            let Some(from) = last_event.as_deref().filter(|_| resumes < RESUMES) else { return Err(lost()) };
            resumes += 1;
            tokio::time::sleep(pause).await;
            match self.endpoint.get(Some(from), self.headers()).await {
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

    /// One event of an answer's stream; an error without an id ends it.
    fn event(&self, data: &str) -> Option<Reply> {
        let Ok(parts) = envelope::split(data.as_bytes()) else {
            tracing::debug!("an event is no message and is passed over");
            return None;
        };
        for part in parts {
            match envelope::read(part) {
                Ok(Incoming::Response { id: None, outcome: Err(error) }) => {
                    return Some(Reply::Error(error.to_owned()));
                }
                Ok(message) => self.take(&message),
                Err(envelope::NotAMessage) => tracing::debug!("an event is no message and is passed over"),
            }
        }
        None
    }

    fn take(&self, message: &Incoming<'_>) {
        match message {
            Incoming::Response { id: Some(id), outcome } => {
                if let Some(number) = envelope::own_number(id) {
                    self.router.calls.answer(number, *outcome);
                }
            }
            Incoming::Response { id: None, .. } => {}
            Incoming::Notification { method, params } => self.router.notification(method, *params),
            Incoming::Request { id, method } => self.answer(id, method),
        }
    }

    /// Answers what the server asks on the stream of a request.
    fn answer(&self, id: &RawValue, method: &str) {
        let message = if method == "ping" {
            format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id.get())
        } else {
            format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"Method not found"}}}}"#,
                id.get()
            )
        };
        self.aside(message.into_bytes());
    }

    /// Sends something that nobody waits for.
    fn aside(&self, message: Vec<u8>) {
        let endpoint = Arc::clone(&self.endpoint);
        let headers = self.headers();
        self.tasks.spawn_on(
            async move {
                match tokio::time::timeout(ASIDE, endpoint.post(message, headers)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "a message beside a request could not be sent"),
                    Err(_) => tracing::debug!("a message beside a request took too long"),
                }
            },
            &self.runtime,
        );
    }

    /// Reads a stream to its end, so that its connection can serve again.
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

/// Tells the server to stop when nobody waits for its answer any more. On the stateless revision
/// the closed stream says so.
struct Waiting<'a> {
    link: &'a HttpLink,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.link.router.calls.forget(self.number) && !self.link.is_stateless() {
            self.link.aside(envelope::cancelled(self.number, "The caller no longer waits."));
        }
    }
}
