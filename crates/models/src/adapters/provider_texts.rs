//! Titles and descriptions for models (TOOL-4): without invisible characters, and cut with a mark.

use std::borrow::Cow;

use gatehouse_common::invisible_chars::clean;

/// Longest description for a provider, in characters, with the mark.
const MAX_DESCRIPTION_CHARS: usize = 2048;

/// Ends a description that was cut.
const CUT_MARK: &str = " … [cut]";

/// A text for a model, and whether its end was cut off.
pub(super) fn provider_text(text: &str) -> (Cow<'_, str>, bool) {
    let text = clean(text);
    // No text has more characters than bytes.
    if text.len() <= MAX_DESCRIPTION_CHARS || text.chars().nth(MAX_DESCRIPTION_CHARS).is_none() {
        return (text, false);
    }
    let kept = MAX_DESCRIPTION_CHARS - CUT_MARK.chars().count();
    let end = text.char_indices().nth(kept).map_or(text.len(), |(end, _)| end);
    let kept = text.get(..end).unwrap_or_default().trim_end();
    (Cow::Owned(format!("{kept}{CUT_MARK}")), true)
}

/// The description of a tool: its own, else a plain sentence with its title or name.
pub(super) fn tool_description<'d, 't>(
    description: Option<&'d str>,
    title: impl FnOnce() -> Option<Cow<'t, str>>,
    name: &str,
) -> Cow<'d, str> {
    if let Some(description) = description.and_then(said) {
        return description;
    }
    let title = title();
    Cow::Owned(match title.as_deref().and_then(said) {
        Some(title) => format!("{}. The server gives no description.", title.trim_end_matches('.')),
        None => format!("The tool {name}. The server gives no description."),
    })
}

/// The text for a model, unless there is nothing to read in it.
fn said(text: &str) -> Option<Cow<'_, str>> {
    Some(provider_text(text).0).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_descriptions_at_the_limit_with_a_mark() {
        let fits = "é".repeat(MAX_DESCRIPTION_CHARS);
        assert_eq!(provider_text(&fits), (Cow::Borrowed(fits.as_str()), false));
        let long = "é".repeat(MAX_DESCRIPTION_CHARS + 1);
        let (cut, was_cut) = provider_text(&long);
        assert!(was_cut && cut.ends_with("é … [cut]"));
        assert_eq!(cut.chars().count(), MAX_DESCRIPTION_CHARS);
    }

    #[test]
    fn fills_empty_descriptions() {
        let description = |description, title: Option<&'static str>| {
            tool_description(description, || title.map(Cow::Borrowed), "read")
        };
        assert_eq!(description(Some("Reads.\u{200b}"), None), "Reads.");
        assert_eq!(
            description(Some(" \u{200b}"), Some("Read file")),
            "Read file. The server gives no description."
        );
        assert_eq!(description(None, Some("")), "The tool read. The server gives no description.");
    }
}
