//! Comparison of secrets without revealing how much of a guess is right.

use subtle::ConstantTimeEq as _;

/// Whether two secrets are equal. The running time depends on their lengths only.
#[must_use]
pub fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_are_equal() {
        for (one, other, expected) in [
            ("", "", true),
            ("secret", "secret", true),
            ("secret", "Secret", false),
            ("secret", "secreT", false),
            ("secret", "secret ", false),
            ("secret", "secre", false),
            ("secret", "", false),
        ] {
            assert_eq!(is_equal(one.as_bytes(), other.as_bytes()), expected, "{one:?} {other:?}");
        }
    }
}
