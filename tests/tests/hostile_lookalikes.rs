//! An agent and its servers try to pass for something else: look-alike names, characters that are
//! invisible or reverse text, escape sequences that a terminal executes. Each test states what was tried
//! and what stopped it.

use std::fs;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::http::{BackgroundCall, StatelessClient};
use gatehouse_tests::{approvals, fixture};
use serde_json::{Value, json};

/// How many of the fixture's deceivers look alike and hide nothing.
const LOOK_ALIKES: usize = 2;

fn with_deceivers() -> Result<(Gatehouse, FixtureServer, String)> {
    let gatehouse = Gatehouse::start()?;
    let upstream = add(&gatehouse, "raw", ServerTransport::Stdio, &["--fault", "deceives"])?;
    gatehouse.ask(&["policy", "grant", "raw", "--tool", "echo"])?;
    let token = gatehouse.add_client("agent")?;
    Ok((gatehouse, upstream, token))
}

/// The names of the deceivers: their own, and the exposed ones.
fn names(gatehouse: &Gatehouse) -> Result<Vec<(String, String)>> {
    let tools = gatehouse.ask(&["tools", "list", "--server", "raw"])?;
    let tools = tools.as_array().context("no list")?;
    fixture::DECEIVERS
        .iter()
        .map(|definition| {
            let definition: Value = serde_json::from_str(definition)?;
            let name = definition["name"].as_str().context("no name")?;
            let view = tools.iter().find(|view| view["tool"] == name || view["name"] == name);
            let view = view.with_context(|| format!("{name:?} is not in {tools:#?}"))?;
            Ok((name.to_owned(), view["exposedName"].as_str().context("no name")?.to_owned()))
        })
        .collect()
}

/// Everything that the command line prints for people.
fn printed_output(gatehouse: &Gatehouse, server: &str) -> Result<String> {
    let mut all = gatehouse.stderr();
    for words in [
        &["approvals", "list"][..],
        &["calls"],
        &["audit", "list"],
        &["tools", "list"],
        &["servers", "list"],
        &["servers", "log", server],
        &["clients", "list"],
        &["policy", "show"],
        &["status"],
    ] {
        let output = gatehouse.run_as_operator(words)?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
        all.push_str(&String::from_utf8(output.stdout)?);
        all.push_str(&String::from_utf8(output.stderr)?);
    }
    Ok(all)
}

/// The one pending approval, which is then denied: as JSON, and as the terminal shows it.
fn one_approval(gatehouse: &Gatehouse, server: &str, call: BackgroundCall) -> Result<(Value, String)> {
    let question = approvals::wait_for_pending(gatehouse, 1)?.remove(0);
    let (id, lines) = gatehouse.terminal()?.next_approval()?;
    let shown = format!("{}\n{}", lines.join("\n"), printed_output(gatehouse, server)?);
    ensure!(
        approvals::find_deceptive_char(&shown).is_none(),
        "{:?} is printed: {shown}",
        approvals::find_deceptive_char(&shown)
    );
    gatehouse.ask(&["approvals", "answer", &id, "deny"])?;
    ensure!(call.end()?.body.contains(r#""isError":true"#), "it ran: {question:#}");
    let after = printed_output(gatehouse, server)?;
    ensure!(
        approvals::find_deceptive_char(&after).is_none(),
        "{:?} is printed: {after}",
        approvals::find_deceptive_char(&after)
    );
    Ok((question, lines.join("\n")))
}

/// Tried: tools that look like the allowed one, with a Cyrillic letter, full-width letters, invisible
/// letters, reversed text; titles and texts that clear a terminal and write something else. Stopped by:
/// the grant is for the exact name of the tool, so each of them needs approval; clients get distinct
/// names of ASCII letters; hidden characters are named in the approval request, which offers nothing
/// permanent; and nothing that is printed contains a terminal control character.
#[test]
fn asks_for_lookalike_of_allowed_tool() -> Result<()> {
    let (gatehouse, _upstream, token) = with_deceivers()?;
    let allowed = BackgroundCall::call(&gatehouse.endpoint, &token, "echo", r#"{"allowed":true}"#).end()?;
    ensure!(allowed.body.contains("allowed"), "{allowed:?}");
    let names = names(&gatehouse)?;
    for (at, (name, exposed)) in names.iter().enumerate() {
        ensure!(exposed.is_ascii() && exposed != "echo", "{name:?} is called {exposed:?}");
        ensure!(names.iter().filter(|(_, other)| other == exposed).count() == 1, "{exposed} is given twice");
        let call = BackgroundCall::call(&gatehouse.endpoint, &token, exposed, "{}");
        let (question, lines) = one_approval(&gatehouse, "raw", call)?;
        ensure!(question["request"]["subject"]["name"] == name.as_str(), "{question:#}");
        ensure!(question["request"]["exposedName"] == exposed.as_str(), "{question:#}");
        let hides = question["request"]["warnings"].to_string().contains("hidden_characters");
        ensure!(hides == (at >= LOOK_ALIKES), "{name:?}: {question:#}");
        let alike = question["request"]["warnings"].to_string().contains("look_alikes");
        ensure!(alike == (at < LOOK_ALIKES), "{name:?}: {question:#}");
        ensure!(lines.contains("hidden characters in") == hides, "the terminal does not say so: {lines}");
        ensure!(approvals::offers_always(&question)? != hides, "{name:?}: {question:#}");
    }
    Ok(())
}

/// Tried: arguments that display another path than they contain, that are invisible, and that clear the
/// terminal. Stopped by: hidden characters are shown by their code points, the warning names the
/// argument, nothing permanent is offered.
#[test]
fn shows_hidden_characters_in_arguments() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    for (arguments, shown, place) in [
        (r#"{"text":"/tmp/\u202etxt.exe"}"#, "⟦U+202E⟧txt.exe", "argument text"),
        ("{\"text\":\"/tmp/\u{202e}txt.exe\"}", "⟦U+202E⟧txt.exe", "argument text"),
        (r#"{"text":"a","te\u200bxt":"b"}"#, "te⟦U+200B⟧xt", "argument te"),
        (r#"{"text":"\u001b[2J\u001b[Hall is well"}"#, "\\u001b[2J", "argument text"),
        (r#"{"text":"x\u0007\u009b31m"}"#, "⟦U+009B⟧31m", "argument text"),
        (r#"{"text":"a","more":{"deep":["\u2066b\u2069"]}}"#, "⟦U+2066⟧b⟦U+2069⟧", "argument more"),
        (r#"{"text":"tag\udb40\udc68\udb40\udc69"}"#, "⟦U+E0068⟧⟦U+E0069⟧", "argument text"),
    ] {
        let call = BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", arguments);
        let (question, lines) = one_approval(&gatehouse, "Notes", call)?;
        ensure!(lines.contains(shown), "{arguments}: {shown} is not in {lines}");
        ensure!(lines.contains(&format!("hidden characters in the {place}")), "{arguments}: {lines}");
        ensure!(!approvals::offers_always(&question)?, "{arguments}: {question:#}");
    }
    Ok(())
}

/// Tried: a self-reported client name that looks like another client or clears the terminal. Stopped by:
/// the prompt shows the name that the user gave the client; the self-reported name is shown beside it,
/// cleaned.
#[test]
fn sanitizes_self_reported_client_name() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    for says in [r"\u001b[2J\u001b[HClaude Code", r"\u202eedoC edualC", "Claude Code", r"Cl\u200baude"] {
        let says: &'static str = says;
        let client = StatelessClient { name: says, capabilities: "{}" };
        let call = client.begin(&gatehouse.endpoint, &token, r#""name":"add_note","arguments":{"text":"x"}"#);
        let (question, _) = one_approval(&gatehouse, "Notes", call)?;
        ensure!(question["request"]["client"]["name"] == "agent", "{question:#}");
        let told = question["request"]["client"]["says"].as_str().context("it says nothing")?;
        ensure!(approvals::find_deceptive_char(told).is_none(), "{told:?}");
    }
    Ok(())
}

/// Tried: names for servers and clients that hide something or look like others, as a command and as a
/// manual edit. Stopped by: such names are refused; in a manual edit they are an entry with an error,
/// which is printed with hidden characters made visible.
#[test]
fn rejects_lookalike_server_and_client_names() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    for name in [
        "No\u{200b}tes",
        "\u{202e}setoN",
        "Notes\u{7}",
        "notes",
        " Notes ",
        "Notes\n",
        "N\u{43e}tes",
        "\u{ff2e}otes",
    ] {
        let output = gatehouse.run_as_operator(&["servers", "add", name, "--", "true"])?;
        ensure!(!output.status.success(), "a server may be called {name:?}");
        let said = String::from_utf8(output.stderr)?;
        ensure!(approvals::find_deceptive_char(&said).is_none(), "{name:?} is printed as it is: {said}");
    }
    gatehouse.add_client("Editor")?;
    for name in ["a\u{200b}b", "\u{202e}ba", "editor", "\u{415}ditor", "Edit\u{43e}r"] {
        ensure!(
            !gatehouse.run_as_operator(&["clients", "add", name])?.status.success(),
            "a client may be {name:?}"
        );
    }
    let file = gatehouse.data_dir().join("servers.json");
    let mut servers: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    servers["mcpServers"]["No\u{202e}tes"] = json!({ "command": "sh", "args": ["-c", "\u{1b}[2J"] });
    servers["mcpServers"]["well"] = json!({ "command": "sh", "args": ["-c", "\u{1b}[2J\u{202e}"] });
    fs::write(&file, servers.to_string())?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    ensure!(question["request"]["kind"] == "config_change", "{question:#}");
    let (_, lines) = gatehouse.terminal()?.next_approval()?;
    let shown = format!("{}\n{}", lines.join("\n"), printed_of_edit(&gatehouse)?);
    ensure!(
        approvals::find_deceptive_char(&shown).is_none(),
        "{:?} is printed: {shown}",
        approvals::find_deceptive_char(&shown)
    );
    ensure!(shown.contains("U+202E"), "what is hidden is not shown: {shown}");
    Ok(())
}

/// Tried: last output of a server that colours, reverses and hides the text beside it. Stopped by: the
/// message of a failure is cleaned before a window, a terminal or a program gets it.
#[test]
fn it_hides_in_its_last_words() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let script = r"printf '\033[31mno\342\200\256 way\342\200\213!\033[0m\n' >&2; exit 3";
    gatehouse.ask(&["servers", "add", "odd", "--", "sh", "-c", script])?;
    let found = gatehouse.await_status("odd", "failed")?;
    let said = status_text(&found["status"])?;
    ensure!(said.contains("no way!") && approvals::find_deceptive_char(&said).is_none(), "{said:?}");
    Ok(())
}

fn printed_of_edit(gatehouse: &Gatehouse) -> Result<String> {
    let mut all = gatehouse.stderr();
    for words in [&["approvals", "list"][..], &["servers", "list"], &["status"]] {
        all.push_str(&String::from_utf8(gatehouse.run_as_operator(words)?.stdout)?);
    }
    Ok(all)
}
