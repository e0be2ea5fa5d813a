//! Anthropic's messages.

use gatehouse_model::provider::ProviderApi;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{item_of, rendered};
use crate::adapters::ToolFormat;
use crate::exchange::{AssistantPart, ModelMessage, ModelRequest, UserPart};

/// Most tokens of an answer, where the request has no limit: the API requires one.
const DEFAULT_MAX_TOKENS: u32 = 4096;

#[derive(Serialize)]
pub(super) struct MessagesBody<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<AnthropicMessage<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
    stream: bool,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicBlock<'a> {
    Typed(TypedBlock<'a>),
    /// Reasoning as it came.
    Item(&'a RawValue),
    Result(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedBlock<'a> {
    Text { text: &'a str },
    Image { source: ImageSource<'a> },
    ToolUse { id: String, name: &'a str, input: &'a RawValue },
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

pub(super) fn body(request: &ModelRequest) -> MessagesBody<'_> {
    let mut messages: Vec<AnthropicMessage<'_>> = Vec::new();
    for message in &request.messages {
        let (role, content): (_, Vec<_>) = match message {
            ModelMessage::User(parts) => ("user", parts.iter().filter_map(user_block).collect()),
            ModelMessage::Assistant(parts) => {
                ("assistant", parts.iter().filter_map(assistant_block).collect())
            }
            ModelMessage::ToolResults(results) => {
                let results = rendered(results, ToolFormat::Anthropic, call_id);
                ("user", results.into_iter().map(AnthropicBlock::Result).collect())
            }
        };
        // The roles alternate, and no message may be empty.
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push(AnthropicMessage { role, content }),
        }
    }
    MessagesBody {
        model: &request.model,
        max_tokens: request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        system: request.instructions.as_deref().filter(|text| !is_blank(text)),
        messages,
        tools: &request.tools,
        temperature: request.temperature,
        stop_sequences: &request.stop_sequences,
        stream: true,
    }
}

/// A text that the API refuses.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn user_block(part: &UserPart) -> Option<AnthropicBlock<'_>> {
    let block = match part {
        UserPart::Text(text) if is_blank(text) => return None,
        UserPart::Text(text) => TypedBlock::Text { text },
        UserPart::Image { mime_type, data } => {
            TypedBlock::Image { source: ImageSource { kind: "base64", media_type: mime_type, data } }
        }
    };
    Some(AnthropicBlock::Typed(block))
}

fn assistant_block(part: &AssistantPart) -> Option<AnthropicBlock<'_>> {
    let block = match part {
        AssistantPart::Text(text) if is_blank(text) => return None,
        AssistantPart::Text(text) => TypedBlock::Text { text },
        AssistantPart::Reasoning(item) => {
            return item_of(item, ProviderApi::Anthropic).map(AnthropicBlock::Item);
        }
        AssistantPart::ToolCall(call) => {
            TypedBlock::ToolUse { id: call_id(&call.id), name: &call.name, input: &call.arguments }
        }
    };
    Some(AnthropicBlock::Typed(block))
}

/// An id in the alphabet that the API takes; others give ids such as `functions.search:0`.
fn call_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}
