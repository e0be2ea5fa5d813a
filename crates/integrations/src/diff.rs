//! The change of a settings file as lines for people. Settings files of other applications hold secrets in plain text, so
//! values are masked in every line, except those that Gatehouse itself writes: what is around a change is shown for its
//! place alone.

use std::collections::HashSet;
use std::time::Duration;

use gatehouse_model::connection::{DiffLine, DiffLineKind, DocumentEdit};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::apps::FileFormat;

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// After that the difference is no longer made as small as possible.
const TIMEOUT: Duration = Duration::from_secs(1);

/// What is shown of a line that was there before, in characters.
const MAX_LINE: usize = 400;

/// What is shown of a line that is added: Gatehouse's own entry is never cut.
const MAX_ADDED_LINE: usize = 20_000;

const MASK: &str = "•••";

/// The lines that differ, with what is around them.
#[must_use]
pub(crate) fn diff(format: FileFormat, old: &str, new: &str, edits: &[DocumentEdit]) -> Vec<DiffLine> {
    let shown = ShownValues::of(edits);
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(old, new);
    let mut lines = Vec::new();
    let number = |index: Option<usize>| index.and_then(|index| u32::try_from(index + 1).ok());
    for (at, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if at > 0 {
            lines.push(DiffLine { kind: DiffLineKind::Gap, text: String::new(), old: None, new: None });
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let kind = match change.tag() {
                ChangeTag::Equal => DiffLineKind::Kept,
                ChangeTag::Insert => DiffLineKind::Added,
                ChangeTag::Delete => DiffLineKind::Removed,
            };
            let longest = if kind == DiffLineKind::Added { MAX_ADDED_LINE } else { MAX_LINE };
            let text = cut(shown.mask(format, change.value().trim_end_matches(['\r', '\n'])), longest);
            lines.push(DiffLine {
                kind,
                text,
                old: number(change.old_index()),
                new: number(change.new_index()),
            });
        }
    }
    lines
}

/// The values that are not masked.
struct ShownValues(HashSet<String>);

impl ShownValues {
    fn of(edits: &[DocumentEdit]) -> Self {
        let mut texts = HashSet::new();
        for edit in edits {
            let (DocumentEdit::Member { value, .. } | DocumentEdit::Item { value, .. }) = edit;
            add_texts(value, &mut texts);
        }
        Self(texts)
    }

    fn mask(&self, format: FileFormat, line: &str) -> String {
        match format {
            FileFormat::Json => self.mask_strings(line, &[':'], &['"']),
            FileFormat::Toml => self.mask_toml(line),
            FileFormat::Yaml => self.mask_yaml(line),
        }
    }

    /// Masks the strings in a line that are no keys. A string that doesn't end here is masked to the end of the line.
    fn mask_strings(&self, line: &str, after_key: &[char], quotes: &[char]) -> String {
        let mut masked = String::new();
        let mut rest = line;
        while let Some((start, quote)) = rest.char_indices().find(|(_, c)| quotes.contains(c)) {
            let (before, string) = rest.split_at(start);
            masked.push_str(before);
            let Some(length) = string_length(string, quote) else {
                masked.push_str(MASK);
                return masked;
            };
            let (string, after) = string.split_at(length);
            let is_key = after.trim_start().starts_with(after_key);
            let content = string.get(1..length - 1).unwrap_or_default();
            if is_key || content.is_empty() || self.is_shown(string, content) {
                masked.push_str(string);
            } else {
                masked.push(quote);
                masked.push_str(MASK);
                masked.push(quote);
            }
            rest = after;
        }
        masked.push_str(rest);
        masked
    }

    fn is_shown(&self, string: &str, content: &str) -> bool {
        let decoded = serde_json::from_str::<String>(string);
        self.0.contains(decoded.as_deref().unwrap_or(content))
    }

    fn mask_toml(&self, line: &str) -> String {
        let content = line.trim_start().trim_start_matches(['#', ' ']);
        let is_header = content.starts_with('[')
            && content.trim_start_matches('[').starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && !content.contains([',', '=']);
        let begins_plainly = content.is_empty() || content.starts_with(['[', ']', '"', '\'', '{', '}', ',']);
        match line.split_once('=') {
            _ if is_header => line.to_owned(),
            _ if begins_plainly => self.mask_strings(line, &['=', '.'], &['"', '\'']),
            Some((key, value)) => {
                let plain = value.trim();
                let is_known = plain.starts_with(['"', '\'', '[', '{']) || is_plain(plain);
                let value = if is_known {
                    self.mask_strings(value, &['=', '.'], &['"', '\''])
                } else {
                    format!(" {MASK}")
                };
                format!("{key}={value}")
            }
            // A line of a longer string, or a comment.
            None => format!("{}{MASK}", indentation(line)),
        }
    }

    fn mask_yaml(&self, line: &str) -> String {
        let content = line.trim_start().trim_start_matches(['#', ' ', '-']);
        let start = line.len() - content.len();
        let (before, content) = line.split_at(start);
        let (key, value) = match content.split_once(": ") {
            Some((key, value)) => (format!("{key}: "), value),
            None if content.ends_with(':') => (content.to_owned(), ""),
            None => (String::new(), content),
        };
        let value = value.trim();
        let unquoted = value.trim_matches(['"', '\'']);
        let is_shown = matches!(value, "" | "|" | ">" | "|-" | ">-" | "[]" | "{}")
            || is_plain(value)
            || self.is_shown(value, unquoted);
        format!("{before}{key}{}", if is_shown { value } else { MASK })
    }
}

/// The first characters of a line.
fn cut(line: String, longest: usize) -> String {
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Whether a value without quotes is a number or a truth value.
fn is_plain(value: &str) -> bool {
    let value = value.split_once('#').map_or(value, |(value, _)| value).trim_end_matches([' ', ',']);
    matches!(value, "true" | "false" | "null") || value.parse::<f64>().is_ok()
}

/// The length of a string with its quotes, in bytes; `None` if it doesn't end.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

fn indentation(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn add_texts(value: &Value, texts: &mut HashSet<String>) {
    match value {
        Value::String(text) => {
            texts.insert(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|value| add_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn masks_values_that_gatehouse_does_not_write() {
        let edits = [DocumentEdit::Member { path: Vec::new(), value: json!({ "command": "/bin/ctl" }) }];
        let shown = ShownValues::of(&edits);
        for (format, line, wanted) in [
            (FileFormat::Json, r#"  "API_KEY": "sk-1","#, r#"  "API_KEY": "•••","#),
            (FileFormat::Json, r#"  "command": "/bin/ctl","#, r#"  "command": "/bin/ctl","#),
            (FileFormat::Json, r#"  // "KEY": "a\"b" "#, r#"  // "KEY": "•••" "#),
            (FileFormat::Json, r#"  "args": ["", "x"], "n": 4"#, r#"  "args": ["", "•••"], "n": 4"#),
            (FileFormat::Toml, r#"[mcp_servers."a b"]"#, r#"[mcp_servers."a b"]"#),
            (FileFormat::Toml, r#"env = { KEY = "x", b = 'y' }"#, r#"env = { KEY = "•••", b = '•••' }"#),
            (FileFormat::Toml, r#"  "a", "secret"]"#, r#"  "•••", "•••"]"#),
            (FileFormat::Toml, "on = true # yes", "on = true # yes"),
            (FileFormat::Toml, "token=abc", "token= •••"),
            (FileFormat::Toml, "  in a long string", "  •••"),
            (FileFormat::Yaml, "  - name: \"/bin/ctl\"", "  - name: \"/bin/ctl\""),
            (FileFormat::Yaml, "    KEY: abc", "    KEY: •••"),
            (FileFormat::Yaml, "    # KEY: abc", "    # KEY: •••"),
            (FileFormat::Yaml, "mcpServers:", "mcpServers:"),
            (FileFormat::Yaml, "  plain text", "  •••"),
        ] {
            assert_eq!(shown.mask(format, line), wanted, "{line}");
        }
    }
}
