//! Runs all tests, each once, which is what `.ci/run` calls; or one suite.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::check::other_systems;
use crate::paths::WorkspacePaths;
use crate::process::{Background, TEST_DOOR, cargo, npm, print_step, program, run};
use crate::tools::nextest;
use crate::{check, conformance, fuzz, setup, ui};

/// Seconds for each fuzz target.
const FUZZ_SECONDS: u64 = 60;

/// Test programs that open windows and need the embedded pages.
const WINDOW_TESTS: [&str; 6] =
    ["first_click", "hostile_environment", "newcomer", "real_window", "vault_window", "window_stories"];

struct Suite {
    name: &'static str,
    /// Gets the further arguments of the command line.
    run: fn(&WorkspacePaths, &[String]) -> Result<()>,
}

static SUITES: [Suite; 9] = [
    Suite { name: "unit", run: unit },
    Suite { name: "integration", run: integration },
    Suite { name: "window", run: window },
    Suite { name: "doc", run: doc },
    Suite { name: "ui", run: vitest },
    Suite { name: "e2e", run: e2e },
    Suite { name: "conformance", run: conformance_suite },
    Suite { name: "fuzz", run: fuzz_targets },
    Suite { name: "other-systems", run: compile_for_others },
];

/// With a name, runs that suite, or the tests of the crate with that name; further arguments go to the
/// test runner. Without a name, runs everything; arguments go to the runner of the Rust tests.
pub(crate) fn test(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first().filter(|(name, _)| !name.starts_with('-')) else {
        return everything(paths, arguments);
    };
    if let Some(suite) = SUITES.iter().find(|suite| suite.name == name) {
        setup::setup(paths)?;
        return (suite.run)(paths, rest);
    }
    if !paths.root.join("crates").join(name).join("Cargo.toml").exists() {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("there is no suite `{name}`; there are {}, and the folders of `crates`", known.join(", "));
    }
    setup::setup(paths)?;
    print_step(&format!("Testing the crate {name}"));
    let package = format!("gatehouse-{name}");
    rust_tests(paths, &["--package", &package], rest)
}

/// A failed stage does not hide what the next ones find.
fn everything(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    setup::setup(paths)?;
    ui::build(paths)?;
    ui::build_for_browser(paths)?;
    let mut failed = Vec::new();
    let mut note = |stage: &'static str, result: Result<()>| {
        if let Err(error) = result {
            println!("{error:#}");
            failed.push(format!("{stage}: {error:#}"));
        }
    };
    note("check", check::check(paths, &[]));
    // It needs processors only, and tests wait for most of their time: they run side by side.
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    let others = Background::start(
        &[own.as_os_str(), "check".as_ref(), "--target".as_ref(), "all".as_ref()],
        &paths.root,
        paths.cache.join("other-systems.log"),
    )?;
    note("ui", vitest(paths, &[]));
    let built = build_programs(paths);
    if built.is_ok() {
        note("e2e", playwright(paths, &[]));
        note("conformance", conformance::everything(paths));
        print_step("Testing the core and the windows");
        let which = ["--workspace", "--no-fail-fast", TEST_DOOR[0], TEST_DOOR[1]];
        note("Rust tests", rust_tests(paths, &which, arguments));
        if nextest(paths).is_some() {
            note("doc", doc(paths, &[]));
        }
        print_step("Trying the fuzz targets side by side");
        let built_with = ["--workspace", "--tests", TEST_DOOR[0], TEST_DOOR[1]];
        note("fuzz", fuzz::all(paths, FUZZ_SECONDS, &built_with));
    }
    note("build", built);
    print_step("Waiting for the other systems");
    note("other-systems", others.wait());
    if failed.is_empty() { Ok(()) } else { bail!("these stages failed:\n{}", failed.join("\n")) }
}

/// The fuzz targets are left out: they are a suite of their own.
fn rust_tests(paths: &WorkspacePaths, which: &[&str], arguments: &[String]) -> Result<()> {
    let mut command = match nextest(paths) {
        Some(nextest) => {
            let mut command = program(nextest, &paths.root);
            command.args(["nextest", "run"]);
            command
        }
        None => {
            let mut command = cargo(&paths.root);
            command.arg("test");
            command
        }
    };
    run(command.args(which).args(arguments).env(fuzz::SECONDS_VARIABLE, "0"))
}

/// Together with the tests, since their dependencies enable further features: nothing is built twice.
pub(crate) fn build_programs(paths: &WorkspacePaths) -> Result<()> {
    print_step("Building every program: tests run them");
    run(cargo(&paths.root).args(["build", "--workspace", "--bins", "--tests"]).args(TEST_DOOR))
}

fn unit(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    print_step("Testing the modules");
    rust_tests(paths, &["--workspace", TEST_DOOR[0], TEST_DOOR[1], "--lib", "--bins"], arguments)
}

fn integration(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    build_programs(paths)?;
    print_step("Testing the whole product");
    let mut names = test_programs(&paths.root.join("tests/tests"))?;
    names.retain(|name| !WINDOW_TESTS.contains(&name.as_str()));
    product_tests(paths, names.iter().map(String::as_str), arguments)
}

fn window(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    ui::build(paths)?;
    build_programs(paths)?;
    print_step("Testing the windows");
    product_tests(paths, WINDOW_TESTS.into_iter(), arguments)
}

/// Names of the test programs of a folder.
fn test_programs(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if let (Some("rs"), Some(name)) = (path.extension().and_then(|e| e.to_str()), path.file_stem()) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The whole workspace is selected, so that what was built for the programs is used again.
fn product_tests<'a>(
    paths: &WorkspacePaths,
    names: impl Iterator<Item = &'a str>,
    arguments: &[String],
) -> Result<()> {
    let mut which = vec!["--workspace", TEST_DOOR[0], TEST_DOOR[1]];
    which.extend(names.flat_map(|name| ["--test", name]));
    rust_tests(paths, &which, arguments)
}

/// Takes no arguments.
fn compile_for_others(paths: &WorkspacePaths, _: &[String]) -> Result<()> {
    other_systems::check_all(paths)
}

fn doc(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    print_step("Testing the examples in the documentation");
    run(cargo(&paths.root).args(["test", "--workspace", "--doc"]).args(TEST_DOOR).args(arguments))
}

fn vitest(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    print_step("Testing the interface");
    run(npm(&paths.ui()).args(["run", "test", "--"]).args(arguments))
}

fn e2e(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    ui::build_for_browser(paths)?;
    build_programs(paths)?;
    playwright(paths, arguments)
}

fn playwright(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    print_step("Testing the interface in a browser");
    let programs = paths.program("debug", "browser-host")?;
    let programs = programs.parent().context("no folder of programs")?;
    let mut tests = npm(&paths.tests_e2e());
    tests.args(["run", "test", "--"]).args(arguments);
    run(tests.env("GATEHOUSE_PROGRAMS", programs))
}

fn conformance_suite(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return conformance::conformance(paths, arguments);
    }
    conformance::build(paths)?;
    conformance::everything(paths)
}

fn fuzz_targets(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let mut arguments = arguments.to_vec();
    if !arguments.iter().any(|argument| argument == "--seconds") {
        arguments.extend(["--seconds".to_owned(), FUZZ_SECONDS.to_string()]);
    }
    fuzz::fuzz(paths, &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_existing_window_tests() -> Result<()> {
        let all = test_programs(&WorkspacePaths::find()?.root.join("tests/tests"))?;
        for name in WINDOW_TESTS {
            assert!(all.iter().any(|known| known == name), "{name}");
        }
        Ok(())
    }

    #[test]
    fn gives_every_suite_a_name_that_is_no_crate() -> Result<()> {
        let crates = WorkspacePaths::find()?.root.join("crates");
        for (at, suite) in SUITES.iter().enumerate() {
            let is_first = SUITES.iter().position(|other| other.name == suite.name) == Some(at);
            assert!(is_first, "{}", suite.name);
            assert!(suite.name == "fuzz" || !crates.join(suite.name).exists(), "{}", suite.name);
        }
        Ok(())
    }
}
