//! Dependencies that no code uses, found by cargo-machete in the sources of every member.

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{program, run};
use crate::tools::CargoTool;

const MACHETE: CargoTool = CargoTool { name: "cargo-machete", version: "0.9.2" };

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let machete = MACHETE.install(paths)?;
    // Not the whole checkout: the packages of npm may contain Rust sources.
    run(program(machete, &paths.root).args(["crates", "src-tauri", "tests", "xtask"]))
}
