//! What the packages of the application tell the system: its links, and nothing of where updates come from, which is built
//! into the program.

use std::fs;

use anyhow::{Result, ensure};
use gatehouse_tests::paths;
use serde_json::Value;

/// A member that stands there twice counts only once, and hides the other.
#[test]
fn packages_tell_the_system_of_links() -> Result<()> {
    let text = fs::read_to_string(paths::tests_dir().join("../src-tauri/tauri.conf.json"))?;
    ensure!(text.matches("\"plugins\"").count() == 1, "the plugins stand there more than once");
    let config: Value = serde_json::from_str(&text)?;
    let plugins = &config["plugins"];
    ensure!(plugins["deep-link"]["desktop"]["schemes"][0] == "gatehouse", "{plugins:#}");
    ensure!(plugins["updater"]["endpoints"].as_array().is_some_and(Vec::is_empty), "{plugins:#}");
    Ok(())
}
