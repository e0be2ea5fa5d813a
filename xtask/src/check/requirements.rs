//! Every requirement that the code names by its id is in `docs/requirements.md`.

use anyhow::{Context, Result, bail};

use crate::check::files::{self, TextFile};
use crate::paths::WorkspacePaths;

const DOCUMENT: &str = "docs/requirements.md";

/// What ids begin with, before a hyphen and a number.
const AREAS: [&str; 9] = ["SRV", "TOOL", "PERM", "AUTH", "GATE", "CTL", "UI", "DATA", "EVT"];

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let files = files::all(&paths.root)?;
    let document = files.iter().find(|file| file.path == DOCUMENT);
    let document = document.with_context(|| format!("there is no {DOCUMENT}"))?;
    let violations = violations(&files, &listed(&document.text));
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

/// The ids in the first columns of the tables.
fn listed(document: &str) -> Vec<&str> {
    let cells = document.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    cells.filter(|cell| ids(cell).any(|id| id == *cell)).collect()
}

fn violations(files: &[TextFile], listed: &[&str]) -> Vec<String> {
    let is_code = |file: &&TextFile| {
        let extension = file.path.rsplit('.').next().unwrap_or_default();
        matches!(extension, "rs" | "ts" | "tsx" | "mjs" | "js" | "py") && !file.path.starts_with("xtask/")
    };
    let mut violations = Vec::new();
    for file in files.iter().filter(is_code) {
        for (number, line) in file.text.lines().enumerate() {
            for id in ids(line).filter(|id| !listed.contains(id)) {
                violations.push(format!("{}:{}: {id} is not in {DOCUMENT}", file.path, number + 1));
            }
        }
    }
    violations
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_');
    words.filter(|word| {
        let id = word.split_once('-');
        id.is_some_and(|(area, number)| {
            AREAS.contains(&area) && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_ids_that_are_not_listed() {
        let listed =
            listed("# T\n\n| Id | Requirement |\n|---|---|\n| PERM-1 | As PERM-9. |\n| UI-12 | B |\n");
        assert_eq!(listed, ["PERM-1", "UI-12"]);
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/src/lib.rs", "//! Asks (PERM-1, PERM-9).\n//! SHA-256, UI-12.\n"),
            file("README.md", "PERM-3"),
            file("ui/src/a.ts", "// x PERM-4x AUTH-1_2 SRV- (SRV-7)."),
        ];
        let found = violations(&files, &listed);
        let expected = [
            "crates/a/src/lib.rs:1: PERM-9 is not in docs/requirements.md",
            "ui/src/a.ts:1: SRV-7 is not in docs/requirements.md",
        ];
        assert_eq!(found, expected);
    }
}
