//! Tool calls made with a client's token and that client's permissions, and past calls: their list, their export to a
//! file, and figures about them.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use gatehouse_model::command::{
    Authority, Call, CallExportFormat, CallReply, CallsExport, CallsStatistics, ExportedCalls,
};
use gatehouse_model::record::CallFilter;
use gatehouse_model::statistics::CallStatistics;
use gatehouse_model::{CallRecord, ErrorCode, UserError, message};
use gatehouse_store::CallExporter;
use gatehouse_tools::{CallResponse, Caller, Narrowing, Peer, ProtocolFamily, ToolCall, Viewer};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::named_runs::NamedRun;
use super::{AppState, bridge, clients};
use crate::{downloads, redact};

/// Records that are in memory at a time during an export.
const EXPORT_PAGE: u32 = 500;
/// What exported files are called.
const EXPORT_NAME: &str = "gatehouse-calls";

/// Client name that these calls identify with.
const CLIENT_NAME: &str = "gatehousectl";

pub(super) async fn call(
    state: &Arc<AppState>,
    call: &Call,
    process: Option<u32>,
) -> Result<CallReply, UserError> {
    let client = clients::with_token(state, call.token.reveal())?;
    let arguments = RawValue::from_string(call.arguments.clone()).map_err(|e| {
        UserError::new(ErrorCode::BadRequest, message!("error.app.argumentsNotJson"))
            .with_cause(format!("{e}."))
    })?;
    state.clients.record_seen(&client.id);
    let folder = bridge::working_folder(process).await.map(Arc::from);
    let narrowing = Narrowing { folder, ..Narrowing::default() };
    let viewer = Viewer { client: client.id.clone(), narrowing: narrowing.clone() };
    if state.tools.client_catalog(&viewer).tool(&call.tool).is_none() {
        state.tools.refresh().await;
    }
    let peer = match process {
        Some(process) => gatehouse_gateway::peer_process::inspect_process(process).await,
        None => None,
    };
    let peer = peer.unwrap_or_else(Peer::unseen);
    let caller = Caller {
        client,
        narrowing,
        session: None,
        client_info: Some(CLIENT_NAME.into()),
        peer,
        // It cannot be asked anything itself, and a server of both families can ask the user only on the older one.
        protocol_family: ProtocolFamily::Stateful,
        user_run: None,
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

pub(super) fn has_error_flag(result: &RawValue) -> bool {
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

pub(super) async fn statistics(
    state: &Arc<AppState>,
    wanted: CallsStatistics,
) -> Result<CallStatistics, UserError> {
    let statistics = move |store: &gatehouse_store::Store| {
        // Records of the last moments may not be on disk yet.
        store.activity().flush();
        store.activity().statistics(&wanted.query)
    };
    state.with_store(statistics).await
}

/// Writes calls to a file in the folder of downloads.
pub(super) async fn export(
    state: &Arc<AppState>,
    wanted: CallsExport,
    gone: &CancellationToken,
) -> Result<ExportedCalls, UserError> {
    let CallsExport { filter, format, run } = wanted;
    let named = NamedRun::begin(state, run.as_deref(), gone)?;
    let (working, cancel) = (Arc::clone(state), named.cancel.clone());
    let done =
        tokio::task::spawn_blocking(move || CallExport { state: &working, format, cancel }.write(filter));
    let exported = done.await;
    drop(named);
    exported.unwrap_or_else(|error| {
        Err(UserError::new(ErrorCode::Internal, message!("error.app.callsUnexported"))
            .with_cause(format!("{error}.")))
    })
}

/// An export in progress.
struct CallExport<'a> {
    state: &'a AppState,
    format: CallExportFormat,
    cancel: CancellationToken,
}

impl CallExport<'_> {
    /// Writes the file. Blocks. Leaves none if it fails or is stopped.
    fn write(&self, filter: CallFilter) -> Result<ExportedCalls, UserError> {
        let ending = match self.format {
            CallExportFormat::JsonLines => "jsonl",
            CallExportFormat::Csv => "csv",
            CallExportFormat::Har => "har",
        };
        let (path, file) = downloads::create(&self.state.downloads, EXPORT_NAME, ending)?;
        match self.write_pages(filter, file) {
            Ok(calls) => Ok(ExportedCalls { path: path.display().to_string(), calls }),
            Err(error) => {
                if let Err(error) = std::fs::remove_file(&path) {
                    tracing::warn!(%error, "the part of an export that was written could not be removed");
                }
                Err(error)
            }
        }
    }

    fn write_pages(&self, filter: CallFilter, file: File) -> Result<u64, UserError> {
        let unwritten = |error: io::Error| downloads::unwritten(&self.state.downloads, &error);
        let activity = self.state.store.activity();
        // Records of the last moments may not be on disk yet.
        activity.flush();
        let mut page = CallFilter { limit: Some(EXPORT_PAGE), older_than: None, ..filter };
        let mut exporter = CallExporter::new(BufWriter::new(file), self.format).map_err(unwritten)?;
        loop {
            if self.cancel.is_cancelled() {
                return Err(UserError::new(ErrorCode::Cancelled, message!("error.app.exportStopped")));
            }
            let records = activity.list(&page)?;
            for record in &records {
                exporter.write(record).map_err(unwritten)?;
            }
            match records.last() {
                Some(last) => page.older_than = Some(last.cursor()),
                None => return exporter.finish().map_err(unwritten),
            }
        }
    }
}
