//! Tool calls that models write.
//!
//! Arguments are read by the strict reader of `mcp-wire`, which refuses what programs could read in two ways, and passed on
//! byte for byte. A call must only be finished when its provider said that it is complete: brackets that are missing at the
//! end are added, which would hide that an answer was cut off.

use std::borrow::Cow;

use gatehouse_common::random;
use gatehouse_mcp_wire::json::{Json, JsonDefect, read};
use gatehouse_mcp_wire::raw::{Members, object, raw, text_of};
use gatehouse_model::provider::ProviderApi;
use serde_json::value::RawValue;

use crate::adapters::argument_repair::repaired_object;
use crate::adapters::tool_format::ToolFormat;
use crate::exchange::{ModelToolCall, ProviderItem, UnusableToolCall};

/// Begins ids that were made up, for providers that give none.
pub(super) const MADE_UP_ID: &str = "gatehouse-";

/// Longest piece of a defect that is quoted, in characters.
const MAX_QUOTED_CHARS: usize = 120;

/// Why a call object can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CallDefect {
    /// It isn't a call in the format, as a sentence.
    #[error("{0}")]
    NotACall(String),
    /// It is one, but its arguments can't be used.
    #[error("{}", .0.reason)]
    Arguments(UnusableToolCall),
}

/// Whose call object it is, by its members; `None` if it is nobody's.
#[must_use]
pub fn detect_format(call: &RawValue) -> Option<ToolFormat> {
    let members = Members::of(call).ok()?;
    if let Some(kind) = members.get("type") {
        return match &*text_of(kind)? {
            "function" => members.get("function").map(|_| ToolFormat::OpenAiChat),
            "function_call" => Some(ToolFormat::OpenAiResponses),
            "tool_use" => Some(ToolFormat::Anthropic),
            _ => None,
        };
    }
    if members.get("functionCall").is_some() {
        return Some(ToolFormat::Gemini);
    }
    if members.get("function").is_some() {
        return Some(ToolFormat::OpenAiChat);
    }
    if members.text("method").is_some_and(|method| method == "tools/call") {
        return Some(ToolFormat::Mcp);
    }
    members.get("name")?;
    Some(if members.get("args").is_some() { ToolFormat::Gemini } else { ToolFormat::Mcp })
}

/// Reads one call object of a provider: an entry of `tool_calls`, an item `function_call`, a block `tool_use`, a part with
/// `functionCall` (or what is in it), or the parameters of `tools/call` (or the request around them).
///
/// # Errors
/// It is no call of the format, or its arguments can't be used.
pub fn read_call(format: ToolFormat, call: &RawValue) -> Result<ModelToolCall, CallDefect> {
    let members = members(call)?;
    match format {
        ToolFormat::OpenAiChat => {
            let function = inside(&members, "function")?;
            finish(&members, "id", &function, function.get("arguments"))
        }
        ToolFormat::OpenAiResponses => {
            has_type(&members, "function_call")?;
            finish(&members, "call_id", &members, members.get("arguments"))
        }
        ToolFormat::Anthropic => {
            has_type(&members, "tool_use")?;
            finish(&members, "id", &members, members.get("input"))
        }
        ToolFormat::Gemini => {
            if members.get("functionCall").is_none() {
                return finish(&members, "id", &members, members.get("args"));
            }
            let function = inside(&members, "functionCall")?;
            let mut call = finish(&function, "id", &function, function.get("args"))?;
            let around = object(members.iter().filter(|(name, _)| *name != "functionCall"));
            if around != "{}" {
                call.provider_item = Some(ProviderItem { api: ProviderApi::Gemini, json: raw(around) });
            }
            Ok(call)
        }
        ToolFormat::Mcp => {
            if members.get("method").is_none() {
                return finish(&members, "id", &members, members.get("arguments"));
            }
            let params = inside(&members, "params")?;
            finish(&members, "id", &params, params.get("arguments"))
        }
    }
}

/// Reads all calls of a whole answer, in their order: an assistant message of chat completions, a response, a message of
/// Anthropic, a content or candidate of Gemini. Answers without calls have none.
///
/// # Errors
/// It is no object, or has no list where the calls have to be.
pub fn read_calls(
    format: ToolFormat,
    answer: &RawValue,
) -> Result<Vec<Result<ModelToolCall, CallDefect>>, CallDefect> {
    let members = members(answer)?;
    let list = match format {
        ToolFormat::OpenAiChat => members.get("tool_calls"),
        ToolFormat::OpenAiResponses => members.get("output"),
        ToolFormat::Anthropic => members.get("content"),
        ToolFormat::Gemini => match members.get("content") {
            Some(content) => self::members(content)?.get("parts"),
            None => members.get("parts"),
        },
        ToolFormat::Mcp => return Ok(vec![read_call(format, answer)]),
    };
    let Some(list) = list.filter(|list| list.get() != "null") else { return Ok(Vec::new()) };
    let items: Vec<&RawValue> = serde_json::from_str(list.get())
        .map_err(|_| CallDefect::NotACall("The calls are not a list.".to_owned()))?;
    let calls = items.into_iter().filter(|item| detect_format(item) == Some(format));
    Ok(calls.map(|call| read_call(format, call)).collect())
}

/// Makes a call of what a model wrote: the arguments as text, put together from all fragments of a stream. A text of
/// nothing, or `null`, is `{}`.
///
/// # Errors
/// The arguments are no JSON object, and it isn't certain what they are meant to be.
pub fn finish_call(id: String, name: String, written: &str) -> Result<ModelToolCall, UnusableToolCall> {
    let text = written.trim_matches([' ', '\t', '\r', '\n']);
    let reason = match read(text) {
        Ok(Json::Object(_)) => {
            return Ok(ModelToolCall {
                id,
                name,
                arguments: raw(text.to_owned()),
                repaired_from: None,
                provider_item: None,
            });
        }
        Ok(Json::Null) => None,
        Err(JsonDefect::Malformed { .. }) if text.is_empty() => None,
        Ok(Json::String(_)) | Err(JsonDefect::Malformed { .. }) => match repaired_object(text) {
            Some(repaired) => {
                return Ok(ModelToolCall {
                    id,
                    name,
                    arguments: raw(repaired),
                    repaired_from: Some(written.to_owned()),
                    provider_item: None,
                });
            }
            None => Some(match read(text) {
                Err(defect) => not_json(&defect),
                Ok(_) => NOT_AN_OBJECT.to_owned(),
            }),
        },
        Ok(_) => Some(NOT_AN_OBJECT.to_owned()),
        Err(defect) => Some(not_json(&defect)),
    };
    match reason {
        None => Ok(ModelToolCall {
            id,
            name,
            arguments: raw("{}".to_owned()),
            repaired_from: None,
            provider_item: None,
        }),
        Some(reason) => Err(UnusableToolCall { id, name, written: written.to_owned(), reason }),
    }
}

/// For the model.
const NOT_AN_OBJECT: &str =
    "The arguments of a tool call have to be one JSON object. The tool was not called; call it again.";

/// For the model.
fn not_json(defect: &JsonDefect) -> String {
    let defect: String = defect.to_string().chars().take(MAX_QUOTED_CHARS).collect();
    format!(
        "The arguments can't be used: {defect}. The tool was not called; call it again with one JSON object."
    )
}

fn members(value: &RawValue) -> Result<Members<'_>, CallDefect> {
    Members::of(value).map_err(|error| CallDefect::NotACall(format!("The call can't be read: {error}.")))
}

fn inside<'a>(members: &Members<'a>, name: &str) -> Result<Members<'a>, CallDefect> {
    let value =
        members.get(name).ok_or_else(|| CallDefect::NotACall(format!("The call has no `{name}`.")))?;
    self::members(value)
}

fn has_type(members: &Members<'_>, wanted: &str) -> Result<(), CallDefect> {
    if members.text("type").is_some_and(|found| found == wanted) {
        return Ok(());
    }
    Err(CallDefect::NotACall(format!("The `type` of the call is not `{wanted}`.")))
}

/// `outer` has the id under its name, `function` the name of the tool.
fn finish(
    outer: &Members<'_>,
    id: &str,
    function: &Members<'_>,
    arguments: Option<&RawValue>,
) -> Result<ModelToolCall, CallDefect> {
    let name = function.text("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| CallDefect::NotACall("The call names no tool.".to_owned()))?.into_owned();
    let id = match outer.get(id).map(|id| text_of(id).unwrap_or(Cow::Borrowed(id.get()))) {
        Some(id) if !id.is_empty() && id != "null" => id.into_owned(),
        _ => made_up_id()?,
    };
    // OpenAI's arguments are JSON text in a string; the others', and some programs that speak its format, an object.
    let written = match arguments {
        None => Cow::Borrowed(""),
        Some(value) => text_of(value).unwrap_or(Cow::Borrowed(value.get())),
    };
    finish_call(id, name, &written).map_err(CallDefect::Arguments)
}

/// An id for a call whose provider gives none.
pub(crate) fn made_up_id() -> Result<String, CallDefect> {
    let token = random::token()
        .map_err(|error| CallDefect::NotACall(format!("No id can be made for the call: {error}.")))?;
    Ok(format!("{MADE_UP_ID}{}", token.reveal().chars().take(22).collect::<String>()))
}

/// Whether an id was made up here: its provider doesn't know it.
pub(crate) fn is_made_up_id(id: &str) -> bool {
    id.starts_with(MADE_UP_ID)
}
