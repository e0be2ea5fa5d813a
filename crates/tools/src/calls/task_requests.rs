//! Requests about the tasks that calls became (TOOL-10). The call was judged and allowed as every call is; its client may
//! then ask for the task for as long as nothing forbids that call, and from the same program, as for a result that is kept.
//! To the server goes the task's id and nothing else.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gatehouse_mcp_wire::raw::{Members, raw};
use gatehouse_mcp_wire::tasks::TaskStatus;
use gatehouse_model::grant::Rule;
use gatehouse_model::record::{CallOutcome, CallTaskState};
use gatehouse_model::{CallId, Decision, Event, ServerId};
use gatehouse_servers::{
    CallingClient, RequestParams, RpcOutcome, UpstreamError, UpstreamErrorKind, UpstreamRequest,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::call_pipeline::RecordDraft;
use super::call_recorder::{outcome_of_error, outcome_of_result};
use super::pipeline_state::CallPipeline;
use super::refusal_messages::{self, SubjectWording};
use super::running_calls::RunningGuard;
use super::server_requests::CallResponder;
use super::upstream_call::PERMISSION_REVOKED;
use crate::call_types::response::{CallResponse, FinishedCall, NOT_RUN, rpc_error};
use crate::call_types::{Caller, ProtocolFamily, TaskCall, TaskRequest};
use crate::task_table::{BegunTask, ClientTask, TaskNotice};

const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;

/// How long after the end of a task its client may take to get the result, until the call is recorded without it.
const RESULT_GRACE: Duration = Duration::from_secs(30);
/// How long a server may take to cancel a task.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a server is told to cancel a task: the first time may be undone by the pause that leads to it.
const CANCEL_ATTEMPTS: usize = 2;

const FORGOTTEN: &str = "The task was not asked for until its time was over, so how it ended is not known.";
const UNKNOWN_TO_SERVER: &str = "The server doesn't know the task any more, so how it ended is not known.";
const CANCELLED: &str = "The task was cancelled.";

impl CallPipeline {
    /// Answers a request about tasks.
    pub(crate) async fn run_task_call(self: &Arc<Self>, caller: Caller, call: TaskCall) -> CallResponse {
        // What the user's own window asks about a task is no call of the client.
        if caller.user_run.is_none()
            && let Err(limited) = self.admit(&caller)
        {
            let words = SubjectWording::SERVER;
            return own_error(&refusal_messages::refusal(&limited.rule(), None, words));
        }
        let found = |id: &str| {
            let task = self.deps.tasks.find(&caller.client.id, call.server.as_ref(), id);
            task.filter(|task| self.is_known_to(&caller, task))
        };
        match &call.request {
            TaskRequest::List => self.list_tasks(&caller, &call).await,
            TaskRequest::Get { task } => match found(task) {
                Some(task) => self.get_task(&task, &call).await,
                None => no_such_task(),
            },
            TaskRequest::Result { task } => match found(task) {
                Some(task) => self.task_result(&task, &call).await,
                None => no_such_task(),
            },
            TaskRequest::Cancel { task } => match found(task) {
                Some(task) => self.cancel_task(&task, &call).await,
                None => no_such_task(),
            },
            TaskRequest::Update { task, responses } => match found(task) {
                Some(task) => self.update_task(&task, responses, &call).await,
                None => no_such_task(),
            },
        }
    }

    /// Whether a caller of the client that has a task knows it: it is from the source of the call, if there is one to tell
    /// callers apart by, speaks its family of revisions, and sees what the call is for.
    fn is_known_to(&self, caller: &Caller, task: &ClientTask) -> bool {
        let owner = &task.pending_call.caller;
        let source = owner.source();
        let is_same_source = source.is_some() && source == caller.source();
        let is_same_family = owner.protocol_family == caller.protocol_family;
        is_same_source && is_same_family && !self.is_hidden_from(caller, &task.pending_call)
    }

    /// What a server says of one of its tasks without having been asked, for the client that has it, unless the call that
    /// became the task may be forbidden now.
    pub(crate) fn task_notice(&self, server: &ServerId, task: &str, params: &RawValue) -> Option<TaskNotice> {
        let task = self.deps.tasks.of_server(server, task)?;
        let params = task.described(params)?;
        let session = task.pending_call.caller.session.clone();
        (!self.may_be_forbidden(&task.pending_call)).then_some(TaskNotice { session, params })
    }

    async fn list_tasks(self: &Arc<Self>, caller: &Caller, call: &TaskCall) -> CallResponse {
        let mut tasks = self.deps.tasks.of_client(&caller.client.id, call.server.as_ref());
        tasks.retain(|task| self.is_known_to(caller, task));
        let open = tasks.iter().filter(|task| task.is_open());
        join_all(open.map(|task| self.look_at_task(task, call))).await;
        // A server may have forgotten one meanwhile.
        let known = self.deps.tasks.of_client(&caller.client.id, call.server.as_ref());
        tasks.retain(|task| known.iter().any(|known| Arc::ptr_eq(known, task)));
        let tasks = join_all(tasks.iter().map(|task| self.shown_in_list(task))).await;
        let tasks: Vec<&str> = tasks.iter().map(|task| task.get()).collect();
        CallResponse::Result(raw(format!(r#"{{"tasks":[{}]}}"#, tasks.join(","))))
    }

    /// A task as it is listed: of what is forbidden by now, its server's words stay inside.
    async fn shown_in_list(&self, task: &ClientTask) -> Arc<RawValue> {
        match self.task_refusal(task).await {
            None => task.latest(),
            Some(_) => task.state_only(),
        }
    }

    /// Brings what is known of a task up to date. What can't be asked now stays as it was last seen.
    async fn look_at_task(self: &Arc<Self>, task: &Arc<ClientTask>, call: &TaskCall) {
        if self.task_refusal(task).await.is_none()
            && let Err(error) = self.get_task_now(task, call).await
        {
            tracing::debug!(server = %task.server(), %error, "the state of a task could not be read");
        }
    }

    async fn get_task(self: &Arc<Self>, task: &Arc<ClientTask>, call: &TaskCall) -> CallResponse {
        if let Some(refused) = self.task_refusal(task).await {
            return refused;
        }
        match self.get_task_now(task, call).await {
            Ok(response) => response,
            Err(error) => failed(task, &error),
        }
    }

    /// Asks the server for the state of a task.
    async fn get_task_now(
        self: &Arc<Self>,
        task: &Arc<ClientTask>,
        call: &TaskCall,
    ) -> Result<CallResponse, UpstreamError> {
        match self.send_about_task(task, request_about(task, "tasks/get"), call).await? {
            RpcOutcome::Result(result) => {
                let response = described(task, &result);
                finish_by_extension(task, &result);
                Ok(response)
            }
            RpcOutcome::Error(error) => {
                if matches!(outcome_of_error(&error), CallOutcome::RpcError { code: INVALID_PARAMS, .. }) {
                    let outcome = || CallOutcome::Failed { message: UNKNOWN_TO_SERVER.to_owned() };
                    task.finish(|| FinishedCall::with_text(UNKNOWN_TO_SERVER, outcome()));
                    self.deps.tasks.remove(task);
                }
                Ok(CallResponse::Error(error))
            }
        }
    }

    /// Waits for the result of a task. Its server may ask the client something meanwhile.
    async fn task_result(self: &Arc<Self>, task: &Arc<ClientTask>, call: &TaskCall) -> CallResponse {
        loop {
            if let Some(refused) = self.task_refusal(task).await {
                return refused;
            }
            match self.send_about_task(task, request_about(task, "tasks/result"), call).await {
                Ok(RpcOutcome::Result(result)) => {
                    let outcome = outcome_of_result(&result);
                    let result = CallResponse::Result(task.to_client(result));
                    task.finish(|| FinishedCall::from_response(result.clone(), outcome).with_run(true));
                    return result;
                }
                Ok(RpcOutcome::Error(error)) => {
                    // It may be what the call ended with, or say that there is no result yet.
                    if task.is_open() {
                        self.look_at_task(task, call).await;
                    }
                    let outcome = outcome_of_error(&error);
                    let error = CallResponse::Error(error);
                    if TaskStatus::of(&task.latest()) == TaskStatus::Failed {
                        task.finish(|| FinishedCall::from_response(error.clone(), outcome).with_run(true));
                    }
                    return error;
                }
                // The time limits are those of a call, and a task may take longer than any call.
                Err(error) if is_time_out(&error) && call.is_awaited() => {
                    if task.is_forgotten() {
                        return no_such_task();
                    }
                }
                Err(error) => return failed(task, &error),
            }
        }
    }

    async fn cancel_task(self: &Arc<Self>, task: &Arc<ClientTask>, call: &TaskCall) -> CallResponse {
        if let Some(refused) = self.task_refusal(task).await {
            // It is cancelled, but what the server says to that stays inside.
            task.cancel.cancel();
            return refused;
        }
        match self.send_about_task(task, request_about(task, "tasks/cancel"), call).await {
            // The extension only confirms it.
            Ok(RpcOutcome::Result(result)) if is_of_extension(task) => {
                self.look_at_task(task, call).await;
                CallResponse::Result(result)
            }
            Ok(RpcOutcome::Result(result)) => described(task, &result),
            Ok(RpcOutcome::Error(error)) => CallResponse::Error(error),
            Err(error) => failed(task, &error),
        }
    }

    /// Gives a task the input that its server required. What it didn't require is not sent: the client writes it, and nobody
    /// has seen it. Nor is anything sent once what allowed the call is revoked, as with the next round of a call.
    async fn update_task(
        self: &Arc<Self>,
        task: &Arc<ClientTask>,
        responses: &RawValue,
        call: &TaskCall,
    ) -> CallResponse {
        if let Some(refused) = self.task_refusal(task).await {
            return refused;
        }
        let is_ask = self.decide(&task.pending_call, false).await.decision == Decision::Ask;
        if is_ask && task.is_by_grant {
            return own_error(PERMISSION_REVOKED);
        }
        if !Members::of(responses).is_ok_and(|input| task.wants(&input)) {
            let text = "The member `inputResponses` must answer what the task requires, and nothing else.";
            return CallResponse::Error(rpc_error(INVALID_PARAMS, text));
        }
        let mut request = request_about(task, "tasks/update");
        request.params = request.params.with("inputResponses", responses.to_owned());
        match self.send_about_task(task, request, call).await {
            Ok(RpcOutcome::Result(result)) => CallResponse::Result(result),
            Ok(RpcOutcome::Error(error)) => CallResponse::Error(error),
            Err(error) => failed(task, &error),
        }
    }

    /// The response where the call that became the task is forbidden now.
    async fn task_refusal(&self, task: &ClientTask) -> Option<CallResponse> {
        let words = SubjectWording::of(&task.pending_call.subject);
        if !self.deps.servers.is_on() {
            return Some(own_error(&refusal_messages::refusal(&Rule::SwitchedOff, None, words)));
        }
        let verdict = self.decide(&task.pending_call, false).await;
        match (verdict.decision, &verdict.rule) {
            (_, Rule::HiddenByProfile { .. }) => Some(no_such_task()),
            (Decision::Deny, rule) => Some(own_error(&refusal_messages::refusal(rule, None, words))),
            // The call was allowed, and runs.
            (Decision::Ask | Decision::Allow, _) => None,
        }
    }

    async fn send_about_task(
        self: &Arc<Self>,
        task: &Arc<ClientTask>,
        request: UpstreamRequest,
        call: &TaskCall,
    ) -> Result<RpcOutcome, UpstreamError> {
        let pending_call = &task.pending_call;
        let Some(handle) = self.deps.servers.get(pending_call.server()) else {
            return Err(UpstreamErrorKind::Cancelled.into());
        };
        let responder = CallResponder::new(self, pending_call, call.client_peer.clone(), None);
        let request = UpstreamRequest {
            responder: Some(responder.for_task(Arc::clone(task)).responder()),
            cancel: call.cancel.clone(),
            cancel_reason: call.cancel_reason.clone(),
            // Asking for the state again and again would leave no room for anything else.
            wire: pending_call.caller.wire().filter(|_| request.method != "tasks/get"),
            client: Some(CallingClient {
                protocol_family: pending_call.caller.protocol_family,
                capabilities: call.client_peer.as_ref().map(|client| client.capabilities()),
            }),
            ..request
        };
        handle.call_generation(pending_call.generation(), request).await
    }

    /// Keeps a call that became a task among the running calls until the task ends, and records it then.
    pub(super) fn follow_task(self: &Arc<Self>, begun: BegunTask, draft: RecordDraft, running: RunningGuard) {
        let BegunTask { task, end } = begun;
        if self.revoked_clients.lock().contains(&task.pending_call.caller.client.id) {
            self.deps.tasks.remove(&task);
        }
        let (pipeline, sent) = (Arc::clone(self), self.running.mark_sent(draft.call(), &task.cancel));
        self.deps.tracker.spawn(async move {
            let cancelled = || FinishedCall::with_text(CANCELLED, CallOutcome::Cancelled);
            let mut has_result = false;
            let ended = tokio::select! {
                biased;
                Ok(ended) = end => {
                    has_result = ended.has_run;
                    ended
                }
                () = task.cancel.cancelled() => match end_by_state(&task.latest()) {
                    Some(ended) => ended,
                    None => {
                        pipeline.cancel_at_server(&task).await;
                        cancelled()
                    }
                },
                ended = settled(&task) => ended,
                never = pipeline.show_state(draft.call(), &task) => match never {},
                () = tokio::time::sleep_until(task.expires) => {
                    pipeline.deps.tasks.remove(&task);
                    let outcome = CallOutcome::Failed { message: FORGOTTEN.to_owned() };
                    end_by_state(&task.latest())
                        .unwrap_or_else(|| FinishedCall::with_text(FORGOTTEN, outcome))
                }
                () = pipeline.closing() => end_by_state(&task.latest()).unwrap_or_else(cancelled),
            };
            drop((running, sent));
            let draft = if has_result { draft } else { draft.without_result() };
            pipeline.finish_record(draft, &ended);
        });
    }

    /// Shows the state of the task that a call became, as its server tells it.
    async fn show_state(&self, call: &CallId, task: &ClientTask) -> Infallible {
        let mut latest = task.watch();
        loop {
            let state = shown_state(&latest.borrow_and_update());
            if self.running.set_task(call, state) {
                self.deps.events.emit(Event::CallTaskChanged { call: call.clone(), state });
            }
            if latest.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Tells the server that nobody wants a task any more, if it is there and works on it.
    async fn cancel_at_server(&self, task: &ClientTask) {
        let pending_call = &task.pending_call;
        let handle = self.deps.servers.get(pending_call.server()).filter(|handle| handle.is_connected());
        let Some(handle) = handle else { return };
        for _ in 0..CANCEL_ATTEMPTS {
            let request = UpstreamRequest {
                client: Some(CallingClient {
                    protocol_family: pending_call.caller.protocol_family,
                    capabilities: None,
                }),
                ..request_about(task, "tasks/cancel")
            };
            let sent = handle.call_generation(pending_call.generation(), request);
            match tokio::time::timeout(CANCEL_TIMEOUT, sent).await {
                Ok(Ok(RpcOutcome::Result(result))) => {
                    task.described(&result);
                    return;
                }
                Ok(Err(error)) if error.kind == UpstreamErrorKind::Cancelled => {}
                other => {
                    tracing::debug!(server = %task.server(), ?other, "a task could not be cancelled");
                    return;
                }
            }
        }
    }
}

/// A request that names a task and says nothing else.
fn request_about(task: &ClientTask, method: &'static str) -> UpstreamRequest {
    UpstreamRequest::new(method, RequestParams::none().with_text("taskId", &task.upstream_id))
}

/// Whether a task is one of the extension.
fn is_of_extension(task: &ClientTask) -> bool {
    task.pending_call.caller.protocol_family == ProtocolFamily::Stateless
}

/// Records what the call ended with, which the extension has in the task itself.
fn finish_by_extension(task: &ClientTask, described: &RawValue) {
    let Some(members) = Members::of(described).ok().filter(|_| is_of_extension(task)) else { return };
    let ended = match TaskStatus::of(described) {
        TaskStatus::Completed => members.get("result").map(|result| {
            FinishedCall::from_response(CallResponse::Result(result.to_owned()), outcome_of_result(result))
        }),
        TaskStatus::Failed => members.get("error").map(|error| {
            FinishedCall::from_response(CallResponse::Error(error.to_owned()), outcome_of_error(error))
        }),
        TaskStatus::Open | TaskStatus::Cancelled => None,
    };
    if let Some(ended) = ended {
        task.finish(|| ended.with_run(true));
    }
}

/// The end of a task as far as its state tells it, once its client has had time to get the result.
async fn settled(task: &ClientTask) -> FinishedCall {
    let mut latest = task.watch();
    let is_over = |task: &Arc<RawValue>| TaskStatus::of(task) != TaskStatus::Open;
    let last = latest.wait_for(is_over).await.map(|task| Arc::clone(&task)).ok();
    let Some(ended) = last.and_then(|last| end_by_state(&last)) else {
        return std::future::pending().await;
    };
    if ended.outcome != CallOutcome::Cancelled {
        tokio::time::sleep(RESULT_GRACE).await;
    }
    ended
}

/// The end of a task as far as its state tells it; `None` if it works or waits.
fn end_by_state(task: &RawValue) -> Option<FinishedCall> {
    let outcome = match TaskStatus::of(task) {
        TaskStatus::Open => return None,
        TaskStatus::Completed => CallOutcome::Ok,
        TaskStatus::Failed => CallOutcome::Failed { message: failure(task) },
        TaskStatus::Cancelled => CallOutcome::Cancelled,
    };
    Some(FinishedCall::from_response(CallResponse::Result(task.to_owned()), outcome))
}

/// The state of a task for people. What isn't known works.
fn shown_state(task: &RawValue) -> CallTaskState {
    match TaskStatus::of(task) {
        TaskStatus::Open => {
            match Members::of(task).ok().and_then(|members| members.text("status")).as_deref() {
                Some("input_required") => CallTaskState::InputRequired,
                Some(_) | None => CallTaskState::Working,
            }
        }
        TaskStatus::Completed => CallTaskState::Completed,
        TaskStatus::Failed => CallTaskState::Failed,
        TaskStatus::Cancelled => CallTaskState::Cancelled,
    }
}

/// Why a task failed, in the words of its server.
fn failure(task: &RawValue) -> String {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct FailedTask {
        status_message: Option<String>,
    }
    let said = serde_json::from_str::<FailedTask>(task.get()).ok().and_then(|task| task.status_message);
    said.unwrap_or_else(|| "The task failed.".to_owned())
}

/// The response with a task as its server describes it.
fn described(task: &ClientTask, result: &RawValue) -> CallResponse {
    match task.described(result) {
        Some(task) => CallResponse::Result((*task).to_owned()),
        None => {
            CallResponse::Error(rpc_error(INTERNAL, "The server answered with something that is no task."))
        }
    }
}

fn is_time_out(error: &UpstreamError) -> bool {
    matches!(error.kind, UpstreamErrorKind::TimedOut { .. })
}

fn failed(task: &ClientTask, error: &UpstreamError) -> CallResponse {
    let words = SubjectWording::of(&task.pending_call.subject);
    own_error(&refusal_messages::failed(&task.pending_call.config.name, error, words))
}

fn own_error(text: &str) -> CallResponse {
    CallResponse::Error(rpc_error(NOT_RUN, text))
}

/// The same for a task that never was, of another client, and of an earlier run.
fn no_such_task() -> CallResponse {
    CallResponse::Error(rpc_error(INVALID_PARAMS, "There is no such task."))
}
