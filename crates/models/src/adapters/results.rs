//! Results of tools in the providers' formats.

use gatehouse_mcp_wire::json::write_string;
use gatehouse_mcp_wire::raw::{quoted, raw};
use serde_json::value::RawValue;

use crate::adapters::result_parts::{ReadResult, RenderedPart, ResultMedia};
use crate::adapters::tool_calls::MADE_UP_ID;
use crate::adapters::tool_format::ToolFormat;

/// Between two texts where a format has only one.
const BETWEEN: &str = "\n\n";

/// Begins the text of an error where a format has no other way to say it.
const ERROR: &str = "The tool reported an error:\n";

/// An error that says nothing.
const SILENT_ERROR: &str = "The tool reported an error.";

/// The types of images that OpenAI and Anthropic take.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// What Gemini takes in a function response.
const GEMINI_MEDIA: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/// A result for a model.
#[derive(Debug)]
pub struct RenderedResult {
    /// A message of the role `tool` (chat completions), an item `function_call_output` (responses), a block `tool_result`
    /// (Anthropic), a part with `functionResponse` (Gemini), or the result itself (MCP).
    pub json: Box<RawValue>,
    /// What the format can't carry, each with its place: `/content/1: Audio of the type audio/wav`. The model is told of it
    /// in brackets. Annotations and `_meta` are for clients and not counted.
    pub lost: Vec<String>,
}

/// Renders a `CallToolResult`. `provider_name` is the name by which the model called the tool.
#[must_use]
pub fn render_result(
    format: ToolFormat,
    call_id: &str,
    provider_name: &str,
    result: &RawValue,
) -> RenderedResult {
    if format == ToolFormat::Mcp {
        return RenderedResult { json: result.to_owned(), lost: Vec::new() };
    }
    let content = ReadResult::read(result);
    let mut out = ResultWriter { lost: Vec::new() };
    let json = match format {
        ToolFormat::OpenAiChat => out.chat(call_id, &content),
        ToolFormat::OpenAiResponses => out.responses(call_id, &content),
        ToolFormat::Anthropic => out.anthropic(call_id, &content),
        ToolFormat::Gemini | ToolFormat::Mcp => out.gemini(call_id, provider_name, &content),
    };
    out.lost.extend(content.lost);
    RenderedResult { json: raw(json), lost: out.lost }
}

struct ResultWriter {
    lost: Vec<String>,
}

impl ResultWriter {
    fn chat(&mut self, call_id: &str, content: &ReadResult<'_>) -> String {
        let text = self.text(content, |_| None, &mut Vec::new());
        format!("{{\"role\":\"tool\",\"tool_call_id\":{},\"content\":{}}}", quoted(call_id), quoted(&text))
    }

    fn responses(&mut self, call_id: &str, content: &ReadResult<'_>) -> String {
        let mut media = Vec::new();
        let text = self.text(content, responses_media, &mut media);
        let output = if media.is_empty() {
            quoted(&text)
        } else {
            let text =
                (!text.is_empty()).then(|| format!("{{\"type\":\"input_text\",\"text\":{}}}", quoted(&text)));
            format!("[{}]", text.into_iter().chain(media).collect::<Vec<_>>().join(","))
        };
        format!("{{\"type\":\"function_call_output\",\"call_id\":{},\"output\":{output}}}", quoted(call_id))
    }

    fn anthropic(&mut self, call_id: &str, content: &ReadResult<'_>) -> String {
        let mut blocks = Vec::new();
        // Blocks of text must not be empty.
        let add_block = |blocks: &mut Vec<String>, text: &str| {
            if !text.trim().is_empty() {
                blocks.push(format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text)));
            }
        };
        for part in &content.parts {
            match part {
                RenderedPart::Text(text) => add_block(&mut blocks, text),
                RenderedPart::Media(media) => match anthropic_media(media) {
                    Some(block) => blocks.push(block),
                    None => {
                        self.lost.push(media.lost());
                        add_block(&mut blocks, &media.placeholder());
                    }
                },
            }
        }
        if let Some(structured) = content.structured {
            add_block(&mut blocks, structured.get());
        }
        // An error has to have content.
        if content.is_error && blocks.is_empty() {
            add_block(&mut blocks, SILENT_ERROR);
        }
        let mut out = format!("{{\"type\":\"tool_result\",\"tool_use_id\":{}", quoted(call_id));
        if !blocks.is_empty() {
            out.push_str(&format!(",\"content\":[{}]", blocks.join(",")));
        }
        if content.is_error {
            out.push_str(",\"is_error\":true");
        }
        out.push('}');
        out
    }

    fn gemini(&mut self, call_id: &str, name: &str, content: &ReadResult<'_>) -> String {
        let mut media = Vec::new();
        let text = self.parts(&content.parts, gemini_media, &mut media);
        let key = if content.is_error { "error" } else { "output" };
        let mut out = String::from("{\"functionResponse\":{");
        if !call_id.starts_with(MADE_UP_ID) {
            out.push_str("\"id\":");
            write_string(&mut out, call_id);
            out.push(',');
        }
        out.push_str("\"name\":");
        write_string(&mut out, name);
        out.push_str(&format!(",\"response\":{{\"{key}\":"));
        match (content.only_structured, content.structured) {
            (Some(structured), _) => out.push_str(structured.get()),
            (None, Some(structured)) if text.is_empty() => out.push_str(structured.get()),
            (None, Some(structured)) => {
                write_string(&mut out, &text);
                out.push_str(",\"structuredContent\":");
                out.push_str(structured.get());
            }
            (None, None) => write_string(&mut out, &text),
        }
        out.push('}');
        if !media.is_empty() {
            out.push_str(&format!(",\"parts\":[{}]", media.join(",")));
        }
        out.push_str("}}");
        out
    }

    /// All that the result says as one text, with structured content and the fact that it is an error.
    fn text(
        &mut self,
        content: &ReadResult<'_>,
        render: impl Fn(&ResultMedia<'_>) -> Option<String>,
        media: &mut Vec<String>,
    ) -> String {
        let mut out = self.parts(&content.parts, render, media);
        if let Some(structured) = content.structured {
            add_text(&mut out, structured.get());
        }
        match (content.is_error, out.is_empty()) {
            (false, _) => out,
            (true, false) => format!("{ERROR}{out}"),
            (true, true) => SILENT_ERROR.to_owned(),
        }
    }

    /// All texts as one. What `render` can carry goes to `media`, in its order; a bracket says what it can't.
    fn parts(
        &mut self,
        parts: &[RenderedPart<'_>],
        render: impl Fn(&ResultMedia<'_>) -> Option<String>,
        media: &mut Vec<String>,
    ) -> String {
        let mut out = String::new();
        for part in parts {
            match part {
                RenderedPart::Text(text) => add_text(&mut out, text),
                RenderedPart::Media(found) => match render(found) {
                    Some(rendered) => media.push(rendered),
                    None => {
                        self.lost.push(found.lost());
                        add_text(&mut out, &found.placeholder());
                    }
                },
            }
        }
        out
    }
}

fn add_text(out: &mut String, text: &str) {
    if !out.is_empty() && !text.is_empty() {
        out.push_str(BETWEEN);
    }
    out.push_str(text);
}

fn responses_media(media: &ResultMedia<'_>) -> Option<String> {
    let url = quoted(&format!("data:{};base64,{}", media.mime_type, media.data));
    if IMAGES.contains(&&*media.mime_type) {
        return Some(format!("{{\"type\":\"input_image\",\"image_url\":{url}}}"));
    }
    (media.mime_type == "application/pdf")
        .then(|| format!("{{\"type\":\"input_file\",\"filename\":\"resource.pdf\",\"file_data\":{url}}}"))
}

fn anthropic_media(media: &ResultMedia<'_>) -> Option<String> {
    let kind = match &*media.mime_type {
        "application/pdf" => "document",
        image if IMAGES.contains(&image) => "image",
        _ => return None,
    };
    Some(format!(
        "{{\"type\":\"{kind}\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}}}",
        quoted(&media.mime_type),
        quoted(&media.data)
    ))
}

fn gemini_media(media: &ResultMedia<'_>) -> Option<String> {
    GEMINI_MEDIA.contains(&&*media.mime_type).then(|| {
        format!(
            "{{\"inlineData\":{{\"mimeType\":{},\"data\":{}}}}}",
            quoted(&media.mime_type),
            quoted(&media.data)
        )
    })
}
