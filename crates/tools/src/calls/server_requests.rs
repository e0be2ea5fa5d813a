//! Requests of a server during a call: elicitation, sampling, roots (SRV-15). Passed to the client of that
//! call if it can answer them, otherwise to the user. A failure is never taken as consent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use gatehouse_mcp_wire::json::read;
use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::approval::{
    ClientSummary, ElicitationMode, ElicitationRequest, SamplingRequest, ServerSummary,
};
use gatehouse_model::server::LogLevel;
use gatehouse_model::{ApprovalAnswer, ApprovalRequest, AskUser as _, BoxFuture, ServerId};
use gatehouse_policy::display::{clean_text, masked_json, render_text};
use gatehouse_servers::{
    ROOTS_LIST, Responder, ServerManager, ServerRequest, ServerRequestHandler, ServerRequestResult,
    roots_result,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use crate::approvals::ApprovalQueue;
use crate::call_types::client_peer::{ClientFeature, ClientPeer};
use crate::call_types::response::rpc_error;
use crate::pending_call::PendingCall;
use crate::permissions::PermissionStore;
use crate::shared_runs::RunHandle;
use crate::task_table::ClientTask;

/// Most requests of one server that may wait for the user at a time.
const MAX_PENDING_PER_SERVER: usize = 3;
/// Longest message that is shown, in characters.
const MAX_MESSAGE_CHARS: usize = 4000;
/// Error code for a sampling request that the user rejected (MCP, Sampling).
const REJECTED: i32 = -1;
const INTERNAL: i32 = -32603;

/// Answers a server's requests during one call.
#[derive(Clone)]
pub(crate) struct CallResponder {
    answerer: Weak<ServerRequestAnswerer>,
    client: Option<Arc<dyn ClientPeer>>,
    client_summary: Arc<ClientSummary>,
    /// Whether pages must be completed before the call can go on.
    until_done: bool,
    /// The run that identical calls share. It is no longer shared once the client itself is asked.
    run: Option<RunHandle>,
    /// The task that the requests belong to.
    task: Option<Arc<ClientTask>>,
}

impl CallResponder {
    pub(crate) fn new(
        pipeline: &Arc<impl AnswersServerRequests>,
        pending_call: &PendingCall,
        client: Option<Arc<dyn ClientPeer>>,
        run: Option<RunHandle>,
    ) -> Self {
        Self {
            answerer: Arc::downgrade(pipeline.server_requests()),
            client,
            client_summary: Arc::new(pending_call.client_summary()),
            until_done: false,
            run,
            task: None,
        }
    }

    /// The same for requests that belong to a task.
    pub(crate) fn for_task(self, task: Arc<ClientTask>) -> Self {
        Self { task: Some(task), ..self }
    }

    /// The params of a notification as the client gets them.
    fn shown<'a>(&self, params: &'a RawValue) -> Cow<'a, RawValue> {
        match &self.task {
            Some(task) => Cow::Owned(task.to_client(params.to_owned())),
            None => Cow::Borrowed(params),
        }
    }

    /// The same for pages that must be completed before the call can go on.
    pub(crate) fn until_done(&self) -> Self {
        Self { until_done: true, ..self.clone() }
    }

    /// Whether the client can answer this itself.
    pub(crate) fn can(&self, feature: ClientFeature) -> bool {
        self.client.as_ref().is_some_and(|client| client.can(feature))
    }

    pub(crate) fn responder(&self) -> Responder {
        let session = self.client_summary.session.as_ref().map_or("", |session| session.as_str());
        Responder {
            client_key: format!("{} {session}", self.client_summary.id).into(),
            respond: Arc::new(self.clone()),
        }
    }
}

impl ServerRequestHandler for CallResponder {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        let is_supported = ClientFeature::of(&request).is_some_and(|feature| self.can(feature));
        match &self.client {
            Some(client) if is_supported => {
                // Identical calls would wait for input that only this client can give, so the run is no longer
                // shared.
                if let Some(run) = &self.run {
                    run.unshare();
                }
                let Some(task) = self.task.clone() else { return client.ask(request) };
                let answer = client.ask(ServerRequest { params: task.to_client(request.params), ..request });
                Box::pin(async move { answer.await.map(|answer| task.to_server(answer)) })
            }
            Some(_) | None => {
                let context = RequestContext {
                    client: Some((*self.client_summary).clone()),
                    until_done: self.until_done,
                };
                ask_user(&self.answerer, request, context)
            }
        }
    }

    fn logged(&self, level: LogLevel, params: &RawValue) {
        if let Some(client) = &self.client {
            client.logged(level, &self.shown(params));
        }
    }

    fn notified(&self, method: &str, params: &str) {
        if let Some(client) = &self.client {
            client.notified(method, self.shown(&raw(params.to_owned())).get());
        }
    }
}

/// Answers requests that can't be attributed to a call.
pub(crate) struct UnattributedResponder(pub(crate) Weak<ServerRequestAnswerer>);

impl ServerRequestHandler for UnattributedResponder {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        ask_user(&self.0, request, RequestContext { client: None, until_done: false })
    }
}

/// The call that a request belongs to.
struct RequestContext {
    /// The client that made it; `None` if the request can't be attributed to a call.
    client: Option<ClientSummary>,
    until_done: bool,
}

/// Answers without the client, as long as Gatehouse isn't shutting down.
fn ask_user(
    answerer: &Weak<ServerRequestAnswerer>,
    request: ServerRequest,
    context: RequestContext,
) -> BoxFuture<'static, ServerRequestResult> {
    let answerer = Weak::clone(answerer);
    Box::pin(async move {
        match answerer.upgrade() {
            Some(answerer) => answerer.answer(request, context).await,
            None => Err(rpc_error(INTERNAL, "Gatehouse is shutting down.")),
        }
    })
}

/// Answers requests that the client of their call can't answer, or that belong to no call.
pub(crate) struct ServerRequestAnswerer {
    servers: ServerManager,
    permissions: PermissionStore,
    approvals: ApprovalQueue,
    pending: PendingRequestCounts,
}

/// Gives access to the answerer of requests that the client of a call can't answer.
pub(crate) trait AnswersServerRequests {
    fn server_requests(&self) -> &Arc<ServerRequestAnswerer>;
}

impl ServerRequestAnswerer {
    pub(crate) fn new(
        servers: ServerManager,
        permissions: PermissionStore,
        approvals: ApprovalQueue,
    ) -> Arc<Self> {
        Arc::new(Self { servers, permissions, approvals, pending: PendingRequestCounts::default() })
    }

    /// Answers a request: roots from the server's settings, everything else by asking the user.
    async fn answer(&self, request: ServerRequest, context: RequestContext) -> ServerRequestResult {
        let refused = |why: &str| Err(rpc_error(INTERNAL, why));
        if self.permissions.paused() || !self.servers.is_on() {
            return refused("The user has stopped everything for now.");
        }
        if &*request.method == ROOTS_LIST {
            let now = self.servers.get(&request.server.id).map(|handle| handle.config());
            return Ok(roots_result(now.as_deref().unwrap_or(&request.server)));
        }
        let Some(reserved) = self.pending.reserve(&request.server.id) else {
            return refused("Too many requests of this server wait for the user already.");
        };
        let Some(ask) = build_approval_request(&request, context) else {
            return refused("This cannot be asked.");
        };
        let answer = match ask {
            ApprovalRequest::Sampling(ask) => {
                sampling_answer(self.approvals.ask_for_sampling(ask, request.params).await)
            }
            ask => elicitation_answer(self.approvals.ask(ask).await),
        };
        drop(reserved);
        answer
    }
}

/// Number of requests per server that wait for the user.
#[derive(Default)]
struct PendingRequestCounts {
    by_server: Mutex<HashMap<ServerId, usize>>,
}

/// One counted request. Dropping this decrements the count.
struct PendingRequestGuard<'a> {
    counts: &'a PendingRequestCounts,
    server: ServerId,
}

impl PendingRequestCounts {
    /// Counts one more request; `None` if too many wait already.
    fn reserve(&self, server: &ServerId) -> Option<PendingRequestGuard<'_>> {
        let mut by_server = self.by_server.lock();
        let count = by_server.entry(server.clone()).or_default();
        if *count >= MAX_PENDING_PER_SERVER {
            return None;
        }
        *count += 1;
        Some(PendingRequestGuard { counts: self, server: server.clone() })
    }
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        let mut by_server = self.counts.by_server.lock();
        if let Some(count) = by_server.get_mut(&self.server) {
            *count -= 1;
            if *count == 0 {
                by_server.remove(&self.server);
            }
        }
    }
}

/// What is shown to the user; `None` if the request lacks something or is of another kind.
fn build_approval_request(request: &ServerRequest, context: RequestContext) -> Option<ApprovalRequest> {
    let params: Map<String, Value> = serde_json::from_str(request.params.get()).ok()?;
    let server = ServerSummary::from(&*request.server);
    let RequestContext { client, until_done } = context;
    let want = match ClientFeature::of(request)? {
        ClientFeature::Roots => return None,
        ClientFeature::Sampling => {
            let messages = params.get("messages")?.as_array()?.iter().map(render_message).collect();
            let system = params.get("systemPrompt").and_then(Value::as_str).map(render_text);
            let request = masked_json(&read(request.params.get()).ok()?);
            return Some(ApprovalRequest::Sampling(SamplingRequest {
                server,
                client,
                system,
                messages,
                request,
            }));
        }
        ClientFeature::Form => ElicitationMode::Form { schema: params.get("requestedSchema")?.to_string() },
        ClientFeature::Url => {
            let url = params.get("url")?.as_str()?.to_owned();
            let host = Url::parse(&url).ok()?.host_str()?.to_owned();
            ElicitationMode::Url { url, host, until_done }
        }
    };
    let message = clean_message(params.get("message")?.as_str()?);
    Some(ApprovalRequest::Elicitation(ElicitationRequest { server, client, message, want }))
}

fn clean_message(text: &str) -> String {
    let cut: String = text.chars().take(MAX_MESSAGE_CHARS).collect();
    clean_text(&cut).into_owned()
}

/// A message as `role: text`, whole: a model would read all of it.
fn render_message(message: &Value) -> String {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("?");
    let content = message.get("content").cloned().unwrap_or_default();
    let parts = if let Value::Array(parts) = content { parts } else { vec![content] };
    let texts: Vec<String> = parts
        .iter()
        .map(|part| match part.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("?")),
        })
        .collect();
    render_text(&format!("{role}: {}", texts.join(" ")))
}

fn elicitation_answer(answer: ApprovalAnswer) -> ServerRequestResult {
    let answer = match answer {
        ApprovalAnswer::Accept { content } => {
            match content.map(|content| serde_json::from_str::<Value>(&content)) {
                None => json!({ "action": "accept", "content": {} }),
                Some(Ok(content)) => json!({ "action": "accept", "content": content }),
                Some(Err(_)) => json!({ "action": "cancel" }),
            }
        }
        ApprovalAnswer::Decline | ApprovalAnswer::Deny { .. } => json!({ "action": "decline" }),
        ApprovalAnswer::Cancel | ApprovalAnswer::Allow { .. } => json!({ "action": "cancel" }),
    };
    Ok(raw(answer.to_string()))
}

fn sampling_answer(answer: ApprovalAnswer) -> ServerRequestResult {
    match answer {
        ApprovalAnswer::Accept { content: Some(content) } => {
            RawValue::from_string(content).map_err(|_| rpc_error(INTERNAL, "The answer is no JSON."))
        }
        ApprovalAnswer::Accept { content: None }
        | ApprovalAnswer::Decline
        | ApprovalAnswer::Deny { .. }
        | ApprovalAnswer::Cancel
        | ApprovalAnswer::Allow { .. } => Err(rpc_error(REJECTED, "The user rejected the sampling request.")),
    }
}
