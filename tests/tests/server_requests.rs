//! Requests of servers during calls (SRV-15): the client of the call answers if it can, the user if it
//! cannot, for all combinations of revisions and transports.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals;
use gatehouse_tests::client::{CallOutcome, Client, Sdk};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::{Value, json};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// The answer that the fixture received.
fn answered(answer: &CallOutcome) -> Result<Value> {
    let CallOutcome::Result(result) = answer else { anyhow::bail!("{answer:?}") };
    Ok(result["structuredContent"]["answer"].clone())
}

fn add_allowed(
    gatehouse: &Gatehouse,
    name: &str,
    over: ServerTransport,
    more: &[&str],
) -> Result<FixtureServer> {
    let upstream = add(gatehouse, name, over, more)?;
    gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
    Ok(upstream)
}

fn answers() -> Value {
    json!({
        "form": { "action": "accept", "content": { "name": "Zoe" } },
        "url": { "action": "accept" },
        "sampling": "Hello from a model",
        "roots": [{ "uri": "file:///work", "name": "work" }],
    })
}

/// Each of the four requests, sent to a client of either revision by a server of either protocol family
/// over each transport, is answered as the client answered it, the form with its defaults.
#[test]
fn client_answers_server_requests() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let mut upstreams = Vec::new();
    for over in ServerTransport::ALL {
        for lifecycle in ["legacy", "modern"] {
            if over == ServerTransport::Sse && lifecycle == "modern" {
                // The older transport has no newer revision.
                continue;
            }
            let name = format!("{over:?}-{lifecycle}");
            upstreams.push(add_allowed(&gatehouse, &name, over, &["--lifecycle", lifecycle])?);
            gatehouse.ask(&["servers", "stop", &name])?;
        }
    }
    let token = gatehouse.add_client("Able")?;
    for revision in [OLD, NEW] {
        let mut client = Client::connect_answering(revision, &gatehouse.endpoint, &token, &answers())?;
        for over in ServerTransport::ALL {
            for lifecycle in ["legacy", "modern"] {
                let name = format!("{over:?}-{lifecycle}");
                if over == ServerTransport::Sse && lifecycle == "modern" {
                    continue;
                }
                gatehouse.ask(&["servers", "start", &name])?;
                gatehouse.await_status(&name, "connected")?;
                let exposed = exposed(&gatehouse, &name, "ask_form")?;
                let form = answered(&client.call(&exposed, &json!({}))?)?;
                // Between two peers of the newest revision, Gatehouse does not fill in defaults.
                let expected = if (revision, lifecycle) == (NEW, "modern") {
                    json!({ "name": "Zoe" })
                } else {
                    json!({ "name": "Zoe", "age": 30, "agree": true, "colour": "green" })
                };
                ensure!(form["content"] == expected, "{revision} {name}: {form}");
                let url = answered(&client.call(&exposed.replace("ask_form", "ask_url"), &json!({}))?)?;
                ensure!(url["action"] == "accept", "{revision} {name}: {url}");
                let model = answered(&client.call(&exposed.replace("ask_form", "ask_model"), &json!({}))?)?;
                ensure!(model["content"]["text"] == "Hello from a model", "{revision} {name}: {model}");
                let roots = answered(&client.call(&exposed.replace("ask_form", "ask_roots"), &json!({}))?)?;
                ensure!(roots["roots"][0]["uri"] == "file:///work", "{revision} {name}: {roots}");
                for method in
                    ["elicitation/create", "elicitation/create", "sampling/createMessage", "roots/list"]
                {
                    let asked = client.next_message("asked")?;
                    ensure!(asked["asked"] == method, "{revision} {name}: {asked}");
                }
                gatehouse.ask(&["servers", "stop", &name, "--disable"])?;
            }
        }
    }
    Ok(())
}

fn exposed(gatehouse: &Gatehouse, server: &str, tool: &str) -> Result<String> {
    let tools = gatehouse.ask(&["tools", "list", "--server", server])?;
    let found =
        tools.as_array().into_iter().flatten().find(|view| view["tool"] == tool || view["name"] == tool);
    Ok(found.with_context(|| format!("{tool} is not in {tools:#}"))?["exposedName"]
        .as_str()
        .context("no name")?
        .to_owned())
}

/// A client that can answer nothing: the user answers, here in a terminal, and no answer is no consent.
/// For a server of either protocol family and a client of either revision.
#[test]
fn user_answers_when_client_cannot() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Plain")?;
    let mut person = gatehouse.person()?;
    for (lifecycle, revision, sdk) in [
        ("legacy", OLD, Sdk::TypeScript),
        ("legacy", NEW, Sdk::Python),
        ("modern", OLD, Sdk::Python),
        ("modern", NEW, Sdk::TypeScript),
    ] {
        let name = format!("{lifecycle}-{revision}");
        let _upstream = add_allowed(&gatehouse, &name, ServerTransport::Stdio, &["--lifecycle", lifecycle])?;
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let form = exposed(&gatehouse, &name, "ask_form")?;

        let call = client.begin(&form, &json!({}))?;
        let question = person.next_approval()?;
        let asks = &question["request"];
        ensure!(asks["kind"] == "elicitation" && asks["server"]["name"] == name.as_str(), "{question:#}");
        ensure!(asks["client"]["name"] == "Plain", "whose call it is was not said: {question:#}");
        ensure!(asks["want"]["mode"] == "form", "{question:#}");
        person.answer(&question, "allow")?;
        let answer = answered(&client.finish(&call)?)?;
        ensure!(answer["content"]["name"] == "Ann", "the defaults were not sent: {answer}");

        let call = client.begin(&form.replace("ask_form", "ask_url"), &json!({}))?;
        let question = person.next_approval()?;
        let want = &question["request"]["want"];
        ensure!(want["mode"] == "url" && want["host"] == "127.0.0.1", "{question:#}");
        ensure!(want["url"] == "http://127.0.0.1:9/sign?x=1", "the address was not shown in full: {want}");
        person.answer(&question, "deny")?;
        let answer = answered(&client.finish(&call)?)?;
        ensure!(answer["action"] == "decline", "{answer}");

        let call = client.begin(&form.replace("ask_form", "ask_model"), &json!({}))?;
        let question = person.next_approval()?;
        ensure!(question["request"]["kind"] == "sampling", "{question:#}");
        ensure!(
            question["request"]["messages"][0].as_str().is_some_and(|text| text.contains("Say hello")),
            "{question:#}"
        );
        person.answer(&question, "deny")?;
        // The refusal is an error for the server, or for the call that cannot continue.
        let text = format!("{:?}", client.finish(&call)?);
        ensure!(text.contains("rejected"), "{text}");

        let roots = answered(&client.call(&form.replace("ask_form", "ask_roots"), &json!({}))?)?;
        ensure!(roots["roots"] == json!([]), "folders were given away that nobody named: {roots}");
        gatehouse.ask(&["servers", "stop", &name, "--disable"])?;
    }
    Ok(())
}

/// A server over standard streams does not say which call a request belongs to. With two clients in
/// flight neither of them gets it.
#[test]
fn user_answers_when_call_is_ambiguous() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("shared");
    let words = ["--lifecycle", "legacy", "--log", log.to_str().context("path")?];
    let _upstream = add_allowed(&gatehouse, "shared", ServerTransport::Stdio, &words)?;
    let first = gatehouse.add_client("First")?;
    let second = gatehouse.add_client("Second")?;
    let mut busy = Client::connect_answering(OLD, &gatehouse.endpoint, &first, &answers())?;
    let mut asking = Client::connect_answering(OLD, &gatehouse.endpoint, &second, &answers())?;
    let mut person = gatehouse.person()?;
    let slow = busy.begin("slow", &json!({ "ms": 60_000 }))?;
    // Both calls are at the server before it sends its request.
    wait_for_log_line(&log, "started")?;
    let call = asking.begin("ask_form", &json!({}))?;
    let question = person.next_approval()?;
    ensure!(question["request"]["kind"] == "elicitation", "{question:#}");
    ensure!(question["request"]["client"] == Value::Null, "it is not known who is asked for: {question:#}");
    person.answer(&question, "deny")?;
    let answer = answered(&asking.finish(&call)?)?;
    ensure!(answer["action"] == "decline", "{answer}");
    busy.cancel(&slow)?;
    ensure!(asking.buffered_count("asked") == 0 && busy.buffered_count("asked") == 0, "a client was asked");
    Ok(())
}

/// What a server asks ends with its call: when the client cancels it, and in the newest revision also when the client's
/// connection is lost. In a session, a lost connection cancels nothing.
#[test]
fn question_ends_with_its_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("asked");
    let log_option = log.to_str().context("path")?.to_owned();
    for over in [ServerTransport::Stdio, ServerTransport::Http] {
        for lifecycle in ["legacy", "modern"] {
            let name = format!("{over:?}-{lifecycle}");
            let words = ["--lifecycle", lifecycle, "--log", &log_option];
            let _upstream = add_allowed(&gatehouse, &name, over, &words)?;
            let tool = exposed(&gatehouse, &name, "ask_form")?;
            for revision in [OLD, NEW] {
                let token = gatehouse.add_client(&format!("{name} {revision}"))?;
                let mut client =
                    Client::connect(Sdk::TypeScript, revision, &gatehouse.endpoint, Some(&token))?;
                let call = client.begin(&tool, &json!({}))?;
                let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
                ensure!(question["request"]["kind"] == "elicitation", "{question:#}");
                client.cancel(&call)?;
                approvals::wait_for_pending(&gatehouse, 0)?;
                ensure!(matches!(client.finish(&call)?, CallOutcome::Error(_)), "{name} {revision}");

                client.begin(&tool, &json!({}))?;
                approvals::wait_for_pending(&gatehouse, 1)?;
                drop(client);
                if revision == OLD {
                    // The session is left; its end ends the call.
                    approvals::wait_for_pending(&gatehouse, 1)?;
                    gatehouse.ask(&["clients", "revoke", &format!("{name} {revision}")])?;
                }
                approvals::wait_for_pending(&gatehouse, 0)?;
            }
            if name == "Stdio-legacy" {
                let cancelled = wait_for_log_line(&log, "notifications/cancelled")?;
                ensure!(cancelled.contains("the user stopped it"), "the reason was lost: {cancelled}");
            }
            gatehouse.ask(&["servers", "stop", &name, "--disable"])?;
        }
    }
    Ok(())
}

/// Waits until a line of a file contains these words, and returns it.
fn wait_for_log_line(path: &Path, words: &str) -> Result<String> {
    eventually(format!("a line with {words}"), || {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.contains(words)).map(str::to_owned);
        Ok(line.ok_or(text))
    })
}

/// A mode that was not declared is refused, and is not shown to the user.
#[test]
fn rejects_undeclared_elicitation_mode() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Able")?;
    for lifecycle in ["legacy", "modern"] {
        let _upstream =
            add_allowed(&gatehouse, lifecycle, ServerTransport::Stdio, &["--lifecycle", lifecycle])?;
        let mut client = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
        let tool = exposed(&gatehouse, lifecycle, "ask_undeclared")?;
        let text = format!("{:?}", client.call(&tool, &json!({}))?);
        ensure!(text.contains("-32602"), "{lifecycle}: {text}");
        ensure!(client.buffered_count("asked") == 0, "the client was asked");
        gatehouse.ask(&["servers", "stop", lifecycle, "--disable"])?;
    }
    Ok(())
}

/// `-32042`: the user is sent to the page and the call is retried, at most three times; a client that
/// can do that itself gets the error unchanged.
#[test]
fn retries_after_url_elicitation_at_most_three_times() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add_allowed(&gatehouse, "pages", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    let token = gatehouse.add_client("Plain")?;
    let mut person = gatehouse.person()?;
    let mut client = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
    let call = client.begin("ask_url_error", &json!({ "times": 3 }))?;
    for _ in 0..3 {
        let question = person.next_approval()?;
        ensure!(question["request"]["want"]["untilDone"] == true, "{question:#}");
        person.answer(&question, "allow")?;
    }
    let answer = client.finish(&call)?;
    ensure!(answer.text().contains("signed"), "{answer:?}");

    let call = client.begin("ask_url_error", &json!({ "times": 9 }))?;
    for _ in 0..3 {
        let question = person.next_approval()?;
        person.answer(&question, "allow")?;
    }
    let answer = client.finish(&call)?;
    ensure!(matches!(&answer, CallOutcome::Error(error) if error["code"] == -32042), "{answer:?}");

    let mut able = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &answers())?;
    let answer = able.call("ask_url_error", &json!({ "times": 99 }))?;
    ensure!(matches!(&answer, CallOutcome::Error(error) if error["code"] == -32042), "{answer:?}");
    Ok(())
}

/// A server that sends a request without a call in flight asks the user.
#[test]
fn unsolicited_server_request_goes_to_user() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let mut person = gatehouse.person()?;
    let log = gatehouse.folder("log")?.join("asks");
    let words = ["--lifecycle", "legacy", "--fault", "asks-at-start", "--log", log.to_str().context("path")?];
    let _upstream = add(&gatehouse, "curious", ServerTransport::Stdio, &words)?;
    let question = person.next_approval()?;
    ensure!(
        question["request"]["kind"] == "elicitation" && question["request"]["client"] == Value::Null,
        "{question:#}"
    );
    person.answer(&question, "allow")?;
    let line = wait_for_log_line(&log, "# asked at start:")?;
    ensure!(line.contains("accept"), "{line}");
    Ok(())
}
