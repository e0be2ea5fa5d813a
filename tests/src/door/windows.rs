//! The commands of both windows. Commands that would move a window are only recorded.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gatehouse_app::Authority;
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsList, ApprovalsReveal, Command};
use gatehouse_model::{ErrorCode, Problem};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::Door;

pub(super) async fn noted(State(door): State<Arc<Door>>) -> Json<Vec<String>> {
    Json(door.noted.all())
}

pub(super) async fn run(
    State(door): State<Arc<Door>>,
    Path(command): Path<String>,
    Json(args): Json<Value>,
) -> Response {
    match reply(&door, &command, args).await {
        Ok(reply) => Json(reply).into_response(),
        Err(problem) => (StatusCode::BAD_REQUEST, Json(problem)).into_response(),
    }
}

async fn reply(door: &Door, command: &str, args: Value) -> Result<Box<RawValue>, Problem> {
    if let Some(reply) = door.vault(command, &args).await? {
        return raw(&reply);
    }
    match command {
        "command" => {
            let name = args["name"].as_str().unwrap_or_default().to_owned();
            if name == "call" {
                return Err(Problem::new(ErrorCode::NotPermitted, "A window calls no tool."));
            }
            core(door, &name, &args["args"]).await
        }
        "prompt_pending" => core(door, name_of::<ApprovalsList>(), &args).await,
        "prompt_answer" => core(door, name_of::<ApprovalsAnswer>(), &args).await,
        "prompt_reveal" => core(door, name_of::<ApprovalsReveal>(), &args).await,
        "preferences" | "prompt_preferences" => raw(&*door.preferences.lock().await),
        "set_preferences" => {
            *door.preferences.lock().await = args["preferences"].clone();
            door.changed_look.send_modify(|times| *times += 1);
            raw(&Value::Null)
        }
        "start_again" | "open_link" | "painted" | "show_prompt" | "hide_main" | "quit"
        | "prompt_put_away" | "prompt_fit" | "prompt_open_main" | "prompt_open_link" => {
            door.noted.add(format!("{command} {args}"));
            raw(&Value::Null)
        }
        other => Err(Problem::new(ErrorCode::BadRequest, format!("There is no command {other}."))),
    }
}

fn name_of<R: gatehouse_model::command::Request>() -> &'static str {
    R::NAME
}

async fn core(door: &Door, name: &str, args: &Value) -> Result<Box<RawValue>, Problem> {
    let command = Command::parse(name, &raw(args)?)?;
    door.core.read().await.core()?.execute(command, Authority::Operator).await
}

fn raw(value: &Value) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value)
        .map_err(|e| Problem::new(ErrorCode::Internal, "A value cannot be written.").why(format!("{e}.")))
}
