//! Names for what is added without a name that the user typed: the wanted one, or the first with a number that is free.

use gatehouse_common::display_name::MAX_NAME_CHARS;

/// Highest number that is tried.
const MAX_NUMBER: usize = 999;

/// The name, or the first with a number that is free; the name if none is.
pub(super) fn free_name(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbered = (2..=MAX_NUMBER).map(|number| numbered(name, number));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
}

/// A name with a number, cut so that it is no longer than names may be.
pub(super) fn numbered(name: &str, number: usize) -> String {
    let number = format!(" {number}");
    let start: String = name.chars().take(MAX_NAME_CHARS.saturating_sub(number.len())).collect();
    format!("{}{number}", start.trim_end())
}
