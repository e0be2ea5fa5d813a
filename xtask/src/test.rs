//! Tests everything, each thing once: what `.ci/run` calls and what the README promises.

use anyhow::{Context, Result};

use crate::places::Places;
use crate::process::{cargo, npm, run, say};
use crate::{check, conformance, setup, ui};

/// What lets tests drive the real window; nothing that is bundled has it.
const DOOR: [&str; 2] = ["--features", "gatehouse/test-door"];

/// Further arguments go to `cargo test`.
pub(crate) fn test(places: &Places, arguments: &[String]) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    ui::build_for_browser(places)?;
    check::check(places)?;
    say("Testing the interface");
    run(npm(&places.ui()).args(["run", "test"]))?;
    say("Building every program: tests run them");
    // Together with the tests, since their dependencies have further features: nothing is built twice.
    run(cargo(&places.root).args(["build", "--workspace", "--bins", "--tests"]).args(DOOR))?;
    say("Testing the interface in a browser");
    let programs = places.program("debug", "test-door")?;
    let programs = programs.parent().context("no folder of programs")?;
    run(npm(&places.tests_e2e()).args(["run", "test"]).env("GATEHOUSE_PROGRAMS", programs))?;
    conformance::every_revision(places)?;
    say("Testing the core and the windows");
    run(cargo(&places.root).args(["test", "--workspace"]).args(DOOR).args(arguments))
}
