//! Splits names of tools, arguments and settings into words. Says nothing about what the words mean.

/// Splits a name into lower-case words: at characters that are neither letters nor digits, between letters and
/// digits, and at camelCase boundaries.
#[must_use]
pub fn split(name: &str) -> Vec<String> {
    #[derive(Clone, Copy, PartialEq)]
    enum CharClass {
        Lower,
        Upper,
        Digit,
        Other,
    }
    let kind = |c: char| match c {
        c if c.is_uppercase() => CharClass::Upper,
        c if c.is_alphabetic() => CharClass::Lower,
        c if c.is_numeric() => CharClass::Digit,
        _ => CharClass::Other,
    };
    let chars: Vec<char> = name.chars().collect();
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = CharClass::Other;
    for (index, &c) in chars.iter().enumerate() {
        let now = kind(c);
        let next_is_lower = chars.get(index + 1).is_some_and(|&next| kind(next) == CharClass::Lower);
        let starts = match (before, now) {
            (CharClass::Upper, CharClass::Upper) => next_is_lower,
            (CharClass::Upper, CharClass::Lower) => false,
            (before, now) => before != now,
        };
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if now != CharClass::Other {
            word.extend(c.to_lowercase());
        }
        before = now;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_names_into_words() {
        for (name, words) in [
            ("read_text_file", "read text file"),
            ("getFileInfo", "get file info"),
            ("HTTPGet", "http get"),
            ("resolve-library-id", "resolve library id"),
            ("notes.delete", "notes delete"),
            ("repo/list branches", "repo list branches"),
            ("sha256Of", "sha 256 of"),
            ("__x__", "x"),
            ("", ""),
        ] {
            assert_eq!(split(name).join(" "), words, "{name}");
        }
    }
}
