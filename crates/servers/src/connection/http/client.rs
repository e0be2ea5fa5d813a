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

use super::endpoint::{Endpoint, Posted, PostedBody, SESSION};
use super::events::Events;
use crate::connection::calls::Origin;
use crate::connection::envelope::{self, Incoming};
use crate::connection::error::RequestError;
use crate::connection::lifecycle::RawCapabilities;
use crate::connection::router::{Question, Router};

/// The HTTP client that rmcp's worker uses.
#[derive(Clone)]
pub(super) struct RmcpClient {
    pub(super) endpoint: Arc<Endpoint>,
    /// Receives notifications and the server's requests.
    pub(super) router: Arc<Router>,
    /// Stores the capabilities as raw JSON.
    pub(super) capabilities: Arc<RawCapabilities>,
    /// Cancelled when the standing event stream is open, or is known not to be offered.
    pub(super) listened: CancellationToken,
}

type Fault = StreamableHttpError<RequestError>;

impl RmcpClient {
    /// Inspects a message on its way to rmcp. `false` if it was handled here.
    fn tap(&self, bytes: &[u8]) -> bool {
        match envelope::read(bytes) {
            Ok(Incoming::Notification { method, params }) => {
                self.router.notification(&method, params, Origin::Unsaid);
                false
            }
            Ok(Incoming::Request { id, method, params }) => {
                let question = Question { id, method: &method, params };
                self.router.asked(question, Origin::Unsaid);
                false
            }
            Ok(Incoming::Response { id, outcome }) => {
                if let Some(number) = id.and_then(envelope::own_number) {
                    self.router.calls.answer(number, outcome);
                    return false;
                }
                if let Ok(result) = outcome {
                    self.capabilities.look(result);
                }
                true
            }
            Err(envelope::NotAMessage) => true,
        }
    }

    fn tapped(&self, events: Events) -> BoxStream<'static, Result<Sse, SseError>> {
        let client = self.clone();
        events
            .map(move |event| {
                event.map(|mut event| {
                    // The event itself is kept because of its id, which is needed to resume a
                    // broken stream.
                    event.data = event
                        .data
                        .filter(|data| client.tap(data.as_bytes()))
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
fn turned_down(id: rmcp::model::RequestId, error: ErrorData) -> StreamableHttpPostResponse {
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
    ) -> Result<StreamableHttpPostResponse, Fault> {
        let probe = probe_id(&message);
        let bytes = serde_json::to_vec(&message)?;
        let headers = headers(session_id.as_deref(), custom_headers);
        match (self.endpoint.post(bytes, headers, None).await, probe) {
            (Ok(Posted { status, body: PostedBody::Json(body), session }), probe) => {
                if let Some(session) = &session {
                    self.endpoint.set_session(Some(session));
                }
                if !self.tap(&body) {
                    return Ok(StreamableHttpPostResponse::Accepted);
                }
                let body = self.endpoint.redactor().bytes(&body);
                match (serde_json::from_slice::<ServerJsonRpcMessage>(&body)?, probe) {
                    // Servers that reject the probe don't always repeat its id.
                    (JsonRpcMessage::Error(error), Some(id)) if !status.is_success() => {
                        Ok(turned_down(id, error.error))
                    }
                    (message, _) => Ok(StreamableHttpPostResponse::Json(message, session)),
                }
            }
            (Ok(Posted { body: PostedBody::Events(events), session, .. }), _) => {
                if let Some(session) = &session {
                    self.endpoint.set_session(Some(session));
                }
                Ok(StreamableHttpPostResponse::Sse(self.tapped(events), session))
            }
            (Ok(Posted { body: PostedBody::Accepted, .. }), _) => Ok(StreamableHttpPostResponse::Accepted),
            (Err(RequestError::Status { status, body, .. }), Some(id))
                if (400..500).contains(&status) && status != 429 =>
            {
                let what = format!("the probe was turned down with HTTP {status}: {body}");
                Ok(turned_down(id, ErrorData::invalid_request(what, None)))
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
    ) -> Result<(), Fault> {
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
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Fault> {
        let headers = headers(session_id.as_deref(), custom_headers);
        let opened = self.endpoint.get(last_event_id.as_deref(), headers).await;
        self.listened.cancel();
        match opened {
            Ok(Some(events)) => Ok(self.tapped(events)),
            Ok(None) => Err(StreamableHttpError::ServerDoesNotSupportSse),
            Err(RequestError::NeedsAuth { .. } | RequestError::Forbidden) => {
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new())))
            }
            Err(error) => Err(StreamableHttpError::Client(error)),
        }
    }
}
