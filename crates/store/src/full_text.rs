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
///
/// For a prefix the index collects everything that begins with it before it finds anything, while it finds given words one
/// by one. So where `terms` knows all indexed words that begin with one, they stand for it.
pub(crate) fn query(text: &str, mut terms: impl FnMut(&str) -> Option<Vec<String>>) -> Option<String> {
    let words: Vec<String> = text
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .take(MAX_WORDS)
        .map(|word| {
            let is_prefix = word.chars().nth(1).is_some() || !word.is_ascii();
            if !is_prefix {
                return phrase(word);
            }
            let Some((before, begun)) = last_part(word) else { return format!("{}*", phrase(word)) };
            match terms(&begun) {
                Some(terms) if !terms.is_empty() => {
                    let found: Vec<String> =
                        terms.iter().map(|term| phrase(&format!("{before} {term}"))).collect();
                    format!("({})", found.join(" OR "))
                }
                Some(_) => phrase(word),
                None => format!("{}*", phrase(word)),
            }
        })
        .collect();
    (!words.is_empty()).then(|| words.join(" AND "))
}

fn phrase(text: &str) -> String {
    format!("\"{}\"", index_text(text).trim().replace('"', "\"\""))
}

/// What is before the last part that the index takes for a word, and that part as it stands there. `None` if the index folds
/// more than the case of ASCII letters, or for parts of a few letters, with which too much begins.
fn last_part(word: &str) -> Option<(&str, String)> {
    const FEW: usize = 3;
    let word = word.is_ascii().then(|| word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))?;
    let (before, last) =
        word.split_at(word.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1));
    (last.len() > FEW).then(|| (before, last.to_ascii_lowercase()))
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
            assert_eq!(query(text, |_| None).as_deref(), wanted, "{text}");
        }
        assert_eq!(index_text("打开 file"), " 打  开  file");
    }

    #[test]
    fn puts_the_indexed_words_in_place_of_a_prefix() {
        let known = |prefix: &str| -> Option<Vec<String>> {
            let words = ["report", "reports", "notes", "something"];
            (prefix != "many").then(|| {
                words.into_iter().filter(|word| word.starts_with(prefix)).map(str::to_owned).collect()
            })
        };
        for (text, wanted) in [
            ("Report", "(\"report\" OR \"reports\")"),
            ("read_Some", "(\"read_ something\")"),
            ("/home/notes", "(\"/home/ notes\")"),
            ("notes.", "(\"notes\")"),
            ("nothing", "\"nothing\""),
            ("many", "\"many\"*"),
            ("rep", "\"rep\"*"),
            ("report é", "(\"report\" OR \"reports\") AND \"é\"*"),
            ("réports", "\"réports\"*"),
            ("notes a", "(\"notes\") AND \"a\""),
        ] {
            assert_eq!(query(text, known).as_deref(), Some(wanted), "{text}");
        }
    }
}
