//! Events of Anthropic's messages: `message_start`, for each block `content_block_start`, deltas and `content_block_stop`,
//! then `message_delta` with the reason and the usage, then `message_stop`. `ping` and unknown events may come anywhere,
//! `error` too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_model::provider::ProviderApi;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AnswerEvents, AnswerFault, AnswerReader, parse, raw, reported};
use crate::exchange::StopReason;

#[derive(Default)]
pub(super) struct MessagesReader {
    /// Blocks by the provider's index.
    blocks: BTreeMap<u64, OpenBlock>,
    usage: MessageUsage,
    stop: Option<StopReason>,
}

enum OpenBlock {
    Text { block: usize },
    Thinking { block: usize, thinking: ThinkingBlock },
    ToolUse { block: usize, input: Option<Box<RawValue>> },
}

/// A thinking block as it goes back.
#[derive(Serialize)]
struct ThinkingBlock {
    #[serde(rename = "type")]
    kind: &'static str,
    thinking: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

#[derive(Deserialize)]
struct MessagesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    message: Option<MessageStart>,
    #[serde(default, borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Option<MessagesDelta<'a>>,
    #[serde(default)]
    usage: Option<MessageUsage>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Option<MessageUsage>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct MessageUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct StartedBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessagesDelta<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default, borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

impl AnswerReader for MessagesReader {
    fn read(&mut self, data: &str, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let event: MessagesEvent<'_> = parse(data)?;
        match &*event.kind {
            "message_start" => {
                if let Some(usage) = event.message.and_then(|message| message.usage) {
                    self.report(usage, events);
                }
            }
            "content_block_start" => {
                if let (Some(index), Some(block)) = (event.index, event.content_block) {
                    self.begin(index, block, events)?;
                }
            }
            "content_block_delta" => {
                if let (Some(index), Some(delta)) = (event.index, event.delta) {
                    self.add(index, delta, events)?;
                }
            }
            "content_block_stop" => {
                if let Some(block) = event.index.and_then(|index| self.blocks.remove(&index)) {
                    end(block, events)?;
                }
            }
            "message_delta" => {
                if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(stop_reason(&reason));
                }
                if let Some(usage) = event.usage {
                    self.report(usage, events);
                }
            }
            "message_stop" => {
                for (_, block) in std::mem::take(&mut self.blocks) {
                    end(block, events)?;
                }
                events.ended(self.stop.unwrap_or(StopReason::Finished));
            }
            "error" => {
                return Err(event.error.map_or(AnswerFault::Reported(serde_json::Value::Null), reported));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        Err(AnswerFault::CutShort)
    }
}

impl MessagesReader {
    /// The counts are those of the whole message; compatible servers report the input only at the end.
    fn report(&mut self, usage: MessageUsage, events: &mut AnswerEvents) {
        let known = &mut self.usage;
        let keep = |known: &mut Option<u64>, new: Option<u64>| {
            if new.is_some_and(|new| new > 0 || known.is_none()) {
                *known = new;
            }
        };
        keep(&mut known.input_tokens, usage.input_tokens);
        keep(&mut known.cache_creation_input_tokens, usage.cache_creation_input_tokens);
        keep(&mut known.cache_read_input_tokens, usage.cache_read_input_tokens);
        keep(&mut known.output_tokens, usage.output_tokens);
        let input = [known.input_tokens, known.cache_creation_input_tokens, known.cache_read_input_tokens];
        let input = input.into_iter().flatten().fold(0, u64::saturating_add);
        events.usage(input, known.output_tokens.unwrap_or(0));
    }

    fn begin(
        &mut self,
        index: u64,
        started: &RawValue,
        events: &mut AnswerEvents,
    ) -> Result<(), AnswerFault> {
        let content: StartedBlock<'_> = parse(started.get())?;
        let open = match &*content.kind {
            "text" => {
                let block = events.new_block();
                events.text(block, content.text.unwrap_or_default());
                OpenBlock::Text { block }
            }
            "thinking" => {
                let block = events.new_block();
                let thinking = content.thinking.unwrap_or_default();
                events.reasoning(block, thinking.as_str());
                let signature = content.signature.filter(|signature| !signature.is_empty());
                OpenBlock::Thinking {
                    block,
                    thinking: ThinkingBlock { kind: "thinking", thinking, signature },
                }
            }
            // Reasoning that only the provider can read.
            "redacted_thinking" => {
                let block = events.new_block();
                events.reasoning_ended(block, ProviderApi::Anthropic, started.to_owned());
                return Ok(());
            }
            "tool_use" => {
                let name = content
                    .name
                    .ok_or_else(|| AnswerFault::Unreadable("a tool call has no name".to_owned()))?;
                let block = events.call_began(content.id.as_deref(), &name)?;
                // Compatible servers send the arguments at once.
                let input = content.input.filter(|input| input.get().len() > "{}".len());
                OpenBlock::ToolUse { block, input: input.map(RawValue::to_owned) }
            }
            _ => return Ok(()),
        };
        self.blocks.insert(index, open);
        Ok(())
    }

    fn add(
        &mut self,
        index: u64,
        delta: MessagesDelta<'_>,
        events: &mut AnswerEvents,
    ) -> Result<(), AnswerFault> {
        let Some(open) = self.blocks.get_mut(&index) else { return Ok(()) };
        match (open, delta.kind.as_deref().unwrap_or_default()) {
            (OpenBlock::Text { block }, "text_delta") => events.text(*block, delta.text.unwrap_or_default()),
            (OpenBlock::Thinking { block, thinking }, "thinking_delta") => {
                let text = delta.thinking.unwrap_or_default();
                thinking.thinking.push_str(&text);
                events.reasoning(*block, text);
            }
            (OpenBlock::Thinking { thinking, .. }, "signature_delta") => {
                thinking.signature.get_or_insert_default().push_str(&delta.signature.unwrap_or_default());
            }
            (OpenBlock::ToolUse { block, .. }, "input_json_delta") => {
                events.call_arguments(*block, &delta.partial_json.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }
}

fn end(open: OpenBlock, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
    match open {
        OpenBlock::Text { .. } => {}
        OpenBlock::Thinking { block, thinking } => {
            let json = raw(&thinking)?;
            events.reasoning_ended(block, ProviderApi::Anthropic, json);
        }
        OpenBlock::ToolUse { block, input } => {
            if let Some(input) = input.filter(|_| events.written(block).is_empty()) {
                events.call_arguments(block, input.get());
            }
            events.call_ended(block);
        }
    }
    Ok(())
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Refused,
        _ => StopReason::Finished,
    }
}
