//! `POST /v1/tools/call`: one call of a tool as a model wrote it, and its result as the model's provider wants it back.
//!
//! The call enters the same pipeline as `tools/call` at `/mcp`. What the model has to read is a result in its provider's
//! format, also if the call was refused, failed, or wasn't made because its arguments are wrong. A call that still waits for
//! the user when the wait is over has HTTP 202, and the same call made again gets the answer.

use std::sync::Arc;

use gatehouse_mcp_wire::raw::{Members, raw};
use gatehouse_models::adapters::{self, CallDefect, RenderedResult, ToolFormat};
use gatehouse_models::exchange::UnusableToolCall;
use gatehouse_tools::{
    ApprovalWait, CallResponse, Caller, Peer, ProtocolFamily, ToolCall, ToolName, error_result,
};
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::value::RawValue;

use crate::protocol::calls::{DispatchedCall, OnDisconnect};
use crate::protocol::protocol_compat::{AdaptError, adapt_result, error_code};
use crate::rest::exchange::{RestRequest, RestResponse};
use crate::rest::problem::ProblemDetails;
use crate::rest::query;
use crate::rest::tool_list;
use crate::revision::Revision;

/// What became of the call, since not every format has a place for it.
const OUTCOME: HeaderName = HeaderName::from_static("gatehouse-outcome");
/// What of the result the format can't carry: a JSON array of sentences.
const LOST: HeaderName = HeaderName::from_static("gatehouse-lost");
/// Set if the model's arguments were no JSON and were repaired.
const REPAIRED: HeaderName = HeaderName::from_static("gatehouse-repaired-arguments");

/// Longest list of what a result lost, in bytes.
const MAX_LOST_BYTES: usize = 4 * 1024;

/// After how many seconds a client may call again. The next call waits itself.
const CALL_AGAIN_AFTER: HeaderValue = HeaderValue::from_static("1");

/// JSON-RPC error code for a request with wrong parameters, such as an unknown tool.
const INVALID_PARAMS: i32 = -32602;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestOutcome {
    /// The tool's result.
    Result,
    /// A result that is an error: the tool says so, or the call was refused or failed.
    Error,
    /// The user hasn't answered yet.
    Waiting,
    /// The call wasn't made because its arguments aren't what the tool takes.
    InvalidArguments,
}

/// The call that a result is for.
struct AnsweredCall<'a> {
    format: ToolFormat,
    id: &'a str,
    /// The name that the model used.
    name: &'a str,
    is_repaired: bool,
}

/// Serves one call.
pub(crate) async fn serve(
    request: &RestRequest<'_>,
    peer: &Peer,
    body: &[u8],
) -> Result<RestResponse, ProblemDetails> {
    let named_format = query::format(request.query)?;
    let call = parse(body)?;
    let format = format_of(call, named_format)?;
    let client_info = request.identify();
    let model_call = match adapters::read_call(format, call) {
        Ok(model_call) => model_call,
        Err(CallDefect::Arguments(UnusableToolCall { id, name, reason, .. })) => {
            let answered = AnsweredCall { format, id: &id, name: &name, is_repaired: false };
            return Ok(answered.response(&error_result(&reason), RestOutcome::InvalidArguments));
        }
        Err(defect @ CallDefect::NotACall(_)) => {
            let format = query::format_name(format);
            return Err(ProblemDetails::bad_request(format!(
                "{defect} Send one call object as the format {format} has it."
            )));
        }
    };
    if request.client.tool_list().called() {
        request.state.announce_tool_list(request.client);
    }
    let answered = AnsweredCall {
        format,
        id: &model_call.id,
        name: &model_call.name,
        is_repaired: model_call.repaired_from.is_some(),
    };
    let list = tool_list::adapted(request, format);
    // A name that isn't listed may still be one that the client can call, as in search mode.
    let exposed = list.tools.exposed_name(&model_call.name).unwrap_or(&model_call.name);
    let tool = request.lists().listed_tool(&list, exposed);
    let is_listed = tool.is_some();
    if let Some(tool) = tool
        && let Some(defect) = check(tool, model_call.arguments.clone()).await
    {
        return Ok(answered.response(&error_result(&defect), RestOutcome::InvalidArguments));
    }
    let wait = Arc::new(ApprovalWait::new(query::wait_limit(request.headers)));
    let cancel = request.client.disconnected.child_token();
    let tool_call = ToolCall {
        meta: meta(format, call),
        approval_wait: Some(Arc::clone(&wait)),
        cancel: cancel.clone(),
        ..ToolCall::of(ToolName::Exposed(exposed.into()), Some(model_call.arguments.clone()))
    };
    let caller = Caller {
        client: Arc::clone(&request.client.entry),
        narrowing: request.viewer.narrowing.clone(),
        session: None,
        client_info,
        peer: peer.clone(),
        // A result is never a request for input, which this API has no way to answer.
        protocol_family: ProtocolFamily::Stateful,
        user_run: None,
    };
    let future = request.state.tool_service.call(caller, tool_call);
    let running = DispatchedCall::new(future, cancel, OnDisconnect::Cancel, &request.state.calls);
    let result = match running.await {
        CallResponse::Result(result) => adapted_result(result),
        CallResponse::Error(error) if !is_listed && error_code(&error) == Some(INVALID_PARAMS) => {
            return Err(unknown_tool(&error));
        }
        CallResponse::Error(error) => error_result(&rpc_error_text(&error)),
    };
    let is_error = Members::of(&result).ok().and_then(|members| members.flag("isError")) == Some(true);
    let outcome = match (wait.is_over(), is_error) {
        (true, _) => RestOutcome::Waiting,
        (false, true) => RestOutcome::Error,
        (false, false) => RestOutcome::Result,
    };
    Ok(answered.response(&result, outcome))
}

fn parse(body: &[u8]) -> Result<&RawValue, ProblemDetails> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ProblemDetails::bad_request("The body is not UTF-8. Send JSON in UTF-8."))?;
    let call: &RawValue = serde_json::from_str(text).map_err(|error| {
        ProblemDetails::bad_request(format!("The body is not JSON: {error}. Send one call object."))
    })?;
    match call.get().chars().next() {
        Some('{') => Ok(call),
        Some('[') => Err(ProblemDetails::bad_request(
            "The body is a list. Send each call in a request of its own; they may run at the same time.",
        )),
        Some(_) | None => {
            Err(ProblemDetails::bad_request("The body is not an object. Send one call object."))
        }
    }
}

/// The format of a call by its shape, which has to be the one that the client names.
fn format_of(call: &RawValue, named: Option<ToolFormat>) -> Result<ToolFormat, ProblemDetails> {
    let found = adapters::detect_format(call).ok_or_else(|| {
        ProblemDetails::bad_request(
            "This is no call of a tool in any known format. Send one call object: an item of `tool_calls` or a `function_call` of OpenAI, a `tool_use` of Anthropic, a `functionCall` of Gemini, or `{\"name\": …, \"arguments\": {…}}`.",
        )
    })?;
    let has = |member: &str| Members::of(call).is_ok_and(|members| members.get(member).is_some());
    match named {
        None => Ok(found),
        Some(named) if named == found => Ok(found),
        // What is in a `functionCall` without arguments could be both.
        Some(ToolFormat::Gemini) if found == ToolFormat::Mcp && !has("arguments") && !has("method") => {
            Ok(ToolFormat::Gemini)
        }
        Some(named) => {
            let (named, found) = (query::format_name(named), query::format_name(found));
            let detail = format!(
                "The query says that the call has the format {named}, and its shape is that of {found}. Change one of the two, or leave `format` out."
            );
            Err(ProblemDetails::new(StatusCode::CONFLICT, detail))
        }
    }
}

/// What the model has to be told of arguments that the tool doesn't take; `None` if there is nothing.
async fn check(tool: Box<RawValue>, arguments: Box<RawValue>) -> Option<String> {
    // Schemas are their servers', and may take long.
    let checked = tokio::task::spawn_blocking(move || adapters::check_arguments(&tool, &arguments));
    checked.await.ok()?.err()
}

/// The `_meta` of a call of MCP.
fn meta(format: ToolFormat, call: &RawValue) -> Option<Box<RawValue>> {
    if format != ToolFormat::Mcp {
        return None;
    }
    let members = Members::of(call).ok()?;
    match members.get("params") {
        Some(params) if members.get("method").is_some() => {
            Members::of(params).ok()?.get("_meta").map(ToOwned::to_owned)
        }
        Some(_) | None => members.get("_meta").map(ToOwned::to_owned),
    }
}

/// A tool's result without what only the newest revision of MCP has.
fn adapted_result(result: Box<RawValue>) -> Box<RawValue> {
    let text = match adapt_result(result, Revision::NEWEST_WITH_SESSION) {
        Ok(adapted) => String::from_utf8(adapted.rest.into()).unwrap_or_default(),
        Err(AdaptError::NotAnObject) => {
            return error_result("The server answered with a result that is not an object.");
        }
        Err(AdaptError::UnknownType) => {
            return error_result(
                "The server wants something (input or a task) that the REST tool API cannot carry.",
            );
        }
    };
    raw(text)
}

/// An error of a server, for the model.
fn rpc_error_text(error: &RawValue) -> String {
    let members = Members::of(error).unwrap_or_default();
    let message = members.text("message").unwrap_or_default();
    match error_code(error) {
        Some(code) => format!("The call failed with error {code}: {message}"),
        None => format!("The call failed: {message}"),
    }
}

fn unknown_tool(error: &RawValue) -> ProblemDetails {
    let members = Members::of(error).unwrap_or_default();
    let message = members.text("message").unwrap_or_default();
    let detail = format!("{message} Get the names of the tools that there are with GET /v1/tools.");
    ProblemDetails::new(StatusCode::NOT_FOUND, detail)
}

impl RestOutcome {
    fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Error => "error",
            Self::Waiting => "waiting",
            Self::InvalidArguments => "invalid-arguments",
        }
    }
}

impl AnsweredCall<'_> {
    /// A result in the format of the call.
    fn response(&self, result: &RawValue, outcome: RestOutcome) -> RestResponse {
        let RenderedResult { json, lost } = adapters::render_result(self.format, self.id, self.name, result);
        let status = match outcome {
            RestOutcome::Waiting => StatusCode::ACCEPTED,
            RestOutcome::Result | RestOutcome::Error | RestOutcome::InvalidArguments => StatusCode::OK,
        };
        let mut response = RestResponse::json(status, String::from(Box::<str>::from(json)))
            .with_header(OUTCOME, HeaderValue::from_static(outcome.name()));
        if outcome == RestOutcome::Waiting {
            response = response.with_header(RETRY_AFTER, CALL_AGAIN_AFTER);
        }
        if self.is_repaired {
            response = response.with_header(REPAIRED, HeaderValue::from_static("true"));
        }
        match (lost.is_empty(), HeaderValue::from_str(&lost_header(&lost))) {
            (false, Ok(lost)) => response.with_header(LOST, lost),
            _ => response,
        }
    }
}

/// Sentences as a JSON array of nothing but ASCII. Those beyond the longest header are counted.
fn lost_header(lost: &[String]) -> String {
    let mut out = String::from("[");
    for (place, sentence) in lost.iter().enumerate() {
        let item = ascii_json(sentence);
        if out.len() + item.len() > MAX_LOST_BYTES {
            let comma = if place > 0 { "," } else { "" };
            out.push_str(&format!(r#"{comma}"and {} more""#, lost.len() - place));
            break;
        }
        if place > 0 {
            out.push(',');
        }
        out.push_str(&item);
    }
    out.push(']');
    out
}

/// A JSON string in which what isn't ASCII is escaped.
fn ascii_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in gatehouse_mcp_wire::raw::quoted(text).chars() {
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_parts_are_a_short_header_of_ascii() {
        let header = |lost: &[&str]| {
            let text = lost_header(&lost.iter().map(|&sentence| sentence.to_owned()).collect::<Vec<_>>());
            assert!(HeaderValue::from_str(&text).is_ok() && text.is_ascii(), "{text}");
            serde_json::from_str::<Vec<String>>(&text).unwrap()
        };
        assert_eq!(header(&["an image", "ein „Ton“ 😀\n\u{7f}"]), ["an image", "ein „Ton“ 😀\n\u{7f}"]);
        let long = "x".repeat(3_000);
        assert_eq!(header(&[&long, &long, "y"]), [long.as_str(), "and 2 more"]);
        assert_eq!(header(&[&"x".repeat(5_000)]), ["and 1 more"]);
    }

    #[test]
    fn takes_only_one_object() {
        for (body, is_call) in [
            (r#" {"name":"x"} "#, true),
            ("{}", true),
            ("[{}]", false),
            ("7", false),
            ("", false),
            ("{}{}", false),
        ] {
            assert_eq!(parse(body.as_bytes()).is_ok(), is_call, "{body}");
        }
        assert!(parse(b"{\"name\":\"\xff\"}").is_err());
    }
}
