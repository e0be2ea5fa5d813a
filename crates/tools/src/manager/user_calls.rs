//! What is called in Gatehouse itself: by the user, who has entered the call and is asked nothing more; by the user as one
//! of the clients, whose profile and permissions then decide as they do for the client itself; and by the model of a
//! conversation, which is a client of its own. Nothing here is a way around any of them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::grant::ClientScope;
use gatehouse_model::{ClientId, SessionId};
use gatehouse_servers::CancelReason;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::ToolManager;
use crate::call_types::response::{CallResponse, error_result};
use crate::call_types::user_run::UserRun;
use crate::call_types::viewer::Narrowing;
use crate::call_types::{AccessCall, Caller, TaskCall, TaskRequest, ToolCall, ToolName};
use crate::calls::client_request::ClientRequest;
use crate::catalog::task_support::TaskSupport;

/// How often the state of a task is asked for, as far as its server leaves that open.
const POLL: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(250);
const LONGEST_POLL: Duration = Duration::from_secs(5);

const CANCELLED: &str = "The task was cancelled.";

impl ToolManager {
    /// Calls a tool for the user. One that runs only as a task runs as one, to its end.
    pub async fn call_for_user(&self, run: &Arc<UserRun>, call: ToolCall) -> CallResponse {
        let caller = self.user_caller(run).await;
        if !self.runs_only_as_task(&call.tool) {
            return self.run_tool(caller, call).await;
        }
        // Whoever asks for a task has to be the source of its call, which a session makes sure of.
        let session = next_session();
        let response = self.run_as_task(Caller { session: Some(session.clone()), ..caller }, call).await;
        self.session_ended(&session);
        response
    }

    /// Calls a tool for a caller with a session of its own ([`Caller::chat`]), as [`Self::call`] does. One that runs only
    /// as a task runs as one, to its end.
    pub async fn call_to_end(&self, caller: Caller, call: ToolCall) -> CallResponse {
        if self.runs_only_as_task(&call.tool) {
            return self.run_as_task(caller, call).await;
        }
        self.call(caller, call).await
    }

    /// Runs a call as a task, to its end.
    async fn run_as_task(&self, caller: Caller, mut call: ToolCall) -> CallResponse {
        let cancel = call.cancel.clone();
        call.rest.push(("task".into(), raw("{}".to_owned())));
        let response = self.call(caller.clone(), call).await;
        match CreatedTask::of(&response) {
            Some(task) => self.finish_task(caller, task, cancel).await,
            None => response,
        }
    }

    /// Reads a resource, gets a prompt or completes an argument for the user.
    pub async fn access_for_user(&self, run: &Arc<UserRun>, call: AccessCall) -> CallResponse {
        let caller = self.user_caller(run).await;
        match ClientRequest::access(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    async fn run_tool(&self, caller: Caller, call: ToolCall) -> CallResponse {
        match ClientRequest::tool(caller, call) {
            Ok(request) => self.state.calls.run(request).await,
            Err(end) => end,
        }
    }

    /// The user as the caller of a run. A client counts where its profile does, and as the program that its permissions are
    /// bound to.
    async fn user_caller(&self, run: &Arc<UserRun>) -> Caller {
        self.recheck_profiles().await;
        let Some(client) = run.client() else { return Caller::user(run, Narrowing::default()) };
        if let Some(program) = self.bound_program(&client.id) {
            run.set_program(&program);
        }
        Caller::user(run, self.state.profiles.at_home(&client.id).narrowing)
    }

    /// The program that the newest bound rule of a client names.
    fn bound_program(&self, client: &ClientId) -> Option<String> {
        let permissions = Arc::clone(&self.state.permissions.now());
        let own = permissions.rules().filter(|rule| {
            matches!(&rule.clients, ClientScope::One { client: of } if of == client) && rule.program.is_some()
        });
        own.max_by_key(|rule| rule.created).and_then(|rule| rule.program.clone())
    }

    fn runs_only_as_task(&self, tool: &ToolName) -> bool {
        let catalog = self.state.catalog.load();
        let found = match tool {
            ToolName::Exposed(name) => catalog.by_exposed(name),
            ToolName::Own { server, name } => catalog.find(server, name),
        };
        found.is_some_and(|tool| tool.definition.task_support == TaskSupport::Required)
    }

    /// Waits for the result of a task, and asks for its state meanwhile.
    async fn finish_task(
        &self,
        caller: Caller,
        created: CreatedTask,
        cancel: CancellationToken,
    ) -> CallResponse {
        let id = || created.task.clone();
        tokio::select! {
            biased;
            response = self.ask_about_task(&caller, TaskRequest::Result { task: id() }) => response,
            () = cancel.cancelled() => {
                match self.ask_about_task(&caller, TaskRequest::Cancel { task: id() }).await {
                    CallResponse::Result(_) => CallResponse::Result(error_result(CANCELLED)),
                    refused @ CallResponse::Error(_) => refused,
                }
            }
            never = self.follow_state(&caller, &created) => match never {},
        }
    }

    /// Asks for the state of a task again and again.
    async fn follow_state(&self, caller: &Caller, created: &CreatedTask) -> Infallible {
        loop {
            tokio::time::sleep(created.poll).await;
            let state = TaskRequest::Get { task: created.task.clone() };
            if let CallResponse::Error(_) = self.ask_about_task(caller, state).await {
                tracing::debug!("the state of a task could not be read");
            }
        }
    }

    async fn ask_about_task(&self, caller: &Caller, request: TaskRequest) -> CallResponse {
        let call = TaskCall {
            server: None,
            request,
            client_peer: None,
            presence: None,
            cancel: CancellationToken::new(),
            cancel_reason: CancelReason::default(),
        };
        self.task_call(caller.clone(), call).await
    }
}

/// A task that a call became.
struct CreatedTask {
    /// Its id.
    task: String,
    poll: Duration,
}

impl CreatedTask {
    /// The task that a response says a call became.
    fn of(response: &CallResponse) -> Option<Self> {
        #[derive(Deserialize)]
        struct Created {
            task: CreatedMembers,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CreatedMembers {
            task_id: String,
            poll_interval: Option<u64>,
        }
        let CallResponse::Result(result) = response else { return None };
        let Created { task } = serde_json::from_str(result.get()).ok()?;
        let poll = task.poll_interval.map_or(POLL, Duration::from_millis);
        Some(Self { task: task.task_id, poll: poll.clamp(SHORTEST_POLL, LONGEST_POLL) })
    }
}

/// A session that no client has.
fn next_session() -> SessionId {
    static RUNS: AtomicU64 = AtomicU64::new(1);
    SessionId::new(format!("run-{}", RUNS.fetch_add(1, Ordering::Relaxed)))
}
