//! Licences, bans and sources of all dependencies through cargo-deny. Known vulnerabilities need a database from the network; if it cannot be fetched, that check is
//! skipped with a message.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{program, run, succeeds};
use crate::tools::CargoTool;

/// In the version that `deny.toml` is written for.
const CARGO_DENY: CargoTool = CargoTool { name: "cargo-deny", version: "0.20.2" };

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let deny = CARGO_DENY.install(paths)?;
    run(on_workspace(&deny, &paths.root).args(["check", "licenses", "bans", "sources"]))?;
    if succeeds(on_workspace(&deny, &paths.root).args(["fetch", "db"])) {
        return run(on_workspace(&deny, &paths.root).args(["check", "advisories"]));
    }
    println!("The database of known vulnerabilities cannot be fetched here: they are not checked.");
    Ok(())
}

fn on_workspace(deny: &Path, root: &Path) -> Command {
    let mut command = program(deny, root);
    command.args(["--workspace", "--all-features", "--locked"]);
    command
}
