//! Reads streamed answers, without I/O: bytes in, [`ModelEvent`]s out.
//!
//! An answer is complete only with the end that its API defines. Text and arguments are passed on as they came; an answer
//! whose events aren't in the format of its API fails instead of being guessed at, apart from what compatible servers are
//! known to leave out.

use std::collections::{BTreeMap, VecDeque};

use gatehouse_mcp_wire::sse::{SseError, SseEvent, SseParser};
use gatehouse_model::provider::ProviderApi;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{ModelError, presentable};
use super::error_body::{ReportedError, read_error_document};
use super::{ModelLimits, ProviderEndpoint};
use crate::adapters;
use crate::exchange::{ModelEvent, ModelToolCall, ProviderItem, StopReason, UnusableToolCall};

/// What the model is told of a call whose arguments end in the middle.
const CUT_OFF: &str = "The answer ended before the arguments did. The tool was not called; call it again.";

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

/// Reads the answer to one request.
pub struct AnswerDecoder {
    endpoint: ProviderEndpoint,
    limits: ModelLimits,
    parser: SseParser,
    reader: Box<dyn AnswerReader>,
    events: AnswerEvents,
    fault: Option<ModelError>,
    bytes: usize,
    is_over: bool,
}

/// Reads the events of one API.
trait AnswerReader: Send {
    /// Reads the data of an event.
    fn read(&mut self, data: &str, events: &mut AnswerEvents) -> Result<(), AnswerFault>;

    /// The stream has ended without the end that the API defines.
    fn finish(&mut self, events: &mut AnswerEvents) -> Result<(), AnswerFault>;
}

/// Why the rest of an answer can't be read.
enum AnswerFault {
    /// An event isn't in the format.
    Unreadable(String),
    /// The provider reports an error: the document in which it does.
    Reported(serde_json::Value),
    /// The provider stopped for a reason that is no answer.
    Stopped(String),
    CutShort,
    /// No id can be made up.
    NoId(String),
}

impl AnswerDecoder {
    /// A decoder for the answer of a provider.
    #[must_use]
    pub fn new(endpoint: &ProviderEndpoint, limits: ModelLimits) -> Self {
        let reader: Box<dyn AnswerReader> = match endpoint.api {
            ProviderApi::OpenAiChat => Box::<openai_chat::ChatReader>::default(),
            ProviderApi::OpenAiResponses => Box::<openai_responses::ResponsesReader>::default(),
            ProviderApi::Anthropic => Box::<anthropic::MessagesReader>::default(),
            ProviderApi::Gemini => Box::<gemini::GeminiReader>::default(),
        };
        Self {
            endpoint: endpoint.clone(),
            limits,
            parser: SseParser::new(limits.event_bytes),
            reader,
            events: AnswerEvents::default(),
            fault: None,
            bytes: 0,
            is_over: false,
        }
    }

    /// Reads the next bytes. What comes after the end of the answer or after a fault is ignored.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.is_over {
            return;
        }
        self.bytes = self.bytes.saturating_add(chunk.len());
        self.parser.push(chunk);
        self.read_events();
        if !self.is_over && self.bytes > self.limits.answer_bytes {
            self.fail(ModelError::too_long(&self.endpoint.name, self.limits.answer_bytes));
        }
    }

    /// Marks the end of the stream.
    pub fn finish(&mut self) {
        if self.is_over {
            return;
        }
        self.parser.finish();
        self.read_events();
        if !self.is_over {
            let outcome = self.reader.finish(&mut self.events);
            self.settle(outcome);
            self.is_over = true;
        }
    }

    /// The next event; the fault comes after all events that were complete before it.
    pub fn next_event(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        self.events.queue.pop_front().map(Ok).or_else(|| self.fault.take().map(Err))
    }

    /// Whether nothing more is read. There may be events left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    fn read_events(&mut self) {
        while !self.is_over {
            match self.parser.next_event() {
                Ok(Some(SseEvent { data: Some(data), .. })) if !data.trim().is_empty() => {
                    let outcome = self.reader.read(&data, &mut self.events);
                    self.settle(outcome);
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(SseError::TooLong { limit }) => {
                    self.fail(ModelError::too_long(&self.endpoint.name, limit))
                }
                Err(error @ SseError::NotUtf8) => {
                    self.settle(Err(AnswerFault::Unreadable(error.to_string())));
                }
            }
        }
    }

    fn settle(&mut self, outcome: Result<(), AnswerFault>) {
        match outcome {
            Ok(()) => self.is_over = self.events.is_over,
            Err(fault) => {
                let error = self.model_error(fault);
                self.fail(error);
            }
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.is_over = true;
        self.fault = Some(error);
    }

    fn model_error(&self, fault: AnswerFault) -> ModelError {
        let provider = self.endpoint.name.clone();
        match fault {
            AnswerFault::Unreadable(reason) => ModelError::Unreadable { provider, reason },
            AnswerFault::Stopped(reason) => {
                ModelError::Failed { provider, said: presentable(&reason, self.endpoint.key.as_ref()) }
            }
            AnswerFault::CutShort => ModelError::CutShort { provider },
            AnswerFault::NoId(reason) => ModelError::Internal { reason },
            AnswerFault::Reported(document) => {
                let ReportedError { said, retry_after, is_busy, .. } =
                    read_error_document(&document, self.endpoint.key.as_ref());
                if is_busy {
                    return ModelError::Busy { provider, status: None, said, retry_after };
                }
                ModelError::Failed { provider, said }
            }
        }
    }
}

/// The events of an answer, put together from what a reader finds.
#[derive(Default)]
struct AnswerEvents {
    queue: VecDeque<ModelEvent>,
    blocks: usize,
    /// Tool calls that aren't complete, by block.
    calls: BTreeMap<usize, OpenCall>,
    has_calls: bool,
    is_over: bool,
}

struct OpenCall {
    id: String,
    name: String,
    written: String,
    provider_item: Option<ProviderItem>,
}

impl OpenCall {
    fn finish(&self) -> Result<ModelToolCall, UnusableToolCall> {
        adapters::finish_call(self.id.clone(), self.name.clone(), &self.written)
    }

    /// Whether the model wrote all of a finished call: nothing was added, not even an object in place of nothing.
    fn is_whole(&self, finished: &ModelToolCall) -> bool {
        finished.repaired_from.is_none() && !self.written.trim().is_empty()
    }
}

impl AnswerEvents {
    /// The number of a block that begins.
    fn new_block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks - 1
    }

    fn text(&mut self, block: usize, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.queue.push_back(ModelEvent::Text { block, text });
        }
    }

    fn reasoning(&mut self, block: usize, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.queue.push_back(ModelEvent::Reasoning { block, text });
        }
    }

    fn reasoning_ended(&mut self, block: usize, api: ProviderApi, json: Box<RawValue>) {
        self.queue.push_back(ModelEvent::ReasoningEnded { block, item: ProviderItem { api, json } });
    }

    /// A tool call begins. An id is made up if there is none.
    fn call_began(&mut self, id: Option<&str>, name: &str) -> Result<usize, AnswerFault> {
        let id = match id.filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => adapters::made_up_id().map_err(|error| AnswerFault::NoId(error.to_string()))?,
        };
        let block = self.new_block();
        self.has_calls = true;
        let call =
            OpenCall { id: id.clone(), name: name.to_owned(), written: String::new(), provider_item: None };
        self.calls.insert(block, call);
        self.queue.push_back(ModelEvent::ToolCallBegan { block, id, name: name.to_owned() });
        Ok(block)
    }

    fn call_arguments(&mut self, block: usize, text: &str) {
        let Some(call) = self.calls.get_mut(&block).filter(|_| !text.is_empty()) else { return };
        call.written.push_str(text);
        self.queue.push_back(ModelEvent::ToolCallArguments { block, text: text.to_owned() });
    }

    /// The arguments so far.
    fn written(&self, block: usize) -> &str {
        self.calls.get(&block).map_or("", |call| &call.written)
    }

    /// What the provider wants back with the call.
    fn call_item(&mut self, block: usize, api: ProviderApi, json: Box<RawValue>) {
        if let Some(call) = self.calls.get_mut(&block) {
            call.provider_item = Some(ProviderItem { api, json });
        }
    }

    /// The provider says that the call is complete. It says so too of a call that the answer's limit cut off, so one that
    /// isn't whole waits for the reason with which the answer ends.
    fn call_ended(&mut self, block: usize) {
        let is_whole = |call: &OpenCall| call.finish().is_ok_and(|finished| call.is_whole(&finished));
        if self.calls.get(&block).is_some_and(is_whole) {
            self.close_call(block, false);
        }
    }

    fn close_call(&mut self, block: usize, is_cut_off: bool) {
        let Some(open) = self.calls.remove(&block) else { return };
        let call = match open.finish() {
            Ok(call) if !is_cut_off || open.is_whole(&call) => {
                Ok(ModelToolCall { provider_item: open.provider_item, ..call })
            }
            Ok(_) => {
                let OpenCall { id, name, written, .. } = open;
                Err(UnusableToolCall { id, name, written, reason: CUT_OFF.to_owned() })
            }
            Err(unusable) => Err(unusable),
        };
        self.queue.push_back(ModelEvent::ToolCallEnded { block, call });
    }

    fn usage(&mut self, input: u64, output: u64) {
        self.queue.push_back(ModelEvent::Usage { input, output });
    }

    /// The answer is complete. A model that wrote calls waits for their results, whatever reason the provider gives.
    fn ended(&mut self, reason: StopReason) {
        let is_cut_off = matches!(reason, StopReason::Length | StopReason::Refused);
        while let Some(&block) = self.calls.keys().next() {
            self.close_call(block, is_cut_off);
        }
        let reason = match reason {
            StopReason::Finished if self.has_calls => StopReason::ToolCalls,
            StopReason::ToolCalls if !self.has_calls => StopReason::Finished,
            reason => reason,
        };
        self.queue.push_back(ModelEvent::Ended(reason));
        self.is_over = true;
    }
}

/// Parses an event. Its text is not part of the error.
fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, AnswerFault> {
    serde_json::from_str(data).map_err(|error| {
        let what = if error.is_data() { "an event has an unexpected field" } else { "an event is no JSON" };
        AnswerFault::Unreadable(format!("{what} (column {})", error.column()))
    })
}

/// JSON as an item of a provider.
fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, AnswerFault> {
    serde_json::value::to_raw_value(value).map_err(|error| AnswerFault::Unreadable(error.to_string()))
}

/// An error document within an event.
fn reported(error: &RawValue) -> AnswerFault {
    match serde_json::from_str(error.get()) {
        Ok(document) => AnswerFault::Reported(document),
        Err(_) => AnswerFault::Reported(serde_json::Value::Null),
    }
}

/// Arguments that a server sends as JSON or as a string of JSON.
fn arguments_text(arguments: &RawValue) -> Result<String, AnswerFault> {
    let text = arguments.get();
    if text == "null" {
        return Ok(String::new());
    }
    if text.starts_with('"') { parse(text) } else { Ok(text.to_owned()) }
}
