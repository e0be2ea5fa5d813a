//! Answers `search_tools` and `describe_tool` (TOOL-7) from what the client sees. No server is asked.

use gatehouse_mcp_wire::raw::{quoted, raw};
use gatehouse_policy::display::reveal;
use gatehouse_store::{StoreError, ToolIndex};
use serde_json::json;
use serde_json::value::RawValue;

use super::client_catalog::ClientCatalog;
use super::client_views::ClientViews;
use super::meta_tools::{ToolLookup, refuse};
use crate::call_types::response::CallResponse;
use crate::call_types::shorten_name;

/// Longest description in a list of results, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// Answers a lookup. Blocks while tools are indexed and searched.
pub(crate) fn look_up(views: &ClientViews, view: &ClientCatalog, lookup: ToolLookup) -> CallResponse {
    match lookup {
        ToolLookup::Describe { name } => describe(view, &name),
        ToolLookup::Search { query, limit } => {
            let found = views.index(view).and_then(|index| search(view, &index, &query, limit));
            found.unwrap_or_else(|error| {
                tracing::warn!(%error, "tools could not be searched");
                unavailable()
            })
        }
    }
}

/// The response where the tools can't be searched.
pub(crate) fn unavailable() -> CallResponse {
    refuse("Gatehouse could not search its tools.")
}

fn search(
    view: &ClientCatalog,
    index: &ToolIndex,
    query: &str,
    limit: usize,
) -> Result<CallResponse, StoreError> {
    let found = index.search(query, limit, |at| view.visible_tool(at).is_some())?;
    let tools: Vec<serde_json::Value> = found
        .into_iter()
        .filter_map(|at| view.visible_tool(at))
        .map(|tool| {
            let mut shown = json!({
                "name": tool.exposed_name(),
                "server": reveal(tool.server_name()),
                "description": shorten(tool.definition.description.as_deref().unwrap_or_default()),
            });
            if let (Some(title), Some(members)) = (tool.title(), shown.as_object_mut()) {
                members.insert("title".to_owned(), title.into());
            }
            shown
        })
        .collect();
    if tools.is_empty() {
        let text = "No tool was found. Try other words, or the name of a server.";
        return Ok(CallResponse::Result(text_result(text)));
    }
    Ok(CallResponse::Result(text_result(&json!({ "tools": tools }).to_string())))
}

/// The definition of a tool as the result of `describe_tool`.
fn describe(view: &ClientCatalog, name: &str) -> CallResponse {
    match view.definition(name) {
        Some(definition) => CallResponse::Result(text_result(definition.get())),
        None => refuse(&format!("There is no tool named “{}”.", reveal(shorten_name(name)))),
    }
}

fn text_result(text: &str) -> Box<RawValue> {
    raw(format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, quoted(text)))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
