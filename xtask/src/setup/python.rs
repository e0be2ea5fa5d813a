//! The Python environments with the packages of the test clients. They are in the cache, not in the
//! checkout or the system's Python.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{program, run, succeeds};
use crate::setup::is_copy;

pub(crate) fn environments(paths: &WorkspacePaths) -> Result<()> {
    for (venv, wanted) in paths.venvs() {
        environment(paths, &venv, &wanted)?;
    }
    Ok(())
}

/// An environment with the packages of a list and what they need, unless it is there.
fn environment(paths: &WorkspacePaths, venv: &Path, wanted: &Path) -> Result<()> {
    install(paths, venv, wanted, &[])
}

/// An environment with the packages of a list and no others, unless it is there.
pub(crate) fn frozen_environment(paths: &WorkspacePaths, venv: &Path, wanted: &Path) -> Result<()> {
    install(paths, venv, wanted, &["--no-deps"])
}

fn install(paths: &WorkspacePaths, venv: &Path, wanted: &Path, more: &[&str]) -> Result<()> {
    let stamp = venv.join("installed-requirements.txt");
    if is_copy(wanted, &stamp) {
        println!("Python packages of {}: up to date", venv.display());
        return Ok(());
    }
    let python =
        ["python3", "python"].into_iter().find(|name| succeeds(program(name, &paths.root).arg("--version")));
    let Some(python) = python else { bail!("Gatehouse's tests need Python 3.10 or newer") };
    fs::create_dir_all(&paths.cache)?;
    run(program(python, &paths.root).args(["-m", "venv", "--clear"]).arg(venv))?;
    let inside = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    run(program(inside, &paths.root)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(more)
        .arg("--requirement")
        .arg(wanted))?;
    fs::copy(wanted, &stamp).context("cannot note which packages are installed")?;
    Ok(())
}
