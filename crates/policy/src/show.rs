//! How a call is shown.

use std::borrow::Cow;

use gatehouse_model::ask::ShownArgument;

use crate::json::Json;

/// The whole arguments.
#[must_use]
pub fn shown_arguments(_arguments: &Json) -> Vec<ShownArgument> {
    Vec::new()
}

/// One line.
#[must_use]
pub fn one_line(_arguments: &Json) -> String {
    String::new()
}

/// Text without what cannot be seen.
#[must_use]
pub fn clean_text(text: &str) -> Cow<'_, str> {
    text.into()
}

/// Whether a text has characters that cannot be seen.
#[must_use]
pub fn has_hidden(_text: &str) -> bool {
    false
}

/// Text with what cannot be seen made visible.
#[must_use]
pub fn reveal(text: &str) -> Cow<'_, str> {
    text.into()
}

/// Arguments as records keep them.
#[must_use]
pub fn masked_json(_arguments: &Json) -> String {
    String::new()
}
