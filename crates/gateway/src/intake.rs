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

use crate::calls::{Begun, Exchange};
use crate::clients::ClientState;
use crate::connection_limits::TooMany;
use crate::connections::Connection;
use crate::doorstep::{self, Accepts};
use crate::envelope::{self, Message};
use crate::event_log::EventLog;
use crate::fault::Fault;
use crate::gateway::Core;
use crate::mirror;
use crate::reply::{self, Answer, Parts, ReplyBody};
use crate::revision;
use crate::seen::Ends;
use crate::sessions::Session;
use crate::{stateful, stateless};

/// The only path served.
const PATH: &str = "/mcp";

/// Maximum size of a body, in bytes.
const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// Time limit for reading a body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Maximum number of bytes that are read and discarded from a body that is too large, so that the client gets
/// to see the response.
const MOST_DRAINED: usize = 64 * 1024 * 1024;

/// A request of a known client, with its envelope parsed.
pub(crate) struct Asked<'a> {
    pub(crate) core: &'a Arc<Core>,
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

impl Asked<'_> {
    /// A response that is complete, as JSON or, if the client accepts nothing else, as a stream.
    pub(crate) fn answer(&self, answer: &Answer) -> Response<ReplyBody> {
        let parts = Parts::answer(self.id, answer);
        if self.accepts.json {
            return reply::json(StatusCode::OK, parts);
        }
        let log = EventLog::passing();
        log.finish(parts.pieces());
        reply::events(log.read())
    }
}

/// How a request continues after dispatch.
pub(crate) enum Step {
    /// The response is complete.
    Done(Response<ReplyBody>),
    /// A call is running. In a session, with the session and the number of the call's stream.
    Call(Box<Exchange>, Option<(Arc<Session>, u64)>),
}

/// Serves one HTTP request.
pub(crate) async fn serve(
    core: Arc<Core>,
    connection: &Connection,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    match try_serve(&core, connection, request).await {
        Ok(response) => response,
        Err(fault) => reply::fault(&fault),
    }
}

async fn try_serve(
    core: &Arc<Core>,
    connection: &Connection,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Fault> {
    doorstep::check_origin(request.uri(), request.headers(), core.port)?;
    let client = doorstep::bearer(request.headers())
        .and_then(|token| core.clients.recognise(token))
        .ok_or_else(doorstep::unauthorized)?;
    connection.place.recognise(&client.entry.id).map_err(|TooMany| doorstep::too_many_connections())?;
    if request.uri().path() != PATH {
        return Err(Fault::new(
            StatusCode::NOT_FOUND,
            -32600,
            "There is nothing here; the endpoint is /mcp.",
        ));
    }
    let first = client.seen(core.clock.now());
    match *request.method() {
        Method::POST => post(core, (&client, first), &connection.ends, request).await,
        Method::GET => stateful::listen(core, &client, request.headers()),
        Method::DELETE => stateful::end(core, &client, request.headers()),
        _ => Ok(reply::method_not_allowed("GET, POST, DELETE")),
    }
}

async fn post(
    core: &Arc<Core>,
    (client, first): (&Arc<ClientState>, bool),
    ends: &Ends,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Fault> {
    let (head, body) = request.into_parts();
    if !doorstep::is_json(&head.headers) {
        return Err(Fault::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            -32600,
            "The body must be application/json.",
        ));
    }
    let accepts = Accepts::of(&head.headers);
    if !accepts.json && !accepts.events {
        return Err(Fault::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Accept must name application/json, text/event-stream, or both.",
        ));
    }
    let (body, peer) = tokio::join!(read_body(body), ends.peer(&core.watch));
    let body = body?;
    if client.gone.is_cancelled() {
        return Err(doorstep::unauthorized());
    }
    match route(core, (client, &peer, first), (&head.headers, accepts), &body)? {
        Step::Done(response) => Ok(response),
        Step::Call(exchange, place) => Ok(run(core, *exchange, place).await),
    }
}

fn route(
    core: &Arc<Core>,
    (client, peer, first): (&Arc<ClientState>, &Peer, bool),
    (headers, accepts): (&HeaderMap, Accepts),
    body: &[u8],
) -> Result<Step, Fault> {
    let (id, method, params) = match envelope::read(body)? {
        Message::Answer { id, outcome } => {
            return stateful::answered(core, client, headers, (id, outcome)).map(Step::Done);
        }
        Message::Notification { method, params } => {
            if is_stateless(headers) {
                return Ok(Step::Done(reply::empty(StatusCode::ACCEPTED)));
            }
            return stateful::take(core, client, headers, (&method, &params)).map(Step::Done);
        }
        Message::Request { id, method, params } => (id, method, params),
    };
    let route = || {
        let meta = params.get("_meta").map(Members::of).transpose().map_err(|error| {
            if error.to_string().contains("appears twice") {
                Fault::invalid_request(format!("In _meta {error}"))
            } else {
                Fault::invalid_params("The member `_meta` must be an object.")
            }
        })?;
        let asked = Asked {
            core,
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
            return stateful::initialize(&asked).map(Step::Done);
        }
        let names_version = meta.as_ref().is_some_and(|meta| meta.get(stateless::VERSION).is_some());
        if names_version || method == "server/discover" || is_stateless(headers) {
            stateless::request(&asked, first)
        } else {
            stateful::request(&asked)
        }
    };
    route().map_err(|fault| fault.for_id(id))
}

/// Whether the `MCP-Protocol-Version` header alone shows that the request belongs to the stateless revisions.
pub(crate) fn is_stateless(headers: &HeaderMap) -> bool {
    matches!(mirror::header(headers, &PROTOCOL_VERSION), Ok(Some(version)) if revision::names_stateless(version))
}

/// The session id in the request head.
pub(crate) fn session_id(headers: &HeaderMap) -> Result<&str, Fault> {
    match mirror::header(headers, &SESSION_ID) {
        Ok(Some(id)) => Ok(id),
        Ok(None) => {
            Err(Fault::invalid_request("The header Mcp-Session-Id is missing; begin with initialize."))
        }
        Err(_) => Err(Fault::invalid_request("The header Mcp-Session-Id must come once, as plain text.")),
    }
}

async fn run(
    core: &Arc<Core>,
    exchange: Exchange,
    place: Option<(Arc<Session>, u64)>,
) -> Response<ReplyBody> {
    let exchange = match exchange.begin().await {
        Begun::Answered(response) => return response,
        Begun::Streams(exchange) => exchange,
    };
    let log = Arc::clone(&exchange.log);
    let reader = match place {
        Some((session, number)) => {
            if exchange.revision.primes_streams() && log.is_drained() {
                log.prime();
            }
            session.keep_stream(number, &log);
            log.read()
        }
        None => {
            let cancel = exchange.canceller();
            log.read().when_lost(move || cancel.cancel())
        }
    };
    core.calls.spawn(exchange.pump());
    reply::events(reader)
}

async fn read_body(mut body: Incoming) -> Result<Bytes, Fault> {
    if body.size_hint().lower() > LARGEST_BODY as u64 {
        return Err(too_large(&mut body).await);
    }
    let whole = async {
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Fault::parse(format!("The body could not be read: {error}.")))?;
            let Ok(data) = frame.into_data() else { continue };
            if first.len() + all.len() + data.len() > LARGEST_BODY {
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
    let read = tokio::time::timeout(BODY_TIME, whole).await;
    match read {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(too_large(&mut body).await),
        Ok(Err(fault)) => Err(fault),
        Err(_) => {
            Err(Fault::new(StatusCode::REQUEST_TIMEOUT, -32600, "The body took longer than 30 seconds."))
        }
    }
}

/// Drains the body up to a limit: a client that is still sending wouldn't read the response.
async fn too_large(body: &mut Incoming) -> Fault {
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, Bytes::len);
            if drained > MOST_DRAINED {
                break;
            }
        }
    };
    if tokio::time::timeout(BODY_TIME, drain).await.is_err() {
        tracing::debug!("a body that is too large was not read to its end");
    }
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, -32600, "The body is larger than 16 MiB.")
}
