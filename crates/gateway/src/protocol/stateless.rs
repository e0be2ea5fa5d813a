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
use crate::http::handler::{HandlerOutcome, RpcRequest};
use crate::http::response::{self as http_response, RpcResponse};
use crate::protocol::calls::{self, CallExchange, OnDisconnect, RunningCall};
use crate::protocol::initialize;
use crate::protocol::input_required::{CallIdentity, InteractiveCall, LogForwarding};
use crate::protocol::mcp_headers;
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::protocol::subscriptions;
use crate::revision::Revision;
use crate::session::event_log::EventLog;
use crate::session::resource_subscriptions::ResourceRef;

/// The `_meta` member for the protocol version.
pub(crate) const META_PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Serves one request. `is_first_request` is whether the client is seen for the first time since Gatehouse started.
pub(crate) fn request(
    request: &RpcRequest<'_>,
    is_first_request: bool,
) -> Result<HandlerOutcome, HttpRpcError> {
    validate_meta(request)?;
    let says = match request.meta.and_then(|meta| meta.get(CLIENT_INFO)) {
        Some(info) => request.client.record_client_info(info),
        None => request.client.client_info(),
    };
    if is_first_request {
        request
            .gateway
            .events
            .emit(Event::ClientConnected { client: request.client.entry.id.clone(), says: says.clone() });
    }
    match request.method {
        "server/discover" => {
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(initialize::discover()))))
        }
        "tools/list" => {
            let page = request.gateway.tool_list().page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            let page = request.gateway.resources().1.page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request.gateway.templates().1.page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            let page = request.gateway.prompts().1.page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "subscriptions/listen" => listen(request),
        _ => call(request, says),
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

fn call(request: &RpcRequest<'_>, says: Option<String>) -> Result<HandlerOutcome, HttpRpcError> {
    let call = CallIdentity::from_request(request);
    let resumed = request.gateway.parked.resume(&call, request.params);
    if let Some(interactive) = resumed.map_err(|why| HttpRpcError::new(StatusCode::OK, -32602, why))? {
        let has_cache_hints = request.method == "resources/read";
        return Ok(exchange(request, interactive, (EventLog::passing(), has_cache_hints)));
    }
    if request.method == "resources/subscribe" {
        return Err(HttpRpcError::unknown_method(request.method, true));
    }
    let cancel = request.client.disconnected.child_token();
    let what = (request.method, request.params);
    let mut service_request =
        ServiceRequest::parse(what, &*request.gateway.tool_service, Revision::STATELESS, cancel.clone())?
            .ok_or_else(|| HttpRpcError::unknown_method(request.method, true))?;
    if let ServiceRequest::Tool(call) = &service_request {
        for header in request.gateway.tool_list().headers_of(&call.exposed_name) {
            mcp_headers::check_param(header, request.headers, call.arguments.as_deref())?;
        }
    }
    let log = EventLog::passing();
    if request.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        service_request.set_progress_callback(calls::progress_callback(&log, token));
    }
    let capabilities = request.meta.and_then(|meta| meta.get(CAPABILITIES));
    let (asks, request_queue) =
        request.gateway.parked.start(ClientCapabilities::parse(capabilities), logs(request, &log)?);
    service_request.set_client_peer(Arc::new(asks));
    let caller = Caller {
        client: Arc::clone(&request.client.entry),
        session: None,
        says,
        peer: request.peer.clone(),
        era: ProtocolFamily::Stateless,
    };
    let has_cache_hints = service_request.has_cache_hints();
    let future = service_request.dispatch(&*request.gateway.tool_service, caller);
    Ok(exchange(request, request_queue.attach(call, future, cancel), (log, has_cache_hints)))
}

/// Which log messages of the server the client wants for this request; `None` if it doesn't set a level.
fn logs(request: &RpcRequest<'_>, log: &Arc<EventLog>) -> Result<Option<LogForwarding>, HttpRpcError> {
    let Some(level) = request.meta.and_then(|meta| meta.get(LOG_LEVEL)) else { return Ok(None) };
    let min_level = serde_json::from_str(level.get())
        .map_err(|_| HttpRpcError::invalid_params(format!("The member {LOG_LEVEL} of _meta is no level.")))?;
    Ok(request.accepts.events.then(|| LogForwarding { min_level, sink: Arc::clone(log) }))
}

fn exchange(
    request: &RpcRequest<'_>,
    interactive: InteractiveCall,
    (log, has_cache_hints): (Arc<EventLog>, bool),
) -> HandlerOutcome {
    let lost = CancellationToken::new();
    HandlerOutcome::Call(
        Box::new(CallExchange {
            running: RunningCall::new(
                interactive.run(lost.clone()),
                lost,
                OnDisconnect::Cancel,
                &request.gateway.calls,
            ),
            log,
            id: request.id.to_owned(),
            revision: Revision::STATELESS,
            accepts: request.accepts,
            has_cache_hints,
        }),
        None,
    )
}

fn listen(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    if !request.accepts.events {
        return Err(HttpRpcError::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Listening needs a stream: Accept must name text/event-stream.",
        ));
    }
    let (filter, uris) = subscriptions::filter(request.params)?;
    let Some((number, log)) =
        request.gateway.subscriptions.listen(&request.client.entry.id, request.id, filter)
    else {
        return Err(HttpRpcError::new(
            StatusCode::OK,
            -32603,
            "This client listens on too many streams already.",
        ));
    };
    let gateway = Arc::downgrade(request.gateway);
    let gone = request.client.disconnected.child_token();
    let lost = gone.clone();
    let reader = log.read().on_disconnect(move || {
        lost.cancel();
        if let Some(gateway) = gateway.upgrade() {
            gateway.subscriptions.forget(number, &gateway);
        }
    });
    if uris.is_empty() {
        request.gateway.subscriptions.acknowledge(number);
        return Ok(HandlerOutcome::Done(http_response::events(reader)));
    }
    // Each subscription is subject to the policy, which may take until the user has answered an approval
    // request.
    let (gateway, client, peer) =
        (Arc::clone(request.gateway), Arc::clone(request.client), request.peer.clone());
    request.gateway.calls.spawn(async move {
        for uri in uris {
            let Some(place) = gateway.tool_service.resource(&uri) else { continue };
            let resource = ResourceRef { server: place.server.clone(), target: place.target.clone() };
            let caller = Caller {
                client: Arc::clone(&client.entry),
                session: None,
                says: client.client_info(),
                peer: peer.clone(),
                era: ProtocolFamily::Stateless,
            };
            let call = AccessCall {
                server: place.server,
                kind: AccessKind::Subscribe,
                target: place.target,
                exposed_name: uri.clone(),
                rest: Vec::new(),
                meta: None,
                progress: None,
                asks: None,
                listening: None,
                cancel: gone.clone(),
            };
            if matches!(gateway.tool_service.access(caller, call).await, CallResponse::Result(_)) {
                gateway.subscriptions.add_resource(number, (resource, uri), &gateway);
            }
        }
        gateway.subscriptions.acknowledge(number);
    });
    Ok(HandlerOutcome::Done(http_response::events(reader)))
}
