//! Paths of this repository that documents and the docs of Rust modules name in backticks exist. A path is
//! written from the root, or it is the end of a source file's path. It may end with the number of a line, and
//! it may contain `*` and alternatives in braces, each of which has to exist.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use globset::GlobBuilder;

use crate::check::files::{self, TextFile};
use crate::paths::WorkspacePaths;

/// The documents at the root; those in `docs` count as well.
const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Extensions of source files.
const SOURCES: [&str; 7] = ["rs", "ts", "tsx", "mjs", "js", "css", "py"];

/// Names that the docs mention because no file may have them.
const FORBIDDEN_NAMES: [&str; 1] = ["mod.rs"];

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let tree = Tree::of(&files::paths(&paths.root)?);
    let files = files::all(&paths.root)?;
    let violations: Vec<String> = files.iter().flat_map(|file| violations(file, &tree)).collect();
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

/// All files of the repository and their folders.
struct Tree {
    paths: BTreeSet<String>,
}

impl Tree {
    fn of(files: &[String]) -> Self {
        let mut paths = BTreeSet::new();
        for file in files {
            let ends = file.match_indices('/').map(|(end, _)| end).chain([file.len()]);
            paths.extend(ends.filter_map(|end| file.get(..end)).map(str::to_owned));
        }
        Self { paths }
    }

    /// Whether a path begins with a folder of the root.
    fn is_from_root(&self, path: &str) -> bool {
        path.split_once('/').is_some_and(|(folder, _)| self.paths.contains(folder))
    }

    fn has(&self, path: &str) -> bool {
        let pattern = if self.is_from_root(path) { path.to_owned() } else { format!("**/{path}") };
        GlobBuilder::new(&pattern).literal_separator(true).build().is_ok_and(|glob| {
            let matcher = glob.compile_matcher();
            self.paths.iter().any(|known| matcher.is_match(known))
        })
    }
}

fn violations(file: &TextFile, tree: &Tree) -> Vec<String> {
    let mut violations = Vec::new();
    for (line, span) in code_spans(&documentation(file)) {
        let Some(named) = path_in(&span, tree) else { continue };
        for path in alternatives(named).iter().filter(|path| !tree.has(path)) {
            violations.push(format!("{}:{line}: `{path}` does not exist", file.path));
        }
    }
    violations
}

/// The lines of a file that are documentation; the others are empty.
fn documentation(file: &TextFile) -> Vec<&str> {
    let TextFile { path, text } = file;
    if DOCUMENTS.contains(&path.as_str()) || (path.starts_with("docs/") && path.ends_with(".md")) {
        return text.lines().collect();
    }
    if path.ends_with(".rs") {
        return text.lines().map(|line| line.trim_start().strip_prefix("//!").unwrap_or_default()).collect();
    }
    Vec::new()
}

/// What stands in backticks, with the number of the line on which it begins. Blocks of code are left out, and
/// a span ends with its paragraph at the latest.
fn code_spans(lines: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut is_in_block = false;
    for (number, line) in lines.iter().enumerate() {
        if line.trim_start().starts_with("```") {
            is_in_block = !is_in_block;
        } else if line.trim().is_empty() {
            open = None;
        } else if !is_in_block {
            for (index, part) in line.split('`').enumerate() {
                if index > 0 {
                    open = match open.take() {
                        Some(span) => {
                            found.push(span);
                            None
                        }
                        None => Some((number + 1, String::new())),
                    };
                }
                if let Some((_, text)) = &mut open {
                    text.push_str(part);
                }
            }
        }
    }
    found
}

/// The path that a span is, without the number of a line; `None` if it is no path of this repository.
fn path_in<'a>(span: &'a str, tree: &Tree) -> Option<&'a str> {
    let path = match span.rsplit_once(':') {
        Some((path, line)) if line.parse::<u32>().is_ok() => path,
        _ => span,
    };
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "-_./*{},".contains(letter);
    if !path.chars().all(is_of_path) || FORBIDDEN_NAMES.contains(&path) {
        return None;
    }
    let is_source = path
        .rsplit_once('.')
        .is_some_and(|(before, extension)| !before.is_empty() && SOURCES.contains(&extension));
    (is_source || tree.is_from_root(path)).then(|| path.trim_end_matches('/'))
}

/// The paths that a path with alternatives in braces stands for.
fn alternatives(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (inside, after))) = parts else { return vec![path.to_owned()] };
    inside.split(',').flat_map(|one| alternatives(&format!("{before}{one}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let files =
            [".ci/run", "crates/a/src/lib.rs", "crates/a/src/b/c.rs", "locales/en/x.json", "ui/src/D.tsx"];
        Tree::of(&files.map(str::to_owned))
    }

    fn violations_in(path: &str, text: &str) -> Vec<String> {
        violations(&TextFile { path: path.to_owned(), text: text.to_owned() }, &tree())
    }

    #[test]
    fn accepts_paths_that_exist() {
        for span in [
            "crates/a/src/lib.rs",
            "crates/a/src/b/c.rs:12",
            "crates/a/",
            "crates/*/src",
            "crates/a/src/{lib,b/c}.rs",
            "locales/*/x.json",
            ".ci/run",
            "b/c.rs",
            "D.tsx",
            // No paths of this repository.
            "tools/call",
            "servers.json",
            "mod.rs",
            ".rs",
            "crates/<name>",
            "npm test -- crates/a/gone.rs",
            "https://example.com/gone.js",
        ] {
            assert_eq!(violations_in("README.md", &format!("See `{span}`.\n")), Vec::<String>::new());
        }
    }

    #[test]
    fn reports_paths_that_do_not_exist() {
        for (span, missing) in [
            ("crates/a/src/gone.rs", "crates/a/src/gone.rs"),
            ("crates/a/src/gone.rs:7", "crates/a/src/gone.rs"),
            ("crates/gone/", "crates/gone"),
            ("crates/*/gone", "crates/*/gone"),
            ("crates/*.rs", "crates/*.rs"),
            ("crates/a/src/{lib,gone}.rs", "crates/a/src/gone.rs"),
            (".ci/gone", ".ci/gone"),
            ("src/c.rs", "src/c.rs"),
            ("gone.tsx", "gone.tsx"),
        ] {
            let found = violations_in("docs/a.md", &format!("A `word`.\n\n| `{span}` |\n"));
            assert_eq!(found, [format!("docs/a.md:3: `{missing}` does not exist")]);
        }
    }

    #[test]
    fn reads_documents_and_module_docs_only() {
        let text = "//! One `x\n//! y` and `ui/gone`.\n//! ```\n//! `ui/gone`\n//! ```\n// `ui/gone`\n";
        assert_eq!(
            violations_in("crates/a/src/lib.rs", text),
            ["crates/a/src/lib.rs:2: `ui/gone` does not exist"]
        );
        assert_eq!(violations_in("README.md", "An open ` here.\n\n`ui/gone`\n").len(), 1);
        for path in ["ui/src/D.tsx", "CHANGELOG.md", "oauth/README.md"] {
            assert_eq!(violations_in(path, "`ui/gone`\n"), Vec::<String>::new());
        }
    }
}
