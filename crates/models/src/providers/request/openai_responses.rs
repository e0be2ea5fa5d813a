//! OpenAI's responses. Nothing is stored there: reasoning comes encrypted and goes back as it came.

use gatehouse_model::provider::ProviderApi;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{item_of, rendered};
use crate::adapters::ToolFormat;
use crate::exchange::{AssistantPart, ModelMessage, ModelRequest, UserPart};

#[derive(Serialize)]
pub(super) struct ResponsesBody<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<InputItem<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'a> {
    Message {
        role: &'static str,
        content: Vec<InputPart<'a>>,
    },
    Call {
        #[serde(rename = "type")]
        kind: &'static str,
        call_id: &'a str,
        name: &'a str,
        /// JSON within a string.
        arguments: &'a str,
    },
    /// Reasoning as it came.
    Item(&'a RawValue),
    Result(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputPart<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: String },
}

pub(super) fn body(request: &ModelRequest, wants_encrypted_reasoning: bool) -> ResponsesBody<'_> {
    let mut input = Vec::new();
    for message in &request.messages {
        match message {
            ModelMessage::User(parts) => {
                input.push(InputItem::Message {
                    role: "user",
                    content: parts.iter().map(user_part).collect(),
                });
            }
            ModelMessage::Assistant(parts) => input.extend(parts.iter().filter_map(assistant_item)),
            ModelMessage::ToolResults(results) => {
                let results = rendered(results, ToolFormat::OpenAiResponses, str::to_owned);
                input.extend(results.into_iter().map(InputItem::Result));
            }
        }
    }
    ResponsesBody {
        model: &request.model,
        instructions: request.instructions.as_deref().filter(|text| !text.is_empty()),
        input,
        tools: &request.tools,
        max_output_tokens: request.max_tokens,
        temperature: request.temperature,
        stream: true,
        store: false,
        include: if wants_encrypted_reasoning { &["reasoning.encrypted_content"] } else { &[] },
    }
}

fn user_part(part: &UserPart) -> InputPart<'_> {
    match part {
        UserPart::Text(text) => InputPart::InputText { text },
        UserPart::Image { mime_type, data } => {
            InputPart::InputImage { image_url: format!("data:{mime_type};base64,{data}") }
        }
    }
}

fn assistant_item(part: &AssistantPart) -> Option<InputItem<'_>> {
    match part {
        AssistantPart::Text(text) if text.is_empty() => None,
        AssistantPart::Text(text) => {
            Some(InputItem::Message { role: "assistant", content: vec![InputPart::OutputText { text }] })
        }
        AssistantPart::Reasoning(item) => item_of(item, ProviderApi::OpenAiResponses).map(InputItem::Item),
        AssistantPart::ToolCall(call) => Some(InputItem::Call {
            kind: "function_call",
            call_id: &call.id,
            name: &call.name,
            arguments: call.arguments.get(),
        }),
    }
}
