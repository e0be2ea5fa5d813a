//! Tests everything, each thing once: what `.ci/run` calls and what the README promises.

use anyhow::Result;

use crate::places::Places;
use crate::process::{cargo, npm, run, say};
use crate::{check, setup, ui};

/// Further arguments go to `cargo test`.
pub(crate) fn test(places: &Places, arguments: &[String]) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    check::check(places)?;
    say("Testing the interface");
    run(npm(&places.ui()).args(["run", "test"]))?;
    say("Building every program: tests run them");
    run(cargo(&places.root).args(["build", "--workspace", "--bins"]))?;
    say("Testing the core and the window");
    run(cargo(&places.root).args(["test", "--workspace"]).args(arguments))
}
