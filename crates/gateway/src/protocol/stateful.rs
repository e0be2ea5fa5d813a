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
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::clients::capabilities::ClientCapabilities;
use crate::clients::client_state::ClientState;
use crate::clients::token;
use crate::protocol::accept_header::Accepts;
use crate::protocol::calls::{self, CallExchange, CallStream, DispatchedCall, OnDisconnect};
use crate::protocol::envelope::ClientResponse;
use crate::protocol::initialize;
use crate::protocol::mcp_headers::{self, LAST_EVENT_ID};
use crate::protocol::request::{HandlerOutcome, RpcRequest};
use crate::protocol::response::{HandlerResponse, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::protocol::state::ProtocolState;
use crate::revision::Revision;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::{self, EventLog};
use crate::session::resource_subscriptions::ResourceRef;
use crate::session::server_requests::SessionPeer;
use crate::session::sessions::{OpenedSession, Session, SessionInit};

/// Opens a session.
pub(crate) fn initialize(request: &RpcRequest<'_>) -> Result<HandlerResponse, HttpRpcError> {
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
    let random = token::random::<16>()
        .map_err(|error| HttpRpcError::new(StatusCode::INTERNAL_SERVER_ERROR, -32603, error.to_string()))?;
    let id = SessionId::new(format!("ses-{}", hex::encode(random)));
    let client_info =
        request.params.get("clientInfo").and_then(|info| request.client.record_client_info(info));
    let client_capabilities = ClientCapabilities::parse(request.params.get("capabilities"));
    let init = SessionInit { revision: agreed, client_capabilities, client_info };
    let OpenedSession { session, evicted } = request.state.sessions.open(id, request.client, init);
    if let Some(evicted) = evicted {
        request.state.on_session_ended(&evicted);
    }
    request.state.events.emit(Event::ClientConnected {
        client: request.client.entry.id.clone(),
        says: session.client_info().map(str::to_owned),
    });
    tracing::debug!(client = %request.client.entry.id, session = %session.id, version = agreed.as_str(), "a session began");
    let response = request.response(&RpcResponse::result(initialize::initialize(agreed)));
    Ok(HandlerResponse { opened_session: Some(session.id.clone()), ..response })
}

/// The session that a request names, if it belongs to this client. The `MCP-Protocol-Version` header, if
/// present, must name a revision that has sessions; it isn't compared with the negotiated one.
fn session(
    state: &ProtocolState,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Arc<Session>, HttpRpcError> {
    let found = state.sessions.find(mcp_headers::session_id(headers)?, client).ok_or_else(|| {
        HttpRpcError::new(StatusCode::NOT_FOUND, -32001, "Session not found: begin anew with initialize.")
    })?;
    let has_known_version = match mcp_headers::header(headers, &PROTOCOL_VERSION) {
        Ok(None) => true,
        Ok(Some(version)) => Revision::parse(version).is_some_and(|version| version != Revision::STATELESS),
        Err(_) => false,
    };
    if has_known_version {
        Ok(found)
    } else {
        Err(HttpRpcError::invalid_request(
            "The header MCP-Protocol-Version names no version that has sessions.",
        ))
    }
}

/// Serves one request in its session.
pub(crate) fn handle_request(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    let session = session(request.state, request.client, request.headers)?;
    match request.method {
        "logging/setLevel" => set_log_level(request, &session),
        "ping" => Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}")))),
        "tools/list" => {
            session.mark_lists_read(ChangedLists { tools: true, ..ChangedLists::default() });
            let page = request.state.lists.tools().page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            session.mark_lists_read(ChangedLists { resources: true, ..ChangedLists::default() });
            let page = request.state.lists.resources().page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request.state.lists.templates().page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            session.mark_lists_read(ChangedLists { prompts: true, ..ChangedLists::default() });
            let page = request.state.lists.prompts().page(request.params, session.revision)?;
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
    request.state.tool_service.set_log_level(request.state.sessions.log_level());
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn unsubscribe(request: &RpcRequest<'_>, session: &Session) -> Result<HandlerOutcome, HttpRpcError> {
    let uri = request
        .params
        .text("uri")
        .ok_or_else(|| HttpRpcError::invalid_params("The member `uri` must be a text."))?;
    if let Some(target) = request.state.tool_service.resource(&uri) {
        let resource = ResourceRef { server: target.server, target: target.target };
        if session.resource_subscriptions.remove(&resource) {
            request.state.subscription_releaser.release(resource);
        }
    }
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn call(request: &RpcRequest<'_>, session: Arc<Session>) -> Result<HandlerOutcome, HttpRpcError> {
    let Some(registration) = session.register_call(request.id) else {
        return Err(HttpRpcError::invalid_request(
            "This id is in use by a request in flight, or too many are in flight.",
        ));
    };
    let cancel = registration.cancel.clone();
    let mut service_request = ServiceRequest::parse(
        request.method,
        request.params,
        &*request.state.tool_service,
        session.revision,
        cancel.clone(),
    )?
    .ok_or_else(|| HttpRpcError::unknown_method(request.method, session.revision))?;
    let number = session.next_stream();
    let log = EventLog::numbered(number, &request.state.retained_bytes, &session.client.entry.id);
    if request.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        service_request.set_progress_callback(calls::progress_callback(&log, token));
    }
    service_request.set_client_presence(log.client_presence());
    if request.accepts.events {
        service_request
            .set_client_peer(Arc::new(SessionPeer { session: Arc::clone(&session), log: Arc::clone(&log) }));
    }
    let has_cache_hints = service_request.has_cache_hints();
    let subscription = service_request.subscription();
    if subscription.as_ref().is_some_and(|new| session.resource_subscriptions.contains(&new.resource)) {
        return Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))));
    }
    let dispatched =
        service_request.dispatch(&*request.state.tool_service, session.caller(request.peer.clone()));
    let (releaser, own_session) = (request.state.subscription_releaser.clone(), Arc::clone(&session));
    let future = Box::pin(async move {
        let response = dispatched.await;
        if let (Some(subscription), CallResponse::Result(_)) = (subscription, &response) {
            let subscriptions = &own_session.resource_subscriptions;
            let resource = subscription.resource.clone();
            let is_new = subscriptions.insert(subscription);
            if !is_new || (own_session.ended.is_cancelled() && subscriptions.remove(&resource)) {
                releaser.release(resource);
            }
        }
        drop(registration);
        response
    });
    let exchange = CallExchange {
        running: DispatchedCall::new(
            future,
            cancel,
            OnDisconnect::KeepRunning(Arc::clone(&log)),
            &request.state.calls,
        ),
        log,
        id: request.id.to_owned(),
        revision: session.revision,
        accepts: request.accepts,
        has_cache_hints,
        stream: CallStream::Resumable { session, number },
    };
    Ok(HandlerOutcome::Call(Box::new(exchange)))
}

/// Handles a response to a request of the gateway.
pub(crate) fn handle_response(
    state: &ProtocolState,
    client: &ClientState,
    headers: &HeaderMap,
    response: ClientResponse<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, client, headers)?;
    let id = response.id.and_then(|id| serde_json::from_str::<String>(id).ok());
    if let (Some(id), Some(outcome)) = (id, response.outcome) {
        let outcome = outcome.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        session.handle_response(&id, outcome);
    }
    Ok(HandlerResponse::empty(StatusCode::ACCEPTED))
}

pub(crate) fn handle_notification(
    state: &ProtocolState,
    client: &ClientState,
    headers: &HeaderMap,
    method: &str,
    params: &Members<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, client, headers)?;
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        session.cancel_call(id.get());
    }
    Ok(HandlerResponse::empty(StatusCode::ACCEPTED))
}

/// Opens the GET stream of a session, or resumes a stream that broke.
pub(crate) fn listen(
    state: &ProtocolState,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, client, headers)?;
    if !Accepts::parse(headers).events {
        return Err(HttpRpcError::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Accept must name text/event-stream.",
        ));
    }
    let Some(last) = mcp_headers::header(headers, &LAST_EVENT_ID)? else {
        return Ok(HandlerResponse::events(session.open_notification_stream().read()));
    };
    let unknown_event = || HttpRpcError::invalid_request("The stream of this event is not kept any more.");
    let (stream, after) = event_log::parse_id(last).ok_or_else(unknown_event)?;
    let reader = session.stream(stream).and_then(|log| log.resume(after)).ok_or_else(unknown_event)?;
    Ok(HandlerResponse::events(reader))
}

/// Ends a session.
pub(crate) fn end(
    state: &ProtocolState,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, client, headers)?;
    state.end_session(&session);
    Ok(HandlerResponse::empty(StatusCode::NO_CONTENT))
}
