//! Tool formats of model providers: golden files, properties, and hostile schemas.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod arguments;
mod calls;
mod fuzz_tool_calls;
mod golden;
mod hostile_schemas;
mod properties;

use serde_json::value::RawValue;

/// JSON text as a raw value.
fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|error| panic!("{error}: {text}"))
}
