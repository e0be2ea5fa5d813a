//! The matrix of real clients, the applications that are connected and imported from, and a small language model. What they do
//! is in the `tests` member; this installs what they need, in the versions of their lock files, and runs it.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run};
use crate::setup::{self, python};

/// The word before the names of applications.
const APPLICATIONS: &str = "applications";
/// The small language model, and the list of its packages.
const SMALL_MODEL: &str = "small-model";

/// All clients, applications and the model; the clients that are named; the applications that are named after their word; or
/// the model.
pub(crate) fn compat(paths: &WorkspacePaths, names: &[String]) -> Result<()> {
    let only_applications = names.first().is_some_and(|name| name == APPLICATIONS);
    setup::setup(paths)?;
    print_step("Getting the clients");
    if names != [SMALL_MODEL] {
        // The applications run in the Node.js of these packages too.
        setup::npm_packages(&paths.compat_npm())?;
    }
    if names.is_empty() || only_applications {
        setup::npm_packages(&paths.compat_applications())?;
    }
    for (name, venv, wanted) in paths.compat_venvs()? {
        if names.is_empty() || (!only_applications && names.contains(&name)) {
            python::frozen_environment(paths, &venv, &wanted)?;
        }
    }
    print_step("Building");
    run(cargo(&paths.root).args(["build", "--package=gatehouse-tests", "--package=gatehouse-ctl"]).args([
        "--bin=gatehousectl",
        "--bin=fixture-server",
        "--bin=compat",
    ]))?;
    print_step("Trying the clients");
    run(program(paths.program("debug", "compat")?, &paths.root).args(names))
}
