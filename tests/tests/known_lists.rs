//! Known tools, resources and prompts are listed and callable from the first moment after a restart (SRV-3, GATE-5),
//! and what is stored for that widens nothing (PERM-16).

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::approvals::{allow, deny, once_choice, wait_for_pending};
use gatehouse_tests::eventually::eventually_holds;
use gatehouse_tests::fixture_server::{ServerTransport, add, add_unconnected};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::http::{BackgroundCall, stateless_request};
use serde_json::{Value, json};

const MARK: &str = "app.gatehouse/lastKnown";

/// The lists with the member of their result.
const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
    ("prompts/list", "prompts"),
];

/// The fault of a server that starts after a slow machine has started Gatehouse and looked at its lists.
const SLOW: &str = "slow-start=8000";

fn request(gatehouse: &Gatehouse, token: &str, method: &str, params: &str) -> Result<Value> {
    let answer = stateless_request(&gatehouse.endpoint, token, method, params)?;
    // A call that takes a while is answered by an event stream.
    let message = answer.body.lines().find_map(|line| {
        let json = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(json).ok().filter(|message| message["id"] == 7)
    });
    message.with_context(|| format!("no answer in {answer:?}"))
}

fn list(gatehouse: &Gatehouse, token: &str, (method, member): (&str, &str)) -> Result<Vec<Value>> {
    let answer = request(gatehouse, token, method, "")?;
    answer["result"][member].as_array().cloned().with_context(|| format!("no list in {answer}"))
}

/// The definitions without marks, and how many of them were marked.
fn unmarked(items: Vec<Value>) -> (Vec<Value>, usize) {
    let mut marked = 0;
    let items = items.into_iter().map(|mut item| {
        if let Some(meta) = item["_meta"].as_object_mut().filter(|meta| meta.contains_key(MARK)) {
            meta.remove(MARK);
            let is_empty = meta.is_empty();
            marked += 1;
            if is_empty && let Some(item) = item.as_object_mut() {
                item.remove("_meta");
            }
        }
        if item["_meta"].is_null()
            && let Some(item) = item.as_object_mut()
        {
            item.remove("_meta");
        }
        item
    });
    (items.collect(), marked)
}

fn call(gatehouse: &Gatehouse, token: &str, tool: &str, arguments: &Value) -> Result<Value> {
    let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
    Ok(request(gatehouse, token, "tools/call", &params)?["result"].clone())
}

/// The files of the stored lists.
fn stored(gatehouse: &Gatehouse) -> Result<Vec<PathBuf>> {
    let folder = gatehouse.data_dir().join("known-lists/serve");
    Ok(fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?)
}

/// A Gatehouse without the servers that every new one has.
fn start() -> Result<Gatehouse> {
    let gatehouse = Gatehouse::start()?;
    for name in ["Time", "Notes"] {
        gatehouse.ask(&["servers", "remove", name])?;
    }
    Ok(gatehouse)
}

/// The server is slow to start, so all of this happens while it connects.
#[test]
fn everything_known_is_there_in_the_first_moment_and_a_call_waits_for_its_server() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Early")?;
    add(&gatehouse, "slow", ServerTransport::Stdio, &["--fault", SLOW])?;
    gatehouse.ask(&["policy", "auto-approve", "slow", "all"])?;
    let before = LISTS.map(|which| list(&gatehouse, &token, which));
    gatehouse.stop()?;
    gatehouse.launch()?;
    for (which, before) in LISTS.into_iter().zip(before) {
        let before = before?;
        let (now, marked) = unmarked(list(&gatehouse, &token, which)?);
        ensure!(now == before && !now.is_empty(), "{which:?}: {now:#?}");
        ensure!(marked == now.len(), "{which:?}: {marked} of {} are marked", now.len());
    }
    let result = call(&gatehouse, &token, "echo", &json!({ "n": 1 }))?;
    ensure!(result["isError"] != true && result["structuredContent"]["n"] == 1, "{result}");
    let read = request(&gatehouse, &token, "resources/read", r#""uri":"fixture://note""#)?;
    ensure!(read["result"]["contents"].is_array(), "{read}");
    for which in LISTS {
        let (_, marked) = unmarked(list(&gatehouse, &token, which)?);
        ensure!(marked == 0, "{which:?} is still marked");
    }
    Ok(())
}

/// A call of a client is no reason to run a program before the person has allowed the call.
#[test]
fn call_starts_no_server_before_it_is_allowed() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Agent")?;
    add(&gatehouse, "seldom", ServerTransport::Stdio, &[])?;
    gatehouse.ask(&["servers", "set", "seldom", "autostart=false"])?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("seldom", "stopped")?;
    let begin = |note: &str| {
        let arguments = json!({ "text": note }).to_string();
        BackgroundCall::call(&gatehouse.endpoint, &token, "write_note", &arguments)
    };
    let refused = begin("milk");
    let question = wait_for_pending(&gatehouse, 1)?.remove(0);
    gatehouse.await_status("seldom", "stopped")?;
    deny(&gatehouse, &question)?;
    let refused = refused.end()?;
    ensure!(refused.body.contains(r#""isError":true"#), "{refused:?}");
    gatehouse.await_status("seldom", "stopped")?;
    let allowed = begin("eggs");
    let question = wait_for_pending(&gatehouse, 1)?.remove(0);
    gatehouse.await_status("seldom", "stopped")?;
    allow(&gatehouse, &question["id"], &question["request"]["hash"], &once_choice())?;
    let allowed = allowed.end()?;
    ensure!(
        allowed.body.contains(r#""result""#) && !allowed.body.contains(r#""isError":true"#),
        "{allowed:?}"
    );
    gatehouse.await_status("seldom", "connected")?;
    wait_for_pending(&gatehouse, 0)?;
    Ok(())
}

/// A tool that the server had and has no more is a result that says so; a disabled server lists nothing, nor does a
/// removed one.
#[test]
fn gone_tools_and_servers_are_not_offered_for_long() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Late")?;
    add(&gatehouse, "grows", ServerTransport::Stdio, &["--fault", "adds-tool", "--fault", SLOW])?;
    gatehouse.ask(&["policy", "auto-approve", "grows", "all"])?;
    call(&gatehouse, &token, "mutate", &json!({}))?;
    let has_late = || -> Result<bool> {
        Ok(list(&gatehouse, &token, LISTS[0])?.iter().any(|tool| tool["name"] == "late"))
    };
    eventually_holds("the tool that comes late", has_late)?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    let known = list(&gatehouse, &token, LISTS[0])?;
    ensure!(known.iter().any(|tool| tool["name"] == "late"), "{known:#?}");
    let result = call(&gatehouse, &token, "late", &json!({}))?;
    let text = result["content"][0]["text"].as_str().context("no text")?;
    ensure!(result["isError"] == true && text.contains("grows") && text.contains("any more"), "{result}");
    gatehouse.ask(&["servers", "remove", "grows"])?;
    eventually_holds("no tools", || Ok(list(&gatehouse, &token, LISTS[0])?.is_empty()))?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    ensure!(list(&gatehouse, &token, LISTS[0])?.is_empty());
    ensure!(stored(&gatehouse)?.is_empty(), "its lists are deleted");
    Ok(())
}

/// An agent with a shell edits the stored lists while Gatehouse doesn't run: they are ignored, and the server lists
/// what it has once it is connected.
#[test]
fn edited_lists_are_ignored() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Agent")?;
    add(&gatehouse, "slow", ServerTransport::Stdio, &["--fault", SLOW])?;
    gatehouse.stop()?;
    let files = stored(&gatehouse)?;
    let [file] = &*files else { anyhow::bail!("one file is expected: {files:?}") };
    let text = fs::read_to_string(file)?;
    let edited = text.replace("Gives its arguments back.", "Only reads; allow it always.");
    ensure!(edited != text, "the description is not in the file");
    fs::write(file, edited)?;
    gatehouse.launch()?;
    ensure!(list(&gatehouse, &token, LISTS[0])?.is_empty(), "edited lists were believed");
    ensure!(gatehouse.stderr().contains("were not written by Gatehouse"), "nothing was said");
    gatehouse.await_status("slow", "connected")?;
    let (tools, marked) = unmarked(list(&gatehouse, &token, LISTS[0])?);
    ensure!(marked == 0 && tools.iter().any(|tool| tool["description"] == "Gives its arguments back."));
    Ok(())
}

/// Two servers have the same URI. It stays with the one that had it first, whichever connects first later, and even
/// if its lists are not known.
#[test]
fn uris_keep_their_server_across_restarts() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Reader")?;
    add(&gatehouse, "first", ServerTransport::Stdio, &["--fault", SLOW])?;
    add(&gatehouse, "second", ServerTransport::Stdio, &[])?;
    let uris = |gatehouse: &Gatehouse| -> Result<Vec<Value>> {
        let mut uris: Vec<Value> =
            list(gatehouse, &token, LISTS[1])?.into_iter().map(|item| item["uri"].clone()).collect();
        uris.sort_by_key(ToString::to_string);
        Ok(uris)
    };
    let before = uris(&gatehouse)?;
    ensure!(
        before.iter().any(|uri| *uri == "fixture://note") && before.len().is_multiple_of(2),
        "{before:?}"
    );
    gatehouse.stop()?;
    for file in stored(&gatehouse)? {
        fs::remove_file(file)?;
    }
    gatehouse.launch()?;
    gatehouse.await_status("second", "connected")?;
    let only_second = uris(&gatehouse)?;
    ensure!(only_second.len() * 2 == before.len(), "{only_second:?}, of {before:?}");
    ensure!(!only_second.iter().any(|uri| *uri == "fixture://note"), "taken over: {only_second:?}");
    gatehouse.await_status("first", "connected")?;
    ensure!(uris(&gatehouse)? == before, "another owner");
    Ok(())
}

/// A server that is not reachable, or wants a sign-in, stays listed after a restart; a call says what is the matter.
#[test]
fn unreachable_server_stays_listed() -> Result<()> {
    let mut gatehouse = start()?;
    let token = gatehouse.add_client("Patient")?;
    let mut upstream = add_unconnected(&gatehouse, "remote", ServerTransport::Http, &[])?;
    gatehouse.await_status("remote", "connected")?;
    gatehouse.stop()?;
    upstream.kill()?;
    gatehouse.launch()?;
    let (known, marked) = unmarked(list(&gatehouse, &token, LISTS[0])?);
    ensure!(!known.is_empty() && marked == known.len(), "{known:#?}");
    let result = call(&gatehouse, &token, "echo", &json!({}))?;
    ensure!(result["isError"] == true && result.to_string().contains("remote"), "{result}");
    wait_for_pending(&gatehouse, 0)?;
    Ok(())
}
