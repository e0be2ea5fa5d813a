//! HTTP handler: checks the request head, reads the body, and dispatches to the protocol family that the
//! request belongs to.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gatehouse_mcp_wire::headers::{PROTOCOL_VERSION, SESSION_ID};
use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::Peer;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::HeaderMap;
use hyper::{Method, Request, Response, StatusCode};

use crate::clients::client_state::ClientState;
use crate::gateway::GatewayState;
use crate::http::connection_limits::TooManyConnections;
use crate::http::connections::ClientConnection;
use crate::http::peer_process::ConnectionPeer;
use crate::http::request_guard::{self, Accepts};
use crate::http::response::{self as http_response, GatewayBody, MessageChunks, RpcResponse};
use crate::protocol::calls::{CallExchange, ExchangeStart};
use crate::protocol::envelope::{self, RpcMessage};
use crate::protocol::mcp_headers;
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::stateful;
use crate::protocol::stateless;
use crate::revision;
use crate::session::event_log::EventLog;
use crate::session::sessions::Session;

/// The only path served.
const ENDPOINT_PATH: &str = "/mcp";

/// Maximum size of a body, in bytes.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Time limit for reading a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of bytes that are read and discarded from a body that is too large, so that the client gets
/// to see the response.
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;

/// A request of a known client, with its envelope parsed.
pub(crate) struct RpcRequest<'a> {
    pub(crate) gateway: &'a Arc<GatewayState>,
    /// The client that sent the request.
    pub(crate) client: &'a Arc<ClientState>,
    /// The peer process of the connection.
    pub(crate) peer: &'a Peer,
    pub(crate) headers: &'a HeaderMap,
    /// The response types that the client accepts.
    pub(crate) accepts: Accepts,
    /// The request's id, byte for byte.
    pub(crate) id: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: &'a Members<'a>,
    /// `params._meta`
    pub(crate) meta: Option<&'a Members<'a>>,
}

impl RpcRequest<'_> {
    /// A response that is complete, as JSON or, if the client accepts nothing else, as a stream.
    pub(crate) fn response(&self, response: &RpcResponse) -> Response<GatewayBody> {
        let parts = MessageChunks::response(self.id, response);
        if self.accepts.json {
            return http_response::json(StatusCode::OK, parts);
        }
        let log = EventLog::passing();
        log.finish(parts.pieces());
        http_response::events(log.read())
    }
}

/// How a request continues after dispatch.
pub(crate) enum HandlerOutcome {
    /// The response is complete.
    Done(Response<GatewayBody>),
    /// A call is running. In a session, with the session and the number of the call's stream.
    Call(Box<CallExchange>, Option<(Arc<Session>, u64)>),
}

/// Serves one HTTP request.
pub(crate) async fn serve(
    gateway: Arc<GatewayState>,
    connection: &ClientConnection,
    request: Request<Incoming>,
) -> Response<GatewayBody> {
    match try_serve(&gateway, connection, request).await {
        Ok(response) => response,
        Err(rpc_error) => http_response::rpc_error(&rpc_error),
    }
}

async fn try_serve(
    gateway: &Arc<GatewayState>,
    connection: &ClientConnection,
    request: Request<Incoming>,
) -> Result<Response<GatewayBody>, HttpRpcError> {
    request_guard::check_origin(request.uri(), request.headers(), gateway.port)?;
    let client = request_guard::bearer_token(request.headers())
        .and_then(|token| gateway.clients.find_by_token(token))
        .ok_or_else(request_guard::unauthorized)?;
    connection
        .slot
        .recognise(&client.entry.id)
        .map_err(|TooManyConnections| request_guard::too_many_connections())?;
    if request.uri().path() != ENDPOINT_PATH {
        return Err(HttpRpcError::new(
            StatusCode::NOT_FOUND,
            -32600,
            "There is nothing here; the endpoint is /mcp.",
        ));
    }
    let first = client.mark_seen(gateway.clock.now());
    match *request.method() {
        Method::POST => post(gateway, (&client, first), &connection.peer, request).await,
        Method::GET => stateful::listen(gateway, &client, request.headers()),
        Method::DELETE => stateful::end(gateway, &client, request.headers()),
        _ => Ok(http_response::method_not_allowed("GET, POST, DELETE")),
    }
}

async fn post(
    gateway: &Arc<GatewayState>,
    (client, first): (&Arc<ClientState>, bool),
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
    let (body, peer) = tokio::join!(read_body(body), peer.peer(&gateway.peer_resolver));
    let body = body?;
    if client.disconnected.is_cancelled() {
        return Err(request_guard::unauthorized());
    }
    match route(gateway, (client, &peer, first), (&head.headers, accepts), &body)? {
        HandlerOutcome::Done(response) => Ok(response),
        HandlerOutcome::Call(exchange, slot) => Ok(run_exchange(gateway, *exchange, slot).await),
    }
}

fn route(
    gateway: &Arc<GatewayState>,
    (client, peer, first): (&Arc<ClientState>, &Peer, bool),
    (headers, accepts): (&HeaderMap, Accepts),
    body: &[u8],
) -> Result<HandlerOutcome, HttpRpcError> {
    let (id, method, params) = match envelope::parse(body)? {
        RpcMessage::RpcResponse { id, outcome } => {
            return stateful::handle_response(gateway, client, headers, (id, outcome))
                .map(HandlerOutcome::Done);
        }
        RpcMessage::Notification { method, params } => {
            if is_stateless(headers) {
                return Ok(HandlerOutcome::Done(http_response::empty(StatusCode::ACCEPTED)));
            }
            return stateful::handle_notification(gateway, client, headers, (&method, &params))
                .map(HandlerOutcome::Done);
        }
        RpcMessage::Request { id, method, params } => (id, method, params),
    };
    let route = || {
        let meta = params.get("_meta").map(Members::of).transpose().map_err(|error| {
            if error.to_string().contains("appears twice") {
                HttpRpcError::invalid_request(format!("In _meta {error}"))
            } else {
                HttpRpcError::invalid_params("The member `_meta` must be an object.")
            }
        })?;
        let request = RpcRequest {
            gateway,
            client,
            peer,
            headers,
            accepts,
            id,
            method: &method,
            params: &params,
            meta: meta.as_ref(),
        };
        if method == "initialize" {
            return stateful::initialize(&request).map(HandlerOutcome::Done);
        }
        let names_version =
            meta.as_ref().is_some_and(|meta| meta.get(stateless::META_PROTOCOL_VERSION).is_some());
        if names_version || method == "server/discover" || is_stateless(headers) {
            stateless::request(&request, first)
        } else {
            stateful::request(&request)
        }
    };
    route().map_err(|rpc_error| rpc_error.with_id(id))
}

/// Whether the `MCP-Protocol-Version` header alone shows that the request belongs to the stateless revisions.
pub(crate) fn is_stateless(headers: &HeaderMap) -> bool {
    matches!(mcp_headers::header(headers, &PROTOCOL_VERSION), Ok(Some(version)) if revision::is_stateless_version(version))
}

/// The session id in the request head.
pub(crate) fn session_id(headers: &HeaderMap) -> Result<&str, HttpRpcError> {
    match mcp_headers::header(headers, &SESSION_ID) {
        Ok(Some(id)) => Ok(id),
        Ok(None) => {
            Err(HttpRpcError::invalid_request("The header Mcp-Session-Id is missing; begin with initialize."))
        }
        Err(_) => {
            Err(HttpRpcError::invalid_request("The header Mcp-Session-Id must come once, as plain text."))
        }
    }
}

async fn run_exchange(
    gateway: &Arc<GatewayState>,
    exchange: CallExchange,
    slot: Option<(Arc<Session>, u64)>,
) -> Response<GatewayBody> {
    let exchange = match exchange.begin().await {
        ExchangeStart::Completed(response) => return response,
        ExchangeStart::Streaming(exchange) => exchange,
    };
    let log = Arc::clone(&exchange.log);
    let reader = match slot {
        Some((session, number)) => {
            if exchange.revision.primes_streams() && log.is_drained() {
                log.prime();
            }
            session.keep_stream(number, &log);
            log.read()
        }
        None => {
            let cancel = exchange.cancellation_token();
            log.read().on_disconnect(move || cancel.cancel())
        }
    };
    gateway.calls.spawn(exchange.run_to_end());
    http_response::events(reader)
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
