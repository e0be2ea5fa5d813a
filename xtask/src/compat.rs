//! The matrix of real clients. The clients and what they do are in the `tests` member; this installs what they need, in the
//! versions of their lock files, and runs it.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run};
use crate::setup::{self, python};

pub(crate) fn compat(paths: &WorkspacePaths, clients: &[String]) -> Result<()> {
    setup::setup(paths)?;
    print_step("Getting the clients");
    setup::npm_packages(&paths.compat_npm())?;
    for (name, venv, wanted) in paths.compat_venvs()? {
        if clients.is_empty() || clients.contains(&name) {
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
    run(program(paths.program("debug", "compat")?, &paths.root).args(clients))
}
