//! Reads members of foreign JSON objects one by one: a member of the wrong type counts as absent, so that one mistake hides
//! nothing else. Texts for people are cleaned and bounded here.

use gatehouse_common::invisible_chars::one_line;
use serde_json::{Map, Value};

/// An object of an answer of the registry.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a Map<String, Value>>);

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self(value.as_object())
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }

    /// A text as it stands there; an empty one counts as absent.
    pub(super) fn raw(self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// A text to be shown on one line.
    pub(super) fn shown(self, name: &str, longest: usize) -> Option<String> {
        let text = one_line(self.raw(name)?, longest);
        (!text.is_empty()).then_some(text)
    }

    /// A value for a form: a text, or a number or a boolean as text.
    pub(super) fn value(self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(super) fn flag(self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn has(self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_null())
    }

    pub(super) fn object(self, name: &str) -> Self {
        Self(self.get(name).and_then(Value::as_object))
    }

    pub(super) fn list(self, name: &str) -> &'a [Value] {
        self.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}
