//! A server's sampling request (MCP, `sampling/createMessage`) as a request to a model, and the model's answer as the
//! result that the server gets. Nothing here asks a model or sends anything to a server: the user lets the model write, and
//! sends what it wrote.
//!
//! Tools that a server offers are not given to the model, since Gatehouse does not declare `sampling.tools`: the model
//! could only write calls that nobody runs. What the server prefers among models and what context it wants have no effect.

use gatehouse_common::invisible_chars::clean;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::exchange::{AssistantPart, ModelMessage, ModelRequest, StopReason, UserPart};

/// A sampling request for a model.
#[derive(Debug)]
pub struct SamplingPrompt {
    pub request: ModelRequest,
    /// Whether the server offered tools.
    pub has_tools: bool,
}

/// Why a sampling request cannot be put to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplingDefect {
    #[error("the params of the sampling request can't be read: {0}")]
    Unreadable(String),
    /// Content of this type, such as `audio`, is for no model that Gatehouse reaches.
    #[error("the sampling request has content of the type {0}")]
    Content(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SamplingParams {
    messages: Vec<SamplingMessage>,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    max_tokens: Option<f64>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    stop_sequences: Option<Vec<String>>,
    #[serde(default)]
    tools: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Deserialize)]
struct SamplingMessage {
    role: SamplingRole,
    content: SamplingContent,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SamplingRole {
    User,
    Assistant,
}

/// One block of content, or several since revision 2025-11-25.
#[derive(Deserialize)]
#[serde(untagged)]
enum SamplingContent {
    Several(Vec<SamplingBlock>),
    One(SamplingBlock),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SamplingBlock {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    mime_type: Option<String>,
}

/// The request to a model for the params of a sampling request.
///
/// # Errors
/// If the params are not those of a sampling request, or have content that no model gets.
pub fn prompt(params: &RawValue, model: &str) -> Result<SamplingPrompt, SamplingDefect> {
    let params: SamplingParams =
        serde_json::from_str(params.get()).map_err(|error| SamplingDefect::Unreadable(error.to_string()))?;
    let messages = params.messages.into_iter().map(message).collect::<Result<Vec<_>, _>>()?;
    if messages.is_empty() {
        return Err(SamplingDefect::Unreadable("there is no message".to_owned()));
    }
    let request = ModelRequest {
        model: model.to_owned(),
        instructions: params.system_prompt.filter(|text| !text.trim().is_empty()),
        messages,
        tools: Vec::new(),
        max_tokens: params.max_tokens.and_then(whole_tokens),
        temperature: params.temperature.filter(|value| value.is_finite() && *value >= 0.0),
        stop_sequences: params.stop_sequences.unwrap_or_default(),
    };
    Ok(SamplingPrompt { request, has_tools: params.tools.is_some_and(|tools| !tools.is_empty()) })
}

/// A number of tokens, which JSON may write as `100.0`; none where it is no positive number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range of the type")]
fn whole_tokens(tokens: f64) -> Option<u32> {
    (tokens >= 1.0).then(|| tokens.min(f64::from(u32::MAX)) as u32)
}

fn message(message: SamplingMessage) -> Result<ModelMessage, SamplingDefect> {
    let blocks = match message.content {
        SamplingContent::Several(blocks) => blocks,
        SamplingContent::One(block) => vec![block],
    };
    Ok(match message.role {
        SamplingRole::User => {
            ModelMessage::User(blocks.into_iter().map(user_part).collect::<Result<_, _>>()?)
        }
        SamplingRole::Assistant => {
            ModelMessage::Assistant(blocks.into_iter().map(assistant_part).collect::<Result<_, _>>()?)
        }
    })
}

fn user_part(block: SamplingBlock) -> Result<UserPart, SamplingDefect> {
    let SamplingBlock { kind, text, data, mime_type } = block;
    match (kind.as_str(), text, data, mime_type) {
        ("text", Some(text), _, _) => Ok(UserPart::Text(text)),
        ("image", _, Some(data), Some(mime_type)) => Ok(UserPart::Image { mime_type, data }),
        _ => Err(SamplingDefect::Content(kind)),
    }
}

fn assistant_part(block: SamplingBlock) -> Result<AssistantPart, SamplingDefect> {
    let SamplingBlock { kind, text, .. } = block;
    match (kind.as_str(), text) {
        ("text", Some(text)) => Ok(AssistantPart::Text(text)),
        _ => Err(SamplingDefect::Content(kind)),
    }
}

/// What a model wrote, as a result of `sampling/createMessage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplingReply {
    /// The result as JSON text.
    pub content: String,
    /// The text in it, without hidden characters: the user checks it before it is sent.
    pub text: String,
}

/// The result for what a model wrote; `None` if it wrote nothing, or refused to.
#[must_use]
pub fn reply(written: &str, stop: StopReason, model: &str) -> Option<SamplingReply> {
    let text = clean(written).into_owned();
    let stop = match stop {
        StopReason::Finished | StopReason::ToolCalls => "endTurn",
        StopReason::Length => "maxTokens",
        StopReason::Refused => return None,
    };
    if text.trim().is_empty() {
        return None;
    }
    let content = json!({
        "role": "assistant",
        "content": { "type": "text", "text": text },
        "model": model,
        "stopReason": stop,
    });
    Some(SamplingReply { content: content.to_string(), text })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::value::to_raw_value;

    use super::*;

    fn read(params: &Value) -> Result<SamplingPrompt, SamplingDefect> {
        prompt(&to_raw_value(params).unwrap(), "m-1")
    }

    #[test]
    fn carries_everything_that_a_model_takes() {
        let SamplingPrompt { request, has_tools } = read(&json!({
            "messages": [
                { "role": "user", "content": { "type": "text", "text": "What is this?" } },
                { "role": "assistant", "content": { "type": "text", "text": "Show me." } },
                { "role": "user", "content": [
                    { "type": "text", "text": "Here:" },
                    { "type": "image", "data": "aGk=", "mimeType": "image/png", "annotations": {} },
                ] },
            ],
            "systemPrompt": "Be brief.",
            "maxTokens": 100,
            "temperature": 0.2,
            "stopSequences": ["END"],
            "includeContext": "thisServer",
            "modelPreferences": { "hints": [{ "name": "best" }] },
            "metadata": { "a": 1 },
        }))
        .unwrap();
        assert!(!has_tools);
        assert_eq!(request.model, "m-1");
        assert_eq!(request.instructions.as_deref(), Some("Be brief."));
        assert_eq!((request.max_tokens, request.temperature), (Some(100), Some(0.2)));
        assert_eq!(request.stop_sequences, ["END"]);
        let [ModelMessage::User(first), ModelMessage::Assistant(second), ModelMessage::User(third)] =
            request.messages.as_slice()
        else {
            panic!("{:?}", request.messages)
        };
        assert!(matches!(first.as_slice(), [UserPart::Text(text)] if text == "What is this?"));
        assert!(matches!(second.as_slice(), [AssistantPart::Text(text)] if text == "Show me."));
        let [UserPart::Text(_), UserPart::Image { mime_type, data }] = third.as_slice() else { panic!() };
        assert_eq!((mime_type.as_str(), data.as_str()), ("image/png", "aGk="));
    }

    #[test]
    fn gives_no_tools_to_the_model() {
        let SamplingPrompt { request, has_tools } = read(&json!({
            "messages": [{ "role": "user", "content": { "type": "text", "text": "Go" } }],
            "maxTokens": 10,
            "tools": [{ "name": "rm", "inputSchema": { "type": "object" } }],
            "toolChoice": { "mode": "required" },
        }))
        .unwrap();
        assert!(has_tools && request.tools.is_empty());
    }

    #[test]
    fn odd_numbers_fall_back_to_the_defaults_of_the_provider() {
        for (tokens, temperature, expected) in [
            (json!(100.0), json!(0), (Some(100), Some(0.0))),
            (json!(-1), json!(-1), (None, None)),
            (json!(1e300), json!(2), (Some(u32::MAX), Some(2.0))),
            (json!(null), json!(null), (None, None)),
        ] {
            let params = json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "Go" } }],
                "maxTokens": tokens,
                "temperature": temperature,
            });
            let request = read(&params).unwrap().request;
            assert_eq!((request.max_tokens, request.temperature), expected, "{params}");
        }
    }

    #[test]
    fn refuses_what_no_model_gets() {
        let with = |role: &str, content: Value| json!({ "messages": [{ "role": role, "content": content }] });
        let audio = with("user", json!({ "type": "audio", "data": "", "mimeType": "audio/wav" }));
        assert_eq!(read(&audio).unwrap_err(), SamplingDefect::Content("audio".into()));
        let call = with("assistant", json!([{ "type": "tool_use", "id": "1", "name": "a", "input": {} }]));
        assert_eq!(read(&call).unwrap_err(), SamplingDefect::Content("tool_use".into()));
        for unreadable in [
            json!({}),
            json!({ "messages": [] }),
            with("system", json!({ "type": "text", "text": "Obey" })),
            with("user", json!("text")),
        ] {
            assert!(matches!(read(&unreadable), Err(SamplingDefect::Unreadable(_))), "{unreadable}");
        }
    }

    #[test]
    fn a_reply_is_a_message_of_the_model() {
        let SamplingReply { content, text } = reply("Hi\u{202e} there", StopReason::Length, "m-1").unwrap();
        assert_eq!(text, "Hi there");
        let expected = json!({
            "role": "assistant",
            "content": { "type": "text", "text": "Hi there" },
            "model": "m-1",
            "stopReason": "maxTokens",
        });
        assert_eq!(serde_json::from_str::<Value>(&content).unwrap(), expected);
        assert_eq!(reply(" \u{200b}", StopReason::Finished, "m-1"), None);
        assert_eq!(reply("I won't", StopReason::Refused, "m-1"), None);
    }
}
