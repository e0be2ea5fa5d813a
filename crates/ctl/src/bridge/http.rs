//! HTTP/1.1 to the gateway, over loopback.
//!
//! A request carries the client's token. So a connection is only opened to an address that was just learned over
//! an authenticated channel (see `link.rs`), and nothing is sent on it before Gatehouse has answered on that channel
//! again: it was then Gatehouse that accepted the connection, and not a program that took the address since.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_common::bounded_body::{BodyTooLarge, BoundedBody};
use gatehouse_model::command::RequestSecret;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::link::{GatewayAccess, Link};

/// An idle connection is used again within this time. The gateway closes it after ten seconds, and a request that
/// meets that end would look like one that got lost.
const MAX_IDLE: Duration = Duration::from_secs(5);

/// Longest body of a response that is read at once, in bytes.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

/// The credential that binds the bridge to its folder and profile.
const BINDING: HeaderName = HeaderName::from_static("gatehouse-binding");

/// Why there is no response.
#[derive(Debug)]
pub(super) enum SendError {
    /// Nothing was sent, so the request can be sent again.
    NotSent(String),
    /// The request was sent, and may have had an effect.
    Lost(String),
}

struct IdleConnection {
    access: Arc<GatewayAccess>,
    sender: SendRequest<Full<Bytes>>,
    since: Instant,
}

/// Connections to the gateway.
pub(super) struct HttpClient {
    link: Link,
    idle: Mutex<Vec<IdleConnection>>,
    tasks: TaskTracker,
}

/// The head of a request.
pub(super) struct RequestHead {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
}

/// A response whose body is still to be read.
pub(super) struct GatewayResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: GatewayResponseBody,
}

/// The body of a response. Dropping it before its end closes the connection.
pub(super) struct GatewayResponseBody {
    incoming: Incoming,
    connection: Option<(Arc<HttpClient>, IdleConnection)>,
}

impl HttpClient {
    pub(super) fn new(link: Link, tasks: TaskTracker) -> Self {
        Self { link, idle: Mutex::default(), tasks }
    }

    /// Sends a request and waits for the head of its response.
    pub(super) async fn send(
        self: &Arc<Self>,
        access: &Arc<GatewayAccess>,
        head: RequestHead,
        body: Bytes,
    ) -> Result<GatewayResponse, SendError> {
        let mut request = request(access, self.link.credential(), head, body)?;
        loop {
            let (mut sender, is_new) = match self.take_idle(access) {
                Some(sender) => (sender, false),
                None => (self.connect(access).await?, true),
            };
            if !is_new && sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => {
                    let (parts, incoming) = response.into_parts();
                    let idle = IdleConnection { access: Arc::clone(access), sender, since: Instant::now() };
                    return Ok(GatewayResponse {
                        status: parts.status,
                        headers: parts.headers,
                        body: GatewayResponseBody { incoming, connection: Some((Arc::clone(self), idle)) },
                    });
                }
                Err(mut error) => match error.take_message() {
                    // An idle connection that was just closed.
                    Some(unsent) if !is_new => request = unsent,
                    Some(_) => return Err(SendError::NotSent(error.into_error().to_string())),
                    None => return Err(SendError::Lost(error.into_error().to_string())),
                },
            }
        }
    }

    fn take_idle(&self, access: &Arc<GatewayAccess>) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle.lock();
        idle.retain(|one| {
            Arc::ptr_eq(&one.access, access) && one.since.elapsed() < MAX_IDLE && !one.sender.is_closed()
        });
        idle.pop().map(|one| one.sender)
    }

    async fn connect(&self, access: &Arc<GatewayAccess>) -> Result<SendRequest<Full<Bytes>>, SendError> {
        let not_sent = |error: &dyn std::fmt::Display| SendError::NotSent(error.to_string());
        let stream = TcpStream::connect(access.address).await.map_err(|error| not_sent(&error))?;
        stream.set_nodelay(true).map_err(|error| not_sent(&error))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| not_sent(&error))?;
        if !self.link.confirm(access).await {
            return Err(SendError::NotSent("Gatehouse has ended".to_owned()));
        }
        self.tasks.spawn(async move {
            // Its requests report how it ended.
            connection.await.unwrap_or(());
        });
        Ok(sender)
    }
}

fn request(
    access: &GatewayAccess,
    credential: Option<RequestSecret>,
    head: RequestHead,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, SendError> {
    let invalid = |_| SendError::NotSent("a header cannot be sent".to_owned());
    let RequestHead { method, mut headers } = head;
    let mut token = HeaderValue::from_str(&format!("Bearer {}", access.token.reveal())).map_err(invalid)?;
    token.set_sensitive(true);
    headers.insert(AUTHORIZATION, token);
    if let Some(credential) = credential {
        let mut credential = HeaderValue::from_str(credential.reveal()).map_err(invalid)?;
        credential.set_sensitive(true);
        headers.insert(BINDING, credential);
    }
    headers.insert(HOST, HeaderValue::from_str(&access.authority).map_err(invalid)?);
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() =
        access.path.parse().map_err(|_| SendError::NotSent("the endpoint is no address".to_owned()))?;
    *request.headers_mut() = headers;
    Ok(request)
}

impl GatewayResponseBody {
    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// When the connection broke.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            match self.incoming.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    self.connection = None;
                    return Err(error.to_string());
                }
                None => {
                    self.recycle();
                    return Ok(None);
                }
            }
        }
    }

    /// The whole body.
    ///
    /// # Errors
    /// When the connection broke, or the body is too long.
    pub(super) async fn whole(mut self) -> Result<Bytes, String> {
        let mut body = BoundedBody::new(MAX_BODY_BYTES);
        while let Some(chunk) = self.chunk().await? {
            body.push(chunk).map_err(|BodyTooLarge| "the response is too large".to_owned())?;
        }
        Ok(body.into_bytes())
    }

    fn recycle(&mut self) {
        if let Some((client, mut idle)) = self.connection.take() {
            idle.since = Instant::now();
            client.idle.lock().push(idle);
        }
    }
}
