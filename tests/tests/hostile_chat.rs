//! What a program of the same user tries with conversations: to use what was allowed for them, to run them, to pass for them.

use anyhow::{Result, ensure};
use gatehouse_tests::approvals::{assert_asked, once_choice};
use gatehouse_tests::conversation::{UserInConversation, call_states};
use gatehouse_tests::scripted_provider::{call, text};
use serde_json::json;

/// A permanent allow for conversations lets their calls run, also after a restart, and nobody else's.
#[test]
fn no_client_can_use_what_is_allowed_for_conversations() -> Result<()> {
    let mut user = UserInConversation::begin(&[])?;
    let token = user.gatehouse.add_client("Agent")?;
    let echo = user.tool("echo")?;
    user.model.will_answer([call("c1", &echo, &json!({ "n": 1 }))]);
    user.send("Go")?;
    user.allow(&json!({ "lifetime": "always", "width": "tool", "everyClient": false, "conditions": [] }))?;
    user.finished()?;
    let asked = assert_asked(&user.gatehouse, &token, &echo, r#"{"n":1}"#)?;
    ensure!(asked["request"]["client"]["name"] == "Agent", "{asked:#}");

    user.gatehouse.stop()?;
    user.gatehouse.launch()?;
    user.gatehouse.await_status("raw", "connected")?;
    let rules = user.gatehouse.command("policy.show", &json!({}))?;
    ensure!(rules["rules"].to_string().contains("Chat"), "it is listed by its name: {rules:#}");
    user.model.will_answer([call("c2", &echo, &json!({ "n": 2 }))]);
    user.send("Again")?;
    ensure!(call_states(&user.finished()?) == ["done"], "it was not asked again");
    assert_asked(&user.gatehouse, &token, &echo, r#"{"n":2}"#)?;

    let rule = rules["rules"][0]["rule"]["id"].clone();
    user.gatehouse.command("policy.revoke", &json!({ "rule": rule }))?;
    user.model.will_answer([call("c3", &echo, &json!({ "n": 3 }))]);
    user.send("Once more")?;
    user.allow(&once_choice())?;
    ensure!(call_states(&user.finished()?) == ["done"]);
    Ok(())
}

/// An answer that nobody waits for any more is not there for a client that makes the same call.
#[test]
fn a_late_answer_is_not_for_a_client() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    let token = user.gatehouse.add_client("Agent")?;
    let echo = user.tool("echo")?;
    user.model.will_answer([call("c1", &echo, &json!({ "n": 1 }))]);
    user.send("Go")?;
    let question = gatehouse_tests::approvals::wait_for_pending(&user.gatehouse, 1)?.remove(0);
    user.run("chat.stop", json!({}))?;
    user.answer(&question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    assert_asked(&user.gatehouse, &token, &echo, r#"{"n":1}"#)?;
    Ok(())
}

/// Nor is it there for another conversation, whose model may have been told anything.
#[test]
fn a_late_answer_is_not_for_another_conversation() -> Result<()> {
    let mut user = UserInConversation::begin(&[])?;
    let echo = user.tool("echo")?;
    let wanted = || call("c1", &echo, &json!({ "n": 1 }));
    user.model.will_answer([wanted()]);
    user.send("Go")?;
    let question = gatehouse_tests::approvals::wait_for_pending(&user.gatehouse, 1)?.remove(0);
    user.run("chat.stop", json!({}))?;
    user.answer(&question, &json!({ "answer": "allow", "choice": once_choice() }))?;
    let first = user.begin_another()?;
    user.model.will_answer([wanted()]);
    user.send("Go")?;
    user.deny("Not here")?;
    ensure!(call_states(&user.finished()?) == ["denied"], "{:#}", user.show()?);

    user.id = first;
    user.model.will_answer([wanted()]);
    user.send("Now")?;
    ensure!(call_states(&user.finished()?) == ["done"], "it was allowed here: {:#}", user.show()?);
    Ok(())
}

#[test]
fn nobody_passes_for_a_conversation() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    for name in ["Chat", "chat", "Сhat"] {
        let added = user.gatehouse.run_as_operator(&["clients", "add", name])?;
        ensure!(!added.status.success(), "{name}: {added:?}");
    }
    let call = json!({ "server": "raw", "tool": "echo", "arguments": "{}", "client": "chat" });
    ensure!(user.gatehouse.command("servers.callTool", &call).is_err(), "the user made a call as Chat");
    Ok(())
}

/// Callers without the operator key see neither what is said nor that a text is written.
#[test]
fn events_tell_others_nothing_of_what_is_said() -> Result<()> {
    let user = UserInConversation::begin(&[])?;
    user.model.will_answer([text("very-telling words")]);
    user.send("a very-telling question")?;
    user.finished()?;
    let events = user.gatehouse.command("events.list", &json!({}))?;
    ensure!(!events.to_string().contains("conversation_"), "they would fill the journal: {events:#}");
    for words in [["events", "list"], ["clients", "list"], ["policy", "show"]] {
        let output = user.gatehouse.run_unprivileged(&words)?;
        ensure!(!String::from_utf8_lossy(&output.stdout).contains("telling"), "{words:?}");
    }
    Ok(())
}
