//! Events of Anthropic's messages: blocks with their deltas between the start and the end of the message.

use gatehouse_model::chat::TokenUsage;
use serde_json::{Value, json};

use super::stream::{AnswerFacts, AnswerWriter, EventText, WrittenCall, pieces};

pub(super) struct MessagesWriter {
    number: usize,
    model: String,
    usage: TokenUsage,
    /// Blocks that have ended.
    blocks: usize,
    is_text_open: bool,
    has_calls: bool,
}

impl MessagesWriter {
    pub(super) fn new(facts: &AnswerFacts<'_>) -> Self {
        Self {
            number: facts.number,
            model: facts.model.clone(),
            usage: facts.usage,
            blocks: 0,
            is_text_open: false,
            has_calls: false,
        }
    }

    fn start(&self, block: &Value, out: &mut EventText) {
        out.event(&json!({ "type": "content_block_start", "index": self.blocks, "content_block": block }));
    }

    fn delta(&self, delta: &Value, out: &mut EventText) {
        out.event(&json!({ "type": "content_block_delta", "index": self.blocks, "delta": delta }));
    }

    fn stop(&mut self, out: &mut EventText) {
        out.event(&json!({ "type": "content_block_stop", "index": self.blocks }));
        self.blocks += 1;
    }

    fn close_text(&mut self, out: &mut EventText) {
        if std::mem::take(&mut self.is_text_open) {
            self.stop(out);
        }
    }
}

impl AnswerWriter for MessagesWriter {
    fn begin(&mut self, out: &mut EventText) {
        let usage = json!({
            "input_tokens": self.usage.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": 1
        });
        out.event(&json!({ "type": "message_start", "message": {
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant", "model": self.model,
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage
        } }));
        out.event(&json!({ "type": "ping" }));
    }

    fn text(&mut self, text: &str, out: &mut EventText) {
        if !self.is_text_open {
            self.start(&json!({ "type": "text", "text": "" }), out);
            self.is_text_open = true;
        }
        for piece in pieces(text) {
            self.delta(&json!({ "type": "text_delta", "text": piece }), out);
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut EventText) {
        self.close_text(out);
        self.start(&json!({ "type": "thinking", "thinking": "", "signature": "" }), out);
        for piece in pieces(text) {
            self.delta(&json!({ "type": "thinking_delta", "thinking": piece }), out);
        }
        let signature = format!("EqQB{}", self.number);
        self.delta(&json!({ "type": "signature_delta", "signature": signature }), out);
        self.stop(out);
    }

    fn call(&mut self, call: WrittenCall, out: &mut EventText) {
        self.close_text(out);
        self.has_calls = true;
        let id = call.id.unwrap_or_else(|| format!("toolu_{}_{}", self.number, self.blocks));
        self.start(&json!({ "type": "tool_use", "id": id, "name": call.tool, "input": {} }), out);
        self.delta(&json!({ "type": "input_json_delta", "partial_json": "" }), out);
        for piece in pieces(&call.arguments) {
            self.delta(&json!({ "type": "input_json_delta", "partial_json": piece }), out);
        }
        if call.is_whole {
            self.stop(out);
        }
    }

    fn error(&mut self, message: &str, out: &mut EventText) {
        out.event(&json!({ "type": "error", "error": { "type": "api_error", "message": message } }));
    }

    fn end(&mut self, out: &mut EventText) {
        self.close_text(out);
        let reason = if self.has_calls { "tool_use" } else { "end_turn" };
        out.event(&json!({
            "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": self.usage.output }
        }));
        out.event(&json!({ "type": "message_stop" }));
    }
}
