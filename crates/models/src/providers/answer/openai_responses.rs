//! Events of OpenAI's responses: items of output with their deltas, and one of `response.completed`,
//! `response.incomplete`, `response.failed` and `error` at the end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_model::provider::ProviderApi;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{AnswerEvents, AnswerFault, AnswerReader, arguments_text, parse, reported};
use crate::exchange::StopReason;

#[derive(Default)]
pub(super) struct ResponsesReader {
    /// Blocks of text by item and part of it.
    texts: BTreeMap<(u64, u64), usize>,
    /// Blocks of reasoning by item.
    reasoning: BTreeMap<u64, usize>,
    /// Blocks of tool calls by item.
    calls: BTreeMap<u64, usize>,
    is_refused: bool,
}

#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    content_index: Option<u64>,
    #[serde(default)]
    summary_index: Option<u64>,
    #[serde(default, borrow)]
    item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, borrow)]
    response: Option<EndedResponse<'a>>,
}

#[derive(Deserialize)]
struct EndedResponse<'a> {
    #[serde(default)]
    usage: Option<ResponsesUsage>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default)]
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
struct ResponsesUsage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
struct OutputItem<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(default)]
    encrypted_content: Option<String>,
    #[serde(default)]
    content: Option<Vec<OutputPart>>,
}

#[derive(Deserialize)]
struct OutputPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

impl AnswerReader for ResponsesReader {
    fn read(&mut self, data: &str, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let event: ResponsesEvent<'_> = parse(data)?;
        let output = event.output_index.unwrap_or(0);
        match &*event.kind {
            "response.output_item.added" => {
                if let Some(item) = event.item {
                    self.begin(output, item, events)?;
                }
            }
            "response.output_text.delta" => {
                let text: String = delta(event.delta)?;
                self.add_text(output, event.content_index.unwrap_or(0), text, events);
            }
            "response.refusal.delta" => {
                self.is_refused = true;
                let text: String = delta(event.delta)?;
                self.add_text(output, event.content_index.unwrap_or(0), text, events);
            }
            "response.reasoning_summary_part.added" if event.summary_index.unwrap_or(0) > 0 => {
                self.add_reasoning(output, "\n\n".to_owned(), events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let text: String = delta(event.delta)?;
                self.add_reasoning(output, text, events);
            }
            "response.function_call_arguments.delta" => {
                if let (Some(&block), Some(delta)) = (self.calls.get(&output), event.delta) {
                    events.call_arguments(block, &arguments_text(delta)?);
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    self.end(output, item, events)?;
                }
            }
            "response.completed" | "response.incomplete" => self.complete(event.response, events),
            "response.failed" => {
                let error = event.response.and_then(|response| response.error);
                return Err(error.map_or(AnswerFault::Reported(serde_json::Value::Null), reported));
            }
            "error" => return Err(AnswerFault::Reported(parse(data)?)),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        Err(AnswerFault::CutShort)
    }
}

impl ResponsesReader {
    fn add_text(&mut self, output: u64, content: u64, text: String, events: &mut AnswerEvents) {
        let block = *self.texts.entry((output, content)).or_insert_with(|| events.new_block());
        events.text(block, text);
    }

    fn add_reasoning(&mut self, output: u64, text: String, events: &mut AnswerEvents) {
        let block = *self.reasoning.entry(output).or_insert_with(|| events.new_block());
        events.reasoning(block, text);
    }

    fn begin(&mut self, output: u64, item: &RawValue, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let item: OutputItem<'_> = parse(item.get())?;
        if item.kind == "function_call" && !self.calls.contains_key(&output) {
            let name =
                item.name.ok_or_else(|| AnswerFault::Unreadable("a tool call has no name".to_owned()))?;
            let block = events.call_began(item.call_id.or(item.id).as_deref(), &name)?;
            self.calls.insert(output, block);
        }
        Ok(())
    }

    /// An item is complete. What was not streamed of it comes from the item.
    fn end(&mut self, output: u64, json: &RawValue, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let item: OutputItem<'_> = parse(json.get())?;
        match &*item.kind {
            "function_call" => {
                self.begin(output, json, events)?;
                let Some(&block) = self.calls.get(&output) else { return Ok(()) };
                let whole = item.arguments.map(arguments_text).transpose()?.unwrap_or_default();
                if let Some(rest) = whole.strip_prefix(events.written(block)) {
                    events.call_arguments(block, rest);
                }
                events.call_ended(block);
            }
            "message" => {
                for (index, part) in (0..).zip(item.content.into_iter().flatten()) {
                    if self.texts.contains_key(&(output, index)) {
                        continue;
                    }
                    self.is_refused |= part.refusal.is_some();
                    if let Some(text) = part.text.or(part.refusal) {
                        self.add_text(output, index, text, events);
                    }
                }
            }
            // Without its encrypted form the provider, which stores nothing, could not use it.
            "reasoning" if item.encrypted_content.is_some_and(|content| !content.is_empty()) => {
                let block = *self.reasoning.entry(output).or_insert_with(|| events.new_block());
                events.reasoning_ended(block, ProviderApi::OpenAiResponses, json.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    fn complete(&self, response: Option<EndedResponse<'_>>, events: &mut AnswerEvents) {
        let mut stop = if self.is_refused { StopReason::Refused } else { StopReason::Finished };
        if let Some(response) = response {
            if let Some(usage) = response.usage {
                events.usage(usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
            }
            match response.incomplete_details.and_then(|details| details.reason).as_deref() {
                None => {}
                Some("content_filter") => stop = StopReason::Refused,
                Some(_) => stop = StopReason::Length,
            }
        }
        events.ended(stop);
    }
}

fn delta(delta: Option<&RawValue>) -> Result<String, AnswerFault> {
    delta.map_or_else(|| Ok(String::new()), |delta| parse(delta.get()))
}
