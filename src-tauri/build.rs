//! Lists every command, so that a window may call only those that its capability file names, sees to
//! it that there are pages to embed, and refuses to make a release that others could steer.

use std::error::Error;
use std::path::Path;
use std::{env, fs, io};

/// The commands that the shell has.
#[allow(dead_code, unreachable_pub, reason = "the build script needs the names only")]
#[path = "../crates/desktop/src/window_commands.rs"]
mod window_commands;

fn main() -> Result<(), Box<dyn Error>> {
    if env::var_os("CARGO_FEATURE_TEST_DOOR").is_some() && env::var("PROFILE")? == "release" {
        return Err("The feature `test-door` lets other programs press Allow. A release must not have it: \
                    build without it, or build for debugging."
            .into());
    }
    let pages = Path::new("../ui/dist");
    write_placeholder(pages, "index.html")?;
    write_placeholder(pages, "prompt.html")?;
    println!("cargo::rerun-if-changed={}", pages.display());
    println!("cargo::rerun-if-changed=../crates/desktop/src/window_commands.rs");
    let names: Vec<&'static str> =
        window_commands::WINDOW_COMMANDS.iter().map(|command| command.name()).collect();
    // The manifest keeps the list for as long as the program runs.
    let commands = tauri_build::AppManifest::new().commands(Vec::leak(names));
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands))?;
    Ok(())
}

/// The framework refuses to compile without pages. A checkout in which the interface was not built
/// yet gets ones that say so, so that the Rust side can be checked and tested by itself.
fn write_placeholder(pages: &Path, name: &str) -> io::Result<()> {
    let page = pages.join(name);
    if page.exists() {
        return Ok(());
    }
    fs::create_dir_all(pages)?;
    fs::write(
        page,
        "<!doctype html><title>Gatehouse</title><p>The interface is not built yet: cargo xtask run\n",
    )
}
