//! Lists every command, so that a window may call only those that its capability file names, and
//! sees to it that there is a page to embed.

use std::error::Error;
use std::path::Path;
use std::{fs, io};

/// Every command of the shell. What is not here cannot be called by any window.
const COMMANDS: [&str; 6] =
    ["status", "start_again", "events", "preferences", "set_preferences", "open_link"];

fn main() -> Result<(), Box<dyn Error>> {
    let page = Path::new("../ui/dist");
    stand_in(page)?;
    println!("cargo::rerun-if-changed={}", page.display());
    let commands = tauri_build::AppManifest::new().commands(&COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands))?;
    Ok(())
}

/// The framework refuses to compile without a page. A checkout in which the interface was not built
/// yet gets one that says so, so that the Rust side can be checked and tested by itself.
fn stand_in(page: &Path) -> io::Result<()> {
    let index = page.join("index.html");
    if index.exists() {
        return Ok(());
    }
    fs::create_dir_all(page)?;
    fs::write(
        index,
        "<!doctype html><title>Gatehouse</title><p>The interface is not built yet: cargo xtask run\n",
    )
}
