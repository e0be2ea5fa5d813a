//! Answering requests in a terminal without a window: forms with required fields, prompts for a model, and all that
//! wait at once.

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::wait_for_pending;
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::BackgroundCall;
use serde_json::{Value, json};

/// A form with a field of each kind; the name and the size are required.
const FORM: &str = concat!(
    r#"{"schema":{"type":"object","properties":{"name":{"type":"string","title":"Your name","minLength":2},"#,
    r#""size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]},"#,
    r#""age":{"type":"integer","minimum":0,"default":30},"agree":{"type":"boolean"},"#,
    r#""colours":{"type":"array","items":{"type":"string","enum":["red","green","blue"]}},"#,
    r#""note":{"type":"string"}},"required":["name","size"]}}"#
);

/// A server whose tools run without approval, so that only what it asks for waits.
fn asking_server(gatehouse: &Gatehouse) -> Result<String> {
    add(gatehouse, "asking", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    gatehouse.ask(&["policy", "auto-approve", "asking", "all"])?;
    gatehouse.add_client("Plain")
}

fn id(pending: &Value) -> Result<&str> {
    pending["id"].as_str().context("no id")
}

/// The answer that the server received, which it gives back as `{"answer":…}`. The result may come on a stream.
fn received(call: BackgroundCall) -> Result<Value> {
    let end = call.end()?;
    let (_, rest) =
        end.body.split_once(r#""structuredContent":"#).with_context(|| format!("no answer: {end:?}"))?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    Ok(values.next().context("no JSON")??["answer"].clone())
}

/// The name that clients use for a tool.
fn exposed(gatehouse: &Gatehouse, server: &str, tool: &str) -> Result<String> {
    let tools = gatehouse.ask(&["tools", "list", server])?;
    let found = tools.as_array().into_iter().flatten().find(|view| view["name"] == tool);
    let found = found.with_context(|| format!("{tool} is not in {tools:#}"))?;
    Ok(found["exposedName"].as_str().context("exposedName")?.to_owned())
}

/// Form data is given as JSON, checked by the core, and an error names the field.
#[test]
fn form_with_required_fields_is_answered_with_json() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = asking_server(&gatehouse)?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "ask_form", FORM);
    let pending = wait_for_pending(&gatehouse, 1)?.remove(0);
    let shown = gatehouse.run_as_operator(&["approvals", "list"])?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for said in ["Your name (name)", "required", "2) l  Large", "Enter for “30”"] {
        ensure!(shown.contains(said), "{said} is missing: {shown}");
    }
    let answer = |words: &[&str]| gatehouse.run_as_operator(&[&["approvals", "answer"], words].concat());
    for (words, code, said) in [
        (&[id(&pending)?, "allow"][..], 1, "name"),
        (&[id(&pending)?, "--content", r#"{"name":"Zoe"}"#], 1, "size"),
        (&[id(&pending)?, "--content", r#"{"name":"Zoe","size":"s","age":"old"}"#], 1, "“age”"),
        (&[id(&pending)?, "--content", r#"{"name":"Z","size":"s"}"#], 1, "“name”"),
        (&[id(&pending)?, "--content", "[]"], 1, "object"),
        (&[id(&pending)?, "--content", "no JSON"], 1, "object"),
        (&[id(&pending)?, "allow", "--content", "{}"], 2, "--content"),
        (&[id(&pending)?], 2, "ANSWER"),
    ] {
        let output = answer(words)?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(code), "{words:?}: {output:?}");
        ensure!(error.contains(said), "{words:?} does not name {said}: {error}");
    }
    let unprivileged = gatehouse.run_unprivileged(&[
        "approvals",
        "answer",
        id(&pending)?,
        "--content",
        r#"{"name":"Eve","size":"s"}"#,
    ])?;
    ensure!(unprivileged.status.code() == Some(4), "{unprivileged:?}");
    let output = answer(&[id(&pending)?, "--content", r#"{"name":"Zoe","size":"s"}"#])?;
    ensure!(output.status.success(), "{output:?}");
    let answer = received(call)?;
    ensure!(
        answer == json!({ "action": "accept", "content": { "name": "Zoe", "size": "s", "age": 30 } }),
        "{answer}"
    );
    Ok(())
}

/// The watch asks for each field, takes nothing that does not fit, and sends nothing before a final yes.
#[test]
fn watch_fills_in_form_field_by_field() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = asking_server(&gatehouse)?;
    let mut watch = gatehouse.begin_at_terminal(&["approvals", "watch"])?;
    watch.wait_for("No pending approvals")?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "ask_form", FORM);
    watch.wait_for("a fill in the form")?;
    watch.write_line("a")?;
    watch.wait_for("Field 1 of 6")?;
    watch.wait_for("Your name (name): text, required")?;
    watch.write_line("")?;
    watch.wait_for("This is required.")?;
    watch.write_line("Z")?;
    watch.wait_for("at least 2 characters")?;
    watch.write_line("Zoe")?;
    watch.wait_for("size: one of these, required")?;
    watch.wait_for("2) l  Large")?;
    watch.write_line("medium")?;
    watch.wait_for("isn't one of the choices")?;
    watch.write_line("2")?;
    watch.wait_for("age: whole number, optional, Enter for “30”")?;
    watch.write_line("many")?;
    watch.wait_for("Type a whole number.")?;
    watch.write_line("")?;
    watch.wait_for("agree: y or n, optional")?;
    watch.write_line("y")?;
    watch.wait_for("colours: any of these")?;
    watch.write_line("blue, 1")?;
    watch.wait_for("note: text, optional")?;
    watch.write_line("")?;
    let summary = watch.wait_for("y send this")?;
    for line in ["name: Zoe", "size: l", "age: 30", "agree: true", r#"colours: ["blue","red"]"#] {
        ensure!(summary.contains(line), "{line} is missing: {summary}");
    }
    // Nothing has reached the server: the request still waits, and anything but a yes leaves it so.
    watch.write_line("yes please")?;
    watch.wait_for("isn't one of the answers")?;
    ensure!(!call.is_finished(), "it was sent before it was confirmed");
    wait_for_pending(&gatehouse, 1)?;
    watch.write_line("y")?;
    watch.wait_for("allowed")?;
    let answer = received(call)?;
    let content = json!({ "name": "Zoe", "size": "l", "age": 30, "agree": true, "colours": ["blue", "red"] });
    ensure!(answer == json!({ "action": "accept", "content": content }), "{answer}");

    // A form that was begun can be declined as a whole.
    let call = BackgroundCall::call(
        &gatehouse.endpoint,
        &token,
        "ask_form",
        r#"{"schema":{"type":"object","properties":{"x":{"type":"boolean"}}}}"#,
    );
    watch.wait_for("a fill in the form")?;
    watch.write_line("a")?;
    watch.wait_for("x: y or n")?;
    watch.write_line("")?;
    watch.wait_for("(no fields)")?;
    watch.wait_for("y send this")?;
    watch.write_line("d")?;
    watch.wait_for("denied")?;
    ensure!(received(call)? == json!({ "action": "decline" }), "it was not declined");
    Ok(())
}

/// A prompt for a model is shown whole, with secrets masked and hidden characters visible, and says what the answers do.
#[test]
fn model_prompt_is_shown_whole_and_answered_by_hand() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = asking_server(&gatehouse)?;
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123";
    let prompt = format!("{} {secret} \u{202e}end of the prompt", "long ".repeat(2000));
    let arguments = json!({ "text": prompt }).to_string();
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "ask_model", &arguments);
    let pending = wait_for_pending(&gatehouse, 1)?.remove(0);
    let shown = gatehouse.run_as_operator(&["approvals", "list"])?;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for said in
        ["⟦U+202E⟧end of the prompt", "••••••", "\"maxTokens\":50", "no client that has a model can answer"]
    {
        ensure!(shown.contains(said), "{said} is missing: {shown}");
    }
    ensure!(!shown.contains(secret) && !shown.contains('\u{202e}'), "{shown}");
    ensure!(!pending.to_string().contains(secret), "{pending}");
    let answer = |words: &[&str]| gatehouse.run_as_operator(&[&["approvals", "answer"], words].concat());
    let refused = answer(&[id(&pending)?, "allow"])?;
    ensure!(refused.status.code() == Some(2), "{refused:?}");
    ensure!(String::from_utf8_lossy(&refused.stderr).contains("--content"), "{refused:?}");
    // A whole message may be given too, but has to be one: the server would get an error.
    let refused = answer(&[id(&pending)?, "--content", r#"{"role":"assistant"}"#])?;
    ensure!(refused.status.code() == Some(1), "{refused:?}");
    ensure!(String::from_utf8_lossy(&refused.stderr).contains("isn't a model's message"), "{refused:?}");
    let output = answer(&[id(&pending)?, "--content", r#""Hello\nfrom a person""#])?;
    ensure!(output.status.success(), "{output:?}");
    let answer = received(call)?;
    ensure!(answer["role"] == "assistant" && answer["content"]["text"] == "Hello\nfrom a person", "{answer}");

    let mut watch = gatehouse.begin_at_terminal(&["approvals", "watch"])?;
    watch.wait_for("No pending approvals")?;
    let call = BackgroundCall::call(&gatehouse.endpoint, &token, "ask_model", "{}");
    watch.wait_for("user: Say hello")?;
    watch.wait_for("a write the reply yourself")?;
    watch.write_line("a")?;
    watch.wait_for("Write the reply")?;
    watch.write_line(".")?;
    watch.wait_for("This is required.")?;
    watch.write_line("Two")?;
    watch.write_line("  lines")?;
    watch.write_line(".")?;
    watch.wait_for("y send this")?;
    watch.write_line("y")?;
    let answer = received(call)?;
    ensure!(answer["content"]["text"] == "Two\n  lines", "{answer}");
    Ok(())
}

/// One answer for all allows each waiting call once and nothing else, and counts for nothing that comes later.
#[test]
fn all_pending_calls_are_answered_at_once() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = asking_server(&gatehouse)?;
    add(&gatehouse, "plain", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    let echo = exposed(&gatehouse, "plain", "echo")?;
    let form = exposed(&gatehouse, "asking", "ask_form")?;
    let call = |arguments: &str| BackgroundCall::call(&gatehouse.endpoint, &token, &echo, arguments);
    let calls = [call(r#"{"n":1}"#), call(r#"{"n":2}"#)];
    let asking = BackgroundCall::call(&gatehouse.endpoint, &token, &form, FORM);
    let pending = wait_for_pending(&gatehouse, 3)?;

    let unprivileged = gatehouse.run_unprivileged(&["approvals", "answer", "--all", "allow"])?;
    ensure!(unprivileged.status.code() == Some(4), "{unprivileged:?}");
    let wider = gatehouse.run_as_operator(&["approvals", "answer", "--all", "always-tool"])?;
    ensure!(wider.status.code() == Some(2), "{wider:?}");
    wait_for_pending(&gatehouse, 3)?;

    // Allowing the form would need its content, so it keeps waiting and the exit code says so.
    let output = gatehouse.run_as_operator(&["--json", "approvals", "answer", "--all", "allow"])?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    let answered: Value = serde_json::from_slice(&output.stdout)?;
    let answered_each = answered.as_array().context("no list")?;
    ensure!(answered_each.len() == pending.len(), "{answered:#}");
    for (one, pending) in answered_each.iter().zip(&pending) {
        ensure!(one["id"] == pending["id"] && one["hash"] == pending["request"]["hash"], "{answered:#}");
        ensure!((one["error"] == Value::Null) == (pending["request"]["kind"] == "call"), "{answered:#}");
    }
    for call in calls {
        let end = call.end()?;
        ensure!(!end.body.contains(r#""isError":true"#), "{end:?}");
    }
    let rules = gatehouse.ask(&["policy", "show"])?;
    ensure!(!rules.to_string().contains(&echo), "a rule was made: {rules:#}");

    // The same call later is asked about again.
    let later = call(r#"{"n":1}"#);
    wait_for_pending(&gatehouse, 2)?;
    let output =
        gatehouse.run_as_operator(&["approvals", "answer", "--all", "deny", "--reason", "not now"])?;
    ensure!(output.status.success(), "{output:?}");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(shown.matches(": denied").count() == 2 && shown.contains("n = 1"), "{shown}");
    let end = later.end()?;
    ensure!(end.body.contains("not now"), "{end:?}");
    ensure!(received(asking)? == json!({ "action": "decline" }), "the form was not declined");
    eventually_holds("no pending approvals", || Ok(gatehouse.ask(&["approvals", "list"])? == json!([])))
}
