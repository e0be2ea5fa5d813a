//! Validates server names. A name is shown to the user and is used as a prefix of tool names and in the
//! gateway's addresses.

use gatehouse_common::invisible_chars::{is_invisible, one_line};

const MAX_NAME_CHARS: usize = 64;

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
    use super::name_problem;

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
}
