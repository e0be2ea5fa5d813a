//! Runs the first-use scenario from end to end in the real windows and takes screenshots. The scenario
//! itself is in the `tests` member; this prepares what it needs to run.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{TEST_DOOR, cargo, print_step, program, run};
use crate::{setup, ui};

pub(crate) fn demo(paths: &WorkspacePaths) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    print_step("Building Gatehouse and the demo");
    run(cargo(&paths.root)
        .args(["build", "--package=gatehouse-tests", "--package=gatehouse", "--bins"])
        .args(TEST_DOOR))?;
    print_step("Running the first-use scenario");
    let pictures = paths.root.join("demo-output");
    run(program(paths.program("debug", "demo")?, &paths.root).arg(pictures))
}
