//! Tests on the text of an argument: how it starts, and globs (PERM-5). Text that may be read as a path
//! or an address is never taken by its letters alone where a reader could leave out, fold or undo some.

use globset::{GlobBuilder, GlobMatcher};

use super::Held;
use super::spelling::unescaped;

/// Characters that end a step of a path or an address.
const ENDS_STEP: [char; 4] = ['/', '\\', '?', '#'];

/// A pattern, and the same without regard to case.
#[derive(Debug)]
pub(super) struct Pattern {
    exact: GlobMatcher,
    any_case: GlobMatcher,
    of_steps: bool,
    /// It is one of addresses, and says nothing of a query or a fragment: those of them.
    ends_address: Vec<char>,
}

impl Pattern {
    /// `None` where the text is no pattern.
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

    pub(super) fn holds(&self, text: &str) -> Held {
        // Readers leave out control characters or end there, and the path of an address ends before its query.
        if text.contains(|c: char| c.is_control() || self.ends_address.contains(&c)) {
            return Held::Unknown;
        }
        let holds = self.exact.is_match(text);
        held(text, self.of_steps, holds, !holds && self.any_case.is_match(text.trim()))
    }
}

/// Whether a text starts so.
pub(super) fn starts_with(text: &str, start: &str) -> Held {
    let of_steps = start.contains('/');
    let Some(rest) = text.strip_prefix(start) else {
        let perhaps = text.trim_start().to_lowercase().starts_with(&start.to_lowercase());
        return held(text, of_steps, false, perhaps);
    };
    // `https://good.example` is no start of `https://good.example.evil.example`.
    let ends_in_authority =
        start.split_once("://").is_some_and(|(_, authority)| !authority.contains(['/', '?', '#']));
    if ends_in_authority && !rest.is_empty() && !rest.starts_with(['/', '?', '#']) {
        return Held::Unknown;
    }
    held(text, of_steps, true, false)
}

/// What a test on the text of a path or address says is worth nothing once a step leads back out, and
/// says no of nothing whose steps could have been written in another way.
fn held(text: &str, of_steps: bool, holds: bool, perhaps: bool) -> Held {
    if perhaps || leads_back(text) || (of_steps && has_idle_steps(text)) {
        Held::Unknown
    } else if holds {
        Held::Yes
    } else {
        Held::No
    }
}

fn leads_back(text: &str) -> bool {
    text.split(ENDS_STEP).any(|step| {
        // Readers of addresses leave out line breaks and tabs; some undo escapes twice.
        let step: String = step.chars().filter(|c| !c.is_control()).collect();
        unescaped(&step).split(ENDS_STEP).any(|step| step.trim() == "..")
    })
}

/// Steps that lead nowhere: `/a/./b`, `/a//b`.
fn has_idle_steps(text: &str) -> bool {
    let path = text.split_once("://").map_or(text, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    !path.is_empty() && path.split(['/', '\\']).any(|step| step.is_empty() || step == ".")
}
