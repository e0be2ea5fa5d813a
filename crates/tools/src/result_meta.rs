//! Adds a member of Gatehouse's own to the `_meta` of an object, without changing any other byte.

use std::ops::Range;

use gatehouse_mcp_wire::raw::{Members, place};

/// The edit of `text` (an object with these members) that adds `member` (`"name":value`) to its `_meta`, which is made
/// if there is none. `None` if `_meta` isn't an object.
pub(crate) fn member_edit(text: &str, members: &Members<'_>, member: &str) -> Option<(Range<usize>, String)> {
    let after = |at: usize| at + 1..at + 1;
    match members.get("_meta") {
        Some(meta) if meta.get().starts_with('{') => {
            let comma = if is_empty(meta.get()) { "" } else { "," };
            Some((after(place(text, meta.get()).start), format!("{member}{comma}")))
        }
        Some(_) => None,
        None => {
            let start = text.len() - text.trim_start().len();
            let comma = if members.names().next().is_none() { "" } else { "," };
            Some((after(start), format!(r#""_meta":{{{member}}}{comma}"#)))
        }
    }
}

/// Whether an array or object is empty.
pub(crate) fn is_empty(text: &str) -> bool {
    text.get(1..text.len().saturating_sub(1)).is_none_or(|inside| inside.trim().is_empty())
}
