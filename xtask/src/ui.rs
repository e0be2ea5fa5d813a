//! Builds the web UI, which the window embeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::paths::WorkspacePaths;
use crate::process::{npm, print_step, run};

/// The UI as Gatehouse embeds it.
pub(crate) fn build(paths: &WorkspacePaths) -> Result<()> {
    build_unless_done(paths, "build", "dist")
}

/// The UI as browser tests open it.
pub(crate) fn build_for_browser(paths: &WorkspacePaths) -> Result<()> {
    build_unless_done(paths, "build:browser", "dist-browser")
}

/// Builds unless the output is newer than all of its sources: rebuilding would change the files' times
/// and make cargo compile the window again.
fn build_unless_done(paths: &WorkspacePaths, script: &str, into: &str) -> Result<()> {
    print_step("Building the interface");
    let folder = paths.ui().join(into);
    let built = newest(&folder, |_| true)?;
    let pages = newest(&paths.ui(), |name| !matches!(name, "dist" | "dist-browser" | "node_modules"))?;
    let source = pages.max(newest(&paths.root.join("locales"), |_| true)?);
    // The placeholder that the window's build script creates has no assets.
    if folder.join("assets").is_dir() && source < built {
        println!("ui/{into}: up to date");
        return Ok(());
    }
    run(npm(&paths.ui()).args(["run", script]))
}

/// Time of the newest file in a folder; `None` if the folder does not exist.
fn newest(folder: &Path, take: impl Fn(&str) -> bool) -> Result<Option<SystemTime>> {
    let mut newest = None;
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
            if !take(&entry.file_name().to_string_lossy()) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                newest = newest.max(Some(entry.metadata()?.modified()?));
            }
        }
    }
    Ok(newest)
}
