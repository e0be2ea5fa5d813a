//! Characters that are invisible, or that change how others are displayed (TOOL-4, PERM-9).
//!
//! The one definition for cleaning, displaying and flagging text. It contains the control characters,
//! the default-ignorable and format characters of Unicode that have no glyph, and blank characters that
//! are not white space.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is not acceptable in a name or another text of one line: it is invisible, breaks
/// the line, or changes how others are displayed.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\n' | '\t') || hides(c, None)
}

/// Whether a character is hidden in a longer text, given the character displayed before it. Line breaks
/// and tabs are not, nor is a variation selector that selects text or emoji presentation of the
/// character before it.
#[must_use]
pub fn hides(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Soft hyphen, joiners, fillers, blanks.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        // Direction marks and overrides, zero width, separators, invisible operators.
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Annotations; controls of hieroglyphs, shorthand and music; a filler and a note without a
        // glyph.
        '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{13440}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{16fe4}'
        | '\u{1d159}' => true,
        // Variation selectors, tags.
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Text or emoji presentation of the character before it; after anything else it can be used to
        // smuggle data.
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(takes_form),
        _ => false,
    }
}

fn takes_form(c: char) -> bool {
    let selector = matches!(c, '\u{fe0e}' | '\u{fe0f}');
    !selector && (!c.is_ascii() || c.is_ascii_digit() || c == '#' || c == '*')
}

/// Whether a text contains invisible characters. CR LF line ends are not counted.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    let mut before = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let line_end = c == '\r' && chars.peek() == Some(&'\n');
        if !line_end && hides(c, before) {
            return true;
        }
        before = Some(c);
    }
    false
}

/// Removes terminal escape sequences and invisible characters; line breaks and tabs stay.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_plain_ascii = |b: u8| matches!(b, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain_ascii) {
        return Cow::Borrowed(text);
    }
    let mut before = None;
    let untouched = text.chars().all(|c| {
        let shown = !hides(c, before);
        before = Some(c);
        shown
    });
    if untouched {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '\u{1b}' => after_escape(after),
            '\u{9b}' => after_parameters(after),
            c => {
                if !hides(c, out.chars().next_back()) {
                    out.push(c);
                }
                after
            }
        };
    }
    Cow::Owned(out)
}

/// Untrusted text for use as a name or within a sentence: [`clean`], on one line with single spaces, cut
/// to `longest` characters.
#[must_use]
pub fn one_line(text: &str, longest: usize) -> String {
    // Enough input to fill the line; the rest of a huge text need not be scanned.
    let text = text.trim_start();
    let end = text.char_indices().nth(longest.saturating_mul(4)).map_or(text.len(), |(end, _)| end);
    let mut line = clean(&text[..end]).split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.char_indices().nth(longest).map(|(end, _)| end);
    if let Some(end) = end {
        line.truncate(end);
        line.truncate(line.trim_end().len());
    }
    line
}

/// The text after a terminal escape sequence whose ESC was just read.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_parameters(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // A string that ends with BEL or ST. If it is not terminated, only the introducer is
            // removed.
            let body = chars.as_str();
            let ends = [("\u{7}", 1), ("\u{1b}\\", 2), ("\u{9c}", 2)];
            let end = ends.iter().filter_map(|(end, len)| body.find(end).map(|at| at + len)).min();
            &body[end.unwrap_or(0)..]
        }
        Some(_) => {
            let final_at = text.trim_start_matches(|c: char| (' '..='/').contains(&c));
            final_at.strip_prefix(|c: char| ('0'..='~').contains(&c)).unwrap_or(text)
        }
        None => text,
    }
}

/// The text after a control sequence whose introducer was just read.
fn after_parameters(text: &str) -> &str {
    let end = text
        .trim_start_matches(|c: char| ('0'..='?').contains(&c))
        .trim_start_matches(|c: char| (' '..='/').contains(&c));
    end.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(text)
}

/// Whether line breaks and tabs are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// They are not: the text is shown on several lines.
    Lines,
    /// They are, since they could imitate other output.
    OneLine,
}

/// Replaces each invisible character by a mark, as in `⟦U+202E⟧`.
#[must_use]
pub fn reveal(text: &str, layout: Layout) -> Cow<'_, str> {
    let mut revealer = Revealer { before: None, layout };
    if text.chars().all(|c| !revealer.needs_mark(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut revealer = Revealer { before: None, layout };
    for c in text.chars() {
        if revealer.needs_mark(c) { mark(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Scans a text character by character and determines which need a mark to be visible.
pub struct Revealer {
    before: Option<char>,
    layout: Layout,
}

impl Revealer {
    /// Starts at the beginning of a text.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { before: None, layout }
    }

    /// Whether the next character needs a mark. The brackets of marks need one themselves, so that a
    /// text cannot imitate a mark.
    pub fn needs_mark(&mut self, c: char) -> bool {
        let breaks = self.layout == Layout::OneLine && matches!(c, '\n' | '\t');
        let needs = breaks || matches!(c, '⟦' | '⟧') || hides(c, self.before);
        self.before = Some(c);
        needs
    }
}

/// Appends the mark of a character: `⟦U+202E⟧`.
pub fn mark(out: &mut String, c: char) {
    // Writing to a `String` cannot fail.
    write!(out, "⟦U+{:04X}⟧", u32::from(c)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_characters_cannot_be_seen() {
        // Controls, the Unicode property Default_Ignorable_Code_Point, format characters without a
        // glyph, and blank characters that are not white space.
        for (first, last) in [
            (0x00, 0x1f),
            (0x7f, 0x9f),
            (0xad, 0xad),
            (0x34f, 0x34f),
            (0x61c, 0x61c),
            (0x115f, 0x1160),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x200b, 0x200f),
            (0x2028, 0x202e),
            (0x2060, 0x206f),
            (0x2800, 0x2800),
            (0x3164, 0x3164),
            (0xfe00, 0xfe0f),
            (0xfeff, 0xfeff),
            (0xffa0, 0xffa0),
            (0xfff0, 0xfffb),
            (0x13430, 0x13440),
            (0x16fe4, 0x16fe4),
            (0x1bca0, 0x1bca3),
            (0x1d159, 0x1d159),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe0fff),
        ] {
            for code in first..=last {
                let c = char::from_u32(code).unwrap();
                assert!(is_invisible(c), "U+{code:04X}");
                assert_eq!(hides(c, None), !matches!(c, '\n' | '\t'), "U+{code:04X}");
            }
        }
        for c in " ~a\u{a0}\u{e9}\u{301}\u{600}\u{2003}\u{3000}\u{6587}\u{fffd}\u{1f600}\u{1f3fb}⟦".chars()
        {
            assert!(!is_invisible(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn texts_of_others_are_one_clean_line() {
        for (text, line) in [
            ("", ""),
            ("plain text", "plain text"),
            (" \n a\tb\r\n c  d \n", "a b c d"),
            ("a\u{202e}b\u{200b}c", "abc"),
            ("\u{1b}[31mred\u{1b}[0m \u{9b}1mend", "red end"),
            ("\u{200b}\u{2028} \u{feff}", ""),
            ("\u{2764}\u{fe0f} \u{6587}", "\u{2764}\u{fe0f} \u{6587}"),
            ("123456789 0", "123456789"),
            ("1234567890ab", "1234567890"),
            (
                "\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}",
                "\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}\u{6587}",
            ),
        ] {
            assert_eq!(one_line(text, 10), line, "{text:?}");
        }
        assert_eq!(one_line("abc", 0), "");
        assert_eq!(one_line(&"x ".repeat(1_000_000), 3), "x x");
    }

    #[test]
    fn a_selector_of_form_is_seen_only_after_a_sign() {
        for (text, hidden) in [
            ("\u{2764}\u{fe0f}", false),
            ("1\u{fe0f}\u{20e3}", false),
            ("\u{fe0f}", true),
            ("a\u{fe0f}", true),
            ("\u{2764}\u{fe0f}\u{fe0f}", true),
            ("a\r\nb", false),
            ("a\rb", true),
        ] {
            assert_eq!(has_hidden(text), hidden, "{text:?}");
        }
    }
}
