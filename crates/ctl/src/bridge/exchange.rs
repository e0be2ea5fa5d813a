//! One request of the client, from its line to its answer.
//!
//! A request of which anything was sent is never sent again: it may have had an effect. It fails as soon as its
//! connection breaks. Sent again is only what the gateway refused before it looked at it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use tokio::time::Instant;

use super::core::{Bridge, SessionError};
use super::events::{SseEventReader, is_stream};
use super::http::{GatewayResponse, RequestHead, SendError};
use super::in_flight::{InFlightRequest, RequestInFlight};
use super::link::{END_NOTICE, GatewayAccess, RETRY_PAUSE};
use super::listen;
use super::message::{
    Answer, CONNECTION_CLOSED, Family, HEADER_MISMATCH, INVALID_REQUEST, SESSION_NOT_FOUND, StdioMessage,
    StdioRequest, error, parse,
};
use super::session::BridgeSession;
use super::stateless;

/// How long a request may wait for Gatehouse to run, and for room among the others.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often one stream is resumed. Over loopback a stream breaks only if somebody closes it.
const MAX_RESUMPTIONS: usize = 5;

/// Most pages of the list of tools that are read to send one call.
const MAX_PAGES: usize = 100;

/// Where a request goes.
enum Target {
    Session(Arc<BridgeSession>),
    Stateless(Arc<GatewayAccess>),
}

impl Target {
    fn access(&self) -> &Arc<GatewayAccess> {
        match self {
            Self::Session(session) => &session.access,
            Self::Stateless(access) => access,
        }
    }
}

/// What has to be done before a refused request is sent again.
enum Remedy {
    /// The session is unknown: open another one.
    Session,
    /// The token is unknown: read it again.
    Token,
    /// A header for an argument is missing or wrong: read the tools again.
    Headers,
}

/// What became of one attempt.
enum PostAttempt {
    Answered(Bytes),
    /// The client cancelled the request, so that it gets no answer.
    Cancelled,
    NotSent(String),
    Lost(String),
    /// Refused before it was looked at, with this answer.
    Refused {
        answer: Bytes,
        remedy: Remedy,
    },
}

/// Serves one request to its end.
pub(super) async fn serve(bridge: Arc<Bridge>, request: Arc<StdioRequest>, registration: RequestInFlight) {
    let in_flight = Arc::clone(&registration.request);
    let answer = tokio::select! {
        biased;
        () = in_flight.dropped.cancelled() => None,
        answer = answer(&bridge, &request, &in_flight) => answer,
    };
    // The client may use the id again as soon as it has the answer.
    drop(registration);
    if let Some(answer) = answer.filter(|_| !in_flight.is_cancelled()) {
        bridge.out.send(answer).await;
    }
}

async fn answer(bridge: &Arc<Bridge>, request: &StdioRequest, in_flight: &InFlightRequest) -> Option<Bytes> {
    let deadline = Instant::now() + PATIENCE;
    if &*request.method == "subscriptions/listen" && request.family != Family::Stateful {
        return listen::serve(bridge, request, deadline).await;
    }
    let Ok(Ok(_slot)) = tokio::time::timeout_at(deadline, bridge.slots.acquire()).await else {
        return Some(error(
            &request.id,
            CONNECTION_CLOSED,
            "Too many requests are waiting for their answers.",
        ));
    };
    if &*request.method == "initialize" {
        let opened = tokio::time::timeout_at(deadline, bridge.initialize(request)).await;
        return Some(opened.unwrap_or_else(|_| {
            bridge.sessions.abandon();
            bridge.not_running(&request.id)
        }));
    }
    let mut is_repeated = false;
    loop {
        if in_flight.is_cancelled() {
            return None;
        }
        let target = match tokio::time::timeout_at(deadline, target(bridge, request)).await {
            Ok(Ok(target)) => target,
            Ok(Err(answer)) => return Some(answer),
            Err(_) => return Some(bridge.not_running(&request.id)),
        };
        match attempt(bridge, request, in_flight, &target).await {
            PostAttempt::Answered(answer) => return Some(answer),
            PostAttempt::Cancelled => return None,
            PostAttempt::NotSent(_) if Instant::now() >= deadline => {
                return Some(bridge.not_running(&request.id));
            }
            PostAttempt::NotSent(why) => {
                bridge.log.line(&format!("a request was not sent: {why}"));
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            PostAttempt::Lost(why) => {
                bridge.log.line(&format!("a request was lost: {why}"));
                return Some(lost(&request.id));
            }
            PostAttempt::Refused { answer, .. } if is_repeated => return Some(answer),
            PostAttempt::Refused { remedy, .. } => {
                is_repeated = true;
                apply(bridge, request, &target, &remedy).await;
            }
        }
    }
}

/// The answer to a request that may have had an effect.
fn lost(id: &str) -> Bytes {
    error(
        id,
        CONNECTION_CLOSED,
        "Gatehouse ended while this request was under way. It may have had its effect, and was not sent again.",
    )
}

async fn target(bridge: &Arc<Bridge>, request: &StdioRequest) -> Result<Target, Bytes> {
    let refused = |why: String| error(&request.id, CONNECTION_CLOSED, &why);
    match request.family {
        Family::Stateless { .. } => bridge.link.access().await.map(Target::Stateless).map_err(refused),
        Family::Stateful => match bridge.session().await {
            Ok(session) => Ok(Target::Session(session)),
            Err(SessionError::NotInitialized) => {
                Err(error(&request.id, INVALID_REQUEST, "There is no session: begin with initialize."))
            }
            Err(SessionError::Refused(why)) => Err(refused(why)),
        },
    }
}

async fn attempt(
    bridge: &Arc<Bridge>,
    request: &StdioRequest,
    in_flight: &InFlightRequest,
    target: &Target,
) -> PostAttempt {
    let head = match target {
        Target::Session(session) => session.head(Method::POST),
        Target::Stateless(_) => stateless::head(request, &bridge.tools),
    };
    in_flight.mark_sent();
    let response = match bridge.http.send(target.access(), head, request.line.clone()).await {
        Ok(response) => response,
        Err(SendError::NotSent(why)) => return PostAttempt::NotSent(why),
        Err(SendError::Lost(why)) => return PostAttempt::Lost(why),
    };
    in_flight.accepted.cancel();
    if is_stream(&response) {
        return follow(bridge, request, in_flight, target, response).await;
    }
    let status = response.status;
    let body = match response.body.whole().await {
        Ok(body) => body,
        Err(why) => return PostAttempt::Lost(why),
    };
    let Some(Answer { message, code }) = Answer::read(&request.id, &body) else {
        return PostAttempt::Lost(format!("the gateway answered with HTTP {status}"));
    };
    let refused = |remedy| PostAttempt::Refused { answer: message.clone(), remedy };
    match (status, code.and_then(|code| i32::try_from(code).ok()), target) {
        (StatusCode::UNAUTHORIZED, ..) => refused(Remedy::Token),
        (StatusCode::NOT_FOUND, Some(SESSION_NOT_FOUND), Target::Session(_)) => refused(Remedy::Session),
        (StatusCode::BAD_REQUEST, Some(HEADER_MISMATCH), Target::Stateless(_))
            if &*request.method == "tools/call" =>
        {
            refused(Remedy::Headers)
        }
        _ => {
            if code.is_none() {
                bridge.record_accepted(request, &message);
            }
            PostAttempt::Answered(message)
        }
    }
}

/// Passes on the messages of a stream until the answer has come.
async fn follow(
    bridge: &Arc<Bridge>,
    request: &StdioRequest,
    in_flight: &InFlightRequest,
    target: &Target,
    response: GatewayResponse,
) -> PostAttempt {
    let mut reader = SseEventReader::new(response.body, None);
    for _ in 0..MAX_RESUMPTIONS {
        let why = loop {
            let data = match reader.next().await {
                Ok(Some(data)) => data,
                Ok(None) => break "the stream ended".to_owned(),
                Err(why) => break why,
            };
            match parse(data.as_bytes()) {
                Ok(StdioMessage::Response { id, is_result }) if id == &*request.id => {
                    let answer = Bytes::from(data);
                    if is_result {
                        bridge.record_accepted(request, &answer);
                    }
                    return PostAttempt::Answered(answer);
                }
                Ok(_) => bridge.forward(data).await,
                Err(_) => bridge.log.line("the gateway sent something that is no message"),
            }
        };
        if in_flight.is_cancelled() {
            return PostAttempt::Cancelled;
        }
        let (Target::Session(session), Some(last)) = (target, reader.last_id.take()) else {
            return PostAttempt::Lost(why);
        };
        if tokio::time::timeout(END_NOTICE, bridge.link.lost(&session.access)).await.is_ok() {
            return PostAttempt::Lost(why);
        }
        let Some(head) = resumption(session, &last) else { return PostAttempt::Lost(why) };
        match bridge.http.send(&session.access, head, Bytes::new()).await {
            Ok(response) if is_stream(&response) => reader = SseEventReader::new(response.body, Some(last)),
            Ok(_) | Err(_) => return PostAttempt::Lost(why),
        }
    }
    PostAttempt::Lost("the stream broke again and again".to_owned())
}

fn resumption(session: &BridgeSession, last_event: &str) -> Option<RequestHead> {
    let mut head = session.head(Method::GET);
    head.headers.insert("last-event-id", last_event.parse().ok()?);
    Some(head)
}

async fn apply(bridge: &Arc<Bridge>, request: &StdioRequest, target: &Target, remedy: &Remedy) {
    match (remedy, target) {
        (Remedy::Session, Target::Session(session)) => bridge.forget(session).await,
        (Remedy::Session, Target::Stateless(_)) => {}
        (Remedy::Token, target) => bridge.link.renew(target.access()).await,
        (Remedy::Headers, target) => learn_headers(bridge, request, target.access()).await,
    }
}

/// Reads all pages of the list of tools, for the headers that they want.
async fn learn_headers(bridge: &Arc<Bridge>, request: &StdioRequest, access: &Arc<GatewayAccess>) {
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let Some(list) = stateless::list_request(request, cursor.as_deref()) else { return };
        let head = stateless::head(&list, &bridge.tools);
        let Ok(response) = bridge.http.send(access, head, list.line).await else { return };
        let Ok(page) = response.body.whole().await else { return };
        cursor = bridge.tools.learn(&page);
        if cursor.is_none() {
            return;
        }
    }
}
