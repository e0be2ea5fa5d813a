//! Detects in a tool's description that the tool changes or runs something (PERM-2).
//!
//! Looks for verbs in the positions where English has them, so that "last update time" isn't an update and
//! "runs a command" is a run. This is a heuristic; its mistakes must be on the side of `write`.

use super::name_heuristics::{AMBIGUOUS_CHANGE_WORDS, CHANGE_CHINESE, CHANGE_WORDS};

/// Verbs of change in their base form. They count in any position.
const CHANGE_VERBS: &[&str] = &[
    "append",
    "create",
    "delete",
    "destroy",
    "erase",
    "execute",
    "insert",
    "invoke",
    "modify",
    "mutate",
    "overwrite",
    "purge",
    "remove",
    "rename",
    "replace",
    "spawn",
    "submit",
    "terminate",
    "truncate",
    "uninstall",
    "update",
    "upload",
    "upsert",
    "write",
];

/// After one of these words a verb follows.
const BEFORE_VERB: &[&str] =
    &["also", "can", "could", "it", "may", "must", "shall", "then", "to", "which", "will", "would"];

/// Words that may precede the verb at the start of a sentence.
const LEAD_IN: &[&str] = &[
    "a", "allow", "allows", "also", "an", "can", "command", "enables", "for", "function", "helper", "it",
    "lets", "simply", "that", "the", "then", "this", "to", "tool", "use", "used", "useful", "utility",
    "which", "will", "you",
];

/// For words that are both verb and noun: a following word of this list shows that it is a verb.
const BEFORE_OBJECT: &[&str] = &[
    "a",
    "all",
    "an",
    "any",
    "arbitrary",
    "it",
    "its",
    "multiple",
    "new",
    "one",
    "shell",
    "some",
    "that",
    "the",
    "them",
    "these",
    "this",
    "your",
];

/// Words that indicate a change in a tool's name but are too common in sentences.
const TOO_COMMON: &[&str] =
    &["do", "does", "doing", "like", "likes", "type", "types", "use", "uses", "using"];

const NEGATIONS: &[&str] = &[
    "aren't", "can't", "cannot", "couldn't", "didn't", "doesn't", "don't", "isn't", "mustn't", "neither",
    "never", "no", "nor", "not", "without", "won't", "wouldn't",
];

/// Returns the first word of a description that indicates that the tool changes or runs something.
pub(crate) fn change_verb_in_description(description: &str) -> Option<String> {
    if let Some(word) = CHANGE_CHINESE.iter().find(|word| description.contains(*word)) {
        return Some((*word).to_owned());
    }
    let plain = description.to_lowercase().replace('\u{2019}', "'");
    plain.split(['.', '!', '?', ';', ':', '\n', '(', ')']).find_map(change_verb_in_sentence)
}

fn change_verb_in_sentence(sentence: &str) -> Option<String> {
    let words: Vec<&str> = sentence
        .split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '_'))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .collect();
    let verb_at = words.iter().position(|word| !LEAD_IN.contains(word) && !word.ends_with("ly"));
    let found = (0..words.len()).find(|&at| {
        let word = words[at];
        let changes = if CHANGE_VERBS.iter().any(|verb| is_form_of(word, verb)) {
            true
        } else if is_form_in(word, CHANGE_WORDS) {
            verb_at == Some(at)
                || at > 0 && (BEFORE_VERB.contains(&words[at - 1]) || is_conjunction(words[at - 1]))
        } else if !TOO_COMMON.contains(&word) && is_form_in(word, AMBIGUOUS_CHANGE_WORDS) {
            let object_follows = words.get(at + 1).is_some_and(|next| BEFORE_OBJECT.contains(next));
            let verb_wanted = at > 0 && BEFORE_VERB.contains(&words[at - 1]);
            let may_be_verb = at > 0 && is_conjunction(words[at - 1]);
            verb_at == Some(at) || verb_wanted || may_be_verb && object_follows
        } else {
            false
        };
        changes && !is_negated(&words, at)
    })?;
    Some(words[found].to_owned())
}

fn is_conjunction(word: &str) -> bool {
    matches!(word, "and" | "or" | "then")
}

fn is_form_in(word: &str, verbs: &[&str]) -> bool {
    verbs.contains(&word) || verbs.iter().any(|verb| is_form_of(word, verb))
}

/// Whether `word` is an inflected form of `verb`: `delete`, `deletes`, `deleting`; `modify`, `modifies`,
/// `modifying`; `run`, `running`.
fn is_form_of(word: &str, verb: &str) -> bool {
    let Some(first) = verb.chars().next() else { return false };
    if !word.starts_with(first) {
        return false;
    }
    if word == verb {
        return true;
    }
    if let Some(stem) = word.strip_suffix("ing") {
        let doubled = stem.len() > 2 && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
        return stem == verb
            || verb.strip_suffix('e') == Some(stem)
            || doubled && stem.get(..stem.len() - 1) == Some(verb);
    }
    word.strip_suffix('s') == Some(verb)
        || word.strip_suffix("es") == Some(verb)
        || verb.strip_suffix('y').is_some_and(|stem| word.strip_suffix("ies") == Some(stem))
}

/// Whether the verb at `at` is negated, as in "Does not create, modify or delete". Looks back over other verbs
/// of change; any other word in between ends the search, so that "does not ask and deletes" still counts as a
/// delete.
fn is_negated(words: &[&str], at: usize) -> bool {
    words[..at]
        .iter()
        .rev()
        .find(|word| {
            let passed = matches!(**word, "or" | "actually" | "any" | "ever")
                || CHANGE_VERBS.iter().any(|verb| is_form_of(word, verb));
            !passed
        })
        .is_some_and(|word| NEGATIONS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_change_verbs_in_descriptions() {
        for (description, word) in [
            ("Deletes a file.", Some("deletes")),
            ("Create a new file or completely overwrite an existing file.", Some("create")),
            ("Runs a shell command and returns its output", Some("runs")),
            ("A tool to run commands", Some("run")),
            ("This tool sends an email.", Some("sends")),
            ("Find files and move them.", Some("move")),
            ("Permanently erase the disk.", Some("erase")),
            ("Fetches a page and saves it.", Some("saves")),
            ("Reads the branch and commits the result", Some("commits")),
            ("Doesn't ask, deletes everything", Some("deletes")),
            ("读取并删除文件", Some("删除")),
            ("Lists branches and commits of a repository", None),
            ("List workflow runs", None),
            ("Returns size, creation time, last modified time.", None),
            ("Does not create, modify or delete anything.", None),
            ("Looks at a file without modifying it.", None),
            ("Failed reads won't stop the entire operation.", None),
            ("Prefer this to write_file.", None),
            ("", None),
        ] {
            assert_eq!(change_verb_in_description(description).as_deref(), word, "{description}");
        }
    }
}
