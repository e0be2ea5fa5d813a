//! What the conformance suite plays with in the server role: the sample server (`tests/js/conformance-server.mjs`), and the
//! same server through Gatehouse. All of its tools run without asking. What is left, a resource that is in no list and an
//! answer to a question that the server didn't ask, is asked, and a user allows it. Must never answer a check itself.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::approvals;
use crate::authorizing_forwarder;
use crate::child_process::ChildProcess;
use crate::gatehouse::{CommandRunner, Gatehouse};
use crate::http::StatelessClient;
use crate::paths;

const NAME: &str = "sample";

/// Time between two looks at the pending approvals.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The running servers.
pub struct ConformanceEndpoints {
    addresses: Value,
    /// Declared before the Gatehouses that they ask.
    _users: Vec<AllowingUser>,
    _gatehouses: Vec<Gatehouse>,
    _sample: ChildProcess,
}

impl ConformanceEndpoints {
    /// Starts everything for clients of a revision.
    pub fn start(revision: &str) -> Result<Self> {
        let other = if revision == "2026-07-28" { "2025-11-25" } else { "2026-07-28" };
        let mut command = Command::new("node");
        command.arg(paths::tests_dir().join("js/conformance-server.mjs"));
        let mut sample = ChildProcess::start("the sample server", &mut command)?;
        let ready: Value = serde_json::from_str(&sample.next_line()?)?;
        let direct = ready["url"].as_str().context("no address")?;
        let (plain, pinned) = (gatehouse(direct, None)?, gatehouse(direct, Some(other))?);
        let addresses = json!({
            "direct": direct,
            "one": plain.forwarded(&one_server(&plain.gatehouse))?,
            "all": plain.forwarded(&plain.gatehouse.endpoint)?,
            "otherFamily": pinned.forwarded(&one_server(&pinned.gatehouse))?,
        });
        let users = vec![AllowingUser::start(&plain.gatehouse)?, AllowingUser::start(&pinned.gatehouse)?];
        let gatehouses = vec![plain.gatehouse, pinned.gatehouse];
        Ok(Self { addresses, _users: users, _gatehouses: gatehouses, _sample: sample })
    }

    /// Where a client without a token finds the sample server: `direct`, `one` (by itself through Gatehouse), `all` (at the
    /// address of all servers), and `otherFamily` (by itself, connected in the other family of revisions).
    #[must_use]
    pub fn addresses(&self) -> &Value {
        &self.addresses
    }
}

fn one_server(gatehouse: &Gatehouse) -> String {
    format!("{}/servers/{NAME}/mcp", gatehouse.endpoint.trim_end_matches("/mcp"))
}

struct SampleGatehouse {
    gatehouse: Gatehouse,
    token: String,
}

impl SampleGatehouse {
    fn forwarded(&self, endpoint: &str) -> Result<String> {
        authorizing_forwarder::open(endpoint, &self.token)
    }
}

/// A Gatehouse with the sample server, whose revision may be pinned.
fn gatehouse(url: &str, revision: Option<&str>) -> Result<SampleGatehouse> {
    let gatehouse = Gatehouse::start()?;
    let mut words = vec!["servers", "add", NAME, "--url", url];
    words.extend(revision.into_iter().flat_map(|revision| ["--protocol-version", revision]));
    gatehouse.ask(&words)?;
    gatehouse.await_status(NAME, "connected")?;
    gatehouse.ask(&["policy", "auto-approve", NAME, "all"])?;
    let token = gatehouse.add_client("suite")?;
    allow_unknown_request(&gatehouse, &token)?;
    Ok(SampleGatehouse { gatehouse, token })
}

/// Allows the suite's request with a method that nobody knows for good. The server's own endpoint passes such a request on,
/// and asks about each that is another one. The suite looks at the status of the server's refusal, which comes too late once
/// the stream of a request that waits for its user has begun.
fn allow_unknown_request(gatehouse: &Gatehouse, token: &str) -> Result<()> {
    const METHOD: &str = "unknown/method";
    let endpoint = one_server(gatehouse);
    let suite = StatelessClient { name: "suite", capabilities: "{}" };
    let asked = suite.begin_request(&endpoint, token, METHOD, "");
    let pending = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    let choice = approvals::choices(&pending)?
        .iter()
        .find(|choice| choice["lifetime"] == "always" && choice["width"] == "call")
        .with_context(|| format!("it can't be allowed for good: {pending:#}"))?;
    approvals::allow(gatehouse, &pending["id"], &pending["request"]["hash"], choice)?;
    asked.end()?;
    let refused = suite.send(&endpoint, token, METHOD, "")?;
    ensure!(refused.status == 404, "it is asked about again: {refused:?}");
    Ok(())
}

/// A user who allows each call once.
struct AllowingUser {
    has_left: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl AllowingUser {
    fn start(gatehouse: &Gatehouse) -> Result<Self> {
        let commands = gatehouse.commands()?;
        let has_left = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&has_left);
        let thread = std::thread::Builder::new().spawn(move || {
            let mut seen = HashSet::new();
            while !flag.load(Ordering::SeqCst) {
                if let Err(error) = allow_pending(&commands, &mut seen) {
                    eprintln!("nobody could answer: {error:#}");
                }
                std::thread::sleep(LOOK_INTERVAL);
            }
        })?;
        Ok(Self { has_left, thread: Some(thread) })
    }
}

impl Drop for AllowingUser {
    fn drop(&mut self) {
        self.has_left.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Allows what waits. Each is answered once, also if its client has left meanwhile.
fn allow_pending(commands: &CommandRunner, seen: &mut HashSet<String>) -> Result<()> {
    let pending = commands.run("approvals.list", &json!({}))?;
    for request in pending.as_array().into_iter().flatten() {
        let id = request["id"].as_str().context("no id")?;
        // A server's own question has no choices; it ends with its call.
        if request["request"]["choices"].is_array() && seen.insert(id.to_owned()) {
            let answer = json!({ "answer": "allow", "choice": approvals::once_choice() });
            let answers = json!([{ "id": id, "hash": request["request"]["hash"], "answer": answer }]);
            commands.run("approvals.answer", &json!({ "answers": answers }))?;
        }
    }
    Ok(())
}
