//! Helpers for the few JSON values that Gatehouse writes itself.

use serde_json::value::{RawValue, to_raw_value};

/// `{}`
#[must_use]
pub fn empty_object() -> Box<RawValue> {
    raw(&serde_json::Map::new())
}

/// Serialises a value; `null` if it cannot be serialised.
pub fn raw<T: serde::Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
