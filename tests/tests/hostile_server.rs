//! A server tries to stop Gatehouse: schemas that take for ever to check, endless lists, floods. Each
//! test states what was tried and what stopped it, and checks that another server keeps working.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::fixture_server::{ServerTransport, add, add_unconnected, logged_calls};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, fixture, http};
use serde_json::{Value, json};

/// A Gatehouse with the well-behaved server `Time`, all of whose tools are allowed.
struct BadServerTestbed {
    gatehouse: Gatehouse,
    token: String,
    /// Token of another client.
    other: String,
    pid: u32,
}

impl BadServerTestbed {
    fn start() -> Result<Self> {
        let gatehouse = Gatehouse::start()?;
        gatehouse.await_status("Time", "connected")?;
        gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
        let token = gatehouse.add_client("client")?;
        let (other, pid) = (gatehouse.add_client("other")?, gatehouse.pid()?);
        Ok(Self { gatehouse, token, other, pid })
    }

    fn add(&self, fault: &str) -> Result<()> {
        add(&self.gatehouse, "bad", ServerTransport::Stdio, &["--fault", fault])?;
        self.gatehouse.ask(&["policy", "auto-approve", "bad", "all"])?;
        Ok(())
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<http::RawHttpResponse> {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        http::stateless_request(&self.gatehouse.endpoint, &self.token, "tools/call", &params)
    }

    /// The well-behaved server answers another client, and Gatehouse is still the same process.
    fn assert_works(&self) -> Result<()> {
        let params = r#""name":"current_time","arguments":{"timezone":"UTC"}"#;
        let answer = http::stateless_request(&self.gatehouse.endpoint, &self.other, "tools/call", params)?;
        ensure!(answer.status == 200 && answer.body.contains("structuredContent"), "{answer:?}");
        ensure!(self.gatehouse.pid()? == self.pid && !answer.body.contains("isError\":true"), "{answer:?}");
        Ok(())
    }

    /// Waits until the record of a call of this tool has an outcome.
    fn outcome(&self, tool: &str) -> Result<String> {
        eventually(format_args!("the record of {tool}"), || {
            let calls = self.gatehouse.ask(&["calls"])?;
            let found = calls.as_array().into_iter().flatten().find(|call| call["exposedName"] == tool);
            let outcome = found.map(|call| call["outcome"].to_string());
            Ok(outcome.ok_or_else(|| format!("{calls:#}")))
        })
    }
}

/// Tried: output schemas whose check takes for ever (a pattern, branches), overflows the stack, or is
/// huge. Stopped by: a separate process for each check, with limits on time and memory; the result
/// reaches its client all the same.
#[test]
fn bounds_output_schema_validation() -> Result<()> {
    let testbed = BadServerTestbed::start()?;
    testbed.add("bombs")?;
    for bomb in fixture::BOMBS {
        let tool = format!("bomb_{bomb}");
        let answer = testbed.call(&tool, &json!({}))?;
        ensure!(answer.status == 200 && answer.body.contains(r#""text":"bomb""#), "{bomb}: {answer:?}");
        testbed.assert_works()?;
    }
    for bomb in fixture::BOMBS {
        let outcome = testbed.outcome(&format!("bomb_{bomb}"))?;
        // The validator detects this recursion and treats it as fulfilled.
        ensure!(bomb == "recursion" || outcome.contains("unfit"), "{bomb}: {outcome}");
    }
    // A schema that was given up is not tried again, and other schemas of the same server are.
    testbed.call("bomb_branches", &json!({}))?;
    let typed = testbed.call("typed", &json!({}))?;
    ensure!(typed.body.contains("structuredContent"), "{typed:?}");
    ensure!(!testbed.outcome("typed")?.contains("unfit"), "a good schema is not checked any more");
    testbed.assert_works()
}

/// Tried: the same schemas as forms for the user, all at once. Stopped by: the same; a form that cannot
/// be checked is refused, or its input is.
#[test]
fn bounds_form_schema_validation() -> Result<()> {
    let testbed = BadServerTestbed::start()?;
    let log = testbed.gatehouse.folder("log")?.join("messages");
    let words = ["--fault", "bombs", "--log", log.to_str().context("path")?];
    add(&testbed.gatehouse, "bad", ServerTransport::Stdio, &words)?;
    testbed.gatehouse.ask(&["policy", "auto-approve", "bad", "all"])?;
    let calls: Vec<_> = fixture::BOMBS
        .iter()
        .map(|name| {
            let schema = fixture::bomb(name);
            let params = format!(r#""name":"ask_form","arguments":{{"schema":{schema},"message":"{name}"}}"#);
            http::StatelessClient { name: "bytes", capabilities: "{}" }.begin(
                &testbed.gatehouse.endpoint,
                &testbed.token,
                &params,
            )
        })
        .collect();
    testbed.assert_works()?;
    eventually_holds("the end of the forms", || {
        for question in testbed.gatehouse.ask(&["approvals", "list"])?.as_array().into_iter().flatten() {
            let answer = |answer: Value| {
                let answers =
                    json!({ "answers": [{ "id": question["id"], "hash": null, "answer": answer }] });
                testbed.gatehouse.command("approvals.answer", &answers)
            };
            let content: Value = serde_json::from_str(fixture::BOMB_VALUE)?;
            let entered = answer(json!({ "answer": "accept", "content": content.to_string() }));
            ensure!(entered.is_err(), "what cannot be checked was taken: {question}");
            answer(json!({ "answer": "cancel" }))?;
        }
        Ok(calls.iter().all(http::BackgroundCall::is_finished))
    })?;
    for call in calls {
        call.end()?;
    }
    for bomb in fixture::BOMBS {
        let message = format!(r#""message":"{bomb}""#);
        ensure!(logged_calls(&log, &message) > 0, "the server was never asked for {bomb}");
    }
    testbed.assert_works()
}

/// Tried: an endless list of tools with one mebibyte per page. Stopped by: the limit on the bytes of a
/// list.
#[test]
fn bounds_endless_tool_list() -> Result<()> {
    let testbed = BadServerTestbed::start()?;
    add_unconnected(&testbed.gatehouse, "bad", ServerTransport::Stdio, &["--fault", "big-pages"])?;
    testbed.assert_works()?;
    testbed.gatehouse.await_status("bad", "connected")?;
    let log = testbed.gatehouse.ask(&["servers", "log", "bad"])?.to_string();
    ensure!(log.contains("larger than 32 MiB"), "{log}");
    testbed.assert_works()
}

/// Tried: thousands of log messages, or of long progress notifications, before each answer. Stopped by:
/// the limits on queued messages for a client and on stored ones; the answer arrives, and other clients
/// are served meanwhile.
#[test]
fn bounds_notification_floods() -> Result<()> {
    for fault in ["notification-flood=100000", "progress-flood=20000"] {
        let testbed = BadServerTestbed::start()?;
        testbed.add(fault)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (endpoint, token) = (testbed.gatehouse.endpoint.clone(), testbed.token.clone());
        let stopped = Arc::clone(&stop);
        let flooding = std::thread::spawn(move || -> Result<()> {
            let params = r#""name":"echo","arguments":{"n":1}"#;
            loop {
                let answer = http::stateless_request(&endpoint, &token, "tools/call", params)?;
                ensure!(answer.status == 200 && answer.body.contains(r#"{"n":1}"#), "{answer:?}");
                if stopped.load(Ordering::SeqCst) {
                    return Ok(());
                }
            }
        });
        for _ in 0..10 {
            testbed.assert_works()?;
        }
        stop.store(true, Ordering::SeqCst);
        flooding.join().map_err(|_| anyhow::anyhow!("the flood broke off"))??;
        testbed.assert_works()?;
    }
    Ok(())
}

/// Tried: calls with arguments of many mebibytes that all need approval. Stopped by: the limit on the
/// pending bytes of each client.
#[test]
fn bounds_bytes_of_pending_approvals() -> Result<()> {
    let testbed = BadServerTestbed::start()?;
    add(&testbed.gatehouse, "asked", ServerTransport::Stdio, &[])?;
    let large = "x".repeat(12 * 1024 * 1024);
    let mut waiting = Vec::new();
    for number in 0..2 {
        let arguments = json!({ "text": format!("{number}{large}") }).to_string();
        waiting.push(http::BackgroundCall::call(
            &testbed.gatehouse.endpoint,
            &testbed.token,
            "write_note",
            &arguments,
        ));
    }
    approvals::wait_for_count(&testbed.gatehouse, 2)?;
    let answer = testbed.call("write_note", &json!({ "text": format!("2{large}") }))?;
    ensure!(answer.body.contains("too large together"), "{}", &answer.body[..answer.body.len().min(400)]);
    testbed.assert_works()?;
    approvals::wait_for_count(&testbed.gatehouse, 2)?;
    testbed.gatehouse.ask(&["approvals", "answer", "--all", "deny"])?;
    for call in waiting {
        let end = call.end()?;
        ensure!(end.body.contains(r#""isError":true"#), "it ran: {}", start(&end));
    }
    Ok(())
}

/// A server whose calls need approval, and the file in which it logs what reaches it.
fn noted(testbed: &BadServerTestbed) -> Result<PathBuf> {
    let log = testbed.gatehouse.folder("log")?.join("messages");
    add(&testbed.gatehouse, "asked", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    Ok(log)
}

/// The start of an answer that may be large.
fn start(answer: &http::RawHttpResponse) -> String {
    answer.body.chars().take(400).collect()
}

/// Tried: one call of ten mebibytes again and again, so that each has its own bytes pending at the one
/// approval request. Stopped by: the same limit, in which each pending call counts; further calls are
/// refused at once and do not run. Those that fit share one approval and one run.
#[test]
fn a_client_fills_the_memory_with_one_approval_request() -> Result<()> {
    const FITTING: usize = 3;
    let testbed = BadServerTestbed::start()?;
    let log = noted(&testbed)?;
    // The run takes longer than the calls that share it need to join it. Identical calls look like repeats of one that
    // gave up, so some may be told to call again before the answer, and do.
    let arguments = json!({ "ms": 6000, "pad": "x".repeat(10 * 1024 * 1024) }).to_string();
    let (endpoint, token) = (&testbed.gatehouse.endpoint, &testbed.token);
    let call = || http::BackgroundCall::until_decided(endpoint, token, "slow", &arguments);
    let mut all = vec![call()];
    approvals::wait_for_count(&testbed.gatehouse, 1)?;
    all.extend((0..FITTING).map(|_| call()));
    // One of them exceeds the limit once the others are pending; which one depends on the order of
    // arrival.
    let over = eventually("the refusal of one of them", || {
        Ok(all.iter().position(http::BackgroundCall::is_finished).ok_or("all of them wait"))
    })?;
    let answer = all.remove(over).end()?;
    let said = start(&answer);
    ensure!(said.contains("too large together") && said.contains("did not run"), "{said}");
    testbed.assert_works()?;
    let question = approvals::wait_for_pending(&testbed.gatehouse, 1)?.remove(0);
    ensure!(
        all.len() == FITTING && !all.iter().any(http::BackgroundCall::is_finished),
        "more than one was refused"
    );
    approvals::allow(
        &testbed.gatehouse,
        &question["id"],
        &question["request"]["hash"],
        &approvals::once_choice(),
    )?;
    for call in all {
        let end = call.end()?;
        ensure!(end.body.contains("slept") && !end.body.contains(r#""isError":true"#), "{}", start(&end));
    }
    approvals::wait_for_count(&testbed.gatehouse, 0)?;
    ensure!(logged_calls(&log, "") == 1, "it ran {} times", logged_calls(&log, ""));
    Ok(())
}

/// Tried: results of fifteen mebibytes that may not have been received, so that they are all kept for
/// the next identical call. Stopped by: the budget of 64 MiB for the results kept for a client. The
/// oldest is dropped, and its call needs approval again; the others are returned without approval, and
/// nothing runs twice.
#[test]
fn a_server_fills_the_memory_with_results_that_are_kept() -> Result<()> {
    const MARK: &str = "gatehouse/earlierResult";
    let testbed = BadServerTestbed::start()?;
    let gatehouse = &testbed.gatehouse;
    let log = noted(&testbed)?;
    let call = |number: usize| {
        let arguments = json!({ "bytes": 15 * 1024 * 1024 + number }).to_string();
        http::BackgroundCall::call(&gatehouse.endpoint, &testbed.token, "big", &arguments)
    };
    let mut waiting = Vec::new();
    for number in 0..5 {
        waiting.push(call(number));
        approvals::wait_for_pending(gatehouse, number + 1)?;
    }
    let questions = approvals::wait_for_pending(gatehouse, waiting.len())?;
    approvals::wait_for_min_client_timeout(questions.last().context("no question")?)?;
    for (question, call) in questions.iter().zip(waiting) {
        approvals::allow(
            gatehouse,
            &question["id"],
            &question["request"]["hash"],
            &approvals::once_choice(),
        )?;
        let answer = call.end()?;
        ensure!(answer.status == 200 && !answer.body.contains(MARK), "{}", start(&answer));
    }
    testbed.assert_works()?;
    for number in 1..5 {
        let answer = call(number).end()?;
        ensure!(answer.body.contains(MARK), "{number} was not kept: {}", start(&answer));
    }
    let oldest = call(0);
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("no id")?, "deny"])?;
    let answer = oldest.end()?;
    ensure!(answer.body.contains(r#""isError":true"#), "the oldest was kept: {}", start(&answer));
    ensure!(logged_calls(&log, "") == 5, "there were {} runs", logged_calls(&log, ""));
    Ok(())
}
