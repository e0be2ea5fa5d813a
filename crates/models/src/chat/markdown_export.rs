//! A conversation as Markdown: roles as headings, texts as they are, and each tool call folded, with its arguments and what
//! it returned.

use std::fmt::Write as _;

use gatehouse_model::chat::{
    ChatBlock, ChatMessage, ChatMessageState, ChatRole, Conversation, ToolCallBlock, ToolCallState,
};
use gatehouse_model::server_catalog::{ResultContent, ResultStatus, ResultView};

/// The document.
pub(super) fn markdown(conversation: &Conversation) -> String {
    let title = one_line(&conversation.title);
    let mut text = format!("# {}\n", if title.is_empty() { "Conversation" } else { &title });
    for message in &conversation.messages {
        write_message(&mut text, message);
    }
    text
}

fn write_message(text: &mut String, message: &ChatMessage) {
    let heading = match (message.role, &message.model) {
        (ChatRole::User, _) => "User".to_owned(),
        (ChatRole::Assistant, Some(model)) => format!("Assistant ({})", one_line(model)),
        (ChatRole::Assistant, None) => "Assistant".to_owned(),
    };
    push(text, format_args!("\n## {heading}\n"));
    for block in &message.blocks {
        match block {
            ChatBlock::Text { text: said } => push(text, format_args!("\n{}\n", said.trim_end())),
            ChatBlock::Reasoning { text: said } if said.trim().is_empty() => {}
            ChatBlock::Reasoning { text: said } => fold(text, "Reasoning", said.trim_end()),
            ChatBlock::Image { mime_type, data } => {
                push(text, format_args!("\n![Image](data:{mime_type};base64,{data})\n"));
            }
            ChatBlock::ToolCall(call) => fold(text, &call_summary(call), &call_details(call)),
        }
    }
    let note = match message.state {
        ChatMessageState::Running | ChatMessageState::Done => None,
        ChatMessageState::Stopped => Some("Stopped".to_owned()),
        ChatMessageState::Failed => Some(
            message.error.as_ref().map_or_else(|| "Failed".to_owned(), |error| format!("Failed: {error}")),
        ),
        ChatMessageState::RoundLimit => Some("Stopped after too many rounds of tool calls".to_owned()),
    };
    if let Some(note) = note {
        push(text, format_args!("\n*{}*\n", one_line(&note)));
    }
}

fn call_summary(call: &ToolCallBlock) -> String {
    let state = match call.state {
        ToolCallState::Writing | ToolCallState::Waiting | ToolCallState::Running => "not ended",
        ToolCallState::Done => "done",
        ToolCallState::Failed => "failed",
        ToolCallState::Denied => "denied",
        ToolCallState::Cancelled => "cancelled",
    };
    let server = call.server.as_deref().map(|server| format!(" · {server}")).unwrap_or_default();
    format!("Tool call: {}{server} ({state})", call.title)
}

fn call_details(call: &ToolCallBlock) -> String {
    let mut text = fenced(&call.arguments, "json");
    if let Some(result) = &call.result {
        text.push_str("\n\n");
        text.push_str(&fenced(&result_text(result), ""));
    }
    text
}

/// The texts of a result; what is no text is only named.
fn result_text(result: &ResultView) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let ResultStatus::Error { code, message } = &result.end {
        parts.push(format!("Error {code}: {message}"));
    }
    for part in &result.parts {
        parts.push(match &part.content {
            ResultContent::Text { text, .. } => match text.whole_bytes {
                Some(bytes) => format!("{}\n[the beginning of {bytes} bytes]", text.text),
                None => text.text.clone(),
            },
            ResultContent::Binary { mime_type, bytes, .. } => format!("[{mime_type}, {bytes} bytes]"),
            ResultContent::Link { uri, title, .. } => format!("{title}: {uri}"),
            ResultContent::Other { json } => json.text.clone(),
        });
    }
    if parts.is_empty() {
        parts.extend(result.structured.as_ref().map(|structured| structured.text.clone()));
    }
    parts.join("\n")
}

/// A text that is folded away. Its heading is escaped, so that nothing in it ends it.
fn fold(text: &mut String, heading: &str, body: &str) {
    let heading = one_line(heading)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('`', "&#96;");
    push(text, format_args!("\n<details>\n<summary>{heading}</summary>\n\n{body}\n\n</details>\n"));
}

/// A text in a code block, with a fence that is longer than any in the text.
fn fenced(text: &str, language: &str) -> String {
    let (mut longest, mut run) = (0_usize, 0_usize);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn push(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string doesn't fail.
    text.write_fmt(piece).unwrap_or_default();
}
