//! Shows a first call from end to end in the terminal.

use anyhow::Result;

use crate::places::Places;
use crate::process::{cargo, run, say};

pub(crate) fn demo(places: &Places, arguments: &[String]) -> Result<()> {
    say("Gatehouse without a window");
    run(cargo(&places.root).args(["run", "--package", "gatehouse-ctl", "--", "serve"]).args(arguments))
}
