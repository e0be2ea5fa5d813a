//! Dispatches a call to its server, and again if the server requires input first. What the client can't answer
//! itself is answered here, round by round (input required of 2026-07-28, and error `-32042` of the older
//! revisions). The call remains the one that was approved.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gatehouse_mcp_wire::raw::{Members, object, quoted, raw};
use gatehouse_model::{CallId, Decision, Rule};
use gatehouse_servers::{
    ELICITATION_CREATE, RequestParams, RpcOutcome, ServerRequest, ServerRequestResult, UpstreamError,
    UpstreamErrorKind, UpstreamRequest, handle_server_request,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call_types::client_peer::ClientFeature;
use crate::call_types::{AccessKind, ProtocolFamily};
use crate::calls::call_state::CallState;
use crate::calls::client_request::{ClientRequest, RequestTarget};
use crate::calls::input_required::{InputRequired, URL_ELICITATION, is_user_answer};
use crate::calls::pipeline_state::CallPipeline;
use crate::calls::refusal_messages;
use crate::calls::server_requests::CallResponder;
use crate::shared_runs::RunHandle;

/// Most rounds of one call that are answered here.
const MAX_ROUNDS: u32 = 10;
/// Retries of a call that first needs the user to open a page (SRV-15).
const RETRIES: u32 = 3;
/// Delay before a call is sent again if the server requires no input but only another request.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const INTERNAL: i32 = -32603;

const SERVER_CHANGED: &str = "This server changed while it worked on the call, so what it wanted next was not sent to it. Whether the call did anything is not known.";
pub(super) const PERMISSION_REVOKED: &str =
    "What allowed this call does so no more, so what the server wanted next was not sent to it.";

/// One round of a call.
struct Round<'a> {
    /// Answers requests of the server.
    call_responder: &'a CallResponder,
    params: RequestParams,
}

/// Input for the next round.
struct NextRound {
    responses: Option<Box<RawValue>>,
    state: Option<Box<RawValue>>,
}

/// Outcome of sending a call.
pub(crate) enum SendOutcome {
    /// The server's answer.
    Answered(Result<RpcOutcome, UpstreamError>),
    /// Nothing was sent because the server has changed.
    Nothing,
    /// The first round was sent and a later one was not, for this reason.
    Stopped(String),
}

enum RoundOutcome {
    /// The answer for the client.
    Done(Result<RpcOutcome, UpstreamError>),
    /// The server requires this first.
    Again(NextRound),
}

impl CallPipeline {
    /// Sends a call and answers its rounds until it ends. Each round after the first is judged again, and is
    /// sent only to the same generation of the server as the first.
    pub(crate) async fn send(
        self: &Arc<Self>,
        request: &ClientRequest,
        id: &CallId,
        call_state: &CallState,
        run: Option<RunHandle>,
    ) -> SendOutcome {
        let pending_call = &call_state.resolved.pending_call;
        let call_responder = CallResponder::new(self, pending_call, request.client_peer.clone(), run);
        let mut params = request.params(pending_call.origin.tool().map(|tool| &*tool.name_json));
        let (mut rounds, mut pages) = (0, 0);
        loop {
            let is_first = rounds == 0 && pages == 0;
            let answer = match self
                .send_once(
                    request,
                    id,
                    call_state,
                    Round { call_responder: &call_responder, params: params.clone() },
                )
                .await
            {
                None if is_first => return SendOutcome::Nothing,
                None => return SendOutcome::Stopped(SERVER_CHANGED.to_owned()),
                Some(Err(error)) if error.kind == UpstreamErrorKind::SessionLost && !is_first => {
                    return SendOutcome::Stopped(SERVER_CHANGED.to_owned());
                }
                Some(answer) => answer,
            };
            // What the server requires is not asked any longer than the client waits.
            let cancel = &request.cancel;
            let next = match answer {
                Ok(RpcOutcome::Result(result)) if is_input_required(&result) && rounds < MAX_ROUNDS => {
                    rounds += 1;
                    let answers = self.answer_input_required(call_state, &call_responder, result);
                    cancel.run_until_cancelled(answers).await
                }
                Ok(RpcOutcome::Error(error)) if is_url_elicitation(&error) && pages < RETRIES => {
                    pages += 1;
                    cancel.run_until_cancelled(self.open_pages(call_state, &call_responder, error)).await
                }
                answer => Some(RoundOutcome::Done(answer)),
            };
            match next {
                None => return SendOutcome::Answered(Err(UpstreamErrorKind::Cancelled.into())),
                Some(RoundOutcome::Done(answer)) => return SendOutcome::Answered(answer),
                Some(RoundOutcome::Again(round)) => {
                    if let Some(why) = self.refusal_of_next_round(request, call_state).await {
                        return SendOutcome::Stopped(why);
                    }
                    round.apply_to(&mut params);
                }
            }
        }
    }

    /// The reason why the next round of a call must not be sent, if there is one.
    async fn refusal_of_next_round(&self, request: &ClientRequest, call_state: &CallState) -> Option<String> {
        let pending_call = &call_state.resolved.pending_call;
        let verdict = self.decide(pending_call, false).await;
        if self.revoked_clients.lock().contains(&pending_call.caller.client.id) {
            return Some(PERMISSION_REVOKED.to_owned());
        }
        match verdict.decision {
            Decision::Deny => Some(refusal_messages::refusal(&verdict.rule, None, request.words())),
            Decision::Ask if is_by_grant(&call_state.verdict.rule) => Some(PERMISSION_REVOKED.to_owned()),
            Decision::Ask | Decision::Allow => None,
        }
    }

    async fn send_once(
        self: &Arc<Self>,
        request: &ClientRequest,
        id: &CallId,
        call_state: &CallState,
        round: Round<'_>,
    ) -> Option<Result<RpcOutcome, UpstreamError>> {
        let (handle, pending_call) = (&call_state.resolved.handle, &call_state.resolved.pending_call);
        if let RequestTarget::Access { kind: AccessKind::Subscribe, target, .. } = &request.target {
            return Some(handle.watch(pending_call.generation(), target).await);
        }
        let call = UpstreamRequest {
            method: request.method(),
            params: round.params,
            progress: Some(self.progress(request, id)),
            responder: Some(round.call_responder.responder()),
            cancel: request.cancel.clone(),
            cancel_reason: request.cancel_reason.clone(),
            client: Some(request.calling_client()),
            wire: pending_call.caller.wire(),
        };
        match &call_state.resolved.lists {
            Some(lists) => handle.call_if_unchanged(lists, call).await.transpose(),
            None => Some(handle.call_generation(pending_call.generation(), call).await),
        }
    }

    /// Answers the input that a server requires.
    async fn answer_input_required(
        &self,
        call_state: &CallState,
        call_responder: &CallResponder,
        result: Box<RawValue>,
    ) -> RoundOutcome {
        let Ok(wanted) = serde_json::from_str::<InputRequired<'_>>(result.get()) else {
            return RoundOutcome::Done(Ok(RpcOutcome::Result(result)));
        };
        let requests = wanted.input_requests.and_then(|raw| Members::of(raw).ok());
        let requests: Vec<(String, Option<ServerRequest>)> = requests
            .iter()
            .flat_map(Members::iter)
            .map(|(name, raw)| (name.to_owned(), self.parse_server_request(call_state, name, raw)))
            .collect();
        let native = call_state.resolved.pending_call.caller.protocol_family == ProtocolFamily::Stateless
            && requests.iter().all(|(_, request)| {
                request.as_ref().and_then(ClientFeature::of).is_some_and(|what| call_responder.can(what))
            });
        if native {
            return RoundOutcome::Done(Ok(RpcOutcome::Result(result)));
        }
        let state = wanted.request_state.map(ToOwned::to_owned);
        if requests.is_empty() {
            tokio::time::sleep(RETRY_DELAY).await;
            return RoundOutcome::Again(NextRound { responses: None, state });
        }
        let answers = join_all(requests.into_iter().map(async |(name, request)| {
            let answer: ServerRequestResult = match request {
                Some(request) => {
                    handle_server_request(call_responder, request, self.deps.servers.schemas()).await
                }
                None => Err(error("The server asks for something that nobody can answer.")),
            };
            (name, answer)
        }))
        .await;
        let mut responses = Vec::with_capacity(answers.len());
        for (name, answer) in answers {
            match answer {
                Ok(answer) => responses.push((name, answer)),
                Err(error) => return RoundOutcome::Done(Ok(RpcOutcome::Error(error))),
            }
        }
        let responses = object(responses.iter().map(|(name, answer)| (name.as_str(), &**answer)));
        RoundOutcome::Again(NextRound { responses: Some(raw(responses)), state })
    }

    fn parse_server_request(
        &self,
        call_state: &CallState,
        key: &str,
        request: &RawValue,
    ) -> Option<ServerRequest> {
        let members = Members::of(request).ok()?;
        let params = members.get("params").map_or_else(|| raw("{}".to_owned()), ToOwned::to_owned);
        let server = Arc::clone(&call_state.resolved.pending_call.config);
        Some(ServerRequest { server, method: members.text("method")?.into(), params, key: Some(key.into()) })
    }

    /// Opens the pages for the user that a server of an older revision requires.
    async fn open_pages(
        &self,
        call_state: &CallState,
        call_responder: &CallResponder,
        refusal: Box<RawValue>,
    ) -> RoundOutcome {
        #[derive(Deserialize)]
        struct UrlElicitationError<'a> {
            #[serde(borrow)]
            data: Option<UrlElicitationData<'a>>,
        }
        #[derive(Deserialize)]
        struct UrlElicitationData<'a> {
            #[serde(borrow, default)]
            elicitations: Vec<&'a RawValue>,
        }
        let native = call_state.resolved.pending_call.caller.protocol_family == ProtocolFamily::Stateful
            && call_responder.can(ClientFeature::Url);
        let pages: Vec<Box<RawValue>> = match serde_json::from_str::<UrlElicitationError<'_>>(refusal.get()) {
            Ok(UrlElicitationError { data: Some(UrlElicitationData { elicitations }) }) if !native => {
                elicitations.into_iter().map(ToOwned::to_owned).collect()
            }
            Ok(_) | Err(_) => Vec::new(),
        };
        if pages.is_empty() {
            return RoundOutcome::Done(Ok(RpcOutcome::Error(refusal)));
        }
        let call_responder = call_responder.until_done();
        for params in pages {
            let server = Arc::clone(&call_state.resolved.pending_call.config);
            let request = ServerRequest { server, method: ELICITATION_CREATE.into(), params, key: None };
            let accepted =
                match handle_server_request(&call_responder, request, self.deps.servers.schemas()).await {
                    Ok(answer) => Members::of(&answer)
                        .is_ok_and(|answer| answer.text("action").as_deref() == Some("accept")),
                    Err(_) => false,
                };
            if !accepted {
                return RoundOutcome::Done(Ok(RpcOutcome::Error(refusal)));
            }
        }
        RoundOutcome::Again(NextRound { responses: None, state: None })
    }
}

impl NextRound {
    fn apply_to(self, params: &mut RequestParams) {
        params.members.retain(|(name, _)| !crate::calls::strict_params::ROUND_MEMBERS.contains(&&**name));
        let members = [("inputResponses", self.responses), ("requestState", self.state)];
        for (name, value) in members {
            if let Some(value) = value {
                params.members.push((name.into(), value));
            }
        }
    }
}

/// Whether a rule that can be revoked allowed a call, and not the user by an answer or by calling.
pub(super) fn is_by_grant(rule: &Rule) -> bool {
    !is_user_answer(rule) && *rule != Rule::ByUser
}

fn is_input_required(result: &RawValue) -> bool {
    memchr::memmem::find(result.get().as_bytes(), b"input_required").is_some()
        && serde_json::from_str::<InputRequired<'_>>(result.get())
            .is_ok_and(|read| read.result_type.as_deref() == Some("input_required"))
}

fn is_url_elicitation(error: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct RpcErrorHead {
        code: i64,
    }
    serde_json::from_str::<RpcErrorHead>(error.get())
        .is_ok_and(|error| error.code == i64::from(URL_ELICITATION))
}

fn error(message: &str) -> Box<RawValue> {
    raw(format!(r#"{{"code":{INTERNAL},"message":{}}}"#, quoted(message)))
}
