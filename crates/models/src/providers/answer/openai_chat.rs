//! Chunks of chat completions: `choices[0].delta` with text and fragments of tool calls, then a `finish_reason`, then usage,
//! then `[DONE]`.
//!
//! Compatible servers differ: calls without index or id, arguments that are no string, the index 0 for every call (Ollama),
//! another id in every fragment (LM Studio), no `[DONE]`.

use std::borrow::Cow;

use gatehouse_model::provider::ProviderApi;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{AnswerEvents, AnswerFault, AnswerReader, arguments_text, parse, raw, reported};
use crate::exchange::StopReason;

#[derive(Default)]
pub(super) struct ChatReader {
    /// The block that text is added to.
    open: Option<(OpenKind, usize)>,
    calls: Vec<ChatCall>,
    /// Reasoning that has to go back (DeepSeek and others).
    reasoning: String,
    reasoning_block: Option<usize>,
    stop: Option<StopReason>,
    is_refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    Text,
    Reasoning,
}

/// A call whose fragments come.
struct ChatCall {
    index: Option<u64>,
    id: Option<String>,
    /// None until its name has come.
    block: Option<usize>,
    /// Arguments before the name.
    early: String,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(default, borrow)]
    choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(default)]
    usage: Option<ChatUsage>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, borrow)]
    delta: Option<ChatDelta<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
struct ChatDelta<'a> {
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    refusal: Option<String>,
    /// DeepSeek, Kimi, vLLM.
    #[serde(default)]
    reasoning_content: Option<String>,
    /// Ollama, OpenRouter.
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<ChatCallDelta<'a>>>,
}

#[derive(Deserialize)]
struct ChatCallDelta<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default, borrow)]
    function: Option<ChatFunctionDelta<'a>>,
    #[serde(default, borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ChatFunctionDelta<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChatUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

/// A part of a text that comes as a list (Mistral).
#[derive(Deserialize)]
struct StreamedPart<'a> {
    #[serde(default)]
    text: Option<String>,
    #[serde(default, borrow)]
    thinking: Option<&'a RawValue>,
}

impl AnswerReader for ChatReader {
    fn read(&mut self, data: &str, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        if data.trim() == "[DONE]" {
            return self.end(self.stop.unwrap_or(StopReason::Finished), events);
        }
        let chunk: ChatChunk<'_> = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(reported(error));
        }
        for choice in chunk.choices.into_iter().flatten() {
            // Only one answer was asked for.
            if choice.index.unwrap_or(0) == 0 {
                self.read_choice(choice, events)?;
            }
        }
        if let Some(usage) = chunk.usage {
            events.usage(usage.prompt_tokens.unwrap_or(0), usage.completion_tokens.unwrap_or(0));
        }
        Ok(())
    }

    fn finish(&mut self, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        match self.stop {
            Some(stop) => self.end(stop, events),
            None => Err(AnswerFault::CutShort),
        }
    }
}

impl ChatReader {
    fn read_choice(&mut self, choice: ChatChoice<'_>, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let delta = choice.delta.unwrap_or_default();
        if let Some(text) = delta.reasoning_content.as_ref().filter(|text| !text.is_empty()) {
            self.reasoning.push_str(text);
            self.reasoning_block = Some(self.add_reasoning(text, events));
        } else if let Some(text) = delta.reasoning.as_ref().filter(|text| !text.is_empty()) {
            self.add_reasoning(text, events);
        }
        if let Some(content) = delta.content {
            self.read_content(content, events)?;
        }
        if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
            self.is_refused = true;
            self.add_text(&text, events);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.read_call(call, events)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(match &*reason {
                "length" | "max_tokens" => StopReason::Length,
                "tool_calls" | "function_call" => StopReason::ToolCalls,
                "content_filter" | "refusal" => StopReason::Refused,
                "error" => return Err(AnswerFault::Stopped("error".to_owned())),
                _ => StopReason::Finished,
            });
        }
        Ok(())
    }

    fn read_content(&mut self, content: &RawValue, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let json = content.get();
        if json == "null" {
            return Ok(());
        }
        if !json.starts_with('[') {
            let text: String = parse(json)?;
            self.add_text(&text, events);
            return Ok(());
        }
        for part in parse::<Vec<StreamedPart<'_>>>(json)? {
            if let Some(thinking) = part.thinking {
                let texts: Vec<StreamedPart<'_>> = parse(thinking.get())?;
                let text: String = texts.into_iter().filter_map(|part| part.text).collect();
                if !text.is_empty() {
                    self.add_reasoning(&text, events);
                }
            }
            self.add_text(&part.text.unwrap_or_default(), events);
        }
        Ok(())
    }

    fn add_text(&mut self, text: &str, events: &mut AnswerEvents) {
        if !text.is_empty() {
            let block = self.block(OpenKind::Text, events);
            events.text(block, text);
        }
    }

    fn add_reasoning(&mut self, text: &str, events: &mut AnswerEvents) -> usize {
        let block = self.block(OpenKind::Reasoning, events);
        events.reasoning(block, text);
        block
    }

    fn block(&mut self, kind: OpenKind, events: &mut AnswerEvents) -> usize {
        match self.open {
            Some((open, block)) if open == kind => block,
            _ => {
                let block = events.new_block();
                self.open = Some((kind, block));
                block
            }
        }
    }

    fn read_call(&mut self, delta: ChatCallDelta<'_>, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let function = delta.function.unwrap_or_default();
        let name = function.name.filter(|name| !name.is_empty());
        let id = delta.id.filter(|id| !id.is_empty());
        let arguments = function.arguments.map(arguments_text).transpose()?.unwrap_or_default();
        let at = match self.position(delta.index, id.as_deref(), name.is_some(), events) {
            Some(at) => at,
            None => {
                self.calls.push(ChatCall { index: delta.index, id: None, block: None, early: String::new() });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_none() {
            call.id = id;
        }
        if let (None, Some(name)) = (call.block, &name) {
            let block = events.call_began(call.id.as_deref(), name)?;
            call.block = Some(block);
            self.open = None;
            events.call_arguments(block, &std::mem::take(&mut call.early));
        }
        match call.block {
            Some(block) => {
                events.call_arguments(block, &arguments);
                if let Some(extra) = delta.extra_content {
                    events.call_item(block, ProviderApi::OpenAiChat, extra.to_owned());
                }
            }
            None => call.early.push_str(&arguments),
        }
        Ok(())
    }

    /// The call that a fragment belongs to; none if it begins one.
    fn position(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        has_name: bool,
        events: &AnswerEvents,
    ) -> Option<usize> {
        let Some(index) = index else {
            let same = |id: &str| self.calls.iter().rposition(|call| call.id.as_deref() == Some(id));
            return match id {
                Some(id) => same(id).or_else(|| self.calls.len().checked_sub(1).filter(|_| !has_name)),
                None if has_name => None,
                None => self.calls.len().checked_sub(1),
            };
        };
        let at = self.calls.iter().rposition(|call| call.index == Some(index))?;
        let call = self.calls.get(at)?;
        let has_other_id = id.is_some() && call.id.is_some() && call.id.as_deref() != id;
        if !has_other_id || !has_name {
            return Some(at);
        }
        // A fragment with another id and a name begins a call if the one before can be complete.
        let written = call.block.map_or("", |block| events.written(block));
        let is_complete = written.is_empty() || serde_json::from_str::<&RawValue>(written).is_ok();
        (!is_complete).then_some(at)
    }

    fn end(&mut self, stop: StopReason, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        if self.calls.iter().any(|call| call.block.is_none()) {
            return Err(AnswerFault::Unreadable("a tool call has no name".to_owned()));
        }
        if let Some(block) = self.reasoning_block {
            let json = raw(&self.reasoning)?;
            events.reasoning_ended(block, ProviderApi::OpenAiChat, json);
        }
        events.ended(if self.is_refused { StopReason::Refused } else { stop });
        Ok(())
    }
}
