//! The three tools of Gatehouse's own that a client in search mode gets instead of the list (TOOL-7): their definitions,
//! and what a call of one asks for. `call_tool` is only taken apart here: the call that it asks for is judged, put to the
//! user, sent and recorded as a call of the tool that it names.

use std::collections::BTreeSet;

use gatehouse_mcp_wire::json::read;
use gatehouse_mcp_wire::raw::{Members, raw};
use gatehouse_policy::display::reveal;
use serde_json::json;
use serde_json::value::RawValue;

use crate::call_types::response::{CallResponse, error_result};
use crate::call_types::{ToolCall, ToolName, shorten_name};
use crate::catalog::catalog_tool::CatalogTool;

const SEARCH: &str = "search_tools";
const DESCRIBE: &str = "describe_tool";
const CALL: &str = "call_tool";

/// Results of a search where the client names no limit, and at most.
const DEFAULT_RESULTS: usize = 10;
const MAX_RESULTS: usize = 50;
/// Servers that the description of `search_tools` names at most.
const MAX_NAMED_SERVERS: usize = 30;

/// A tool of Gatehouse's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaTool {
    Search,
    Describe,
    Call,
}

impl MetaTool {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            SEARCH => Some(Self::Search),
            DESCRIBE => Some(Self::Describe),
            CALL => Some(Self::Call),
            _ => None,
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Search => "Search tools",
            Self::Describe => "Describe a tool",
            Self::Call => "Call a tool",
        }
    }
}

/// What a client asks of a tool of Gatehouse's own.
pub(crate) enum MetaRequest {
    Lookup(ToolLookup),
    /// A call of a real tool.
    Call(ToolCall),
}

/// A request that is answered from what the client sees.
pub(crate) enum ToolLookup {
    Search { query: String, limit: usize },
    Describe { name: String },
}

/// The definitions of the three tools, for a client that sees these tools.
pub(crate) fn definitions<'a>(tools: impl Iterator<Item = &'a CatalogTool>) -> [Box<RawValue>; 3] {
    let (mut servers, mut count) = (BTreeSet::new(), 0_usize);
    for tool in tools {
        servers.insert(tool.server_name());
        count += 1;
    }
    let mut names: Vec<String> =
        servers.iter().take(MAX_NAMED_SERVERS).map(|name| reveal(name).into_owned()).collect();
    if servers.len() > MAX_NAMED_SERVERS {
        names.push("…".to_owned());
    }
    let search = json!({
        "name": SEARCH,
        "title": MetaTool::Search.title(),
        "description": format!(
            "Finds tools by what they do, best match first. {count} tools of these servers can be searched: {}. \
             Read a tool's arguments with {DESCRIBE}, then run it with {CALL}.",
            names.join(", ")
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words for what the tool should do, or a part of its name or its server's." },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": format!("How many results at most; {DEFAULT_RESULTS} if absent.") },
            },
            "required": ["query"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let describe = json!({
        "name": DESCRIBE,
        "title": MetaTool::Describe.title(),
        "description": format!("Returns the whole definition of a tool that {SEARCH} found, with the schema of its arguments."),
        "inputSchema": {
            "type": "object",
            "properties": { "name": { "type": "string", "description": format!("The tool's name as {SEARCH} gave it.") } },
            "required": ["name"],
            "additionalProperties": false,
        },
        "annotations": { "readOnlyHint": true, "openWorldHint": false },
    });
    let call = json!({
        "name": CALL,
        "title": MetaTool::Call.title(),
        "description": format!("Runs a tool that {SEARCH} found, and returns its result. The user decides about each call as if the tool was called directly."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": format!("The tool's name as {SEARCH} gave it.") },
                "arguments": { "type": "object", "description": format!("The tool's arguments, by the schema that {DESCRIBE} returns; empty if absent.") },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    });
    [search, describe, call].map(|definition| raw(definition.to_string()))
}

/// Reads what a call of one of the three tools asks for.
///
/// # Errors
/// What is wrong with its arguments, as a result with `isError`.
pub(crate) fn parse(tool: MetaTool, call: ToolCall) -> Result<MetaRequest, CallResponse> {
    let text = call.arguments.as_deref().map_or("{}", RawValue::get);
    if let Err(defect) = read(text) {
        return Err(refuse(&format!("The arguments cannot be read safely: {defect}.")));
    }
    let Ok(members) = Members::read(text) else { return Err(refuse("The arguments have to be an object.")) };
    let known: &[&str] = match tool {
        MetaTool::Search => &["query", "limit"],
        MetaTool::Describe => &["name"],
        MetaTool::Call => &["name", "arguments"],
    };
    if let Some(unknown) = members.names().find(|name| !known.contains(name)) {
        let unknown = reveal(shorten_name(unknown)).into_owned();
        return Err(refuse(&format!("There is no argument “{unknown}”; there is: {}.", known.join(", "))));
    }
    let needed = |name: &str| match members.text(name) {
        Some(text) => Ok(text.into_owned()),
        None => Err(refuse(&format!("The argument `{name}` has to be a text."))),
    };
    match tool {
        MetaTool::Search => {
            let limit = match members.get("limit") {
                None => DEFAULT_RESULTS,
                Some(limit) => serde_json::from_str::<usize>(limit.get())
                    .map_err(|_| refuse("The argument `limit` has to be a whole number."))?
                    .clamp(1, MAX_RESULTS),
            };
            Ok(MetaRequest::Lookup(ToolLookup::Search { query: needed("query")?, limit }))
        }
        MetaTool::Describe => Ok(MetaRequest::Lookup(ToolLookup::Describe { name: needed("name")? })),
        MetaTool::Call => {
            let name = needed("name")?;
            let arguments = members.get("arguments").map(ToOwned::to_owned);
            Ok(MetaRequest::Call(ToolCall { tool: ToolName::Exposed(name.into()), arguments, ..call }))
        }
    }
}

/// The tool that a call of one of the three tools runs, with the arguments for it; `None` if it runs none.
pub(crate) fn called(tool: MetaTool, arguments: &RawValue) -> Option<(Box<str>, Option<Box<RawValue>>)> {
    let call = ToolCall::new(String::new(), Some(arguments.to_owned()));
    match parse(tool, call).ok()? {
        MetaRequest::Call(ToolCall { tool: ToolName::Exposed(name), arguments, .. }) => {
            Some((name, arguments))
        }
        MetaRequest::Call(_) | MetaRequest::Lookup(_) => None,
    }
}

/// A result with `isError`: the model is to read what it did wrong.
pub(crate) fn refuse(text: &str) -> CallResponse {
    CallResponse::Result(error_result(text))
}
