//! Prepares text for the full-text index, and converts a user's search to a query.
//!
//! The index splits words at white space and punctuation. Chinese, Japanese and Korean don't separate words,
//! so each of their characters is indexed as a word, and each word of a search becomes a phrase.

use std::borrow::Cow;

/// Most words of a search; further ones are ignored.
const MAX_WORDS: usize = 32;

/// Surrounds every character that is indexed as a word with spaces.
pub(crate) fn index_text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_cjk) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        if is_cjk(c) {
            spaced.push(' ');
            spaced.push(c);
            spaced.push(' ');
        } else {
            spaced.push(c);
        }
    }
    Cow::Owned(spaced)
}

/// The FTS query for a search: every word must occur, the last part of each as a prefix, unless it is a single letter or
/// digit, with which too much begins. `None` if there is nothing to search for.
pub(crate) fn query(text: &str) -> Option<String> {
    let words: Vec<String> = text
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .take(MAX_WORDS)
        .map(|word| {
            let is_prefix = word.chars().nth(1).is_some() || !word.is_ascii();
            let star = if is_prefix { "*" } else { "" };
            format!("\"{}\"{star}", index_text(word).trim().replace('"', "\"\""))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::{index_text, query};

    #[test]
    fn builds_full_text_queries() {
        for (text, wanted) in [
            ("report", Some("\"report\"*")),
            ("read  notes.txt", Some("\"read\"* AND \"notes.txt\"*")),
            ("a OR b\" NOT", Some("\"a\" AND \"OR\"* AND \"b\"\"\"* AND \"NOT\"*")),
            ("文件夹", Some("\"文  件  夹\"*")),
            ("  ** \" ", None),
            ("", None),
        ] {
            assert_eq!(query(text).as_deref(), wanted, "{text}");
        }
        assert_eq!(index_text("打开 file"), " 打  开  file");
    }
}
