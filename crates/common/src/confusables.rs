//! Confusable letters: `read` with a Cyrillic `а`, or in full-width letters.
//!
//! Follows Unicode Technical Standard #39. Used for warnings, and to refuse a new name that looks like another one. Where
//! something is looked up, names are compared exactly, so names that look alike are never treated as equal.

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::{
    GeneralSecurityProfile as _, RestrictionLevel, RestrictionLevelDetection as _, skeleton,
};

/// Whether a word of a text mixes scripts, or contains letters that are compatibility forms of ASCII
/// letters. A word that is entirely in another script is fine: it is just another language.
#[must_use]
pub fn mixes_alphabets(text: &str) -> bool {
    !text.is_ascii() && words(text).any(is_odd)
}

/// As [`mixes_alphabets`], for identifiers: a word entirely in another script is suspicious too if it
/// can be confused with an ASCII word.
#[must_use]
pub fn name_passes_for_another(name: &str) -> bool {
    !name.is_ascii()
        && words(name).any(|word| is_odd(word) || !word.is_ascii() && skeleton(word).all(|c| c.is_ascii()))
}

/// Whether people take one name for the other, apart from case. Names of plain ASCII letters are told apart.
#[must_use]
pub fn look_alike(one: &str, other: &str) -> bool {
    let shape = |name: &str| {
        let plain = name.nfkc().collect::<String>().to_lowercase();
        skeleton(&plain).collect::<String>()
    };
    !(one.is_ascii() && other.is_ascii()) && shape(one) == shape(other)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty())
}

fn is_odd(word: &str) -> bool {
    let a_form = |c: char| !c.is_ascii() && c.nfkc().all(|plain| plain.is_ascii_alphabetic());
    if word.chars().any(a_form) {
        return true;
    }
    let usual: String = word.chars().filter(|c| c.identifier_allowed()).collect();
    !usual.check_restriction_level(RestrictionLevel::HighlyRestrictive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_told_from_others() {
        for (one, other, alike) in [
            ("Notes", "N\u{43e}tes", true),
            ("caf\u{e9}", "cafe\u{301}", true),
            ("caf\u{e9}", "CAF\u{c9}", true),
            ("caf\u{e9}", "cafe", false),
            ("\u{ff4e}otes", "notes", true),
            ("\u{6587}\u{4ef6}", "\u{6587}\u{672c}", false),
            ("files1", "filesl", false),
            ("notes", "notes 2", false),
        ] {
            assert_eq!(look_alike(one, other), alike, "{one} {other}");
            assert_eq!(look_alike(other, one), alike, "{other} {one}");
        }
    }

    #[test]
    fn what_passes_for_something_else_is_told_from_other_languages() {
        for (text, mixes, name) in [
            ("read_file", false, false),
            ("caf\u{e9} \u{fc}ber na\u{ef}ve", false, false),
            ("\u{8bfb}\u{53d6}\u{6587}\u{4ef6}", false, false),
            ("A\u{80a1} tool", false, false),
            ("\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}", false, false),
            ("\u{43e}\u{442}\u{43f}\u{440}\u{430}\u{432}\u{438}\u{442}\u{44c} email", false, false),
            ("wait 5 \u{b5}s \u{2013} \u{2192} \u{1f600}", false, false),
            // "read" with a Cyrillic letter; Greek omicron in "note".
            ("re\u{430}d_file", true, true),
            ("n\u{3bf}te", true, true),
            // Full-width and mathematical letters.
            ("\u{ff45}\u{ff43}\u{ff48}\u{ff4f}", true, true),
            ("\u{1d41e}cho", true, true),
            // Entirely Cyrillic, and reads "cope".
            ("\u{441}\u{43e}\u{440}\u{435}", false, true),
        ] {
            assert_eq!((mixes_alphabets(text), name_passes_for_another(text)), (mixes, name), "{text}");
        }
    }
}
