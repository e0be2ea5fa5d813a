//! A program that has a client's token runs the exact script that the user allows, in an interpreter
//! with additional code: preloaded by an option, or wrapped around the script. Each test states what was
//! tried and what stopped it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk, script};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, paths};
use serde_json::{Value, json};

const NOTE: &str = "add_note";
const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// The peer process in an approval request.
fn program(question: &Value) -> &Value {
    &question["request"]["client"]["seenFrom"]["program"]
}

/// Whether it is the program that runs the client's script, by name.
fn is_named(program: &Value) -> bool {
    let name = program["name"].as_str().unwrap_or_default();
    program["isKnown"] == true && name.starts_with("node") && name.ends_with("client.mjs")
}

fn warns(question: &Value, of: &str) -> bool {
    question["request"]["warnings"].as_array().is_some_and(|all| all.iter().any(|one| one["warning"] == of))
}

/// The client's script with preloaded code, which leaves a sign that it ran.
fn preloaded(sign: &Path, folder: &Path, option: &str) -> Result<Command> {
    let name = if option.starts_with("--import") { "code.mjs" } else { "code.cjs" };
    let file = folder.join(name);
    let load =
        if name == "code.mjs" { "import fs from 'node:fs';" } else { "const fs = require('node:fs');" };
    fs::write(&file, format!("{load} fs.writeFileSync({}, 'it ran');\n", json!(sign)))?;
    let file = file.to_str().context("path")?;
    let mut command = Command::new("node");
    match option {
        "-r" => command.args(["-r", file]),
        "--import" => command.arg(format!("--import=file://{file}")),
        option => command.arg(format!("{option}={file}")),
    };
    command.arg(script(Sdk::TypeScript));
    Ok(command)
}

/// The client's script, run by code given on the command line.
fn wrapped(sign: &Path) -> Result<Command> {
    let mut command = Command::new(paths::python()?);
    let (sign, script) = (json!(sign), script(Sdk::Python));
    let (folder, script) = (json!(script.parent()), json!(script));
    command.arg("-c").arg(format!(
        "import runpy, sys; open({sign}, 'w').write('it ran'); sys.path.insert(0, {folder}); \
         runpy.run_path({script}, run_name='__main__')"
    ));
    Ok(command)
}

/// Tried: the script that the user allowed permanently, under the same token, in an interpreter that was
/// told to load other code: by `--require`, `-r` and `--import`, and by code on the command line.
/// Stopped by: with options that may load code it cannot be determined what runs, so the program counts
/// as unknown. No rule for a program applies to it, the approval request says so, and nothing permanent
/// is offered or accepted. The same script without options is still the named program.
#[test]
fn it_loads_code_into_the_program_that_was_allowed() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Writer")?;
    let folder = gatehouse.folder("code")?;
    let mut usual = Client::connect(Sdk::TypeScript, REVISIONS[0], &gatehouse.endpoint, Some(&token))?;
    let call = usual.begin(NOTE, &json!({ "text": "usual" }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(is_named(program(&question)), "{question:#}");
    ensure!(!warns(&question, "unknown_program") && approvals::offers_always(&question)?, "{question:#}");
    let always = json!({ "lifetime": "always", "width": "tool", "everyClient": false, "conditions": [] });
    approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &always)?;
    ensure!(usual.finish(&call)?.is_ok(), "it was allowed");

    for (number, way) in ["--require", "-r", "--import", "-c"].into_iter().enumerate() {
        for revision in REVISIONS {
            let sign = folder.join(format!("sign-{number}-{revision}"));
            let mut command = if way == "-c" { wrapped(&sign)? } else { preloaded(&sign, &folder, way)? };
            let mut other = Client::connect_by(&mut command, revision, &gatehouse.endpoint, &token)?;
            ensure!(
                fs::read_to_string(&sign).is_ok_and(|said| said == "it ran"),
                "{way}: no code was loaded"
            );
            let call = other.begin(NOTE, &json!({ "text": format!("{way} {revision}") }))?;
            let question = approvals::wait_for_pending(&gatehouse, 1)
                .with_context(|| format!("{way} was not asked"))?
                .remove(0);
            let seen = program(&question);
            let path = seen["path"].as_str().context("no path")?;
            ensure!(seen["isKnown"] == false && path.starts_with('/'), "{way}: {seen:#}");
            ensure!(!path.contains("client."), "{way}: it is named by a script that says nothing: {seen:#}");
            ensure!(warns(&question, "unknown_program"), "{way}: the question does not say so: {question:#}");
            let lasting = |choice: &&Value| choice["lifetime"] != "once" && choice["lifetime"] != "session";
            let offered = approvals::choices(&question)?.iter().find(lasting);
            ensure!(offered.is_none(), "{way}: {offered:?} is on offer");
            let taken = approvals::allow(&gatehouse, &question["id"], &question["request"]["hash"], &always);
            ensure!(taken.is_err(), "{way}: it was allowed for good all the same");
            gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
            ensure!(other.finish(&call)?.is_tool_error(), "{way}: it was denied");
        }
    }
    ensure!(usual.call(NOTE, &json!({ "text": "again" }))?.is_ok(), "the usual program lost its grant");
    let mut again = Client::connect(Sdk::TypeScript, REVISIONS[1], &gatehouse.endpoint, Some(&token))?;
    ensure!(
        again.call(NOTE, &json!({ "text": "more" }))?.is_ok(),
        "the same program in another process is asked"
    );
    approvals::wait_for_pending(&gatehouse, 0)?;
    Ok(())
}

/// Not an attack: with options that neither load code nor open the program to others it stays the named
/// one.
#[test]
fn options_that_load_nothing_change_nothing() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Writer")?;
    let mut command = Command::new("node");
    command.args(["--no-warnings", "--enable-source-maps"]).arg(script(Sdk::TypeScript));
    let mut client = Client::connect_by(&mut command, REVISIONS[0], &gatehouse.endpoint, &token)?;
    let call = client.begin(NOTE, &json!({ "text": "one" }))?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(is_named(program(&question)) && approvals::offers_always(&question)?, "{question:#}");
    gatehouse.ask(&["approvals", "answer", question["id"].as_str().context("id")?, "deny"])?;
    ensure!(client.finish(&call)?.is_tool_error(), "it was denied");
    Ok(())
}
