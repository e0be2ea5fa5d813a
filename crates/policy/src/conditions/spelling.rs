//! Whether two names of arguments may be one name to a reader (PERM-5), and how texts are folded for comparisons
//! that must not miss a spelling.
//!
//! Many readers of JSON look members up without regard to case (Go's `encoding/json`, Jackson and
//! `System.Text.Json` on request), take `file_path` for `filePath`, compose letters, or cut a name at a
//! control character. A condition is about one member by its exact name, so a sibling that such a reader may
//! take for it makes the answer unknown.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use gatehouse_common::invisible_chars::hides;

/// A name as the most lenient reader compares it: compatibility forms and case folded, and `_`, `-`, blanks
/// and characters that cannot be seen left out.
pub(super) fn folded(name: &str) -> Box<str> {
    if name.is_ascii() {
        let kept = name.bytes().filter(|byte| byte.is_ascii_graphic() && !matches!(byte, b'_' | b'-'));
        return kept.map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    }
    case_folded(name).filter(|c| !is_left_out(*c)).collect()
}

/// A text with compatibility forms and case folded.
pub(crate) fn case_folded(text: &str) -> impl Iterator<Item = char> {
    // Down, up and down again is full case folding and more: `ı` meets `i`, as in a reader that compares in
    // capitals, and `ẞ` meets `ss`.
    let cased = text.nfkc().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    cased.flat_map(char::to_lowercase).nfkc()
}

/// A text with its percent escapes undone, those too that only come about when others are undone. What is no UTF-8
/// then is replaced. Takes time in proportion to the text.
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        bytes.push(byte);
        // An escape is complete only at the end of what is there, so nothing has to be read twice.
        while let Some(byte) = last_escape(&bytes) {
            bytes.truncate(bytes.len().saturating_sub(3));
            bytes.push(byte);
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// What an escape at the end of some bytes stands for.
fn last_escape(bytes: &[u8]) -> Option<u8> {
    let [.., b'%', high, low] = bytes else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Whether a character cannot be seen, or is what lower case leaves behind of the dot of `İ`.
pub(crate) fn is_unseen(c: char) -> bool {
    let dot_above = '\u{307}';
    c == dot_above || c.is_control() || hides(c, None)
}

/// Whether a name is another one than `exact`, but may be taken for it.
pub(super) fn passes_for(name: &str, exact: &str, folded_exact: &str) -> bool {
    // Some readers end a name at a zero byte.
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
    fn spellings_of_one_name() {
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
            assert!(passes_for(name, "path", &folded("path")), "{name:?}");
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
            assert!(passes_for(other, one, &folded(one)), "{one:?} {other:?}");
            assert!(passes_for(one, other, &folded(other)), "{other:?} {one:?}");
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
        assert!(began.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn other_names() {
        for name in ["path", "paths", "p\u{430}th", "pat", "", "filepath", "path.", "path/"] {
            assert!(!passes_for(name, "path", &folded("path")), "{name:?}");
        }
    }
}
