//! Builds the installable package, which contains `gatehousectl` beside the app.

use anyhow::{Context, Result};
use serde_json::json;

use crate::places::Places;
use crate::process::{cargo, program, run, say};
use crate::{setup, ui};

pub(crate) fn bundle(places: &Places) -> Result<()> {
    setup::setup(places)?;
    ui::build(places)?;
    say("Building gatehousectl");
    run(cargo(&places.root).args(["build", "--release", "--package", "gatehouse-ctl"]))?;
    say("Building the package");
    let ctl = places.program("release", "gatehousectl")?;
    let (bundle, files) = match std::env::consts::OS {
        "macos" => ("dmg", json!({ "macOS": { "files": { "MacOS/gatehousectl": ctl } } })),
        "windows" => ("nsis", json!({ "resources": { ctl.to_string_lossy(): "gatehousectl.exe" } })),
        _ => ("deb", json!({ "linux": { "deb": { "files": { "/usr/bin/gatehousectl": ctl } } } })),
    };
    let tauri = places.ui().join("node_modules/.bin").join(if cfg!(windows) { "tauri.cmd" } else { "tauri" });
    let mut build = program(tauri, &places.root.join("src-tauri"));
    build.args(["build", "--ci", "--bundles", bundle]);
    run(build.args(["--config", &json!({ "bundle": files }).to_string()]))?;
    let gatehouse = places.program("release", "gatehouse")?;
    let folder = gatehouse.parent().context("no folder of release builds")?.join("bundle");
    println!("The package is in {}", folder.display());
    Ok(())
}
