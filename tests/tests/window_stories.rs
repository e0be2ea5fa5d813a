//! What people do every day, in the real windows: they read what a call would change and refuse it, allow for longer and
//! take it back, try a tool, look calls up, and let a model use a tool in a conversation. The first use is in `first_click.rs` and `newcomer.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use gatehouse_model::provider::ProviderApi;
use gatehouse_tests::client::npm_server;
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::paths;
use gatehouse_tests::scripted_provider::{ScriptedProvider, call, text};
use gatehouse_tests::window::{AppWindow, Desktop, WebPage};
use serde_json::{Value, json};

const CLIENT: &str = "Claude Code";
const PROMPT: &str = "Gatehouse asks";

/// Adds a server that is a program, and waits until it runs.
fn add_server(main: WebPage<'_>, name: &str, program: &Path, arguments: &[&Path]) -> Result<()> {
    let transport = json!({"type": "stdio", "command": program, "args": arguments, "env": {}, "cwd": null});
    let draft = json!({"name": name, "transport": transport, "enabled": true, "autostart": true});
    main.command("servers.add", &json!({"draft": draft, "trustLabels": false, "secrets": []}))?;
    eventually(format!("the server {name}"), || {
        let servers = main.command("servers.list", &json!({}))?;
        let server = servers.as_array().into_iter().flatten().find(|it| it["config"]["name"] == name);
        let status = server.map_or(Value::Null, |server| server["status"].clone());
        Ok(if status["state"] == "connected" { Ok(()) } else { Err(status.to_string()) })
    })
}

/// The texts of the elements that match.
fn texts(page: WebPage<'_>, css: &str) -> Result<Vec<String>> {
    let script = format!("return [...document.querySelectorAll({})].map((it) => it.innerText)", json!(css));
    Ok(serde_json::from_value(page.run(&script)?)?)
}

/// Waits until so many elements match.
fn wait_for_count(page: WebPage<'_>, css: &str, count: usize) -> Result<()> {
    page.wait_until(&format!("return document.querySelectorAll({}).length === {count}", json!(css))).map(drop)
}

/// An edit is shown as a change that folds, and a denial with a reason leaves the file as it was.
#[test]
fn edit_is_shown_as_a_change_and_denied_with_a_reason() -> Result<()> {
    const CHANGE: &str = "[role=group][aria-label='Change from oldText to newText']";
    let desktop = Desktop::start()?;
    let folder = desktop.folder("notes")?;
    let list = folder.join("todo.md");
    fs::write(&list, "- buy milk\n- call Bo\n")?;
    let window = AppWindow::start(&desktop)?;
    add_server(
        window.main(),
        "files",
        Path::new("node"),
        &[npm_server("server-filesystem").as_path(), folder.as_path()],
    )?;
    let mut client = window.connect_client(CLIENT)?;
    let edits = json!([{"oldText": "- buy milk\n- call Bo", "newText": "- buy oat milk\n- call Bo"}]);
    let call = client.begin("edit_file", &json!({"path": list, "edits": edits, "dryRun": false}))?;
    desktop.until_visible(PROMPT, true)?;
    let prompt = window.prompt();
    prompt.wait_until(&format!("return document.querySelector(\"{CHANGE}\") !== null"))?;
    let lines = |kind: &str| texts(prompt, &format!("{CHANGE} [data-kind={kind}]"));
    assert!(lines("removed")?.concat().contains("- buy milk"));
    assert!(lines("added")?.concat().contains("- buy oat milk"));
    assert!(lines("kept")?.concat().contains("- call Bo"));

    let is_shown = format!("document.querySelector(\"{CHANGE}\").checkVisibility()");
    prompt.press("1 item")?;
    prompt.wait_until(&format!("return !{is_shown}"))?;
    prompt.press("1 item")?;
    prompt.wait_until(&format!("return {is_shown}"))?;

    prompt.press("More deny options")?;
    prompt.fill("Reason (the model will see this)", "Oat milk is for guests")?;
    prompt.press("Deny this exact call")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_tool_error() && answer.text().contains("Oat milk is for guests"), "{answer:?}");
    prompt.wait_for_text("Denied")?;
    assert_eq!(fs::read_to_string(&list)?, "- buy milk\n- call Bo\n");
    desktop.until_visible(PROMPT, false)?;
    window.quit()
}

/// A lasting answer becomes a rule in words, which decides without the prompt until it is revoked, and again when that is
/// undone.
#[test]
fn rule_holds_until_it_is_revoked_and_again_when_that_is_undone() -> Result<()> {
    const SENTENCE: &str = "Always allow Time: current_time, for every client";
    const RULES: &str = "[data-testid=rule-sentence]";
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let (main, prompt) = (window.main(), window.prompt());
    let mut client = window.connect_client(CLIENT)?;
    let call = client.begin("current_time", &json!({}))?;
    desktop.until_visible(PROMPT, true)?;
    prompt.press("More allow options")?;
    prompt.press("Always")?;
    prompt.press("For every client, not just Claude Code")?;
    prompt.press(SENTENCE)?;
    assert!(client.finish(&call)?.is_ok());
    desktop.until_visible(PROMPT, false)?;
    assert!(client.call("current_time", &json!({"timezone": "Asia/Tokyo"}))?.is_ok());
    assert!(!desktop.is_visible(PROMPT)?, "the rule decides");

    main.press("Permissions")?;
    wait_for_count(main, RULES, 1)?;
    assert_eq!(texts(main, RULES)?, [SENTENCE]);
    main.wait_until("return document.body.innerText.includes('last used')")?;
    main.press(&format!("Revoke: {SENTENCE}"))?;
    wait_for_count(main, RULES, 0)?;
    main.press("Undo")?;
    wait_for_count(main, RULES, 1)?;
    assert!(client.call("current_time", &json!({"timezone": "Europe/Vienna"}))?.is_ok());
    assert!(!desktop.is_visible(PROMPT)?, "the rule decides again");

    main.press(&format!("Revoke: {SENTENCE}"))?;
    wait_for_count(main, RULES, 0)?;
    let call = client.begin("current_time", &json!({"timezone": "America/Lima"}))?;
    desktop.until_visible(PROMPT, true)?;
    prompt.wait_for_text("America/Lima")?;
    prompt.press("Deny")?;
    assert!(client.finish(&call)?.is_tool_error());
    window.quit()
}

/// A tool is called from its form: as the user at once, as a client after that client's approval.
#[test]
fn tool_is_tried_as_the_user_and_as_a_client() -> Result<()> {
    const HISTORY: &str = "a[aria-label^='Use again: write_note']";
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let (main, prompt) = (window.main(), window.prompt());
    add_server(main, "fixture", &paths::program("fixture-server")?, &[])?;
    main.command("clients.add", &json!({"name": CLIENT}))?;
    main.press("Playground")?;
    main.fill("Search tools, prompts and resources", "fixture keeps a note")?;
    wait_for_count(main, "[role=option]", 1)?;
    main.click("[role=option]")?;
    main.fill("text", "from the window")?;
    main.press("Call")?;
    wait_for_count(main, HISTORY, 1)?;
    main.wait_for_text("Done")?;
    assert!(!desktop.is_visible(PROMPT)?, "the user needs no approval");

    main.choose("As", CLIENT)?;
    main.wait_for_text("Claude Code's profile and permissions decide.")?;
    main.press("Call")?;
    main.wait_for_text("waiting for your approval")?;
    desktop.until_visible(PROMPT, true)?;
    prompt.wait_for_text("from the window")?;
    prompt.press("Allow once")?;
    wait_for_count(main, HISTORY, 2)?;
    main.wait_until("return /waited .* for you/.test(document.body.innerText)")?;
    let filter = json!({"byUser": true, "limit": 2});
    let calls = main.command("calls.list", &json!({"filter": filter}))?;
    assert_eq!((&calls[0]["clientName"], &calls[1]["clientName"]), (&json!(CLIENT), &json!("Gatehouse")));
    window.quit()
}

/// Calls are searched by their content, filtered by their decision, opened to how they were decided, and repeated.
#[test]
fn calls_are_searched_filtered_opened_and_repeated() -> Result<()> {
    const ROWS: &str = "[role=list][aria-label=Calls] button";
    const SEARCH: &str = "Search tools, arguments and results";
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    main.command("policy.autoApprove", &json!({"server": "Time", "client": null, "to": "all"}))?;
    let choice = json!({"lifetime": "always", "width": "server", "everyClient": true, "conditions": []});
    let deny =
        json!({"server": "Notes", "tool": null, "client": null, "choice": choice, "reason": "no notes"});
    main.command("policy.deny", &deny)?;
    let mut client = window.connect_client(CLIENT)?;
    for zone in ["Europe/Vienna", "Asia/Tokyo"] {
        assert!(client.call("current_time", &json!({"timezone": zone}))?.is_ok());
    }
    assert!(client.call("list_notes", &json!({}))?.is_tool_error());

    main.press("Activity")?;
    wait_for_count(main, ROWS, 3)?;
    main.choose("Decision", "Denied")?;
    wait_for_count(main, ROWS, 1)?;
    assert!(texts(main, ROWS)?.concat().contains("list_notes"));
    main.choose("Decision", "Decision: Any")?;
    wait_for_count(main, ROWS, 3)?;
    main.fill(SEARCH, "vienna")?;
    wait_for_count(main, ROWS, 1)?;

    main.click(ROWS)?;
    main.wait_for_text("How it was decided")?;
    main.wait_for_text("An allow rule applied.")?;
    assert!(texts(main, "[role=dialog] pre")?.concat().contains("Europe/Vienna"));
    main.press("Repeat")?;
    main.wait_until("return document.querySelector('[aria-label=Repeat]').innerText.includes('Done')")?;
    main.press("Close")?;
    wait_for_count(main, ROWS, 2)?;
    main.wait_until(&format!(
        "return [...document.querySelectorAll('{}')].some((it) => it.innerText.includes('Gatehouse'))",
        "[role=list] button"
    ))?;
    window.quit()
}

/// A model in a conversation calls a tool; the user allows it where it stands, and the model answers with its result.
#[test]
fn model_in_a_conversation_uses_a_tool_that_is_allowed_inline() -> Result<()> {
    const CALL: &str = "[role=log] article[aria-labelledby]";
    let desktop = Desktop::start()?;
    let window = AppWindow::start(&desktop)?;
    let main = window.main();
    let model = ScriptedProvider::start()?;
    let api = ProviderApi::Anthropic;
    model.require_key("sk-window");
    let draft = json!({"name": "Mine", "api": api, "baseUrl": model.base_url(api), "defaultModel": "small"});
    main.command("models.addProvider", &json!({"draft": draft, "key": "sk-window"}))?;
    model.will_answer([
        text("I'll look."),
        call("toolu_1", "current_time", &json!({"timezone": "Asia/Tokyo"})),
    ]);
    model.will_answer([text("It is **late** in Tokyo.")]);

    main.press("Chat")?;
    main.fill("Message", "What time is it in Tokyo?")?;
    main.press("Send")?;
    wait_for_count(main, CALL, 1)?;
    ensure!(texts(main, CALL)?.concat().contains("Asia/Tokyo"), "{}", main.text()?);
    ensure!(model.requests().len() == 1, "the model was told before the user decided");
    main.press("Allow once")?;
    main.wait_for_text("It is late in Tokyo.")?;
    wait_for_count(main, CALL, 0)?;
    desktop.until_visible(PROMPT, false)?;

    let asked = model.last_request()?;
    let result = &asked["messages"][2]["content"][0];
    ensure!(result["type"] == "tool_result" && result["tool_use_id"] == "toolu_1", "{asked:#}");
    ensure!(result.to_string().contains("Asia/Tokyo"), "{asked:#}");
    let calls = main.command("calls.list", &json!({"filter": {"limit": 5}}))?;
    assert_eq!(calls.as_array().map(Vec::len), Some(1), "{calls:#}");
    assert_eq!(calls[0]["clientName"], "Chat");
    window.quit()
}
