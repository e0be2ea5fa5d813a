//! Builds the web interface, which the window embeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::places::Places;
use crate::process::{npm, run, say};

/// Builds `ui/dist` unless it is newer than everything that it is made of: a build that changes
/// nothing would make cargo compile the window again.
pub(crate) fn build(places: &Places) -> Result<()> {
    say("Building the interface");
    let built = newest(&places.ui().join("dist"), |_| true)?;
    let source = newest(&places.ui(), |name| !matches!(name, "dist" | "node_modules"))?;
    if is_built(places) && source < built {
        println!("ui/dist: up to date");
        return Ok(());
    }
    run(npm(&places.ui()).args(["run", "build"]))
}

/// Whether `ui/dist` holds a built page; the stand-in of the window's build script has no scripts.
fn is_built(places: &Places) -> bool {
    places.ui().join("dist/assets").is_dir()
}

/// When the newest file of a folder was written; nothing where there is no folder.
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
