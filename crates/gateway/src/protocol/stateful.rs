//! The revisions with sessions (2025-11-25 and older): `initialize` opens a session, and every later request
//! names it.
//!
//! A broken connection doesn't cancel a call that was already sent upstream; only a cancellation by the
//! client or the end of its session does. A call that still waits for approval is held back until the client
//! resumes the stream.

use std::sync::Arc;

use gatehouse_mcp_wire::headers::PROTOCOL_VERSION;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::{Event, SessionId};
use gatehouse_tools::CallResponse;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use serde_json::value::RawValue;

use crate::clients::capabilities::ClientCapabilities;
use crate::clients::client_state::ClientState;
use crate::clients::token;
use crate::gateway::GatewayState;
use crate::http::handler::{HandlerOutcome, RpcRequest, is_stateless, session_id};
use crate::http::request_guard::Accepts;
use crate::http::response::{self as http_response, GatewayBody, RpcResponse};
use crate::protocol::calls::{self, CallExchange, OnDisconnect, RunningCall};
use crate::protocol::initialize;
use crate::protocol::mcp_headers::{self, LAST_EVENT_ID};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::revision::Revision;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::{self, EventLog};
use crate::session::resource_subscriptions::{self, ResourceRef};
use crate::session::server_requests::SessionPeer;
use crate::session::sessions::{Session, SessionInit};

/// Opens a session.
pub(crate) fn initialize(request: &RpcRequest<'_>) -> Result<Response<GatewayBody>, HttpRpcError> {
    let version = request
        .params
        .text("protocolVersion")
        .ok_or_else(|| HttpRpcError::invalid_params("The member `protocolVersion` must be a text."))?;
    if let Some(header) = mcp_headers::header(request.headers, &PROTOCOL_VERSION)?
        && header != version
    {
        return Err(HttpRpcError::invalid_request(
            "The header MCP-Protocol-Version is not the version in the body.",
        ));
    }
    let agreed = Revision::negotiate(&version);
    let random = token::random::<16>().map_err(|problem| {
        HttpRpcError::new(StatusCode::INTERNAL_SERVER_ERROR, -32603, problem.to_string())
    })?;
    let id = SessionId::new(format!("ses-{}", hex::encode(random)));
    let says = request.params.get("clientInfo").and_then(|info| request.client.record_client_info(info));
    let client_capabilities = ClientCapabilities::parse(request.params.get("capabilities"));
    let init = SessionInit { revision: agreed, client_capabilities, says };
    let (session, evicted) = request.gateway.sessions.open(id, request.client, init);
    if let Some(ended) = evicted {
        request.gateway.on_session_ended(&ended);
    }
    request.gateway.events.emit(Event::ClientConnected {
        client: request.client.entry.id.clone(),
        says: session.client_info().map(str::to_owned),
    });
    tracing::debug!(client = %request.client.entry.id, session = %session.id, version = agreed.as_str(), "a session began");
    let answer = request.response(&RpcResponse::result(initialize::initialize(agreed)));
    Ok(http_response::with_session_id(answer, session.id.as_str()))
}

/// The session that a request names, if it belongs to this client. The `MCP-Protocol-Version` header, if
/// present, must name a revision that has sessions; it isn't compared with the negotiated one.
fn session(
    gateway: &GatewayState,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Arc<Session>, HttpRpcError> {
    let found = gateway.sessions.find(session_id(headers)?, client).ok_or_else(|| {
        HttpRpcError::new(StatusCode::NOT_FOUND, -32001, "Session not found: begin anew with initialize.")
    })?;
    let known = match mcp_headers::header(headers, &PROTOCOL_VERSION) {
        Ok(None) => true,
        Ok(Some(version)) => Revision::parse(version).is_some_and(|version| version != Revision::STATELESS),
        Err(_) => false,
    };
    if known {
        Ok(found)
    } else {
        Err(HttpRpcError::invalid_request(
            "The header MCP-Protocol-Version names no version that has sessions.",
        ))
    }
}

/// Serves one request in its session.
pub(crate) fn request(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    let session = session(request.gateway, request.client, request.headers)?;
    match request.method {
        "logging/setLevel" => set_log_level(request, &session),
        "ping" => Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}")))),
        "tools/list" => {
            session.mark_lists_read(ChangedLists { tools: true, ..ChangedLists::default() });
            let page = request.gateway.tool_list().page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            session.mark_lists_read(ChangedLists { resources: true, ..ChangedLists::default() });
            let page = request.gateway.resources().1.page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request.gateway.templates().1.page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            session.mark_lists_read(ChangedLists { prompts: true, ..ChangedLists::default() });
            let page = request.gateway.prompts().1.page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/unsubscribe" => unsubscribe(request, &session),
        _ => call(request, session),
    }
}

fn set_log_level(request: &RpcRequest<'_>, session: &Session) -> Result<HandlerOutcome, HttpRpcError> {
    let level = request.params.get("level").and_then(|raw| serde_json::from_str(raw.get()).ok()).ok_or_else(
        || {
            HttpRpcError::invalid_params(
                "The member `level` must be one of the levels of the specification (debug to emergency).",
            )
        },
    )?;
    session.set_log_level(level);
    request.gateway.tool_service.set_log_level(request.gateway.sessions.log_level());
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn unsubscribe(request: &RpcRequest<'_>, session: &Session) -> Result<HandlerOutcome, HttpRpcError> {
    let uri = request
        .params
        .text("uri")
        .ok_or_else(|| HttpRpcError::invalid_params("The member `uri` must be a text."))?;
    if let Some(place) = request.gateway.tool_service.resource(&uri) {
        let resource = ResourceRef { server: place.server, target: place.target };
        if session.resource_subscriptions.remove(&resource) {
            resource_subscriptions::release(&request.gateway.tool_service, &request.gateway.calls, resource);
        }
    }
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn call(request: &RpcRequest<'_>, session: Arc<Session>) -> Result<HandlerOutcome, HttpRpcError> {
    let Some(place) = session.register_call(request.id) else {
        return Err(HttpRpcError::invalid_request(
            "This id is in use by a request in flight, or too many are in flight.",
        ));
    };
    let cancel = place.cancel.clone();
    let what = (request.method, request.params);
    let mut service_request =
        ServiceRequest::parse(what, &*request.gateway.tool_service, session.revision, cancel.clone())?
            .ok_or_else(|| HttpRpcError::unknown_method(request.method, false))?;
    let number = session.next_stream();
    let log = EventLog::numbered(number, &request.gateway.kept_bytes, &session.client.entry.id);
    if request.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        service_request.set_progress_callback(calls::progress_callback(&log, token));
    }
    service_request.set_client_presence(log.listening());
    if request.accepts.events {
        service_request
            .set_client_peer(Arc::new(SessionPeer { session: Arc::clone(&session), log: Arc::clone(&log) }));
    }
    let has_cache_hints = service_request.has_cache_hints();
    let subscribed = service_request.subscribed_resource();
    if subscribed.as_ref().is_some_and(|(resource, _)| session.resource_subscriptions.contains(resource)) {
        return Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))));
    }
    let answer =
        service_request.dispatch(&*request.gateway.tool_service, session.caller(request.peer.clone()));
    let (gateway, own) = (Arc::clone(request.gateway), Arc::clone(&session));
    let future = Box::pin(async move {
        let end = answer.await;
        if let (Some((resource, uri)), CallResponse::Result(_)) = (subscribed, &end) {
            let kept = own.resource_subscriptions.insert(resource.clone(), uri);
            if !kept || (own.ended.is_cancelled() && own.resource_subscriptions.remove(&resource)) {
                resource_subscriptions::release(&gateway.tool_service, &gateway.calls, resource);
            }
        }
        drop(place);
        end
    });
    let exchange = CallExchange {
        running: RunningCall::new(
            future,
            cancel,
            OnDisconnect::KeepRunning(Arc::clone(&log)),
            &request.gateway.calls,
        ),
        log,
        id: request.id.to_owned(),
        revision: session.revision,
        accepts: request.accepts,
        has_cache_hints,
    };
    Ok(HandlerOutcome::Call(Box::new(exchange), Some((session, number))))
}

/// A response to a request of the gateway: its id, and the result or the error.
pub(crate) type ClientResponse<'a> = (Option<&'a str>, Option<Result<&'a RawValue, &'a RawValue>>);

/// Handles a response to a request of the gateway.
pub(crate) fn handle_response(
    gateway: &GatewayState,
    client: &ClientState,
    headers: &HeaderMap,
    (id, outcome): ClientResponse<'_>,
) -> Result<Response<GatewayBody>, HttpRpcError> {
    let session = session(gateway, client, headers)?;
    let id = id.and_then(|id| serde_json::from_str::<String>(id).ok());
    if let (Some(id), Some(outcome)) = (id, outcome) {
        let answer = outcome.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        session.handle_response(&id, answer);
    }
    Ok(http_response::empty(StatusCode::ACCEPTED))
}

/// Handles a notification.
pub(crate) fn handle_notification(
    gateway: &GatewayState,
    client: &ClientState,
    headers: &HeaderMap,
    (method, params): (&str, &Members<'_>),
) -> Result<Response<GatewayBody>, HttpRpcError> {
    let session = session(gateway, client, headers)?;
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        session.cancel_call(id.get());
    }
    Ok(http_response::empty(StatusCode::ACCEPTED))
}

/// Opens the GET stream of a session, or resumes a stream that broke.
pub(crate) fn listen(
    gateway: &Arc<GatewayState>,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Response<GatewayBody>, HttpRpcError> {
    if is_stateless(headers) {
        return Ok(http_response::method_not_allowed("POST"));
    }
    let session = session(gateway, client, headers)?;
    if !Accepts::parse(headers).events {
        return Err(HttpRpcError::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Accept must name text/event-stream.",
        ));
    }
    let Some(last) = mcp_headers::header(headers, &LAST_EVENT_ID)? else {
        return Ok(http_response::events(session.open_standing_stream().read()));
    };
    let gone = || HttpRpcError::invalid_request("The stream of this event is not kept any more.");
    let (stream, after) = event_log::parse_id(last).ok_or_else(gone)?;
    let reader = session.stream(stream).and_then(|log| log.resume(after)).ok_or_else(gone)?;
    Ok(http_response::events(reader))
}

/// Ends a session.
pub(crate) fn end(
    gateway: &Arc<GatewayState>,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Response<GatewayBody>, HttpRpcError> {
    if is_stateless(headers) {
        return Ok(http_response::method_not_allowed("POST"));
    }
    let session = session(gateway, client, headers)?;
    gateway.end_session(&session);
    Ok(http_response::empty(StatusCode::NO_CONTENT))
}
