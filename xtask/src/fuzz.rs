//! The fuzz targets: tests that check a property with generated cases for a given time. In `cargo test`
//! each takes a few seconds; here, and in `cargo xtask test`, all run at once with a longer time.

use std::process::{Child, Command};

use anyhow::{Context, Result, bail};

use crate::paths::WorkspacePaths;
use crate::process::{cargo, print_step, run};

/// Environment variable with the seconds for each target; `gatehouse-fuzz` reads it.
pub(crate) const SECONDS_VARIABLE: &str = "GATEHOUSE_FUZZ_SECONDS";

/// Default seconds for each target.
const DEFAULT_SECONDS: u64 = 600;

/// Every target: its name, its package, and the name of the test.
const TARGETS: [(&str, &str, &str); 11] = [
    ("envelope", "gatehouse-gateway", "fuzz_envelope"),
    ("arguments", "gatehouse-mcp-wire", "fuzz_arguments"),
    ("conditions", "gatehouse-policy", "fuzz_conditions"),
    ("sse", "gatehouse-mcp-client", "fuzz_sse"),
    ("servers_json", "gatehouse-store", "fuzz_servers_json"),
    ("control", "gatehouse-app", "fuzz_control"),
    ("bundle", "gatehouse-integrations", "fuzz_bundle"),
    ("link", "gatehouse-integrations", "fuzz_link"),
    ("import", "gatehouse-integrations", "fuzz_import"),
    ("configuration", "gatehouse-integrations", "fuzz_configuration"),
    ("tool_calls", "gatehouse-models", "fuzz_tool_calls"),
];

/// Runs one target, or all of them in parallel, for some seconds.
pub(crate) fn fuzz(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let (wanted, seconds) = parse_arguments(arguments)?;
    for (name, package, _) in wanted.iter().copied() {
        print_step(&format!("Building {name}"));
        run(cargo(&paths.root).args(["test", "--no-run", "--package", package]))?;
    }
    side_by_side(paths, &wanted, seconds, &[])
}

/// Runs all of them in parallel; they are already built with these further arguments.
pub(crate) fn all(paths: &WorkspacePaths, seconds: u64, built_with: &[&str]) -> Result<()> {
    side_by_side(paths, &TARGETS, seconds, built_with)
}

type Target = (&'static str, &'static str, &'static str);

fn parse_arguments(arguments: &[String]) -> Result<(Vec<Target>, u64)> {
    let (mut wanted, mut seconds) = (Vec::new(), DEFAULT_SECONDS);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let number = rest.next().context("--seconds needs a number")?;
            seconds = number.parse().with_context(|| format!("{number} is no number of seconds"))?;
            continue;
        }
        let Some(target) = TARGETS.iter().find(|(name, ..)| name == argument) else {
            let names = TARGETS.map(|(name, ..)| name).join(", ");
            bail!("there is no target `{argument}`; there are {names}");
        };
        wanted.push(*target);
    }
    if wanted.is_empty() {
        wanted = TARGETS.to_vec();
    }
    Ok((wanted, seconds))
}

/// The budget is wall-clock time, so together they take no longer than one; on a machine with fewer
/// processors than targets each tries fewer cases.
fn side_by_side(paths: &WorkspacePaths, targets: &[Target], seconds: u64, built_with: &[&str]) -> Result<()> {
    let mut running: Vec<(&str, Child)> = Vec::new();
    for (name, package, test) in targets.iter().copied() {
        let mut command: Command = cargo(&paths.root);
        command.args(["test", "--quiet"]).args(if built_with.is_empty() {
            vec!["--package", package]
        } else {
            built_with.to_vec()
        });
        command.args([test, "--", "--nocapture"]).env(SECONDS_VARIABLE, seconds.to_string());
        running.push((name, command.spawn().with_context(|| format!("cannot start {name}"))?));
    }
    let mut failed = Vec::new();
    for (name, mut child) in running {
        if !child.wait()?.success() {
            failed.push(name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("these targets found a failure: {}", failed.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_fuzz_arguments() {
        let parse_arguments = |words: &[&str]| {
            parse_arguments(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(parse_arguments(&[]).unwrap(), (TARGETS.to_vec(), DEFAULT_SECONDS));
        assert_eq!(parse_arguments(&["sse", "--seconds", "9"]).unwrap(), (vec![TARGETS[3]], 9));
        assert!(parse_arguments(&["nothing"]).is_err() && parse_arguments(&["--seconds"]).is_err());
    }
}
