//! Detection of the peer process (PERM-9): which program is at the other end of a client's connection,
//! and the effect of using a token from another program than before.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

const NOTE: &str = "add_note";

fn own_path() -> Result<String> {
    Ok(std::env::current_exe()?.to_str().context("path")?.to_owned())
}

fn program_warning(question: &Value) -> Option<&str> {
    let warnings = question["request"]["warnings"].as_array()?;
    warnings.iter().find(|warning| warning["warning"] == "other_program")?["before"].as_str()
}

#[test]
fn approval_shows_program_and_parents() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Writer")?;
    let mut person = gatehouse.person()?;
    for (sdk, revision, program, script) in [
        (Sdk::TypeScript, "2026-07-28", "node", "client.mjs"),
        (Sdk::TypeScript, "2025-11-25", "node", "client.mjs"),
        (Sdk::Python, "2025-11-25", "python", "client.py"),
    ] {
        let mut client = Client::connect(sdk, revision, &gatehouse.endpoint, Some(&token))?;
        let call = client.begin(NOTE, &json!({ "text": revision }))?;
        let question = person.next_approval()?;
        let seen = &question["request"]["client"]["seenFrom"];
        let name = seen["program"]["name"].as_str().context("no name")?;
        ensure!(name.starts_with(program) && name.ends_with(script), "{seen:#}");
        let path = seen["program"]["path"].as_str().context("no path")?;
        ensure!(path.starts_with('/') && path.ends_with(script), "{seen:#}");
        ensure!(seen["parents"][0]["path"] == own_path()?, "it does not say who started it: {seen:#}");
        person.answer(&question, "deny")?;
        client.finish(&call)?;
    }
    Ok(())
}

/// A permanent grant is for the program that it was given to. From another one, with the same token, the
/// user is asked, and warned.
#[test]
fn token_in_another_program_asks_with_warning() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Writer")?;
    let mut person = gatehouse.person()?;
    let connect = |sdk| Client::connect(sdk, "2025-11-25", &gatehouse.endpoint, Some(&token));
    let mut usual = connect(Sdk::TypeScript)?;
    let call = usual.begin(NOTE, &json!({ "text": "one" }))?;
    let question = person.next_approval()?;
    ensure!(program_warning(&question).is_none(), "nothing was seen before: {question:#}");
    let program = question["request"]["client"]["seenFrom"]["program"]["path"].clone();
    person.answer(&question, "always-tool")?;
    ensure!(usual.finish(&call)?.is_ok(), "it was allowed");
    ensure!(usual.call(NOTE, &json!({ "text": "two" }))?.is_ok(), "it was allowed for good");
    ensure!(connect(Sdk::TypeScript)?.call(NOTE, &json!({ "text": "three" }))?.is_ok(), "the same program");

    let mut other = connect(Sdk::Python)?;
    let call = other.begin(NOTE, &json!({ "text": "four" }))?;
    let question = person.next_approval()?;
    ensure!(
        question["request"]["hash"].is_string() && program_warning(&question) == program.as_str(),
        "{question:#}"
    );
    person.answer(&question, "deny")?;
    ensure!(other.finish(&call)?.is_tool_error(), "it was denied");
    // Also marked without any grant, and later: the warning is persistent.
    let call = other.begin("list_notes", &json!({}))?;
    let question = person.next_approval()?;
    ensure!(program_warning(&question) == program.as_str(), "{question:#}");
    person.answer(&question, "deny")?;
    other.finish(&call)?;
    ensure!(usual.call(NOTE, &json!({ "text": "five" }))?.is_ok(), "the usual program lost its grant");
    Ok(())
}

/// A program that only forwards a call is not the caller: behind `gatehousectl` its parent process is
/// shown.
#[test]
fn attributes_cli_calls_to_parent_process() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Script")?;
    let mut person = gatehouse.person()?;
    let file = gatehouse.folder("token")?.join("it");
    fs::write(&file, &token)?;
    let mut call = Command::new("sh")
        .args(["-c", r#"exec 4<"$TOKEN"; exec "$0" --data-dir "$DATA" call --token-fd 4 add_note text=x"#])
        .arg(paths::program("gatehousectl")?)
        .env("TOKEN", file)
        .env("DATA", gatehouse.data_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let question = person.next_approval()?;
    let seen = &question["request"]["client"]["seenFrom"];
    ensure!(seen["program"]["path"] == own_path()?, "{seen:#}");
    person.answer(&question, "deny")?;
    ensure!(!call.wait()?.success(), "it was denied");
    Ok(())
}
