//! What a test in another language tells the provider and asks it, as HTTP requests below `/script/`.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::script::ScriptedAnswer;
use super::{ProviderRequest, ProviderState};

/// The reply to such a request; none if it is one for a model.
pub(super) fn answer(state: &ProviderState, request: &ProviderRequest) -> Result<Option<Value>> {
    let Some(what) = request.path.strip_prefix("/script/") else { return Ok(None) };
    match what {
        "answers" => {
            let answers: Vec<ScriptedAnswer> = serde_json::from_value(request.body.clone())?;
            state.answers.lock().extend(answers);
        }
        "key" => *state.key.lock() = serde_json::from_value(request.body.clone())?,
        "models" => *state.models.lock() = serde_json::from_value(request.body.clone())?,
        "release" => state.holds.release(),
        "received" => return Ok(Some(json!(*state.requests.lock()))),
        _ => bail!("{what} is no part of a script"),
    }
    Ok(Some(Value::Null))
}
