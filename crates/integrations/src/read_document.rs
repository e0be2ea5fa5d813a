//! Reads settings files of other applications into JSON values, whatever language they are written in. Nothing is written,
//! and no error repeats what stands in a file: it may be a secret.

use std::path::Path;

use gatehouse_common::regular_file::{self, SymbolicLinks, UnreadFile};
use gatehouse_model::{ErrorCode, UserError, message};
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use crate::apps::FileFormat;

/// The largest settings file that is read, in bytes. Claude Code keeps the history of its projects in its file.
pub(crate) const MAX_BYTES: usize = 16 << 20;

/// Comments and trailing commas, as editors allow them; nothing else that isn't JSON.
pub(crate) const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
};

/// Where a text can't be read: the byte, if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokenText {
    pub(crate) byte: Option<usize>,
}

/// The text of a settings file, without a byte order mark; `None` if there is no file. Symbolic links are followed. Blocks.
///
/// # Errors
/// When it is no regular file, too large, or no text.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, UserError> {
    let file = path.display().to_string();
    let unreadable = |what| UserError::new(ErrorCode::BadConfig, what);
    let bytes =
        regular_file::read(path, MAX_BYTES as u64, SymbolicLinks::Follow).map_err(|unread| match unread {
            UnreadFile::NotRegular => unreadable(message!("error.import.notAFile", file = &file)),
            UnreadFile::TooLarge => unreadable(message!("error.import.fileTooLarge", file = &file)),
            UnreadFile::Io(error) => {
                unreadable(message!("error.import.fileUnread", file = &file)).with_cause(format!("{error}."))
            }
        })?;
    let Some(bytes) = bytes else { return Ok(None) };
    let text =
        String::from_utf8(bytes).map_err(|_| unreadable(message!("error.import.notText", file = &file)))?;
    Ok(Some(without_byte_order_mark(&text).to_owned()))
}

pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Parses a text; an empty one is an empty object. The last one of two members with the same name counts, as it does for
/// the applications.
///
/// # Errors
/// When it isn't of the format.
pub(crate) fn parse(text: &str, format: FileFormat) -> Result<Value, BrokenText> {
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match format {
        FileFormat::Json => parse_to_serde_value::<Value>(text, &JSONC)
            .map_err(|error| BrokenText { byte: Some(error.range().start) }),
        FileFormat::Toml => toml::from_str::<Value>(text)
            .map_err(|error| BrokenText { byte: error.span().map(|span| span.start) }),
        FileFormat::Yaml => yaml_serde::from_str::<Value>(text)
            .map_err(|error| BrokenText { byte: error.location().map(|location| location.index()) }),
    }
}

impl BrokenText {
    /// Line and column, both from 1, if they are known.
    pub(crate) fn place(self, text: &str) -> Option<(String, String)> {
        self.byte.and_then(|byte| text.get(..byte.min(text.len()))).map(place_after)
    }

    /// The error that people see.
    pub(crate) fn into_error(self, text: &str, file: Option<&Path>) -> UserError {
        let shown = file.map(|file| file.display().to_string());
        let what = match (shown, self.place(text)) {
            (Some(file), Some((line, column))) => {
                message!("error.import.fileBroken", file = file, line = line, column = column)
            }
            (Some(file), None) => message!("error.import.fileBrokenSomewhere", file = file),
            (None, Some((line, column))) => {
                message!("error.import.textBroken", line = line, column = column)
            }
            (None, None) => message!("error.import.textBrokenSomewhere"),
        };
        UserError::new(ErrorCode::BadConfig, what)
    }
}

/// Line and column of what comes after a text, both from 1.
fn place_after(before: &str) -> (String, String) {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line.to_string(), column.to_string())
}
