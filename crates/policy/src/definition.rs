//! Fingerprints and comparison of definitions: tools, prompts and resource templates (PERM-8).
//!
//! A grant is for the tool as it was defined when the user granted it. Key order and white space don't count.
//! Everything that a model reads or that changes a call does, including members that Gatehouse doesn't know.

use std::collections::BTreeMap;

use gatehouse_model::grant::{FieldChange, FieldConcern};
use gatehouse_model::id::Fingerprint;
use sha2::{Digest, Sha256};

use crate::display::{has_hidden, reveal, write_revealed};
use crate::json::{self, Json, JsonDefect, push_segment};

/// Members that aren't part of the fingerprint.
const UNPINNED_MEMBERS: &[&str] = &["_meta", "icons"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    Tool,
    Prompt,
    Template,
}

/// SHA-256 of the canonical form of a definition without `_meta` and `icons`. The kind of definition is hashed
/// too, so a tool and a prompt with the same text have different fingerprints.
pub fn fingerprint(of: DefinitionKind, definition: &str) -> Result<Fingerprint, JsonDefect> {
    let canonical = Json::Object(pinned_members(definition)?).canonical();
    let kind: &[u8] = match of {
        DefinitionKind::Tool => b"",
        DefinitionKind::Prompt => b"prompt\n",
        DefinitionKind::Template => b"template\n",
    };
    Ok(Fingerprint::new(hex::encode(Sha256::new().chain_update(kind).chain_update(canonical).finalize())))
}

/// Maximum number of changed fields that are listed. The server chooses how many there are, and every event about an
/// approval request carries them; a last entry says how many more changed.
const MOST_CHANGES: usize = 64;
/// Maximum length of each text of a change, in bytes; a longer one ends with the number of bytes left out.
const LONGEST_CHANGE: usize = 8 * 1024;

/// The differences between two definitions, field by field, with invisible characters made visible. Empty
/// exactly if the fingerprints are equal; if a definition can't be parsed, the whole text is one difference.
#[must_use]
pub fn diff(before: &str, after: &str) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    match (pinned_members(before), pinned_members(after)) {
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
        truncate_line(text);
    }
    changes
}

/// Whether differences as [`diff`] returns them lack something: fields or parts of texts.
#[must_use]
pub fn is_cut(changes: &[FieldChange]) -> bool {
    // What is cut ends with what says so, and is longer than what is whole.
    let is_long = |text: &String| text.len() > LONGEST_CHANGE;
    changes.len() > MOST_CHANGES
        || changes.iter().flat_map(|change| [&change.before, &change.after]).flatten().any(is_long)
}

/// Truncates a long text and appends the number of bytes left out.
fn truncate_line(text: &mut String) {
    let end = text.floor_char_boundary(LONGEST_CHANGE);
    let more = text.len() - end;
    if more > 0 {
        text.truncate(end);
        text.push_str(&format!("… +{more}"));
    }
}

/// JSON Pointers to invisible characters in the parts of a definition that must not be cleaned (TOOL-4): the
/// name, keys, and texts in `enum`, `const` and `default`. The pointers themselves have invisible characters
/// revealed.
#[must_use]
pub fn hidden_character_pointers(definition: &str) -> Vec<String> {
    let mut places = Vec::new();
    if let Ok(members) = pinned_members(definition) {
        for (key, value) in &members {
            let is_value = &**key == "name";
            find_hidden(&mut places, key, value, "", is_value);
        }
    }
    places
}

fn pinned_members(definition: &str) -> Result<Vec<(Box<str>, Json)>, JsonDefect> {
    match json::read(definition)? {
        Json::Object(mut members) => {
            members.retain(|(name, _)| !UNPINNED_MEMBERS.contains(&&**name));
            Ok(members)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(JsonDefect::Malformed { offset: 0 })
        }
    }
}

type JsonMembers = [(Box<str>, Json)];

fn compare_members(changes: &mut Vec<FieldChange>, before: &JsonMembers, after: &JsonMembers, at: &str) {
    let old_by_name: BTreeMap<&str, &Json> = before.iter().map(|(name, value)| (&**name, value)).collect();
    let new_by_name: BTreeMap<&str, &Json> = after.iter().map(|(name, value)| (&**name, value)).collect();
    for (name, old) in before {
        let pointer = child_pointer(at, name);
        match new_by_name.get(&**name) {
            Some(new) => compare(changes, old, new, &pointer),
            None => changes.push(change(pointer, Some(old), None)),
        }
    }
    for (name, new) in after {
        if !old_by_name.contains_key(&**name) {
            changes.push(change(child_pointer(at, name), None, Some(new)));
        }
    }
}

fn compare(changes: &mut Vec<FieldChange>, old: &Json, new: &Json, at: &str) {
    match (old, new) {
        (Json::Object(before), Json::Object(after)) => compare_members(changes, before, after, at),
        (old, new) if is_same_value(old, new) => {}
        (old, new) => changes.push(change(at.to_owned(), Some(old), Some(new))),
    }
}

/// Whether two values are equal apart from the order of keys.
fn is_same_value(a: &Json, b: &Json) -> bool {
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

/// A text named `title` or `description` is read by the model at any depth. A schema property of that name is
/// an object and therefore not affected.
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

fn child_pointer(at: &str, name: &str) -> String {
    let mut pointer = at.to_owned();
    push_segment(&mut pointer, name);
    pointer
}

fn find_hidden(places: &mut Vec<String>, name: &str, value: &Json, at: &str, is_value: bool) {
    let here = child_pointer(at, name);
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
                find_hidden_in(places, item, &child_pointer(here, &index.to_string()), is_value);
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                find_hidden(places, name, value, here, is_value);
            }
        }
    }
}
