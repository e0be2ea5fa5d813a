//! The tools and models of Gatehouse's own conversations. Their calls enter the same pipeline as those of clients, as a
//! client of its own that nobody has a token of ([`Caller::chat`]): nothing here decides about one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_model::chat::ToolCallState;
use gatehouse_model::provider::{ModelChoice, ProviderApi};
use gatehouse_model::server_catalog::{ResultStatus, ResultView};
use gatehouse_model::{ApprovalId, BoxFuture, CallId, ConversationId, Decision, UserError, Verdict};
use gatehouse_models::chat::{
    CallReport, CallStage, CallTarget, ConversationTool, ConversationTools, ModelSource, ServerInstructions,
    ToolCallEnd, ToolLabel, ToolRun, ToolRunner, ToolScope,
};
use gatehouse_models::providers::ProviderEndpoint;
use gatehouse_servers::Redactor;
use gatehouse_tools::{
    CallObserver, CallResponse, Caller, CatalogTool, ClientCatalog, ServerSelection, ToolCall, ToolChoice,
    ToolManager, chat_session, error_result, masked_arguments,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::models::ModelProviders;
use crate::results::{ResultContext, Results};

/// Stands for arguments that can't be read strictly; a call with them is refused.
const UNREADABLE: &str = "{}";

/// The tools of conversations.
pub(crate) struct ChatTools {
    pub(crate) tools: ToolManager,
    /// Results that can be saved.
    pub(crate) results: Arc<Results>,
}

impl ChatTools {
    fn caller(scope: &ToolScope) -> Caller {
        let choice = ToolChoice { servers: scope.servers.clone(), is_search: scope.tool_search };
        Caller::chat(&scope.conversation, choice)
    }

    fn view(&self, scope: &ToolScope) -> ClientCatalog {
        self.tools.client_catalog(&Self::caller(scope).viewer())
    }

    fn facts(&self, tool: &CatalogTool) -> ToolLabel {
        ToolLabel {
            title: tool.title().filter(|title| !title.is_empty()).unwrap_or(tool.name()).to_owned(),
            server: Some(tool.server_name().to_owned()),
            class: Some(self.tools.permissions().class_of(tool).class),
        }
    }

    /// A tool as it is listed; `None` if it has no name.
    fn listed(&self, view: &ClientCatalog, definition: &RawValue) -> Option<ConversationTool> {
        #[derive(Deserialize)]
        struct Head {
            name: String,
        }
        let Head { name } = serde_json::from_str(definition.get()).ok()?;
        let facts = match (view.search_tool_title(&name), view.tool(&name)) {
            (None, Some(tool)) => self.facts(tool),
            (title, _) => {
                let title = title.unwrap_or(&name).to_owned();
                ToolLabel { title, server: None, class: None }
            }
        };
        Some(ConversationTool { exposed_name: name, definition: definition.to_owned(), facts })
    }
}

impl ToolRunner for ChatTools {
    fn tools<'a>(&'a self, scope: &'a ToolScope) -> BoxFuture<'a, ConversationTools> {
        Box::pin(async move {
            self.tools.refresh().await;
            let view = self.view(scope);
            let mut listed = Vec::new();
            view.with_task_tools(&ServerSelection::All, &mut |definitions| {
                listed.extend(definitions.iter().filter_map(|definition| self.listed(&view, definition)));
            });
            let described = view.descriptions(&ServerSelection::All).into_iter();
            let instructions = described
                .filter_map(|described| {
                    Some(ServerInstructions { server: described.name, text: described.instructions? })
                })
                .collect();
            ConversationTools { listed, instructions }
        })
    }

    fn target(&self, scope: &ToolScope, exposed_name: &str, arguments: &RawValue) -> CallTarget {
        let shown_arguments = masked_arguments(arguments).unwrap_or_else(|| UNREADABLE.to_owned());
        let view = self.view(scope);
        match view.called_tool(exposed_name, arguments) {
            Some((tool, arguments)) => CallTarget {
                facts: self.facts(tool),
                definition: Some(tool.definition().to_owned()),
                arguments: arguments.into_owned(),
                shown_arguments,
            },
            None => {
                let title = view.search_tool_title(exposed_name).unwrap_or(exposed_name).to_owned();
                CallTarget {
                    facts: ToolLabel { title, server: None, class: None },
                    definition: None,
                    arguments: arguments.to_owned(),
                    shown_arguments,
                }
            }
        }
    }

    fn run(&self, run: ToolRun) -> BoxFuture<'static, ToolCallEnd> {
        let (tools, results) = (self.tools.clone(), Arc::clone(&self.results));
        let called = self.view(&run.scope);
        Box::pin(async move {
            let ToolRun { scope, exposed_name, arguments, report, cancel } = run;
            let target = called.called_tool(&exposed_name, &arguments).map(|(tool, _)| {
                (tool.server().clone(), tool.name().to_owned(), tool.server_name().to_owned())
            });
            let observed = Arc::new(ObservedCall { report, seen: Mutex::default() });
            let call = ToolCall {
                observer: Some(Arc::<ObservedCall>::clone(&observed)),
                cancel: cancel.clone(),
                ..ToolCall::new(exposed_name, Some(arguments))
            };
            let started = Instant::now();
            let response = tools.call_to_end(ChatTools::caller(&scope), call).await;
            let took = started.elapsed();
            let unfit = match (&target, &response) {
                (Some((server, tool, _)), CallResponse::Result(result)) => {
                    tools.output_mismatch(server, tool, result).await
                }
                _ => None,
            };
            let seen = observed.seen.lock();
            let response = seen.redacted(response);
            let server = target.as_ref().map_or("tools", |(_, _, server)| server);
            let context = ResultContext {
                server,
                took,
                waited: seen.waited,
                call: seen.call.clone(),
                verdict: seen.verdict.clone(),
                messages: Vec::new(),
                unfit: unfit.map(|problem| seen.redacted_text(problem)),
            };
            let view = results.show(&response, context);
            let state = end_state(&view, cancel.is_cancelled());
            ToolCallEnd { state, result: model_result(&response, view.unfit.as_deref()), view }
        })
    }

    fn conversation_ended(&self, conversation: &ConversationId) {
        self.tools.session_ended(&chat_session(conversation));
    }
}

/// What became known of a call while it ran.
struct ObservedCall {
    report: CallReport,
    seen: Mutex<SeenCall>,
}

#[derive(Default)]
struct SeenCall {
    call: Option<CallId>,
    redactor: Option<Redactor>,
    verdict: Option<Verdict>,
    waited: Duration,
}

impl SeenCall {
    /// The response without the server's secrets.
    fn redacted(&self, response: CallResponse) -> CallResponse {
        let Some(redactor) = &self.redactor else { return response };
        match response {
            CallResponse::Result(raw) => CallResponse::Result(redactor.raw(&raw).into_owned()),
            CallResponse::Error(raw) => CallResponse::Error(redactor.raw(&raw).into_owned()),
        }
    }

    fn redacted_text(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.text(text),
            None => text,
        }
    }
}

impl CallObserver for ObservedCall {
    fn began(&self, call: &CallId, redactor: Redactor) {
        let mut seen = self.seen.lock();
        (seen.call, seen.redactor) = (Some(call.clone()), Some(redactor));
        (self.report)(CallStage::Began(call.clone()));
    }

    fn waits(&self, approval: &ApprovalId) {
        (self.report)(CallStage::Waiting(approval.clone()));
    }

    fn goes_on(&self) {
        (self.report)(CallStage::Running);
    }

    fn judged(&self, verdict: &Verdict, waited: Duration) {
        let mut seen = self.seen.lock();
        (seen.verdict, seen.waited) = (Some(verdict.clone()), waited);
    }
}

/// How a call ended, as it is shown.
fn end_state(view: &ResultView, is_cancelled: bool) -> ToolCallState {
    if view.verdict.as_ref().is_some_and(|verdict| verdict.decision == Decision::Deny) {
        return ToolCallState::Denied;
    }
    match view.end {
        ResultStatus::Ok if view.unfit.is_none() => ToolCallState::Done,
        _ if is_cancelled => ToolCallState::Cancelled,
        _ => ToolCallState::Failed,
    }
}

/// The result for the model: an error of the protocol, and a result that doesn't match the tool's `outputSchema` (TOOL-5),
/// are results with `isError`.
fn model_result(response: &CallResponse, unfit: Option<&str>) -> Box<RawValue> {
    match response {
        CallResponse::Error(error) => {
            let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
            let words = error.get("message").and_then(Value::as_str).unwrap_or("(no message)");
            error_result(words)
        }
        CallResponse::Result(result) => match unfit {
            None => result.clone(),
            Some(problem) => unfit_result(result, problem),
        },
    }
}

fn unfit_result(result: &RawValue, problem: &str) -> Box<RawValue> {
    let text = format!("The tool's result does not match its outputSchema: {problem}");
    let value: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let mut content = vec![serde_json::json!({ "type": "text", "text": text })];
    content.extend(value.get("content").and_then(Value::as_array).into_iter().flatten().cloned());
    to_raw_value(&serde_json::json!({ "content": content, "isError": true }))
        .unwrap_or_else(|_| error_result(&text))
}

impl ModelSource for ModelProviders {
    fn endpoint<'a>(
        &'a self,
        model: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<(ProviderEndpoint, String), UserError>> {
        Box::pin(self.chosen(model))
    }

    fn api<'a>(&'a self, model: &'a ModelChoice) -> BoxFuture<'a, Option<ProviderApi>> {
        Box::pin(async move {
            let stored = self.stored().await.ok()?;
            stored.providers.into_iter().find(|known| known.id == model.provider).map(|known| known.api)
        })
    }
}
