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

use crate::places::Places;
use crate::process::{cargo, output, program, run, say};
use crate::setup;

const HOW: &str = "cargo xtask conformance --role client --requirements 2025-11-25|2026-07-28";
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Scenarios newer than the revisions or for extensions, which the suite reports without counting them.
/// Here they count.
const ALSO: [&str; 4] = [
    "json-schema-2020-12-preservation",
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/enterprise-managed-authorization",
];

/// Time limit of a client for one scenario.
const LIMIT: Duration = Duration::from_mins(1);

/// Additional time for the suite itself before it is killed as well.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) fn conformance(places: &Places, arguments: &[String]) -> Result<()> {
    let revision = revision(arguments)?;
    say("Building the client");
    run(cargo(&places.root).args(["build", "--package=gatehouse-tests", "--bin=conformance-client"]))?;
    play(places, revision)
}

/// Runs the scenarios of every revision with the client that is already built.
pub(crate) fn every_revision(places: &Places) -> Result<()> {
    REVISIONS.iter().try_for_each(|revision| play(places, revision))
}

fn play(places: &Places, revision: &str) -> Result<()> {
    say("Getting the conformance suite");
    let suite = Suite::install(places)?;
    let client = as_command(&places.program("debug", "conformance-client")?)?;
    say(&format!("Conformance of the client to {revision}"));
    let scenarios = scenarios(&output(suite.command().args(["list", "--requirements", revision]))?)?;
    let results = suite.folder.join("results").join(revision);
    if results.exists() {
        fs::remove_dir_all(&results).context("cannot remove the results of the last run")?;
    }
    let mut passed = 0;
    for scenario in &scenarios {
        let faults = suite.play(scenario, revision, &client, &results.join(scenario))?;
        if faults.is_empty() {
            passed += 1;
        }
        println!("{}", line(scenario, &faults));
        for fault in &faults {
            println!("          {}: {}", fault.check, fault.what);
        }
    }
    println!("conformance client {revision}: passed {passed} of {}", scenarios.len());
    if passed < scenarios.len() {
        bail!("the client does not conform to {revision}; all that was recorded is in {}", results.display());
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
    for also in ALSO {
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
    fn install(places: &Places) -> Result<Self> {
        let wanted = places.root.join("tests/conformance");
        let folder = places.cache.join("conformance");
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

    /// Runs a scenario and returns the client's faults. Without `--force` the suite reports success for
    /// a scenario that it considers not applicable to the revision.
    fn play(&self, scenario: &str, revision: &str, client: &str, into: &Path) -> Result<Vec<Fault>> {
        fs::create_dir_all(into)?;
        let log = into.join("suite.log");
        let file = File::create(&log)?;
        let mut command = self.command();
        command.args(["client", "--scenario", scenario, "--spec-version", revision, "--force"]);
        command.args(["--command", client, "--timeout", &LIMIT.as_millis().to_string()]);
        command.arg("--output-dir").arg(into);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut child = command.spawn().context("cannot start the conformance suite")?;
        let ended = wait(&mut child, LIMIT + PATIENCE);
        if !matches!(ended, Ok(Some(_))) {
            child.kill().and_then(|()| child.wait()).context("cannot end the conformance suite")?;
        }
        let Some(status) = ended? else {
            let most = (LIMIT + PATIENCE).as_secs();
            return Ok(vec![Fault::new("time", &format!("the suite did not end within {most} s"))]);
        };
        let said = fs::read(&log).context("cannot read what the suite said")?;
        let checks = checks(into)?;
        Ok(faults(&checks, status.success(), &String::from_utf8_lossy(&said)))
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

/// A fault: the suite's id of a check and its message.
#[derive(Debug, PartialEq)]
struct Fault {
    check: String,
    what: String,
}

impl Fault {
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

/// The faults reported by the checks or, if there are none, by how the suite ended.
fn faults(checks: &[Value], succeeded: bool, said: &str) -> Vec<Fault> {
    let text = |check: &Value, key: &str| check[key].as_str().map(str::to_owned);
    let mut faults: Vec<Fault> = checks
        .iter()
        .filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")))
        .map(|check| {
            let what = text(check, "errorMessage").or_else(|| text(check, "description"));
            Fault::new(&text(check, "id").unwrap_or_default(), &what.unwrap_or_default())
        })
        .collect();
    let verdicts = ["CLIENT TIMED OUT", "CLIENT EXITED WITH ERROR"];
    if let Some(line) = said.lines().find(|line| verdicts.iter().any(|verdict| line.contains(verdict))) {
        faults.push(Fault::new("client", line.trim_start_matches(|c: char| !c.is_alphanumeric())));
    }
    if faults.is_empty() && !succeeded {
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        faults.push(Fault::new("suite", last.unwrap_or("the suite ended with an error and said nothing")));
    }
    if faults.is_empty() && !checks.iter().any(|check| check["status"] == "SUCCESS") {
        faults.push(Fault::new("suite", "the client did nothing that a check looks at"));
    }
    faults
}

/// The line for a scenario; a check that failed several times is named once.
fn line(scenario: &str, faults: &[Fault]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for fault in faults {
        if !names.contains(&fault.check.as_str()) {
            names.push(&fault.check);
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
    fn role_and_revision_come_in_any_order() {
        assert_eq!(revision(&words("--role client --requirements 2025-11-25")).unwrap(), "2025-11-25");
        assert_eq!(revision(&words("--requirements 2026-07-28 --role client")).unwrap(), "2026-07-28");
    }

    #[test]
    fn what_cannot_be_tested_is_refused() {
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
    fn scored_client_scenarios_count_and_some_more() {
        let list = "Required for 2025-11-25:\n\nServer scenarios (test against a server):\n  - ping\n\n\
                    Client scenarios (test against a client):\n  - initialize\n  - auth/metadata-default\n  \
                    - tools_call\n\nRun and reported, but never scored:\n  extension (1):\n    - auth/dpop [client]\n";
        let mut expected = vec!["initialize", "auth/metadata-default", "tools_call"];
        expected.extend(ALSO);
        assert_eq!(scenarios(list).unwrap(), expected);
        assert!(scenarios("Server scenarios:\n  - ping\n").is_err());
    }

    #[test]
    fn failures_and_warnings_are_faults() {
        let checks = [
            json!({"id": "good", "status": "SUCCESS", "description": "fine"}),
            json!({"id": "bad", "status": "FAILURE", "description": "d", "errorMessage": "broke\nand more"}),
            json!({"id": "poor", "status": "WARNING", "description": "should"}),
            json!({"id": "none", "status": "SKIPPED", "description": "not seen"}),
        ];
        let found = faults(&checks, false, "Passed: 1/2");
        assert_eq!(found, [Fault::new("bad", "broke"), Fault::new("poor", "should")]);
        assert_eq!(line("sse-retry", &found), "  failed  sse-retry: bad, poor");
    }

    #[test]
    fn a_client_that_hangs_or_breaks_off_fails() {
        let checks = [json!({"id": "good", "status": "SUCCESS"})];
        let found = faults(&checks, false, "Checks:\n\n⚠️  CLIENT TIMED OUT - Test incomplete\n");
        assert_eq!(found, [Fault::new("client", "CLIENT TIMED OUT - Test incomplete")]);
        assert_eq!(faults(&checks, false, "no such file\n\n"), [Fault::new("suite", "no such file")]);
        assert_eq!(faults(&checks, true, ""), []);
    }

    #[test]
    fn nothing_looked_at_is_not_passed() {
        assert_eq!(faults(&[json!({"id": "a", "status": "SKIPPED"})], true, "").len(), 1);
        assert_eq!(faults(&[], true, "").len(), 1);
    }

    #[test]
    fn what_failed_often_is_named_once() {
        assert_eq!(line("x", &[Fault::new("a", "1"), Fault::new("a", "2")]), "  failed  x: a");
        assert_eq!(line("x", &[]), "  passed  x");
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_starts_a_program_in_any_folder() {
        let folder = tempfile::Builder::new().prefix("it's a b").tempdir().unwrap();
        let echo = folder.path().join("echo");
        std::os::unix::fs::symlink("/bin/echo", &echo).unwrap();
        let command = as_command(&echo).unwrap();
        let said =
            Command::new("sh").args(["-c", &format!("{command} http://localhost:1")]).output().unwrap();
        assert_eq!(said.stdout, b"http://localhost:1\n");
    }
}
