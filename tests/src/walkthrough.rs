//! The first use as a person does it in the real windows: the test of it and the demo play the same
//! scenario.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::client::{Client, Sdk, npm_server};
use crate::window::{AppWindow, Desktop, WebPage};

const CLIENT: &str = "Claude Code";

/// Plays it from the first start on, saves screenshots in a folder, and reports each step.
pub fn play(desktop: &Desktop, pictures: &Path, report: impl Fn(&str)) -> Result<()> {
    let folder = desktop.folder("notes")?;
    fs::write(folder.join("todo.md"), "- buy milk\n- call Bo\n")?;
    let window = AppWindow::start(desktop)?;
    report("Gatehouse is open, with Time and Notes to begin with.");
    add_server(window.main(), &folder, pictures, &report)?;
    let (endpoint, token) = add_client(window.main(), &report)?;

    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &endpoint, Some(&token))?;
    report("An AI client connects to the gateway and wants to write a file.");
    let path = folder.join("new.md");
    let call = client.begin("write_file", &json!({ "path": path, "content": "# New\n\nhello" }))?;
    desktop.until_visible("Gatehouse asks", true)?;
    let prompt = window.prompt();
    prompt.wait_for_text("hello")?;
    prompt.wait_for_text(&path.to_string_lossy())?;
    prompt.screenshot(&pictures.join("prompt.png"))?;
    desktop.screenshot(&pictures.join("screen.png"))?;
    prompt.press("Allow once")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_ok(), "allowed, and yet: {}", answer.text());
    ensure!(fs::read_to_string(&path)?.contains("hello"), "the file is not there");
    report("Allow once: the file is written.");

    let call = client.begin("write_file", &json!({ "path": folder.join("todo.md"), "content": "" }))?;
    prompt.wait_until("return document.body.innerText.includes('todo.md') || (document.querySelector('nav button:last-of-type')?.click(), null)")?;
    prompt.press("More deny options")?;
    prompt.fill("Reason (the model will see this)", "Do not empty my list")?;
    prompt.press("Deny this exact call")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_tool_error() && answer.text().contains("Do not empty my list"), "{}", answer.text());
    ensure!(fs::read_to_string(folder.join("todo.md"))?.contains("milk"), "it was emptied");
    report("Deny with a reason: the model reads it, the list is as it was.");

    let main = window.main();
    main.press("Activity")?;
    main.wait_until("return document.querySelectorAll('[role=listitem] > button').length === 2")?;
    main.wait_for_text("Allowed your answer")?;
    main.wait_for_text("Denied your answer")?;
    main.screenshot(&pictures.join("activity.png"))?;
    report("Both are in Activity.");

    allow_reads(main, &mut client, &folder, pictures)?;
    report("“Allow reads” on the server's page: a read passes unasked.");
    window.quit()?;

    let window = AppWindow::start(desktop)?;
    verify_persisted(window.main(), &token, &folder)?;
    report("After a restart server, client and rule are still there.");
    window.quit()
}

fn add_server(main: WebPage<'_>, folder: &Path, pictures: &Path, report: &impl Fn(&str)) -> Result<()> {
    main.press("Add server")?;
    let command = format!("node {} \"{}\"", npm_server("server-filesystem").display(), folder.display());
    main.fill("Paste a command, a URL, or JSON from any client's settings", &command)?;
    main.fill("Name", "files")?;
    main.press("Test connection")?;
    main.wait_for_text("Connected:")?;
    main.wait_for_text("read_text_file")?;
    main.screenshot(&pictures.join("add-server.png"))?;
    report("Test connection shows the tools of the filesystem server.");
    main.click("form button[type=submit]")?;
    main.wait_until(
        "return document.querySelector('article[aria-label=files]')?.innerText.includes('Running') ?? null",
    )?;
    main.screenshot(&pictures.join("servers.png"))?;
    report("Added: its card says Running.");
    Ok(())
}

/// Adds a client in the dialog, and reads its endpoint and its token from it as a person does.
fn add_client(main: WebPage<'_>, report: &impl Fn(&str)) -> Result<(String, String)> {
    main.press("Clients")?;
    main.press("Add client")?;
    main.fill("Name", CLIENT)?;
    main.press("Create token")?;
    main.wait_for_text("Copy this token now.")?;
    let shown = main.run(
        "return [...document.querySelectorAll('[data-testid=copy-value] code')].map((it) => it.innerText)",
    )?;
    let text = |at: usize| shown[at].as_str().map(str::to_owned).context("nothing is shown");
    let found = (text(0)?, text(1)?);
    main.press("Done")?;
    main.wait_until("return document.querySelector('[data-testid=copy-value]') === null")?;
    report("A client is added: an address, and a token that is shown this once.");
    Ok(found)
}

fn allow_reads(main: WebPage<'_>, client: &mut Client, folder: &Path, pictures: &Path) -> Result<()> {
    main.press("Servers")?;
    main.click("article[aria-label=files] a")?;
    main.press("Trust read-only labels")?;
    main.press("Allow reads")?;
    main.wait_for_text("Always allow all reads of files, for every client")?;
    main.screenshot(&pictures.join("server.png"))?;
    let answer = client.call("read_text_file", &json!({ "path": folder.join("todo.md") }))?;
    ensure!(answer.is_ok() && answer.text().contains("milk"), "{}", answer.text());
    Ok(())
}

fn verify_persisted(main: WebPage<'_>, token: &str, folder: &Path) -> Result<()> {
    main.wait_until(
        "return document.querySelector('article[aria-label=files]')?.innerText.includes('Running') ?? null",
    )?;
    let run = |name: &str| main.invoke("command", &json!({ "name": name, "args": {} }));
    let endpoint = run("status")?["endpoint"].as_str().context("no endpoint")?.to_owned();
    let clients = run("clients.list")?;
    ensure!(clients[0]["name"] == CLIENT && clients[1] == Value::Null, "{clients}");
    ensure!(run("audit.verify")?["result"] == "whole", "the audit is broken");
    let mut client = Client::connect(Sdk::TypeScript, "2025-11-25", &endpoint, Some(token))?;
    let answer = client.call("read_text_file", &json!({ "path": folder.join("todo.md") }))?;
    ensure!(answer.is_ok(), "the rule did not survive: {}", answer.text());
    Ok(())
}
