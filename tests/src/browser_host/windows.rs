//! The commands of both windows. Commands that would move a window are only recorded.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gatehouse_app::Authority;
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsList, ApprovalsReveal, Command};
use gatehouse_model::{ErrorCode, UserError};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::BrowserHost;

pub(super) async fn recorded_actions(State(host): State<Arc<BrowserHost>>) -> Json<Vec<String>> {
    Json(host.recorded_actions.all())
}

pub(super) async fn run(
    State(host): State<Arc<BrowserHost>>,
    Path(command): Path<String>,
    Json(args): Json<Value>,
) -> Response {
    match reply(&host, &command, args).await {
        Ok(reply) => Json(reply).into_response(),
        Err(problem) => (StatusCode::BAD_REQUEST, Json(problem)).into_response(),
    }
}

async fn reply(host: &BrowserHost, command: &str, args: Value) -> Result<Box<RawValue>, UserError> {
    if let Some(reply) = host.vault(command, &args).await? {
        return raw(&reply);
    }
    match command {
        "command" => {
            let name = args["name"].as_str().unwrap_or_default().to_owned();
            if name == "call" {
                return Err(UserError::new(ErrorCode::NotPermitted, "A window calls no tool."));
            }
            core(host, &name, &args["args"]).await
        }
        "prompt_pending" => core(host, name_of::<ApprovalsList>(), &args).await,
        "prompt_answer" => core(host, name_of::<ApprovalsAnswer>(), &args).await,
        "prompt_reveal" => core(host, name_of::<ApprovalsReveal>(), &args).await,
        "preferences" | "prompt_preferences" => raw(&*host.preferences.lock().await),
        "set_preferences" => {
            *host.preferences.lock().await = args["preferences"].clone();
            host.preferences_changed.send_modify(|times| *times += 1);
            raw(&Value::Null)
        }
        "start_again" | "open_link" | "painted" | "show_prompt" | "hide_main" | "quit"
        | "prompt_put_away" | "prompt_fit" | "prompt_open_main" | "prompt_open_link" => {
            host.recorded_actions.add(format!("{command} {args}"));
            raw(&Value::Null)
        }
        other => Err(UserError::new(ErrorCode::BadRequest, format!("There is no command {other}."))),
    }
}

fn name_of<R: gatehouse_model::command::TypedCommand>() -> &'static str {
    R::NAME
}

async fn core(host: &BrowserHost, name: &str, args: &Value) -> Result<Box<RawValue>, UserError> {
    let command = Command::parse(name, &raw(args)?)?;
    host.core.read().await.core()?.execute(command, Authority::Operator).await
}

fn raw(value: &Value) -> Result<Box<RawValue>, UserError> {
    to_raw_value(value).map_err(|e| {
        UserError::new(ErrorCode::Internal, "A value cannot be written.").with_cause(format!("{e}."))
    })
}
