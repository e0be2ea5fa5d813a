//! Call records (DATA-3): secrets masked, bodies limited in size, and left out for servers that say so. Small bodies are
//! prepared at once, large ones in the background, so that no client waits for its record.

use std::sync::Arc;

use gatehouse_mcp_wire::json::{Json, read};
use gatehouse_model::record::CallOutcome;
use gatehouse_model::{CallRecord, Event, EventSink, ServerId, Timestamp};
use gatehouse_policy::display::masked_json;
use gatehouse_servers::{Redactor, SchemaChecker};
use gatehouse_store::Store;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::task::TaskTracker;

use crate::catalog::output_schema::SchemaContext;
use crate::catalog::tool_definition::ParsedDefinition;

/// Bodies are cut to this many bytes.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Results larger than this aren't parsed for masking, and so not stored.
const MAX_SCANNED_BYTES: usize = 1024 * 1024;
/// Bodies up to this many bytes are prepared at once.
const MAX_INLINE_BYTES: usize = 8 * 1024;

/// Writes call records.
#[derive(Clone)]
pub(crate) struct Recorder {
    store: Arc<Store>,
    events: Arc<dyn EventSink>,
    schemas: Arc<SchemaChecker>,
    tracker: TaskTracker,
}

impl Recorder {
    pub(crate) fn new(
        store: Arc<Store>,
        events: Arc<dyn EventSink>,
        schemas: Arc<SchemaChecker>,
        tracker: TaskTracker,
    ) -> Self {
        Self { store, events, schemas, tracker }
    }

    /// Stores that a server is there, since when it is not called counts from now on (UI-7).
    pub(crate) fn server_seen(&self, server: &ServerId, at: Timestamp) {
        self.store.activity().server_seen(server, at);
    }

    /// Stores a record with its bodies, and then emits the event that the call has finished: a listener that
    /// reads the records on this event finds it.
    pub(crate) fn record_call(&self, record: CallRecord, context: RecordContext, result: &RawValue) {
        let bytes = u64::from(record.bytes_in) + u64::from(record.bytes_out);
        if bytes <= MAX_INLINE_BYTES as u64 && !context.has_output_schema() {
            let stored_result = context.stores_bodies.then(|| redacted_result(result, &context.redactor));
            self.write(record, &context, Some(result), stored_result);
            return;
        }
        // What isn't stored isn't copied either, unless it has to be checked.
        let is_scanned = context.stores_bodies && result.get().len() <= MAX_SCANNED_BYTES;
        let (whole, placeholder) = if is_scanned || context.has_output_schema() {
            (Some(result.to_owned()), None)
        } else {
            (None, context.stores_bodies.then(|| omitted_result(result)))
        };
        let recorder = self.clone();
        self.tracker.spawn_blocking(move || {
            let stored_result = match whole.as_deref() {
                Some(whole) if context.stores_bodies => Some(redacted_result(whole, &context.redactor)),
                _ => placeholder,
            };
            recorder.write(record, &context, whole.as_deref(), stored_result);
        });
    }

    fn write(
        &self,
        mut record: CallRecord,
        context: &RecordContext,
        result: Option<&RawValue>,
        stored_result: Option<String>,
    ) {
        if record.outcome == CallOutcome::Ok
            && let Some(definition) = &context.definition
            && let Some(mismatch) = result.and_then(|result| {
                let by = SchemaContext { checker: &self.schemas, server: &record.server };
                definition.output_mismatch(result, by)
            })
        {
            record.outcome = CallOutcome::Unfit { problem: context.redactor.text(mismatch) };
        }
        if context.stores_bodies {
            record.arguments = Some(truncate(context.redactor.text(masked_json(&context.arguments))));
            record.result = stored_result;
        } else {
            record.outcome = record.outcome.without_texts();
        }
        let finished = Event::CallFinished {
            call: record.id.clone(),
            verdict: record.verdict.clone(),
            outcome: record.outcome.clone(),
            duration_ms: record.duration_ms,
        };
        self.store.activity().record(record);
        self.events.emit(finished);
    }
}

/// Data for a record besides the result.
pub(crate) struct RecordContext {
    pub(crate) arguments: Arc<Json>,
    /// The tool's definition, if results must be checked against its `outputSchema`.
    pub(crate) definition: Option<Arc<ParsedDefinition>>,
    /// Removes the server's secrets from what is stored.
    pub(crate) redactor: Redactor,
    /// Whether arguments, the result and texts of the outcome are stored.
    pub(crate) stores_bodies: bool,
}

impl RecordContext {
    fn has_output_schema(&self) -> bool {
        self.definition.as_ref().is_some_and(|definition| definition.has_output_schema())
    }
}

/// The result as stored: without secrets, including those that only appear once it is decoded, and then cut.
fn redacted_result(result: &RawValue, redactor: &Redactor) -> String {
    let result = redactor.raw(result);
    let text = result.get();
    if text.len() <= MAX_SCANNED_BYTES
        && let Ok(read) = read(text)
    {
        return truncate(redactor.text(masked_json(&read)));
    }
    omitted_result(&result)
}

/// Replacement for a result that can't be searched for secrets: it isn't stored.
fn omitted_result(result: &RawValue) -> String {
    format!("(a result of {} bytes, not kept)", result.get().len())
}

fn truncate(mut text: String) -> String {
    if text.len() > MAX_BODY_BYTES {
        text.truncate(text.floor_char_boundary(MAX_BODY_BYTES));
        text.push('…');
    }
    text
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultHead {
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct ErrorHead {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// The outcome for a JSON-RPC result.
pub(crate) fn outcome_of_result(result: &RawValue) -> CallOutcome {
    let text = result.get();
    // Most results don't contain the word, and parsing a large one costs more than the rest of the call.
    if memchr::memmem::find(text.as_bytes(), b"isError").is_none() {
        return CallOutcome::Ok;
    }
    match serde_json::from_str(text) {
        Ok(ResultHead { is_error: true }) => CallOutcome::ToolError,
        Ok(ResultHead { is_error: false }) | Err(_) => CallOutcome::Ok,
    }
}

/// The outcome for a JSON-RPC error.
pub(crate) fn outcome_of_error(error: &RawValue) -> CallOutcome {
    let ErrorHead { code, message } =
        serde_json::from_str(error.get()).unwrap_or(ErrorHead { code: 0, message: String::new() });
    CallOutcome::RpcError { code: i32::try_from(code).unwrap_or(i32::MIN), message: truncate(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn derives_outcomes() {
        assert_eq!(outcome_of_result(&json(r#"{"content":[]}"#)), CallOutcome::Ok);
        assert_eq!(outcome_of_result(&json(r#"{"content":[],"isError":false}"#)), CallOutcome::Ok);
        assert_eq!(outcome_of_result(&json(r#"{"isError": true,"content":[]}"#)), CallOutcome::ToolError);
        assert_eq!(outcome_of_result(&json(r#"{"content":[{"text":"isError\":true"}]}"#)), CallOutcome::Ok);
        assert_eq!(
            outcome_of_error(&json(r#"{"code":-32602,"message":"no"}"#)),
            CallOutcome::RpcError { code: -32602, message: "no".into() }
        );
    }

    #[test]
    fn caps_bodies() {
        let large = json(&format!("\"{}\"", "ä".repeat(MAX_BODY_BYTES)));
        let redactor = Redactor::default();
        let kept = redacted_result(&large, &redactor);
        assert!(kept.len() <= MAX_BODY_BYTES + 4, "{}", kept.len());
        let huge = json(&format!("\"{}\"", "x".repeat(MAX_SCANNED_BYTES)));
        assert!(redacted_result(&huge, &redactor).starts_with("(a result of"));
    }
}
