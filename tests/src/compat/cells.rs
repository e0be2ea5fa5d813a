//! The cells of the matrix: what each client does in front of a Gatehouse with one server.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::{Cell, CompatClient, ConnectionKind};
use crate::approvals;
use crate::bridge::BridgeCommand;
use crate::client::{CallOutcome, Client};
use crate::fixture_server::{FixtureServer, ServerTransport, add, logged_calls};
use crate::gatehouse::Gatehouse;

const SERVER: &str = "fixture";
/// The tool that runs without asking: it answers a text of a given length.
const ALLOWED_TOOL: &str = "big";
/// The tool that is asked for, and the argument that tells its calls apart.
const ASKED_TOOL: &str = "write_note";
/// What a person writes with a denial.
const REASON: &str = "Not today";
/// Part of what a client reads that is to call again.
const CALL_AGAIN: &str = "same arguments";
const MEBIBYTE: usize = 1 << 20;

/// When a client gives up a call.
const CLIENT_TIMEOUT_MS: u32 = 5000;
const LATE_NOTE: &str = "answered when nobody waits";
/// When a person answers a call that was given up.
const LATE_ANSWER: Duration = Duration::from_secs(8);

/// A client in front of a Gatehouse with one server.
pub(super) struct Trial<'a> {
    compat: &'a CompatClient,
    kind: ConnectionKind,
    client: Client,
    _server: FixtureServer,
    gatehouse: Gatehouse,
    log: PathBuf,
    token: String,
}

impl<'a> Trial<'a> {
    pub(super) fn start(compat: &'a CompatClient, kind: ConnectionKind) -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let log = gatehouse.folder("log")?.join("messages");
        let words = ["--log", log.to_str().context("path")?];
        let server = add(&gatehouse, SERVER, ServerTransport::Stdio, &words)?;
        gatehouse.ask(&["policy", "grant", SERVER, "--tool", ALLOWED_TOOL])?;
        let token = gatehouse.add_client(compat.name)?;
        let client = connect(compat, kind, &gatehouse, &token, None)?;
        Ok(Self { compat, kind, client, _server: server, gatehouse, log, token })
    }

    /// Tries one cell. After a failure the next one begins with a new connection.
    pub(super) fn run(&mut self, cell: Cell) -> Result<()> {
        let result = match cell {
            Cell::List => self.lists(),
            Cell::Call => self.calls(17),
            Cell::Allowed => self.is_asked(true),
            Cell::Denied => self.is_asked(false),
            Cell::Parallel => self.calls_side_by_side(),
            Cell::Large => self.calls(MEBIBYTE),
            Cell::Late => self.leaves_and_calls_again(),
            Cell::Told => self.is_told_before_it_leaves(),
            Cell::Restart => self.goes_on_after_restart(),
        };
        let Err(error) = result else { return Ok(()) };
        let errors = client_errors(&self.gatehouse);
        self.begin_anew().with_context(|| format!("after {error:#}"))?;
        bail!("{error:#}; {errors}")
    }

    fn begin_anew(&mut self) -> Result<()> {
        self.gatehouse.ask(&["approvals", "answer", "--all", "deny"])?;
        self.client = self.connect(None)?;
        Ok(())
    }

    fn connect(&self, timeout_ms: Option<u32>) -> Result<Client> {
        connect(self.compat, self.kind, &self.gatehouse, &self.token, timeout_ms)
    }

    fn lists(&mut self) -> Result<()> {
        let tools = self.client.tools()?;
        for name in [ALLOWED_TOOL, ASKED_TOOL] {
            ensure!(tools.iter().any(|tool| tool["name"] == name), "{name} is not in {tools:?}");
        }
        Ok(())
    }

    fn calls(&mut self, bytes: usize) -> Result<()> {
        let outcome = self.client.call(ALLOWED_TOOL, &json!({ "bytes": bytes }))?;
        has_length(&outcome, bytes)
    }

    fn calls_side_by_side(&mut self) -> Result<()> {
        let sizes = 1000..1000 + self.compat.parallel_calls;
        let calls: Vec<(usize, String)> = sizes
            .map(|bytes| Ok((bytes, self.client.begin(ALLOWED_TOOL, &json!({ "bytes": bytes }))?)))
            .collect::<Result<_>>()?;
        for (bytes, call) in calls {
            has_length(&self.client.finish(&call)?, bytes)?;
        }
        Ok(())
    }

    fn is_asked(&mut self, is_allowed: bool) -> Result<()> {
        let text = format!("allowed: {is_allowed}");
        let call = self.client.begin(ASKED_TOOL, &json!({ "text": text }))?;
        let question = self.question()?;
        if is_allowed {
            self.allow(&question)?;
        } else {
            let id = question["id"].as_str().context("id")?;
            self.gatehouse.ask(&["approvals", "answer", id, "deny", REASON])?;
        }
        let outcome = self.client.finish(&call)?;
        if is_allowed {
            ensure!(outcome.is_ok(), "{outcome:?}");
        } else {
            ensure!(outcome.text().contains(REASON), "the model does not read why: {outcome:?}");
        }
        self.has_run(&text, usize::from(is_allowed))
    }

    fn leaves_and_calls_again(&mut self) -> Result<()> {
        // Some clients have one time-out for all calls.
        let mut client = self.connect(Some(CLIENT_TIMEOUT_MS))?;
        let note = json!({ "text": LATE_NOTE });
        let call = client.begin_with_timeout(ASKED_TOOL, &note, CLIENT_TIMEOUT_MS)?;
        let question = self.question()?;
        let given_up = client.finish(&call)?;
        ensure!(!given_up.is_ok(), "it did not leave: {given_up:?}");
        ensure!(!given_up.text().contains(CALL_AGAIN), "it was answered before: {given_up:?}");
        approvals::wait_for_age(&question, LATE_ANSWER)?;
        self.allow(&question)?;
        let call = client.begin_with_timeout(ASKED_TOOL, &note, CLIENT_TIMEOUT_MS)?;
        let repeated = client.finish(&call)?;
        ensure!(repeated.is_ok(), "no result: {repeated:?}");
        approvals::wait_for_pending(&self.gatehouse, 0)?;
        self.has_run(LATE_NOTE, 1)
    }

    /// What is learned comes from [`Cell::Late`].
    fn is_told_before_it_leaves(&mut self) -> Result<()> {
        let mut client = self.connect(Some(CLIENT_TIMEOUT_MS))?;
        let note = json!({ "text": "nobody answers" });
        let call = client.begin_with_timeout(ASKED_TOOL, &note, CLIENT_TIMEOUT_MS)?;
        let question = self.question()?;
        let told = client.finish(&call)?;
        ensure!(told.text().contains(CALL_AGAIN), "it was not told: {told:?}");
        approvals::deny(&self.gatehouse, &question)?;
        self.has_run("nobody answers", 0)
    }

    fn goes_on_after_restart(&mut self) -> Result<()> {
        self.gatehouse.stop()?;
        self.gatehouse.launch()?;
        self.calls(23)?;
        self.lists()
    }

    fn question(&self) -> Result<Value> {
        Ok(approvals::wait_for_pending(&self.gatehouse, 1)?.remove(0))
    }

    fn allow(&self, question: &Value) -> Result<()> {
        let (id, hash) = (&question["id"], &question["request"]["hash"]);
        approvals::allow(&self.gatehouse, id, hash, &approvals::once_choice())?;
        Ok(())
    }

    fn has_run(&self, text: &str, expected: usize) -> Result<()> {
        let runs = logged_calls(&self.log, text);
        ensure!(runs == expected, "it ran {runs} times instead of {expected}");
        Ok(())
    }
}

/// The file in the folder of a Gatehouse with what its client wrote to standard error.
const ERRORS: &str = "client.log";

fn connect(
    compat: &CompatClient,
    kind: ConnectionKind,
    gatehouse: &Gatehouse,
    token: &str,
    timeout_ms: Option<u32>,
) -> Result<Client> {
    let mut command = match kind {
        ConnectionKind::Http => compat.connect_http(gatehouse, token)?,
        ConnectionKind::Bridge => compat.connect_command(&BridgeCommand::new(gatehouse, token)?.describe()),
    };
    if let Some(millis) = timeout_ms {
        command["timeoutMs"] = json!(millis);
    }
    let errors = File::options().create(true).append(true).open(gatehouse.home().join(ERRORS))?;
    let mut program = compat.program()?;
    // Some of them write into the home folder.
    program.env("HOME", gatehouse.folder("client")?).stderr(errors);
    Client::start(compat.name, &mut program, &command).with_context(|| client_errors(gatehouse))
}

/// The end of what the client's program wrote to its standard error.
fn client_errors(gatehouse: &Gatehouse) -> String {
    let text = fs::read_to_string(gatehouse.home().join(ERRORS)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    format!("the client's errors: {:#?}", &lines[lines.len().saturating_sub(10)..])
}

fn has_length(outcome: &CallOutcome, bytes: usize) -> Result<()> {
    let found = outcome.text().len();
    let start: String = outcome.text().chars().take(200).collect();
    ensure!(outcome.is_ok() && found == bytes, "{found} bytes instead of {bytes}: {start}");
    Ok(())
}
