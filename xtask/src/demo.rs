//! Shows a first call from end to end in the terminal. The story itself is the program `demo` of the
//! `tests` member; here is only what it needs to run.

use anyhow::Result;

use crate::places::Places;
use crate::process::{cargo, program, run, say};
use crate::setup;

pub(crate) fn demo(places: &Places, arguments: &[String]) -> Result<()> {
    setup::setup(places)?;
    say("Building gatehousectl and the demo");
    run(cargo(&places.root).args([
        "build",
        "--package=gatehouse-tests",
        "--package=gatehouse-ctl",
        "--bins",
    ]))?;
    say("A first call");
    run(program(places.program("debug", "demo")?, &places.root).args(arguments))
}
