//! What the streams of all providers have in common.

use std::fmt::Display;

use gatehouse_model::chat::TokenUsage;
use gatehouse_model::provider::ProviderApi;
use serde_json::Value;

use super::anthropic::MessagesWriter;
use super::gemini::GeminiWriter;
use super::openai_chat::ChatWriter;
use super::openai_responses::ResponsesWriter;

/// Characters in a piece of what a model writes.
const PIECE: usize = 7;

/// What a stream needs to know of its request and its script.
pub(super) struct AnswerFacts<'a> {
    /// Of all answers, from 1.
    pub(super) number: usize,
    pub(super) model: String,
    pub(super) usage: TokenUsage,
    pub(super) request: &'a Value,
}

/// A call that a model makes.
pub(super) struct WrittenCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    /// The arguments, or what is written of them.
    pub(super) arguments: String,
    /// Whether that is all.
    pub(super) is_whole: bool,
}

impl WrittenCall {
    /// A call of which the model writes only the beginning.
    pub(super) fn begun(tool: String, arguments: &str) -> Self {
        let (half, _) = arguments.split_at(arguments.floor_char_boundary(arguments.len() / 2));
        Self { id: None, tool, arguments: half.to_owned(), is_whole: false }
    }
}

/// Writes an answer as one API has it.
pub(super) trait AnswerWriter {
    fn begin(&mut self, out: &mut EventText);
    fn text(&mut self, text: &str, out: &mut EventText);
    fn reasoning(&mut self, text: &str, out: &mut EventText);
    fn call(&mut self, call: WrittenCall, out: &mut EventText);
    fn error(&mut self, message: &str, out: &mut EventText);
    fn end(&mut self, out: &mut EventText);
}

pub(super) fn writer(api: ProviderApi, facts: &AnswerFacts<'_>) -> Box<dyn AnswerWriter> {
    match api {
        ProviderApi::OpenAiChat => Box::new(ChatWriter::new(facts)),
        ProviderApi::OpenAiResponses => Box::new(ResponsesWriter::new(facts)),
        ProviderApi::Anthropic => Box::new(MessagesWriter::new(facts)),
        ProviderApi::Gemini => Box::new(GeminiWriter::new(facts)),
    }
}

/// The text of events.
#[derive(Debug, Default)]
pub(super) struct EventText(String);

impl EventText {
    /// An event without a name.
    pub(super) fn data(&mut self, data: &impl Display) {
        self.raw(&format!("data: {data}\n\n"));
    }

    /// An event with a name, which is also the type in its data.
    pub(super) fn event(&mut self, data: &Value) {
        let name = data["type"].as_str().unwrap_or_default();
        self.raw(&format!("event: {name}\ndata: {data}\n\n"));
    }

    pub(super) fn raw(&mut self, text: &str) {
        self.0.push_str(text);
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.0)
    }
}

/// A text as it comes: a few characters at a time.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}
