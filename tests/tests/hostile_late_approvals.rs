//! A client leaves while a person decides, gives up without a sign, or has another program call in its
//! place, so that an approval acts without a waiting client, acts twice, or acts for another program.
//! Each test states what was tried and what stopped it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use gatehouse_tests::sse_stream::SseStream;
use gatehouse_tests::{approvals, http};
use serde_json::{Value, json};

const STATEFUL: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
const NOTE: &str = r#""name":"write_note","arguments":{"text":"milk"}"#;
const MARK: &str = "gatehouse/earlierResult";

/// A fixture that logs what reaches it, and its log file.
fn logging_fixture(gatehouse: &Gatehouse) -> Result<(FixtureServer, PathBuf)> {
    let log = gatehouse.folder("log")?.join("messages");
    let upstream = add(gatehouse, "raw", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    Ok((upstream, log))
}

/// How many calls reached the server.
fn calls(log: &Path) -> usize {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains(r#""tools/call""#)).count()
}

fn allow(gatehouse: &Gatehouse, question: &Value) -> Result<()> {
    approvals::allow(gatehouse, &question["id"], &question["request"]["hash"], &approvals::once_choice())?;
    approvals::wait_for_pending(gatehouse, 0)?;
    Ok(())
}

/// A client that speaks HTTP directly, in a session or without.
struct RawClient<'a> {
    gatehouse: &'a Gatehouse,
    token: &'a str,
    session: Option<String>,
    calls: u32,
}

impl<'a> RawClient<'a> {
    fn connect(gatehouse: &'a Gatehouse, token: &'a str, revision: &str) -> Result<Self> {
        let mut raw = Self { gatehouse, token, session: None, calls: 0 };
        if revision == STATEFUL {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{STATEFUL}","capabilities":{{}},"clientInfo":{{"name":"raw","version":"1"}}}}}}"#
            );
            let authorization = format!("Bearer {token}");
            let headers = [
                ("Authorization", authorization.as_str()),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
            ];
            let answer = http::post(&gatehouse.endpoint, &headers, body.as_bytes())?;
            raw.session = Some(answer.header("mcp-session-id").context("no session")?.to_owned());
        }
        Ok(raw)
    }

    fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Authorization".into(), format!("Bearer {}", self.token)),
            ("Content-Type".into(), "application/json".into()),
            ("Accept".into(), "application/json, text/event-stream".into()),
        ];
        match &self.session {
            Some(session) => headers.push(("Mcp-Session-Id".into(), session.clone())),
            None => headers.extend([
                ("MCP-Protocol-Version".into(), STATELESS.into()),
                ("Mcp-Method".into(), "tools/call".into()),
            ]),
        }
        headers
    }

    /// Sends a call; the answer is read from the stream.
    fn begin(&mut self, params: &str) -> Result<SseStream> {
        self.calls += 1;
        let meta = if self.session.is_some() {
            String::new()
        } else {
            format!(
                r#","_meta":{{"io.modelcontextprotocol/protocolVersion":"{STATELESS}","io.modelcontextprotocol/clientInfo":{{"name":"raw","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
            )
        };
        let id = self.calls;
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{params}{meta}}}}}"#);
        let mut headers = self.headers();
        if self.session.is_none() {
            let name = params.split('"').nth(3).context("no name")?;
            headers.push(("Mcp-Name".into(), name.into()));
        }
        SseStream::open(&self.gatehouse.endpoint, "POST", &headers, &body)
    }

    /// Resumes after an event.
    fn resume(&self, last: &str) -> Result<SseStream> {
        let mut headers = self.headers();
        headers.push(("Last-Event-ID".into(), last.into()));
        SseStream::open(&self.gatehouse.endpoint, "GET", &headers, "")
    }
}

/// Tried: to call, to close the connection while the approval is pending, and to call again after it was
/// given, so that it acts without a waiting client and then once more. Stopped by: the closed stream;
/// the approval becomes a one-time ticket, runs nothing by itself, and lets the repeated call through
/// once.
#[test]
fn approval_after_disconnect_allows_one_repeat() -> Result<()> {
    for revision in [STATEFUL, STATELESS] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) = logging_fixture(&gatehouse)?;
        let token = gatehouse.add_client("agent")?;
        let mut client = RawClient::connect(&gatehouse, &token, revision)?;
        let left = client.begin(NOTE)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        drop(left);
        eventually_holds("nobody waits", || {
            Ok(approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] == false)
        })?;
        allow(&gatehouse, &question)?;
        let answer = client.begin(NOTE)?.answer()?;
        ensure!(!answer.contains(r#""isError":true"#), "{revision}: {answer}");
        ensure!(calls(&log) == 1, "{revision}: it ran {} times", calls(&log));
        let third = client.begin(NOTE)?;
        approvals::wait_for_pending(&gatehouse, 1)?;
        ensure!(calls(&log) == 1, "{revision}: the ticket was good twice");
        drop(third);
    }
    Ok(())
}

/// Tried: to end its session, or to cancel, while the approval is pending. Stopped by: the same.
#[test]
fn approval_after_session_end_or_cancel_runs_nothing() -> Result<()> {
    for ends in [true, false] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) = logging_fixture(&gatehouse)?;
        let token = gatehouse.add_client("agent")?;
        let mut client = RawClient::connect(&gatehouse, &token, STATEFUL)?;
        let left = client.begin(NOTE)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        let headers = client.headers();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        if ends {
            http::send("DELETE", &gatehouse.endpoint, &headers, b"")?;
            client = RawClient::connect(&gatehouse, &token, STATEFUL)?;
        } else {
            let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
            http::post(&gatehouse.endpoint, &headers, cancel)?;
        }
        eventually_holds("nobody waits", || {
            Ok(approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] == false)
        })?;
        allow(&gatehouse, &question)?;
        ensure!(calls(&log) == 0, "it ran with nobody there");
        let answer = client.begin(NOTE)?.answer()?;
        ensure!(!answer.contains(r#""isError":true"#) && calls(&log) == 1, "{answer}");
        drop(left);
    }
    Ok(())
}

/// Not an attack: a connection breaks, and the client resumes the stream before the answer. It waits
/// again, and gets the result of the one run.
#[test]
fn resumed_stream_receives_result() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    let token = gatehouse.add_client("agent")?;
    let mut client = RawClient::connect(&gatehouse, &token, STATEFUL)?;
    let mut broken = client.begin(NOTE)?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let last = broken.line("id: ")?.trim().trim_start_matches("id: ").to_owned();
    drop(broken);
    eventually_holds("nobody waits", || {
        Ok(approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] == false)
    })?;
    let mut again = client.resume(&last)?;
    eventually_holds("somebody waits", || {
        Ok(approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] == true)
    })?;
    allow(&gatehouse, &question)?;
    let answer = again.answer()?;
    ensure!(!answer.contains(r#""isError":true"#) && calls(&log) == 1, "{answer}");
    Ok(())
}

/// Tried: to give up without a sign, as some libraries do, and to call again: while the approval is
/// pending, while the first call runs, and after it. Stopped by: identical calls of one client and
/// program share one run under one approval, and a result that may not have been received is returned to
/// the next of them, once.
#[test]
fn identical_retries_share_one_run() -> Result<()> {
    for revision in [STATEFUL, STATELESS] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) = logging_fixture(&gatehouse)?;
        let token = gatehouse.add_client("agent")?;
        let mut client = RawClient::connect(&gatehouse, &token, revision)?;
        // The client is seen to wait, so that its next repeat doesn't count as a time-out.
        let mut patient = client.begin(r#""name":"write_note","arguments":{"text":"patience"}"#)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::wait_for_telling_age(&question)?;
        approvals::deny(&gatehouse, &question)?;
        patient.answer()?;
        // This answer is not read, and its connection stays open.
        let silent = client.begin(NOTE)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::wait_for_min_client_timeout(&question)?;
        let mut meanwhile = client.begin(NOTE)?;
        allow(&gatehouse, &question)?;
        let answer = meanwhile.answer()?;
        ensure!(!answer.contains("still waiting for the user"), "{revision}: {answer}");
        ensure!(!answer.contains(r#""isError":true"#), "{revision}: {answer}");
        ensure!(
            approvals::wait_for_pending(&gatehouse, 0)?.is_empty() && calls(&log) == 1,
            "{revision}: ran again"
        );
        drop((silent, meanwhile));

        // Nothing is known of how long another client waits.
        let token = gatehouse.add_client("slow")?;
        let mut client = RawClient::connect(&gatehouse, &token, revision)?;
        let slow = r#""name":"slow","arguments":{"ms":1500}"#;
        let silent = client.begin(slow)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::wait_for_min_client_timeout(&question)?;
        allow(&gatehouse, &question)?;
        eventually_holds("it runs", || Ok(fs::read_to_string(&log)?.contains("started")))?;
        let answer = client.begin(slow)?.answer()?;
        ensure!(answer.contains(MARK) && calls(&log) == 2, "{revision}: {answer}");
        drop(silent);

        let last = r#""name":"write_note","arguments":{"text":"last"}"#;
        let mut silent = client.begin(last)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::wait_for_min_client_timeout(&question)?;
        allow(&gatehouse, &question)?;
        silent.answer()?;
        let answer = client.begin(last)?.answer()?;
        ensure!(answer.contains(MARK) && answer.contains("not run again"), "{revision}: {answer}");
        ensure!(calls(&log) == 3, "{revision}: it ran again");
        gatehouse.command("calls.list", &json!({ "filter": {} })).map(|calls| {
            ensure!(calls.to_string().contains("repeated"), "{revision}: it is not marked: {calls:#}");
            Ok(())
        })??;
        let third = client.begin(last)?;
        approvals::wait_for_pending(&gatehouse, 1)?;
        ensure!(calls(&log) == 3, "{revision}: the result was good twice");
        drop(third);
    }
    Ok(())
}

/// The same with a third-party library: `mcp` from PyPI gives up after its own time-out.
#[test]
fn python_sdk_retry_after_timeout_runs_once() -> Result<()> {
    for revision in [STATEFUL, STATELESS] {
        let gatehouse = Gatehouse::start()?;
        let (_upstream, log) = logging_fixture(&gatehouse)?;
        let token = gatehouse.add_client("agent")?;
        let mut client = Client::connect(Sdk::Python, revision, &gatehouse.endpoint, Some(&token))?;
        let note = json!({ "text": "milk" });
        let call = client.begin_with_timeout("write_note", &note, 3500)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(!client.finish(&call)?.is_ok(), "{revision}: it did not give up");
        // An answer that overtakes the cancellation starts the call, and the cancellation ends it.
        eventually_holds("nobody waits", || {
            Ok(approvals::wait_for_pending(&gatehouse, 1)?[0]["waiting"] == false)
        })?;
        approvals::allow(
            &gatehouse,
            &question["id"],
            &question["request"]["hash"],
            &approvals::once_choice(),
        )?;
        let answer = client.call("write_note", &note)?;
        ensure!(answer.is_ok(), "{revision}: {answer:?}");
        ensure!(calls(&log) == 1, "{revision}: it ran {} times", calls(&log));
    }
    Ok(())
}

/// Tried: another program that has the token sends the identical call of a pending approval, so that the
/// approval applies to it. Stopped by: program and session are covered by the hash that the answer
/// repeats; the call is a separate approval request, and the one that was shown stays as it was.
#[test]
fn approval_does_not_cover_another_program() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    let token = gatehouse.add_client("agent")?;
    let note = json!({ "text": "milk" });
    let mut own = Client::connect(Sdk::TypeScript, STATELESS, &gatehouse.endpoint, Some(&token))?;
    let call = own.begin("write_note", &note)?;
    let shown = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let mut thief = Client::connect(Sdk::Python, STATELESS, &gatehouse.endpoint, Some(&token))?;
    let stolen = thief.begin("write_note", &note)?;
    let both = approvals::wait_for_pending(&gatehouse, 2)?;
    ensure!(both[0]["request"] == shown["request"], "what is shown changed: {:#}", both[0]);
    ensure!(both[1]["request"]["hash"] != shown["request"]["hash"], "two programs, one hash");
    approvals::allow(&gatehouse, &shown["id"], &shown["request"]["hash"], &approvals::once_choice())?;
    ensure!(own.finish(&call)?.is_ok(), "what was shown did not run");
    let left = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    gatehouse.ask(&["approvals", "answer", left["id"].as_str().context("id")?, "deny"])?;
    ensure!(thief.finish(&stolen)?.is_tool_error(), "the other program's call ran");
    ensure!(calls(&log) == 1, "it ran {} times", calls(&log));
    Ok(())
}

/// Tried: another program that has the token sends the identical call whose result may not have been
/// received, and sends it while it runs. Stopped by: a run and its result are shared by calls of the
/// same program only. The other program's call is a separate approval request; the result is for the
/// program that was shown, and nothing runs again.
#[test]
fn another_program_calls_for_the_result() -> Result<()> {
    const THIEF: http::StatelessClient<'static> = http::StatelessClient { name: "raw", capabilities: "{}" };
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    let slow = r#""name":"slow","arguments":{"ms":1500}"#;
    for (name, params, is_finished) in [("agent", NOTE, true), ("another agent", slow, false)] {
        // A repeat teaches how long a client waits, so each has a client of its own.
        let token = gatehouse.add_client(name)?;
        let mut client = RawClient::connect(&gatehouse, &token, STATELESS)?;
        let before = calls(&log);
        let mut silent = client.begin(params)?;
        let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        approvals::wait_for_min_client_timeout(&question)?;
        allow(&gatehouse, &question)?;
        if is_finished {
            silent.answer()?;
        } else {
            eventually_holds("it runs", || Ok(fs::read_to_string(&log)?.contains("started")))?;
        }
        let stolen = THIEF.begin_with_paste(&gatehouse.endpoint, &token, params)?;
        let asked = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(asked["request"]["hash"] != question["request"]["hash"], "two programs, one hash: {asked:#}");
        gatehouse.ask(&["approvals", "answer", asked["id"].as_str().context("id")?, "deny"])?;
        let end = stolen.end()?;
        ensure!(end.body.contains(r#""isError":true"#) && !end.body.contains(MARK), "it was given: {end:?}");
        let answer = client.begin(params)?.answer()?;
        ensure!(answer.contains(MARK) && !answer.contains(r#""isError":true"#), "{answer}");
        ensure!(calls(&log) == before + 1, "it ran {} times", calls(&log) - before);
        drop(silent);
    }
    Ok(())
}

/// Tried: a call to a server that the user has stopped. Stopped by: a stopped server stays stopped until
/// it is started; no approval is requested, and the model reads what to do.
#[test]
fn call_does_not_start_stopped_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let (_upstream, log) = logging_fixture(&gatehouse)?;
    let token = gatehouse.add_client("agent")?;
    for allowed in [false, true] {
        if allowed {
            gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
        }
        gatehouse.ask(&["servers", "stop", "raw"])?;
        gatehouse.await_status("raw", "stopped")?;
        let params = r#""name":"echo","arguments":{}"#;
        let end = http::stateless_request(&gatehouse.endpoint, &token, "tools/call", params)?;
        ensure!(end.body.contains(r#""isError":true"#) && end.body.contains("stopped"), "{end:?}");
        approvals::wait_for_pending(&gatehouse, 0)?;
        gatehouse.await_status("raw", "stopped")?;
        ensure!(calls(&log) == 0, "it was called");
        gatehouse.ask(&["servers", "start", "raw"])?;
        gatehouse.await_status("raw", "connected")?;
    }
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "echo", "{}");
    ensure!(call.end()?.status == 200 && calls(&log) == 1, "it is not called after the start");
    Ok(())
}
