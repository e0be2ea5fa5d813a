//! Suggestions for misspelt words.

use strsim::osa_distance;

/// Characters of a word that are compared.
const MAX_WORD_CHARS: usize = 64;

/// Words that other apps use in place of ours.
const ALIASES: [(&str, &str); 14] = [
    ("environment", "env"),
    ("envs", "env"),
    ("arguments", "args"),
    ("argv", "args"),
    ("cmd", "command"),
    ("executable", "command"),
    ("directory", "cwd"),
    ("workingDirectory", "cwd"),
    ("baseUrl", "url"),
    ("serverUrl", "url"),
    ("endpoint", "url"),
    ("transport", "type"),
    ("streamable-http", "http"),
    ("streamableHttp", "http"),
];

/// The known word that was likely meant: a known alias, or a word within an edit distance of 1 (up to 4
/// letters) or 2.
pub(super) fn suggest(word: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let known: Vec<_> = known.into_iter().collect();
    if let Some((_, right)) = ALIASES.iter().find(|(alias, right)| *alias == word && known.contains(right)) {
        return Some(right);
    }
    let most = if word.chars().count() <= 4 { 1 } else { 2 };
    let lower: String = word.to_lowercase().chars().take(MAX_WORD_CHARS).collect();
    known
        .into_iter()
        .map(|right| (osa_distance(&lower, &right.to_lowercase()), right))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, right)| right)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn suggests_nearest_word() {
        let known = ["command", "args", "env", "url", "enabled"];
        for (word, right) in [
            ("comand", Some("command")),
            ("Command", Some("command")),
            ("agrs", Some("args")),
            ("environment", Some("env")),
            ("enable", Some("enabled")),
            ("baseUrl", Some("url")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(suggest(word, known), right, "{word}");
        }
    }
}
