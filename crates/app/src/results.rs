//! Results that servers returned to the user, prepared for display (TOOL-5): long texts are cut, images
//! and audio are limited in size, and the full result is kept for a while so that it can be saved.
//! Nothing here sends a request to a server. Saving never overwrites a file and never writes one that a
//! system would execute.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::server_catalog::{
    ResultContent, ResultPart, ResultStatus, ResultView, SavedFile, TruncatedText, WireMessage,
};
use gatehouse_model::{CallId, ErrorCode, UserError, Verdict, message};
use gatehouse_tools::{CallResponse, UserRun};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::downloads;

/// Longest text that is shown in full, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Largest image or audio that is shown, in bytes.
const MAX_PREVIEW_BYTES: usize = 8 * 1024 * 1024;
/// Limits of kept results: their number, and their size in bytes in all.
const MAX_RESULTS: usize = 32;
const MAX_STORED_BYTES: usize = 192 * 1024 * 1024;

/// The results that can still be saved.
#[derive(Default)]
pub(crate) struct Results {
    stored: Mutex<StoredResults>,
}

#[derive(Default)]
struct StoredResults {
    next: u64,
    results: VecDeque<(String, String, Box<RawValue>)>,
}

pub(crate) struct ResultContext<'a> {
    pub(crate) server: &'a str,
    /// How long it took in all.
    pub(crate) took: Duration,
    /// How long of that it waited for the user.
    pub(crate) waited: Duration,
    pub(crate) call: Option<CallId>,
    /// What decided.
    pub(crate) verdict: Option<Verdict>,
    /// The messages to and from the server.
    pub(crate) messages: Vec<WireMessage>,
    /// Why the result does not match the tool's `outputSchema`.
    pub(crate) unfit: Option<String>,
}

impl<'a> ResultContext<'a> {
    /// The context of a request of the user's.
    pub(crate) fn of_run(server: &'a str, took: Duration, run: &UserRun, unfit: Option<String>) -> Self {
        Self {
            server,
            took,
            waited: run.waited(),
            call: run.call(),
            verdict: run.verdict(),
            messages: run.messages(),
            unfit,
        }
    }
}

impl Results {
    /// Prepares a result for display, and keeps the full result.
    pub(crate) fn show(&self, end: &CallResponse, context: ResultContext<'_>) -> ResultView {
        let raw = end.body();
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let is_error = value.get("isError") == Some(&Value::Bool(true));
        let (end, parts) = match end {
            CallResponse::Error(_) => (rpc_error(&value), Vec::new()),
            CallResponse::Result(_) if is_error => (ResultStatus::ToolError, parts(&value)),
            CallResponse::Result(_) => (ResultStatus::Ok, parts(&value)),
        };
        let millis = |span: Duration| u32::try_from(span.as_millis()).unwrap_or(u32::MAX);
        let json = |name: &str| value.get(name).filter(|member| !member.is_null()).map(ToString::to_string);
        ResultView {
            id: self.keep(context.server, raw),
            end,
            parts,
            structured: json("structuredContent").map(truncate_text),
            unfit: context.unfit,
            meta: json("_meta"),
            bytes: raw.get().len() as u64,
            took_ms: millis(context.took.saturating_sub(context.waited)),
            waited_ms: millis(context.waited),
            call: context.call,
            verdict: context.verdict,
            messages: context.messages,
        }
    }

    fn keep(&self, server: &str, raw: &RawValue) -> String {
        let mut stored = self.stored.lock();
        stored.next += 1;
        let id = format!("res-{}", stored.next);
        stored.results.push_back((id.clone(), server.to_owned(), raw.to_owned()));
        let bytes =
            |stored: &StoredResults| stored.results.iter().map(|(_, _, raw)| raw.get().len()).sum::<usize>();
        while stored.results.len() > MAX_RESULTS
            || (stored.results.len() > 1 && bytes(&stored) > MAX_STORED_BYTES)
        {
            stored.results.pop_front();
        }
        id
    }

    /// Writes one part of a result, or all of it as JSON, into a folder. Blocks.
    pub(crate) fn save(&self, id: &str, part: Option<u32>, folder: &Path) -> Result<SavedFile, UserError> {
        let found = {
            let stored = self.stored.lock();
            stored
                .results
                .iter()
                .find(|(stored, _, _)| stored == id)
                .map(|(_, server, raw)| (server.clone(), raw.clone()))
        };
        let not_stored = || {
            UserError::new(ErrorCode::NotFound, message!("error.app.resultGone"))
                .with_hint(message!("error.app.resultGoneHint"))
        };
        let (server, raw) = found.ok_or_else(not_stored)?;
        let (bytes, ending) = match part {
            None => (raw.get().as_bytes().to_vec(), "json"),
            Some(number) => {
                let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
                let content_blocks = content_blocks(&value);
                let block = content_blocks.get(number as usize).ok_or_else(not_stored)?;
                file_content(block.1)
            }
        };
        downloads::save(folder, &server, ending, &bytes)
    }
}

fn rpc_error(value: &Value) -> ResultStatus {
    let message = value.get("message").and_then(Value::as_str).unwrap_or("(no message)");
    ResultStatus::Error {
        code: value.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: message.to_owned(),
    }
}

/// The content blocks of a result with their roles: of a tool's `content`, a resource's `contents`, a
/// prompt's `messages`.
fn content_blocks(value: &Value) -> Vec<(Option<&str>, &Value)> {
    let list = |name: &str| value.get(name).and_then(Value::as_array).into_iter().flatten();
    let messages = list("messages")
        .filter_map(|message| Some((message.get("role").and_then(Value::as_str), message.get("content")?)));
    list("content").chain(list("contents")).map(|block| (None, block)).chain(messages).collect()
}

fn parts(value: &Value) -> Vec<ResultPart> {
    content_blocks(value)
        .into_iter()
        .map(|(role, block)| ResultPart {
            role: role.map(ToOwned::to_owned),
            content: to_shown_content(block),
        })
        .collect()
}

fn string_member(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(ToOwned::to_owned)
}

fn to_shown_content(block: &Value) -> ResultContent {
    let inner = block.get("resource").unwrap_or(block);
    let (uri, mime_type) = (string_member(inner, "uri"), string_member(inner, "mimeType"));
    let binary = ["data", "blob"].iter().find_map(|name| inner.get(*name).and_then(Value::as_str));
    let title = || string_member(block, "title").or_else(|| string_member(block, "name"));
    match (block.get("type").and_then(Value::as_str), inner.get("text").and_then(Value::as_str), binary) {
        (Some("resource_link"), _, _) => {
            let uri = uri.unwrap_or_default();
            ResultContent::Link { title: title().unwrap_or_else(|| uri.clone()), uri, mime_type }
        }
        (_, Some(text), _) => ResultContent::Text { text: truncate_text(text.to_owned()), uri, mime_type },
        (_, None, Some(data)) => {
            let bytes = data.len() / 4 * 3;
            ResultContent::Binary {
                mime_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                data: (bytes <= MAX_PREVIEW_BYTES).then(|| data.to_owned()),
                bytes: bytes as u64,
                uri,
            }
        }
        (_, None, None) => ResultContent::Other { json: truncate_text(block.to_string()) },
    }
}

/// The bytes of a block, and the file extension for them: never one that a system would execute.
fn file_content(block: &Value) -> (Vec<u8>, &'static str) {
    let inner = block.get("resource").unwrap_or(block);
    if let Some(text) = inner.get("text").and_then(Value::as_str) {
        return (text.as_bytes().to_vec(), "txt");
    }
    let data = ["data", "blob"].iter().find_map(|name| inner.get(*name).and_then(Value::as_str));
    match data.map(|data| STANDARD.decode(data)) {
        Some(Ok(bytes)) => (bytes, ending(inner.get("mimeType").and_then(Value::as_str).unwrap_or_default())),
        Some(Err(_)) | None => (block.to_string().into_bytes(), "json"),
    }
}

fn ending(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/csv" => "csv",
        "text/plain" => "txt",
        _ => "bin",
    }
}

fn truncate_text(text: String) -> TruncatedText {
    if text.len() <= MAX_TEXT_BYTES {
        return TruncatedText { text, whole_bytes: None };
    }
    let whole = text.len() as u64;
    let mut text = text;
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    TruncatedText { text, whole_bytes: Some(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(results: &Results, text: &str) -> ResultView {
        let end = CallResponse::Result(RawValue::from_string(text.to_owned()).unwrap());
        let run = UserRun::default();
        let took = Duration::from_millis(5);
        results.show(&end, ResultContext::of_run("My server!", took, &run, None))
    }

    #[test]
    fn classifies_content_parts() {
        let results = Results::default();
        let shown = show(
            &results,
            r#"{"content":[{"type":"text","text":"hi"},{"type":"image","data":"aGk=","mimeType":"image/png"},
                {"type":"resource","resource":{"uri":"a://b","blob":"aGk="}},{"type":"resource_link","uri":"a://c","name":"C"},
                {"type":"odd"}],"structuredContent":{"n":1},"_meta":{"k":1}}"#,
        );
        let kinds: Vec<&str> = shown
            .parts
            .iter()
            .map(|part| match &part.content {
                ResultContent::Text { .. } => "text",
                ResultContent::Binary { .. } => "binary",
                ResultContent::Link { .. } => "link",
                ResultContent::Other { .. } => "other",
            })
            .collect();
        assert_eq!(kinds, ["text", "binary", "binary", "link", "other"]);
        assert_eq!(
            (shown.structured.unwrap().text.as_str(), shown.meta.as_deref()),
            (r#"{"n":1}"#, Some(r#"{"k":1}"#))
        );
        let prompt = show(&results, r#"{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#);
        assert_eq!(prompt.parts[0].role.as_deref(), Some("user"));
    }

    #[test]
    fn saves_full_text_without_overwriting() {
        let (results, folder) = (Results::default(), tempfile::tempdir().unwrap());
        let long = "ä".repeat(MAX_TEXT_BYTES);
        let shown = show(&results, &format!(r#"{{"contents":[{{"uri":"a://b","text":"{long}"}}]}}"#));
        let ResultContent::Text { text, .. } = &shown.parts[0].content else { panic!("a text") };
        assert_eq!((text.text.len(), text.whole_bytes), (MAX_TEXT_BYTES, Some(long.len() as u64)));
        let first = results.save(&shown.id, Some(0), folder.path()).unwrap().path;
        let second = results.save(&shown.id, Some(0), folder.path()).unwrap().path;
        assert_ne!(first, second);
        assert!(first.ends_with("My-server-1.txt"), "{first}");
        assert_eq!(std::fs::read_to_string(&first).unwrap(), long);
        assert!(results.save(&shown.id, None, folder.path()).unwrap().path.ends_with(".json"));
        assert_eq!(results.save(&shown.id, Some(1), folder.path()).unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(results.save("res-99", None, folder.path()).unwrap_err().code, ErrorCode::NotFound);
    }

    #[test]
    fn saves_executable_types_as_bin() {
        let (results, folder) = (Results::default(), tempfile::tempdir().unwrap());
        let shown =
            show(&results, r#"{"content":[{"type":"image","data":"aGk=","mimeType":"application/x-sh"}]}"#);
        assert!(results.save(&shown.id, Some(0), folder.path()).unwrap().path.ends_with(".bin"));
    }

    #[test]
    fn evicts_oldest_results() {
        let results = Results::default();
        let first = show(&results, "{}").id;
        for _ in 0..MAX_RESULTS {
            show(&results, "{}");
        }
        assert!(results.save(&first, None, Path::new("/nonexistent")).is_err());
        assert_eq!(results.stored.lock().results.len(), MAX_RESULTS);
    }
}
