//! The server role: the suite plays with a sample server, with the same server through Gatehouse by itself
//! (`/servers/NAME/mcp`), and at the address of all servers (`/mcp`). The results have to be the same, check by check. It
//! also plays with the sample server connected in the other family of revisions, of which it gets what both ends know.
//! What differs is in [`DIFFERENCES`], each with its reason; a difference that is not listed, and one that is
//! certain but doesn't occur, are failures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::suite::{Suite, recorded_checks, wait};
use crate::paths::WorkspacePaths;
use crate::process::print_step;

/// Time limit for all scenarios of a revision at one address.
const TIMEOUT: Duration = Duration::from_mins(5);

/// Most scenarios that are played once more. More are no accident.
const MOST_REPEATED: usize = 3;

/// How the suite reaches the sample server: the name of the address, and what it is called here.
const DIRECT: (&str, &str) = ("direct", "directly");
const THROUGH: [(&str, &str); 2] = [("one", "through /servers/NAME/mcp"), ("all", "through /mcp")];
const OTHER_FAMILY: (&str, &str) = ("otherFamily", "in the other family of revisions");

/// A check that succeeds directly, but not through Gatehouse.
struct Difference {
    revision: &'static str,
    /// Names of the addresses.
    at: &'static [&'static str],
    scenario: &'static str,
    check: &'static str,
    why: &'static str,
    /// Whether it occurs each time. Then it is a failure if it doesn't.
    is_certain: bool,
}

const STREAM_STAYS: &str =
    "Gatehouse itself resumes a stream that the server closes, so the client's stay open";
const NO_NAMES: &str = "an older server gives its questions no names";
const ONE_BY_ONE: &str =
    "an older server asks each question by itself, and only those that come together are one answer";
const DECLARED_ONCE: &str =
    "an older server is told once for all clients what can be asked, so it refuses none";

static DIFFERENCES: [Difference; 7] = [
    Difference {
        revision: "2025-11-25",
        at: &["one", "all", "otherFamily"],
        scenario: "server-sse-polling",
        check: "server-sse-disconnect-resume",
        why: STREAM_STAYS,
        is_certain: true,
    },
    newest_by_older("input-required-result-basic-elicitation", "sep-2322-elicitation-incomplete", NO_NAMES),
    newest_by_older("input-required-result-basic-elicitation", "sep-2322-elicitation-complete", NO_NAMES),
    Difference {
        is_certain: false,
        ..newest_by_older(
            "input-required-result-multiple-input-requests",
            "sep-2322-multiple-inputs-incomplete",
            ONE_BY_ONE,
        )
    },
    Difference {
        is_certain: false,
        ..newest_by_older(
            "input-required-result-multiple-input-requests",
            "sep-2322-multiple-inputs-complete",
            ONE_BY_ONE,
        )
    },
    newest_by_older("server-stateless", "sep-2575-server-rejects-undeclared-capability", DECLARED_ONCE),
    newest_by_older("server-stateless", "sep-2575-missing-capability-http-400", DECLARED_ONCE),
];

/// A difference for clients of the newest revision, at a server of an older one.
const fn newest_by_older(scenario: &'static str, check: &'static str, why: &'static str) -> Difference {
    Difference { revision: "2026-07-28", at: &["otherFamily"], scenario, check, why, is_certain: true }
}

/// Plays a revision with the programs that are already built.
pub(super) fn play(paths: &WorkspacePaths, revision: &str) -> Result<()> {
    let suite = Suite::install(paths)?;
    print_step(&format!("Conformance of servers through Gatehouse to {revision}"));
    let scored: BTreeSet<String> = suite.required("server", revision)?.into_iter().collect();
    let results = suite.results("server", revision)?;
    let endpoints = Endpoints::start(&paths.program("debug", "conformance-endpoints")?, revision)?;
    let player = Player { suite: &suite, endpoints: &endpoints, revision, results: &results };
    let mut direct = player.play(DIRECT.0)?;
    player.repeat(DIRECT.0, &mut direct, |direct| direct.failures(&scored))?;
    let mut problems: Vec<String> =
        direct.failures(&scored).iter().map(|problem| format!("{}: {problem}", DIRECT.1)).collect();
    let counted = direct.succeeded(&scored);
    let count = direct.count(&scored);
    let mut passed = counted.clone();
    println!("conformance server {revision}, {}: passed {} of {count}", DIRECT.1, counted.len());
    for (name, way) in THROUGH.into_iter().chain([OTHER_FAMILY]) {
        let mut through = player.play(name)?;
        let compare = |through: &Record| Comparison::new(revision, name, &direct, through);
        player.repeat(name, &mut through, |through| compare(through).problems)?;
        let comparison = compare(&through);
        for line in &comparison.explained {
            println!("  differs {way}: {line}");
        }
        problems.extend(comparison.problems.iter().map(|problem| format!("{way}: {problem}")));
        let same = through.succeeded(&scored);
        let both = counted.intersection(&same).count();
        println!("conformance server {revision}, {way}: passed {both} of {count}");
        if name != OTHER_FAMILY.0 {
            passed.retain(|check| same.contains(check));
        }
    }
    for check in &counted {
        let verdict = if passed.contains(check) { "passed" } else { "failed" };
        println!("  {verdict}  {check}");
    }
    for problem in &problems {
        println!("  problem  {problem}");
    }
    println!("conformance server {revision}: passed {} of {count}", passed.len());
    if !problems.is_empty() {
        bail!(
            "servers conform less to {revision} through Gatehouse; the records are in {}",
            results.display()
        );
    }
    Ok(())
}

/// What is wrong with a check.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    scenario: String,
    /// The rest: the check and what was found.
    what: String,
}

impl Problem {
    fn new(scenario: &str, what: String) -> Self {
        Self { scenario: scenario.to_owned(), what }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.scenario, self.what)
    }
}

/// Plays one revision at any of the addresses.
struct Player<'a> {
    suite: &'a Suite,
    endpoints: &'a Endpoints,
    revision: &'a str,
    results: &'a Path,
}

impl Player<'_> {
    /// Plays all scenarios of the revision.
    fn play(&self, name: &str) -> Result<Record> {
        self.run(name, &["--requirements", self.revision], &self.results.join(name))
    }

    /// Plays scenarios with problems once more, one by one. Some give a server less than two seconds for something, which
    /// a busy machine may not have.
    fn repeat(
        &self,
        name: &str,
        record: &mut Record,
        problems: impl Fn(&Record) -> Vec<Problem>,
    ) -> Result<()> {
        let scenarios: BTreeSet<String> =
            problems(record).into_iter().map(|problem| problem.scenario).collect();
        if scenarios.len() > MOST_REPEATED {
            return Ok(());
        }
        for scenario in scenarios {
            println!("  once more: {scenario}");
            let which = ["--scenario", &scenario, "--spec-version", self.revision, "--force"];
            let again = self.run(name, &which, &self.results.join(format!("{name}-{scenario}")))?;
            record.0.retain(|key, _| key.scenario != scenario);
            record.0.extend(again.0);
        }
        Ok(())
    }

    /// How the suite ends says nothing: it counts scenarios that nobody has to pass.
    fn run(&self, name: &str, which: &[&str], into: &Path) -> Result<Record> {
        fs::create_dir_all(into)?;
        let file = File::create(into.join("suite.log"))?;
        let mut command = self.suite.command();
        command.args(["server", "--url", self.endpoints.address(name)?]).args(which);
        command.arg("--output-dir").arg(into);
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut child = command.spawn().context("cannot start the conformance suite")?;
        let ended = wait(&mut child, TIMEOUT);
        if !matches!(ended, Ok(Some(_))) {
            child.kill().and_then(|()| child.wait()).context("cannot end the conformance suite")?;
        }
        if ended?.is_none() {
            bail!("the suite did not end within {} s", TIMEOUT.as_secs());
        }
        Record::read(recorded_checks(into)?)
    }
}

/// The sample server and the Gatehouses.
struct Endpoints {
    process: Child,
    addresses: Value,
}

impl Endpoints {
    fn start(program: &Path, revision: &str) -> Result<Self> {
        let mut command = Command::new(program);
        command.arg(revision).stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut endpoints = Self { process, addresses: Value::Null };
        let mut line = String::new();
        let stdout = endpoints.process.stdout.take().context("no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        endpoints.addresses = serde_json::from_str(&line).context("the servers did not start")?;
        Ok(endpoints)
    }

    fn address(&self, name: &str) -> Result<&str> {
        self.addresses[name].as_str().with_context(|| format!("no address `{name}`"))
    }
}

impl Drop for Endpoints {
    /// Closing its standard input makes it end, with all that it has started.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        if !matches!(wait(&mut self.process, Duration::from_secs(30)), Ok(Some(_))) {
            self.process.kill().and_then(|()| self.process.wait()).ok();
        }
    }
}

/// A check: its scenario, its id and its number among those with this id in the scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CheckKey {
    scenario: String,
    check: String,
    number: usize,
}

impl CheckKey {
    fn check_with_number(&self) -> String {
        if self.number > 0 { format!("{} ({})", self.check, self.number + 1) } else { self.check.clone() }
    }
}

impl std::fmt::Display for CheckKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.scenario, self.check_with_number())
    }
}

/// What came of a check, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CheckResult {
    status: String,
    message: String,
}

impl CheckResult {
    fn has_succeeded(&self) -> bool {
        self.status == "SUCCESS"
    }

    fn has_failed(&self) -> bool {
        matches!(self.status.as_str(), "FAILURE" | "WARNING")
    }
}

/// The checks of all scenarios at one address.
#[derive(Debug, Default)]
struct Record(BTreeMap<CheckKey, CheckResult>);

impl Record {
    /// The suite's folder of a scenario is named `server-SCENARIO-TIME`.
    fn read(checks: Vec<(String, Value)>) -> Result<Self> {
        let mut record = Self::default();
        for (folder, check) in checks {
            let scenario = scenario(&folder).with_context(|| format!("no scenario in `{folder}`"))?;
            let text = |name: &str| check[name].as_str().unwrap_or_default();
            let mut key = CheckKey { scenario: scenario.to_owned(), check: text("id").to_owned(), number: 0 };
            while record.0.contains_key(&key) {
                key.number += 1;
            }
            let message = text("errorMessage").lines().next().unwrap_or_default().to_owned();
            record.0.insert(key, CheckResult { status: text("status").to_owned(), message });
        }
        Ok(record)
    }

    /// Those of the scored scenarios that found something good or bad.
    fn count(&self, scored: &BTreeSet<String>) -> usize {
        let is_counted = |result: &CheckResult| result.has_succeeded() || result.has_failed();
        self.0.iter().filter(|(key, result)| scored.contains(&key.scenario) && is_counted(result)).count()
    }

    fn succeeded(&self, scored: &BTreeSet<String>) -> BTreeSet<CheckKey> {
        let passed =
            self.0.iter().filter(|(key, result)| scored.contains(&key.scenario) && result.has_succeeded());
        passed.map(|(key, _)| key.clone()).collect()
    }

    /// What the sample server itself lacks, which it must not.
    fn failures(&self, scored: &BTreeSet<String>) -> Vec<Problem> {
        let mut failures: Vec<Problem> = self
            .0
            .iter()
            .filter(|(key, result)| scored.contains(&key.scenario) && result.has_failed())
            .map(|(key, result)| {
                Problem::new(&key.scenario, format!("{}: {}", key.check_with_number(), result.message))
            })
            .collect();
        for scenario in scored {
            if !self.0.iter().any(|(key, result)| key.scenario == *scenario && result.has_succeeded()) {
                failures.push(Problem::new(scenario, "nothing was checked".to_owned()));
            }
        }
        failures
    }
}

/// The scenario of a folder. The time is written as `2026-07-28T00-00-00-000Z`.
fn scenario(folder: &str) -> Option<&str> {
    const TIME: usize = "-2026-07-28T00-00-00-000Z".len();
    let rest = folder.strip_prefix("server-")?;
    rest.get(..rest.len().checked_sub(TIME)?)
}

/// How an address differs from the sample server itself, in all scenarios, scored or not.
#[derive(Debug)]
struct Comparison {
    explained: Vec<String>,
    problems: Vec<Problem>,
}

impl Comparison {
    fn new(revision: &str, address: &str, direct: &Record, through: &Record) -> Self {
        let mut comparison = Self { explained: Vec::new(), problems: Vec::new() };
        let expected: Vec<&Difference> = DIFFERENCES
            .iter()
            .filter(|difference| difference.revision == revision && difference.at.contains(&address))
            .collect();
        let reason = |key: &CheckKey| {
            let is_it = |known: &&&Difference| known.scenario == key.scenario && known.check == key.check;
            expected.iter().find(is_it).map(|difference| difference.why)
        };
        let mut occurred = BTreeSet::new();
        for (key, result) in direct.0.iter().filter(|(_, result)| result.has_succeeded()) {
            let other = through.0.get(key);
            if other.is_some_and(CheckResult::has_succeeded) {
                continue;
            }
            let (status, message) =
                other.map_or(("not made", ""), |other| (other.status.as_str(), other.message.as_str()));
            match reason(key) {
                Some(why) => comparison.explained.push(format!("{key}: {status}: {why}")),
                None => {
                    let what = format!(
                        "{}: {} directly, {status}: {message}",
                        key.check_with_number(),
                        result.status
                    );
                    comparison.problems.push(Problem::new(&key.scenario, what));
                }
            }
            occurred.insert((key.scenario.as_str(), key.check.as_str()));
        }
        let failed =
            through.0.iter().filter(|(key, result)| result.has_failed() && !direct.0.contains_key(key));
        comparison.problems.extend(failed.map(|(key, result)| {
            let what =
                format!("{}: only here, {}: {}", key.check_with_number(), result.status, result.message);
            Problem::new(&key.scenario, what)
        }));
        let vanished = expected
            .iter()
            .filter(|known| known.is_certain && !occurred.contains(&(known.scenario, known.check)));
        comparison.problems.extend(
            vanished.map(|known| {
                Problem::new(known.scenario, format!("{}: a difference no longer", known.check))
            }),
        );
        comparison
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(checks: &[(&str, &str, &str)]) -> Record {
        let of = |(scenario, id, status): &(&str, &str, &str)| {
            let folder = format!("server-{scenario}-2026-01-02T03-04-05-678Z");
            (folder, json!({ "id": id, "status": status, "errorMessage": "why\nand more" }))
        };
        Record::read(checks.iter().map(of).collect()).unwrap()
    }

    fn texts(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn reads_scenario_from_folder() {
        assert_eq!(scenario("server-tools-list-2026-11-23T10-19-46-271Z"), Some("tools-list"));
        for wrong in ["tools-list-2026-11-23T10-19-46-271Z", "server-ping", ""] {
            assert_eq!(scenario(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn counts_scored_checks_with_a_verdict() {
        let scored: BTreeSet<String> = ["ping".to_owned(), "tools-list".to_owned()].into();
        let all = record(&[
            ("ping", "a", "SUCCESS"),
            ("ping", "a", "SUCCESS"),
            ("ping", "b", "WARNING"),
            ("ping", "c", "INFO"),
            ("tools-list", "d", "SKIPPED"),
            ("extra", "e", "FAILURE"),
        ]);
        assert_eq!((all.count(&scored), all.succeeded(&scored).len()), (3, 2));
        assert_eq!(texts(&all.failures(&scored)), ["ping: b: why", "tools-list: nothing was checked"]);
    }

    #[test]
    fn reports_every_unexplained_difference() {
        let direct = record(&[
            ("ping", "a", "SUCCESS"),
            ("ping", "b", "SUCCESS"),
            ("ping", "c", "FAILURE"),
            ("x", "d", "INFO"),
        ]);
        let same = Comparison::new("2026-07-28", "one", &direct, &direct);
        assert!(same.problems.is_empty() && same.explained.is_empty(), "{same:?}");
        let through = record(&[("ping", "a", "INFO"), ("ping", "c", "FAILURE"), ("x", "e", "WARNING")]);
        let differs = Comparison::new("2026-07-28", "one", &direct, &through);
        assert_eq!(
            texts(&differs.problems),
            [
                "ping: a: SUCCESS directly, INFO: why",
                "ping: b: SUCCESS directly, not made: ",
                "x: e: only here, WARNING: why"
            ]
        );
    }

    #[test]
    fn explains_known_differences_that_occur() {
        let known = ("server-sse-polling", "server-sse-disconnect-resume");
        let direct = record(&[(known.0, known.1, "SUCCESS")]);
        let through = record(&[(known.0, known.1, "INFO")]);
        let differs = Comparison::new("2025-11-25", "all", &direct, &through);
        assert!(differs.problems.is_empty() && differs.explained.len() == 1, "{differs:?}");
        let mended = Comparison::new("2025-11-25", "all", &direct, &direct);
        assert_eq!(
            texts(&mended.problems),
            ["server-sse-polling: server-sse-disconnect-resume: a difference no longer"]
        );
    }
}
