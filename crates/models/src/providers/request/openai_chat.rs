//! OpenAI's chat completions, as OpenAI and many compatible servers read them.

use gatehouse_model::provider::ProviderApi;
use serde::Serialize;
use serde_json::value::RawValue;
use url::{Host, Url};

use super::{item_of, rendered};
use crate::adapters::ToolFormat;
use crate::exchange::{AssistantPart, ModelMessage, ModelRequest, ModelToolCall, UserPart};

#[derive(Serialize)]
pub(super) struct ChatBody<'a> {
    model: &'a str,
    messages: Vec<ChatMessageBody<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    /// What compatible servers know.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// What OpenAI's models want instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    stream: bool,
    stream_options: StreamOptions,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatMessageBody<'a> {
    Plain {
        role: &'static str,
        content: ChatContent<'a>,
    },
    Assistant {
        role: &'static str,
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatToolCall<'a>>,
    },
    Result(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'a> {
    Text(&'a str),
    Parts(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ChatToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatFunction<'a>,
    /// What Gemini wants back when it speaks this format.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: &'a str,
    /// JSON within a string.
    arguments: &'a str,
}

pub(super) fn body<'a>(base: &Url, request: &'a ModelRequest) -> ChatBody<'a> {
    let is_openai = matches!(base.host(), Some(Host::Domain(name))
        if name == "api.openai.com" || name.ends_with(".openai.com") || name.ends_with(".openai.azure.com"));
    // Reasoning goes back within the turn that it belongs to.
    let last_user = request.messages.iter().rposition(|message| matches!(message, ModelMessage::User(_)));
    let instructions = request.instructions.as_deref().filter(|text| !text.is_empty());
    let mut messages: Vec<ChatMessageBody<'a>> = instructions
        .map(|text| ChatMessageBody::Plain { role: "system", content: ChatContent::Text(text) })
        .into_iter()
        .collect();
    for (at, message) in request.messages.iter().enumerate() {
        match message {
            ModelMessage::User(parts) => {
                messages.push(ChatMessageBody::Plain { role: "user", content: user_content(parts) });
            }
            ModelMessage::Assistant(parts) => {
                messages.extend(assistant(parts, last_user.is_none_or(|last| at > last)));
            }
            ModelMessage::ToolResults(results) => {
                let results = rendered(results, ToolFormat::OpenAiChat, str::to_owned);
                messages.extend(results.into_iter().map(ChatMessageBody::Result));
            }
        }
    }
    ChatBody {
        model: &request.model,
        messages,
        tools: &request.tools,
        max_tokens: request.max_tokens.filter(|_| !is_openai),
        max_completion_tokens: request.max_tokens.filter(|_| is_openai),
        temperature: request.temperature,
        stop: &request.stop_sequences,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
    }
}

fn user_content(parts: &[UserPart]) -> ChatContent<'_> {
    if let [UserPart::Text(text)] = parts {
        return ChatContent::Text(text);
    }
    let parts = parts.iter().map(|each| match each {
        UserPart::Text(text) => ChatPart::Text { text },
        UserPart::Image { mime_type, data } => {
            ChatPart::ImageUrl { image_url: ImageUrl { url: format!("data:{mime_type};base64,{data}") } }
        }
    });
    ChatContent::Parts(parts.collect())
}

fn assistant(parts: &[AssistantPart], is_of_this_turn: bool) -> Option<ChatMessageBody<'_>> {
    let mut content: Option<String> = None;
    let mut reasoning_content = None;
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text(text) if text.is_empty() => {}
            AssistantPart::Text(text) => content.get_or_insert_default().push_str(text),
            AssistantPart::Reasoning(item) if is_of_this_turn => {
                reasoning_content = item_of(item, ProviderApi::OpenAiChat).or(reasoning_content);
            }
            AssistantPart::Reasoning(_) => {}
            AssistantPart::ToolCall(call) => tool_calls.push(tool_call(call)),
        }
    }
    let is_empty = content.is_none() && tool_calls.is_empty();
    (!is_empty).then_some(ChatMessageBody::Assistant {
        role: "assistant",
        content,
        reasoning_content,
        tool_calls,
    })
}

fn tool_call(call: &ModelToolCall) -> ChatToolCall<'_> {
    ChatToolCall {
        id: &call.id,
        kind: "function",
        function: ChatFunction { name: &call.name, arguments: call.arguments.get() },
        extra_content: call.provider_item.as_ref().and_then(|item| item_of(item, ProviderApi::OpenAiChat)),
    }
}
