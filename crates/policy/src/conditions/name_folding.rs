//! Whether a JSON parser may confuse two member names (PERM-5), and text folding for comparisons that must not
//! miss an alternative spelling.
//!
//! Many JSON parsers match member names case-insensitively (Go's `encoding/json`; Jackson and
//! `System.Text.Json` optionally), accept `file_path` for `filePath`, normalize Unicode, or cut a name at a
//! control character. A condition is about one member by its exact name; a sibling that such a parser may
//! confuse with it makes the result `Unknown`.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use gatehouse_common::invisible_chars::hides;

/// A member name as the most lenient parser compares it: compatibility forms (NFKC) and case folded, without
/// `_`, `-`, white space and invisible characters.
pub(super) fn folded(name: &str) -> Box<str> {
    if name.is_ascii() {
        let kept = name.bytes().filter(|byte| byte.is_ascii_graphic() && !matches!(byte, b'_' | b'-'));
        return kept.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    case_folded(name).filter(|c| !is_left_out(*c)).collect()
}

/// Folds compatibility forms (NFKC) and case.
pub(crate) fn case_folded(text: &str) -> impl Iterator<Item = char> {
    // Lower, upper and lower again is full case folding and more: `ı` becomes `i`, as in a parser that
    // compares in upper case, and `ẞ` becomes `ss`.
    let cased = text.nfkc().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    cased.flat_map(char::to_lowercase).nfkc()
}

/// Decodes percent escapes, including those that only appear after others were decoded. Invalid UTF-8 is
/// replaced. Runs in linear time.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        bytes.push(byte);
        // An escape is only ever complete at the end of the output, so no byte is read twice.
        while let Some(byte) = last_escape(&bytes) {
            bytes.truncate(bytes.len().saturating_sub(3));
            bytes.push(byte);
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The byte that a percent escape at the end of `bytes` encodes, if there is one.
fn last_escape(bytes: &[u8]) -> Option<u8> {
    let [.., b'%', high, low] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Whether a character is invisible, or is the combining dot that lower-casing `İ` leaves behind.
pub(crate) fn is_unseen(c: char) -> bool {
    let dot_above = '\u{307}';
    c == dot_above || c.is_control() || hides(c, None)
}

/// Whether `name` differs from `exact` but a parser may confuse the two.
pub(super) fn may_be_mistaken_for(name: &str, exact: &str, folded_exact: &str) -> bool {
    // Some parsers end a name at a NUL byte.
    let ends = || name.split_once('\0').map(|(start, _)| folded(start));
    name != exact && (*folded(name) == *folded_exact || ends().is_some_and(|start| *start == *folded_exact))
}

fn is_left_out(c: char) -> bool {
    let dash = matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}');
    c == '_' || dash || c.is_whitespace() || is_unseen(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_spellings_of_one_name() {
        for name in [
            "Path",
            "PATH",
            "pa_th",
            "pa-th",
            "_path",
            "path ",
            "path\0",
            "path\0x",
            "pa\u{200b}th",
            "pa\u{ad}th",
            "\u{feff}path",
            "path\u{fe0f}",
            "\u{ff30}ath",
            "pa\u{2010}th",
            "\u{1d429}ath",
            "path\u{e0020}",
        ] {
            assert!(may_be_mistaken_for(name, "path", &folded("path")), "{name:?}");
        }
        for (one, other) in [
            ("file_path", "filePath"),
            ("use", "u\u{17f}e"),
            ("key", "\u{212a}ey"),
            ("id", "\u{131}d"),
            ("id", "\u{130}D"),
            ("strasse", "stra\u{df}e"),
            ("stra\u{df}e", "STRA\u{1e9e}E"),
            ("caf\u{e9}", "CAFE\u{301}"),
            ("\u{3c3}\u{3c2}", "\u{3a3}\u{3a3}"),
            ("fi", "\u{fb01}"),
        ] {
            assert!(may_be_mistaken_for(other, one, &folded(one)), "{one:?} {other:?}");
            assert!(may_be_mistaken_for(one, other, &folded(other)), "{other:?} {one:?}");
        }
    }

    #[test]
    fn escapes_are_undone_to_the_last() {
        for (text, plain) in [
            ("secret", "secret"),
            ("%73e%63ret", "secret"),
            ("%2573ecret", "secret"),
            ("%25252573ecret", "secret"),
            ("%25%37%33ecret", "secret"),
            ("%2%35%37%33ecret", "secret"),
            ("caf%C3%a9", "caf\u{e9}"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(unescaped(text), plain, "{text}");
        }
    }

    #[test]
    fn escapes_of_escapes_take_no_time() {
        let began = std::time::Instant::now();
        assert_eq!(unescaped(&format!("%{}41", "25".repeat(1_000_000))), "A");
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
    }

    #[test]
    fn tells_different_names_apart() {
        for name in ["path", "paths", "p\u{430}th", "pat", "", "filepath", "path.", "path/"] {
            assert!(!may_be_mistaken_for(name, "path", &folded("path")), "{name:?}");
        }
    }
}
