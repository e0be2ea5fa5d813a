//! What a tool says of itself, pinned and compared (PERM-8).
//!
//! A grant is for the tool as it was when the user looked at it. Key order and white space do not
//! count; everything that a model reads or that changes a call does, members that we do not know included.

use std::collections::BTreeMap;

use gatehouse_model::grant::{FieldChange, FieldConcern};
use gatehouse_model::id::Fingerprint;
use sha2::{Digest, Sha256};

use crate::json::{self, Json, JsonDefect, push_segment};
use crate::show::{has_hidden, reveal, write_revealed};

/// Members of a definition that are no part of what the tool is.
const NOT_PINNED: &[&str] = &["_meta", "icons"];

/// What a definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionOf {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource template.
    Template,
}

/// SHA-256 over the canonical form of a definition, all members but `_meta` and `icons`. A tool that is written
/// like a prompt or a template has another one.
pub fn fingerprint(of: DefinitionOf, definition: &str) -> Result<Fingerprint, JsonDefect> {
    let canonical = Json::Object(pinned(definition)?).canonical();
    let kind: &[u8] = match of {
        DefinitionOf::Tool => b"",
        DefinitionOf::Prompt => b"prompt\n",
        DefinitionOf::Template => b"template\n",
    };
    Ok(Fingerprint::new(hex::encode(Sha256::new().chain_update(kind).chain_update(canonical).finalize())))
}

/// Most fields that a difference names, and most bytes of each text: a server chooses both, and each event about a
/// question has them. Whatever is longer says so.
const MOST_CHANGES: usize = 64;
const LONGEST_CHANGE: usize = 8 * 1024;

/// The differences between two definitions, field by field, hidden characters made visible. Empty
/// exactly when the fingerprints are equal; a definition that cannot be read is shown whole.
#[must_use]
pub fn diff(before: &str, after: &str) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    match (pinned(before), pinned(after)) {
        (Ok(before), Ok(after)) => compare_members(&mut changes, &before, &after, ""),
        _ if before == after => {}
        _ => changes.push(FieldChange {
            pointer: String::new(),
            concern: FieldConcern::Shape,
            before: Some(reveal(before).into_owned()),
            after: Some(reveal(after).into_owned()),
        }),
    }
    let more = changes.len().saturating_sub(MOST_CHANGES);
    changes.truncate(MOST_CHANGES);
    if more > 0 {
        changes.push(FieldChange {
            pointer: "/…".to_owned(),
            concern: FieldConcern::Shape,
            before: None,
            after: Some(format!("… +{more}")),
        });
    }
    for text in changes.iter_mut().flat_map(|change| [&mut change.before, &mut change.after]).flatten() {
        cut(text);
    }
    changes
}

/// Ends a long text with how many bytes more there were.
fn cut(text: &mut String) {
    let end = text.floor_char_boundary(LONGEST_CHANGE);
    let more = text.len() - end;
    if more > 0 {
        text.truncate(end);
        text.push_str(&format!("… +{more}"));
    }
}

/// Where a definition has characters that cannot be seen in what must not be cleaned (TOOL-4): the
/// name, any key, and texts in `enum`, `const` and `default`. JSON Pointers, made visible themselves.
#[must_use]
pub fn hidden_places(definition: &str) -> Vec<String> {
    let mut places = Vec::new();
    if let Ok(members) = pinned(definition) {
        for (key, value) in &members {
            let is_value = &**key == "name";
            find_hidden(&mut places, (key, value), "", is_value);
        }
    }
    places
}

fn pinned(definition: &str) -> Result<Vec<(Box<str>, Json)>, JsonDefect> {
    match json::read(definition)? {
        Json::Object(mut members) => {
            members.retain(|(name, _)| !NOT_PINNED.contains(&&**name));
            Ok(members)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(JsonDefect::Malformed { offset: 0 })
        }
    }
}

type Members = [(Box<str>, Json)];

fn compare_members(changes: &mut Vec<FieldChange>, before: &Members, after: &Members, at: &str) {
    let old_by_name: BTreeMap<&str, &Json> = before.iter().map(|(name, value)| (&**name, value)).collect();
    let new_by_name: BTreeMap<&str, &Json> = after.iter().map(|(name, value)| (&**name, value)).collect();
    for (name, old) in before {
        let pointer = below(at, name);
        match new_by_name.get(&**name) {
            Some(new) => compare(changes, old, new, &pointer),
            None => changes.push(change(pointer, Some(old), None)),
        }
    }
    for (name, new) in after {
        if !old_by_name.contains_key(&**name) {
            changes.push(change(below(at, name), None, Some(new)));
        }
    }
}

fn compare(changes: &mut Vec<FieldChange>, old: &Json, new: &Json, at: &str) {
    match (old, new) {
        (Json::Object(before), Json::Object(after)) => compare_members(changes, before, after, at),
        (old, new) if same(old, new) => {}
        (old, new) => changes.push(change(at.to_owned(), Some(old), Some(new))),
    }
}

/// Equal but for the order of keys.
fn same(a: &Json, b: &Json) -> bool {
    a == b || a.canonical() == b.canonical()
}

fn change(pointer: String, before: Option<&Json>, after: Option<&Json>) -> FieldChange {
    let text = |value: &Json| {
        let mut text = String::new();
        write_revealed(&mut text, value);
        text
    };
    let concern = concern(&pointer, after.or(before));
    let pointer = reveal(&pointer).into_owned();
    FieldChange { pointer, concern, before: before.map(text), after: after.map(text) }
}

/// A text called `title` or `description` is read by the model wherever it stands; a schema property
/// of that name is an object and so is told apart.
fn concern(pointer: &str, value: Option<&Json>) -> FieldConcern {
    let top = pointer.split('/').nth(1).unwrap_or_default();
    let last = pointer.rsplit('/').next().unwrap_or_default();
    let is_text = value.is_some_and(|value| value.as_str().is_some());
    match (top, last) {
        ("name", _) => FieldConcern::Words,
        (_, "title" | "description") if is_text => FieldConcern::Words,
        ("annotations", _) => FieldConcern::Safety,
        _ => FieldConcern::Shape,
    }
}

fn below(at: &str, name: &str) -> String {
    let mut pointer = at.to_owned();
    push_segment(&mut pointer, name);
    pointer
}

fn find_hidden(places: &mut Vec<String>, (name, value): (&str, &Json), at: &str, is_value: bool) {
    let here = below(at, name);
    if has_hidden(name) {
        places.push(reveal(&here).into_owned());
    }
    let is_value = is_value || matches!(name, "enum" | "const" | "default");
    find_hidden_in(places, value, &here, is_value);
}

fn find_hidden_in(places: &mut Vec<String>, value: &Json, here: &str, is_value: bool) {
    match value {
        Json::String(text) if is_value && has_hidden(text) => places.push(reveal(here).into_owned()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_hidden_in(places, item, &below(here, &index.to_string()), is_value);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                find_hidden(places, (name, value), here, is_value);
            }
        }
    }
}
