//! Tool calls made with a client's token and that client's permissions, and the list of past calls.

use std::sync::Arc;

use gatehouse_model::command::{Authority, Call, CallReply};
use gatehouse_model::record::CallFilter;
use gatehouse_model::{CallRecord, ErrorCode, Problem};
use gatehouse_tools::{CallEnd, Caller, Era, Peer, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::Parts;
use crate::redact;

/// Client name that these calls identify with.
const SAYS: &str = "gatehousectl";

pub(super) async fn call(
    parts: &Arc<Parts>,
    call: &Call,
    process: Option<u32>,
) -> Result<CallReply, Problem> {
    let client = parts.clients.authenticate(call.token.reveal()).ok_or_else(|| {
        Problem::new(ErrorCode::NotPermitted, "No client has this token.")
            .todo("`gatehousectl clients add NAME` makes a client and its token.")
    })?;
    let arguments = RawValue::from_string(call.arguments.clone()).map_err(|e| {
        Problem::new(ErrorCode::BadRequest, "The arguments are not JSON.").why(format!("{e}."))
    })?;
    parts.clients.saw(&client.id, None);
    if parts.tools.catalogue().by_exposed(&call.tool).is_none() {
        parts.tools.refresh().await;
    }
    let peer = match process {
        Some(process) => gatehouse_gateway::seen::of_process(process).await,
        None => None,
    };
    let peer = peer.unwrap_or_else(Peer::unseen);
    let caller = Caller { client, session: None, says: Some(SAYS.into()), peer, era: Era::Stateless };
    // Cancelled when this future is dropped because the caller disconnected.
    let cancel = CancellationToken::new();
    let _cancelled_with_us = cancel.clone().drop_guard();
    let call = ToolCall {
        exposed_name: call.tool.clone(),
        arguments: Some(arguments),
        rest: Vec::new(),
        meta: None,
        progress: None,
        asks: None,
        listening: None,
        cancel,
    };
    let end = parts.tools.call(caller, call).await;
    let is_rpc_error = matches!(end, CallEnd::Error(_));
    let is_tool_error = !is_rpc_error && says_error(end.body());
    Ok(CallReply { body: end.body().get().to_owned(), is_rpc_error, is_tool_error })
}

fn says_error(result: &RawValue) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Flag {
        #[serde(default)]
        is_error: bool,
    }
    serde_json::from_str::<Flag>(result.get()).is_ok_and(|flag| flag.is_error)
}

/// Past calls. Their contents, including the arguments of pending calls, are for the operator only.
pub(super) async fn list(
    parts: &Arc<Parts>,
    filter: CallFilter,
    by: Authority,
) -> Result<Vec<CallRecord>, Problem> {
    if by < Authority::Operator && filter.text.is_some() {
        return Err(Problem::new(ErrorCode::NotPermitted, "Searching in calls needs the operator key.")
            .why("It tells what was in their arguments and results."));
    }
    let list = move |store: &gatehouse_store::Store| {
        // Records of the last moments may not be on disk yet.
        store.activity().flush();
        store.activity().list(&filter)
    };
    let mut calls = parts.on_store(list).await?;
    if by < Authority::Operator {
        calls.iter_mut().for_each(redact::record);
    }
    Ok(calls)
}
