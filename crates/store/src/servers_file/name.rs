//! Validates server names. A name is shown to the user and is used as a prefix of tool names and in the
//! gateway's addresses.

use gatehouse_common::invisible_chars::{is_invisible, one_line};
use gatehouse_model::{ErrorCode, UserError, message};

const MAX_NAME_CHARS: usize = 64;

/// Checks a server's name: 1 to 64 characters, no slash, control character or invisible character, and no
/// white space at its ends.
///
/// # Errors
/// [`ErrorCode::BadRequest`], with what is wrong with it.
pub fn check_server_name(name: &str) -> Result<(), UserError> {
    let reason = if name.is_empty() {
        message!("error.store.name.empty")
    } else if name.chars().count() > MAX_NAME_CHARS {
        message!("error.store.name.tooLong")
    } else if name.trim() != name {
        message!("error.store.name.whiteSpace")
    } else if name == "." || name == ".." || name.contains(['/', '\\']) {
        message!("error.store.name.path")
    } else if name.chars().any(is_invisible) {
        message!("error.store.name.invisible")
    } else {
        return Ok(());
    };
    let shown = one_line(name, MAX_NAME_CHARS);
    Err(UserError::new(ErrorCode::BadRequest, message!("error.store.name.refused", name = shown))
        .with_cause(reason)
        .with_hint(message!("error.store.name.hint")))
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
