//! How a call and texts of servers are shown to people (PERM-9, TOOL-4, TOOL-11).
//!
//! The approval request must show the call that will run: nothing is cut or reordered, invisible characters
//! are made visible, and only secrets are masked. None of this changes what is sent.

use std::borrow::Cow;

use gatehouse_common::invisible_chars::{self, Layout, Revealer};
use gatehouse_model::approval::ShownArgument;

use crate::json::{Json, write_char};
use crate::secrets;

/// Maximum length of [`one_line`], in characters.
pub const LINE_LENGTH: usize = 200;

/// All arguments, one entry per top-level member, in their original order: JSON text with secrets masked and
/// invisible characters as `⟦U+202E⟧`. Arguments that aren't an object give one entry without a name.
#[must_use]
pub fn render_arguments(arguments: &Json) -> Vec<ShownArgument> {
    match arguments {
        Json::Object(members) => {
            members.iter().map(|(name, value)| render_argument(Some(name), value)).collect()
        }
        other => vec![render_argument(None, other)],
    }
}

/// The values that [`render_arguments`] shows, in the same order.
#[must_use]
pub fn argument_values(arguments: &Json) -> Vec<&Json> {
    match arguments {
        Json::Object(members) => members.iter().map(|(_, value)| value).collect(),
        other => vec![other],
    }
}

/// One value with its secrets unmasked: JSON text with invisible characters as `⟦U+202E⟧`. Only for the user
/// who asked to reveal it.
#[must_use]
pub fn render_unmasked(value: &Json) -> String {
    let mut text = String::new();
    write_revealed(&mut text, value);
    text
}

fn render_argument(name: Option<&str>, value: &Json) -> ShownArgument {
    let value = secrets::mask_value(name, value);
    let masked = matches!(value, Cow::Owned(_));
    let mut text = String::new();
    write_revealed(&mut text, &value);
    let name = invisible_chars::reveal(name.unwrap_or_default(), Layout::OneLine).into_owned();
    ShownArgument { name, text, masked, extra: false }
}

/// The arguments as one line of `key=value`, with secrets masked, at most [`LINE_LENGTH`] characters.
#[must_use]
pub fn one_line(arguments: &Json) -> String {
    let mut line = String::new();
    match arguments {
        Json::Object(members) => {
            for (name, value) in members {
                // A character has at most four bytes, so enough is written to fill the line.
                if line.len() > 4 * LINE_LENGTH {
                    break;
                }
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&invisible_chars::reveal(name, Layout::OneLine));
                line.push('=');
                write_short(&mut line, &secrets::mask_value(Some(name), &shorten(value)));
            }
        }
        Json::Null => {}
        other => write_short(&mut line, &secrets::mask_value(None, other)),
    }
    truncate_line(line)
}

/// Shortens a long text before masking. Keeps four times the line length, so that a secret cut by the line's
/// end is still recognised.
fn shorten(value: &Json) -> Cow<'_, Json> {
    match value {
        Json::String(text) => match text.char_indices().nth(4 * LINE_LENGTH) {
            Some((end, _)) => Cow::Owned(Json::String(text[..end].into())),
            None => Cow::Borrowed(value),
        },
        other => Cow::Borrowed(other),
    }
}

fn write_short(out: &mut String, value: &Json) {
    match value {
        Json::String(text) if is_plain_word(text) => {
            out.push_str(&invisible_chars::reveal(text, Layout::OneLine))
        }
        other => write_revealed(out, other),
    }
}

fn is_plain_word(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || matches!(c, '"' | '=' | '\\'))
}

fn truncate_line(mut line: String) -> String {
    if line.chars().count() > LINE_LENGTH {
        let end = line.char_indices().nth(LINE_LENGTH - 1).map_or(line.len(), |(at, _)| at);
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Removes control characters (except line breaks and tabs), terminal sequences and other invisible characters
/// from a server's text.
#[must_use]
pub fn clean_text(text: &str) -> Cow<'_, str> {
    invisible_chars::clean(text)
}

/// Whether a text has invisible characters. Windows line endings don't count.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    invisible_chars::has_hidden(text)
}

/// Replaces each invisible character by a mark such as `⟦U+202E⟧`.
#[must_use]
pub fn reveal(text: &str) -> Cow<'_, str> {
    invisible_chars::reveal(text, Layout::Lines)
}

/// A text that a server wants a model or a person to read, whole: secrets masked, invisible characters as
/// `⟦U+202E⟧`.
#[must_use]
pub fn render_text(text: &str) -> String {
    let masked = secrets::mask_text(text);
    invisible_chars::reveal(masked.as_deref().unwrap_or(text), Layout::Lines).into_owned()
}

/// The arguments as call records store them: compact JSON in the original order, with secrets masked.
#[must_use]
pub fn masked_json(arguments: &Json) -> String {
    secrets::mask_value(None, arguments).compact()
}

/// Writes JSON text with invisible characters made visible.
pub(crate) fn write_revealed(out: &mut String, value: &Json) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => value.write_compact(out),
        Json::String(text) => write_revealed_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_revealed(out, item);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_revealed_string(out, name);
                out.push(':');
                write_revealed(out, value);
            }
            out.push('}');
        }
    }
}

fn write_revealed_string(out: &mut String, text: &str) {
    let mut revealer = Revealer::new(Layout::Lines);
    out.push('"');
    for c in text.chars() {
        let marked = revealer.needs_mark(c);
        // ASCII control characters are written as JSON escapes, which are visible.
        if marked && c >= ' ' { invisible_chars::mark(out, c) } else { write_char(out, c) }
    }
    out.push('"');
}
