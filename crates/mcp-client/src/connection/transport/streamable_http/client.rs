//! The HTTP client that rmcp uses for a Streamable HTTP server: its handshake, standing event
//! stream and session deletion go through our endpoint. Notifications are taken out of its streams
//! here, because rmcp would dispatch each in a task of its own and lose their order.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, PostResponse, PostResponseBody, SESSION};
use super::events::Events;
use crate::connection::envelope::{self, Incoming};
use crate::connection::pending_requests::MessageOrigin;
use crate::connection::raw_handshake::RawHandshake;
use crate::connection::router::{IncomingRequest, MessageRouter};
use crate::error::RequestError;

/// The HTTP client that rmcp's worker uses.
#[derive(Clone)]
pub(super) struct RmcpClient {
    pub(super) endpoint: Arc<Endpoint>,
    /// Receives notifications and the server's requests.
    pub(super) router: Arc<MessageRouter>,
    /// Stores the capabilities as raw JSON.
    pub(super) handshake: Arc<RawHandshake>,
    /// Cancelled when the standing event stream is open, or is known not to be offered.
    pub(super) stream_opened: CancellationToken,
}

type ClientError = StreamableHttpError<RequestError>;

impl RmcpClient {
    /// Inspects a message on its way to rmcp. `false` if it was handled here.
    fn intercept(&self, bytes: &[u8]) -> bool {
        match envelope::read(bytes) {
            Ok(Incoming::Notification { method, params }) => {
                self.router.notification(&method, params, MessageOrigin::Unspecified);
                false
            }
            Ok(Incoming::Request { id, method, params }) => {
                let request = IncomingRequest { id, method: &method, params };
                self.router.handle_request(request, MessageOrigin::Unspecified);
                false
            }
            Ok(Incoming::Response { id, outcome }) => {
                if let Some(number) = id.and_then(envelope::parse_own_id) {
                    self.router.pending_requests.answer(number, outcome, bytes);
                    return false;
                }
                if let Ok(result) = outcome {
                    self.handshake.capture(result);
                }
                true
            }
            Err(envelope::InvalidMessage) => true,
        }
    }

    fn intercept_events(&self, events: Events) -> BoxStream<'static, Result<Sse, SseError>> {
        let client = self.clone();
        events
            .map(move |event| {
                event.map(|mut event| {
                    // The event itself is kept because of its id, which is needed to resume a
                    // broken stream.
                    event.data = event
                        .data
                        .filter(|data| client.intercept(data.as_bytes()))
                        .map(|data| client.endpoint.redactor().text(data));
                    event
                })
            })
            .boxed()
    }
}

fn headers(session: Option<&str>, more: HashMap<HeaderName, HeaderValue>) -> HeaderMap {
    let mut headers: HeaderMap = more.into_iter().collect();
    if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
        headers.insert(SESSION, session);
    }
    headers
}

fn probe_id(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    match message {
        JsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => None,
    }
}

/// The rejection of a probe by an older server, as the response that rmcp understands.
fn probe_rejection(id: rmcp::model::RequestId, error: ErrorData) -> StreamableHttpPostResponse {
    StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id)), None)
}

impl StreamableHttpClient for RmcpClient {
    type Error = RequestError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        let probe = probe_id(&message);
        let bytes = serde_json::to_vec(&message)?;
        let headers = headers(session_id.as_deref(), custom_headers);
        match (self.endpoint.post(bytes, headers, None).await, probe) {
            (Ok(PostResponse { status, body: PostResponseBody::Json(body), session }), probe) => {
                if let Some(session) = &session {
                    self.endpoint.set_session(Some(session));
                }
                if !self.intercept(&body) {
                    return Ok(StreamableHttpPostResponse::Accepted);
                }
                let body = self.endpoint.redactor().bytes(&body);
                match (serde_json::from_slice::<ServerJsonRpcMessage>(&body)?, probe) {
                    // Servers that reject the probe don't always repeat its id.
                    (JsonRpcMessage::Error(error), Some(id)) if !status.is_success() => {
                        Ok(probe_rejection(id, error.error))
                    }
                    (message, _) => Ok(StreamableHttpPostResponse::Json(message, session)),
                }
            }
            (Ok(PostResponse { body: PostResponseBody::Events(events), session, .. }), _) => {
                if let Some(session) = &session {
                    self.endpoint.set_session(Some(session));
                }
                Ok(StreamableHttpPostResponse::Sse(self.intercept_events(events), session))
            }
            (Ok(PostResponse { body: PostResponseBody::Accepted, .. }), _) => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            (Err(RequestError::Status { status, body, .. }), Some(id))
                if (400..500).contains(&status) && status != 429 =>
            {
                let what = format!("the probe was turned down with HTTP {status}: {body}");
                Ok(probe_rejection(id, ErrorData::invalid_request(what, None)))
            }
            (Err(RequestError::SessionGone), _) => Err(StreamableHttpError::SessionExpired),
            (Err(error), _) => Err(StreamableHttpError::Client(error)),
        }
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), ClientError> {
        self.endpoint
            .delete(headers(Some(&session_id), custom_headers))
            .await
            .map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, ClientError> {
        let headers = headers(session_id.as_deref(), custom_headers);
        let opened = self.endpoint.get(last_event_id.as_deref(), headers).await;
        self.stream_opened.cancel();
        match opened {
            Ok(Some(events)) => Ok(self.intercept_events(events)),
            Ok(None) => Err(StreamableHttpError::ServerDoesNotSupportSse),
            Err(RequestError::NeedsAuth { .. } | RequestError::Forbidden) => {
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())))
            }
            Err(error) => Err(StreamableHttpError::Client(error)),
        }
    }
}
