//! What programs read on standard output: JSON as the core returned it, with the English text of each message.

use gatehouse_model::{Message, UserText};
use serde::Serialize;
use serde_json::{Map, Value};

/// A value as JSON on one line. Each message of the core has its English text as `text` beside `key` and
/// `params`, for programs without the catalogs.
pub(crate) fn to_json(value: &impl Serialize) -> serde_json::Result<String> {
    let mut json = serde_json::to_value(value)?;
    add_texts(&mut json);
    serde_json::to_string(&json)
}

/// Adds `text` to each message. A message in the parameters of another one gets none: the other's text contains
/// it.
fn add_texts(value: &mut Value) {
    match value {
        Value::Object(members) => match message_text(members) {
            Some(text) => {
                members.insert("text".to_owned(), Value::String(text));
            }
            None => members.values_mut().for_each(add_texts),
        },
        Value::Array(items) => items.iter_mut().for_each(add_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The English text of an object that is a message: it has `key` and `params` and nothing else.
fn message_text(members: &Map<String, Value>) -> Option<String> {
    if members.len() != 2 || !members.contains_key("key") || !members.contains_key("params") {
        return None;
    }
    let message: Message = serde_json::from_value(Value::Object(members.clone())).ok()?;
    Some(UserText::from(message).to_string())
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ErrorCode, UserError, message};
    use serde_json::json;

    use super::*;

    #[test]
    fn json_has_text_of_each_message() {
        let error = UserError::new(ErrorCode::NotRunning, ErrorCode::NotRunning.message())
            .with_cause(message!("problem.inField", field = "env", problem = message!("problem.text")))
            .with_hint("Plain.");
        let said = json!({
            "code": "not_running",
            "message": {
                "key": "error.not_running",
                "params": {},
                "text": "Gatehouse isn't running. Start Gatehouse and try again.",
            },
            "cause": {
                "key": "problem.inField",
                "params": {
                    "field": { "text": "env" },
                    "problem": { "message": { "key": "problem.text", "params": {} } },
                },
                "text": "In “env”: This must be a string.",
            },
            "hint": "Plain.",
        });
        let found: Value = serde_json::from_str(&to_json(&[&error]).unwrap()).unwrap();
        assert_eq!(found, json!([said]));
    }

    #[test]
    fn json_that_is_no_message_stays_as_it_is() {
        for other in [
            json!(null),
            json!({ "key": "a", "params": {}, "more": 1 }),
            json!({ "key": 1, "params": {} }),
            json!({ "key": "a", "params": [] }),
            json!({ "key": "a", "params": { "name": "not a parameter" } }),
            json!({ "key": "a", "other": { "params": {} } }),
        ] {
            assert_eq!(to_json(&other).unwrap(), other.to_string());
        }
    }
}
