//! Builds the installable package, which contains `gatehousectl` and `gatehouse-helper` beside the app.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, program, run, succeeds};
use crate::{setup, ui};

pub(crate) fn bundle(paths: &WorkspacePaths) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    print_step("Building what lies beside the app");
    let programs = ["--package=gatehouse-ctl", "--package=gatehouse-servers", "--bins"];
    run(cargo(&paths.root).args(["build", "--release"]).args(programs))?;
    print_step("Building the package");
    let ctl = paths.program("release", "gatehousectl")?;
    let helper = paths.program("release", "gatehouse-helper")?;
    let (bundle, files) = match std::env::consts::OS {
        "macos" => {
            let files = json!({ "MacOS/gatehousectl": ctl, "MacOS/gatehouse-helper": helper });
            ("dmg", json!({ "macOS": { "files": files } }))
        }
        "windows" => {
            let files = json!({
                ctl.to_string_lossy(): "gatehousectl.exe",
                helper.to_string_lossy(): "gatehouse-helper.exe",
            });
            ("nsis", json!({ "resources": files }))
        }
        _ => {
            let files = json!({ "/usr/bin/gatehousectl": ctl, "/usr/bin/gatehouse-helper": helper });
            ("deb", json!({ "linux": { "deb": { "files": files } } }))
        }
    };
    let tauri = paths.ui().join("node_modules/.bin").join(if cfg!(windows) { "tauri.cmd" } else { "tauri" });
    let mut build = program(tauri, &paths.root.join("src-tauri"));
    build.args(["build", "--ci", "--bundles", bundle]);
    run(build.args(["--config", &json!({ "bundle": files }).to_string()]))?;
    let gatehouse = paths.program("release", "gatehouse")?;
    let folder = gatehouse.parent().context("no folder of release builds")?.join("bundle");
    if bundle == "deb" {
        compress_better(&folder.join("deb"))?;
    }
    println!("The package is in {}", folder.display());
    Ok(())
}

/// Packs Debian packages again with xz: the bundler knows gzip alone, which leaves a quarter more to download.
fn compress_better(folder: &Path) -> Result<()> {
    let mut packages = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    packages.retain(|path| path.extension().is_some_and(|ending| ending == "deb"));
    if packages.is_empty() {
        bail!("there is no package in {}", folder.display());
    }
    if !succeeds(program("dpkg-deb", folder).arg("--version")) {
        println!("There is no dpkg-deb here: the package stays as the bundler compressed it.");
        return Ok(());
    }
    for package in packages {
        // The rights of the folder itself become those of the root in the package: not those of a temporary one.
        let temporary = tempfile::tempdir_in(folder)?;
        let content = temporary.path().join("content");
        run(program("dpkg-deb", folder).arg("--raw-extract").arg(&package).arg(&content))?;
        run(program("dpkg-deb", folder)
            .args(["--root-owner-group", "-Zxz", "-z9", "--build"])
            .arg(&content)
            .arg(&package))?;
    }
    Ok(())
}
