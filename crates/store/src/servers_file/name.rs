//! Validates server names. A name is shown to the user and is used as a prefix of tool names and in the
//! gateway's addresses.

use gatehouse_common::display_name::MAX_NAME_CHARS;
use gatehouse_common::invisible_chars::{is_invisible, one_line};

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameProblem {
    Empty,
    TooLong,
    OuterSpace,
    /// It holds a slash, or is a path.
    Slash,
    Invisible,
}

/// What is wrong with a server's name, which has 1 to 64 characters, no slash, control character or
/// invisible character, and no white space at its ends.
pub(super) fn name_problem(name: &str) -> Option<NameProblem> {
    if name.is_empty() {
        Some(NameProblem::Empty)
    } else if name.chars().count() > MAX_NAME_CHARS {
        Some(NameProblem::TooLong)
    } else if name.trim() != name {
        Some(NameProblem::OuterSpace)
    } else if name == "." || name == ".." || name.contains(['/', '\\']) {
        Some(NameProblem::Slash)
    } else if name.chars().any(is_invisible) {
        Some(NameProblem::Invisible)
    } else {
        None
    }
}

/// A name that a server can have, made of what somebody else wrote; `None` if nothing is left of it.
#[must_use]
pub fn to_server_name(text: &str) -> Option<String> {
    let name = one_line(&text.replace(['/', '\\'], "-"), MAX_NAME_CHARS);
    name_problem(&name).is_none().then_some(name)
}

/// A name that somebody else wrote, of a server or a field, as messages show it: on one line, cut.
pub(super) fn shown_name(name: &str) -> String {
    one_line(name, MAX_NAME_CHARS)
}

/// Normalizes case: names that differ only in case count as equal.
pub(super) fn fold_case(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{name_problem, to_server_name};

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
            assert_eq!(name_problem(name).is_none(), legal, "{name:?}");
        }
    }

    #[test]
    fn makes_names_of_foreign_text() {
        let long = "x".repeat(100);
        for (text, name) in [
            ("@scope/server", Some("@scope-server")),
            (" a\u{200b} \n b ", Some("a b")),
            (&long, Some(&long[..64])),
            ("..", None),
            (" \u{202e}", None),
        ] {
            assert_eq!(to_server_name(text).as_deref(), name, "{text:?}");
        }
    }
}
