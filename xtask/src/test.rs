//! Runs all tests, each once: what `.ci/run` calls.

use anyhow::{Context, Result};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, npm, print_step, run};
use crate::{check, conformance, fuzz, setup, ui};

/// The feature that lets tests drive the real window; bundles are built without it.
const DOOR: [&str; 2] = ["--features", "gatehouse/test-door"];

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u64 = 60;

/// Further arguments are passed to `cargo test`.
pub(crate) fn test(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    ui::build_for_browser(paths)?;
    check::check(paths, &[])?;
    print_step("Testing the interface");
    run(npm(&paths.ui()).args(["run", "test"]))?;
    print_step("Building every program: tests run them");
    // Together with the tests, since their dependencies enable further features: nothing is built twice.
    run(cargo(&paths.root).args(["build", "--workspace", "--bins", "--tests"]).args(DOOR))?;
    print_step("Testing the interface in a browser");
    let programs = paths.program("debug", "test-door")?;
    let programs = programs.parent().context("no folder of programs")?;
    run(npm(&paths.tests_e2e()).args(["run", "test"]).env("GATEHOUSE_PROGRAMS", programs))?;
    conformance::every_revision(paths)?;
    print_step("Testing the core and the windows");
    // The fuzz targets run below, all at once.
    let tests = ["test", "--workspace"];
    run(cargo(&paths.root).args(tests).args(DOOR).args(arguments).env(fuzz::SECONDS_VARIABLE, "0"))?;
    print_step("Trying the fuzz targets side by side");
    fuzz::all(paths, FUZZ_SECONDS, &["--workspace", "--tests", "--features", "gatehouse/test-door"])
}
