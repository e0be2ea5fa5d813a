//! Events of OpenAI's responses: the items of the output with their deltas, and the whole response at the end.

use serde_json::{Value, json};

use super::stream::{AnswerFacts, AnswerWriter, EventText, WrittenCall, pieces};

pub(super) struct ResponsesWriter {
    response: Value,
    usage: Value,
    /// Whether reasoning has to be given in a form that can be sent back.
    encrypts: bool,
    number: usize,
    output: Vec<Value>,
    /// The text of the message that is written.
    open: Option<String>,
    events: u64,
}

impl ResponsesWriter {
    pub(super) fn new(facts: &AnswerFacts<'_>) -> Self {
        let AnswerFacts { number, model, usage, request } = facts;
        let mut include = request["include"].as_array().into_iter().flatten();
        Self {
            response: json!({
                "id": format!("resp_{number}"), "object": "response", "created_at": 1, "status": "in_progress",
                "error": null, "incomplete_details": null, "instructions": request["instructions"], "model": model,
                "output": [], "parallel_tool_calls": true, "store": false, "tool_choice": "auto",
                "tools": request.get("tools").unwrap_or(&json!([])), "usage": null, "metadata": {}
            }),
            usage: json!({
                "input_tokens": usage.input, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": usage.input + usage.output
            }),
            encrypts: include.any(|wanted| wanted == "reasoning.encrypted_content"),
            number: *number,
            output: Vec::new(),
            open: None,
            events: 0,
        }
    }

    /// Writes an event with its number.
    fn event(&mut self, kind: &str, mut members: Value, out: &mut EventText) {
        let mut event = json!({ "type": kind, "sequence_number": self.events });
        self.events += 1;
        if let (Some(event), Some(members)) = (event.as_object_mut(), members.as_object_mut()) {
            event.append(members);
        }
        out.event(&event);
    }

    /// Writes an event about a part of the item that is written.
    fn part_event(&mut self, kind: &str, mut members: Value, out: &mut EventText) {
        let index = self.output.len();
        members["item_id"] = self.id("msg").into();
        members["output_index"] = index.into();
        members["content_index"] = 0.into();
        self.event(kind, members, out);
    }

    /// The id of the item that is written.
    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}_{}", self.number, self.output.len())
    }

    fn add_item(&mut self, item: &Value, out: &mut EventText) {
        let members = json!({ "output_index": self.output.len(), "item": item });
        self.event("response.output_item.added", members, out);
    }

    fn finish_item(&mut self, item: Value, out: &mut EventText) {
        let members = json!({ "output_index": self.output.len(), "item": item });
        self.event("response.output_item.done", members, out);
        self.output.push(item);
    }

    fn close_message(&mut self, out: &mut EventText) {
        let Some(text) = self.open.take() else { return };
        let part = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
        self.part_event("response.output_text.done", json!({ "text": text, "logprobs": [] }), out);
        self.part_event("response.content_part.done", json!({ "part": part }), out);
        let item = message(&self.id("msg"), "completed", &json!([part]));
        self.finish_item(item, out);
    }

    fn ended(&self, status: &str) -> Value {
        let mut response = self.response.clone();
        response["status"] = status.into();
        response["output"] = json!(self.output);
        response
    }
}

fn message(id: &str, status: &str, content: &Value) -> Value {
    json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content })
}

impl AnswerWriter for ResponsesWriter {
    fn begin(&mut self, out: &mut EventText) {
        for kind in ["response.created", "response.in_progress"] {
            self.event(kind, json!({ "response": self.response }), out);
        }
    }

    fn text(&mut self, text: &str, out: &mut EventText) {
        if self.open.is_none() {
            let item = message(&self.id("msg"), "in_progress", &json!([]));
            self.add_item(&item, out);
            let part = json!({ "type": "output_text", "text": "", "annotations": [], "logprobs": [] });
            self.part_event("response.content_part.added", json!({ "part": part }), out);
        }
        self.open.get_or_insert_default().push_str(text);
        for piece in pieces(text) {
            self.part_event("response.output_text.delta", json!({ "delta": piece, "logprobs": [] }), out);
        }
    }

    fn reasoning(&mut self, text: &str, out: &mut EventText) {
        self.close_message(out);
        let (id, index) = (self.id("rs"), self.output.len());
        let about = |mut members: Value| {
            members["item_id"] = id.as_str().into();
            members["output_index"] = index.into();
            members["summary_index"] = 0.into();
            members
        };
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let mut item = json!({ "id": id, "type": "reasoning", "summary": [] });
        self.add_item(&item, out);
        let added = about(json!({ "part": part("") }));
        self.event("response.reasoning_summary_part.added", added, out);
        for piece in pieces(text) {
            self.event("response.reasoning_summary_text.delta", about(json!({ "delta": piece })), out);
        }
        self.event("response.reasoning_summary_text.done", about(json!({ "text": text })), out);
        self.event("response.reasoning_summary_part.done", about(json!({ "part": part(text) })), out);
        item["summary"] = json!([part(text)]);
        if self.encrypts {
            item["encrypted_content"] = format!("gAAAA{}", self.number).into();
        }
        self.finish_item(item, out);
    }

    fn call(&mut self, call: WrittenCall, out: &mut EventText) {
        self.close_message(out);
        let (id, index) = (self.id("fc"), self.output.len());
        let call_id = call.id.unwrap_or_else(|| format!("call_{}_{index}", self.number));
        let item = |status: &str, arguments: &str| {
            json!({
                "id": id, "type": "function_call", "status": status, "arguments": arguments, "call_id": call_id,
                "name": call.tool
            })
        };
        self.add_item(&item("in_progress", ""), out);
        for piece in pieces(&call.arguments) {
            let delta = json!({ "item_id": id, "output_index": index, "delta": piece });
            self.event("response.function_call_arguments.delta", delta, out);
        }
        if call.is_whole {
            let done = json!({ "item_id": id, "output_index": index, "arguments": call.arguments });
            self.event("response.function_call_arguments.done", done, out);
            self.finish_item(item("completed", &call.arguments), out);
        }
    }

    fn error(&mut self, message: &str, out: &mut EventText) {
        let mut response = self.ended("failed");
        response["error"] = json!({ "code": "server_error", "message": message });
        self.event("response.failed", json!({ "response": response }), out);
    }

    fn end(&mut self, out: &mut EventText) {
        self.close_message(out);
        let mut response = self.ended("completed");
        response["usage"] = self.usage.clone();
        self.event("response.completed", json!({ "response": response }), out);
    }
}
