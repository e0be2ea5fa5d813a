//! Names that the user gives to clients and profiles: which are valid, and which count as the same.

use crate::confusables::look_alike;
use crate::invisible_chars::is_invisible;

/// Maximum length of a name, in characters; of a server too.
pub const MAX_NAME_CHARS: usize = 64;

/// The name without spaces around it, or `None` if it is empty, too long, or has invisible characters.
#[must_use]
pub fn validate(name: &str) -> Option<&str> {
    let name = name.trim();
    let is_valid =
        !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.chars().any(is_invisible);
    is_valid.then_some(name)
}

/// Whether two names differ in nothing but upper and lower case and spaces around them.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

/// Whether a new name can't be given because of another one: people would take it for that.
#[must_use]
pub fn is_taken_by(new: &str, other: &str) -> bool {
    is_same(new, other) || look_alike(new.trim(), other.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_visible() {
        assert_eq!(validate(" Claude Code "), Some("Claude Code"));
        assert_eq!(validate("审查"), Some("审查"));
        for invalid in ["", "  ", "a\u{200B}b", "a\u{202E}b", &"x".repeat(65)] {
            assert_eq!(validate(invalid), None, "{invalid:?}");
        }
        assert!(is_same("Work ", "work") && !is_same("work", "works"));
        assert!(
            is_taken_by("Work ", "work")
                && is_taken_by("W\u{43e}rk", "work")
                && !is_taken_by("work", "works")
        );
        assert!(!is_same("W\u{43e}rk", "work"), "but nothing is found by it");
    }
}
