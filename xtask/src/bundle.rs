//! Builds the installable package, which contains `gatehousectl` beside the app.

use anyhow::{Context, Result};
use serde_json::json;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run};
use crate::{setup, ui};

pub(crate) fn bundle(paths: &WorkspacePaths) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    print_step("Building gatehousectl");
    run(cargo(&paths.root).args(["build", "--release", "--package", "gatehouse-ctl"]))?;
    print_step("Building the package");
    let ctl = paths.program("release", "gatehousectl")?;
    let (bundle, files) = match std::env::consts::OS {
        "macos" => ("dmg", json!({ "macOS": { "files": { "MacOS/gatehousectl": ctl } } })),
        "windows" => ("nsis", json!({ "resources": { ctl.to_string_lossy(): "gatehousectl.exe" } })),
        _ => ("deb", json!({ "linux": { "deb": { "files": { "/usr/bin/gatehousectl": ctl } } } })),
    };
    let tauri = paths.ui().join("node_modules/.bin").join(if cfg!(windows) { "tauri.cmd" } else { "tauri" });
    let mut build = program(tauri, &paths.root.join("src-tauri"));
    build.args(["build", "--ci", "--bundles", bundle]);
    run(build.args(["--config", &json!({ "bundle": files }).to_string()]))?;
    let gatehouse = paths.program("release", "gatehouse")?;
    let folder = gatehouse.parent().context("no folder of release builds")?.join("bundle");
    println!("The package is in {}", folder.display());
    Ok(())
}
