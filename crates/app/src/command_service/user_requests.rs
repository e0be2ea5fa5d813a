//! Resources, prompts, completions and tools used by the user, as the user or as a client. These requests go through the
//! same call pipeline as those of clients; what the user has blocked stays blocked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::command::{
    ResultsSave, ServersCallTool, ServersComplete, ServersGetPrompt, ServersReadResource, ServersSetLogLevel,
    ServersWatchResource,
};
use gatehouse_model::server_catalog::{Completion, CompletionTarget, ResultView, SavedFile, ServerCatalog};
use gatehouse_model::{ErrorCode, Message, ServerConfig, UserError, message};
use gatehouse_tools::{AccessCall, AccessKind, CallResponse, ToolCall, ToolName, UserRun, server_catalog};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use super::named_runs::NamedRun;
use super::{AppState, clients, lookup, servers};
use crate::results::ResultContext;

/// Limit of completion values passed on.
const MAX_VALUES: usize = 100;

pub(super) fn catalog(state: &AppState, server: &str) -> Result<ServerCatalog, UserError> {
    let config = lookup::find(state, server)?;
    let lists = state.servers.get(&config.id).map(|handle| handle.lists());
    let mut catalog = lists.as_deref().map(server_catalog).unwrap_or_default();
    catalog.resources_problem =
        servers::undeclared_list_error(state, &config, message!("error.app.list.resources"), |declared| {
            declared.resources
        });
    catalog.prompts_problem =
        servers::undeclared_list_error(state, &config, message!("error.app.list.prompts"), |declared| {
            declared.prompts
        });
    let watched = state.watched.lock();
    catalog.watched = watched.iter().filter(|(id, _)| *id == config.id).map(|(_, uri)| uri.clone()).collect();
    Ok(catalog)
}

pub(super) async fn read(
    state: &AppState,
    wanted: &ServersReadResource,
    gone: &CancellationToken,
) -> Result<ResultView, UserError> {
    let config = lookup::find(state, &wanted.server)?;
    let run = run_as(state, wanted.run.as_deref(), wanted.client.as_deref())?;
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let call = access_call(&config, AccessKind::ReadResource, &wanted.uri, Vec::new());
    show_access(state, &config, &run, AccessCall { cancel: named.cancel.clone(), ..call }).await
}

pub(super) async fn prompt(
    state: &AppState,
    wanted: &ServersGetPrompt,
    gone: &CancellationToken,
) -> Result<ResultView, UserError> {
    let config = lookup::find(state, &wanted.server)?;
    let rest = vec![("arguments", to_raw(&wanted.arguments)?)];
    let run = run_as(state, wanted.run.as_deref(), wanted.client.as_deref())?;
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let call = access_call(&config, AccessKind::GetPrompt, &wanted.prompt, rest);
    show_access(state, &config, &run, AccessCall { cancel: named.cancel.clone(), ..call }).await
}

pub(super) async fn watch(state: &AppState, wanted: &ServersWatchResource) -> Result<(), UserError> {
    let config = lookup::find(state, &wanted.server)?;
    let key = (config.id.clone(), wanted.uri.clone());
    let is_watched = state.watched.lock().contains(&key);
    match (wanted.on, is_watched) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => {
            state.watched.lock().remove(&key);
            state.tools.unwatch(&config.id, &wanted.uri).await;
            Ok(())
        }
        (true, false) => {
            let call = access_call(&config, AccessKind::Subscribe, &wanted.uri, Vec::new());
            match state.tools.access_for_user(&Arc::default(), call).await {
                CallResponse::Result(_) => {
                    state.watched.lock().insert(key);
                    Ok(())
                }
                CallResponse::Error(error) => {
                    Err(refusal_error(&config, message!("error.app.resourceUnwatched"), &error))
                }
            }
        }
    }
}

pub(super) async fn complete(state: &AppState, wanted: &ServersComplete) -> Result<Completion, UserError> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Values {
        values: Vec<String>,
        total: Option<u64>,
        has_more: bool,
    }
    #[derive(Deserialize)]
    struct CompletionResponse {
        completion: Values,
    }
    let config = lookup::find(state, &wanted.server)?;
    let (kind, target) = match &wanted.of {
        CompletionTarget::Prompt { name } => (AccessKind::CompletePrompt, name),
        CompletionTarget::Template { uri_template } => (AccessKind::CompleteResource, uri_template),
    };
    let mut rest = vec![("argument", to_raw(&json!({ "name": wanted.argument, "value": wanted.value }))?)];
    if !wanted.others.is_empty() {
        rest.push(("context", to_raw(&json!({ "arguments": wanted.others }))?));
    }
    match state.tools.access_for_user(&Arc::default(), access_call(&config, kind, target, rest)).await {
        CallResponse::Result(result) => {
            let answer: CompletionResponse = serde_json::from_str(result.get()).map_err(|error| {
                UserError::new(
                    ErrorCode::Internal,
                    message!("error.app.badCompletion", server = &config.name),
                )
                .with_cause(format!("{error}."))
            })?;
            let Values { mut values, total, has_more } = answer.completion;
            let cut = values.len() > MAX_VALUES;
            values.truncate(MAX_VALUES);
            Ok(Completion { values, total, has_more: has_more || cut })
        }
        CallResponse::Error(error) => {
            Err(refusal_error(&config, message!("error.app.argumentUncompleted"), &error))
        }
    }
}

pub(super) async fn call_tool(
    state: &AppState,
    wanted: &ServersCallTool,
    gone: &CancellationToken,
) -> Result<ResultView, UserError> {
    let config = lookup::find(state, &wanted.server)?;
    let arguments = RawValue::from_string(wanted.arguments.clone()).map_err(|error| {
        UserError::new(ErrorCode::BadRequest, message!("error.app.argumentsNotJson"))
            .with_cause(format!("{error}."))
    })?;
    let run = run_as(state, wanted.run.as_deref(), wanted.client.as_deref())?;
    state.tools.refresh().await;
    if state.tools.catalog().find(&config.id, &wanted.tool).is_none() {
        return Err(UserError::new(
            ErrorCode::NotFound,
            message!("error.app.noTool", server = &config.name, tool = &wanted.tool),
        ));
    }
    let named = NamedRun::begin(state, wanted.run.as_deref(), gone)?;
    let tool = ToolName::Own { server: config.id.clone(), name: wanted.tool.as_str().into() };
    let call = ToolCall { cancel: named.cancel.clone(), ..ToolCall::of(tool, Some(arguments)) };
    let started = Instant::now();
    let end = state.tools.call_for_user(&run, call).await;
    let took = started.elapsed();
    drop(named);
    let unfit = match &end {
        CallResponse::Result(result) => state.tools.output_mismatch(&config.id, &wanted.tool, result).await,
        CallResponse::Error(_) => None,
    };
    let context = ResultContext::of_run(&config.name, took, &run, unfit);
    Ok(state.results.show(&end, context))
}

/// A request of the user's, with the name that its window knows it by, as this client (id or name) or as the user.
fn run_as(state: &AppState, name: Option<&str>, client: Option<&str>) -> Result<Arc<UserRun>, UserError> {
    let client = client.map(|wanted| clients::find_entry(state, wanted)).transpose()?;
    Ok(Arc::new(UserRun::new(name, client)))
}

pub(super) async fn set_log_level(state: &AppState, wanted: &ServersSetLogLevel) -> Result<(), UserError> {
    let config = lookup::find(state, &wanted.server)?;
    state.servers.set_log_level(&config.id, wanted.level).await
}

pub(super) async fn save(state: &Arc<AppState>, wanted: ResultsSave) -> Result<SavedFile, UserError> {
    let state = Arc::clone(state);
    let saving = tokio::task::spawn_blocking(move || {
        state.results.save(&wanted.result, wanted.part, &state.downloads)
    });
    saving.await.unwrap_or_else(|error| {
        Err(UserError::new(ErrorCode::Internal, message!("error.app.resultUnsaved"))
            .with_cause(format!("{error}.")))
    })
}

async fn show_access(
    state: &AppState,
    config: &ServerConfig,
    run: &Arc<UserRun>,
    call: AccessCall,
) -> Result<ResultView, UserError> {
    let started = Instant::now();
    let end = state.tools.access_for_user(run, call).await;
    let context = ResultContext::of_run(&config.name, started.elapsed(), run, None);
    Ok(state.results.show(&end, context))
}

fn access_call(
    config: &ServerConfig,
    kind: AccessKind,
    target: &str,
    rest: Vec<(&str, Box<RawValue>)>,
) -> AccessCall {
    AccessCall {
        rest: rest.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ..AccessCall::new(config.id.clone(), kind, target.to_owned(), target.to_owned())
    }
}

fn to_raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, UserError> {
    to_raw_value(value).map_err(|error| {
        UserError::new(ErrorCode::Internal, message!("error.app.requestUnwritten"))
            .with_cause(format!("{error}."))
    })
}

fn refusal_error(config: &ServerConfig, what: Message, error: &RawValue) -> UserError {
    let members: BTreeMap<String, serde_json::Value> = serde_json::from_str(error.get()).unwrap_or_default();
    let words = members.get("message").and_then(serde_json::Value::as_str).unwrap_or("(no message)");
    UserError::new(ErrorCode::Refused, what).with_cause(message!(
        "error.app.serverSays",
        server = &config.name,
        words = words
    ))
}
