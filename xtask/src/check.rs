//! The checks that have to pass before a change is merged. All checks run even if one fails, so that one
//! run reports everything that has to be fixed.

mod files;
mod forbidden_words;
mod layers;
mod licences;

use anyhow::{Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, npm, print_step, run};
use crate::{codegen, setup};

/// A check with the name that it is reported by.
type Check = (&'static str, fn(&WorkspacePaths) -> Result<()>);

/// The checks in order: quick ones first.
const CHECKS: [Check; 9] = [
    ("format", format),
    ("files and words", file_rules),
    ("who knows whom", |paths| layers::check(&paths.root)),
    ("generated types", codegen::check),
    ("lints of the interface", |paths| interface(paths, "lint")),
    ("types of the interface", |paths| interface(paths, "types")),
    ("types of its tests in a browser", |paths| run(npm(&paths.tests_e2e()).args(["run", "types"]))),
    ("licences and sources of dependencies", licences::check),
    ("lints of Rust", lints),
];

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    setup::interface(paths)?;
    let mut failed = Vec::new();
    for (what, check) in CHECKS {
        print_step(&format!("Checking {what}"));
        if let Err(error) = check(paths) {
            println!("{error:#}");
            failed.push(what);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("these checks failed: {}", failed.join(", ")) }
}

fn format(paths: &WorkspacePaths) -> Result<()> {
    run(cargo(&paths.root).args(["fmt", "--all", "--check"]))
}

fn file_rules(paths: &WorkspacePaths) -> Result<()> {
    let files = files::all(&paths.root)?;
    let violations = [files::violations(&files), forbidden_words::violations(&paths.root, &files)].concat();
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

fn interface(paths: &WorkspacePaths, script: &str) -> Result<()> {
    run(npm(&paths.ui()).args(["run", script]))
}

fn lints(paths: &WorkspacePaths) -> Result<()> {
    run(cargo(&paths.root).args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}
