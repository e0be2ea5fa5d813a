//! The client role: the suite starts Gatehouse's client once for each scenario. Scenarios run one after the other, because
//! some measure time. The result is never more lenient than the suite's: a warning, a time-out, a client that exits with an
//! error, and a scenario without any check are failures here.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::suite::{Suite, recorded_checks, wait};
use crate::paths::WorkspacePaths;
use crate::process::print_step;

/// Scenarios newer than the revisions or for extensions, which the suite reports without counting them.
/// Here they count.
const EXTRA_SCENARIOS: [&str; 4] = [
    "json-schema-2020-12-preservation",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/enterprise-managed-authorization",
];

/// Time limit of a client for one scenario.
const SCENARIO_TIMEOUT: Duration = Duration::from_mins(1);

/// Additional time for the suite itself before it is killed as well.
const SUITE_GRACE: Duration = Duration::from_secs(15);

/// Runs the scenarios of a revision with the client that is already built.
pub(super) fn play(paths: &WorkspacePaths, revision: &str) -> Result<()> {
    let suite = Suite::install(paths)?;
    let client = as_command(&paths.program("debug", "conformance-client")?)?;
    print_step(&format!("Conformance of the client to {revision}"));
    let scenarios = with_extra(suite.required("client", revision)?);
    let results = suite.results("client", revision)?;
    let mut passed = 0;
    for scenario in &scenarios {
        let failures = run_scenario(&suite, scenario, revision, &client, &results.join(scenario))?;
        if failures.is_empty() {
            passed += 1;
        }
        println!("{}", summary(scenario, &failures));
        for failure in &failures {
            println!("          {}: {}", failure.check, failure.what);
        }
    }
    println!("conformance client {revision}: passed {passed} of {}", scenarios.len());
    if passed < scenarios.len() {
        bail!("the client does not conform to {revision}; the records are in {}", results.display());
    }
    Ok(())
}

/// The scenarios that count.
fn with_extra(mut names: Vec<String>) -> Vec<String> {
    for also in EXTRA_SCENARIOS {
        if !names.iter().any(|name| name == also) {
            names.push(also.to_owned());
        }
    }
    names
}

/// The command line for a shell, since the suite starts the client through one. `exec` replaces the
/// shell by the client, so that killing the one kills the other.
fn as_command(program: &Path) -> Result<String> {
    let path = program.to_str().context("the client lies in a folder whose name is not Unicode")?;
    if cfg!(windows) {
        return Ok(format!("\"{path}\""));
    }
    Ok(format!("exec '{}'", path.replace('\'', r"'\''")))
}

/// Runs a scenario and returns the client's failures. Without `--force` the suite reports success for
/// a scenario that it considers not applicable to the revision.
fn run_scenario(
    suite: &Suite,
    scenario: &str,
    revision: &str,
    client: &str,
    into: &Path,
) -> Result<Vec<Failure>> {
    fs::create_dir_all(into)?;
    let log = into.join("suite.log");
    let file = File::create(&log)?;
    let mut command = suite.command();
    command.args(["client", "--scenario", scenario, "--spec-version", revision, "--force"]);
    command.args(["--command", client, "--timeout", &SCENARIO_TIMEOUT.as_millis().to_string()]);
    command.arg("--output-dir").arg(into);
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn().context("cannot start the conformance suite")?;
    let ended = wait(&mut child, SCENARIO_TIMEOUT + SUITE_GRACE);
    if !matches!(ended, Ok(Some(_))) {
        child.kill().and_then(|()| child.wait()).context("cannot end the conformance suite")?;
    }
    let Some(status) = ended? else {
        let most = (SCENARIO_TIMEOUT + SUITE_GRACE).as_secs();
        return Ok(vec![Failure::new("time", &format!("the suite did not end within {most} s"))]);
    };
    let output = fs::read(&log).context("cannot read the output of the suite")?;
    let checks: Vec<Value> = recorded_checks(into)?.into_iter().map(|(_, check)| check).collect();
    Ok(failures(&checks, status.success(), &String::from_utf8_lossy(&output)))
}

/// A failure: the suite's id of a check and its message.
#[derive(Debug, PartialEq)]
struct Failure {
    check: String,
    what: String,
}

impl Failure {
    /// Keeps the first line only: the rest are whole messages.
    fn new(check: &str, what: &str) -> Self {
        const MOST: usize = 300;
        let first = what.lines().next().unwrap_or_default();
        let mut what: String = first.chars().take(MOST).collect();
        if what.len() < first.len() {
            what.push('…');
        }
        Self { check: check.to_owned(), what }
    }
}

/// The failures reported by the checks or, if there are none, by how the suite ended.
fn failures(checks: &[Value], succeeded: bool, output: &str) -> Vec<Failure> {
    let text = |check: &Value, key: &str| check[key].as_str().map(str::to_owned);
    let mut failures: Vec<Failure> = checks
        .iter()
        .filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")))
        .map(|check| {
            let what = text(check, "errorMessage").or_else(|| text(check, "description"));
            Failure::new(&text(check, "id").unwrap_or_default(), &what.unwrap_or_default())
        })
        .collect();
    let verdicts = ["CLIENT TIMED OUT", "CLIENT EXITED WITH ERROR"];
    if let Some(line) = output.lines().find(|line| verdicts.iter().any(|verdict| line.contains(verdict))) {
        failures.push(Failure::new("client", line.trim_start_matches(|c: char| !c.is_alphanumeric())));
    }
    if failures.is_empty() && !succeeded {
        let last = output.lines().rfind(|line| !line.trim().is_empty());
        failures
            .push(Failure::new("suite", last.unwrap_or("the suite ended with an error and printed nothing")));
    }
    if failures.is_empty() && !checks.iter().any(|check| check["status"] == "SUCCESS") {
        failures.push(Failure::new("suite", "the client did nothing that a check looks at"));
    }
    failures
}

/// The line for a scenario; a check that failed several times is named once.
fn summary(scenario: &str, failures: &[Failure]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for failure in failures {
        if !names.contains(&failure.check.as_str()) {
            names.push(&failure.check);
        }
    }
    if names.is_empty() {
        return format!("  passed  {scenario}");
    }
    format!("  failed  {scenario}: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_extra_scenarios_once() {
        let mut expected = vec!["initialize".to_owned(), EXTRA_SCENARIOS[0].to_owned()];
        let names = expected.clone();
        expected.extend(EXTRA_SCENARIOS[1..].iter().map(|name| (*name).to_owned()));
        assert_eq!(with_extra(names), expected);
    }

    #[test]
    fn reports_failures_and_warnings() {
        let checks = [
            json!({"id": "good", "status": "SUCCESS", "description": "fine"}),
            json!({"id": "bad", "status": "FAILURE", "description": "d", "errorMessage": "broke\nand more"}),
            json!({"id": "poor", "status": "WARNING", "description": "should"}),
            json!({"id": "none", "status": "SKIPPED", "description": "not seen"}),
        ];
        let found = failures(&checks, false, "Passed: 1/2");
        assert_eq!(found, [Failure::new("bad", "broke"), Failure::new("poor", "should")]);
        assert_eq!(summary("sse-retry", &found), "  failed  sse-retry: bad, poor");
    }

    #[test]
    fn reports_hung_or_crashed_client() {
        let checks = [json!({"id": "good", "status": "SUCCESS"})];
        let found = failures(&checks, false, "Checks:\n\n⚠️  CLIENT TIMED OUT - Test incomplete\n");
        assert_eq!(found, [Failure::new("client", "CLIENT TIMED OUT - Test incomplete")]);
        assert_eq!(failures(&checks, false, "no such file\n\n"), [Failure::new("suite", "no such file")]);
        assert_eq!(failures(&checks, true, ""), []);
    }

    #[test]
    fn fails_without_successful_check() {
        assert_eq!(failures(&[json!({"id": "a", "status": "SKIPPED"})], true, "").len(), 1);
        assert_eq!(failures(&[], true, "").len(), 1);
    }

    #[test]
    fn names_repeated_failure_once() {
        assert_eq!(summary("x", &[Failure::new("a", "1"), Failure::new("a", "2")]), "  failed  x: a");
        assert_eq!(summary("x", &[]), "  passed  x");
    }

    #[cfg(unix)]
    #[test]
    fn quotes_program_path_for_shell() {
        let folder = tempfile::Builder::new().prefix("it's a b").tempdir().unwrap();
        let echo = folder.path().join("echo");
        std::os::unix::fs::symlink("/bin/echo", &echo).unwrap();
        let command = as_command(&echo).unwrap();
        let printed = std::process::Command::new("sh")
            .args(["-c", &format!("{command} http://localhost:1")])
            .output()
            .unwrap();
        assert_eq!(printed.stdout, b"http://localhost:1\n");
    }
}
