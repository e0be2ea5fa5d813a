//! Runs all tests, each once: what `.ci/run` calls.

use anyhow::{Context, Result};

use crate::places::Places;
use crate::process::{cargo, npm, run, say};
use crate::{check, conformance, fuzz, setup, ui};

/// The feature that lets tests drive the real window; bundles are built without it.
const DOOR: [&str; 2] = ["--features", "gatehouse/test-door"];

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u64 = 60;

/// Further arguments are passed to `cargo test`.
pub(crate) fn test(places: &Places, arguments: &[String]) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    ui::build_for_browser(places)?;
    check::check(places)?;
    say("Testing the interface");
    run(npm(&places.ui()).args(["run", "test"]))?;
    say("Building every program: tests run them");
    // Together with the tests, since their dependencies enable further features: nothing is built twice.
    run(cargo(&places.root).args(["build", "--workspace", "--bins", "--tests"]).args(DOOR))?;
    say("Testing the interface in a browser");
    let programs = places.program("debug", "test-door")?;
    let programs = programs.parent().context("no folder of programs")?;
    run(npm(&places.tests_e2e()).args(["run", "test"]).env("GATEHOUSE_PROGRAMS", programs))?;
    conformance::every_revision(places)?;
    say("Testing the core and the windows");
    // The fuzz targets run below, all at once.
    let tests = ["test", "--workspace"];
    run(cargo(&places.root).args(tests).args(DOOR).args(arguments).env(fuzz::BUDGET, "0"))?;
    say("Trying the fuzz targets side by side");
    fuzz::all(places, FUZZ_SECONDS, &["--workspace", "--tests", "--features", "gatehouse/test-door"])
}
