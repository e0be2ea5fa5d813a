//! HTTP handler: checks the request head, identifies the client, reads the body, and passes the message to
//! [`crate::protocol`] or [`crate::rest`]. What is for the authorization server goes there without a client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_common::bounded_body::BoundedBody;
use gatehouse_model::{ClientId, Clock};
use gatehouse_tools::{Peer, ServerSelection, Viewer};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response, StatusCode, Uri};

use crate::authorization::server::AuthorizationServer;
use crate::clients::client_state::ClientState;
use crate::clients::registry::{ClientRegistry, TokenHolder};
use crate::http::allowed_hosts::{AllowedHosts, RequestAuthority};
use crate::http::connection_limits::{ConnectionLimitSlot, TooManyConnections};
use crate::http::oauth_endpoints::{self, OAuthContext};
use crate::http::oauth_route::{self, OAuthRoute};
use crate::http::peer_process::{ConnectionPeer, PeerResolver};
use crate::http::request_guard::{self, Credentials};
use crate::http::response::{self, GatewayBody};
use crate::http::route::{self, Route, RouteTransport};
use crate::protocol::accept_header::Accepts;
use crate::protocol::dispatch;
use crate::protocol::http_sse;
use crate::protocol::mcp_headers;
use crate::protocol::request::{PostedMessage, RequestOrigin};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::state::ProtocolState;
use crate::protocol::stateful;
use crate::rest::endpoint::{self, RestEndpoint};
use crate::rest::exchange::RestRequest;
use crate::rest::openapi;
use crate::rest::problem::ProblemDetails;
use crate::rest::tool_call;
use crate::rest::tool_list;

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
    /// Where clients without a token ask for one.
    pub(crate) authorization: Arc<AuthorizationServer>,
    /// Our port, which the `Host` header must contain.
    pub(crate) port: u16,
    /// What else the `Host` header may contain.
    pub(crate) hosts: Arc<AllowedHosts>,
    /// Finds the peer process of a connection.
    pub(crate) peer_resolver: PeerResolver,
}

/// The client of a request, and the endpoint that it uses.
struct KnownClient {
    client: Arc<ClientState>,
    viewer: Viewer,
    /// Whether this is the client's first request since Gatehouse started.
    is_first_request: bool,
    servers: ServerSelection,
}

impl KnownClient {
    fn origin<'a>(&'a self, headers: &'a HeaderMap) -> RequestOrigin<'a> {
        RequestOrigin {
            client: &self.client,
            viewer: &self.viewer,
            servers: &self.servers,
            headers,
            accepts: Accepts::parse(headers),
            sse: None,
        }
    }

    fn rest<'a>(
        &'a self,
        protocol: &'a Arc<ProtocolState>,
        headers: &'a HeaderMap,
        query: Option<&'a str>,
    ) -> RestRequest<'a> {
        RestRequest {
            state: protocol,
            client: &self.client,
            viewer: &self.viewer,
            is_first_request: self.is_first_request,
            headers,
            query,
        }
    }

    fn posted<'a>(&'a self, read: &'a ReadMessage) -> PostedMessage<'a> {
        PostedMessage {
            origin: self.origin(&read.headers),
            is_first_request: self.is_first_request,
            peer: &read.peer,
            body: &read.body,
        }
    }
}

/// A message that was read, and the process that it comes from.
struct ReadMessage {
    peer: Peer,
    headers: HeaderMap,
    body: Bytes,
}

impl HttpHandler {
    /// Serves one HTTP request.
    pub(crate) async fn serve(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<GatewayBody> {
        let is_rest = endpoint::is_rest_path(request.uri().path());
        match self.try_serve(connection, request).await {
            Ok(response) => response,
            Err(rpc_error) if is_rest => response::rest(ProblemDetails::from(rpc_error).into_response()),
            Err(rpc_error) => response::rpc_error(&rpc_error),
        }
    }

    async fn try_serve(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Result<Response<GatewayBody>, HttpRpcError> {
        let authority =
            request_guard::check_origin(request.uri(), request.headers(), self.port, &self.hosts)?;
        if let Some(route) = OAuthRoute::parse(request.uri().path()) {
            let context = OAuthContext {
                origin: authority.origin(),
                hosts: &self.hosts,
                port: self.port,
                peer: &connection.peer,
                peer_resolver: &self.peer_resolver,
            };
            return Ok(oauth_endpoints::serve(&self.authorization, route, context, request).await);
        }
        let client = self.authenticate(connection, &request, authority)?;
        let viewer = self.viewer(&client.entry.id, request.headers())?;
        let (servers, transport) =
            self.resolve(&viewer, request.uri()).ok_or_else(HttpRpcError::no_such_endpoint)?;
        let is_first_request = client.mark_seen(self.clock.now());
        let known = KnownClient { client, viewer, is_first_request, servers };
        let method = request.method().clone();
        match (transport, method) {
            (RouteTransport::StreamableHttp, Method::POST) => {
                let accepts = Accepts::parse(request.headers());
                if !accepts.json && !accepts.events {
                    return Err(HttpRpcError::new(
                        StatusCode::NOT_ACCEPTABLE,
                        -32600,
                        "Accept must name application/json, text/event-stream, or both.",
                    ));
                }
                let read = self.read(&known, &connection.peer, request).await?;
                dispatch::dispatch(&self.protocol, known.posted(&read)).await.map(response::render)
            }
            // The stateless revision has no sessions.
            (RouteTransport::StreamableHttp, Method::GET | Method::DELETE)
                if mcp_headers::is_stateless(request.headers()) =>
            {
                Ok(response::method_not_allowed("POST"))
            }
            (RouteTransport::StreamableHttp, Method::GET) => {
                let peer = connection.peer.peer(&self.peer_resolver).await;
                stateful::listen(&self.protocol, &known.origin(request.headers()), &peer)
                    .await
                    .map(response::render)
            }
            (RouteTransport::StreamableHttp, Method::DELETE) => {
                stateful::end(&self.protocol, &known.origin(request.headers())).await.map(response::render)
            }
            (RouteTransport::StreamableHttp, _) => Ok(response::method_not_allowed("GET, POST, DELETE")),
            (RouteTransport::SseStream, Method::GET) => {
                let messages_path = route::messages_path(request.uri().path());
                http_sse::open(&self.protocol, &known.origin(request.headers()), &messages_path)
                    .map(response::render)
            }
            (RouteTransport::SseStream, _) => Ok(response::method_not_allowed("GET")),
            (RouteTransport::SseMessages, Method::POST) => {
                let sse_connection = route::session_id(request.uri())
                    .and_then(|id| self.protocol.sse_connections.find(id, &known.viewer, &known.servers))
                    .ok_or_else(HttpRpcError::no_such_session)?;
                let read = self.read(&known, &connection.peer, request).await?;
                http_sse::post(&self.protocol, known.posted(&read), &sse_connection)
                    .await
                    .map(response::render)
            }
            (RouteTransport::SseMessages, _) => Ok(response::method_not_allowed("POST")),
            (RouteTransport::Rest(endpoint), method) if method == endpoint.method() => {
                self.serve_rest(endpoint, &known, &connection.peer, request).await
            }
            (RouteTransport::Rest(endpoint), _) => {
                Ok(response::rest(ProblemDetails::method_not_allowed(endpoint).into_response()))
            }
        }
    }

    /// Serves a request of the REST tool API.
    async fn serve_rest(
        &self,
        endpoint: RestEndpoint,
        known: &KnownClient,
        peer: &ConnectionPeer,
        request: Request<Incoming>,
    ) -> Result<Response<GatewayBody>, HttpRpcError> {
        let uri = request.uri().clone();
        let served = match endpoint {
            RestEndpoint::Tools => {
                tool_list::serve(&known.rest(&self.protocol, request.headers(), uri.query()))
            }
            RestEndpoint::OpenApi => openapi::serve(uri.query()),
            RestEndpoint::ToolCall => {
                let read = self.read(known, peer, request).await?;
                let rest_request = known.rest(&self.protocol, &read.headers, uri.query());
                tool_call::serve(&rest_request, &read.peer, &read.body).await
            }
        };
        Ok(response::rest(served.unwrap_or_else(ProblemDetails::into_response)))
    }

    /// The servers behind a path, and its transport; `None` if nothing is served there, or not to this client.
    fn resolve(&self, viewer: &Viewer, uri: &Uri) -> Option<(ServerSelection, RouteTransport)> {
        let Route { server, transport } = Route::parse(uri.path())?;
        let servers = match server {
            None => ServerSelection::All,
            Some(name) => ServerSelection::One(self.protocol.tool_service.server_named(viewer, &name)?),
        };
        Some((servers, transport))
    }

    /// The client as it sees the catalog with this request: a bridge's is narrowed by what it is bound to.
    fn viewer(&self, client: &ClientId, headers: &HeaderMap) -> Result<Viewer, HttpRpcError> {
        let Some(credential) = request_guard::bridge_credential(headers)? else {
            return Ok(Viewer::of(client));
        };
        let bound = self.clients.binding(client, credential).ok_or_else(request_guard::unknown_binding)?;
        // Saves a look at all processes, where the system has to be searched for the one of a connection.
        if let Some(process) = bound.process {
            self.peer_resolver.remember(process);
        }
        Ok(Viewer { client: client.clone(), narrowing: bound.narrowing })
    }

    /// Identifies the client. The connection then counts as the client's.
    fn authenticate(
        &self,
        connection: &ClientConnection,
        request: &Request<Incoming>,
        authority: RequestAuthority<'_>,
    ) -> Result<Arc<ClientState>, HttpRpcError> {
        let path = request.uri().path();
        let metadata = || oauth_route::metadata_address(&authority.origin(), path);
        let token = match request_guard::credentials(request.headers()) {
            Credentials::BearerToken(token) => token,
            Credentials::Missing => return Err(request_guard::missing_token(&metadata())),
            Credentials::Unusable => return Err(request_guard::unknown_token()),
        };
        let (client, server) = match self.clients.holder_of(token) {
            TokenHolder::Client { client, server } => (client, server),
            TokenHolder::EndedAccess => return Err(request_guard::ended_access(&metadata())),
            TokenHolder::Nobody => return Err(request_guard::unknown_token()),
        };
        if server.is_some() && Route::parse(path).and_then(|route| route.server) != server {
            return Err(request_guard::ended_access(&metadata()));
        }
        connection
            .slot
            .authenticate(&client.entry.id)
            .map_err(|TooManyConnections| request_guard::too_many_connections())?;
        Ok(client)
    }

    /// Reads a posted message, and looks up the process that it comes from.
    async fn read(
        &self,
        known: &KnownClient,
        peer: &ConnectionPeer,
        request: Request<Incoming>,
    ) -> Result<ReadMessage, HttpRpcError> {
        let (head, body) = request.into_parts();
        if !request_guard::is_json(&head.headers) {
            return Err(HttpRpcError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                -32600,
                "The body must be application/json.",
            ));
        }
        let (body, peer) = tokio::join!(read_body(body), peer.peer(&self.peer_resolver));
        let body = body?;
        if known.client.disconnected.is_cancelled() {
            return Err(request_guard::unknown_token());
        }
        Ok(ReadMessage { peer, headers: head.headers, body })
    }
}

async fn read_body(mut body: Incoming) -> Result<Bytes, HttpRpcError> {
    let Ok(mut whole) = BoundedBody::announced(MAX_BODY_BYTES, body.size_hint().lower()) else {
        return Err(too_large(&mut body).await);
    };
    let collect = async {
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|error| HttpRpcError::parse(format!("The body could not be read: {error}.")))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.push(data).is_err() {
                return Ok(None);
            }
        }
        Ok(Some(whole.into_bytes()))
    };
    let read = tokio::time::timeout(BODY_TIMEOUT, collect).await;
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
