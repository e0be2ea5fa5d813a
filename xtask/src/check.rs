//! The checks that have to pass before a change is merged. All checks run even if one fails, so that one
//! run reports everything that has to be fixed.

mod doc_links;
mod doc_paths;
mod files;
mod forbidden_words;
mod layers;
mod licences;
mod module_circles;
pub(crate) mod other_systems;
mod requirements;
mod source;
mod type_names;
mod unused;
mod user_texts;

use std::path::Path;

use anyhow::{Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, npm, print_step, run};
use crate::{codegen, setup};

struct Check {
    /// The argument of `cargo xtask check` that selects it.
    name: &'static str,
    what: &'static str,
    run: fn(&WorkspacePaths) -> Result<()>,
}

/// The checks in order: quick ones first.
static CHECKS: [Check; 19] = [
    Check { name: "format", what: "format", run: format },
    Check { name: "files", what: "files and words", run: file_rules },
    Check { name: "layers", what: "dependencies between crates", run: |p| layers::check(&p.root) },
    Check { name: "circles", what: "circles of modules", run: |p| module_circles::check(&p.root) },
    Check { name: "type-names", what: "names of types", run: |p| type_names::check(&p.root) },
    Check { name: "user-texts", what: "texts for people", run: |p| user_texts::check(&p.root) },
    Check { name: "requirements", what: "ids of requirements", run: requirements::check },
    Check { name: "doc-paths", what: "paths that documents name", run: doc_paths::check },
    Check { name: "doc-links", what: "links between documents", run: doc_links::check },
    Check { name: "codegen", what: "generated types and reference", run: codegen::check },
    Check { name: "ui-lint", what: "lints of the interface", run: |p| npm_script(&p.ui(), "lint") },
    Check { name: "ui-types", what: "types of the interface", run: |p| npm_script(&p.ui(), "types") },
    Check {
        name: "ui-format",
        what: "format of the interface",
        run: |p| npm_script(&p.ui(), "format:check"),
    },
    Check { name: "ui-unused", what: "unused code of the interface", run: |p| npm_script(&p.ui(), "unused") },
    Check {
        name: "ui-circles",
        what: "circles of files and folders of the interface",
        run: |p| npm_script(&p.ui(), "circles"),
    },
    Check {
        name: "e2e-types",
        what: "types of its tests in a browser",
        run: |p| npm_script(&p.tests_e2e(), "types"),
    },
    Check { name: "unused", what: "unused dependencies", run: unused::check },
    Check { name: "licences", what: "licences and sources of dependencies", run: licences::check },
    Check { name: "clippy", what: "lints of Rust", run: lints },
];

/// Runs the checks with these names, or all of them; or compiles for another system.
pub(crate) fn check(paths: &WorkspacePaths, names: &[String]) -> Result<()> {
    match names {
        [option, target] if option == "--target" && target == "all" => {
            return other_systems::check_all(paths);
        }
        [option, target] if option == "--target" => return other_systems::check(paths, target),
        [option] if option == "--target" => bail!("--target needs a system: windows, macos, or all"),
        _ => {}
    }
    let mut failed = Vec::new();
    for check in select(names)? {
        print_step(&format!("Checking {}", check.what));
        if let Err(error) = (check.run)(paths) {
            println!("{error:#}");
            failed.push(check.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("these checks failed: {}", failed.join(", ")) }
}

fn select(names: &[String]) -> Result<Vec<&'static Check>> {
    if let Some(unknown) = names.iter().find(|name| CHECKS.iter().all(|check| check.name != **name)) {
        let known: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        bail!("there is no check `{unknown}`; there are {}", known.join(", "));
    }
    Ok(CHECKS
        .iter()
        .filter(|check| names.is_empty() || names.iter().any(|name| name == check.name))
        .collect())
}

fn format(paths: &WorkspacePaths) -> Result<()> {
    run(cargo(&paths.root).args(["fmt", "--all", "--check"]))
}

fn file_rules(paths: &WorkspacePaths) -> Result<()> {
    let files = files::all(&paths.root)?;
    let violations = [files::violations(&files), forbidden_words::violations(&paths.root, &files)].concat();
    if violations.is_empty() { Ok(()) } else { bail!("{}", violations.join("\n")) }
}

/// A script of a `package.json`; its packages are installed first if they are not there.
fn npm_script(folder: &Path, script: &str) -> Result<()> {
    setup::npm_packages(folder)?;
    run(npm(folder).args(["run", script]))
}

fn lints(paths: &WorkspacePaths) -> Result<()> {
    run(cargo(&paths.root).args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(names: &[&str]) -> Result<Vec<&'static str>> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(select(&names)?.iter().map(|check| check.name).collect())
    }

    #[test]
    fn selects_checks_by_name() -> Result<()> {
        assert_eq!(selected(&[])?.len(), CHECKS.len());
        assert_eq!(selected(&["type-names", "circles"])?, ["circles", "type-names"]);
        assert!(selected(&["circles", "squares"]).is_err());
        Ok(())
    }
}
