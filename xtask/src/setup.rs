//! Prepares a fresh machine for building and testing: system packages, Rust components, npm and Python
//! packages. Only what is missing is installed, so running it again is quick.

mod packages;
pub(crate) mod python;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, npm, output, print_step, program, run, succeeds};
use crate::tools::NEXTEST;

/// The oldest Node.js that the UI's build tools support.
const NODE: (u32, u32) = (20, 19);

/// The task: `setup`, and what only is installed by name.
pub(crate) fn task(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let mut with_nextest = false;
    for argument in arguments {
        match argument.as_str() {
            "--nextest" => with_nextest = true,
            other => bail!("there is no option `{other}`; there is --nextest"),
        }
    }
    setup(paths)?;
    if with_nextest {
        NEXTEST.install(paths)?;
    }
    Ok(())
}

pub(crate) fn setup(paths: &WorkspacePaths) -> Result<()> {
    print_step("Setting up");
    packages::install(&paths.root)?;
    rust_components(&paths.root)?;
    node(&paths.root)?;
    npm_packages(&paths.ui())?;
    npm_packages(&paths.tests_js())?;
    npm_packages(&paths.tests_e2e())?;
    python::environments(paths)
}

fn rust_components(root: &Path) -> Result<()> {
    for (tool, component) in [("clippy", "clippy"), ("fmt", "rustfmt")] {
        if !succeeds(cargo(root).args([tool, "--version"])) {
            run(program("rustup", root).args(["component", "add", component]))?;
        }
    }
    Ok(())
}

fn node(root: &Path) -> Result<()> {
    let how = format!("Gatehouse needs Node.js {}.{} or newer, with npm: nodejs.org has it.", NODE.0, NODE.1);
    let version = output(program("node", root).arg("--version")).with_context(|| how.clone())?;
    match version_of(&version) {
        Some(found) if found >= NODE => {
            println!("Node.js {}: fine", version.trim());
            Ok(())
        }
        _ => bail!("Node.js {} is too old. {how}", version.trim()),
    }
}

/// Major and minor number of `v20.19.1`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().trim_start_matches('v').split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `npm ci`, unless the packages of this exact lock file are installed.
pub(crate) fn npm_packages(folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    if !lock.exists() {
        return Ok(());
    }
    let stamp = folder.join("node_modules/.installed-lock.json");
    if is_copy(&lock, &stamp) {
        println!("npm packages of {}: up to date", folder.display());
        return Ok(());
    }
    run(npm(folder).arg("ci"))?;
    fs::copy(&lock, &stamp).context("cannot note which packages are installed")?;
    Ok(())
}

/// Whether both files have the same content.
fn is_copy(file: &Path, copy: &Path) -> bool {
    matches!((fs::read(file), fs::read(copy)), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_node_versions() {
        assert_eq!(version_of("v20.19.1\n"), Some((20, 19)));
        assert_eq!(version_of("v24.0.0-nightly"), Some((24, 0)));
        assert_eq!(version_of("node"), None);
        assert!(version_of("v18.20.4") < Some(NODE));
        assert!(version_of("v22.1.0") >= Some(NODE));
    }
}
