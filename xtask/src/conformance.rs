//! Runs the official conformance suite against Gatehouse's client side of the protocol. Scenarios run
//! one after the other, because some measure time. The suite and its Node.js are in the cache. The
//! result is never more lenient than the suite's: a warning, a time-out, a client that exits with an
//! error, and a scenario without any check are failures here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::paths::WorkspacePaths;
use crate::process::{cargo, output, print_step, program, run};
use crate::setup;

const HOW: &str = "cargo xtask conformance --role client --requirements 2025-11-25|2026-07-28";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

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

pub(crate) fn conformance(paths: &WorkspacePaths, arguments: &[String]) -> Result<()> {
    let revision = revision(arguments)?;
    build_client(paths)?;
    run_revision(paths, revision)
}

pub(crate) fn build_client(paths: &WorkspacePaths) -> Result<()> {
    print_step("Building the client");
    run(cargo(&paths.root).args(["build", "--package=gatehouse-tests", "--bin=conformance-client"]))
}

/// Runs the scenarios of every revision with the client that is already built.
pub(crate) fn every_revision(paths: &WorkspacePaths) -> Result<()> {
    REVISIONS.iter().try_for_each(|revision| run_revision(paths, revision))
}

fn run_revision(paths: &WorkspacePaths, revision: &str) -> Result<()> {
    print_step("Getting the conformance suite");
    let suite = Suite::install(paths)?;
    let client = as_command(&paths.program("debug", "conformance-client")?)?;
    print_step(&format!("Conformance of the client to {revision}"));
    let scenarios = scenarios(&output(suite.command().args(["list", "--requirements", revision]))?)?;
    let results = suite.folder.join("results").join(revision);
    if results.exists() {
        fs::remove_dir_all(&results).context("cannot remove the results of the last run")?;
    }
    let mut passed = 0;
    for scenario in &scenarios {
        let failures = suite.run_scenario(scenario, revision, &client, &results.join(scenario))?;
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

/// The revision in the arguments. The only supported role is the client.
fn revision(arguments: &[String]) -> Result<&'static str> {
    let mut role = None;
    let mut revision = None;
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { bail!("`{}` needs a value: {HOW}", pair.concat()) };
        match name.as_str() {
            "--role" => role = Some(value.as_str()),
            "--requirements" => revision = Some(value.as_str()),
            other => bail!("there is no option `{other}`: {HOW}"),
        }
    }
    match role {
        Some("client") => {}
        Some(other) => bail!("there is no role `{other}`: {HOW}"),
        None => bail!("which role? {HOW}"),
    }
    let Some(wanted) = revision else { bail!("which revision? {HOW}") };
    let known = REVISIONS.into_iter().find(|known| *known == wanted);
    known.with_context(|| format!("there is no revision `{wanted}`: {HOW}"))
}

/// The scenarios that count, from the suite's list of what a revision requires.
fn scenarios(list: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> = list
        .lines()
        .skip_while(|line| !line.starts_with("Client scenarios"))
        .skip(1)
        .map_while(|line| line.strip_prefix("  - "))
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        bail!(
            "the conformance suite names no client scenario; its list reads otherwise than this task expects"
        );
    }
    for also in EXTRA_SCENARIOS {
        if !names.iter().any(|name| name == also) {
            names.push(also.to_owned());
        }
    }
    Ok(names)
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

/// The suite as installed in the cache.
struct Suite {
    folder: PathBuf,
}

impl Suite {
    /// Installs the versions of the checkout's lock file.
    fn install(paths: &WorkspacePaths) -> Result<Self> {
        let wanted = paths.root.join("tests/conformance");
        let folder = paths.cache.join("conformance");
        fs::create_dir_all(&folder)?;
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(wanted.join(name), folder.join(name))
                .with_context(|| format!("cannot copy {}", wanted.join(name).display()))?;
        }
        setup::npm_packages(&folder)?;
        Ok(Self { folder })
    }

    /// The suite's program, without arguments.
    fn command(&self) -> Command {
        let modules = self.folder.join("node_modules");
        let node = modules.join("node/bin").join(format!("node{}", std::env::consts::EXE_SUFFIX));
        let mut command = program(node, &self.folder);
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command
    }

    /// Runs a scenario and returns the client's failures. Without `--force` the suite reports success for
    /// a scenario that it considers not applicable to the revision.
    fn run_scenario(
        &self,
        scenario: &str,
        revision: &str,
        client: &str,
        into: &Path,
    ) -> Result<Vec<Failure>> {
        fs::create_dir_all(into)?;
        let log = into.join("suite.log");
        let file = File::create(&log)?;
        let mut command = self.command();
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
        let checks = checks(into)?;
        Ok(failures(&checks, status.success(), &String::from_utf8_lossy(&output)))
    }
}

/// Waits for a process to exit, up to the limit.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The checks that the suite recorded, in a folder whose name contains the time.
fn checks(folder: &Path) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let text = fs::read(&path)?;
                let some: Vec<Value> = serde_json::from_slice(&text)
                    .with_context(|| format!("{} is no list of checks", path.display()))?;
                found.extend(some);
            }
        }
    }
    Ok(found)
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

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn parses_role_and_revision_in_any_order() {
        assert_eq!(revision(&words("--role client --requirements 2025-11-25")).unwrap(), "2025-11-25");
        assert_eq!(revision(&words("--requirements 2026-07-28 --role client")).unwrap(), "2026-07-28");
    }

    #[test]
    fn rejects_unsupported_arguments() {
        for wrong in [
            "",
            "--role client",
            "--role client --requirements",
            "--role server --requirements 2025-11-25",
            "--role client --requirements 2024-11-05",
            "--role client --suite all",
        ] {
            assert!(revision(&words(wrong)).unwrap_err().to_string().contains(HOW), "{wrong}");
        }
    }

    #[test]
    fn lists_scored_and_extra_scenarios() {
        let list = "Required for 2025-11-25:\n\nServer scenarios (test against a server):\n  - ping\n\n\
                    Client scenarios (test against a client):\n  - initialize\n  - auth/metadata-default\n  \
                    - tools_call\n\nRun and reported, but never scored:\n  extension (1):\n    - auth/dpop [client]\n";
        let mut expected = vec!["initialize", "auth/metadata-default", "tools_call"];
        expected.extend(EXTRA_SCENARIOS);
        assert_eq!(scenarios(list).unwrap(), expected);
        assert!(scenarios("Server scenarios:\n  - ping\n").is_err());
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
        let printed =
            Command::new("sh").args(["-c", &format!("{command} http://localhost:1")]).output().unwrap();
        assert_eq!(printed.stdout, b"http://localhost:1\n");
    }
}
