//! The options of a bundle (`user_config` of its manifest): their schema for a form, and the checks of values.
//!
//! The value of an option that is a secret never comes here; only whether one is given.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::error::{BundleError, OptionProblem};
use super::manifest::{Manifest, ManifestOption, OptionKind};
use super::variables::{self, BundlePlaces};

/// Longest text of one value, in bytes, and most values of one option.
const MAX_VALUE_BYTES: usize = 32 * 1024;
const MAX_VALUES: usize = 256;

/// The values of options that are no secrets, by key. An option without a value is not in it.
pub(super) type OptionValues = BTreeMap<String, OptionValue>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OptionValue {
    One(String),
    Many(Vec<String>),
}

/// The JSON schema of the options that are no secrets. Defaults are those of this user.
pub(super) fn schema(manifest: &Manifest, places: &BundlePlaces) -> Result<Value, BundleError> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (key, option) in manifest.options.iter().filter(|(_, option)| !option.sensitive) {
        let mut value = match option.kind {
            OptionKind::String | OptionKind::Directory | OptionKind::File => json!({ "type": "string" }),
            OptionKind::Number => json!({ "type": "number" }),
            OptionKind::Boolean => json!({ "type": "boolean" }),
        };
        for (name, limit) in [("minimum", option.min), ("maximum", option.max)] {
            if let (OptionKind::Number, Some(limit)) = (option.kind, limit) {
                value[name] = json!(limit);
            }
        }
        if option.required && value["type"] == "string" {
            value["minLength"] = json!(1);
        }
        if option.multiple {
            let least = u32::from(option.required);
            value = json!({ "type": "array", "items": value, "minItems": least });
        }
        value["title"] = json!(option.title);
        if let Some(description) = &option.description {
            value["description"] = json!(description);
        }
        if let Some(default) = default_of(option, places)? {
            value["default"] = default;
        }
        properties.insert(key.clone(), value);
        if option.required {
            required.push(key.as_str());
        }
    }
    Ok(json!({ "type": "object", "properties": properties, "required": required }))
}

/// Checks values that the user gave, and adds the defaults of others. `secrets` are the keys of the secrets that are
/// given. Looks at the disk.
pub(super) fn check(
    manifest: &Manifest,
    places: &BundlePlaces,
    given: &Map<String, Value>,
    secrets: &[String],
) -> Result<OptionValues, BundleError> {
    let find =
        |wanted: &str| manifest.options.iter().find(|(key, _)| key == wanted).map(|(_, option)| option);
    for key in given.keys() {
        match find(key) {
            None => return Err(refused(key, OptionProblem::Unknown)),
            Some(option) if option.sensitive => return Err(refused(&option.title, OptionProblem::Secret)),
            Some(_) => {}
        }
    }
    if let Some(key) = secrets.iter().find(|key| !find(key).is_some_and(|option| option.sensitive)) {
        return Err(refused(key, OptionProblem::Unknown));
    }
    let mut values = OptionValues::new();
    for (key, option) in &manifest.options {
        if option.sensitive {
            if option.required && !secrets.contains(key) {
                return Err(refused(&option.title, OptionProblem::Missing));
            }
            continue;
        }
        let value = match given.get(key).filter(|value| !value.is_null()) {
            Some(value) => Some(value.clone()),
            None => default_of(option, places)?,
        };
        match value.map(|value| read_value(option, &value)).transpose()?.flatten() {
            Some(value) => drop(values.insert(key.clone(), value)),
            None if option.required => return Err(refused(&option.title, OptionProblem::Missing)),
            None => {}
        }
    }
    Ok(values)
}

/// A value as texts; `None` if it is empty.
fn read_value(option: &ManifestOption, value: &Value) -> Result<Option<OptionValue>, BundleError> {
    if !option.multiple {
        return Ok(read_one(option, value)?.map(OptionValue::One));
    }
    // A single one is a list too, as on a command line.
    let all = value.as_array().map_or_else(|| vec![value], |values| values.iter().collect());
    if all.len() > MAX_VALUES {
        return Err(refused(&option.title, OptionProblem::Value));
    }
    let mut texts = Vec::new();
    for value in all {
        texts.extend(read_one(option, value)?);
    }
    Ok((!texts.is_empty()).then_some(OptionValue::Many(texts)))
}

fn read_one(option: &ManifestOption, value: &Value) -> Result<Option<String>, BundleError> {
    let wrong = |problem| refused(&option.title, problem);
    let text = match (option.kind, value) {
        (OptionKind::Boolean, Value::Bool(on)) => on.to_string(),
        (OptionKind::Number, Value::Number(number)) => {
            let amount = number.as_f64().unwrap_or(f64::NAN);
            let fits = option.min.is_none_or(|least| amount >= least)
                && option.max.is_none_or(|most| amount <= most);
            if !fits {
                return Err(wrong(OptionProblem::Value));
            }
            number.to_string()
        }
        (OptionKind::String | OptionKind::Directory | OptionKind::File, Value::String(text)) => text.clone(),
        _ => return Err(wrong(OptionProblem::Value)),
    };
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() > MAX_VALUE_BYTES || text.contains('\0') {
        return Err(wrong(OptionProblem::Value));
    }
    let path = Path::new(&text);
    match option.kind {
        OptionKind::Directory if !(path.is_absolute() && path.is_dir()) => {
            Err(wrong(OptionProblem::NoFolder))
        }
        OptionKind::File if !(path.is_absolute() && path.is_file()) => Err(wrong(OptionProblem::NoFile)),
        _ => Ok(Some(text)),
    }
}

/// The default of an option with the folders of this user.
fn default_of(option: &ManifestOption, places: &BundlePlaces) -> Result<Option<Value>, BundleError> {
    let expand = |text: &str| variables::expand(text, places).map(Value::String);
    Ok(match &option.default {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(expand(text)?),
        Some(Value::Array(values)) => Some(Value::Array(
            values
                .iter()
                .map(|value| value.as_str().map_or_else(|| Ok(value.clone()), expand))
                .collect::<Result<_, _>>()?,
        )),
        Some(other) => Some(other.clone()),
    })
}

pub(super) fn refused(option: &str, problem: OptionProblem) -> BundleError {
    BundleError::Option { option: option.to_owned(), problem }
}
