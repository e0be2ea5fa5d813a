//! Finds the password in a URL that may be no valid one, in order to mask it.

use std::ops::Range;

/// The bytes of the password in an authority, `user:password@host`. It may be empty.
#[must_use]
pub fn password_range(authority: &str) -> Option<Range<usize>> {
    // An `@` in a password, where it doesn't belong, is still part of it.
    let end = authority.rfind('@')?;
    let colon = authority[..end].find(':')?;
    Some(colon + 1..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_passwords() {
        for (authority, password) in [
            ("me:secret@h.example", Some("secret")),
            ("me:se:cr@et@h.example:80", Some("se:cr@et")),
            (":secret@h", Some("secret")),
            ("me:@h", Some("")),
            ("me@h.example:80", None),
            ("h.example:80", None),
            ("", None),
        ] {
            assert_eq!(password_range(authority).map(|range| &authority[range]), password, "{authority}");
        }
    }
}
