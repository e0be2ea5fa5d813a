//! Conventions of files: limited length, a module doc at the top, no `mod.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::process::{output, program};

/// Maximum number of lines of a source file, tests included.
const LONGEST: usize = 800;

/// One text file of the project.
pub(crate) struct TextFile {
    /// Its path relative to the checkout's root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Paths of all files that are or would be committed, relative to the checkout's root, with forward slashes.
pub(crate) fn paths(root: &Path) -> Result<Vec<String>> {
    let list =
        output(program("git", root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    // Deleted files are listed until the deletion is staged.
    let is_there = |path: &&str| !path.is_empty() && root.join(path).exists();
    let mut paths: Vec<String> = list.split('\0').filter(is_there).map(str::to_owned).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// All text files that are or would be committed.
pub(crate) fn all(root: &Path) -> Result<Vec<TextFile>> {
    let read = |path: String| {
        let text = String::from_utf8(fs::read(root.join(&path)).ok()?).ok()?;
        Some(TextFile { path, text })
    };
    Ok(paths(root)?.into_iter().filter_map(read).collect())
}

pub(crate) fn violations(files: &[TextFile]) -> Vec<String> {
    files.iter().filter_map(violation).chain(names_that_collide(files)).collect()
}

/// Files that are one file on macOS and Windows, where names that differ by case alone are the same.
fn names_that_collide(files: &[TextFile]) -> Vec<String> {
    let mut known = HashMap::new();
    let collide = |TextFile { path, .. }: &TextFile| {
        let other = known.insert(path.to_lowercase(), path.clone())?;
        Some(format!("{path}: {other} differs from it by case alone"))
    };
    files.iter().filter_map(collide).collect()
}

fn violation(file: &TextFile) -> Option<String> {
    let TextFile { path, text } = file;
    let extension = path.rsplit('.').next().unwrap_or_default();
    let written = matches!(extension, "rs" | "ts" | "tsx" | "mjs" | "js" | "py" | "css");
    if !written || path.starts_with("ui/src/generated/") {
        return None;
    }
    let lines = text.lines().count();
    if lines > LONGEST {
        return Some(format!("{path}: {lines} lines; {LONGEST} is the most"));
    }
    if extension != "rs" {
        return None;
    }
    if path.ends_with("/mod.rs") {
        return Some(format!("{path}: no mod.rs; a module's file has its name"));
    }
    if !text.starts_with("//! ") {
        return Some(format!("{path}: the first line has to say what the file is for (`//! …`)"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation_of(path: &str, text: &str) -> Option<String> {
        violation(&TextFile { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn checks_file_shape() {
        let long = format!("//! Doc.\n{}", "\n".repeat(LONGEST));
        assert_eq!(violation_of("crates/a/src/lib.rs", "//! Doc.\nfn a() {}\n"), None);
        assert!(violation_of("crates/a/src/lib.rs", "fn a() {}\n").is_some());
        assert!(violation_of("crates/a/src/b/mod.rs", "//! Doc.\n").is_some());
        assert!(violation_of("crates/a/src/lib.rs", &long).is_some());
        assert!(violation_of("ui/src/app.tsx", &long).is_some());
        assert_eq!(violation_of("ui/src/generated/types.ts", &long), None);
        assert_eq!(violation_of("Cargo.lock", &long), None);
    }

    #[test]
    fn refuses_names_that_differ_by_case_alone() {
        let file = |path: &str| TextFile { path: path.to_owned(), text: "//! Doc.\n".to_owned() };
        let found =
            |paths: &[&str]| violations(&paths.iter().map(|path| file(path)).collect::<Vec<_>>()).len();
        assert_eq!(found(&["src/palette.rs", "ui/palette.rs", "src/palettes.rs"]), 0);
        assert_eq!(found(&["src/Palette.rs", "src/palette.rs"]), 1);
    }
}
