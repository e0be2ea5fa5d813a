//! Whether a path lies inside a folder (PERM-5): by its steps, after links and `..` were resolved.
//!
//! Readers of a path differ: some undo escapes, trim it, take `\` for `/`, go up by the text instead of
//! by the disk, or compose its letters. Where that could lead elsewhere nothing is known.

use unicode_normalization::UnicodeNormalization as _;

use super::{Held, ResolvePath};

const SEPARATORS: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };

/// Whether a folder can be one of a condition.
pub(super) fn is_folder(folder: &str) -> bool {
    steps(folder).is_some()
}

/// For a yes the path has to be inside the folder as it is written in the condition, so that a folder
/// that becomes a link widens nothing; a folder that is itself reached by a link is merely not known.
pub(super) fn inside(text: &str, folder: &str, resolve: ResolvePath<'_>) -> Held {
    let mut all = None;
    for reading in readings(text) {
        let held = reads_inside(&reading, folder, resolve);
        if *all.get_or_insert(held) != held {
            return Held::Unknown;
        }
    }
    all.unwrap_or(Held::Unknown)
}

fn reads_inside(text: &str, folder: &str, resolve: ResolvePath<'_>) -> Held {
    let Some(resolved) = resolve(text) else { return Held::Unknown };
    let (Some(path), Some(written)) = (steps(&resolved), steps(folder)) else { return Held::Unknown };
    // Component by component, never as text: `/home/me` does not hold `/home/mean`.
    if path.starts_with(&written) {
        return Held::Yes;
    }
    let linked = resolve(folder);
    let Some(Some(real)) = linked.as_deref().map(steps) else { return Held::Unknown };
    let perhaps = |folder: &[&str]| {
        path.len() >= folder.len() && path.iter().zip(folder).all(|(a, b)| may_be_the_same(a, b))
    };
    if perhaps(&real) || perhaps(&written) { Held::Unknown } else { Held::No }
}

/// The same for a file system that folds case or the forms of letters, or leaves out ends of names.
fn may_be_the_same(a: &str, b: &str) -> bool {
    let folded = |step: &str| {
        step.trim_end_matches([' ', '.']).nfkc().flat_map(char::to_lowercase).collect::<String>()
    };
    a == b || folded(a) == folded(b)
}

/// Written so that readers may take it for something else.
fn is_odd(text: &str) -> bool {
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

/// The ways in which a path is read: as the disk goes up, as the text does, and in the other forms of
/// its letters. Of a path that is written oddly none is known.
#[must_use]
pub fn readings(text: &str) -> Vec<String> {
    if is_odd(text) {
        return Vec::new();
    }
    let mut readings = vec![text.to_owned()];
    if text.split(SEPARATORS).any(|step| step == "..") {
        readings.push(by_the_text(text));
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

/// A path with each `..` and the step before it left out.
pub(crate) fn by_the_text(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for step in path.split(SEPARATORS) {
        match step {
            // What stands before the first separator stays: nothing, or a drive.
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

/// The steps of an absolute path; `None` when it is none, or one that still leads back.
fn steps(path: &str) -> Option<Vec<&str>> {
    let path = if cfg!(windows) { path.strip_prefix(r"\\?\").unwrap_or(path) } else { path };
    let drive = cfg!(windows) && path.as_bytes().get(1) == Some(&b':');
    if !(drive || path.starts_with(SEPARATORS)) || path.chars().any(char::is_control) {
        return None;
    }
    let steps: Vec<&str> = path.split(SEPARATORS).filter(|step| !step.is_empty() && *step != ".").collect();
    if steps.contains(&"..") { None } else { Some(steps) }
}
