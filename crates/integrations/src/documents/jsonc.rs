//! JSON with or without comments. The tree keeps every space and comment of the text.

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{DocumentError, Step};
use crate::read_document::JSONC;

/// Takes a step that was made in the value already, so that the types on its way are known to fit.
pub(super) fn take(text: &str, step: &Step<'_>) -> Result<String, DocumentError> {
    let root = CstRootNode::parse(text, &JSONC).map_err(|_| DocumentError::NotEditable)?;
    match step {
        Step::Set { path, value } => {
            let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
            let object = object_at(&root, parents);
            match object.get(name) {
                Some(member) => member.set_value(to_input(value)),
                None => {
                    object.append(name, to_input(value));
                }
            }
        }
        Step::Remove { path } => {
            let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
            object_at(&root, parents).get(name).ok_or(DocumentError::NotEditable)?.remove();
        }
        Step::AddItem { path, value } => {
            list_at(&root, path)?.append(to_input(value));
        }
        Step::RemoveItem { path, index } => {
            let item = list_at(&root, path)?.elements().into_iter().nth(*index);
            item.ok_or(DocumentError::NotEditable)?.remove();
        }
    }
    Ok(root.to_string())
}

fn object_at(root: &CstRootNode, path: &[String]) -> CstObject {
    path.iter().fold(root.object_value_or_set(), |object, name| object.object_value_or_set(name))
}

fn list_at(root: &CstRootNode, path: &[String]) -> Result<CstArray, DocumentError> {
    let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
    Ok(object_at(root, parents).array_value_or_set(name))
}

fn to_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(to_input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), to_input(value))).collect(),
        ),
    }
}
