//! The revision without sessions (2026-07-28): every request carries client info and version in `_meta`, and
//! repeats parts of the body in MCP headers. No protocol state is kept between requests, except for calls
//! that wait for input and for `subscriptions/listen` streams.

use std::sync::Arc;

use gatehouse_mcp_wire::headers::PROTOCOL_VERSION;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_mcp_wire::tasks::{TASKS_EXTENSION, declares_extension};
use gatehouse_model::Event;
use gatehouse_tools::{
    AccessCall, AccessKind, CallResponse, Caller, Peer, ProtocolFamily, ResolvedTarget, ServerSelection,
    Viewer,
};
use hyper::StatusCode;
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::clients::client_state::ClientState;
use crate::protocol::calls::{self, CallExchange, CallStream, DispatchedCall, OnDisconnect};
use crate::protocol::initialize::EndpointDescription;
use crate::protocol::input_required::{CallIdentity, InteractiveCall, LogForwarding};
use crate::protocol::mcp_headers;
use crate::protocol::request::{HandlerOutcome, RpcRequest};
use crate::protocol::response::{HandlerResponse, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::protocol::state::ProtocolState;
use crate::protocol::subscriptions::{ListenFilter, ListenRequest};
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
        Some(info) => request.origin.client.record_client_info(info),
        None => request.origin.client.client_info(),
    };
    if request.is_first_request {
        request.state.events.emit(Event::ClientConnected {
            client: request.origin.client.entry.id.clone(),
            says: client_info.clone(),
        });
    }
    match request.method {
        "server/discover" => {
            let description = EndpointDescription::of(
                &*request.state.tool_service,
                request.origin.viewer,
                request.origin.servers,
            )
            .ok_or_else(HttpRpcError::no_such_endpoint)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(description.discover()))))
        }
        "tools/list" => {
            if request.origin.client.tool_list().listed() {
                request.state.announce_tool_list(request.origin.client);
            }
            let page = request
                .state
                .lists
                .of(request.origin.viewer, request.origin.servers)
                .tools()
                .page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            let page = request
                .state
                .lists
                .of(request.origin.viewer, request.origin.servers)
                .resources()
                .page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request
                .state
                .lists
                .of(request.origin.viewer, request.origin.servers)
                .templates()
                .page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            let page = request
                .state
                .lists
                .of(request.origin.viewer, request.origin.servers)
                .prompts()
                .page(request.params, Revision::STATELESS)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "subscriptions/listen" => listen(request),
        _ => call(request, client_info),
    }
}

/// Checks `_meta` and the MCP headers.
fn validate_meta(request: &RpcRequest<'_>) -> Result<(), HttpRpcError> {
    let version = request
        .meta
        .and_then(|meta| meta.text(META_PROTOCOL_VERSION))
        .ok_or_else(|| missing_meta(META_PROTOCOL_VERSION))?;
    match mcp_headers::header(request.origin.headers, &PROTOCOL_VERSION)? {
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
    mcp_headers::check_names(request.origin.headers, request.method, request.params)?;
    declared_capabilities(request).map(|_| ())
}

/// The capabilities that the client declares with a request; an object.
fn declared_capabilities<'a>(request: &RpcRequest<'a>) -> Result<&'a RawValue, HttpRpcError> {
    let declared = request.meta.and_then(|meta| meta.get(CAPABILITIES));
    declared.filter(|declared| Members::of(declared).is_ok()).ok_or_else(|| missing_meta(CAPABILITIES))
}

fn missing_meta(what: &str) -> HttpRpcError {
    HttpRpcError::invalid_params(format!("The request's _meta lacks {what}, or it has the wrong type."))
}

fn call(request: &RpcRequest<'_>, client_info: Option<String>) -> Result<HandlerOutcome, HttpRpcError> {
    let identity = CallIdentity::new(
        request.origin.viewer,
        request.peer,
        request.origin.servers,
        request.method,
        request.params,
    );
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
    let cancel = request.origin.client.disconnected.child_token();
    let mut service_request =
        ServiceRequest::parse(request, request.origin.viewer, Revision::STATELESS, cancel.clone())?
            .ok_or_else(|| HttpRpcError::unknown_method(request.method, Revision::STATELESS))?;
    if matches!(service_request, ServiceRequest::Task(_))
        && !declares_extension(declared_capabilities(request)?)
    {
        return Err(undeclared_extension());
    }
    if let ServiceRequest::Tool(call) = &service_request {
        if request.origin.client.tool_list().called() {
            request.state.announce_tool_list(request.origin.client);
        }
        for header in request
            .state
            .lists
            .of(request.origin.viewer, request.origin.servers)
            .tools()
            .headers_of(call.tool.as_str())
        {
            mcp_headers::check_param(header, request.origin.headers, call.arguments.as_deref())?;
        }
    }
    let log = EventLog::transient();
    if request.origin.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        service_request.set_progress_callback(calls::progress_callback(&log, token));
    }
    let (client_peer, request_queue) = request
        .state
        .input_required_calls
        .start(declared_capabilities(request)?, log_forwarding(request, &log)?);
    service_request.set_client_peer(Arc::new(client_peer));
    let caller = Caller {
        client: Arc::clone(&request.origin.client.entry),
        narrowing: request.origin.viewer.narrowing.clone(),
        session: None,
        client_info,
        peer: request.peer.clone(),
        protocol_family: ProtocolFamily::Stateless,
        user_run: None,
    };
    let has_cache_hints = service_request.has_cache_hints();
    let future = service_request.dispatch(&*request.state.tool_service, caller);
    Ok(exchange(request, request_queue.attach(identity, future, cancel), log, has_cache_hints))
}

/// The client asks for a task without having declared the extension.
fn undeclared_extension() -> HttpRpcError {
    let required = json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } });
    HttpRpcError::new(StatusCode::BAD_REQUEST, -32021, "The request lacks the extension for tasks.")
        .with_data(&required)
}

/// Which log messages of the server the client wants for this request; `None` if it doesn't set a level.
fn log_forwarding(
    request: &RpcRequest<'_>,
    log: &Arc<EventLog>,
) -> Result<Option<LogForwarding>, HttpRpcError> {
    let Some(level) = request.meta.and_then(|meta| meta.get(LOG_LEVEL)) else { return Ok(None) };
    let min_level = serde_json::from_str(level.get())
        .map_err(|_| HttpRpcError::invalid_params(format!("The member {LOG_LEVEL} of _meta is no level.")))?;
    Ok(request.origin.accepts.events.then(|| LogForwarding { min_level, sink: Arc::clone(log) }))
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
        accepts: request.origin.accepts,
        has_cache_hints,
        stream: CallStream::Transient,
        // Closing the connection is the only way to cancel.
        cancelled_by_client: CancellationToken::new(),
    }))
}

fn listen(request: &RpcRequest<'_>) -> Result<HandlerOutcome, HttpRpcError> {
    if !request.origin.accepts.events {
        return Err(HttpRpcError::events_not_accepted());
    }
    let filter = ListenFilter::parse(request.params)?;
    let resource_uris = filter.resource_uris;
    let opened = request.state.listen_streams.open(ListenRequest {
        client: request.origin.client,
        viewer: request.origin.viewer,
        servers: request.origin.servers,
        id: request.id,
        lists: filter.lists,
        view: request.state.tool_service.view_key(request.origin.viewer),
    });
    let Some(stream) = opened else {
        return Err(HttpRpcError::new(
            StatusCode::OK,
            -32603,
            "This client listens on too many streams already.",
        ));
    };
    let number = stream.number;
    let state = Arc::downgrade(request.state);
    let cancel = request.origin.client.disconnected.child_token();
    let on_disconnect = cancel.clone();
    let reader = stream.log.read().on_disconnect(move || {
        on_disconnect.cancel();
        if let Some(state) = state.upgrade() {
            state.listen_streams.remove(number);
        }
    });
    if resource_uris.is_empty() {
        request.state.listen_streams.acknowledge(number, Vec::new());
        return Ok(HandlerOutcome::Done(HandlerResponse::events(reader)));
    }
    let subscriber = Arc::new(StreamSubscriber {
        state: Arc::clone(request.state),
        client: Arc::clone(request.origin.client),
        viewer: request.origin.viewer.clone(),
        servers: request.origin.servers.clone(),
        peer: request.peer.clone(),
        stream: number,
        cancel,
    });
    request.state.calls.spawn(subscriber.subscribe_all(resource_uris));
    Ok(HandlerOutcome::Done(HandlerResponse::events(reader)))
}

/// Subscribes one stream to resources. Each subscription is subject to the policy, which may take until the user has
/// answered an approval request.
struct StreamSubscriber {
    state: Arc<ProtocolState>,
    client: Arc<ClientState>,
    viewer: Viewer,
    servers: ServerSelection,
    peer: Peer,
    /// The number of the stream.
    stream: u64,
    /// Cancelled when the client has disconnected.
    cancel: CancellationToken,
}

impl StreamSubscriber {
    /// Subscribes to what servers have now, and acknowledges. What no server has yet is acknowledged too, and
    /// subscribed to when one has it: after a restart of Gatehouse its server may still be starting.
    async fn subscribe_all(self: Arc<Self>, uris: Vec<String>) {
        let mut later = Vec::new();
        for uri in uris {
            match self.resource(&uri) {
                Some(target) => drop(self.subscribe(target, uri).await),
                None => later.push(uri),
            }
        }
        self.state.listen_streams.acknowledge(self.stream, later.clone());
        for uri in later {
            self.state.calls.spawn(Arc::clone(&self).subscribe_later(uri));
        }
    }

    async fn subscribe_later(self: Arc<Self>, uri: String) {
        let target = tokio::select! {
            () = self.cancel.cancelled() => None,
            target = self.state.await_resource(|| self.resource(&uri)) => target,
        };
        let Some(target) = target else { return };
        if self.subscribe(target, uri.clone()).await {
            self.state.listen_streams.notify_restored(self.stream, &uri);
        }
    }

    fn resource(&self, uri: &str) -> Option<ResolvedTarget> {
        self.state.tool_service.resource(&self.viewer, &self.servers, uri)
    }

    /// Whether the subscription was made.
    async fn subscribe(&self, target: ResolvedTarget, uri: String) -> bool {
        let resource = ResourceRef { server: target.server.clone(), target: target.target.clone() };
        let caller = Caller {
            client: Arc::clone(&self.client.entry),
            narrowing: self.viewer.narrowing.clone(),
            session: None,
            client_info: self.client.client_info(),
            peer: self.peer.clone(),
            protocol_family: ProtocolFamily::Stateless,
            user_run: None,
        };
        let call = AccessCall {
            cancel: self.cancel.clone(),
            ..AccessCall::new(target.server, AccessKind::Subscribe, target.target, uri.clone())
        };
        let is_allowed =
            matches!(self.state.tool_service.access(caller, call).await, CallResponse::Result(_));
        if is_allowed {
            self.state.listen_streams.add_resource(self.stream, ResourceSubscription { resource, uri });
        }
        is_allowed
    }
}
