//! Libraries of model providers, and an agent framework, that we did not write use the tools over the REST tool API, from
//! the list to the model's last word. The model is scripted; Gatehouse, its servers and the person are real.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::{self, wait_for_pending};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use gatehouse_tests::scripted_provider::{ScriptedProvider, call_without_id, text};
use serde_json::{Value, json};

/// What the program of a client is started with.
struct GivenAddresses<'a> {
    gateway: String,
    token: String,
    model: &'a ScriptedProvider,
}

/// What the model calls.
struct ToolUse {
    tool: &'static str,
    arguments: Value,
}

/// Lets the program of a client run, with a model that makes this call and then says something. Returns what the program
/// said, once the model was told of the result.
fn run(given: &GivenAddresses<'_>, program: &str, call: &ToolUse) -> Result<Value> {
    let GivenAddresses { gateway, token, model } = given;
    let asked = model.requests().len();
    model.will_answer([call_without_id(call.tool, &call.arguments)]);
    model.will_answer([text("I have read it.")]);
    let words = json!({ "gateway": gateway, "token": token, "provider": model.origin, "prompt": "Go on" });
    let output = Command::new(paths::models_python()?)
        .arg(paths::tests_dir().join("py").join(program))
        .arg(words.to_string())
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{program}: {said}{}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_str(said.trim()).with_context(|| format!("{program}: {said}"))?;
    ensure!(said["text"] == "I have read it.", "{said:#}");
    ensure!(said["results"].as_array().map(Vec::len) == Some(1), "{said:#}");
    ensure!(model.requests().len() == asked + 2, "{:#?}", model.requests());
    Ok(said)
}

/// One tool that may run, one that a person allows, and one that a person refuses. `is_refused` finds in the format of the
/// client that the model was told of an error.
fn uses_the_tools(program: &str, is_refused: impl Fn(&Value) -> bool) -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for server in ["Time", "Notes"] {
        gatehouse.await_status(server, "connected")?;
    }
    gatehouse.ask(&["policy", "auto-approve", "Time", "all"])?;
    let token = gatehouse.add_client("library")?;
    let model = ScriptedProvider::start()?;
    let gateway = gatehouse.endpoint.trim_end_matches("/mcp").to_owned();
    let given = GivenAddresses { gateway, token, model: &model };
    let run = |call: &ToolUse| run(&given, program, call);

    let said = run(&ToolUse { tool: "current_time", arguments: json!({ "timezone": "Europe/Vienna" }) })?;
    ensure!(!is_refused(&said["results"][0]), "{said:#}");
    ensure!(model.last_request()?.to_string().contains("(Europe/Vienna)"), "{:#}", model.last_request()?);

    let note = |text: &str| {
        let arguments = json!({ "text": format!("buy \"{text}\" \u{1f95b}") });
        ToolUse { tool: "add_note", arguments }
    };
    std::thread::scope(|scope| -> Result<()> {
        let running = scope.spawn(|| run(&note("milk")));
        let request = wait_for_pending(&gatehouse, 1)?.remove(0);
        ensure!(request["request"]["client"]["name"] == "library", "{request:#}");
        ensure!(request.to_string().contains("buy"), "{request:#}");
        approvals::allow(&gatehouse, &request["id"], &request["request"]["hash"], &approvals::once_choice())?;
        let said = running.join().map_err(|_| anyhow::anyhow!("it broke off"))??;
        ensure!(!is_refused(&said["results"][0]), "{said:#}");
        let running = scope.spawn(|| run(&note("tea")));
        approvals::deny(&gatehouse, &wait_for_pending(&gatehouse, 1)?.remove(0))?;
        let said = running.join().map_err(|_| anyhow::anyhow!("it broke off"))??;
        ensure!(is_refused(&said["results"][0]), "{said:#}");
        // The model was told.
        let told = model.last_request()?.to_string();
        ensure!(told.contains("The user refused this call"), "{told}");
        Ok(())
    })?;
    let calls = gatehouse.ask(&["calls", "--outcome", "ok"])?;
    ensure!(calls.as_array().map(Vec::len) == Some(2), "{calls:#}");
    ensure!(calls.to_string().contains("milk"), "{calls:#}");
    Ok(())
}

/// Chat completions and responses have no place for an error but the text.
fn says_refused(text: &Value) -> bool {
    text.as_str().is_some_and(|text| text.contains("The user refused this call"))
}

#[test]
fn openai_chat_completions() -> Result<()> {
    uses_the_tools("rest_openai.py", |result| says_refused(&result["content"]))
}

#[test]
fn openai_responses() -> Result<()> {
    uses_the_tools("rest_openai_responses.py", |result| says_refused(&result["output"]))
}

#[test]
fn anthropic_messages() -> Result<()> {
    uses_the_tools("rest_anthropic.py", |result| result["is_error"] == true)
}

#[test]
fn google_gemini() -> Result<()> {
    uses_the_tools("rest_gemini.py", |result| result["functionResponse"]["response"]["error"].is_string())
}

#[test]
fn openai_agents() -> Result<()> {
    uses_the_tools("rest_openai_agents.py", |result| says_refused(&result["output"]))
}
