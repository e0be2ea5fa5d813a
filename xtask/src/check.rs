//! What has to hold before a change may go in. The quick checks come first.

mod files;
mod layers;
mod licences;
mod words;

use anyhow::Result;

use crate::places::Places;
use crate::process::{cargo, npm, run, say};
use crate::{codegen, setup};

pub(crate) fn check(places: &Places) -> Result<()> {
    let root = &places.root;
    setup::interface(places)?;
    say("Checking format");
    run(cargo(root).args(["fmt", "--all", "--check"]))?;
    say("Checking files and words");
    let files = files::all(root)?;
    files::check(&files)?;
    words::check(root, &files)?;
    say("Checking who knows whom");
    layers::check(root)?;
    say("Checking generated types");
    codegen::check(places)?;
    say("Checking the interface");
    run(npm(&places.ui()).args(["run", "lint"]))?;
    run(npm(&places.ui()).args(["run", "types"]))?;
    say("Checking Rust");
    run(cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    say("Checking licences and sources of dependencies");
    licences::check(places)
}
