//! Chunks of OpenAI's chat completions, ended by `[DONE]`. Reasoning is that of compatible servers.

use serde_json::{Value, json};

use super::stream::{AnswerFacts, AnswerWriter, EventText, WrittenCall, pieces};

pub(super) struct ChatWriter {
    head: Value,
    usage: Option<Value>,
    number: usize,
    calls: usize,
}

impl ChatWriter {
    pub(super) fn new(facts: &AnswerFacts<'_>) -> Self {
        let AnswerFacts { number, model, usage, request } = facts;
        let total = usage.input + usage.output;
        let usage =
            json!({ "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": total });
        Self {
            head: json!({
                "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1, "model": model,
                "choices": []
            }),
            usage: (request["stream_options"]["include_usage"] == true).then_some(usage),
            number: *number,
            calls: 0,
        }
    }

    fn chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let mut chunk = self.head.clone();
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        chunk
    }
}

impl AnswerWriter for ChatWriter {
    fn begin(&mut self, out: &mut EventText) {
        out.data(&self.chunk(&json!({ "role": "assistant", "content": "", "refusal": null }), None));
    }

    fn text(&mut self, text: &str, out: &mut EventText) {
        for piece in pieces(text) {
            out.data(&self.chunk(&json!({ "content": piece }), None));
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut EventText) {
        for piece in pieces(text) {
            out.data(&self.chunk(&json!({ "reasoning_content": piece }), None));
        }
    }

    fn call(&mut self, call: WrittenCall, out: &mut EventText) {
        let index = self.calls;
        self.calls += 1;
        let id = call.id.unwrap_or_else(|| format!("call_{}_{index}", self.number));
        let function = json!({ "name": call.tool, "arguments": "" });
        let head = json!({ "index": index, "id": id, "type": "function", "function": function });
        out.data(&self.chunk(&json!({ "tool_calls": [head] }), None));
        for piece in pieces(&call.arguments) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            out.data(&self.chunk(&json!({ "tool_calls": [more] }), None));
        }
    }

    fn error(&mut self, message: &str, out: &mut EventText) {
        let error = json!({ "message": message, "type": "server_error", "param": null, "code": null });
        out.data(&json!({ "error": error }));
    }

    fn end(&mut self, out: &mut EventText) {
        let finish = if self.calls > 0 { "tool_calls" } else { "stop" };
        out.data(&self.chunk(&json!({}), Some(finish)));
        if let Some(usage) = self.usage.take() {
            let mut last = self.head.clone();
            last["usage"] = usage;
            out.data(&last);
        }
        out.data(&"[DONE]");
    }
}
