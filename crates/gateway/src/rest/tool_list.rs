//! `GET /v1/tools`: the tools that the client sees, in the format of its model provider, with what of them the format can't
//! carry.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_mcp_wire::raw::quoted;
use gatehouse_models::adapters::{AdaptedTools, ToolFormat};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::protocol::adapted_tools::{AdaptedToolList, TaggedBody};
use crate::rest::exchange::{RestRequest, RestResponse};
use crate::rest::problem::ProblemDetails;
use crate::rest::query;

/// Bytes of the hash of a list that are its tag.
const TAG_BYTES: usize = 16;

/// Serves the list.
pub(crate) fn serve(request: &RestRequest<'_>) -> Result<RestResponse, ProblemDetails> {
    let format = query::format(request.query)?.unwrap_or(ToolFormat::Mcp);
    request.identify();
    if request.client.tool_list().listed() {
        request.state.announce_tool_list(request.client);
    }
    let list = adapted(request, format);
    let TaggedBody { bytes, tag } = &list.body;
    let (status, body) = if is_known(request.headers, tag) {
        (StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        (StatusCode::OK, bytes.clone())
    };
    let response = RestResponse::json(status, body)
        .with_header(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    Ok(match HeaderValue::from_str(tag) {
        Ok(tag) => response.with_header(ETAG, tag),
        Err(_) => response,
    })
}

/// The list of the client's tools in a format.
pub(crate) fn adapted(request: &RestRequest<'_>, format: ToolFormat) -> Arc<AdaptedToolList> {
    request.lists().adapted_tools(format, &|tools| {
        let bytes = body(format, tools);
        TaggedBody { tag: tag(&bytes), bytes }
    })
}

/// The tools as a request to the provider has them, so that they are passed on as they are.
fn body(format: ToolFormat, tools: &AdaptedTools) -> Bytes {
    let length: usize = tools.definitions().iter().map(|tool| tool.get().len() + 1).sum();
    let mut out = String::with_capacity(length + 256);
    out.push_str(r#"{"format":"#);
    out.push_str(&quoted(query::format_name(format)));
    out.push_str(r#","tools":["#);
    // Gemini's declarations are members of one tool.
    let is_wrapped = format == ToolFormat::Gemini && !tools.definitions().is_empty();
    if is_wrapped {
        out.push_str(r#"{"functionDeclarations":["#);
    }
    for (place, tool) in tools.definitions().iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(tool.get());
    }
    if is_wrapped {
        out.push_str("]}");
    }
    let left_out = tools.left_out().iter().map(|left| json!({ "tool": left.tool, "reason": left.reason }));
    let left_out: serde_json::Value = left_out.collect();
    let simplified = json!(tools.simplified());
    out.push_str(&format!(r#"],"simplified":{simplified},"leftOut":{left_out}}}"#));
    out.into()
}

/// The strong validator of a body (RFC 9110).
fn tag(body: &[u8]) -> String {
    let hash = Sha256::digest(body);
    format!("\"{}\"", hex::encode(hash.get(..TAG_BYTES).unwrap_or_default()))
}

/// Whether the client has the body with this tag already.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut known = lines.flat_map(|line| line.split(',')).map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}
