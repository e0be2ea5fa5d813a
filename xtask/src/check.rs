//! The checks that have to pass before a change is merged. All checks run even if one fails, so that one
//! run reports everything that has to be fixed.

mod files;
mod layers;
mod licences;
mod words;

use anyhow::{Result, bail};

use crate::places::Places;
use crate::process::{cargo, npm, run, say};
use crate::{codegen, setup};

/// A check with the name that it is reported by.
type Check = (&'static str, fn(&Places) -> Result<()>);

/// The checks in order: quick ones first.
const CHECKS: [Check; 9] = [
    ("format", format),
    ("files and words", files_and_words),
    ("who knows whom", |places| layers::check(&places.root)),
    ("generated types", codegen::check),
    ("lints of the interface", |places| interface(places, "lint")),
    ("types of the interface", |places| interface(places, "types")),
    ("types of its tests in a browser", |places| run(npm(&places.tests_e2e()).args(["run", "types"]))),
    ("licences and sources of dependencies", licences::check),
    ("lints of Rust", lints),
];

pub(crate) fn check(places: &Places) -> Result<()> {
    setup::interface(places)?;
    let mut failed = Vec::new();
    for (what, check) in CHECKS {
        say(&format!("Checking {what}"));
        if let Err(error) = check(places) {
            println!("{error:#}");
            failed.push(what);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("these checks failed: {}", failed.join(", ")) }
}

fn format(places: &Places) -> Result<()> {
    run(cargo(&places.root).args(["fmt", "--all", "--check"]))
}

fn files_and_words(places: &Places) -> Result<()> {
    let files = files::all(&places.root)?;
    let faults = [files::faults(&files), words::faults(&places.root, &files)].concat();
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

fn interface(places: &Places, script: &str) -> Result<()> {
    run(npm(&places.ui()).args(["run", script]))
}

fn lints(places: &Places) -> Result<()> {
    run(cargo(&places.root).args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}
