//! Plays the first-use scenario from end to end in the real windows and takes screenshots. The scenario
//! itself is in the `tests` member; this prepares what it needs to run.

use anyhow::Result;

use crate::places::Places;
use crate::process::{cargo, program, run, say};
use crate::{setup, ui};

pub(crate) fn demo(places: &Places) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    say("Building Gatehouse and the demo");
    run(cargo(&places.root).args([
        "build",
        "--package=gatehouse-tests",
        "--package=gatehouse",
        "--bins",
        "--features=gatehouse/test-door",
    ]))?;
    say("A first click");
    let pictures = places.root.join("demo-output");
    run(program(places.program("debug", "demo")?, &places.root).arg(pictures))
}
