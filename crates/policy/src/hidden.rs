//! Characters that cannot be seen, or that change how others are seen (TOOL-4, PERM-9).
//!
//! One place says which they are; cleaning, showing and flagging all go by it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character hides, given the one that is shown before it. Line breaks and tabs do not.
fn hides(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Soft hyphen, joiners, fillers, blanks.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        // Direction marks and overrides, zero width, separators, invisible operators.
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Annotations, shorthand and musical controls.
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        // Variation selectors, tags.
        '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0d}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Text or picture form of the sign before it; anything else is smuggling.
        '\u{fe0e}' | '\u{fe0f}' => !before.is_some_and(takes_form),
        _ => false,
    }
}

fn takes_form(c: char) -> bool {
    let selector = matches!(c, '\u{fe0e}' | '\u{fe0f}');
    !selector && (!c.is_ascii() || c.is_ascii_digit() || c == '#' || c == '*')
}

pub(crate) fn has_hidden(text: &str) -> bool {
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

pub(crate) fn clean(text: &str) -> Cow<'_, str> {
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

/// What follows a terminal escape sequence whose ESC was just read.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_parameters(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            // A string up to BEL or ST. Without its end only the introducer goes.
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

/// What follows a control sequence whose introducer was just read.
fn after_parameters(text: &str) -> &str {
    let end = text
        .trim_start_matches(|c: char| ('0'..='?').contains(&c))
        .trim_start_matches(|c: char| (' '..='/').contains(&c));
    end.strip_prefix(|c: char| ('@'..='~').contains(&c)).unwrap_or(text)
}

/// Where line breaks and tabs are fine, and where they would pretend to be something else.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Layout {
    Lines,
    OneLine,
}

pub(crate) fn reveal(text: &str, layout: Layout) -> Cow<'_, str> {
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

/// Goes through a text character by character and says which need a mark to be seen.
pub(crate) struct Revealer {
    before: Option<char>,
    layout: Layout,
}

impl Revealer {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { before: None, layout }
    }

    /// The brackets of a mark are marked themselves, so that no text can pretend to have one.
    pub(crate) fn needs_mark(&mut self, c: char) -> bool {
        let breaks = self.layout == Layout::OneLine && matches!(c, '\n' | '\t');
        let needs = breaks || matches!(c, '⟦' | '⟧') || hides(c, self.before);
        self.before = Some(c);
        needs
    }
}

pub(crate) fn mark(out: &mut String, c: char) {
    // Writing to a `String` cannot fail.
    write!(out, "⟦U+{:04X}⟧", u32::from(c)).unwrap_or_default();
}
