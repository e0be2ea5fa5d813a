//! An agent tries to use a grant for more than it was given for: another server under a trusted name, a
//! tool that was added later, a path that only seems to be inside a folder. Each test states what the
//! agent tried and what stopped it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::{self, assert_asked};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::client::npm_server;
use gatehouse_tests::fixture;
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{BackgroundCall, RawHttpResponse};
use serde_json::{Value, json};

fn call(gatehouse: &Gatehouse, token: &str, tool: &str, arguments: &str) -> Result<RawHttpResponse> {
    BackgroundCall::call(&gatehouse.endpoint, token, tool, arguments).end()
}

/// Tried: another server under the name of a trusted one: replacing a removed one, by renaming another,
/// and by an edit of the file. Stopped by: a grant is for a server's id and generation. A new server has
/// another id, an edit another generation, and neither is the allowed one.
#[test]
fn grant_does_not_cover_another_server_of_same_name() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _first = add(&gatehouse, "raw", ServerTransport::Stdio, &[])?;
    let _other = add(&gatehouse, "other", ServerTransport::Stdio, &[])?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    gatehouse.ask(&["servers", "stop", "other", "--disable"])?;
    ensure!(call(&gatehouse, &token, "echo", r#"{"a":1}"#)?.body.contains(r#"{"a":1}"#), "not allowed");
    let trusted = gatehouse.await_status("raw", "connected")?;

    // An edit of the file: nothing of it runs before it is confirmed, and then as another generation.
    let file = gatehouse.data_dir().join("servers.json");
    let mut servers: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    servers["mcpServers"]["raw"]["args"] = json!(["--fault", "many-tools=1"]);
    fs::write(&file, servers.to_string())?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(
        question["request"]["kind"] == "config_change" && question["request"]["server"] == "raw",
        "{question:#}"
    );
    ensure!(call(&gatehouse, &token, "echo", r#"{"a":2}"#)?.body.contains(r#"{"a":2}"#), "it stopped");
    let accept = json!({ "answers": [{ "id": question["id"], "hash": null, "answer": { "answer": "accept", "content": null } }] });
    gatehouse.command("approvals.answer", &accept)?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    let edited = loop {
        let edited = gatehouse.await_status("raw", "connected")?;
        if edited["config"]["generation"] != trusted["config"]["generation"] {
            break edited;
        }
        ensure!(Instant::now() < deadline, "the edit never counted");
    };
    ensure!(edited["config"]["id"] == trusted["config"]["id"], "{edited:#}");
    assert_asked(&gatehouse, &token, "echo", r#"{"a":3}"#)?;

    // Removed and added again.
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    ensure!(call(&gatehouse, &token, "echo", r#"{"a":4}"#)?.body.contains(r#"{"a":4}"#), "not allowed");
    gatehouse.ask(&["servers", "remove", "raw"])?;
    let _again = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "many-tools=1"])?;
    let again = gatehouse.await_status("raw", "connected")?;
    ensure!(again["config"]["id"] != trusted["config"]["id"], "the id was given twice: {again:#}");
    assert_asked(&gatehouse, &token, "echo", r#"{"a":5}"#)?;

    // Another server that takes the name.
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let taken = gatehouse.run_as_operator(&["servers", "rename", "other", "raw"])?;
    ensure!(!taken.status.success(), "two servers have one name");
    gatehouse.ask(&["servers", "remove", "raw"])?;
    gatehouse.ask(&["servers", "rename", "other", "raw"])?;
    gatehouse.ask(&["servers", "start", "raw"])?;
    gatehouse.await_status("raw", "connected")?;
    let exposed = exposed(&gatehouse, "echo")?;
    assert_asked(&gatehouse, &token, &exposed, r#"{"a":6}"#)?;
    Ok(())
}

fn exposed(gatehouse: &Gatehouse, tool: &str) -> Result<String> {
    let tools = gatehouse.ask(&["tools", "list", "--server", "raw"])?;
    let found =
        tools.as_array().into_iter().flatten().find(|view| view["tool"] == tool || view["name"] == tool);
    let name = found.and_then(|view| view["exposedName"].as_str()).map(str::to_owned);
    name.with_context(|| format!("{tool} is not in {tools:#}"))
}

/// Tried: a tool that the server adds after everything of it was allowed. Stopped by: a wide grant
/// covers the tools that existed when it was given.
#[test]
fn wide_grant_excludes_later_tools() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "adds-tool"])?;
    gatehouse.ask(&["policy", "auto-approve", "raw", "all"])?;
    let token = gatehouse.add_client("agent")?;
    call(&gatehouse, &token, "mutate", "{}")?;
    let deadline = Instant::now() + TEST_TIMEOUT;
    while exposed(&gatehouse, fixture::LATE_TOOL).is_err() {
        ensure!(Instant::now() < deadline, "the new tool was never noticed");
    }
    assert_asked(&gatehouse, &token, fixture::LATE_TOOL, "{}")?;
    ensure!(call(&gatehouse, &token, "echo", r#"{"a":1}"#)?.body.contains(r#"{"a":1}"#), "echo asks too");
    Ok(())
}

/// Tried: every way to write a path so that it seems to be in the one allowed folder: duplicate keys,
/// `..`, symbolic links created after the grant, other cases and forms of letters, escapes, blanks, a
/// list. Stopped by: a path is resolved to where it leads, a doubtful path never matches, and arguments
/// that can be parsed in two ways are refused before an approval is requested.
#[test]
fn rejects_disguised_paths_outside_allowed_folder() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("messages");
    let _upstream =
        add(&gatehouse, "raw", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    let token = gatehouse.add_client("agent")?;
    let (inside, outside) = (gatehouse.folder("in")?, gatehouse.folder("out")?);
    fs::write(inside.join("a.txt"), "a")?;
    fs::create_dir(inside.join("sub"))?;
    fs::write(outside.join("secret"), "s")?;
    let (at, out) = (inside.to_str().context("path")?, outside.to_str().context("path")?);
    allow_in_folder(&gatehouse, &token, "echo", &format!("{at}/a.txt"))?;
    let path = |path: &str| json!({ "path": path }).to_string();
    for fine in ["a.txt", "new/b.txt", "sub/../a.txt", "./a.txt", "/a.txt"] {
        let arguments = path(&format!("{at}/{fine}"));
        ensure!(call(&gatehouse, &token, "echo", &arguments)?.body.contains(fine), "{fine} was not let in");
    }
    let sent = calls(&log);
    symlink(&outside, inside.join("sub/link"))?;
    symlink(outside.join("secret"), inside.join("b.txt"))?;
    symlink(&outside, inside.join("na\u{ef}ve"))?;
    let upper = at.to_uppercase();
    let wide = at.replace("in", "\u{ff49}n");
    for doubtful in [
        path(&format!("{out}/secret")),
        path(&format!("{at}/../out/secret")),
        path(&format!("{at}/sub/../../out/secret")),
        path(&format!("{at}/sub/link/secret")),
        path(&format!("{at}/b.txt")),
        path(&format!("{at}/sub/link/../a.txt")),
        path(&format!("{at}/none/../../out/secret")),
        path(&format!("{at}/nai\u{308}ve/secret")),
        path(&format!("{at}side/a.txt")),
        path(&format!("{upper}/a.txt")),
        path(&format!("{wide}/a.txt")),
        path(&format!("file://{at}/a.txt")),
        path(&format!("{at}/%2e%2e/out/secret")),
        path(&format!("{at}/..\\..\\out\\secret")),
        path(&format!("{at}/.. /out/secret")),
        path(&format!(" {at}/a.txt")),
        path(&format!("{at}/a.txt\n{out}/secret")),
        path(&format!("{at}/a.txt\0")),
        path("a.txt"),
        path("~/a.txt"),
        json!({ "path": [format!("{at}/a.txt")] }).to_string(),
        json!({ "Path": format!("{at}/a.txt") }).to_string(),
        json!({ "p\u{0430}th": format!("{at}/a.txt") }).to_string(),
        "{}".to_owned(),
    ] {
        assert_asked(&gatehouse, &token, "echo", &doubtful)?;
    }
    for twice in [
        format!(r#"{{"path":"{at}/a.txt","path":"{out}/secret"}}"#),
        format!(r#"{{"path":"{at}/a.txt","p\u0061th":"{out}/secret"}}"#),
        format!(r#"{{"path":"{at}/a.txt","more":{{"x":1,"x":2}}}}"#),
        format!(r#"{{"path":"{at}/a.txt","lone":"\ud800"}}"#),
    ] {
        let end = call(&gatehouse, &token, "echo", &twice)?;
        ensure!(end.body.contains("-32602") && end.body.contains("safely"), "{twice}: {end:?}");
    }
    ensure!(calls(&log) == sent, "something got through: {:#?}", calls(&log));
    // The grant itself still works.
    ensure!(call(&gatehouse, &token, "echo", &path(&format!("{at}/a.txt")))?.body.contains("a.txt"), "gone");
    Ok(())
}

/// Tried: the same with a server that follows links, and a folder that is replaced by a link. Stopped
/// by: the path is resolved again for each call.
#[test]
fn resolves_symlinks_on_each_call() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let home = gatehouse.folder("files")?;
    let (inside, outside) = (home.join("in"), home.join("out"));
    fs::create_dir(&inside)?;
    fs::create_dir(&outside)?;
    fs::write(inside.join("a.txt"), "harmless")?;
    fs::write(outside.join("a.txt"), "secret")?;
    let server = npm_server("server-filesystem");
    let words = ["servers", "add", "files", "--", "node", server.to_str().context("path")?];
    gatehouse.ask(&[&words[..], &[home.to_str().context("path")?]].concat())?;
    gatehouse.await_status("files", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let file = inside.join("a.txt");
    let file = file.to_str().context("path")?;
    allow_in_folder(&gatehouse, &token, "read_text_file", file)?;
    let arguments = json!({ "path": file }).to_string();
    let read = call(&gatehouse, &token, "read_text_file", &arguments)?;
    ensure!(read.body.contains("harmless"), "{read:?}");
    for link in [true, false] {
        if link {
            fs::remove_file(inside.join("a.txt"))?;
            symlink(outside.join("a.txt"), inside.join("a.txt"))?;
        } else {
            fs::remove_dir_all(&inside)?;
            symlink(&outside, &inside)?;
        }
        let question = assert_asked(&gatehouse, &token, "read_text_file", &arguments)?;
        ensure!(!question.to_string().contains("secret"), "{question:#}");
    }
    Ok(())
}

fn calls(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().filter(|line| line.contains(r#""tools/call""#)).map(str::to_owned).collect()
}

/// Allows a tool for the folder of a path, with the choice that the approval request offers.
fn allow_in_folder(gatehouse: &Gatehouse, token: &str, tool: &str, path: &str) -> Result<()> {
    let arguments = json!({ "path": path }).to_string();
    let first = BackgroundCall::call(&gatehouse.endpoint, token, tool, &arguments);
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    let choice = approvals::folder_choice(&question, "always")?;
    let folder = Path::new(path).parent().and_then(Path::to_str).context("no folder")?;
    ensure!(choice["conditions"][0]["test"]["folder"] == folder, "{choice:#}");
    approvals::allow(gatehouse, &question["id"], &question["request"]["hash"], &choice)?;
    let end = first.end()?;
    ensure!(!end.body.contains(r#""isError":true"#), "{end:?}");
    Ok(())
}
