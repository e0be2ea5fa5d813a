//! Dispatches a call to its server, and again if the server requires input first. What the client can't answer
//! itself is answered here, round by round (input required of 2026-07-28, and error `-32042` of the older
//! revisions). The call remains the one that was approved.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gatehouse_mcp_wire::raw::{Members, object, quoted, raw};
use gatehouse_model::{CallId, Decision, Rule};
use gatehouse_servers::{
    CallError, ELICIT, OutgoingParams, Reply, ServerAnswer, ServerRequest, UpstreamCall, answered,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call::{AccessKind, Era};
use crate::door::Course;
use crate::inquiries::{Inquiry, OfCall};
use crate::manager::Inner;
use crate::request::{Request, Target};
use crate::rounds::{InputRequired, URL_ELICITATION, by_a_person};
use crate::runs::RunId;
use crate::texts;

/// Most rounds of one call that are answered here.
const MOST_ROUNDS: u32 = 10;
/// Retries of a call that first needs the user to open a page (SRV-15).
const RETRIES: u32 = 3;
/// Delay before a call is sent again if the server requires no input but only another request.
const LATER: Duration = Duration::from_secs(1);
const INTERNAL: i32 = -32603;

const CHANGED: &str = "This server changed while it worked on the call, so what it wanted next was not sent to it. Whether the call did anything is not known.";
const REVOKED: &str =
    "What allowed this call does so no more, so what the server wanted next was not sent to it.";

/// Input for the next round.
struct Round {
    responses: Option<Box<RawValue>>,
    state: Option<Box<RawValue>>,
}

/// Outcome of sending a call.
pub(crate) enum Sent {
    /// The server's answer.
    Answered(Result<Reply, CallError>),
    /// Nothing was sent because the server has changed.
    Nothing,
    /// The first round was sent and a later one was not, for this reason.
    Stopped(String),
}

/// Outcome of one round.
enum Next {
    /// The answer for the client.
    Done(Result<Reply, CallError>),
    /// The server requires this first.
    Again(Round),
}

impl Inner {
    /// Sends a call and answers its rounds until it ends. Each round after the first is judged again, and is
    /// sent only to the same generation of the server as the first.
    pub(crate) async fn send(
        self: &Arc<Self>,
        request: &Request,
        id: &CallId,
        course: &Course,
        run: Option<RunId>,
    ) -> Sent {
        let matter = &course.resolved.matter;
        let asks = OfCall::new(self, matter, request.asks.clone(), run);
        let mut params = request.params(matter.origin.tool().map(|tool| &*tool.name_json));
        let (mut rounds, mut pages) = (0, 0);
        loop {
            let is_first = rounds == 0 && pages == 0;
            let answer = match self.send_once(request, id, course, (&asks, params.clone())).await {
                None if is_first => return Sent::Nothing,
                None => return Sent::Stopped(CHANGED.to_owned()),
                Some(Err(CallError::SessionLost)) if !is_first => return Sent::Stopped(CHANGED.to_owned()),
                Some(answer) => answer,
            };
            let next = match answer {
                Ok(Reply::Result(result)) if wants_input(&result) && rounds < MOST_ROUNDS => {
                    rounds += 1;
                    self.input(course, &asks, result).await
                }
                Ok(Reply::Error(error)) if is_page(&error) && pages < RETRIES => {
                    pages += 1;
                    self.page(course, &asks, error).await
                }
                answer => Next::Done(answer),
            };
            match next {
                Next::Done(answer) => return Sent::Answered(answer),
                Next::Again(round) => {
                    if let Some(why) = self.ends_before_next_round(request, course).await {
                        return Sent::Stopped(why);
                    }
                    round.put_into(&mut params);
                }
            }
        }
    }

    /// The reason why the next round of a call must not be sent, if there is one.
    async fn ends_before_next_round(&self, request: &Request, course: &Course) -> Option<String> {
        let matter = &course.resolved.matter;
        let verdict = self.judge(matter, false).await;
        if self.gone.lock().contains(&matter.caller.client.id) {
            return Some(REVOKED.to_owned());
        }
        let by_rule = !by_a_person(&course.verdict.rule) && course.verdict.rule != Rule::ByUser;
        match verdict.decision {
            Decision::Deny => Some(texts::refusal(&verdict.rule, None, request.words())),
            Decision::Ask if by_rule => Some(REVOKED.to_owned()),
            Decision::Ask | Decision::Allow => None,
        }
    }

    async fn send_once(
        self: &Arc<Self>,
        request: &Request,
        id: &CallId,
        course: &Course,
        (asks, params): (&OfCall, OutgoingParams),
    ) -> Option<Result<Reply, CallError>> {
        let (handle, matter) = (&course.resolved.handle, &course.resolved.matter);
        if let Target::Access { kind: AccessKind::Subscribe, target, .. } = &request.target {
            return Some(handle.watch(matter.generation(), target).await);
        }
        let call = UpstreamCall {
            method: request.method(),
            params,
            progress: Some(self.progress(request, id)),
            responder: Some(asks.responder()),
            cancel: request.cancel.clone(),
        };
        match &course.resolved.lists {
            Some(lists) => handle.call_as_listed(lists, call).await.transpose(),
            None => Some(handle.call_generation(matter.generation(), call).await),
        }
    }

    /// Answers the input that a server requires.
    async fn input(&self, course: &Course, asks: &OfCall, result: Box<RawValue>) -> Next {
        let Ok(wanted) = serde_json::from_str::<InputRequired<'_>>(result.get()) else {
            return Next::Done(Ok(Reply::Result(result)));
        };
        let requests = wanted.input_requests.and_then(|raw| Members::of(raw).ok());
        let requests: Vec<(String, Option<ServerRequest>)> = requests
            .iter()
            .flat_map(Members::iter)
            .map(|(name, raw)| (name.to_owned(), self.inquiry(course, raw)))
            .collect();
        let native = course.resolved.matter.caller.era == Era::Stateless
            && requests.iter().all(|(_, request)| {
                request.as_ref().and_then(Inquiry::of).is_some_and(|what| asks.can(what))
            });
        if native {
            return Next::Done(Ok(Reply::Result(result)));
        }
        let state = wanted.request_state.map(ToOwned::to_owned);
        if requests.is_empty() {
            tokio::time::sleep(LATER).await;
            return Next::Again(Round { responses: None, state });
        }
        let answers = join_all(requests.into_iter().map(async |(name, request)| {
            let answer: ServerAnswer = match request {
                Some(request) => answered(asks, request, self.servers.schemas()).await,
                None => Err(error("The server asks for something that nobody can answer.")),
            };
            (name, answer)
        }))
        .await;
        let mut responses = Vec::with_capacity(answers.len());
        for (name, answer) in answers {
            match answer {
                Ok(answer) => responses.push((name, answer)),
                Err(error) => return Next::Done(Ok(Reply::Error(error))),
            }
        }
        let responses = object(responses.iter().map(|(name, answer)| (name.as_str(), &**answer)));
        Next::Again(Round { responses: Some(raw(responses)), state })
    }

    fn inquiry(&self, course: &Course, request: &RawValue) -> Option<ServerRequest> {
        let members = Members::of(request).ok()?;
        let params = members.get("params").map_or_else(|| raw("{}".to_owned()), ToOwned::to_owned);
        let server = Arc::clone(&course.resolved.matter.config);
        Some(ServerRequest { server, method: members.text("method")?.into(), params })
    }

    /// Opens the pages for the user that a server of an older revision requires.
    async fn page(&self, course: &Course, asks: &OfCall, refusal: Box<RawValue>) -> Next {
        #[derive(Deserialize)]
        struct Refusal<'a> {
            #[serde(borrow)]
            data: Option<Pages<'a>>,
        }
        #[derive(Deserialize)]
        struct Pages<'a> {
            #[serde(borrow, default)]
            elicitations: Vec<&'a RawValue>,
        }
        let native = course.resolved.matter.caller.era == Era::Stateful && asks.can(Inquiry::Url);
        let pages: Vec<Box<RawValue>> = match serde_json::from_str::<Refusal<'_>>(refusal.get()) {
            Ok(Refusal { data: Some(Pages { elicitations }) }) if !native => {
                elicitations.into_iter().map(ToOwned::to_owned).collect()
            }
            Ok(_) | Err(_) => Vec::new(),
        };
        if pages.is_empty() {
            return Next::Done(Ok(Reply::Error(refusal)));
        }
        let asks = asks.until_done();
        for params in pages {
            let server = Arc::clone(&course.resolved.matter.config);
            let request = ServerRequest { server, method: ELICIT.into(), params };
            let accepted = match answered(&asks, request, self.servers.schemas()).await {
                Ok(answer) => Members::of(&answer)
                    .is_ok_and(|answer| answer.text("action").as_deref() == Some("accept")),
                Err(_) => false,
            };
            if !accepted {
                return Next::Done(Ok(Reply::Error(refusal)));
            }
        }
        Next::Again(Round { responses: None, state: None })
    }
}

impl Round {
    fn put_into(self, params: &mut OutgoingParams) {
        params.members.retain(|(name, _)| !crate::request::ROUND.contains(&&**name));
        let members = [("inputResponses", self.responses), ("requestState", self.state)];
        for (name, value) in members {
            if let Some(value) = value {
                params.members.push((name.into(), value));
            }
        }
    }
}

fn wants_input(result: &RawValue) -> bool {
    memchr::memmem::find(result.get().as_bytes(), b"input_required").is_some()
        && serde_json::from_str::<InputRequired<'_>>(result.get())
            .is_ok_and(|read| read.result_type.as_deref() == Some("input_required"))
}

fn is_page(error: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Code {
        code: i64,
    }
    serde_json::from_str::<Code>(error.get()).is_ok_and(|error| error.code == i64::from(URL_ELICITATION))
}

fn error(message: &str) -> Box<RawValue> {
    raw(format!(r#"{{"code":{INTERNAL},"message":{}}}"#, quoted(message)))
}
