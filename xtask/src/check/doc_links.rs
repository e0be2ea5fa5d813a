//! Links between the documents of this repository lead somewhere: the file exists, and so does the heading. Each page of
//! the user docs is in their table of contents.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use crate::check::files;
use crate::markdown::{anchors, lines, links};
use crate::paths::WorkspacePaths;

/// The folder of the user docs, and the file with their table of contents.
const BOOK: &str = "docs/src/";
const CONTENTS: &str = "docs/src/SUMMARY.md";

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let known = files::paths(&paths.root)?;
    let documents: BTreeMap<String, String> = files::all(&paths.root)?
        .into_iter()
        .filter(|file| is_document(&file.path))
        .map(|file| (file.path, file.text))
        .collect();
    let violations = violations(&documents, &known.into_iter().collect());
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

/// Whether a file is a document of the root or of `docs`.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
}

/// `known` are the paths of all files, `documents` the texts of some of them.
fn violations(documents: &BTreeMap<String, String>, known: &BTreeSet<String>) -> Vec<String> {
    let mut violations = Vec::new();
    let mut listed = BTreeSet::new();
    for (path, text) in documents {
        for (number, line) in lines(text) {
            for link in links(line).filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = if file.is_empty() { path.clone() } else { resolved(path, file) };
                if path == CONTENTS {
                    listed.insert(target.clone());
                }
                let is_folder = || known.iter().any(|file| file.starts_with(&format!("{target}/")));
                if !known.contains(&target) && !is_folder() {
                    violations.push(format!("{path}:{number}: {link} leads to no file"));
                } else if let Some(text) = documents.get(&target)
                    && !heading.is_empty()
                    && !anchors(text).any(|anchor| anchor == heading)
                {
                    violations.push(format!("{path}:{number}: {link} leads to no heading"));
                }
            }
        }
    }
    let pages = documents.keys().filter(|path| path.starts_with(BOOK) && *path != CONTENTS);
    for page in pages.filter(|page| !listed.contains(*page)) {
        violations.push(format!("{page}: it is not in {CONTENTS}"));
    }
    violations
}

/// The path of a link, from the root.
fn resolved(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations_in(files: &[(&str, &str)]) -> Vec<String> {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        let documents: BTreeMap<String, String> = texts.filter(|(path, _)| is_document(path)).collect();
        violations(&documents, &files.iter().map(|(path, _)| (*path).to_owned()).collect())
    }

    #[test]
    fn accepts_links_that_lead_somewhere() {
        let files = [
            (
                "README.md",
                "# A\n[a](#a) [b](docs/src/b.md#b-c) ![p](docs/p.png) [w](https://example.com/x) [d](docs)",
            ),
            ("docs/src/SUMMARY.md", "- [B](b.md)"),
            ("docs/src/b.md", "## B, c\n[up](../../README.md)\n```\n[gone](gone.md)\n```"),
            ("docs/p.png", ""),
        ];
        assert_eq!(violations_in(&files), Vec::<String>::new());
    }

    #[test]
    fn reports_links_that_lead_nowhere() {
        let files = [
            ("README.md", "[a](#b)\n![p](docs/p.png)"),
            ("docs/src/SUMMARY.md", "- [B](b.md)\n- [C](c.md)"),
            ("docs/src/b.md", "[x](../b.md#x)"),
            ("docs/src/d.md", ""),
        ];
        assert_eq!(
            violations_in(&files),
            [
                "README.md:1: #b leads to no heading",
                "README.md:2: docs/p.png leads to no file",
                "docs/src/SUMMARY.md:2: c.md leads to no file",
                "docs/src/b.md:1: ../b.md#x leads to no file",
                "docs/src/d.md: it is not in docs/src/SUMMARY.md",
            ]
        );
    }
}
