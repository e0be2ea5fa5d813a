//! TOML. A new table is written to the end of the text, so that not a byte of the rest changes; everything else is done
//! in a tree that keeps comments and spaces.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value as TomlValue};

use super::{DocumentError, Step, parse_value};
use crate::apps::FileFormat;

/// Takes a step that was made in the value already. Lists are not edited: no application needs it.
pub(super) fn take(text: &str, step: &Step<'_>) -> Result<String, DocumentError> {
    let mut document: DocumentMut = text.parse().map_err(|_| DocumentError::NotEditable)?;
    match step {
        Step::Set { path, value } => {
            let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
            let has_value = find(document.as_table(), path).is_some();
            if !has_value && value.is_object() {
                let appended = append(text, path, value)?;
                if parse_value(FileFormat::Toml, &appended).is_ok() {
                    return Ok(appended);
                }
            }
            let table = table_at(document.as_table_mut(), parents)?;
            let is_inline = has_value && table.get(name).is_some_and(Item::is_value);
            let item = match value {
                Value::Object(members) if !is_inline => Item::Table(to_table(members)?),
                other => Item::Value(to_value(other)?),
            };
            table.insert(name, item);
        }
        Step::Remove { path } => {
            let mut wanted = parse_value(FileFormat::Toml, text)?;
            step.change(&mut wanted)?;
            let cut = without_tables(text, path);
            if parse_value(FileFormat::Toml, &cut).is_ok_and(|value| value == wanted) {
                return Ok(cut);
            }
            let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
            table_at(document.as_table_mut(), parents)?.remove(name);
        }
        Step::AddItem { .. } | Step::RemoveItem { .. } => return Err(DocumentError::NotEditable),
    }
    Ok(document.to_string())
}

/// The text with a table at its end. It ends in a line end if the text does.
fn append(text: &str, path: &[String], value: &Value) -> Result<String, DocumentError> {
    let mut document = DocumentMut::new();
    let (name, parents) = path.split_last().ok_or(DocumentError::NotEditable)?;
    let Value::Object(members) = value else { return Err(DocumentError::NotEditable) };
    table_at(document.as_table_mut(), parents)?.insert(name, Item::Table(to_table(members)?));
    let table = document.to_string();
    let before = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let table = if text.is_empty() || text.ends_with('\n') { table.as_str() } else { table.trim_end() };
    Ok(format!("{text}{before}{table}"))
}

/// The text without the table at a path and those below it, as far as they have headers. Comments before another table
/// belong to that one.
fn without_tables(text: &str, path: &[String]) -> String {
    let name: Vec<String> = path.iter().map(|key| Key::new(key).display_repr().into_owned()).collect();
    let (own, below) = (format!("[{}]", name.join(".")), format!("[{}.", name.join(".")));
    let is_own = |line: &str| {
        let line = line.trim();
        let rest = line.strip_prefix(&own).map(str::trim_start);
        line.starts_with(&below) || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    };
    let is_space = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let mut kept: Vec<&str> = Vec::new();
    // Lines of a table that is left out, which only what follows decides about.
    let mut undecided: Vec<&str> = Vec::new();
    let mut is_inside = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            is_inside = is_own(line);
            kept.append(&mut undecided);
            if is_inside && kept.last().is_some_and(|line| line.trim().is_empty()) {
                kept.pop();
            }
        }
        if !is_inside {
            kept.push(line);
        } else if is_space(line) {
            undecided.push(line);
        } else {
            undecided.clear();
        }
    }
    kept.append(&mut undecided);
    kept.concat()
}

fn find<'a>(root: &'a Table, path: &[String]) -> Option<&'a Item> {
    let (name, rest) = path.split_first()?;
    rest.iter().try_fold(root.get(name)?, |item, name| item.as_table_like()?.get(name))
}

/// The table at a path. Tables on the way that have no header of their own get none.
fn table_at<'a>(root: &'a mut Table, path: &[String]) -> Result<&'a mut dyn TableLike, DocumentError> {
    let mut table: &mut dyn TableLike = root;
    for name in path {
        let item = table.entry(name).or_insert_with(|| {
            let mut created = Table::new();
            created.set_implicit(true);
            Item::Table(created)
        });
        table = item.as_table_like_mut().ok_or(DocumentError::NotEditable)?;
    }
    Ok(table)
}

fn to_table(members: &serde_json::Map<String, Value>) -> Result<Table, DocumentError> {
    let mut table = Table::new();
    for (name, value) in members {
        table.insert(name, Item::Value(to_value(value)?));
    }
    Ok(table)
}

fn to_value(value: &Value) -> Result<TomlValue, DocumentError> {
    Ok(match value {
        Value::Null => return Err(DocumentError::NotEditable),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(real)) => real.into(),
            (None, None) => return Err(DocumentError::NotEditable),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            let mut array = Array::new();
            for item in items {
                array.push(to_value(item)?);
            }
            array.into()
        }
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, value) in members {
                table.insert(name, to_value(value)?);
            }
            table.into()
        }
    })
}
