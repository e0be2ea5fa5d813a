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
use gatehouse_tools::CallEnd;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use serde_json::value::RawValue;

use crate::abilities::Abilities;
use crate::calls::{self, Exchange, RunningCall, WhenLost};
use crate::changed::Changed;
use crate::clients::ClientState;
use crate::doorstep::Accepts;
use crate::errands::Errand;
use crate::event_log::{self, EventLog};
use crate::fault::Fault;
use crate::gateway::Core;
use crate::inquiries::SessionAsk;
use crate::intake::{Asked, Step, is_stateless, session_id};
use crate::introduction;
use crate::mirror::{self, LAST_EVENT_ID};
use crate::reply::{self, Answer, ReplyBody};
use crate::revision::Revision;
use crate::sessions::{Introduced, Session};
use crate::token;
use crate::watches::{self, Watched};

/// Opens a session.
pub(crate) fn initialize(asked: &Asked<'_>) -> Result<Response<ReplyBody>, Fault> {
    let version = asked
        .params
        .text("protocolVersion")
        .ok_or_else(|| Fault::invalid_params("The member `protocolVersion` must be a text."))?;
    if let Some(header) = mirror::header(asked.headers, &PROTOCOL_VERSION)?
        && header != version
    {
        return Err(Fault::invalid_request(
            "The header MCP-Protocol-Version is not the version in the body.",
        ));
    }
    let agreed = Revision::negotiate(&version);
    let random = token::random::<16>()
        .map_err(|problem| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, -32603, problem.to_string()))?;
    let id = SessionId::new(format!("ses-{}", hex::encode(random)));
    let says = asked.params.get("clientInfo").and_then(|info| asked.client.take_info(info));
    let abilities = Abilities::of(asked.params.get("capabilities"));
    let introduced = Introduced { revision: agreed, abilities, says };
    let (session, surplus) = asked.core.sessions.open(id, asked.client, introduced);
    if let Some(ended) = surplus {
        asked.core.after_session(&ended);
    }
    asked.core.events.emit(Event::ClientConnected {
        client: asked.client.entry.id.clone(),
        says: session.says().map(str::to_owned),
    });
    tracing::debug!(client = %asked.client.entry.id, session = %session.id, version = agreed.as_str(), "a session began");
    let answer = asked.answer(&Answer::result(introduction::initialize(agreed)));
    Ok(reply::with_session(answer, session.id.as_str()))
}

/// The session that a request names, if it belongs to this client. The `MCP-Protocol-Version` header, if
/// present, must name a revision that has sessions; it isn't compared with the negotiated one.
fn session(core: &Core, client: &ClientState, headers: &HeaderMap) -> Result<Arc<Session>, Fault> {
    let found = core.sessions.find(session_id(headers)?, client).ok_or_else(|| {
        Fault::new(StatusCode::NOT_FOUND, -32001, "Session not found: begin anew with initialize.")
    })?;
    let known = match mirror::header(headers, &PROTOCOL_VERSION) {
        Ok(None) => true,
        Ok(Some(version)) => Revision::parse(version).is_some_and(|version| version != Revision::STATELESS),
        Err(_) => false,
    };
    if known {
        Ok(found)
    } else {
        Err(Fault::invalid_request("The header MCP-Protocol-Version names no version that has sessions."))
    }
}

/// Serves one request in its session.
pub(crate) fn request(asked: &Asked<'_>) -> Result<Step, Fault> {
    let session = session(asked.core, asked.client, asked.headers)?;
    match asked.method {
        "logging/setLevel" => set_log_level(asked, &session),
        "ping" => Ok(Step::Done(asked.answer(&Answer::result("{}")))),
        "tools/list" => {
            session.lists_read(Changed { tools: true, ..Changed::default() });
            let page = asked.core.tool_list().page(asked.params, session.revision)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "resources/list" => {
            session.lists_read(Changed { resources: true, ..Changed::default() });
            let page = asked.core.resources().1.page(asked.params, session.revision)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "resources/templates/list" => {
            let page = asked.core.templates().1.page(asked.params, session.revision)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "prompts/list" => {
            session.lists_read(Changed { prompts: true, ..Changed::default() });
            let page = asked.core.prompts().1.page(asked.params, session.revision)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "resources/unsubscribe" => unsubscribe(asked, &session),
        _ => call(asked, session),
    }
}

fn set_log_level(asked: &Asked<'_>, session: &Session) -> Result<Step, Fault> {
    let level =
        asked.params.get("level").and_then(|raw| serde_json::from_str(raw.get()).ok()).ok_or_else(|| {
            Fault::invalid_params(
                "The member `level` must be one of the levels of the specification (debug to emergency).",
            )
        })?;
    session.set_log_level(level);
    asked.core.door.set_log_level(asked.core.sessions.log_level());
    Ok(Step::Done(asked.answer(&Answer::result("{}"))))
}

fn unsubscribe(asked: &Asked<'_>, session: &Session) -> Result<Step, Fault> {
    let uri =
        asked.params.text("uri").ok_or_else(|| Fault::invalid_params("The member `uri` must be a text."))?;
    if let Some(place) = asked.core.door.resource(&uri) {
        let watched = Watched { server: place.server, target: place.target };
        if session.watches.leave(&watched) {
            watches::give_back(&asked.core.door, &asked.core.calls, watched);
        }
    }
    Ok(Step::Done(asked.answer(&Answer::result("{}"))))
}

fn call(asked: &Asked<'_>, session: Arc<Session>) -> Result<Step, Fault> {
    let Some(place) = session.begin_call(asked.id) else {
        return Err(Fault::invalid_request(
            "This id is in use by a request in flight, or too many are in flight.",
        ));
    };
    let cancel = place.cancel.clone();
    let what = (asked.method, asked.params);
    let mut errand = Errand::read(what, &*asked.core.door, session.revision, cancel.clone())?
        .ok_or_else(|| Fault::unknown_method(asked.method, false))?;
    let number = session.next_stream();
    let log = EventLog::numbered(number, &asked.core.kept_bytes, &session.client.entry.id);
    if asked.accepts.events
        && let Some(token) = calls::progress_token(asked.meta)
    {
        errand.report_to(calls::progress_into(&log, token));
    }
    errand.listened_to(log.listening());
    if asked.accepts.events {
        errand.asks_of(Arc::new(SessionAsk { session: Arc::clone(&session), log: Arc::clone(&log) }));
    }
    let says_how_fresh = errand.says_how_fresh();
    let subscribes = errand.subscribes_to();
    if subscribes.as_ref().is_some_and(|(watched, _)| session.watches.has(watched)) {
        return Ok(Step::Done(asked.answer(&Answer::result("{}"))));
    }
    let answer = errand.begin(&*asked.core.door, session.caller(asked.peer.clone()));
    let (core, own) = (Arc::clone(asked.core), Arc::clone(&session));
    let future = Box::pin(async move {
        let end = answer.await;
        if let (Some((watched, uri)), CallEnd::Result(_)) = (subscribes, &end) {
            let kept = own.watches.enter(watched.clone(), uri);
            if !kept || (own.ended.is_cancelled() && own.watches.leave(&watched)) {
                watches::give_back(&core.door, &core.calls, watched);
            }
        }
        drop(place);
        end
    });
    let exchange = Exchange {
        running: RunningCall::new(future, cancel, WhenLost::RunOn(Arc::clone(&log)), &asked.core.calls),
        log,
        id: asked.id.to_owned(),
        revision: session.revision,
        accepts: asked.accepts,
        says_how_fresh,
    };
    Ok(Step::Call(Box::new(exchange), Some((session, number))))
}

/// A response to a request of the gateway: its id, and the result or the error.
pub(crate) type Answered<'a> = (Option<&'a str>, Option<Result<&'a RawValue, &'a RawValue>>);

/// Handles a response to a request of the gateway.
pub(crate) fn answered(
    core: &Core,
    client: &ClientState,
    headers: &HeaderMap,
    (id, outcome): Answered<'_>,
) -> Result<Response<ReplyBody>, Fault> {
    let session = session(core, client, headers)?;
    let id = id.and_then(|id| serde_json::from_str::<String>(id).ok());
    if let (Some(id), Some(outcome)) = (id, outcome) {
        let answer = outcome.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
        session.answered(&id, answer);
    }
    Ok(reply::empty(StatusCode::ACCEPTED))
}

/// Handles a notification.
pub(crate) fn take(
    core: &Core,
    client: &ClientState,
    headers: &HeaderMap,
    (method, params): (&str, &Members<'_>),
) -> Result<Response<ReplyBody>, Fault> {
    let session = session(core, client, headers)?;
    if method == "notifications/cancelled"
        && let Some(id) = params.get("requestId")
    {
        session.cancel_call(id.get());
    }
    Ok(reply::empty(StatusCode::ACCEPTED))
}

/// Opens the GET stream of a session, or resumes a stream that broke.
pub(crate) fn listen(
    core: &Arc<Core>,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Response<ReplyBody>, Fault> {
    if is_stateless(headers) {
        return Ok(reply::method_not_allowed("POST"));
    }
    let session = session(core, client, headers)?;
    if !Accepts::of(headers).events {
        return Err(Fault::new(StatusCode::NOT_ACCEPTABLE, -32600, "Accept must name text/event-stream."));
    }
    let Some(last) = mirror::header(headers, &LAST_EVENT_ID)? else {
        return Ok(reply::events(session.stand().read()));
    };
    let gone = || Fault::invalid_request("The stream of this event is not kept any more.");
    let (stream, after) = event_log::parse_id(last).ok_or_else(gone)?;
    let reader = session.stream(stream).and_then(|log| log.resume(after)).ok_or_else(gone)?;
    Ok(reply::events(reader))
}

/// Ends a session.
pub(crate) fn end(
    core: &Arc<Core>,
    client: &ClientState,
    headers: &HeaderMap,
) -> Result<Response<ReplyBody>, Fault> {
    if is_stateless(headers) {
        return Ok(reply::method_not_allowed("POST"));
    }
    let session = session(core, client, headers)?;
    core.end_session(&session);
    Ok(reply::empty(StatusCode::NO_CONTENT))
}
