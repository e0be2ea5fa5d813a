//! Suggestions for misspelt words.

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
    let lower = word.to_lowercase();
    known
        .into_iter()
        .map(|right| (distance(&lower, &right.to_lowercase()), right))
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, right)| right)
}

/// Edit distance with insertions, deletions, substitutions and transpositions of adjacent letters (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
