//! Resources, prompts, completions and tools used by the user. These requests go through the same call
//! pipeline as those of clients; what the user has blocked stays blocked.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::command::{
    ResultsSave, ServersCallTool, ServersComplete, ServersGetPrompt, ServersReadResource, ServersSetLogLevel,
    ServersWatchResource,
};
use gatehouse_model::offer::{Completion, CompletionTarget, Saved, ServerOffer, Shown};
use gatehouse_model::{ErrorCode, Problem, ServerConfig};
use gatehouse_tools::{AccessCall, AccessKind, CallEnd, ToolCall, offer_of};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use super::{Parts, servers};
use crate::results::Came;

/// Limit of completion values passed on.
const MOST_VALUES: usize = 100;

pub(super) fn offer(parts: &Parts, server: &str) -> Result<ServerOffer, Problem> {
    let config = servers::find(parts, server)?;
    let lists = parts.servers.get(&config.id).map(|handle| handle.lists());
    let mut offer = lists.as_deref().map(offer_of).unwrap_or_default();
    offer.resources_problem = servers::undeclared(parts, &config, "resources", |declared| declared.resources);
    offer.prompts_problem = servers::undeclared(parts, &config, "prompts", |declared| declared.prompts);
    let watched = parts.watched.lock();
    offer.watched = watched.iter().filter(|(id, _)| *id == config.id).map(|(_, uri)| uri.clone()).collect();
    Ok(offer)
}

pub(super) async fn read(parts: &Parts, wanted: &ServersReadResource) -> Result<Shown, Problem> {
    let config = servers::find(parts, &wanted.server)?;
    let call = access(&config, AccessKind::ReadResource, (&wanted.uri, Vec::new()));
    shown(parts, &config, parts.tools.access_for_user(call)).await
}

pub(super) async fn prompt(parts: &Parts, wanted: &ServersGetPrompt) -> Result<Shown, Problem> {
    let config = servers::find(parts, &wanted.server)?;
    let rest = vec![("arguments", raw(&wanted.arguments)?)];
    let call = access(&config, AccessKind::GetPrompt, (&wanted.prompt, rest));
    shown(parts, &config, parts.tools.access_for_user(call)).await
}

pub(super) async fn watch(parts: &Parts, wanted: &ServersWatchResource) -> Result<(), Problem> {
    let config = servers::find(parts, &wanted.server)?;
    let key = (config.id.clone(), wanted.uri.clone());
    let is_watched = parts.watched.lock().contains(&key);
    match (wanted.on, is_watched) {
        (true, true) | (false, false) => Ok(()),
        (false, true) => {
            parts.watched.lock().remove(&key);
            parts.tools.unwatch(&config.id, &wanted.uri).await;
            Ok(())
        }
        (true, false) => {
            let call = access(&config, AccessKind::Subscribe, (&wanted.uri, Vec::new()));
            match parts.tools.access_for_user(call).await {
                CallEnd::Result(_) => {
                    parts.watched.lock().insert(key);
                    Ok(())
                }
                CallEnd::Error(error) => Err(refused(&config, "The resource cannot be watched.", &error)),
            }
        }
    }
}

pub(super) async fn complete(parts: &Parts, wanted: &ServersComplete) -> Result<Completion, Problem> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Values {
        values: Vec<String>,
        total: Option<u64>,
        has_more: bool,
    }
    #[derive(Deserialize)]
    struct Answer {
        completion: Values,
    }
    let config = servers::find(parts, &wanted.server)?;
    let (kind, target) = match &wanted.of {
        CompletionTarget::Prompt { name } => (AccessKind::CompletePrompt, name),
        CompletionTarget::Template { uri_template } => (AccessKind::CompleteResource, uri_template),
    };
    let mut rest = vec![("argument", raw(&json!({ "name": wanted.argument, "value": wanted.value }))?)];
    if !wanted.others.is_empty() {
        rest.push(("context", raw(&json!({ "arguments": wanted.others }))?));
    }
    match parts.tools.access_for_user(access(&config, kind, (target, rest))).await {
        CallEnd::Result(result) => {
            let answer: Answer = serde_json::from_str(result.get()).map_err(|error| {
                Problem::new(
                    ErrorCode::Internal,
                    format!("{} completes in a way that cannot be read.", config.name),
                )
                .why(format!("{error}."))
            })?;
            let Values { mut values, total, has_more } = answer.completion;
            let cut = values.len() > MOST_VALUES;
            values.truncate(MOST_VALUES);
            Ok(Completion { values, total, has_more: has_more || cut })
        }
        CallEnd::Error(error) => Err(refused(&config, "The argument cannot be completed.", &error)),
    }
}

pub(super) async fn call_tool(parts: &Parts, wanted: &ServersCallTool) -> Result<Shown, Problem> {
    let config = servers::find(parts, &wanted.server)?;
    let arguments = RawValue::from_string(wanted.arguments.clone()).map_err(|error| {
        Problem::new(ErrorCode::BadRequest, "The arguments are not JSON.").why(format!("{error}."))
    })?;
    parts.tools.refresh().await;
    let catalogue = parts.tools.catalogue();
    let exposed = catalogue.find(&config.id, &wanted.tool).map(|tool| tool.exposed_name().to_owned());
    let exposed = exposed.ok_or_else(|| {
        Problem::new(ErrorCode::NotFound, format!("{} has no tool “{}”.", config.name, wanted.tool))
    })?;
    let cancel = CancellationToken::new();
    let call = ToolCall {
        exposed_name: exposed.clone(),
        arguments: Some(arguments),
        rest: Vec::new(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel: cancel.clone(),
    };
    let started = Instant::now();
    if let Some(run) = &wanted.run {
        match parts.runs.lock().entry(run.clone()) {
            Entry::Vacant(place) => drop(place.insert(cancel)),
            Entry::Occupied(_) => {
                return Err(Problem::new(ErrorCode::BadRequest, format!("There is a run {run} already.")));
            }
        }
    }
    let end = parts.tools.call_for_user(call).await;
    if let Some(run) = &wanted.run {
        parts.runs.lock().remove(run);
    }
    let unfit = match &end {
        CallEnd::Result(result) => parts.tools.unfit(&exposed, result).await,
        CallEnd::Error(_) => None,
    };
    Ok(parts.results.show(&end, Came { server: &config.name, took: started.elapsed(), unfit }))
}

/// Cancels the run that `call_tool` started under this name.
pub(super) async fn stop_tool(parts: &Parts, run: &str) -> Result<(), Problem> {
    if let Some(cancel) = parts.runs.lock().get(run) {
        cancel.cancel();
    }
    Ok(())
}

pub(super) async fn set_log_level(parts: &Parts, wanted: &ServersSetLogLevel) -> Result<(), Problem> {
    let config = servers::find(parts, &wanted.server)?;
    parts.servers.set_log_level(&config.id, wanted.level).await
}

pub(super) async fn save(parts: &Arc<Parts>, wanted: ResultsSave) -> Result<Saved, Problem> {
    let parts = Arc::clone(parts);
    let saving = tokio::task::spawn_blocking(move || {
        parts.results.save(&wanted.result, wanted.part, &parts.downloads)
    });
    saving.await.unwrap_or_else(|error| {
        Err(Problem::new(ErrorCode::Internal, "The result could not be saved.").why(format!("{error}.")))
    })
}

async fn shown(
    parts: &Parts,
    config: &ServerConfig,
    answer: impl Future<Output = CallEnd>,
) -> Result<Shown, Problem> {
    let started = Instant::now();
    let end = answer.await;
    Ok(parts.results.show(&end, Came { server: &config.name, took: started.elapsed(), unfit: None }))
}

fn access(
    config: &ServerConfig,
    kind: AccessKind,
    (target, rest): (&str, Vec<(&str, Box<RawValue>)>),
) -> AccessCall {
    AccessCall {
        server: config.id.clone(),
        kind,
        target: target.to_owned(),
        exposed_name: target.to_owned(),
        rest: rest.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel: CancellationToken::new(),
    }
}

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value).map_err(|error| {
        Problem::new(ErrorCode::Internal, "The request could not be written.").why(format!("{error}."))
    })
}

fn refused(config: &ServerConfig, what: &str, error: &RawValue) -> Problem {
    let members: BTreeMap<String, serde_json::Value> = serde_json::from_str(error.get()).unwrap_or_default();
    let words = members.get("message").and_then(serde_json::Value::as_str).unwrap_or("(no message)");
    Problem::new(ErrorCode::Refused, what).why(format!("{} says: {words}", config.name))
}
