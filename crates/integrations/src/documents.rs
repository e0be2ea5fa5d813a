//! Edits of settings documents that leave everything else as it is: comments, the order of members, indentation, line
//! ends, a byte order mark and the end of the file.
//!
//! Every step is made twice: in the text, and in the value that the text stands for. A new text counts only if it stands
//! for the expected value; else the document is refused. So an unusual document is never damaged.

mod jsonc;
mod toml;
mod yaml;

use gatehouse_model::connection::DocumentEdit;
use gatehouse_model::{ErrorCode, Message, UserError, message};
use serde_json::{Map, Value};

use crate::apps::FileFormat;
use crate::read_document;

/// Why a document can't be read or edited.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("it is not UTF-8 text")]
    NotText,
    /// At this line and column, if they are known. Nothing of the text is repeated: it may be a secret.
    #[error("it can't be parsed")]
    Invalid(Option<(String, String)>),
    /// What is at this path is no object or no list.
    #[error("\u{201c}{0}\u{201d} has another type")]
    WrongType(String),
    #[error("it is written in a way that can't be edited safely")]
    NotEditable,
}

impl DocumentError {
    /// In the reader's language.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::NotText => message!("error.connect.notText"),
            Self::Invalid(Some((line, column))) => {
                message!("error.connect.invalid", line = line, column = column)
            }
            Self::Invalid(None) => message!("error.connect.invalidSomewhere"),
            Self::WrongType(path) => message!("error.connect.wrongType", path = path),
            Self::NotEditable => message!("error.connect.notEditable"),
        }
    }

    /// The error for the user about the file at this path, which is left alone.
    #[must_use]
    pub fn about(&self, path: &str) -> UserError {
        UserError::new(ErrorCode::BadConfig, message!("error.connect.fileUnusable", path = path))
            .with_cause(self.message())
            .with_hint(message!("error.connect.fileUnusableHint"))
    }
}

/// One step of an edit.
#[derive(Debug)]
enum Step<'a> {
    /// Sets a member; the objects on the way to it are created.
    Set { path: &'a [String], value: &'a Value },
    /// Removes a member.
    Remove { path: &'a [String] },
    /// Appends an item; the list is created.
    AddItem { path: &'a [String], value: &'a Value },
    /// Removes an item by its index.
    RemoveItem { path: &'a [String], index: usize },
}

/// How lines end in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    /// All as `\r\n`; the text is edited with `\n`.
    CrLf,
    /// As they stand in the text.
    AsWritten,
}

/// A settings document that can be edited.
#[derive(Clone, Debug)]
pub struct Document {
    format: FileFormat,
    has_mark: bool,
    line_ends: LineEnds,
    text: String,
    value: Value,
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

impl Document {
    /// Parses a document. An empty one is an empty object.
    ///
    /// # Errors
    /// When it is no text, can't be parsed, or is no object.
    pub fn parse(format: FileFormat, bytes: &[u8]) -> Result<Self, DocumentError> {
        let text = std::str::from_utf8(bytes).map_err(|_| DocumentError::NotText)?;
        let (has_mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let ends = text.matches('\n').count();
        let line_ends = if ends > 0 && text.matches("\r\n").count() == ends {
            LineEnds::CrLf
        } else {
            LineEnds::AsWritten
        };
        let text = match line_ends {
            LineEnds::CrLf => text.replace("\r\n", "\n"),
            LineEnds::AsWritten => text.to_owned(),
        };
        let value = parse_value(format, &text)?;
        Ok(Self { format, has_mark, line_ends, text, value })
    }

    /// What the document stands for.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The document as the bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        let text = match self.line_ends {
            LineEnds::CrLf => self.text.replace('\n', "\r\n"),
            LineEnds::AsWritten => self.text.clone(),
        };
        format!("{mark}{text}").into_bytes()
    }

    /// Whether the document is as this edit leaves it.
    #[must_use]
    pub fn has(&self, edit: &DocumentEdit) -> bool {
        match edit {
            DocumentEdit::Member { path, value } => find(&self.value, path) == Some(value),
            DocumentEdit::Item { path, value } => items(&self.value, path).contains(value),
        }
    }

    /// Whether there is something at the place of this edit already.
    pub(crate) fn has_any(&self, edit: &DocumentEdit) -> bool {
        match edit {
            DocumentEdit::Member { path, .. } => find(&self.value, path).is_some(),
            DocumentEdit::Item { path, value } => position(&self.value, path, value).is_some(),
        }
    }

    /// Makes an edit. On an error the document is as it was.
    ///
    /// # Errors
    /// When something on the way to its place has another type, or the document can't be edited safely.
    pub fn apply(&mut self, edit: &DocumentEdit) -> Result<(), DocumentError> {
        if self.has(edit) {
            return Ok(());
        }
        let mut draft = self.clone();
        match edit {
            DocumentEdit::Member { path, value } => draft.take(&Step::Set { path, value })?,
            DocumentEdit::Item { path, value } => {
                if let Some(index) = position(&draft.value, path, value) {
                    draft.take(&Step::RemoveItem { path, index })?;
                }
                draft.take(&Step::AddItem { path, value })?;
            }
        }
        *self = draft;
        Ok(())
    }

    /// Takes an edit back: what `before` had in its place is there again, and objects and lists that `before` didn't have
    /// are removed if nothing else is in them. On an error the document is as it was.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn revert(&mut self, edit: &DocumentEdit, before: &Value) -> Result<(), DocumentError> {
        let mut draft = self.clone();
        match edit {
            DocumentEdit::Member { path, .. } => match (find(&draft.value, path), find(before, path)) {
                (None, _) => {}
                (Some(present), Some(old)) if present == old => {}
                (Some(_), Some(old)) => draft.take(&Step::Set { path, value: old })?,
                (Some(_), None) => draft.remove(path, before)?,
            },
            DocumentEdit::Item { path, value } => {
                let old = position(before, path, value).and_then(|at| items(before, path).get(at));
                if let Some(index) = position(&draft.value, path, value)
                    && old != items(&draft.value, path).get(index)
                {
                    draft.take(&Step::RemoveItem { path, index })?;
                    match old {
                        Some(value) => draft.take(&Step::AddItem { path, value })?,
                        None if items(&draft.value, path).is_empty() && !is_known(before, path) => {
                            draft.remove(path, before)?;
                        }
                        None => {}
                    }
                }
            }
        }
        *self = draft;
        Ok(())
    }

    /// Removes a member, and with it the objects on its way that `before` didn't have and that have no other member.
    fn remove(&mut self, path: &[String], before: &Value) -> Result<(), DocumentError> {
        let is_only = |parent: &[String]| {
            find(&self.value, parent).and_then(Value::as_object).is_some_and(|members| members.len() == 1)
        };
        let mut length = path.len();
        while length > 1 && is_only(&path[..length - 1]) && !is_known(before, &path[..length - 1]) {
            length -= 1;
        }
        let can_shorten = length > 1 && is_only(&path[..length - 1]);
        match self.take(&Step::Remove { path: &path[..length] }) {
            // A table of TOML may exist by its members alone.
            Err(DocumentError::NotEditable) if can_shorten => {
                self.take(&Step::Remove { path: &path[..length - 1] })
            }
            done => done,
        }
    }

    fn take(&mut self, step: &Step<'_>) -> Result<(), DocumentError> {
        let mut value = self.value.clone();
        step.change(&mut value)?;
        let text = match self.format {
            FileFormat::Json => jsonc::take(&self.text, step)?,
            FileFormat::Toml => toml::take(&self.text, step)?,
            FileFormat::Yaml => yaml::take(&self.text, step)?,
        };
        if parse_value(self.format, &text).ok().as_ref() != Some(&value) {
            return Err(DocumentError::NotEditable);
        }
        self.text = text;
        self.value = value;
        Ok(())
    }
}

impl Step<'_> {
    /// The step in the value that a document stands for.
    fn change(&self, root: &mut Value) -> Result<(), DocumentError> {
        match self {
            Self::Set { path, value } => {
                let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
                object_at(root, parents)?.insert(name.clone(), (*value).clone());
            }
            Self::Remove { path } => {
                let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
                object_at(root, parents)?.remove(name);
            }
            Self::AddItem { path, value } => list_at(root, path)?.push((*value).clone()),
            Self::RemoveItem { path, index } => {
                let list = list_at(root, path)?;
                if *index >= list.len() {
                    return Err(DocumentError::NotEditable);
                }
                list.remove(*index);
            }
        }
        Ok(())
    }
}

/// Parses the text of a document without a byte order mark.
fn parse_value(format: FileFormat, text: &str) -> Result<Value, DocumentError> {
    let value =
        read_document::parse(text, format).map_err(|broken| DocumentError::Invalid(broken.place(text)))?;
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        _ => Err(DocumentError::WrongType(String::new())),
    }
}

/// The value at a path. `null` counts as nothing.
fn find<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, name| value.get(name)).filter(|value| !value.is_null())
}

/// Whether there is anything at a path, even if it is `null`.
fn is_known(root: &Value, path: &[String]) -> bool {
    path.iter().try_fold(root, |value, name| value.get(name)).is_some()
}

/// The items of the list at a path; none where there is no list.
fn items<'a>(root: &'a Value, path: &[String]) -> &'a [Value] {
    find(root, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Where a list has this item: an object with the same name, or the same value.
fn position(root: &Value, path: &[String], value: &Value) -> Option<usize> {
    let name = value.get("name");
    items(root, path).iter().position(|item| match name {
        Some(name) => item.get("name") == Some(name),
        None => item == value,
    })
}

fn object_at<'a>(root: &'a mut Value, path: &[String]) -> Result<&'a mut Map<String, Value>, DocumentError> {
    let mut value = root;
    for name in path {
        let object = value.as_object_mut().ok_or_else(|| wrong_type(path))?;
        value = object.entry(name).or_insert(Value::Null);
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
    }
    value.as_object_mut().ok_or_else(|| wrong_type(path))
}

fn list_at<'a>(root: &'a mut Value, path: &[String]) -> Result<&'a mut Vec<Value>, DocumentError> {
    let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
    let value = object_at(root, parents)?.entry(name).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().ok_or_else(|| wrong_type(path))
}

fn wrong_type(path: &[String]) -> DocumentError {
    DocumentError::WrongType(path.join("."))
}
