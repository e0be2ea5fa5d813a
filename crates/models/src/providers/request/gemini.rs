//! Gemini's `generateContent`.

use std::borrow::Cow;

use gatehouse_model::provider::ProviderApi;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{item_of, rendered};
use crate::adapters::{self, ToolFormat};
use crate::exchange::{AssistantPart, ModelMessage, ModelRequest, ModelToolCall, UserPart};

/// Stands for the signature of a call that another model wrote, as Google documents for such conversations.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateContentBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    contents: Vec<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<GeminiTools<'a>>,
    generation_config: GenerationConfig<'a>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: &'a [Box<RawValue>],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop_sequences: &'a [String],
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum GeminiPart<'a> {
    Text(TextPart<'a>),
    #[serde(rename_all = "camelCase")]
    Data {
        inline_data: InlineData<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<Cow<'a, str>>,
    },
    /// A part with a signature as it came.
    Item(&'a RawValue),
    Result(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a RawValue,
}

/// What stood beside a call.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AroundCall<'a> {
    #[serde(borrow)]
    thought_signature: Option<Cow<'a, str>>,
}

pub(super) fn body(request: &ModelRequest) -> GenerateContentBody<'_> {
    let needs_signatures = needs_signatures(&request.model);
    let mut contents: Vec<GeminiContent<'_>> = Vec::new();
    for message in &request.messages {
        let (role, parts): (_, Vec<_>) = match message {
            ModelMessage::User(parts) => ("user", parts.iter().map(user_part).collect()),
            ModelMessage::Assistant(parts) => ("model", model_parts(parts, needs_signatures)),
            ModelMessage::ToolResults(results) => {
                let results = rendered(results, ToolFormat::Gemini, str::to_owned);
                ("user", results.into_iter().map(GeminiPart::Result).collect())
            }
        };
        if !parts.is_empty() {
            contents.push(GeminiContent { role, parts });
        }
    }
    let instructions = request.instructions.as_deref().filter(|text| !text.is_empty());
    let tools = if request.tools.is_empty() {
        Vec::new()
    } else {
        vec![GeminiTools { function_declarations: &request.tools }]
    };
    GenerateContentBody {
        system_instruction: instructions.map(|text| SystemInstruction { parts: [TextPart { text }] }),
        contents,
        tools,
        generation_config: GenerationConfig {
            max_output_tokens: request.max_tokens,
            temperature: request.temperature,
            stop_sequences: &request.stop_sequences,
        },
    }
}

/// Whether the model refuses calls without a signature: those since Gemini 3 do.
fn needs_signatures(model: &str) -> bool {
    let model = model.trim_start_matches("models/");
    !["gemini-1", "gemini-2"].iter().any(|old| model.starts_with(old))
}

fn user_part(part: &UserPart) -> GeminiPart<'_> {
    match part {
        UserPart::Text(text) => GeminiPart::Text(TextPart { text }),
        UserPart::Image { mime_type, data } => {
            GeminiPart::Data { inline_data: InlineData { mime_type, data } }
        }
    }
}

fn model_parts(parts: &[AssistantPart], needs_signatures: bool) -> Vec<GeminiPart<'_>> {
    // Only the first call of a message needs a signature.
    let mut needs_signature = needs_signatures;
    parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::Text(text) if text.is_empty() => None,
            AssistantPart::Text(text) => Some(GeminiPart::Text(TextPart { text })),
            AssistantPart::Reasoning(item) => item_of(item, ProviderApi::Gemini).map(GeminiPart::Item),
            AssistantPart::ToolCall(call) => Some(function_call(call, std::mem::take(&mut needs_signature))),
        })
        .collect()
}

fn function_call(call: &ModelToolCall, needs_signature: bool) -> GeminiPart<'_> {
    let item = call.provider_item.as_ref().and_then(|item| item_of(item, ProviderApi::Gemini));
    let around: AroundCall<'_> =
        item.and_then(|item| serde_json::from_str(item.get()).ok()).unwrap_or_default();
    GeminiPart::Call {
        function_call: FunctionCall {
            id: Some(&*call.id).filter(|id| !adapters::is_made_up_id(id)),
            name: &call.name,
            args: &call.arguments,
        },
        thought_signature: around.thought_signature.or(needs_signature.then_some(NO_SIGNATURE.into())),
    }
}
