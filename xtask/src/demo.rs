//! Runs the first-use scenario and the walk of a newcomer from end to end in the real windows and takes screenshots. Both
//! are in the `tests` member; this prepares what they need to run.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{TEST_DOOR, cargo, print_step, program, run};
use crate::{setup, ui};

pub(crate) fn demo(paths: &WorkspacePaths) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    print_step("Building Gatehouse and the demo");
    run(cargo(&paths.root)
        .args([
            "build",
            "--package=gatehouse-tests",
            "--package=gatehouse",
            "--package=gatehouse-ctl",
            "--bins",
        ])
        .args(TEST_DOOR))?;
    print_step("Running the first-use scenario and the walk of a newcomer");
    let pictures = paths.root.join("demo-output");
    run(program(paths.program("debug", "demo")?, &paths.root).arg(pictures))
}
