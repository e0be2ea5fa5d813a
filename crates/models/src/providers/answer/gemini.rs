//! Chunks of Gemini's `streamGenerateContent?alt=sse`: each a `GenerateContentResponse` with more parts. Calls come whole.
//! There is no end marker: the answer is complete with a `finishReason` and the end of the stream.

use std::borrow::Cow;

use gatehouse_model::provider::ProviderApi;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AnswerEvents, AnswerFault, AnswerReader, parse, raw, reported};
use crate::exchange::StopReason;

#[derive(Default)]
pub(super) struct GeminiReader {
    /// The block that text is added to, and whether it is reasoning.
    open: Option<(bool, usize)>,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk<'a> {
    #[serde(default, borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(default)]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(default)]
    usage_metadata: Option<UsageMetadata>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default, borrow)]
    content: Option<CandidateContent<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct CandidateContent<'a> {
    #[serde(default, borrow)]
    parts: Option<Vec<CandidatePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidatePart<'a> {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default, borrow)]
    thought_signature: Option<&'a RawValue>,
    #[serde(default, borrow)]
    function_call: Option<FunctionCallPart<'a>>,
}

#[derive(Deserialize)]
struct FunctionCallPart<'a> {
    #[serde(default)]
    id: Option<String>,
    name: String,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    #[serde(default)]
    prompt_token_count: Option<u64>,
    #[serde(default)]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default)]
    candidates_token_count: Option<u64>,
    #[serde(default)]
    thoughts_token_count: Option<u64>,
}

/// A signature of a part without a call, as a part that goes back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignaturePart<'a> {
    text: &'static str,
    thought_signature: &'a RawValue,
}

/// What stands beside a call in its part, and goes back with it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignedCallItem<'a> {
    thought_signature: &'a RawValue,
}

impl AnswerReader for GeminiReader {
    fn read(&mut self, data: &str, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        let chunk: GeminiChunk<'_> = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(reported(error));
        }
        for candidate in chunk.candidates.into_iter().flatten() {
            // Only one answer was asked for.
            if candidate.index.unwrap_or(0) == 0 {
                self.read_candidate(candidate, events)?;
            }
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.stop = Some(StopReason::Refused);
        }
        if let Some(usage) = chunk.usage_metadata {
            let sum =
                |one: Option<u64>, other: Option<u64>| one.unwrap_or(0).saturating_add(other.unwrap_or(0));
            events.usage(
                sum(usage.prompt_token_count, usage.tool_use_prompt_token_count),
                sum(usage.candidates_token_count, usage.thoughts_token_count),
            );
        }
        Ok(())
    }

    fn finish(&mut self, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        events.ended(self.stop.ok_or(AnswerFault::CutShort)?);
        Ok(())
    }
}

impl GeminiReader {
    fn read_candidate(
        &mut self,
        candidate: Candidate<'_>,
        events: &mut AnswerEvents,
    ) -> Result<(), AnswerFault> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.read_part(part, events)?;
        }
        let Some(reason) = candidate.finish_reason else { return Ok(()) };
        self.stop = Some(match &*reason {
            "STOP" => StopReason::Finished,
            "MAX_TOKENS" => StopReason::Length,
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => StopReason::Refused,
            // Such as a call that isn't in the format, which never came.
            reason => {
                return Err(AnswerFault::Stopped(
                    candidate.finish_message.unwrap_or_else(|| reason.to_owned()),
                ));
            }
        });
        Ok(())
    }

    fn read_part(&mut self, part: CandidatePart<'_>, events: &mut AnswerEvents) -> Result<(), AnswerFault> {
        if let Some(call) = part.function_call {
            self.open = None;
            let block = events.call_began(call.id.as_deref(), &call.name)?;
            events.call_arguments(
                block,
                call.args.filter(|args| args.get() != "null").map_or("", RawValue::get),
            );
            if let Some(thought_signature) = part.thought_signature {
                events.call_item(block, ProviderApi::Gemini, raw(&SignedCallItem { thought_signature })?);
            }
            events.call_ended(block);
            return Ok(());
        }
        let is_reasoning = part.thought == Some(true);
        let text = part.text.unwrap_or_default();
        if !text.is_empty() {
            let block = match self.open {
                Some((kind, block)) if kind == is_reasoning => block,
                _ => events.new_block(),
            };
            self.open = Some((is_reasoning, block));
            if is_reasoning { events.reasoning(block, text) } else { events.text(block, text) }
        }
        if let Some(thought_signature) = part.thought_signature {
            let json = raw(&SignaturePart { text: "", thought_signature })?;
            let block = events.new_block();
            events.reasoning_ended(block, ProviderApi::Gemini, json);
            self.open = None;
        }
        Ok(())
    }
}
