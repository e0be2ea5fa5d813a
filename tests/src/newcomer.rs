//! The walk of a newcomer in the real windows: from a first start, on a computer where another application has a server,
//! to the first allowed call of that server. What a person does is done by clicks, which are counted; the time of each step
//! ends when its result can be seen. The test of it and the demo play the same walk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::client::{Client, Sdk, npm_server};
use crate::eventually::eventually_holds;
use crate::window::{AppWindow, Desktop, WebPage};

/// The most clicks from the first start to the first allowed call.
pub const MOST_CLICKS: u32 = 7;

/// The most time that they may take.
pub const MOST_TIME: Duration = Duration::from_secs(120);

/// The revision that the application of the walk speaks.
const REVISION: &str = "2025-11-25";

/// A secret that stands in the settings of the other application.
const SECRET: &str = "s3cret-of-the-newcomer";

/// What a walk took.
#[derive(Clone, Copy, Debug)]
pub struct NewcomerWalk {
    pub clicks: u32,
    /// Without the time for the pictures.
    pub took: Duration,
}

/// Walks, saves a picture of each step in a folder, and reports each step.
pub fn walk(desktop: &Desktop, pictures: &Path, report: impl Fn(&str)) -> Result<NewcomerWalk> {
    let folder = desktop.folder("reports")?;
    let settings = write_settings(desktop, &folder)?;
    desktop.forget_first_steps()?;
    let mut steps = Steps::begin(pictures, report);

    let window = AppWindow::start(desktop)?;
    let main = window.main();
    main.wait_for_text("Welcome to Gatehouse")?;
    main.wait_for_text("Found 1 server in Cursor")?;
    steps.end(main, "first-start", "The first start finds the server in Cursor's settings")?;
    import(&mut steps, main)?;
    connect(&mut steps, main)?;
    ensure!(main.command("clients.list", &json!({}))?[0]["name"] == "Cursor", "no client was added");

    let mut client = Client::connect_program(Sdk::TypeScript, REVISION, &entry(desktop, &settings)?)?;
    eventually_holds("the imported server's tools", || {
        Ok(client.tools()?.iter().any(|tool| tool["name"] == "write_file"))
    })?;
    let path = folder.join("first.md");
    let call = client.begin("write_file", &json!({ "path": path, "content": "# The first report" }))?;
    desktop.until_visible("Gatehouse asks", true)?;
    let prompt = window.prompt();
    prompt.wait_for_text("# The first report")?;
    prompt.wait_for_text(&path.to_string_lossy())?;
    steps.end(prompt, "request", "Cursor starts its entry and calls a tool; the prompt shows the call")?;
    desktop.screenshot(&pictures.join("screen.png"))?;
    steps.begun = Instant::now();

    steps.press(prompt, "Allow once")?;
    let answer = client.finish(&call)?;
    ensure!(answer.is_ok(), "allowed, and yet: {}", answer.text());
    prompt.wait_for_text("Allowed")?;
    // The prompt hides itself: the picture is of the window that stays.
    steps.end(main, "allowed", "Allow once: the call has run")?;

    ensure!(fs::read_to_string(&path)?.contains("The first report"), "the file is not there");
    verify_secret(desktop)?;
    client.close()?;
    let walk = NewcomerWalk { clicks: steps.clicks, took: steps.took };
    window.quit()?;
    Ok(walk)
}

/// The settings of Cursor, with one server and a comment, as its user left them.
fn write_settings(desktop: &Desktop, folder: &Path) -> Result<PathBuf> {
    let settings = desktop.folder(".cursor")?.join("mcp.json");
    let arguments = json!([npm_server("server-filesystem"), folder]);
    let server = json!({ "command": "node", "args": arguments, "env": { "API_KEY": SECRET } });
    let servers = json!({ "mcpServers": { "reports": server } });
    fs::write(&settings, format!("// My servers\n{servers:#}\n"))?;
    Ok(settings)
}

/// Imports the server, from the offer of the first step on.
fn import(steps: &mut Steps<'_, impl Fn(&str)>, main: WebPage<'_>) -> Result<()> {
    steps.press(main, "Import…")?;
    main.wait_for_text("1 of 1 server selected")?;
    main.wait_for_text("Put 1 secret into the keychain")?;
    steps.end(
        main,
        "import-servers",
        "Import… shows the server of the only application that has any, selected, and its secret for the keychain",
    )?;
    steps.press(main, "Import 1 server")?;
    main.wait_for_text("1 of 1 server imported")?;
    steps.end(main, "imported", "Import 1 server: it is imported")?;
    steps.press(main, "Done")?;
    main.wait_until("return /Your servers: .*reports/.test(document.body.innerText)")?;
    steps.end(main, "servers", "Done: it is among the servers")?;
    steps.press(main, "Next")?;
    main.wait_until("return document.querySelector('[aria-label=\"Connect Cursor\"]') !== null")?;
    steps.end(main, "applications", "Next: the applications of this computer")
}

/// Connects Cursor.
fn connect(steps: &mut Steps<'_, impl Fn(&str)>, main: WebPage<'_>) -> Result<()> {
    steps.press(main, "Connect Cursor")?;
    main.wait_until("return document.querySelector('[role=dialog] [data-kind=added]') !== null")?;
    ensure!(!main.text()?.contains(SECRET), "the change shows the secret of another server");
    steps.end(main, "change", "Connect shows what changes in Cursor's settings")?;
    steps.press(main, "Connect")?;
    main.wait_for_text("Cursor is connected")?;
    steps.end(main, "connected", "Connect: Cursor is connected")
}

/// The program that Cursor starts from now on.
fn entry(desktop: &Desktop, settings: &Path) -> Result<Command> {
    let text = fs::read_to_string(settings)?;
    ensure!(text.starts_with("// My servers\n") && text.contains("\"reports\""), "it was rewritten: {text}");
    // JSON but for the comments, each of which has a line of its own.
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let servers: BTreeMap<String, Value> =
        serde_json::from_value(serde_json::from_str::<Value>(&lines.join("\n"))?["mcpServers"].take())?;
    let entry = servers.get("gatehouse").context("Gatehouse has no entry")?;
    let mut command = desktop.command(entry["command"].as_str().context("no command")?);
    for argument in entry["args"].as_array().context("no arguments")? {
        command.arg(argument.as_str().context("no text")?);
    }
    Ok(command)
}

/// The secret of the imported server is in the keychain, and in no settings of Gatehouse.
fn verify_secret(desktop: &Desktop) -> Result<()> {
    let servers = fs::read_to_string(desktop.data_dir().join("servers.json"))?;
    ensure!(servers.contains("${secret:API_KEY}") && !servers.contains(SECRET), "{servers}");
    Ok(())
}

/// The steps so far.
struct Steps<'a, R> {
    pictures: &'a Path,
    report: R,
    clicks: u32,
    ended: u32,
    took: Duration,
    /// When the step at hand began.
    begun: Instant,
}

impl<'a, R: Fn(&str)> Steps<'a, R> {
    fn begin(pictures: &'a Path, report: R) -> Self {
        Self { pictures, report, clicks: 0, ended: 0, took: Duration::ZERO, begun: Instant::now() }
    }

    /// Clicks on the element with this name.
    fn press(&mut self, page: WebPage<'_>, name: &str) -> Result<()> {
        self.clicks += 1;
        page.press(name)
    }

    /// The result of a step can be seen: takes a picture of the page, and reports the step. The next one begins.
    fn end(&mut self, page: WebPage<'_>, picture: &str, what: &str) -> Result<()> {
        let took = self.begun.elapsed();
        self.took += took;
        self.ended += 1;
        let Self { clicks, ended, .. } = *self;
        page.screenshot(&self.pictures.join(format!("{ended:02}-{picture}.png")))?;
        (self.report)(&format!("{ended:2}. {what} ({} ms, clicks so far: {clicks})", took.as_millis()));
        self.begun = Instant::now();
        Ok(())
    }
}
