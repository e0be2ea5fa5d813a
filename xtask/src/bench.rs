//! Benchmarks. Each is a program of the `tests` member; it is built with optimisation and run.

use anyhow::{Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{TEST_DOOR, cargo, print_step, program, run};
use crate::ui;

const BENCHES: [&str; 8] =
    ["activity", "bridge", "frames", "gateway", "models", "policy", "servers", "window"];

pub(crate) fn bench(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else { bail!("which one? {}", BENCHES.join(", ")) };
    if !BENCHES.contains(&name.as_str()) {
        bail!("there is no bench `{name}`; there is {}", BENCHES.join(", "));
    }
    if name == "frames" {
        // Only a development build has the interface that this benchmark drives.
        print_step("Building");
        ui::build(paths)?;
        run(cargo(&paths.root).args(["build", "--workspace", "--bins"]).args(TEST_DOOR))?;
        print_step("Measuring");
        return run(program(paths.program("debug", "bench-frames")?, &paths.root).args(rest));
    }
    print_step("Building, optimised");
    // Not all programs of the tests: some contain the whole product and take long to build.
    run(cargo(&paths.root)
        .args(["build", "--release", "--package=gatehouse-tests", "--package=gatehouse-ctl"])
        .args(["--package=gatehouse-servers", "--bin=gatehouse-helper"])
        .args(["--bin=gatehousectl", "--bin=fixture-server"])
        .arg(format!("--bin=bench-{name}")))?;
    if name == "window" {
        ui::build(paths)?;
        run(cargo(&paths.root).args([
            "build",
            "--release",
            "--package=gatehouse",
            "--features=gatehouse/bench",
            "--bin=gatehouse",
            "--example=empty-window",
        ]))?;
    }
    print_step("Measuring");
    run(program(paths.program("release", &format!("bench-{name}"))?, &paths.root).args(rest))
}
