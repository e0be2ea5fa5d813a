//! Project tasks, run as `cargo xtask <task>`. Everything that a developer or the CI does with the
//! checkout is a task. A task prints what it does, skips what is already done, and changes nothing
//! outside of the checkout and the cache folder except system packages, and those only in `setup`.

mod bench;
mod bundle;
mod check;
mod codegen;
mod compat;
mod conformance;
mod demo;
mod fuzz;
mod markdown;
mod paths;
mod process;
mod run;
mod screenshots;
mod setup;
mod test;
mod tools;
mod ui;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::paths::WorkspacePaths;

const HELP: &str = "\
cargo xtask <task>

  setup      installs what building and testing need: system packages, npm and Python packages;
             with --nextest also cargo-nextest, which `test` then uses
  run        sets up, builds and opens Gatehouse
  demo       runs the first-use scenario and the walk of a newcomer in the real windows, and takes
             screenshots
  screenshots  takes pictures of every page and main dialog in a browser, in both themes and languages:
             [FOLDER]. Further arguments go to Playwright, such as -g overview
  test       sets up, checks and tests everything; or one suite: unit, integration, window, doc, ui,
             e2e, conformance, fuzz, or the name of a folder of crates. Further arguments go to the
             test runner
  fuzz       tries the fuzz targets for longer: [TARGET] [--seconds N]
  check      format, lints, layers, generated types, file rules, interface, licences: all, or [NAME…];
             with --target windows|macos|all compiles for that system, on Linux as root
  conformance  runs the scenarios of the MCP conformance suite: --role client|server --requirements REVISION
  compat     tries real clients from npm and PyPI against Gatehouse, and prints what works: all, or
             [CLIENT…]; a wrong name lists them all. `compat applications [APP…]` connects installed
             applications and imports from them; `compat small-model` lets a small model call tools
  codegen    writes ui/src/generated and the configuration reference from the types of the core
  bench      measures: `gateway` what a call costs, `policy` its policy alone, `servers`
             many of them, `bridge` its start, `activity` a million stored calls, `window` the windows,
             `frames` how smooth they stay
  bundle     builds the installable package
";

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &[][..]),
    };
    let paths = WorkspacePaths::find()?;
    match task {
        "setup" => setup::task(&paths, rest),
        "run" => run::run(&paths, rest),
        "demo" => demo::demo(&paths),
        "screenshots" => screenshots::screenshots(&paths, rest),
        "test" => test::test(&paths, rest),
        "check" => check::check(&paths, rest),
        "fuzz" => fuzz::fuzz(&paths, rest),
        "compat" => compat::compat(&paths, rest),
        "codegen" => codegen::write(&paths),
        "conformance" => conformance::conformance(&paths, rest),
        "bench" => bench::bench(&paths, rest),
        "bundle" => bundle::bundle(&paths),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("there is no task `{other}`\n\n{HELP}"),
    }
}
