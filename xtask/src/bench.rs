//! Benchmarks. Each is a program of the `tests` member; it is built with optimisation and run.

use anyhow::{Result, bail};

use crate::places::Places;
use crate::process::{cargo, program, run, say};
use crate::ui;

const BENCHES: [&str; 5] = ["frames", "gateway", "policy", "servers", "window"];

pub(crate) fn bench(places: &Places, arguments: &[String]) -> Result<()> {
    let Some((name, rest)) = arguments.split_first() else { bail!("which one? {}", BENCHES.join(", ")) };
    if !BENCHES.contains(&name.as_str()) {
        bail!("there is no bench `{name}`; there is {}", BENCHES.join(", "));
    }
    if name == "frames" {
        // Only a development build has the interface that this benchmark drives.
        say("Building");
        ui::build(places)?;
        run(cargo(&places.root).args(["build", "--workspace", "--bins", "--features=gatehouse/test-door"]))?;
        say("Measuring");
        return run(program(places.program("debug", "bench-frames")?, &places.root).args(rest));
    }
    say("Building, optimised");
    // Not all programs of the tests: some contain the whole product and take long to build.
    run(cargo(&places.root)
        .args(["build", "--release", "--package=gatehouse-tests", "--package=gatehouse-ctl"])
        .args(["--bin=gatehousectl", "--bin=fixture-server"])
        .arg(format!("--bin=bench-{name}")))?;
    if name == "window" {
        ui::build(places)?;
        run(cargo(&places.root).args([
            "build",
            "--release",
            "--package=gatehouse",
            "--features=gatehouse/bench",
            "--bin=gatehouse",
            "--example=empty-window",
        ]))?;
    }
    say("Measuring");
    run(program(places.program("release", &format!("bench-{name}"))?, &places.root).args(rest))
}
