//! Conversations over the whole product with each API that a provider can have (UI-8): the user asks, the model calls a
//! tool, the user decides, the result goes back as that API has it, and the model goes on. And what happens when the
//! provider is busy, fails, breaks off, or leads elsewhere.

use anyhow::{Context as _, Result, ensure};
use gatehouse_model::provider::ProviderApi;
use gatehouse_tests::approvals::{once_choice, wait_for_pending};
use gatehouse_tests::conversation::{UserInConversation, call_states, calls, texts};
use gatehouse_tests::folder_search::is_in_folder;
use gatehouse_tests::scripted_provider::{
    ModelStep, ScriptedAnswer, ScriptedProvider, call_without_id, text,
};
use serde_json::{Value, json};

const KEY: &str = "sk-of-mine-0123456789abcdef";

/// Makes a test of each story with each API.
macro_rules! stories {
    ($($story:ident),+ $(,)?) => {
        stories!(@api openai_chat, OpenAiChat, $($story),+);
        stories!(@api openai_responses, OpenAiResponses, $($story),+);
        stories!(@api anthropic, Anthropic, $($story),+);
        stories!(@api gemini, Gemini, $($story),+);
    };
    (@api $module:ident, $api:ident, $($story:ident),+) => {
        mod $module {
            $(
                #[test]
                fn $story() -> anyhow::Result<()> {
                    super::$story(super::ProviderApi::$api)
                }
            )+
        }
    };
}

stories!(
    an_allowed_call_runs_once_and_its_result_goes_back,
    a_denial_goes_back_as_an_error,
    parallel_calls_in_fragments_get_their_own_results,
    a_busy_provider_is_asked_again,
    a_long_wait_is_left_to_the_user,
    nothing_runs_of_an_answer_that_fails,
    nothing_runs_of_an_answer_that_breaks_off,
    a_redirect_gets_no_key,
    the_key_is_in_its_header_alone,
);

/// The user with a provider that has this API, and a key for it.
fn begin(api: ProviderApi) -> Result<UserInConversation> {
    UserInConversation::begin_with(api, Some(KEY), &[])
}

/// The lists that messages of an API keep things in, flattened: messages or items, or their parts.
fn items<'a>(api: ProviderApi, request: &'a Value) -> Vec<&'a Value> {
    let list = |value: &'a Value, member: &str| value[member].as_array().into_iter().flatten();
    match api {
        ProviderApi::OpenAiChat => list(request, "messages").collect(),
        ProviderApi::OpenAiResponses => list(request, "input").collect(),
        ProviderApi::Anthropic => {
            list(request, "messages").flat_map(|message| list(message, "content")).collect()
        }
        ProviderApi::Gemini => list(request, "contents").flat_map(|content| list(content, "parts")).collect(),
    }
}

/// The calls that a request reminds the model of, as its API writes them.
fn past_calls(api: ProviderApi, request: &Value) -> Vec<&Value> {
    let items = items(api, request).into_iter();
    match api {
        ProviderApi::OpenAiChat => {
            items.flat_map(|item| item["tool_calls"].as_array().into_iter().flatten()).collect()
        }
        ProviderApi::OpenAiResponses => items.filter(|item| item["type"] == "function_call").collect(),
        ProviderApi::Anthropic => items.filter(|item| item["type"] == "tool_use").collect(),
        ProviderApi::Gemini => items.filter(|item| !item["functionCall"].is_null()).collect(),
    }
}

/// The results that a request has, as its API writes them.
fn results(api: ProviderApi, request: &Value) -> Vec<&Value> {
    let items = items(api, request).into_iter();
    match api {
        ProviderApi::OpenAiChat => items.filter(|item| item["role"] == "tool").collect(),
        ProviderApi::OpenAiResponses => items.filter(|item| item["type"] == "function_call_output").collect(),
        ProviderApi::Anthropic => items.filter(|item| item["type"] == "tool_result").collect(),
        ProviderApi::Gemini => items.filter(|item| !item["functionResponse"].is_null()).collect(),
    }
}

/// What the result of a call has to be when the tool gives this: a text, or only structured content, for which one API has
/// a place of its own.
fn result(api: ProviderApi, call: &Value, given: &Value) -> Value {
    let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
    match api {
        ProviderApi::OpenAiChat => json!({ "role": "tool", "tool_call_id": call["id"], "content": text }),
        ProviderApi::OpenAiResponses => {
            json!({ "type": "function_call_output", "call_id": call["call_id"], "output": text })
        }
        ProviderApi::Anthropic => json!({
            "type": "tool_result", "tool_use_id": call["id"], "content": [{ "type": "text", "text": text }]
        }),
        // It gave the call no id.
        ProviderApi::Gemini => json!({
            "functionResponse": { "name": call["functionCall"]["name"], "response": { "output": given } }
        }),
    }
}

/// What the result of a call has to be when the model is told of an error in these words.
fn error(api: ProviderApi, call: &Value, words: &str) -> Value {
    match api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => {
            result(api, call, &json!(format!("The tool reported an error:\n{words}")))
        }
        ProviderApi::Anthropic => {
            let mut result = result(api, call, &json!(words));
            result["is_error"] = true.into();
            result
        }
        ProviderApi::Gemini => json!({
            "functionResponse": { "name": call["functionCall"]["name"], "response": { "error": words } }
        }),
    }
}

/// The name and the arguments of a call, as its API writes them.
fn named(api: ProviderApi, call: &Value) -> Result<(&str, Value)> {
    let (name, arguments) = match api {
        ProviderApi::OpenAiChat => (&call["function"]["name"], &call["function"]["arguments"]),
        ProviderApi::OpenAiResponses => (&call["name"], &call["arguments"]),
        ProviderApi::Anthropic => (&call["name"], &call["input"]),
        ProviderApi::Gemini => (&call["functionCall"]["name"], &call["functionCall"]["args"]),
    };
    let arguments = match arguments {
        Value::String(json) => serde_json::from_str(json)?,
        arguments => arguments.clone(),
    };
    Ok((name.as_str().context("no name")?, arguments))
}

/// The records of calls.
fn records(user: &UserInConversation) -> Result<Vec<Value>> {
    let records = user.gatehouse.command("calls.list", &json!({ "filter": { "limit": 20 } }))?;
    Ok(records.as_array().cloned().unwrap_or_default())
}

fn an_allowed_call_runs_once_and_its_result_goes_back(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let note = user.tool("write_note")?;
    let arguments = json!({ "text": "milk \u{1f95b} \"fresh\"" });
    user.model.will_answer([
        ModelStep::Reasoning("A note is wanted.".into()),
        text("I'll note it down. "),
        call_without_id(&note, &arguments),
        ModelStep::Usage { input: 100, output: 20 },
    ]);
    user.model.will_answer([text("Noted: milk."), ModelStep::Usage { input: 150, output: 5 }]);
    user.send("Note down milk")?;
    let question = wait_for_pending(&user.gatehouse, 1)?.remove(0);
    ensure!(records(&user)?.iter().all(|record| record["outcome"].is_null()), "it ran before the answer");
    user.answer(&question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "done" && call_states(&reply) == ["done"], "{reply:#}");
    ensure!(texts(&reply) == "I'll note it down. Noted: milk.", "{reply:#}");
    ensure!(reply["usage"] == json!({ "input": 250, "output": 25 }), "{reply:#}");
    ensure!(reply["blocks"][0] == json!({ "kind": "reasoning", "text": "A note is wanted." }), "{reply:#}");

    let records = records(&user)?;
    ensure!(records.len() == 1 && records[0]["id"] == calls(&reply)[0]["call"], "{records:#?}");
    let requests = user.model.requests();
    let [first, second] = &requests[..] else { anyhow::bail!("not two requests: {requests:#?}") };
    ensure!(first["tools"].to_string().contains(&note), "{first:#}");
    ensure!(results(api, first).is_empty() && past_calls(api, first).is_empty(), "{first:#}");
    let past = past_calls(api, second);
    let [past] = past[..] else { anyhow::bail!("not one call: {second:#}") };
    ensure!(named(api, past)? == (note.as_str(), arguments), "{past:#}");
    ensure!(results(api, second) == [&result(api, past, &json!("kept"))], "{second:#}");
    // What a provider wants back of its reasoning comes back.
    let kept = match api {
        ProviderApi::OpenAiChat => "A note is wanted.",
        ProviderApi::OpenAiResponses => "\"encrypted_content\":\"gAAAA1\"",
        ProviderApi::Anthropic => "\"signature\":\"EqQB1\"",
        ProviderApi::Gemini => "\"thoughtSignature\":\"CikB0001\"",
    };
    ensure!(second.to_string().contains(kept), "{second:#}");
    Ok(())
}

fn a_denial_goes_back_as_an_error(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let note = user.tool("write_note")?;
    user.model.will_answer([call_without_id(&note, &json!({ "text": "milk" }))]);
    user.model.will_answer([text("Then I won't.")]);
    user.send("Note down milk")?;
    user.deny("there is milk")?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["denied"] && texts(&reply) == "Then I won't.", "{reply:#}");
    let request = user.model.last_request()?;
    let past = past_calls(api, &request);
    let [past] = past[..] else { anyhow::bail!("not one call: {request:#}") };
    let shown = &calls(&reply)[0]["result"]["parts"][0]["content"]["text"]["text"];
    let told = shown.as_str().context("no text")?;
    ensure!(told.contains("refused") && told.contains("there is milk"), "{told}");
    ensure!(results(api, &request) == [&error(api, past, told)], "{told}: {request:#}");
    // The note is as it was.
    let read = json!({ "server": "raw", "tool": "read_note", "arguments": "{}" });
    let kept = user.gatehouse.command("servers.callTool", &read)?;
    ensure!(!kept.to_string().contains("milk"), "{kept:#}");
    Ok(())
}

fn parallel_calls_in_fragments_get_their_own_results(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let (echo, note) = (user.tool("echo")?, user.tool("write_note")?);
    let [first, last] = [json!({ "city": "Zürich 漢字", "n": 1 }), json!({ "city": "Lima", "list": [1, 2] })];
    user.model.will_answer([
        call_without_id(&echo, &first),
        call_without_id(&note, &json!({ "text": "milk" })),
        call_without_id(&echo, &last),
    ]);
    user.model.will_answer([text("All three.")]);
    user.send("Go")?;
    // Answered in another order than they were made in.
    for question in wait_for_pending(&user.gatehouse, 3)?.iter().rev() {
        user.answer(question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    }
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["done", "done", "done"] && texts(&reply) == "All three.", "{reply:#}");
    ensure!(records(&user)?.len() == 3);
    let request = user.model.last_request()?;
    let (past, given) = (past_calls(api, &request), results(api, &request));
    ensure!(past.len() == 3 && given.len() == 3, "{request:#}");
    let expected = [(&echo, first), (&note, json!("kept")), (&echo, last)];
    for ((past, given), (tool, output)) in past.iter().zip(given).zip(expected) {
        ensure!(named(api, past)?.0 == tool.as_str(), "{past:#}");
        ensure!(*given == result(api, past, &output), "{given:#}");
    }
    Ok(())
}

fn a_busy_provider_is_asked_again(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let overloaded = if api == ProviderApi::Anthropic { 529 } else { 503 };
    for (status, seconds) in [(429, 0), (overloaded, 1)] {
        let message = "Slow down.".to_owned();
        user.model.will(ScriptedAnswer::Status { status, message, retry_after: Some(seconds) });
    }
    user.model.will_answer([text("Here I am.")]);
    user.send("Hello?")?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "done" && texts(&reply) == "Here I am.", "{reply:#}");
    let requests = user.model.requests();
    ensure!(requests.len() == 3 && requests.iter().all(|request| *request == requests[0]), "{requests:#?}");
    Ok(())
}

fn a_long_wait_is_left_to_the_user(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let message = "Slow down.".to_owned();
    user.model.will(ScriptedAnswer::Status { status: 429, message, retry_after: Some(3600) });
    user.send("Hello?")?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "failed" && reply["error"]["code"] == "model_failed", "{reply:#}");
    let error = reply["error"].to_string();
    ensure!(error.contains("Slow down.") && error.contains("3600"), "{error}");
    ensure!(user.model.requests().len() == 1);
    user.model.will_answer([text("Here I am.")]);
    user.run("chat.retry", json!({}))?;
    ensure!(texts(&user.finished()?) == "Here I am.");
    Ok(())
}

/// Plays an answer in which a call never comes to its end, and one that is tried again after it.
fn nothing_runs(api: ProviderApi, steps: impl Fn(&str) -> Vec<ModelStep>, says: &str) -> Result<()> {
    let user = begin(api)?;
    let note = user.tool("write_note")?;
    user.gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    user.model.will_answer(steps(&note));
    user.send("Note down milk")?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "failed" && texts(&reply) == "I'll note it", "{reply:#}");
    let error = &reply["error"];
    ensure!(error["code"] == "model_failed" && error.to_string().contains(says), "{error:#}");
    ensure!(
        calls(&reply).iter().all(|call| call["call"].is_null() && call["state"] == "cancelled"),
        "{reply:#}"
    );
    ensure!(records(&user)?.is_empty(), "a call ran");
    ensure!(user.model.requests().len() == 1, "it was tried again");

    user.model.will_answer([call_without_id(&note, &json!({ "text": "milk" }))]);
    user.model.will_answer([text("Noted.")]);
    user.run("chat.retry", json!({}))?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "done" && texts(&reply) == "Noted.", "{reply:#}");
    ensure!(records(&user)?.len() == 1);
    let request = user.model.last_request()?;
    ensure!(
        results(api, &request).len() == 1 && !request.to_string().contains("I'll note it"),
        "{request:#}"
    );
    Ok(())
}

fn nothing_runs_of_an_answer_that_fails(api: ProviderApi) -> Result<()> {
    let steps = |note: &str| {
        let call = call_without_id(note, &json!({ "text": "milk" }));
        vec![text("I'll note it"), call, ModelStep::Error("The computer melted.".into())]
    };
    nothing_runs(api, steps, "The computer melted.")
}

fn nothing_runs_of_an_answer_that_breaks_off(api: ProviderApi) -> Result<()> {
    let steps = |note: &str| {
        let arguments = json!({ "text": "milk" }).to_string();
        vec![text("I'll note it"), ModelStep::BeginCall { tool: note.into(), arguments }, ModelStep::Break]
    };
    nothing_runs(api, steps, "error.models.cause.cutShort")
}

fn a_redirect_gets_no_key(api: ProviderApi) -> Result<()> {
    let user = begin(api)?;
    let elsewhere = ScriptedProvider::start()?;
    user.model.will(ScriptedAnswer::Redirect(elsewhere.origin.clone()));
    user.send("Hello?")?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "failed" && texts(&reply).is_empty(), "{reply:#}");
    ensure!(reply["error"].to_string().contains("error.models.cause.redirected"), "{reply:#}");
    ensure!(
        user.model.received().len() == 1 && elsewhere.received().is_empty(),
        "{:#?}",
        elsewhere.received()
    );
    Ok(())
}

fn the_key_is_in_its_header_alone(api: ProviderApi) -> Result<()> {
    let mut user = begin(api)?;
    let echo = user.tool("echo")?;
    let listed = user.gatehouse.command("models.list", &json!({ "provider": user.choice["provider"] }))?;
    ensure!(listed.as_array().is_some_and(|models| models.len() == 2), "{listed:#}");
    user.model.will_answer([call_without_id(&echo, &json!({ "n": 1 }))]);
    // A provider that says the key in its error.
    let message = format!("Incorrect API key provided: {KEY}.");
    user.model.will(ScriptedAnswer::Status { status: 401, message, retry_after: None });
    user.send("Go")?;
    user.allow(&once_choice())?;
    let reply = user.finished()?;
    ensure!(reply["error"].to_string().contains("Incorrect API key provided"), "{reply:#}");

    let (header, value) = match api {
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => ("authorization", format!("Bearer {KEY}")),
        ProviderApi::Anthropic => ("x-api-key", KEY.to_owned()),
        ProviderApi::Gemini => ("x-goog-api-key", KEY.to_owned()),
    };
    let received = user.model.received();
    ensure!(received.len() == 3, "{received:#?}");
    for mut request in received {
        ensure!(request.headers.remove(header).as_ref() == Some(&value), "{request:#?}");
        ensure!(!json!(request).to_string().contains(KEY), "{request:#?}");
        let version = request.headers.get("anthropic-version").map(String::as_str);
        ensure!(version == (api == ProviderApi::Anthropic).then_some("2023-06-01"), "{version:?}");
    }

    let export = json!({ "conversation": user.id, "save": false });
    let said = [
        user.show()?,
        user.gatehouse.command("chat.export", &export)?,
        user.gatehouse.command("events.list", &json!({}))?,
        user.gatehouse.command("models.show", &json!({}))?,
        user.gatehouse.ask(&["audit"])?,
        json!(records(&user)?),
    ];
    for said in said {
        ensure!(!said.to_string().contains(KEY), "{said:#}");
    }
    user.gatehouse.stop()?;
    ensure!(!user.gatehouse.stderr().contains(KEY), "it was logged");
    ensure!(!is_in_folder(&user.gatehouse.data_dir(), KEY)?, "it is in a file");
    Ok(())
}
