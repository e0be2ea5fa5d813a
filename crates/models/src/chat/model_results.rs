//! Tool results on their way to a model: too long texts are cut, with a pointer to the whole, and images that no provider
//! takes are left out. What is said in their place is for the model.

use gatehouse_mcp_wire::raw::{Members, object, quoted, raw};
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest text of one result, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Largest image or other binary part, in bytes of base64.
const MAX_BINARY_BYTES: usize = 5 * 1024 * 1024;
/// Binary parts of one result.
const MAX_BINARIES: usize = 8;

/// A result with `isError` and this text.
pub(super) fn error_result(text: &str) -> Box<RawValue> {
    raw(format!(r#"{{"content":[{{"type":"text","text":{}}}],"isError":true}}"#, quoted(text)))
}

/// The result as a model gets it: the same bytes if nothing is too long.
pub(super) fn for_model(result: &RawValue) -> Box<RawValue> {
    if result.get().len() <= MAX_TEXT_BYTES {
        return result.to_owned();
    }
    let Ok(members) = Members::of(result) else { return error_result("The result can't be read.") };
    let content =
        members.get("content").and_then(|content| serde_json::from_str::<Vec<Value>>(content.get()).ok());
    let content = content.unwrap_or_default();
    let mut budget = ResultBudget { text: MAX_TEXT_BYTES, binaries: MAX_BINARIES };
    let mut kept: Vec<Value> = content.into_iter().map(|block| budget.fit(block)).collect();
    let structured = members.get("structuredContent");
    let fits = structured.is_some_and(|value| value.get().len() <= budget.text);
    if let Some(structured) = structured.filter(|_| !fits && kept.is_empty()) {
        kept.push(budget.fit(text_block(structured.get().to_owned())));
    }
    let list = raw(Value::Array(kept).to_string());
    let mut written: Vec<(&str, &RawValue)> = vec![("content", &list)];
    written.extend(structured.filter(|_| fits).map(|value| ("structuredContent", value)));
    written.extend(members.get("isError").map(|value| ("isError", value)));
    raw(object(written.into_iter()))
}

/// What there still is room for.
struct ResultBudget {
    text: usize,
    binaries: usize,
}

impl ResultBudget {
    fn fit(&mut self, mut block: Value) -> Value {
        let inner = if block.get("resource").is_some() { &mut block["resource"] } else { &mut block };
        let is_binary = |name: &&str| inner.get(*name).is_some_and(Value::is_string);
        if let Some(name) = ["data", "blob"].into_iter().find(|name| is_binary(name)) {
            let bytes = inner.get(name).and_then(Value::as_str).map_or(0, str::len);
            if bytes <= MAX_BINARY_BYTES && self.binaries > 0 {
                self.binaries -= 1;
                return block;
            }
            let kind = inner.get("mimeType").and_then(Value::as_str).unwrap_or("unknown type");
            return text_block(format!(
                "[Gatehouse left out {} bytes of {kind}. The user can see them.]",
                bytes / 4 * 3
            ));
        }
        let Some(text) = inner.get("text").and_then(Value::as_str) else {
            let written = block.to_string();
            if written.len() <= self.text {
                self.text -= written.len();
                return block;
            }
            return text_block(format!(
                "[Gatehouse left out {} bytes. The user can see them.]",
                written.len()
            ));
        };
        if text.len() <= self.text {
            self.text -= text.len();
            return block;
        }
        let kept = text.get(..text.floor_char_boundary(self.text)).unwrap_or_default();
        let cut = format!(
            "{kept}\n[Cut by Gatehouse: these are the first {} of {} bytes. The user can save the whole result from the \
             conversation. Ask the tool for less at a time to read the rest.]",
            kept.len(),
            text.len()
        );
        self.text = 0;
        if let Some(place) = inner.get_mut("text") {
            *place = Value::String(cut);
        }
        block
    }
}

fn text_block(text: String) -> Value {
    serde_json::json!({ "type": "text", "text": text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: &Value) -> Value {
        serde_json::from_str(for_model(&raw(value.to_string())).get()).unwrap()
    }

    #[test]
    fn passes_short_results_byte_for_byte() {
        let text = r#"{ "content" : [ ], "structuredContent":{"n":1.0} }"#;
        assert_eq!(for_model(&raw(text.to_owned())).get(), text);
    }

    #[test]
    fn cuts_long_texts_and_says_so() {
        let long = "ä".repeat(MAX_TEXT_BYTES);
        let shown = result(&serde_json::json!({
            "content": [{ "type": "text", "text": long }, { "type": "text", "text": "more" }],
            "structuredContent": { "text": long },
            "isError": true,
        }));
        let text = shown["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("the first 65536 of 131072 bytes"), "{}", &text[65_000..]);
        assert!(shown["content"][1]["text"].as_str().unwrap().contains("first 0 of 4"));
        assert_eq!((shown.get("structuredContent"), &shown["isError"]), (None, &Value::Bool(true)));
    }

    #[test]
    fn gives_structured_content_alone_as_text() {
        let shown =
            result(&serde_json::json!({ "structuredContent": { "text": "x".repeat(MAX_TEXT_BYTES) } }));
        assert!(shown["content"][0]["text"].as_str().unwrap().starts_with(r#"{"text":"xxx"#));
    }

    #[test]
    fn leaves_out_images_that_are_too_large_or_too_many() {
        let image = |bytes: usize| serde_json::json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(bytes) });
        let mut content = vec![image(MAX_BINARY_BYTES + 4)];
        content.extend(std::iter::repeat_n(image(20_000), MAX_BINARIES + 1));
        let shown = result(&serde_json::json!({ "content": content }));
        let kinds: Vec<&str> = shown["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        assert_eq!(
            (kinds[0], kinds[1], kinds[MAX_BINARIES], kinds[MAX_BINARIES + 1]),
            ("text", "image", "image", "text")
        );
    }
}
