//! Tests on the text of an argument: prefix and glob (PERM-5). A text that may be a path or URL isn't judged
//! by its characters alone where a server could drop, fold or decode some of them.

use globset::{GlobBuilder, GlobMatcher};

use super::ConditionOutcome;
use super::name_folding::unescaped;

/// Characters that end a component of a path or URL.
const ENDS_STEP: [char; 4] = ['/', '\\', '?', '#'];

/// The result of a textual test.
#[derive(Clone, Copy)]
enum TextMatch {
    /// The text matches as it is written.
    Exact,
    /// It matches in another case or without surrounding blanks, which a server may ignore.
    Possible,
    /// It doesn't match.
    None,
}

/// A glob, compiled case-sensitively and case-insensitively.
#[derive(Debug)]
pub(super) struct GlobPattern {
    exact: GlobMatcher,
    any_case: GlobMatcher,
    of_steps: bool,
    /// For a URL pattern: `?` and `#`, as far as the pattern itself doesn't contain them. A text with one of
    /// these gives `Unknown`.
    ends_address: Vec<char>,
}

impl GlobPattern {
    /// `None` if the pattern is invalid.
    pub(super) fn read(pattern: &str) -> Option<Self> {
        let build = |any_case| {
            let glob = GlobBuilder::new(pattern).literal_separator(true).case_insensitive(any_case).build();
            glob.ok().map(|glob| glob.compile_matcher())
        };
        let of_steps = pattern.contains('/');
        let ends_address = if pattern.contains("://") {
            ['?', '#'].into_iter().filter(|c| !pattern.contains(*c)).collect()
        } else {
            Vec::new()
        };
        Some(Self { exact: build(false)?, any_case: build(true)?, of_steps, ends_address })
    }

    pub(super) fn evaluate(&self, text: &str) -> ConditionOutcome {
        // Parsers drop control characters or stop at them, and the path of a URL ends before its query.
        if text.contains(|c: char| c.is_control() || self.ends_address.contains(&c)) {
            return ConditionOutcome::Unknown;
        }
        let found = if self.exact.is_match(text) {
            TextMatch::Exact
        } else if self.any_case.is_match(text.trim()) {
            TextMatch::Possible
        } else {
            TextMatch::None
        };
        text_outcome(text, self.of_steps, found)
    }
}

pub(super) fn starts_with(text: &str, start: &str) -> ConditionOutcome {
    let of_steps = start.contains('/');
    let Some(rest) = text.strip_prefix(start) else {
        let is_possible = text.trim_start().to_lowercase().starts_with(&start.to_lowercase());
        return text_outcome(text, of_steps, if is_possible { TextMatch::Possible } else { TextMatch::None });
    };
    // `https://good.example` isn't a prefix of `https://good.example.evil.example` in the intended sense.
    let ends_in_authority =
        start.split_once("://").is_some_and(|(_, authority)| !authority.contains(['/', '?', '#']));
    if ends_in_authority && !rest.is_empty() && !rest.starts_with(['/', '?', '#']) {
        return ConditionOutcome::Unknown;
    }
    text_outcome(text, of_steps, TextMatch::Exact)
}

/// Combines the result of a textual test with its reliability: `Unknown` if a component is `..`, which leads
/// out of the matched path, or if a pattern with `/` meets empty or `.` components, which could be written
/// differently.
fn text_outcome(text: &str, of_steps: bool, found: TextMatch) -> ConditionOutcome {
    if leads_back(text) || (of_steps && has_idle_steps(text)) {
        return ConditionOutcome::Unknown;
    }
    match found {
        TextMatch::Exact => ConditionOutcome::Yes,
        TextMatch::Possible => ConditionOutcome::Unknown,
        TextMatch::None => ConditionOutcome::No,
    }
}

fn leads_back(text: &str) -> bool {
    text.split(ENDS_STEP).any(|step| {
        // URL parsers drop line breaks and tabs; some decode escapes twice.
        let step: String = step.chars().filter(|c| !c.is_control()).collect();
        unescaped(&step).split(ENDS_STEP).any(|step| step.trim() == "..")
    })
}

/// Whether a path or URL has components without effect: `/a/./b`, `/a//b`.
fn has_idle_steps(text: &str) -> bool {
    let path = text.split_once("://").map_or(text, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    !path.is_empty() && path.split(['/', '\\']).any(|step| step.is_empty() || step == ".")
}
