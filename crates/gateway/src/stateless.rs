//! The revision without sessions (2026-07-28): every request carries client info and version in `_meta`, and
//! repeats parts of the body in MCP headers. No protocol state is kept between requests, except for calls
//! that wait for input and for `subscriptions/listen` streams.

use std::sync::Arc;

use gatehouse_mcp_wire::headers::PROTOCOL_VERSION;
use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::Event;
use gatehouse_tools::{AccessCall, AccessKind, CallEnd, Caller, Era};
use hyper::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::abilities::Abilities;
use crate::calls::{self, Exchange, RunningCall, WhenLost};
use crate::errands::Errand;
use crate::event_log::EventLog;
use crate::fault::Fault;
use crate::intake::{Asked, Step};
use crate::introduction;
use crate::mirror;
use crate::reply::{self, Answer};
use crate::revision::Revision;
use crate::rounds::{Call, Logs, Turn};
use crate::subscriptions;
use crate::watches::Watched;

/// The `_meta` member for the protocol version.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Serves one request. `first` is whether the client is seen for the first time since Gatehouse started.
pub(crate) fn request(asked: &Asked<'_>, first: bool) -> Result<Step, Fault> {
    check(asked)?;
    let says = match asked.meta.and_then(|meta| meta.get(CLIENT_INFO)) {
        Some(info) => asked.client.take_info(info),
        None => asked.client.says(),
    };
    if first {
        asked
            .core
            .events
            .emit(Event::ClientConnected { client: asked.client.entry.id.clone(), says: says.clone() });
    }
    match asked.method {
        "server/discover" => Ok(Step::Done(asked.answer(&Answer::result(introduction::discover())))),
        "tools/list" => {
            let page = asked.core.tool_list().page(asked.params, Revision::STATELESS)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "resources/list" => {
            let page = asked.core.resources().1.page(asked.params, Revision::STATELESS)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "resources/templates/list" => {
            let page = asked.core.templates().1.page(asked.params, Revision::STATELESS)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "prompts/list" => {
            let page = asked.core.prompts().1.page(asked.params, Revision::STATELESS)?;
            Ok(Step::Done(asked.answer(&Answer::result(page))))
        }
        "subscriptions/listen" => listen(asked),
        _ => call(asked, says),
    }
}

/// Checks `_meta` and the MCP headers.
fn check(asked: &Asked<'_>) -> Result<(), Fault> {
    let missing = |what: &str| {
        Fault::invalid_params(format!("The request's _meta lacks {what}, or it has the wrong type."))
    };
    let version = asked.meta.and_then(|meta| meta.text(VERSION)).ok_or_else(|| missing(VERSION))?;
    match mirror::header(asked.headers, &PROTOCOL_VERSION)? {
        None => return Err(Fault::header_mismatch("The header MCP-Protocol-Version is missing.")),
        Some(header) if header == version => {}
        Some(_) => {
            return Err(Fault::header_mismatch(
                "The header MCP-Protocol-Version is not the version in _meta.",
            ));
        }
    }
    if version != Revision::STATELESS.as_str() {
        return Err(Fault::unsupported_version(&version, &[Revision::STATELESS.as_str()]));
    }
    mirror::check_names(asked.headers, asked.method, asked.params)?;
    let capabilities = asked.meta.and_then(|meta| meta.get(CAPABILITIES)).map(Members::of);
    if !matches!(capabilities, Some(Ok(_))) {
        return Err(missing(CAPABILITIES));
    }
    Ok(())
}

fn call(asked: &Asked<'_>, says: Option<String>) -> Result<Step, Fault> {
    let call = Call::of(asked);
    let resumed = asked.core.parked.resume(&call, asked.params);
    if let Some(turn) = resumed.map_err(|why| Fault::new(StatusCode::OK, -32602, why))? {
        let says_how_fresh = asked.method == "resources/read";
        return Ok(exchange(asked, turn, (EventLog::passing(), says_how_fresh)));
    }
    if asked.method == "resources/subscribe" {
        return Err(Fault::unknown_method(asked.method, true));
    }
    let cancel = asked.client.gone.child_token();
    let what = (asked.method, asked.params);
    let mut errand = Errand::read(what, &*asked.core.door, Revision::STATELESS, cancel.clone())?
        .ok_or_else(|| Fault::unknown_method(asked.method, true))?;
    if let Errand::Tool(call) = &errand {
        for header in asked.core.tool_list().headers_of(&call.exposed_name) {
            mirror::check_param(header, asked.headers, call.arguments.as_deref())?;
        }
    }
    let log = EventLog::passing();
    if asked.accepts.events
        && let Some(token) = calls::progress_token(asked.meta)
    {
        errand.report_to(calls::progress_into(&log, token));
    }
    let capabilities = asked.meta.and_then(|meta| meta.get(CAPABILITIES));
    let (asks, questions) = asked.core.parked.begin(Abilities::of(capabilities), logs(asked, &log)?);
    errand.asks_of(Arc::new(asks));
    let caller = Caller {
        client: Arc::clone(&asked.client.entry),
        session: None,
        says,
        peer: asked.peer.clone(),
        era: Era::Stateless,
    };
    let says_how_fresh = errand.says_how_fresh();
    let future = errand.begin(&*asked.core.door, caller);
    Ok(exchange(asked, questions.of(call, future, cancel), (log, says_how_fresh)))
}

/// Which log messages of the server the client wants for this request; `None` if it doesn't set a level.
fn logs(asked: &Asked<'_>, log: &Arc<EventLog>) -> Result<Option<Logs>, Fault> {
    let Some(level) = asked.meta.and_then(|meta| meta.get(LOG_LEVEL)) else { return Ok(None) };
    let least = serde_json::from_str(level.get())
        .map_err(|_| Fault::invalid_params(format!("The member {LOG_LEVEL} of _meta is no level.")))?;
    Ok(asked.accepts.events.then(|| Logs { least, into: Arc::clone(log) }))
}

fn exchange(asked: &Asked<'_>, turn: Turn, (log, says_how_fresh): (Arc<EventLog>, bool)) -> Step {
    let lost = CancellationToken::new();
    Step::Call(
        Box::new(Exchange {
            running: RunningCall::new(turn.run(lost.clone()), lost, WhenLost::Cancel, &asked.core.calls),
            log,
            id: asked.id.to_owned(),
            revision: Revision::STATELESS,
            accepts: asked.accepts,
            says_how_fresh,
        }),
        None,
    )
}

fn listen(asked: &Asked<'_>) -> Result<Step, Fault> {
    if !asked.accepts.events {
        return Err(Fault::new(
            StatusCode::NOT_ACCEPTABLE,
            -32600,
            "Listening needs a stream: Accept must name text/event-stream.",
        ));
    }
    let (wanted, uris) = subscriptions::wanted(asked.params)?;
    let Some((number, log)) = asked.core.subscriptions.listen(&asked.client.entry.id, asked.id, wanted)
    else {
        return Err(Fault::new(StatusCode::OK, -32603, "This client listens on too many streams already."));
    };
    let core = Arc::downgrade(asked.core);
    let gone = asked.client.gone.child_token();
    let lost = gone.clone();
    let reader = log.read().when_lost(move || {
        lost.cancel();
        if let Some(core) = core.upgrade() {
            core.subscriptions.forget(number, &core);
        }
    });
    if uris.is_empty() {
        asked.core.subscriptions.acknowledge(number);
        return Ok(Step::Done(reply::events(reader)));
    }
    // Each subscription is subject to the policy, which may take until the user has answered an approval
    // request.
    let (core, client, peer) = (Arc::clone(asked.core), Arc::clone(asked.client), asked.peer.clone());
    asked.core.calls.spawn(async move {
        for uri in uris {
            let Some(place) = core.door.resource(&uri) else { continue };
            let watched = Watched { server: place.server.clone(), target: place.target.clone() };
            let caller = Caller {
                client: Arc::clone(&client.entry),
                session: None,
                says: client.says(),
                peer: peer.clone(),
                era: Era::Stateless,
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
            if matches!(core.door.access(caller, call).await, CallEnd::Result(_)) {
                core.subscriptions.watch(number, (watched, uri), &core);
            }
        }
        core.subscriptions.acknowledge(number);
    });
    Ok(Step::Done(reply::events(reader)))
}
