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
use http::HeaderMap;
use tokio_util::task::TaskTracker;

use self::endpoint::{Endpoint, PostResponse};
pub(in crate::connection) use self::handshake::{connect, prepare_endpoint};
use self::headers::ParamHeaders;
use crate::connection::close::CloseSignal;
use crate::connection::envelope::{self, RequestMeta};
use crate::connection::lifecycle;
use crate::connection::pending_requests::{BegunRequest, RequestTicket};
use crate::connection::router::MessageRouter;
use crate::connection::subscription_stream::SubscriptionStream;
use crate::connection::{Connection, ConnectionTransport, Handshake};
use crate::error::RequestError;
use crate::error::{CloseCause, CloseReason};
use crate::limit::CallLimit;
use crate::redact::Redactor;
use crate::request::{CancelReason, RpcOutcome, UpstreamRequest};

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
        Self {
            endpoint,
            router,
            closing: Arc::new(CloseSignal::default()),
            tasks,
            runtime: tokio::runtime::Handle::current(),
            param_headers: ParamHeaders::default(),
            negotiated: OnceLock::new(),
            subscriptions: OnceLock::new(),
        }
    }

    /// The connection after a handshake. Starts its tasks.
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
        let method = request.method.clone();
        let mut headers = self.endpoint.session_headers();
        if self.is_stateless() {
            headers.extend(headers::request_headers(&method, &request.params, &self.param_headers));
        }
        let none = RequestMeta::default();
        let own = self.request_meta().unwrap_or(&none);
        let Some(begun) = self.router.pending_requests.begin(request, own) else {
            return Err(self.ended());
        };
        let BegunRequest { mut ticket, message, cancel, cancel_reason } = begun;
        let clock = Arc::clone(&ticket.clock);
        let number = ticket.number;
        let waiting = HttpCancelOnDrop { transport: self, number, reason: cancel_reason };
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
        self.read_response(body, ticket).await
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
    reason: CancelReason,
}

impl Drop for HttpCancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.transport.router.pending_requests.forget(self.number) && !self.transport.is_stateless() {
            let endpoint = Arc::clone(&self.transport.endpoint);
            let message = envelope::cancelled(self.number, self.reason.get());
            self.transport
                .tasks
                .spawn_on(async move { post_best_effort(&endpoint, message).await }, &self.transport.runtime);
        }
    }
}
