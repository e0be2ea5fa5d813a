//! The revision without sessions (2026-07-28): every request carries client info and version in `_meta`, and
//! repeats parts of the body in MCP headers. No protocol state is kept between requests, except for calls
//! that wait for input and for `subscriptions/listen` streams.

use std::sync::Arc;

use gatehouse_mcp_wire::headers::PROTOCOL_VERSION;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::Event;
use gatehouse_tools::{AccessCall, AccessKind, CallResponse, Caller, ProtocolFamily};
use hyper::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::clients::capabilities::ClientCapabilities;
use crate::protocol::calls::{self, CallExchange, CallStream, DispatchedCall, OnDisconnect};
use crate::protocol::initialize;
use crate::protocol::input_required::{CallIdentity, InteractiveCall, LogForwarding};
use crate::protocol::mcp_headers;
use crate::protocol::request::{HandlerOutcome, RpcRequest};
use crate::protocol::response::{HandlerResponse, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::protocol::subscriptions::ListenFilter;
use crate::revision::Revision;
use crate::session::event_log::EventLog;
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscription};

/// The `_meta` member for the protocol version.
pub(crate) const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Serves one request.
pub(crate) fn handle_request(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    validate_meta(request)?;
    let client_info = match request.meta.and_then(|meta| meta.get(CLIENT_INFO)) {
        Some(info) => request.client.record_client_info(info),
        None => request.client.client_info(),
    };
    if request.is_first_request {
        request.state.events.emit(Event::ClientConnected {
            client: request.client.entry.id.clone(),
            says: client_info.clone(),
        });
    }
    match request.method {
        "server/discover" => {
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(initialize::discover()))))
        }
        "tools/list" => {
            let page = request.state.lists.tools().page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            let page = request.state.lists.resources().page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request.state.lists.templates().page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            let page = request.state.lists.prompts().page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "subscriptions/listen" => listen(request),
        _ => call(request, client_info),
    }
}

/// Checks `_meta` and the MCP headers.
fn validate_meta(request: &RpcRequest<'_>) -> Result<(), HttpRpcError> {
    let missing = |what: &str| {
        HttpRpcError::invalid_params(format!("The request's _meta lacks {what}, or it has the wrong type."))
    };
    let version = request
        .meta
        .and_then(|meta| meta.text(META_PROTOCOL_VERSION))
        .ok_or_else(|| missing(META_PROTOCOL_VERSION))?;
    match mcp_headers::header(request.headers, &PROTOCOL_VERSION)? {
        None => return Err(HttpRpcError::header_mismatch("The header MCP-Protocol-Version is missing.")),
        Some(header) if header == version => {}
        Some(_) => {
            return Err(HttpRpcError::header_mismatch(
                "The header MCP-Protocol-Version is not the version in _meta.",
            ));
        }
    }
    if version != Revision::STATELESS.as_str() {
        return Err(HttpRpcError::unsupported_version(&version, &[Revision::STATELESS.as_str()]));
    }
    mcp_headers::check_names(request.headers, request.method, request.params)?;
    let capabilities = request.meta.and_then(|meta| meta.get(CAPABILITIES)).map(Members::of);
    if !matches!(capabilities, Some(Ok(_))) {
        return Err(missing(CAPABILITIES));
    }
    Ok(())
}

fn call(request: &RpcRequest<'_>, client_info: Option<String>) -> Result<HandlerOutcome, HttpRpcError> {
    let identity = CallIdentity::new(&request.client.entry.id, request.peer, request.method, request.params);
    let resumed = request.state.input_required_calls.resume(&identity, request.params);
    if let Some(interactive) =
        resumed.map_err(|message| HttpRpcError::new(StatusCode::OK, -32602, message))?
    {
        let has_cache_hints = request.method == "resources/read";
        return Ok(exchange(request, interactive, EventLog::transient(), has_cache_hints));
    }
    if request.method == "resources/subscribe" {
        return Err(HttpRpcError::unknown_method(request.method, Revision::STATELESS));
    }
    let cancel = request.client.disconnected.child_token();
    let mut service_request = ServiceRequest::parse(
        request.method,
        request.params,
        &*request.state.tool_service,
        Revision::STATELESS,
        cancel.clone(),
    )?
    .ok_or_else(|| HttpRpcError::unknown_method(request.method, Revision::STATELESS))?;
    if let ServiceRequest::Tool(call) = &service_request {
        for header in request.state.lists.tools().headers_of(&call.exposed_name) {
            mcp_headers::check_param(header, request.headers, call.arguments.as_deref())?;
        }
    }
    let log = EventLog::transient();
    if request.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        service_request.set_progress_callback(calls::progress_callback(&log, token));
    }
    let capabilities = request.meta.and_then(|meta| meta.get(CAPABILITIES));
    let (client_peer, request_queue) = request
        .state
        .input_required_calls
        .start(ClientCapabilities::parse(capabilities), log_forwarding(request, &log)?);
    service_request.set_client_peer(Arc::new(client_peer));
    let caller = Caller {
        client: Arc::clone(&request.client.entry),
        session: None,
        client_info,
        peer: request.peer.clone(),
        protocol_family: ProtocolFamily::Stateless,
    };
    let has_cache_hints = service_request.has_cache_hints();
    let future = service_request.dispatch(&*request.state.tool_service, caller);
    Ok(exchange(request, request_queue.attach(identity, future, cancel), log, has_cache_hints))
}

/// Which log messages of the server the client wants for this request; `None` if it doesn't set a level.
fn log_forwarding(
    request: &RpcRequest<'_>,
    log: &Arc<EventLog>,
) -> Result<Option<LogForwarding>, HttpRpcError> {
    let Some(level) = request.meta.and_then(|meta| meta.get(LOG_LEVEL)) else { return Ok(None) };
    let min_level = serde_json::from_str(level.get())
        .map_err(|_| HttpRpcError::invalid_params(format!("The member {LOG_LEVEL} of _meta is no level.")))?;
    Ok(request.accepts.events.then(|| LogForwarding { min_level, sink: Arc::clone(log) }))
}

fn exchange(
    request: &RpcRequest<'_>,
    interactive: InteractiveCall,
    log: Arc<EventLog>,
    has_cache_hints: bool,
) -> HandlerOutcome {
    let connection_lost = CancellationToken::new();
    HandlerOutcome::Call(Box::new(CallExchange {
        running: DispatchedCall::new(
            interactive.run(connection_lost.clone()),
            connection_lost,
            OnDisconnect::Cancel,
            &request.state.calls,
        ),
        log,
        id: request.id.to_owned(),
        revision: Revision::STATELESS,
        accepts: request.accepts,
        has_cache_hints,
        stream: CallStream::Transient,
    }))
}

fn listen(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    if !request.accepts.events {
        return Err(HttpRpcError::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Listening needs a stream: Accept must name text/event-stream.",
        ));
    }
    let filter = ListenFilter::parse(request.params)?;
    let resource_uris = filter.resource_uris;
    let Some(stream) = request.state.listen_streams.open(&request.client.entry.id, request.id, filter.lists)
    else {
        return Err(HttpRpcError::new(
            StatusCode::OK,
            -32603,
            "This client listens on too many streams already.",
        ));
    };
    let number = stream.number;
    let state = Arc::downgrade(request.state);
    let cancel = request.client.disconnected.child_token();
    let on_disconnect = cancel.clone();
    let reader = stream.log.read().on_disconnect(move || {
        on_disconnect.cancel();
        if let Some(state) = state.upgrade() {
            state.listen_streams.remove(number);
        }
    });
    if resource_uris.is_empty() {
        request.state.listen_streams.acknowledge(number);
        return Ok(HandlerOutcome::Done(HandlerResponse::events(reader)));
    }
    // Each subscription is subject to the policy, which may take until the user has answered an approval
    // request.
    let (state, client, peer) = (Arc::clone(request.state), Arc::clone(request.client), request.peer.clone());
    request.state.calls.spawn(async move {
        for uri in resource_uris {
            let Some(target) = state.tool_service.resource(&uri) else { continue };
            let resource = ResourceRef { server: target.server.clone(), target: target.target.clone() };
            let caller = Caller {
                client: Arc::clone(&client.entry),
                session: None,
                client_info: client.client_info(),
                peer: peer.clone(),
                protocol_family: ProtocolFamily::Stateless,
            };
            let call = AccessCall {
                cancel: cancel.clone(),
                ..AccessCall::new(target.server, AccessKind::Subscribe, target.target, uri.clone())
            };
            if matches!(state.tool_service.access(caller, call).await, CallResponse::Result(_)) {
                state.listen_streams.add_resource(number, ResourceSubscription { resource, uri });
            }
        }
        state.listen_streams.acknowledge(number);
    });
    Ok(HandlerOutcome::Done(HandlerResponse::events(reader)))
}
