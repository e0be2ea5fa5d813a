//! HTTP handler: checks the request head, identifies the client, reads the body, and passes the message to
//! [`crate::protocol`].

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_model::Clock;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::{Method, Request, Response, StatusCode};

use crate::clients::client_state::ClientState;
use crate::clients::registry::ClientRegistry;
use crate::http::connection_limits::{ConnectionLimitSlot, TooManyConnections};
use crate::http::peer_process::{ConnectionPeer, PeerResolver};
use crate::http::request_guard;
use crate::http::response::{self, GatewayBody};
use crate::protocol::accept_header::Accepts;
use crate::protocol::dispatch::{self, PostedMessage};
use crate::protocol::mcp_headers;
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::state::ProtocolState;
use crate::protocol::stateful;

/// The only path served.
const ENDPOINT_PATH: &str = "/mcp";

/// Maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Time limit for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of bytes that are read and discarded from a body that is too large, so that the client gets
/// to see the response.
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;

/// One connection, authenticated or not.
pub(crate) struct ClientConnection {
    /// The two socket addresses.
    pub(crate) peer: ConnectionPeer,
    pub(crate) slot: ConnectionLimitSlot,
}

/// Serves the requests of all connections.
pub(crate) struct HttpHandler {
    pub(crate) protocol: Arc<ProtocolState>,
    pub(crate) clients: Arc<ClientRegistry>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Our port, which the `Host` header must contain.
    pub(crate) port: u16,
    /// Finds the peer process of a connection.
    pub(crate) peer_resolver: PeerResolver,
}

/// The client of a request.
struct AuthenticatedClient {
    client: Arc<ClientState>,
    /// Whether this is the client's first request since Gatehouse started.
    is_first_request: bool,
}

impl HttpHandler {
    /// Serves one HTTP request.
    pub(crate) async fn serve(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<GatewayBody> {
        match self.try_serve(connection, request).await {
            Ok(response) => response,
            Err(rpc_error) => response::rpc_error(&rpc_error),
        }
    }

    async fn try_serve(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Result<Response<GatewayBody>, HttpRpcError> {
        let client = self.authenticate(connection, &request)?;
        if request.uri().path() != ENDPOINT_PATH {
            return Err(HttpRpcError::new(
                StatusCode::NOT_FOUND,
                -32600,
                "There is nothing here; the endpoint is /mcp.",
            ));
        }
        let authenticated =
            AuthenticatedClient { is_first_request: client.mark_seen(self.clock.now()), client };
        let client = &authenticated.client;
        match *request.method() {
            Method::POST => self.post(&authenticated, &connection.peer, request).await,
            // The stateless revision has no sessions.
            Method::GET | Method::DELETE if mcp_headers::is_stateless(request.headers()) => {
                Ok(response::method_not_allowed("POST"))
            }
            Method::GET => stateful::listen(&self.protocol, client, request.headers()).map(response::render),
            Method::DELETE => stateful::end(&self.protocol, client, request.headers()).map(response::render),
            _ => Ok(response::method_not_allowed("GET, POST, DELETE")),
        }
    }

    /// Checks the request head and identifies the client. The connection then counts as the client's.
    fn authenticate(
        &self,
        connection: &ClientConnection,
        request: &Request<Incoming>,
    ) -> Result<Arc<ClientState>, HttpRpcError> {
        request_guard::check_origin(request.uri(), request.headers(), self.port)?;
        let client = request_guard::bearer_token(request.headers())
            .and_then(|token| self.clients.find_by_token(token))
            .ok_or_else(request_guard::unauthorized)?;
        connection
            .slot
            .authenticate(&client.entry.id)
            .map_err(|TooManyConnections| request_guard::too_many_connections())?;
        Ok(client)
    }

    async fn post(
        &self,
        authenticated: &AuthenticatedClient,
        peer: &ConnectionPeer,
        request: Request<Incoming>,
    ) -> Result<Response<GatewayBody>, HttpRpcError> {
        let (head, body) = request.into_parts();
        if !request_guard::is_json(&head.headers) {
            return Err(HttpRpcError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                -32600,
                "The body must be application/json.",
            ));
        }
        let accepts = Accepts::parse(&head.headers);
        if !accepts.json && !accepts.events {
            return Err(HttpRpcError::new(
                StatusCode::NOT_ACCEPTABLE,
                -32600,
                "Accept must name application/json, text/event-stream, or both.",
            ));
        }
        let (body, peer) = tokio::join!(read_body(body), peer.peer(&self.peer_resolver));
        let body = body?;
        let AuthenticatedClient { client, is_first_request } = authenticated;
        if client.disconnected.is_cancelled() {
            return Err(request_guard::unauthorized());
        }
        let message = PostedMessage {
            client,
            is_first_request: *is_first_request,
            peer: &peer,
            headers: &head.headers,
            accepts,
            body: &body,
        };
        dispatch::dispatch(&self.protocol, message).await.map(response::render)
    }
}

async fn read_body(mut body: Incoming) -> Result<Bytes, HttpRpcError> {
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large(&mut body).await);
    }
    let whole = async {
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|error| HttpRpcError::parse(format!("The body could not be read: {error}.")))?;
            let Ok(data) = frame.into_data() else { continue };
            if first.len() + all.len() + data.len() > MAX_BODY_BYTES {
                return Ok(None);
            }
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                if all.is_empty() {
                    all.reserve(
                        usize::try_from(body.size_hint().lower()).unwrap_or(0) + first.len() + data.len(),
                    );
                    all.extend_from_slice(&std::mem::take(&mut first));
                }
                all.extend_from_slice(&data);
            }
        }
        Ok(Some(if all.is_empty() { first } else { all.freeze() }))
    };
    let read = tokio::time::timeout(BODY_TIMEOUT, whole).await;
    match read {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(too_large(&mut body).await),
        Ok(Err(rpc_error)) => Err(rpc_error),
        Err(_) => Err(HttpRpcError::new(
            StatusCode::REQUEST_TIMEOUT,
            -32600,
            "The body took longer than 30 seconds.",
        )),
    }
}

/// Drains the body up to a limit: a client that is still sending wouldn't read the response.
async fn too_large(body: &mut Incoming) -> HttpRpcError {
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    if tokio::time::timeout(BODY_TIMEOUT, drain).await.is_err() {
        tracing::debug!("a body that is too large was not read to its end");
    }
    HttpRpcError::new(StatusCode::PAYLOAD_TOO_LARGE, -32600, "The body is larger than 16 MiB.")
}
