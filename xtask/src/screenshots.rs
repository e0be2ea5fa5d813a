//! Takes pictures of every page and main dialog of the interface, in both themes and languages and at two widths, over the
//! real core. The scenes are in `tests/e2e/screenshots`; they check nothing and are no part of the tests.

use std::env;

use anyhow::{Context, Result};

use crate::paths::WorkspacePaths;
use crate::process::{npm, print_step, run};
use crate::{setup, test, ui};

/// The first argument is the folder of the pictures, `screenshots` where absent; what begins with `-` and all that follows
/// goes to Playwright.
pub(crate) fn screenshots(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let (folder, rest) = match arguments.split_first() {
        Some((folder, rest)) if !folder.starts_with('-') => (env::current_dir()?.join(folder), rest),
        _ => (paths.root.join("screenshots"), arguments),
    };
    setup::setup(paths)?;
    ui::build_for_browser(paths)?;
    test::build_programs(paths)?;
    print_step("Taking pictures of the interface");
    let programs = paths.program("debug", "browser-host")?;
    let programs = programs.parent().context("no folder of programs")?;
    let mut pictures = npm(&paths.tests_e2e());
    pictures.args(["run", "screenshots", "--"]).args(rest);
    run(pictures.env("GATEHOUSE_PROGRAMS", programs).env("GATEHOUSE_PICTURES", &folder))?;
    println!("Pictures are in {}.", folder.display());
    Ok(())
}
