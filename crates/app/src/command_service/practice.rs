//! The practice request of the first steps (UI-11): a call of a harmless built-in tool, made as a client of its own that
//! nobody has a token of. It is judged and asked about like every other call.

use std::sync::Arc;

use gatehouse_model::command::PracticeResult;
use gatehouse_model::server::Builtin;
use gatehouse_model::{ErrorCode, ServerConfig, ServerStatus, Transport, UserError, message};
use gatehouse_tools::{CallResponse, Caller, ToolCall, ToolName};
use serde_json::value::RawValue;

use super::AppState;
use super::calls::has_error_flag;

/// A tool of the built-in server Time, which only reads the clock.
const TOOL: &str = "current_time";

/// Makes the call and waits until the user has answered.
pub(super) async fn practice(state: &Arc<AppState>) -> Result<PracticeResult, UserError> {
    let server = clock(state)?;
    if state.tools.permissions().paused() {
        return Err(UserError::new(ErrorCode::Paused, message!("error.tools.paused"))
            .with_hint(message!("error.tools.pausedHint")));
    }
    let caller = Caller::practice();
    let client = Arc::clone(&caller.client);
    let tool = ToolName::Own { server: server.id.clone(), name: TOOL.into() };
    let arguments = RawValue::from_string("{}".to_owned()).ok();
    let end = state.tools.call(caller, ToolCall::of(tool, arguments)).await;
    let is_allowed = matches!(&end, CallResponse::Result(result) if !has_error_flag(result));
    // A rule for this client would never be used again.
    state.tools.permissions().client_removed(&client.id).await?;
    Ok(PracticeResult { is_allowed })
}

/// The built-in server Time, if it runs.
fn clock(state: &AppState) -> Result<ServerConfig, UserError> {
    let is_clock =
        |config: &ServerConfig| matches!(&config.transport, Transport::Builtin { builtin: Builtin::Time });
    let running = state.servers.list().into_iter().find(|snapshot| {
        is_clock(&snapshot.config) && matches!(snapshot.status, ServerStatus::Connected { .. })
    });
    running.map(|snapshot| (*snapshot.config).clone()).ok_or_else(|| {
        UserError::new(ErrorCode::ServerUnavailable, message!("error.app.noClock"))
            .with_hint(message!("error.app.noClockHint"))
    })
}
