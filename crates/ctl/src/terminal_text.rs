//! Makes untrusted text safe for a terminal: characters that move the cursor, colour, hide or reorder
//! text are replaced by visible marks. Also renders messages of the core in the terminal's language.

use gatehouse_common::invisible_chars::{hides, mark};
use gatehouse_common::messages::{Language, render};
use gatehouse_model::{Message, Timestamp, UserError, UserText};

/// Text on one line: line breaks and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    escape(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// Text that may have several lines.
pub(crate) fn lines(text: &str) -> String {
    escape(text, |_| None)
}

/// Text on one line, cut to `longest` characters.
pub(crate) fn truncate(text: &str, longest: usize) -> String {
    let line = line(text);
    if line.chars().count() <= longest {
        return line;
    }
    line.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

/// A timestamp in the local time zone.
pub(crate) fn time(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A message of the core in the terminal's language, on one line.
pub(crate) fn message(message: &Message) -> String {
    line(&render(message, language(), &time))
}

/// A text in the terminal's language, on one line.
pub(crate) fn user_text(text: &UserText) -> String {
    line(&text.render(language(), &time))
}

/// An error in the terminal's language.
pub(crate) fn error(error: &UserError) -> String {
    lines(&error.render(language(), &time))
}

fn language() -> Language {
    Language::of_environment(|name| std::env::var(name).ok())
}

/// Copies a text; characters that `change` does not replace are kept, or marked if they are invisible.
fn escape(text: &str, change: fn(char) -> Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        match change(c) {
            Some(other) => out.push(other),
            // A tab moves the cursor.
            None if c == '\t' || hides(c, before) => mark(&mut out, c),
            None => out.push(c),
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_invisible_characters() {
        for (text, seen) in [
            ("plain text", "plain text"),
            ("\u{1b}[2Jgone", "⟦U+001B⟧[2Jgone"),
            ("a\u{202e}b", "a⟦U+202E⟧b"),
            ("a\u{200b}b", "a⟦U+200B⟧b"),
            ("two\nlines", "two lines"),
            ("\u{9b}31m", "⟦U+009B⟧31m"),
            ("naïve 日本語 👍", "naïve 日本語 👍"),
            ("\u{2764}\u{fe0f} a\u{fe0f} \u{2800}\u{1bca0}", "\u{2764}\u{fe0f} a⟦U+FE0F⟧ ⟦U+2800⟧⟦U+1BCA0⟧"),
        ] {
            assert_eq!(line(text), seen);
        }
        assert_eq!(lines("two\nlines\r"), "two\nlines⟦U+000D⟧");
    }

    #[test]
    fn marks_truncated_lines() {
        assert_eq!(truncate("abcdef", 4), "abc…");
        assert_eq!(truncate("abcd", 4), "abcd");
    }
}
