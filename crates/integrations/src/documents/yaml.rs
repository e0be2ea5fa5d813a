//! YAML, as far as applications need it: items of a list under a member of the document, both written as blocks. The
//! lines of an item are added or taken out, and no other line changes. Other forms of YAML are refused by
//! [`super::Document`], which compares what the new text stands for.

use serde_json::Value;

use super::{DocumentError, Step};

pub(super) fn take(text: &str, step: &Step<'_>) -> Result<String, DocumentError> {
    match step {
        Step::AddItem { path: [key], value } => add_item(text, key, value),
        Step::RemoveItem { path: [key], index } => remove_item(text, key, *index),
        Step::Remove { path: [key] } => {
            let lines = lines(text);
            let list = BlockList::find(&lines, key).ok_or(DocumentError::NotEditable)?;
            Ok(without(&lines, list.key_line..list.end))
        }
        _ => Err(DocumentError::NotEditable),
    }
}

fn add_item(text: &str, key: &str, value: &Value) -> Result<String, DocumentError> {
    let lines = lines(text);
    let Some(list) = BlockList::find(&lines, key) else {
        let before = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let added = format!("{key}:\n{}", item(value, "  ")?);
        let added = if text.is_empty() || text.ends_with('\n') { added.as_str() } else { added.trim_end() };
        return Ok(format!("{text}{before}{added}"));
    };
    let indent = list.items.first().and_then(|item| lines.get(*item)).map_or("  ", |line| indentation(line));
    let added = item(value, indent)?;
    let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if let Some(line) = edited.get_mut(list.key_line).filter(|_| list.items.is_empty()) {
        *line = with_value(line, key, "");
    }
    let is_last = list.end == edited.len();
    let ends_open = edited.last().is_some_and(|line| !line.ends_with('\n'));
    if is_last && ends_open {
        edited.push("\n".to_owned());
        edited.push(added.trim_end().to_owned());
    } else {
        edited.insert(list.end, added);
    }
    Ok(edited.concat())
}

fn remove_item(text: &str, key: &str, index: usize) -> Result<String, DocumentError> {
    let lines = lines(text);
    let list = BlockList::find(&lines, key).ok_or(DocumentError::NotEditable)?;
    let start = *list.items.get(index).ok_or(DocumentError::NotEditable)?;
    let next = list.items.get(index + 1).copied().unwrap_or(list.end);
    let indent = indentation(lines.get(start).copied().unwrap_or_default()).len();
    // Comments and empty lines before the next item are not part of this one.
    let belongs = |at: &usize| {
        lines
            .get(*at)
            .is_some_and(|line| !is_blank(line) && (*at == start || indentation(line).len() > indent))
    };
    let end = (start..next).rev().find(belongs).map_or(next, |last| last + 1);
    let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if let Some(line) = edited.get_mut(list.key_line).filter(|_| list.items.len() == 1) {
        *line = with_value(line, key, " []");
    }
    edited.drain(start..end);
    Ok(edited.concat())
}

/// A list that is written as a block, by line numbers from 0.
struct BlockList {
    key_line: usize,
    /// The first line of each item.
    items: Vec<usize>,
    /// The line after the last one of the list.
    end: usize,
}

impl BlockList {
    /// The list under a member of the document, which may have no items.
    fn find(lines: &[&str], key: &str) -> Option<Self> {
        let key_line = lines.iter().position(|line| value_of(line, key).is_some())?;
        let has_value = !matches!(value_of(lines.get(key_line)?, key)?, "" | "[]");
        if has_value {
            return None;
        }
        let mut list = Self { key_line, items: Vec::new(), end: key_line + 1 };
        let mut indent = None;
        for (at, line) in lines.iter().enumerate().skip(key_line + 1) {
            if is_blank(line) || is_comment(line) {
                // Inside an item a comment belongs to it; the end is moved only by what follows.
                continue;
            }
            let own = indentation(line).len();
            let starts_item = line.trim_start().strip_prefix('-').is_some_and(starts_with_space);
            let indent = *indent.get_or_insert(own);
            if starts_item && own == indent {
                list.items.push(at);
            } else if own <= indent || list.items.is_empty() {
                break;
            }
            list.end = at + 1;
        }
        Some(list)
    }
}

/// What stands after `key:` on its line, without a comment; `None` on other lines.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(key)?.trim_start_matches(' ').strip_prefix(':')?;
    if !starts_with_space(rest) {
        return None;
    }
    let value = rest.trim();
    Some(value.split_once('#').map_or(value, |(value, _)| value.trim_end()))
}

/// The line of a key with another value and its comment.
fn with_value(line: &str, key: &str, value: &str) -> String {
    let comment = line.find('#').and_then(|at| line.get(at..));
    match comment {
        Some(comment) => format!("{key}:{value} {comment}"),
        None => format!("{key}:{value}{}", if line.ends_with('\n') { "\n" } else { "" }),
    }
}

/// An item as lines, each with its line end.
fn item(value: &Value, indent: &str) -> Result<String, DocumentError> {
    let Value::Object(members) = value else {
        return Ok(format!("{indent}- {}\n", scalar(value)?));
    };
    let mut lines = String::new();
    for (at, (name, value)) in members.iter().enumerate() {
        let start = if at == 0 { "- " } else { "  " };
        match value {
            Value::Array(items) if !items.is_empty() => {
                lines.push_str(&format!("{indent}{start}{name}:\n"));
                for item in items {
                    lines.push_str(&format!("{indent}    - {}\n", scalar(item)?));
                }
            }
            value => lines.push_str(&format!("{indent}{start}{name}: {}\n", scalar(value)?)),
        }
    }
    Ok(lines)
}

/// A value on one line. A JSON string is a YAML string.
fn scalar(value: &Value) -> Result<String, DocumentError> {
    match value {
        Value::Object(_) => Err(DocumentError::NotEditable),
        Value::Array(items) if !items.is_empty() => Err(DocumentError::NotEditable),
        value => Ok(value.to_string()),
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn without(lines: &[&str], range: std::ops::Range<usize>) -> String {
    lines.iter().enumerate().filter(|(at, _)| !range.contains(at)).map(|(_, line)| *line).collect()
}

fn indentation(line: &str) -> &str {
    let rest = line.trim_start_matches(' ');
    line.get(..line.len() - rest.len()).unwrap_or_default()
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn starts_with_space(text: &str) -> bool {
    text.is_empty() || text.starts_with([' ', '\n', '\r', '\t'])
}
