//! Resources, prompts and completions of a third-party server through the gateway: listed as the server
//! lists them, approved before they are read, and then identical to those without Gatehouse.

use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::client::npm_server;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http;
use serde_json::{Value, json};

const STATIC: &str = "demo://resource/static/document/features.md";
const TEXT: &str = "demo://resource/dynamic/text/{resourceId}";

fn add(gatehouse: &Gatehouse, name: &str) -> Result<()> {
    let script = npm_server("server-everything");
    gatehouse.ask(&["servers", "add", name, "--", "node", script.to_str().context("path")?, "stdio"])?;
    gatehouse.await_status(name, "connected")?;
    Ok(())
}

/// The same server without a gateway.
struct DirectClient {
    lines: ChildProcess,
    asked: u32,
}

impl DirectClient {
    fn start() -> Result<Self> {
        let mut command = Command::new("node");
        command.arg(npm_server("server-everything")).arg("stdio").stderr(Stdio::null());
        let mut direct = Self { lines: ChildProcess::start("server-everything", &mut command)?, asked: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "direct", "version": "1" },
        });
        direct.ask("initialize", &hello)?;
        direct.lines.write_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        Ok(direct)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.lines.write_line(&request.to_string())?;
        loop {
            let line: Value = serde_json::from_str(&self.lines.next_line()?)?;
            if line["id"] == self.asked && line.get("method").is_none() {
                return Ok(line);
            }
        }
    }
}

/// A client of revision 2026-07-28 that accepts only JSON.
fn ask(endpoint: &str, token: &str, method: &str, params: &Value) -> Result<Value> {
    let mut params = params.clone();
    let name = match method {
        "resources/read" => params["uri"].as_str(),
        "prompts/get" | "tools/call" => params["name"].as_str(),
        _ => None,
    }
    .map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bytes", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let authorization = format!("Bearer {token}");
    let mut headers = vec![
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    if let Some(name) = &name {
        headers.push(("Mcp-Name", name));
    }
    Ok(serde_json::from_str(&http::post(endpoint, &headers, body.as_bytes())?.body)?)
}

fn begin(
    gatehouse: &Gatehouse,
    token: &str,
    method: &'static str,
    params: Value,
) -> JoinHandle<Result<Value>> {
    let (endpoint, token) = (gatehouse.endpoint.clone(), token.to_owned());
    std::thread::spawn(move || ask(&endpoint, &token, method, &params))
}

fn end(running: JoinHandle<Result<Value>>) -> Result<Value> {
    running.join().map_err(|_| anyhow::anyhow!("the client panicked"))?
}

/// The requests: method, params, and how the approval request names them.
fn requests() -> [(&'static str, Value, Value); 5] {
    let completed = |reference: Value, name: &str, value: &str| json!({ "ref": reference, "argument": { "name": name, "value": value } });
    [
        ("resources/read", json!({ "uri": STATIC }), json!({ "kind": "resource", "uri": STATIC })),
        (
            "prompts/get",
            json!({ "name": "args-prompt", "arguments": { "city": "Bern", "state": "BE" } }),
            json!({ "kind": "prompt", "name": "args-prompt" }),
        ),
        (
            "completion/complete",
            completed(json!({ "type": "ref/prompt", "name": "completable-prompt" }), "department", "S"),
            json!({ "kind": "completion", "reference": "completable-prompt" }),
        ),
        (
            "completion/complete",
            completed(json!({ "type": "ref/resource", "uri": TEXT }), "resourceId", "7"),
            json!({ "kind": "completion", "reference": TEXT }),
        ),
        (
            "prompts/get",
            json!({ "name": "simple-prompt" }),
            json!({ "kind": "prompt", "name": "simple-prompt" }),
        ),
    ]
}

/// A result without the members that only the newest revision has.
fn plain(answer: &Value) -> Value {
    let mut result = answer["result"].clone();
    if let Some(members) = result.as_object_mut() {
        for newer in ["resultType", "ttlMs", "cacheScope"] {
            members.remove(newer);
        }
    }
    result
}

#[test]
fn lists_match_direct_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Reader")?;
    let ask = |method| ask(&gatehouse.endpoint, &token, method, &json!({}));
    let lists = [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ];
    for (method, member) in lists {
        let answer = ask(method)?;
        ensure!(answer["result"][member] == json!([]), "{method} before there is a server: {answer}");
    }
    add(&gatehouse, "everything")?;
    let mut direct = DirectClient::start()?;
    for (method, member) in lists {
        let answer = ask(method)?;
        let own = direct.ask(method, &json!({}))?;
        ensure!(own["result"][member].as_array().is_some_and(|items| items.len() > 1), "{own}");
        ensure!(plain(&answer) == plain(&own), "{method}: {answer:#}\nbut directly {own:#}");
        ensure!(answer["result"]["cacheScope"] == "private", "{answer}");
    }
    Ok(())
}

#[test]
fn reads_ask_and_match_direct_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add(&gatehouse, "everything")?;
    let token = gatehouse.add_client("Reader")?;
    let mut person = gatehouse.person()?;
    let mut direct = DirectClient::start()?;
    for (method, params, subject) in requests() {
        let running = begin(&gatehouse, &token, method, params.clone());
        let question = person.next_approval()?;
        ensure!(question["request"]["subject"] == subject, "{method}: {question:#}");
        ensure!(question["request"]["class"]["class"] == "read", "{method}: {question:#}");
        person.answer(&question, "deny not that one")?;
        let refused = end(running)?;
        let words = refused["error"]["message"].as_str().unwrap_or_default();
        ensure!(refused["error"]["code"] == -32000, "{method} was denied, yet {refused}");
        ensure!(words.contains("user refused") && words.contains("not that one"), "{refused}");

        let running = begin(&gatehouse, &token, method, params.clone());
        let question = person.next_approval()?;
        person.answer(&question, "allow")?;
        let answer = end(running)?;
        let own = direct.ask(method, &params)?;
        ensure!(own.get("result").is_some(), "{own}");
        ensure!(plain(&answer) == plain(&own), "{method}: {answer:#}\nbut directly {own:#}");
        ensure!(answer["result"]["resultType"] == "complete", "{answer}");
    }

    let audit = gatehouse.ask(&["audit", "list"])?.to_string();
    ensure!(audit.contains("features.md") && audit.contains("args-prompt"), "the audit is silent: {audit}");

    gatehouse.ask(&["policy", "auto-approve", "everything", "reads"])?;
    for (method, params, _) in requests() {
        let answer = ask(&gatehouse.endpoint, &token, method, &params)?;
        ensure!(answer.get("result").is_some(), "reads are allowed, yet {method} {answer}");
    }
    // In no list, but it matches a template.
    let uri = TEXT.replace("{resourceId}", "7");
    let answer = ask(&gatehouse.endpoint, &token, "resources/read", &json!({ "uri": uri }))?;
    ensure!(answer["result"]["contents"][0]["uri"] == uri, "{answer}");
    let answer = ask(&gatehouse.endpoint, &token, "resources/read", &json!({ "uri": "demo://nothing" }))?;
    ensure!(answer["error"]["code"] == -32602, "{answer}");
    // A tool still needs approval: only reads were allowed.
    let running =
        begin(&gatehouse, &token, "tools/call", json!({ "name": "echo", "arguments": { "message": "x" } }));
    let question = person.next_approval()?;
    person.answer(&question, "deny")?;
    ensure!(end(running)?["result"]["isError"] == true, "a tool passed as a read");
    Ok(())
}

#[test]
fn disambiguates_same_names_of_two_servers() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add(&gatehouse, "one")?;
    add(&gatehouse, "two")?;
    let token = gatehouse.add_client("Reader")?;
    let mut person = gatehouse.person()?;
    let list = ask(&gatehouse.endpoint, &token, "resources/list", &json!({}))?;
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["uri"].as_str())
        .collect();
    let same: Vec<&&str> = uris.iter().filter(|uri| uri.ends_with(STATIC)).collect();
    ensure!(same.len() == 2 && *same[0] == STATIC, "{uris:?}");
    ensure!(same[1].starts_with("gatehouse://"), "{uris:?}");
    for (uri, server) in [(*same[0], "one"), (*same[1], "two")] {
        let running = begin(&gatehouse, &token, "resources/read", json!({ "uri": uri }));
        let question = person.next_approval()?;
        ensure!(question["request"]["server"]["name"] == server, "{uri}: {question:#}");
        ensure!(question["request"]["subject"]["uri"] == STATIC, "{uri}: {question:#}");
        person.answer(&question, "allow")?;
        let answer = end(running)?;
        ensure!(answer["result"]["contents"][0]["uri"] == STATIC, "{answer}");
    }
    let running = begin(&gatehouse, &token, "prompts/get", json!({ "name": "two__simple-prompt" }));
    let question = person.next_approval()?;
    ensure!(question["request"]["server"]["name"] == "two", "{question:#}");
    ensure!(question["request"]["subject"]["name"] == "simple-prompt", "{question:#}");
    person.answer(&question, "allow")?;
    ensure!(end(running)?.get("result").is_some(), "the second server's prompt cannot be got");
    Ok(())
}
