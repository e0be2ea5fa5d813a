//! The revisions with sessions (2025-11-25 and older): `initialize` opens a session, and every later request
//! names it. A session from before a restart is resumed first (`protocol/session_resumption.rs`).
//!
//! A broken connection doesn't cancel a call that was already sent upstream; only a cancellation by the
//! client or the end of its session does. A call that still waits for approval is held back until the client
//! resumes the stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_mcp_wire::headers::PROTOCOL_VERSION;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_tools::{CallResponse, Peer, ProgressCallback};
use hyper::StatusCode;
use serde_json::value::RawValue;

use crate::clients::capabilities::ClientCapabilities;
use crate::protocol::calls::{self, CallExchange, CallStream, DispatchedCall, OnDisconnect};
use crate::protocol::envelope::ClientResponse;
use crate::protocol::initialize::EndpointDescription;
use crate::protocol::mcp_headers::{self, LAST_EVENT_ID};
use crate::protocol::protocol_compat;
use crate::protocol::request::{HandlerOutcome, RequestOrigin, RpcRequest};
use crate::protocol::response::{HandlerResponse, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::protocol::service_request::ServiceRequest;
use crate::protocol::session_resumption;
use crate::protocol::session_roots;
use crate::protocol::state::ProtocolState;
use crate::revision::Revision;
use crate::session::changed_lists::ChangedLists;
use crate::session::client_sessions::OpenedSession;
use crate::session::event_log::{self, EventLog};
use crate::session::identity::SessionInit;
use crate::session::resource_subscriptions::ResourceRef;
use crate::session::server_requests::SessionPeer;
use crate::session::sessions::{CallCancellation, Session};

/// Opens a session.
pub(crate) fn initialize(request: &RpcRequest<'_>) -> Result<HandlerResponse, HttpRpcError> {
    let is_initialized_before = || HttpRpcError::invalid_request("This connection was initialized before.");
    if request.origin.sse.is_some_and(|connection| connection.session.get().is_some()) {
        return Err(is_initialized_before());
    }
    let version = request
        .params
        .text("protocolVersion")
        .ok_or_else(|| HttpRpcError::invalid_params("The member `protocolVersion` must be a text."))?;
    if let Some(header) = mcp_headers::header(request.origin.headers, &PROTOCOL_VERSION)?
        && header != version
    {
        return Err(HttpRpcError::invalid_request(
            "The header MCP-Protocol-Version is not the version in the body.",
        ));
    }
    let agreed = Revision::negotiate(&version);
    let client_info =
        request.params.get("clientInfo").and_then(|info| request.origin.client.record_client_info(info));
    let client_capabilities = ClientCapabilities::parse(request.params.get("capabilities"));
    let description =
        EndpointDescription::of(&*request.state.tool_service, request.origin.viewer, request.origin.servers)
            .ok_or_else(HttpRpcError::no_such_endpoint)?;
    let init = SessionInit {
        servers: request.origin.servers.clone(),
        revision: agreed,
        client_capabilities,
        client_info,
        narrowing: request.origin.viewer.narrowing.clone(),
        view: request.state.tool_service.view_key(request.origin.viewer),
        only_stream: request.origin.sse.map(|connection| Arc::clone(&connection.log)),
    };
    let identity =
        request.state.saved_sessions.identify(&request.origin.client.entry, &init).map_err(|error| {
            HttpRpcError::new(StatusCode::INTERNAL_SERVER_ERROR, -32603, error.to_string())
        })?;
    let OpenedSession { session, evicted } =
        request.state.sessions.open(identity, request.origin.client, init);
    if let Some(evicted) = evicted {
        request.state.on_session_ended(&evicted);
    }
    request.state.on_session_opened(&session);
    let response = request.response(&RpcResponse::result(description.initialize(agreed)));
    let opened_session = match request.origin.sse {
        None => Some(session.header.clone()),
        // The client knows the connection, not the session.
        Some(connection) => {
            let set = connection.session.set(Arc::clone(&session));
            // Its stream may have ended meanwhile, and then nobody else ends the session.
            if set.is_err() || connection.log.ended_at().is_some() {
                request.state.end_session(&session);
            }
            set.map_err(|_| is_initialized_before())?;
            None
        }
    };
    Ok(HandlerResponse { opened_session, ..response })
}

/// The session that a request names, if it belongs to this client. The `MCP-Protocol-Version` header, if
/// present, must name a revision that has sessions; it isn't compared with the negotiated one.
fn session(state: &ProtocolState, origin: &RequestOrigin<'_>) -> Result<Arc<Session>, HttpRpcError> {
    let found = match origin.sse {
        Some(connection) => connection.session.get().filter(|session| !session.ended.is_cancelled()).cloned(),
        None => state.sessions.find(mcp_headers::session_id(origin.headers)?, origin.viewer, origin.servers),
    };
    let found = found.ok_or_else(HttpRpcError::no_such_session)?;
    let has_known_version = match mcp_headers::header(origin.headers, &PROTOCOL_VERSION) {
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
    let session = session(request.state, &request.origin)?;
    match request.method {
        "logging/setLevel" => set_log_level(request, &session),
        "ping" => Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}")))),
        "tools/list" => {
            if session.mark_lists_read(ChangedLists { tools: true, ..ChangedLists::default() }) {
                request.state.announce_tool_list(request.origin.client);
            }
            let page = request
                .state
                .lists
                .of(&session.viewer(), &session.servers)
                .tools()
                .page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/list" => {
            session.mark_lists_read(ChangedLists { resources: true, ..ChangedLists::default() });
            let page = request
                .state
                .lists
                .of(&session.viewer(), &session.servers)
                .resources()
                .page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/templates/list" => {
            let page = request
                .state
                .lists
                .of(&session.viewer(), &session.servers)
                .templates()
                .page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "prompts/list" => {
            session.mark_lists_read(ChangedLists { prompts: true, ..ChangedLists::default() });
            let page = request
                .state
                .lists
                .of(&session.viewer(), &session.servers)
                .prompts()
                .page(request.params, session.revision)?;
            Ok(HandlerOutcome::Done(request.response(&RpcResponse::result(page))))
        }
        "resources/unsubscribe" => unsubscribe(request, &session),
        _ => call(request, session),
    }
}

fn set_log_level(request: &RpcRequest<'_>, session: &Arc<Session>) -> Result<HandlerOutcome, HttpRpcError> {
    let level = request.params.get("level").and_then(|raw| serde_json::from_str(raw.get()).ok()).ok_or_else(
        || {
            HttpRpcError::invalid_params(
                "The member `level` must be one of the levels of the specification (debug to emergency).",
            )
        },
    )?;
    session.set_log_level(level);
    request.state.save_session(session);
    request.state.tool_service.set_log_level(request.state.sessions.log_level());
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn unsubscribe(request: &RpcRequest<'_>, session: &Arc<Session>) -> Result<HandlerOutcome, HttpRpcError> {
    let uri = request
        .params
        .text("uri")
        .ok_or_else(|| HttpRpcError::invalid_params("The member `uri` must be a text."))?;
    session.resource_subscriptions.settle(&uri);
    if let Some(target) = request.state.tool_service.resource(&session.viewer(), &session.servers, &uri) {
        let resource = ResourceRef { server: target.server, target: target.target };
        if session.resource_subscriptions.remove(&resource) {
            request.state.subscription_releaser.release(resource);
        }
    }
    request.state.save_session(session);
    Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))))
}

fn call(request: &RpcRequest<'_>, session: Arc<Session>) -> Result<HandlerOutcome, HttpRpcError> {
    let Some(registration) = session.register_call(request.id) else {
        return Err(HttpRpcError::invalid_request(
            "This id is in use by a request in flight, or too many are in flight.",
        ));
    };
    if request.method == "tools/call" && session.mark_tool_called() {
        request.state.announce_tool_list(request.origin.client);
    }
    let CallCancellation { token: cancel, reason: cancel_reason, by_client } =
        registration.cancellation.clone();
    let mut service_request =
        ServiceRequest::parse(request, &session.viewer(), session.revision, cancel.clone())?
            .ok_or_else(|| HttpRpcError::unknown_method(request.method, session.revision))?;
    service_request.set_cancel_reason(cancel_reason);
    let (log, stream) = match &session.only_stream {
        Some(stream) => (Arc::clone(stream), CallStream::Shared),
        None => {
            let number = session.next_stream();
            let log = EventLog::numbered(number, &request.state.retained_bytes, &session.client.entry.id);
            (log, CallStream::Resumable { session: Arc::clone(&session), number })
        }
    };
    let is_answered = Arc::new(AtomicBool::new(false));
    if request.origin.accepts.events
        && let Some(token) = calls::progress_token(request.meta)
    {
        let during = calls::progress_callback(&log, token);
        service_request.set_progress_callback(if request.params.get("task").is_some() {
            task_progress_callback(during, Arc::clone(&is_answered), &session, token)
        } else {
            during
        });
    }
    service_request.set_client_presence(log.client_presence());
    if request.origin.accepts.events {
        service_request
            .set_client_peer(Arc::new(SessionPeer { session: Arc::clone(&session), log: Arc::clone(&log) }));
    }
    let has_cache_hints = service_request.has_cache_hints();
    let subscription = service_request.subscription();
    if subscription.as_ref().is_some_and(|new| session.resource_subscriptions.contains(&new.resource)) {
        return Ok(HandlerOutcome::Done(request.response(&RpcResponse::result("{}"))));
    }
    if subscription.is_some() && session.resource_subscriptions.is_full() {
        return Err(HttpRpcError::invalid_request(
            "This session is subscribed to too many resources: end some with resources/unsubscribe.",
        ));
    }
    let dispatched =
        service_request.dispatch(&*request.state.tool_service, session.caller(request.peer.clone()));
    let (state, own_session) = (Arc::clone(request.state), Arc::clone(&session));
    let future = Box::pin(async move {
        let response = dispatched.await;
        is_answered.store(true, Ordering::SeqCst);
        if let (Some(subscription), CallResponse::Result(_)) = (subscription, &response) {
            state.add_subscription(&own_session, subscription);
        }
        drop(registration);
        response
    });
    let on_disconnect = match stream {
        CallStream::Shared => OnDisconnect::Cancel,
        CallStream::Transient | CallStream::Resumable { .. } => OnDisconnect::KeepRunning(Arc::clone(&log)),
    };
    let exchange = CallExchange {
        running: DispatchedCall::new(future, cancel, on_disconnect, &request.state.calls),
        log,
        id: request.id.to_owned(),
        revision: session.revision,
        accepts: request.origin.accepts,
        has_cache_hints,
        stream,
        cancelled_by_client: by_client,
    };
    Ok(HandlerOutcome::Call(Box::new(exchange)))
}

/// The progress sink of a call that is to become a task: on the stream of the call until that is answered with the task,
/// and then on the stream for what belongs to no request.
fn task_progress_callback(
    during: ProgressCallback,
    is_answered: Arc<AtomicBool>,
    session: &Arc<Session>,
    token: &str,
) -> ProgressCallback {
    let (session, token) = (Arc::downgrade(session), token.to_owned());
    Arc::new(move |params: Box<RawValue>| {
        if !is_answered.load(Ordering::SeqCst) {
            during(params);
        } else if let Some(session) = session.upgrade()
            && let Some(params) = protocol_compat::with_progress_token(&params, &token)
        {
            session.push_notification("notifications/progress", &params);
        }
    })
}

/// Handles a response to a request of the gateway.
pub(crate) fn handle_response(
    state: &ProtocolState,
    origin: &RequestOrigin<'_>,
    response: ClientResponse<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, origin)?;
    let id = response.id.and_then(|id| serde_json::from_str::<String>(id).ok());
    if let (Some(id), Some(outcome)) = (id, response.outcome) {
        let outcome = outcome.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        session.handle_response(&id, outcome);
    }
    Ok(HandlerResponse::empty(StatusCode::ACCEPTED))
}

pub(crate) fn handle_notification(
    state: &Arc<ProtocolState>,
    origin: &RequestOrigin<'_>,
    method: &str,
    params: &Members<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    let session = session(state, origin)?;
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        session.cancel_call(id.get(), params.text("reason").as_deref());
    }
    // Over HTTP+SSE the stream is there from the beginning.
    let is_ready = method == "notifications/initialized" && session.only_stream.is_some();
    if is_ready || method == "notifications/roots/list_changed" {
        session_roots::ask(state, &session);
    }
    Ok(HandlerResponse::empty(StatusCode::ACCEPTED))
}

/// Opens the GET stream of a session, or resumes a stream that broke.
pub(crate) async fn listen(
    state: &Arc<ProtocolState>,
    origin: &RequestOrigin<'_>,
    peer: &Peer,
) -> Result<HandlerResponse, HttpRpcError> {
    session_resumption::resume(state, origin, peer).await;
    let session = session(state, origin)?;
    if !origin.accepts.events {
        return Err(HttpRpcError::events_not_accepted());
    }
    let Some(last) = mcp_headers::header(origin.headers, &LAST_EVENT_ID)? else {
        let reader = session.open_notification_stream().read();
        session_roots::ask(state, &session);
        return Ok(HandlerResponse::events(reader));
    };
    let unknown_event = || HttpRpcError::invalid_request("The stream of this event is not kept any more.");
    let (stream, after) = event_log::parse_id(last).ok_or_else(unknown_event)?;
    let reader = match session.stream(stream) {
        Some(log) => log.resume(after),
        None => session.replace_lost_stream(stream).map(|log| log.read()),
    };
    let reader = reader.ok_or_else(unknown_event)?;
    Ok(HandlerResponse::events(reader))
}

/// Ends a session for good.
pub(crate) async fn end(
    state: &Arc<ProtocolState>,
    origin: &RequestOrigin<'_>,
) -> Result<HandlerResponse, HttpRpcError> {
    session_resumption::resume_without_subscriptions(state, origin).await;
    let (session, owned) = (session(state, origin)?, Arc::clone(state));
    // In a task, since a client may close the connection without waiting for the response.
    let ended = state.calls.spawn(async move { owned.delete_session(&session).await });
    if let Err(error) = ended.await {
        tracing::error!(%error, "ending a session failed");
    }
    Ok(HandlerResponse::empty(StatusCode::NO_CONTENT))
}
