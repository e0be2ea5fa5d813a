//! Validates server names. A name is shown to the user and is used as a prefix of tool names and in the
//! gateway's addresses.

use gatehouse_common::invisible_chars::{is_invisible, one_line};
use gatehouse_model::{ErrorCode, UserError};

const MAX_NAME_CHARS: usize = 64;

/// Checks a server's name: 1 to 64 characters, no slash, control character or invisible character, and no
/// white space at its ends.
///
/// # Errors
/// [`ErrorCode::BadRequest`], with what is wrong with it.
pub fn check_server_name(name: &str) -> Result<(), UserError> {
    let reason = if name.is_empty() {
        "It is empty."
    } else if name.chars().count() > MAX_NAME_CHARS {
        "It has more than 64 characters."
    } else if name.trim() != name {
        "It begins or ends with white space."
    } else if name == "." || name == ".." || name.contains(['/', '\\']) {
        "It holds a slash, or is a path."
    } else if name.chars().any(is_invisible) {
        "It holds a character that cannot be seen."
    } else {
        return Ok(());
    };
    let shown = one_line(name, MAX_NAME_CHARS);
    Err(UserError::new(ErrorCode::BadRequest, format!("A server cannot be called “{shown}”."))
        .with_cause(reason)
        .with_hint("Use letters, digits, spaces, “-”, “_” or “.”."))
}

/// Normalizes case: names that differ only in case count as equal.
pub(super) fn fold_case(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::check_server_name;

    #[test]
    fn checks_server_names() {
        let long = "x".repeat(65);
        for (name, legal) in [
            ("files", true),
            ("My files (work)", true),
            ("文件", true),
            ("a.b_c-d", true),
            (&long[1..], true),
            (&long, false),
            ("", false),
            (" files", false),
            ("a/b", false),
            ("a\\b", false),
            ("..", false),
            ("a\nb", false),
            ("a\u{202e}b", false),
            ("a\u{200b}b", false),
        ] {
            assert_eq!(check_server_name(name).is_ok(), legal, "{name:?}");
        }
    }
}
