//! The matrix of real clients, and the applications that are connected and imported from. What they do is in the `tests`
//! member; this installs what they need, in the versions of their lock files, and runs it.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run};
use crate::setup::{self, python};

/// The word before the names of applications.
const APPLICATIONS: &str = "applications";

/// All clients and applications, the clients that are named, or the applications that are named after their word.
pub(crate) fn compat(paths: &WorkspacePaths, names: &[String]) -> Result<()> {
    let only_applications = names.first().is_some_and(|name| name == APPLICATIONS);
    setup::setup(paths)?;
    print_step("Getting the clients");
    // The applications run in the Node.js of these packages too.
    setup::npm_packages(&paths.compat_npm())?;
    if names.is_empty() || only_applications {
        setup::npm_packages(&paths.compat_applications())?;
    }
    for (name, venv, wanted) in paths.compat_venvs()? {
        if names.is_empty() || (!only_applications && names.contains(&name)) {
            python::environment(paths, &venv, &wanted)?;
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
