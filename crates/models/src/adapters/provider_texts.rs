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
pub(super) fn tool_description(description: Option<&str>, title: Option<&str>, name: &str) -> String {
    let said = |text: Option<&str>| {
        text.map(|text| provider_text(text).0).filter(|text| !text.trim().is_empty()).map(Cow::into_owned)
    };
    if let Some(description) = said(description) {
        return description;
    }
    match said(title) {
        Some(title) => format!("{}. The server gives no description.", title.trim_end_matches('.')),
        None => format!("The tool {name}. The server gives no description."),
    }
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
        assert_eq!(tool_description(Some("Reads.\u{200b}"), None, "read"), "Reads.");
        assert_eq!(
            tool_description(Some(" \u{200b}"), Some("Read file"), "read"),
            "Read file. The server gives no description."
        );
        assert_eq!(
            tool_description(None, Some(""), "read"),
            "The tool read. The server gives no description."
        );
    }
}
