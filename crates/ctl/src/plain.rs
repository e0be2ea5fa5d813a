//! Text from elsewhere, made fit for a terminal: nothing that moves the cursor, colours, hides or
//! re-orders text gets through; what cannot be seen is made visible.

use gatehouse_model::Timestamp;

/// One line: line breaks and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    text.chars()
        .flat_map(|c| if matches!(c, '\n' | '\r' | '\t') { Shown::one(' ') } else { shown(c) })
        .collect()
}

/// Text that may have several lines.
pub(crate) fn lines(text: &str) -> String {
    text.chars().flat_map(|c| if c == '\n' { Shown::one(c) } else { shown(c) }).collect()
}

/// A line of at most so many characters.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    let line = line(text);
    if line.chars().count() <= longest {
        return line;
    }
    line.chars().take(longest.saturating_sub(1)).chain(['…']).collect()
}

/// A moment in the time of this machine.
pub(crate) fn time(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

enum Shown {
    One(std::iter::Once<char>),
    Named(std::vec::IntoIter<char>),
}

impl Shown {
    fn one(c: char) -> Self {
        Self::One(std::iter::once(c))
    }
}

impl Iterator for Shown {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Self::One(one) => one.next(),
            Self::Named(name) => name.next(),
        }
    }
}

fn shown(c: char) -> Shown {
    if !is_hidden(c) {
        return Shown::one(c);
    }
    Shown::Named(format!("⟦U+{:04X}⟧", u32::from(c)).chars().collect::<Vec<_>>().into_iter())
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c),
            0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F
            | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_is_not_seen() {
        for (text, seen) in [
            ("plain text", "plain text"),
            ("\u{1b}[2Jgone", "⟦U+001B⟧[2Jgone"),
            ("a\u{202e}b", "a⟦U+202E⟧b"),
            ("a\u{200b}b", "a⟦U+200B⟧b"),
            ("two\nlines", "two lines"),
            ("\u{9b}31m", "⟦U+009B⟧31m"),
            ("naïve 日本語 👍", "naïve 日本語 👍"),
        ] {
            assert_eq!(line(text), seen);
        }
        assert_eq!(lines("two\nlines\r"), "two\nlines⟦U+000D⟧");
    }

    #[test]
    fn a_cut_line_says_that_it_was_cut() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
