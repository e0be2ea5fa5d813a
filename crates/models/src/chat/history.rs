//! What a model is sent of the conversation so far: each message as it was, with a result for every call, since providers
//! refuse a call without one.

use gatehouse_mcp_wire::raw::raw;
use gatehouse_model::chat::{ChatBlock, ChatMessage, ChatRole, ToolCallBlock};
use gatehouse_store::StoredMessage;
use serde_json::value::RawValue;

use super::model_results::error_result;
use super::turn::{KeptBlock, KeptCall};
use crate::adapters::AdaptedTools;
use crate::exchange::{AssistantPart, ModelMessage, ModelToolCall, ToolResult, UserPart};

/// What a model gets as the result of a call that never ended.
const NO_RESULT: &str = "The user stopped this call before it ended.";
/// Longest name of a tool that all providers take.
const MAX_NAME_CHARS: usize = 64;

/// A message with what was kept with its blocks.
#[derive(Clone, Debug)]
pub(super) struct PastMessage {
    pub(super) message: ChatMessage,
    pub(super) kept: Vec<KeptBlock>,
}

impl PastMessage {
    pub(super) fn of(stored: StoredMessage) -> Self {
        let StoredMessage { message, kept } = stored;
        let read =
            |kept: Option<String>| kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Self { message, kept: kept.into_iter().map(read).collect() }
    }
}

/// The messages for a request, in which tools have the names that its provider knows them by.
pub(super) fn request_messages<'m>(
    past: impl Iterator<Item = (&'m ChatMessage, &'m [KeptBlock])>,
    tools: &AdaptedTools,
) -> Vec<ModelMessage> {
    let mut messages = Vec::new();
    for (message, kept) in past {
        match message.role {
            ChatRole::User => messages.push(ModelMessage::User(user_parts(&message.blocks))),
            ChatRole::Assistant => push_rounds(&mut messages, &message.blocks, kept, tools),
        }
    }
    messages
}

fn user_parts(blocks: &[ChatBlock]) -> Vec<UserPart> {
    let part = |block: &ChatBlock| match block {
        ChatBlock::Text { text } => Some(UserPart::Text(text.clone())),
        ChatBlock::Image { mime_type, data } => {
            Some(UserPart::Image { mime_type: mime_type.clone(), data: data.clone() })
        }
        ChatBlock::Reasoning { .. } | ChatBlock::ToolCall(_) => None,
    };
    blocks.iter().filter_map(part).collect()
}

/// Adds what a model wrote: for each request one message, and one with the results of its calls.
fn push_rounds(
    messages: &mut Vec<ModelMessage>,
    blocks: &[ChatBlock],
    kept: &[KeptBlock],
    tools: &AdaptedTools,
) {
    let nothing = KeptBlock::default();
    let mut round = None;
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    for (place, block) in blocks.iter().enumerate() {
        let kept = kept.get(place).unwrap_or(&nothing);
        if round.is_some_and(|round| round != kept.round) {
            push_round(messages, &mut parts, &mut results);
        }
        round = Some(kept.round);
        match block {
            ChatBlock::Text { text } if !text.is_empty() => parts.push(AssistantPart::Text(text.clone())),
            ChatBlock::Reasoning { .. } => {
                parts.extend(kept.item.clone().map(AssistantPart::Reasoning));
            }
            ChatBlock::ToolCall(call) => {
                let Some(own) = &kept.call else { continue };
                let (call, result) = call_and_result(call, own, tools);
                parts.push(AssistantPart::ToolCall(call));
                results.push(result);
            }
            ChatBlock::Text { .. } | ChatBlock::Image { .. } => {}
        }
    }
    push_round(messages, &mut parts, &mut results);
}

fn push_round(
    messages: &mut Vec<ModelMessage>,
    parts: &mut Vec<AssistantPart>,
    results: &mut Vec<ToolResult>,
) {
    let has_more = |part: &AssistantPart| !matches!(part, AssistantPart::Reasoning(_));
    let parts = std::mem::take(parts);
    // Reasoning alone is no message: the answer broke off in it.
    if parts.iter().any(has_more) {
        messages.push(ModelMessage::Assistant(parts));
    }
    let results = std::mem::take(results);
    if !results.is_empty() {
        messages.push(ModelMessage::ToolResults(results));
    }
}

fn call_and_result(
    shown: &ToolCallBlock,
    kept: &KeptCall,
    tools: &AdaptedTools,
) -> (ModelToolCall, ToolResult) {
    let known = kept.exposed_name.as_deref().and_then(|exposed| tools.provider_name(exposed));
    let name = known.map_or_else(|| plain_name(&kept.name), ToOwned::to_owned);
    let call = ModelToolCall {
        id: kept.id.clone(),
        name: name.clone(),
        arguments: kept.arguments.clone().unwrap_or_else(|| object_or_empty(&shown.arguments)),
        repaired_from: None,
        provider_item: kept.item.clone(),
    };
    let result = kept.result.clone().unwrap_or_else(|| error_result(NO_RESULT));
    (call, ToolResult { call: kept.id.clone(), name, result })
}

/// The name of a tool that is gone, in letters that all providers take.
fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// The text if it is a JSON object; `{}` for what a model wrote that is none.
fn object_or_empty(text: &str) -> Box<RawValue> {
    let is_object = text.trim_start().starts_with('{');
    RawValue::from_string(text.to_owned()).ok().filter(|_| is_object).unwrap_or_else(|| raw("{}".to_owned()))
}
