//! Chunks of Gemini's `streamGenerateContent?alt=sse`: each a response with more parts, the last one with a reason. Calls
//! come whole; the first one of an answer has a signature.

use gatehouse_model::chat::TokenUsage;
use serde_json::{Value, json};

use super::stream::{AnswerFacts, AnswerWriter, EventText, WrittenCall, pieces};

/// Stands for the arguments until they are put in as they were written.
const ARGUMENTS: &str = "arguments of the call";

pub(super) struct GeminiWriter {
    number: usize,
    model: String,
    usage: TokenUsage,
    calls: usize,
}

impl GeminiWriter {
    pub(super) fn new(facts: &AnswerFacts<'_>) -> Self {
        Self { number: facts.number, model: facts.model.clone(), usage: facts.usage, calls: 0 }
    }

    fn chunk(&self, parts: &Value) -> Value {
        let candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
        json!({
            "candidates": [candidate],
            "usageMetadata": { "promptTokenCount": self.usage.input, "totalTokenCount": self.usage.input },
            "modelVersion": self.model, "responseId": format!("r{}", self.number)
        })
    }
}

impl AnswerWriter for GeminiWriter {
    fn begin(&mut self, _out: &mut EventText) {}

    fn text(&mut self, text: &str, out: &mut EventText) {
        for piece in pieces(text) {
            out.data(&self.chunk(&json!([{ "text": piece }])));
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut EventText) {
        for piece in pieces(text) {
            out.data(&self.chunk(&json!([{ "text": piece, "thought": true }])));
        }
    }

    fn call(&mut self, call: WrittenCall, out: &mut EventText) {
        let mut function = json!({ "name": call.tool, "args": ARGUMENTS });
        if let Some(id) = call.id {
            function["id"] = id.into();
        }
        let mut part = json!({ "functionCall": function });
        if self.calls == 0 {
            // Base64.
            part["thoughtSignature"] = format!("CikB{:04}", self.number).into();
        }
        self.calls += 1;
        let chunk = self.chunk(&json!([part])).to_string();
        let (before, after) = chunk.split_once(&format!("\"{ARGUMENTS}\"")).unwrap_or_default();
        let arguments = &call.arguments;
        if call.is_whole {
            out.data(&format!("{before}{arguments}{after}"));
        } else {
            out.raw(&format!("data: {before}{arguments}"));
        }
    }

    fn error(&mut self, message: &str, out: &mut EventText) {
        out.data(&json!({ "error": { "code": 500, "message": message, "status": "INTERNAL" } }));
    }

    fn end(&mut self, out: &mut EventText) {
        let mut last = self.chunk(&json!([{ "text": "" }]));
        last["candidates"][0]["finishReason"] = "STOP".into();
        last["usageMetadata"]["candidatesTokenCount"] = self.usage.output.into();
        last["usageMetadata"]["totalTokenCount"] = (self.usage.input + self.usage.output).into();
        out.data(&last);
    }
}
