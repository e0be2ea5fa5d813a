//! The first call, told as it happens: a real server from npm, a real client of each revision, a
//! person in front of `gatehousectl approvals watch`. `cargo xtask demo` builds what it needs and
//! runs it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Answer, Client, Sdk};
use gatehouse_tests::gatehouse::{Gatehouse, Terminal};
use serde_json::json;

fn main() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    say(&format!("Gatehouse serves at {} with an encrypted vault for its secrets.", gatehouse.endpoint));
    let folder = gatehouse.folder("notes")?;
    fs::write(folder.join("todo.md"), "- buy milk\n- call Bo\n")?;
    let path = folder.to_str().context("path")?;
    let filesystem = ["npx", "-y", "@modelcontextprotocol/server-filesystem", path];
    say(&format!("$ gatehousectl servers add files -- {}", filesystem.join(" ")));
    gatehouse.ask(&[&["servers", "add", "files", "--trust-labels", "--"][..], &filesystem].concat())?;
    gatehouse.ask(&["policy", "auto-approve", "files", "ask"])?;
    gatehouse.await_status("files", "connected")?;
    show(&gatehouse, &["servers", "list"])?;

    say("$ gatehousectl clients add \"Claude Code\"");
    let token = gatehouse.add_client("Claude Code")?;
    let mut terminal = gatehouse.terminal()?;
    let mut client = connect(&gatehouse, "2026-07-28", &token)?;
    say(&format!("It lists {} tools.", client.tools()?.len()));

    let todo = folder.join("todo.md");
    one_call(&mut client, &mut terminal, &todo, "allow")?;
    one_call(&mut client, &mut terminal, &todo, "deny these notes are private")?;

    let mut client = connect(&gatehouse, "2025-11-25", &token)?;
    one_call(&mut client, &mut terminal, &todo, "always-reads")?;
    say("The next read passes unasked:");
    told(&client.call("read_text_file", &json!({ "path": todo }))?);
    say("A write still asks:");
    let call = client.begin("write_file", &json!({ "path": folder.join("new.md"), "content": "hello" }))?;
    answer(&mut terminal, "deny")?;
    told(&client.finish(&call)?);

    say("All of it is in the audit:");
    show(&gatehouse, &["audit"])?;
    show(&gatehouse, &["audit", "verify"])?;

    say("After a restart servers, clients and grants are still there:");
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("files", "connected")?;
    for words in [&["servers", "list"][..], &["clients", "list"], &["policy", "show"]] {
        show(&gatehouse, words)?;
    }
    let mut client = connect(&gatehouse, "2026-07-28", &token)?;
    let again = client.call("read_text_file", &json!({ "path": todo }))?;
    told(&again);
    ensure!(again.is_ok(), "the grant did not survive the restart");
    gatehouse.stop()?;
    say("Stopped; nothing is left running.");
    Ok(())
}

fn connect(gatehouse: &Gatehouse, revision: &str, token: &str) -> Result<Client> {
    say(&format!("An AI client connects, speaking {revision}."));
    Client::connect(Sdk::TypeScript, revision, &gatehouse.endpoint, Some(token))
}

fn one_call(client: &mut Client, terminal: &mut Terminal, file: &Path, reply: &str) -> Result<()> {
    say("It calls read_text_file. The terminal of `gatehousectl approvals watch` shows:");
    let call = client.begin("read_text_file", &json!({ "path": file }))?;
    answer(terminal, reply)?;
    told(&client.finish(&call)?);
    Ok(())
}

fn answer(terminal: &mut Terminal, reply: &str) -> Result<()> {
    let (id, shown) = terminal.question()?;
    for line in shown {
        println!("    | {line}");
    }
    println!("    > {reply}");
    terminal.say(&format!("{id} {reply}"))
}

fn told(answer: &Answer) {
    let outcome = if answer.is_ok() { "result" } else { "refused" };
    println!("    the model reads ({outcome}): {}", answer.text().trim_end());
}

fn show(gatehouse: &Gatehouse, words: &[&str]) -> Result<()> {
    println!("$ gatehousectl {}", words.join(" "));
    let output = gatehouse.operator(words)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        println!("    {line}");
    }
    Ok(())
}

fn say(text: &str) {
    println!("\n{text}");
}
