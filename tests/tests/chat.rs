//! Conversations with a scripted model over the whole product (UI-8): what a model may do, what the user sees of it and can do
//! about it, and what is kept.

use anyhow::{Result, ensure};
use gatehouse_tests::approvals::{once_choice, wait_for_count, wait_for_pending};
use gatehouse_tests::conversation::{UserInConversation, call_states, calls, results, texts};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::scripted_provider::{ModelStep, ScriptedAnswer, call, text};
use serde_json::{Value, json};

fn session_choice() -> Value {
    json!({ "lifetime": "session", "width": "tool", "everyClient": false, "conditions": [] })
}

/// The whole story: the user asks, the model calls a tool, the user allows it, the model reads the result.
#[test]
fn a_call_is_put_to_the_user_and_its_result_goes_to_the_model() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    user.set(json!({ "instructions": "Be brief." }))?;
    user.model
        .will_answer([text("Let me see. "), call("c1", &echo, &json!({ "password": "hunter2", "n": 1 }))]);
    user.model.will_answer([text("It is 1.")]);
    user.send("What is it?")?;

    let question = wait_for_pending(&user.gatehouse, 1)?.remove(0);
    let client = &question["request"]["client"];
    ensure!(client["name"] == "Chat" && client["byUser"] == false, "{question:#}");
    ensure!(client["seenFrom"]["program"]["name"] == "Gatehouse", "{question:#}");
    let reply = user.reply_with("the call to wait", |reply| call_states(reply) == ["waiting"])?;
    let shown = calls(&reply)[0];
    ensure!(shown["approval"] == question["id"] && shown["server"] == "raw", "{shown:#}");
    ensure!(!shown.to_string().contains("hunter2"), "{shown:#}");
    user.answer(&question, &json!({ "answer": "allow", "choice": once_choice() }))?;

    let reply = user.finished()?;
    ensure!(reply["state"] == "done" && texts(&reply) == "Let me see. It is 1.", "{reply:#}");
    ensure!(
        reply["model"] == "Local · m-1" && reply["usage"] == json!({ "input": 2400, "output": 68 }),
        "{reply:#}"
    );
    let shown = calls(&reply)[0];
    ensure!(shown["state"] == "done" && shown["verdict"]["rule"]["rule"] == "answered", "{shown:#}");
    ensure!(shown["waitedMs"].as_u64().is_some_and(|waited| waited > 0), "{shown:#}");

    let [first, second] = &user.model.requests()[..] else { anyhow::bail!("not two requests") };
    let system = first["messages"][0].to_string();
    ensure!(system.contains("Be brief.") && system.contains("A server for tests."), "{system}");
    ensure!(first["tools"].to_string().contains(&echo), "{first:#}");
    let given = results(second);
    ensure!(given.len() == 1 && given[0].contains("hunter2"), "the model gets what it wrote: {given:?}");

    let records = user.gatehouse.command("calls.list", &json!({ "filter": { "limit": 5 } }))?;
    let record = &records[0];
    ensure!(record["id"] == shown["call"] && record["clientName"] == "Chat", "{record:#}");
    ensure!(record["byUser"] == false && !record.to_string().contains("hunter2"), "{record:#}");

    let conversation = user.show()?;
    ensure!(conversation["title"] == "What is it?", "{conversation:#}");
    ensure!(conversation["tools"]["tools"].as_u64().is_some_and(|tools| tools > 5), "{conversation:#}");
    ensure!(conversation["tools"]["tokens"].as_u64().is_some_and(|tokens| tokens > 50), "{conversation:#}");
    Ok(())
}

#[test]
fn a_denial_reaches_the_model_with_its_reason_and_the_turn_goes_on() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    user.model.will_answer([call("c1", &echo, &json!({}))]);
    user.model.will_answer([text("I see.")]);
    user.send("Go")?;
    user.deny("not on a Friday")?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["denied"] && texts(&reply) == "I see.", "{reply:#}");
    let given = results(&user.model.last_request()?);
    ensure!(given[0].contains("not on a Friday"), "{given:?}");
    Ok(())
}

#[test]
fn calls_run_at_the_same_time() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let (echo, note) = (user.tool("echo")?, user.tool("write_note")?);
    user.model.will_answer([
        call("c1", &echo, &json!({ "n": 1 })),
        call("c2", &note, &json!({ "text": "milk" })),
        call("c3", &echo, &json!({ "n": 3 })),
    ]);
    user.send("Go")?;
    let pending = wait_for_pending(&user.gatehouse, 3)?;
    for question in pending.iter().rev() {
        user.answer(question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    }
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["done", "done", "done"], "{reply:#}");
    let given = results(&user.model.last_request()?);
    ensure!(
        given.len() == 3 && given[0].contains("1") && given[2].contains("3"),
        "in their order: {given:?}"
    );
    Ok(())
}

/// What can't be sent is told to the model and put to nobody.
#[test]
fn unusable_calls_go_back_to_the_model() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let slow = user.tool("slow")?;
    user.model.will_answer([
        call("c1", &slow, &json!({ "ms": "soon" })),
        call("c2", "no_such_tool", &json!({})),
        ModelStep::Call {
            id: Some("c3".into()),
            tool: slow.clone(),
            arguments: "{\"ms\": 1} {\"ms\": 2}".into(),
        },
    ]);
    user.send("Go")?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["failed", "failed", "failed"], "{reply:#}");
    ensure!(
        calls(&reply).iter().all(|call| call["call"].is_null() && call["approval"].is_null()),
        "{reply:#}"
    );
    let given = results(&user.model.last_request()?);
    ensure!(given.len() == 3 && given[0].contains("ms") && given[1].contains("no_such_tool"), "{given:?}");
    Ok(())
}

/// TOOL-5: what is only flagged at the gateway fails in a conversation.
#[test]
fn a_result_that_does_not_match_its_schema_fails() -> Result<()> {
    let user = UserInConversation::begin(&["--fault", "wrong-output"])?;
    let typed = user.tool("typed")?;
    user.model.will_answer([call("c1", &typed, &json!({}))]);
    user.send("Go")?;
    user.allow(&once_choice())?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["failed"] && !calls(&reply)[0]["result"]["unfit"].is_null(), "{reply:#}");
    let given = results(&user.model.last_request()?);
    ensure!(given[0].contains("outputSchema"), "{given:?}");
    Ok(())
}

#[test]
fn a_stop_ends_the_answer_the_wait_and_the_calls() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let (echo, slow) = (user.tool("echo")?, user.tool("slow")?);
    let stop = || user.run("chat.stop", json!({}));

    user.model.will_answer([text("Once upon"), ModelStep::Hold]);
    user.send("A story")?;
    user.reply_with("the beginning", |reply| texts(reply) == "Once upon")?;
    stop()?;
    let reply = user.reply()?;
    ensure!(reply["state"] == "stopped" && texts(&reply) == "Once upon", "{reply:#}");
    eventually_holds("the request to end", || Ok(user.model.readers_that_left() == 1))?;

    user.model.will_answer([call("c1", &echo, &json!({}))]);
    user.send("Go on")?;
    wait_for_count(&user.gatehouse, 1)?;
    stop()?;
    let reply = user.reply()?;
    ensure!(reply["state"] == "stopped" && call_states(&reply) == ["cancelled"], "{reply:#}");

    user.model.will_answer([call("c2", &slow, &json!({ "ms": 600_000 }))]);
    user.send("Slowly")?;
    let question = eventually_question(&user, "slow")?;
    user.answer(&question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    user.reply_with("the call to run", |reply| {
        call_states(reply) == ["running"] && !calls(reply)[0]["approval"].is_null()
    })?;
    stop()?;
    let reply = user.reply()?;
    ensure!(reply["state"] == "stopped" && call_states(&reply) == ["cancelled"], "{reply:#}");
    ensure!(user.gatehouse.command("calls.running", &json!({}))? == json!([]), "it still runs");

    // The next request has a result for each call.
    user.model.will_answer([text("Fine.")]);
    user.send("And now?")?;
    ensure!(texts(&user.finished()?) == "Fine.");
    ensure!(results(&user.model.last_request()?).len() == 2);
    Ok(())
}

/// The pending approval request for a tool.
fn eventually_question(user: &UserInConversation, tool: &str) -> Result<Value> {
    gatehouse_tests::eventually::eventually(format!("a request for {tool}"), || {
        let pending = user.gatehouse.ask(&["approvals", "list"])?;
        let found =
            pending.as_array().into_iter().flatten().find(|one| one["request"]["subject"]["name"] == tool);
        Ok(found.cloned().ok_or_else(|| format!("{pending:#}")))
    })
}

#[test]
fn a_failure_is_shown_and_can_be_tried_again() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let melted = ModelStep::Error("The computer melted.".into());
    for (answer, written) in [
        (ScriptedAnswer::Steps(vec![text("Half"), melted]), "Half"),
        (ScriptedAnswer::Steps(vec![text("Ha"), ModelStep::Break]), "Ha"),
        (ScriptedAnswer::Status { status: 400, message: "No.".into(), retry_after: None }, ""),
    ] {
        user.model.will(answer);
        if user.show()?["messages"] == json!([]) {
            user.send("Go")?;
        } else {
            user.run("chat.retry", json!({}))?;
        }
        let reply = user.finished()?;
        ensure!(reply["state"] == "failed" && texts(&reply) == written, "{reply:#}");
        ensure!(reply["error"]["code"] == "model_failed", "{reply:#}");
    }
    user.model.will_answer([text("Whole.")]);
    user.run("chat.retry", json!({}))?;
    ensure!(texts(&user.finished()?) == "Whole.");
    ensure!(user.show()?["messages"].as_array().is_some_and(|all| all.len() == 2));
    ensure!(!user.model.last_request()?.to_string().contains("Half"));
    Ok(())
}

#[test]
fn an_edited_message_takes_the_place_of_what_came_after_it() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    for said in ["one", "two"] {
        user.model.will_answer([text(&format!("about {said}"))]);
        user.send(said)?;
        user.finished()?;
    }
    let first = user.show()?["messages"][0]["id"].clone();
    user.model.will_answer([text("about three")]);
    user.run("chat.send", json!({ "text": "three", "replaces": first }))?;
    user.finished()?;
    let conversation = user.show()?;
    let said: Vec<String> = conversation["messages"].as_array().into_iter().flatten().map(texts).collect();
    ensure!(said == ["three", "about three"] && conversation["title"] == "three", "{conversation:#}");
    ensure!(!user.model.last_request()?.to_string().contains("about one"));
    ensure!(user.run("chat.send", json!({ "text": "x", "replaces": first })).is_err(), "it is gone");
    ensure!(user.run("chat.send", json!({ "text": " " })).is_err(), "nothing is said");
    Ok(())
}

/// An allow for the conversation lets all rounds run, up to the limit; then the user can let it go on.
#[test]
fn a_turn_ends_at_the_limit_of_rounds_and_can_go_on() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    for n in 0..27 {
        user.model.will_answer([call(&format!("c{n}"), &echo, &json!({ "n": n }))]);
    }
    user.send("Go")?;
    user.allow(&session_choice())?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "round_limit" && calls(&reply).len() == 25, "{reply:#}");
    ensure!(user.model.requests().len() == 25);
    user.model.will_answer([text("Done.")]);
    user.run("chat.retry", json!({}))?;
    let reply = user.finished()?;
    ensure!(reply["state"] == "done" && calls(&reply).len() == 27 && texts(&reply) == "Done.", "{reply:#}");

    // It was for this conversation, and ends with it.
    let rules = user.gatehouse.command("policy.show", &json!({}))?;
    ensure!(rules["rules"].to_string().contains("session"), "{rules:#}");
    user.run("chat.remove", json!({}))?;
    let rules = user.gatehouse.command("policy.show", &json!({}))?;
    ensure!(rules["rules"] == json!([]), "{rules:#}");
    ensure!(user.show().is_err());
    Ok(())
}

#[test]
fn a_conversation_outlives_gatehouse_and_its_turn_does_not() -> Result<()> {
    let mut user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    user.model.will_answer([
        text("The needle is here. "),
        call("c1", &echo, &json!({ "n": 1 })),
        call("c2", &echo, &json!({ "n": 2 })),
    ]);
    user.send("Where is it?")?;
    wait_for_count(&user.gatehouse, 2)?;
    user.gatehouse.kill()?;
    user.gatehouse.launch()?;
    let reply = user.reply()?;
    ensure!(reply["state"] == "stopped" && call_states(&reply) == ["cancelled", "cancelled"], "{reply:#}");

    user.model.will_answer([text("Half"), ModelStep::Hold]);
    user.send("Again")?;
    user.reply_with("the beginning", |reply| texts(reply) == "Half")?;
    user.gatehouse.stop()?;
    user.gatehouse.launch()?;
    let reply = user.reply()?;
    ensure!(reply["state"] == "stopped" && texts(&reply) == "Half", "{reply:#}");

    let found = user.gatehouse.command("chat.list", &json!({ "query": "needle" }))?;
    ensure!(found[0]["id"] == user.id && found[0]["excerpt"].to_string().contains("needle"), "{found:#}");
    ensure!(user.gatehouse.command("chat.list", &json!({ "query": "haystack" }))? == json!([]));

    let export = json!({ "conversation": user.id, "save": false });
    let exported = user.gatehouse.command("chat.export", &export)?;
    let markdown = exported["markdown"].as_str().unwrap_or_default();
    for part in [
        "# Where is it?",
        "## User",
        "## Assistant (Local · m-1)",
        "<summary>Tool call: Echo · raw (cancelled)</summary>",
        "*Stopped*",
    ] {
        ensure!(markdown.contains(part), "{part} is not in {markdown}");
    }
    ensure!(exported["path"].is_null());
    Ok(())
}

/// TOOL-10: a tool that runs only as a task runs as one.
#[test]
fn a_tool_that_requires_a_task_runs_as_one() -> Result<()> {
    let user = UserInConversation::begin(&["--lifecycle", "legacy", "--fault", "tasks"])?;
    let chore = user.tool("long_chore")?;
    user.model.will_answer([call("c1", &chore, &json!({ "ms": 300 }))]);
    user.send("Go")?;
    user.allow(&once_choice())?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["done"], "{reply:#}");
    Ok(())
}

#[test]
fn images_go_both_ways() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let media = user.tool("media")?;
    let image = json!({ "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    user.model.will_answer([call("c1", &media, &json!({}))]);
    user.run("chat.send", json!({ "text": "What is this?", "images": [image] }))?;
    user.allow(&once_choice())?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["done"], "{reply:#}");
    ensure!(user.model.requests()[0].to_string().contains("data:image/png;base64,iVBORw0KGgo="));
    let result = &calls(&reply)[0]["result"];
    ensure!(result["parts"][1]["content"]["mimeType"] == "image/png", "{result:#}");
    ensure!(user.show()?["messages"][0]["blocks"][1]["kind"] == "image");
    let svg = json!({ "mimeType": "image/svg+xml", "data": "PHN2Zy8+" });
    ensure!(user.run("chat.send", json!({ "text": "x", "images": [svg] })).is_err());
    Ok(())
}

/// TOOL-7: the real tool is judged and shown, not the one that it is called through.
#[test]
fn a_call_through_tool_search_is_one_of_the_tool_that_it_names() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    user.set(json!({ "toolSearch": true }))?;
    user.model.will_answer([call("c1", "search_tools", &json!({ "query": "gives arguments back" }))]);
    user.model.will_answer([call("c2", "call_tool", &json!({ "name": echo, "arguments": { "n": 7 } }))]);
    user.send("Go")?;
    let question = user.allow(&once_choice())?;
    ensure!(question["request"]["subject"]["name"] == "echo", "{question:#}");
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["done", "done"], "{reply:#}");
    let [search, called] = calls(&reply)[..] else { anyhow::bail!("not two calls: {reply:#}") };
    ensure!(
        search["server"].is_null() && called["server"] == "raw" && called["title"] == "Echo",
        "{reply:#}"
    );
    let tools = &user.model.requests()[0]["tools"];
    ensure!(tools.as_array().is_some_and(|tools| tools.len() == 3), "{tools:#}");
    let given = results(&user.model.last_request()?);
    ensure!(given[0].contains(&echo) && given[1].contains('7'), "{given:?}");
    Ok(())
}

/// The servers of a conversation are all that its model sees and reaches.
#[test]
fn a_model_reaches_only_the_chosen_servers() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    user.set(json!({ "servers": [] }))?;
    user.model.will_answer([call("c1", &echo, &json!({}))]);
    user.send("Go")?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["failed"] && calls(&reply)[0]["call"].is_null(), "{reply:#}");
    ensure!(user.model.requests()[0].get("tools").is_none_or(|tools| *tools == json!([])));
    ensure!(user.show()?["tools"]["tools"] == 0);
    // Nor through tool search.
    user.set(json!({ "servers": [], "toolSearch": true }))?;
    user.model.will_answer([call("c2", "call_tool", &json!({ "name": echo }))]);
    user.send("Go")?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["denied"], "{reply:#}");
    Ok(())
}

/// PERM-13: a pause ends the calls of conversations too, and none runs meanwhile.
#[test]
fn a_pause_ends_the_calls_of_a_turn() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let slow = user.tool("slow")?;
    user.model.will_answer([call("c1", &slow, &json!({ "ms": 600_000 }))]);
    user.model.will_answer([call("c2", &slow, &json!({ "ms": 1 }))]);
    user.model.will_answer([text("It is paused.")]);
    user.send("Go")?;
    user.allow(&once_choice())?;
    user.reply_with("the call to run", |reply| {
        call_states(reply) == ["running"] && !calls(reply)[0]["approval"].is_null()
    })?;
    user.gatehouse.command("pause", &json!({}))?;
    let reply = user.finished()?;
    ensure!(call_states(&reply) == ["failed", "denied"] && texts(&reply) == "It is paused.", "{reply:#}");
    Ok(())
}
