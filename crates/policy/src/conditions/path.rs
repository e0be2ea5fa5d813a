//! Whether a path is inside a folder (PERM-5), compared by components after links and `..` were resolved.
//!
//! Programs interpret a path differently: some decode escapes, trim it, treat `\` as `/`, resolve `..`
//! lexically instead of on disk, or normalize Unicode. If that could lead to another file, the result is
//! `Unknown`.

use unicode_normalization::UnicodeNormalization as _;

use super::{ConditionOutcome, ResolvePath};

const SEPARATORS: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };

/// Whether a text is valid as the folder of a condition.
pub(super) fn is_folder(folder: &str) -> bool {
    steps(folder).is_some()
}

/// Whether all readings of a path are inside a folder. `Yes` requires that the resolved path is inside the
/// folder as written in the condition, so that replacing the folder by a link can't widen the rule. A folder
/// that is itself reached through a link gives `Unknown`.
pub(super) fn match_inside(text: &str, folder: &str, resolve: ResolvePath<'_>) -> ConditionOutcome {
    let mut all = None;
    for reading in readings(text) {
        let held = match_reading(&reading, folder, resolve);
        if *all.get_or_insert(held) != held {
            return ConditionOutcome::Unknown;
        }
    }
    all.unwrap_or(ConditionOutcome::Unknown)
}

fn match_reading(text: &str, folder: &str, resolve: ResolvePath<'_>) -> ConditionOutcome {
    let Some(resolved) = resolve(text) else { return ConditionOutcome::Unknown };
    let (Some(path), Some(written)) = (steps(&resolved), steps(folder)) else {
        return ConditionOutcome::Unknown;
    };
    // Compared by components, never as text: `/home/mean` isn't inside `/home/me`.
    if path.starts_with(&written) {
        return ConditionOutcome::Yes;
    }
    let linked = resolve(folder);
    let Some(Some(real)) = linked.as_deref().map(steps) else { return ConditionOutcome::Unknown };
    let perhaps = |folder: &[&str]| {
        path.len() >= folder.len() && path.iter().zip(folder).all(|(a, b)| may_be_same_name(a, b))
    };
    if perhaps(&real) || perhaps(&written) { ConditionOutcome::Unknown } else { ConditionOutcome::No }
}

/// Whether two components name the same file on a file system that folds case, normalizes Unicode, or ignores
/// trailing spaces and dots.
fn may_be_same_name(a: &str, b: &str) -> bool {
    let folded = |step: &str| {
        step.trim_end_matches([' ', '.']).nfkc().flat_map(char::to_lowercase).collect::<String>()
    };
    a == b || folded(a) == folded(b)
}

/// Whether a path is written in a way that programs may interpret differently.
fn is_ambiguous(text: &str) -> bool {
    let escape = |at: usize| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let ends_oddly = |step: &str| {
        let plain = matches!(step, "." | "..");
        !plain && (step.ends_with(char::is_whitespace) || step.ends_with('.'))
    };
    text.chars().any(char::is_control)
        || text.starts_with(char::is_whitespace)
        || (cfg!(not(windows)) && text.contains('\\'))
        || text.match_indices('%').any(|(at, _)| escape(at))
        || text.split(SEPARATORS).any(ends_oddly)
}

/// The interpretations of a path: as written (`..` resolved on disk), with `..` resolved lexically, and each in
/// Unicode forms NFC and NFD. Empty if the path is written ambiguously (see `is_ambiguous`).
#[must_use]
pub fn readings(text: &str) -> Vec<String> {
    if is_ambiguous(text) {
        return Vec::new();
    }
    let mut readings = vec![text.to_owned()];
    if text.split(SEPARATORS).any(|step| step == "..") {
        readings.push(normalize_lexically(text));
    }
    if !text.is_ascii() {
        for at in 0..readings.len() {
            let Some(reading) = readings.get(at) else { break };
            let forms = [reading.nfc().collect(), reading.nfd().collect::<String>()];
            for form in forms {
                if !readings.contains(&form) {
                    readings.push(form);
                }
            }
        }
    }
    readings
}

/// Resolves `..` lexically: removes each `..` together with the component before it.
pub(crate) fn normalize_lexically(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for step in path.split(SEPARATORS) {
        match step {
            // The part before the first separator is kept: it is empty, or a drive.
            ".." if kept.len() > 1 => drop(kept.pop()),
            "" | "." | ".." if !kept.is_empty() => {}
            step => kept.push(step),
        }
    }
    if kept.len() < 2 {
        kept.push("");
    }
    kept.join("/")
}

/// The components of an absolute path; `None` if it isn't absolute or still contains `..`.
fn steps(path: &str) -> Option<Vec<&str>> {
    let path = if cfg!(windows) { path.strip_prefix(r"\\?\").unwrap_or(path) } else { path };
    let drive = cfg!(windows) && path.as_bytes().get(1) == Some(&b':');
    if !(drive || path.starts_with(SEPARATORS)) || path.chars().any(char::is_control) {
        return None;
    }
    let steps: Vec<&str> = path.split(SEPARATORS).filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") { None } else { Some(steps) }
}
