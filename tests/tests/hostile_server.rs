//! A server does its worst to stop Gatehouse: schemas that take for ever, lists without end, floods. Each
//! test says what was tried and what stopped it, and that another server goes on working.
#![allow(missing_docs, reason = "a test binary has no public items")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::lines::PATIENCE;
use gatehouse_tests::server::{Over, add, introduce};
use gatehouse_tests::{asks, fixture, http};
use serde_json::{Value, json};

/// A Gatehouse with the good server `Time`, everything of which may run.
struct Scene {
    gatehouse: Gatehouse,
    token: String,
    /// Of another client.
    other: String,
    pid: u32,
}

impl Scene {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        gatehouse.await_status("Time", "connected")?;
        gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
        let token = gatehouse.add_client("client")?;
        let (other, pid) = (gatehouse.add_client("other")?, gatehouse.pid()?);
        Ok(Self { gatehouse, token, other, pid })
    }

    fn add(&self, fault: &str) -> Result<()> {
        add(&self.gatehouse, "bad", Over::Stdio, &["--fault", fault])?;
        self.gatehouse.ask(&["policy", "auto-approve", "bad", "all"])?;
        Ok(())
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<http::Answer> {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        http::modern(&self.gatehouse.endpoint, &self.token, "tools/call", &params)
    }

    /// The good server answers another client, and Gatehouse is the process that it was.
    fn works(&self) -> Result<()> {
        let params = r#""name":"current_time","arguments":{"timezone":"UTC"}"#;
        let answer = http::modern(&self.gatehouse.endpoint, &self.other, "tools/call", params)?;
        ensure!(answer.status == 200 && answer.body.contains("structuredContent"), "{answer:?}");
        ensure!(self.gatehouse.pid()? == self.pid && !answer.body.contains("isError\":true"), "{answer:?}");
        Ok(())
    }

    /// Waits until the record of a call of this tool says how it ended.
    fn outcome(&self, tool: &str) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let calls = self.gatehouse.ask(&["calls"])?;
            let found = calls.as_array().into_iter().flatten().find(|call| call["exposedName"] == tool);
            if let Some(call) = found {
                return Ok(call["outcome"].to_string());
            }
            ensure!(Instant::now() < deadline, "{tool} was not recorded: {calls:#}");
        }
    }
}

/// Tried: output schemas whose check takes for ever (a pattern, branches), overflows the stack, or is huge.
/// Stopped by: a process of its own for each check, with limits on its time and memory; the result goes to
/// its client all the same.
#[test]
fn it_sends_output_schemas_that_never_end() -> Result<()> {
    let scene = Scene::start()?;
    scene.add("bombs")?;
    for bomb in fixture::BOMBS {
        let tool = format!("bomb_{bomb}");
        let answer = scene.call(&tool, &json!({}))?;
        ensure!(answer.status == 200 && answer.body.contains(r#""text":"bomb""#), "{bomb}: {answer:?}");
        scene.works()?;
    }
    for bomb in fixture::BOMBS {
        let outcome = scene.outcome(&format!("bomb_{bomb}"))?;
        // The checker sees that this one goes round and round, and takes it for fulfilled.
        ensure!(bomb == "recursion" || outcome.contains("unfit"), "{bomb}: {outcome}");
    }
    // A schema that was given up is not tried again, and other schemas of the same server are.
    scene.call("bomb_branches", &json!({}))?;
    let typed = scene.call("typed", &json!({}))?;
    ensure!(typed.body.contains("structuredContent"), "{typed:?}");
    ensure!(!scene.outcome("typed")?.contains("unfit"), "a good schema is not checked any more");
    scene.works()
}

/// Tried: the same schemas as forms for the user, all at a time. Stopped by: the same; a form that cannot be
/// checked is refused, or what was entered in it is.
#[test]
fn it_asks_with_forms_that_never_end() -> Result<()> {
    let scene = Scene::start()?;
    scene.add("bombs")?;
    let calls: Vec<_> = fixture::BOMBS
        .iter()
        .map(|name| {
            let schema = fixture::bomb(name);
            let params = format!(r#""name":"ask_form","arguments":{{"schema":{schema},"message":"{name}"}}"#);
            http::Modern { name: "bytes", can: "{}" }.begin(&scene.gatehouse.endpoint, &scene.token, &params)
        })
        .collect();
    scene.works()?;
    let deadline = Instant::now() + PATIENCE;
    while !calls.iter().all(http::Waiting::is_over) {
        ensure!(Instant::now() < deadline, "the forms did not end");
        for question in scene.gatehouse.ask(&["approvals", "list"])?.as_array().into_iter().flatten() {
            let answer = |answer: Value| {
                let answers =
                    json!({ "answers": [{ "id": question["id"], "hash": null, "answer": answer }] });
                scene.gatehouse.command("approvals.answer", &answers)
            };
            let content: Value = serde_json::from_str(fixture::BOMB_VALUE)?;
            let entered = answer(json!({ "answer": "accept", "content": content.to_string() }));
            ensure!(entered.is_err(), "what cannot be checked was taken: {question}");
            answer(json!({ "answer": "cancel" }))?;
        }
    }
    for call in calls {
        call.end()?;
    }
    scene.works()
}

/// Tried: a list of tools without an end, a mebibyte a page. Stopped by: the bound on the bytes of a list.
#[test]
fn it_sends_a_list_without_an_end() -> Result<()> {
    let scene = Scene::start()?;
    introduce(&scene.gatehouse, "bad", Over::Stdio, &["--fault", "big-pages"])?;
    scene.works()?;
    scene.gatehouse.await_status("bad", "connected")?;
    let log = scene.gatehouse.ask(&["servers", "log", "bad"])?.to_string();
    ensure!(log.contains("larger than 32 MiB"), "{log}");
    scene.works()
}

/// Tried: thousands of log messages, or of long progress notifications, before each answer. Stopped by: the
/// bounds on what waits for a client and on what is kept; the answer comes, and others are served meanwhile.
#[test]
fn it_floods_with_notifications() -> Result<()> {
    for fault in ["notification-flood=100000", "progress-flood=20000"] {
        let scene = Scene::start()?;
        scene.add(fault)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (endpoint, token) = (scene.gatehouse.endpoint.clone(), scene.token.clone());
        let stopped = Arc::clone(&stop);
        let flooding = std::thread::spawn(move || -> Result<()> {
            let params = r#""name":"echo","arguments":{"n":1}"#;
            loop {
                let answer = http::modern(&endpoint, &token, "tools/call", params)?;
                ensure!(answer.status == 200 && answer.body.contains(r#"{"n":1}"#), "{answer:?}");
                if stopped.load(Ordering::SeqCst) {
                    return Ok(());
                }
            }
        });
        for _ in 0..10 {
            scene.works()?;
        }
        stop.store(true, Ordering::SeqCst);
        flooding.join().map_err(|_| anyhow::anyhow!("the flood broke off"))??;
        scene.works()?;
    }
    Ok(())
}

/// Tried: calls with arguments of many mebibytes that all wait for the user. Stopped by: the bound on the bytes
/// that wait, of each client.
#[test]
fn a_client_fills_the_memory_with_questions() -> Result<()> {
    let scene = Scene::start()?;
    add(&scene.gatehouse, "asked", Over::Stdio, &[])?;
    let large = "x".repeat(12 * 1024 * 1024);
    let mut waiting = Vec::new();
    for number in 0..2 {
        let arguments = json!({ "text": format!("{number}{large}") }).to_string();
        waiting.push(http::Waiting::call(&scene.gatehouse.endpoint, &scene.token, "write_note", &arguments));
    }
    asks::waiting(&scene.gatehouse, 2)?;
    let answer = scene.call("write_note", &json!({ "text": format!("2{large}") }))?;
    ensure!(answer.body.contains("too large together"), "{}", &answer.body[..answer.body.len().min(400)]);
    scene.works()?;
    for question in asks::waiting(&scene.gatehouse, 2)? {
        scene.gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("no id")?, "deny"])?;
    }
    for call in waiting {
        call.end()?;
    }
    Ok(())
}
