//! Tool calls made with a client's token and that client's permissions, and the list of past calls.

use std::sync::Arc;

use gatehouse_model::command::{Authority, Call, CallReply};
use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallRecord, ErrorCode, UserError, message};
use gatehouse_tools::{CallResponse, Caller, Peer, ProtocolFamily, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::AppState;
use crate::redact;

/// Client name that these calls identify with.
const CLIENT_NAME: &str = "gatehousectl";

pub(super) async fn call(
    state: &Arc<AppState>,
    call: &Call,
    process: Option<u32>,
) -> Result<CallReply, UserError> {
    let client = state.clients.authenticate(call.token.reveal()).ok_or_else(|| {
        UserError::new(ErrorCode::NotPermitted, message!("error.app.unknownToken"))
            .with_hint(message!("error.app.addClientHint"))
    })?;
    let arguments = RawValue::from_string(call.arguments.clone()).map_err(|e| {
        UserError::new(ErrorCode::BadRequest, message!("error.app.argumentsNotJson"))
            .with_cause(format!("{e}."))
    })?;
    state.clients.record_seen(&client.id);
    if state.tools.catalog().by_exposed(&call.tool).is_none() {
        state.tools.refresh().await;
    }
    let peer = match process {
        Some(process) => gatehouse_gateway::peer_process::inspect_process(process).await,
        None => None,
    };
    let peer = peer.unwrap_or_else(Peer::unseen);
    let caller = Caller {
        client,
        session: None,
        client_info: Some(CLIENT_NAME.into()),
        peer,
        protocol_family: ProtocolFamily::Stateless,
    };
    // Cancelled when this future is dropped because the caller disconnected.
    let cancel = CancellationToken::new();
    let _cancel_on_drop = cancel.clone().drop_guard();
    let call = ToolCall { cancel, ..ToolCall::new(call.tool.clone(), Some(arguments)) };
    let end = state.tools.call(caller, call).await;
    let is_rpc_error = matches!(end, CallResponse::Error(_));
    let is_tool_error = !is_rpc_error && has_error_flag(end.body());
    Ok(CallReply { body: end.body().get().to_owned(), is_rpc_error, is_tool_error })
}

fn has_error_flag(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ErrorFlag {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str::<ErrorFlag>(result.get()).is_ok_and(|flag| flag.is_error)
}

/// Past calls. Their contents, including the arguments of pending calls, are for the operator only.
pub(super) async fn list(
    state: &Arc<AppState>,
    filter: CallFilter,
    by: Authority,
) -> Result<Vec<CallRecord>, UserError> {
    if by < Authority::Operator && filter.text.is_some() {
        return Err(UserError::new(ErrorCode::NotPermitted, message!("error.app.searchNeedsKey"))
            .with_cause(message!("error.app.searchNeedsKeyCause")));
    }
    let list = move |store: &gatehouse_store::Store| {
        // Records of the last moments may not be on disk yet.
        store.activity().flush();
        store.activity().list(&filter)
    };
    let mut calls = state.with_store(list).await?;
    if by < Authority::Operator {
        calls.iter_mut().for_each(redact::redact_record);
    }
    Ok(calls)
}
