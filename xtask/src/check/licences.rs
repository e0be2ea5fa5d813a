//! Licences, bans and sources of all dependencies through cargo-deny, which is built once into the
//! cache. Known vulnerabilities need a database from the network; if it cannot be fetched, that check is
//! skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, program, run, succeeds};

/// The version that `deny.toml` is written for.
const VERSION: &str = "0.20.2";

pub(crate) fn check(paths: &WorkspacePaths) -> Result<()> {
    let deny = cargo_deny(paths)?;
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

/// Path of the program; built first if this version is not in the cache.
fn cargo_deny(paths: &WorkspacePaths) -> Result<PathBuf> {
    let home = paths.cache.join(format!("cargo-deny-{VERSION}"));
    let path = home.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if path.exists() {
        return Ok(path);
    }
    println!("Building cargo-deny {VERSION}; this happens once.");
    // It checks a few hundred files: build time matters more than run time.
    run(cargo(&paths.root)
        .args(["install", "cargo-deny", "--locked", "--version", VERSION, "--root"])
        .arg(&home)
        .env_remove("CARGO_TARGET_DIR")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0"))?;
    Ok(path)
}
