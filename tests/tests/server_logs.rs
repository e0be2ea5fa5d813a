//! Log messages of servers (SRV-14): each reaches only the client whose call it belongs to, from the
//! level that this client set.

use std::time::Instant;

use anyhow::{Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::client::{CallOutcome, Client};
use gatehouse_tests::fixture_server::{ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::json;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// Every pair of revisions, over a transport on which a server says which call a message belongs to and
/// one on which it does not: from the level that the client set. Before that, a client with a session gets what the
/// server sends by itself, and one without a session nothing.
#[test]
fn delivers_logs_of_own_calls() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Listener")?;
    let mut upstreams = Vec::new();
    for (over, lifecycle, name) in [
        (ServerTransport::Stdio, "legacy", "a"),
        (ServerTransport::Stdio, "modern", "b"),
        (ServerTransport::Http, "legacy", "c"),
        (ServerTransport::Http, "modern", "d"),
    ] {
        upstreams.push(add(&gatehouse, name, over, &["--lifecycle", lifecycle])?);
        gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
    }
    for revision in [OLD, NEW] {
        let mut client = Client::connect_answering(revision, &gatehouse.endpoint, &token, &json!({}))?;
        let mut other = Client::connect_answering(revision, &gatehouse.endpoint, &token, &json!({}))?;
        let say = |client: &mut Client, server: &str, level: &str, text: &str| {
            // Only if two servers have the same tool, the name has a prefix.
            let tool = if server == "a" { "say".to_owned() } else { format!("{server}__say") };
            client.call(&tool, &json!({ "level": level, "text": text }))
        };
        for server in ["a", "b", "c", "d"] {
            say(&mut client, server, "emergency", "nobody asked")?;
        }
        if revision == OLD {
            for server in ["a", "c"] {
                let logged = client.next_message("logged")?;
                ensure!(logged["logged"] == "nobody asked", "{server}: {logged}");
            }
        }
        client.ask("level", "notice")?;
        for server in ["a", "b", "c", "d"] {
            for (level, text) in [("info", "too little"), ("notice", "just so"), ("alert", "more")] {
                say(&mut client, server, level, text)?;
            }
            say(&mut other, server, "alert", "of the other")?;
            for expected in [("notice", "just so"), ("alert", "more")] {
                let logged = client.next_message("logged")?;
                let got = (logged["level"].as_str(), logged["logged"].as_str());
                ensure!(got == (Some(expected.0), Some(expected.1)), "{revision} {server}: {logged}");
            }
        }
        ensure!(client.buffered_count("logged") == 0, "{revision}: more was heard than was asked for");
        let own = if revision == OLD { 4 } else { 0 };
        ensure!(other.buffered_count("logged") == own, "{revision}: somebody heard what is not theirs");
    }
    Ok(())
}

/// While two clients have calls in flight on a server that does not say which call a message belongs to,
/// neither of them gets it; Gatehouse's own log has all of them.
#[test]
fn withholds_ambiguous_logs() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add(&gatehouse, "one", ServerTransport::Stdio, &["--lifecycle", "legacy"])?;
    gatehouse.ask(&["policy", "auto-approve", "one", "all"])?;
    let connect = |name: &str| {
        let token = gatehouse.add_client(name)?;
        let mut client = Client::connect_answering(OLD, &gatehouse.endpoint, &token, &json!({}))?;
        client.ask("level", "debug")?;
        anyhow::Ok(client)
    };
    let (mut ann, mut ben) = (connect("Ann")?, connect("Ben")?);
    let slow = ben.begin("slow", &json!({ "ms": 60_000, "progress": 1000 }))?;
    // Ben's call is in flight from its first progress notification on.
    ben.next_message("progressOf")?;
    ann.call("say", &json!({ "level": "error", "text": "whose is it?" }))?;
    ben.cancel(&slow)?;
    ben.finish(&slow)?;
    // Ben's client ends the wait by itself; his call has ended when Gatehouse has recorded it.
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !gatehouse.command("calls.list", &json!({ "filter": {} }))?.to_string().contains("\"cancelled\"") {
        ensure!(Instant::now() < deadline, "the cancelled call never ended");
    }
    ann.call("say", &json!({ "level": "error", "text": "it is hers" }))?;
    let logged = ann.next_message("logged")?;
    ensure!(logged["logged"] == "it is hers", "{logged}");
    ensure!(
        ann.buffered_count("logged") + ben.buffered_count("logged") == 0,
        "somebody heard what may not be theirs"
    );
    let log = gatehouse.command("servers.log", &json!({ "server": "one" }))?.to_string();
    ensure!(log.contains("whose is it?") && log.contains("it is hers"), "{log}");
    Ok(())
}

/// An unknown level is refused, and changes nothing.
#[test]
fn rejects_unknown_log_level() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _upstream = add(&gatehouse, "one", ServerTransport::Stdio, &["--lifecycle", "modern"])?;
    gatehouse.ask(&["policy", "auto-approve", "one", "all"])?;
    let token = gatehouse.add_client("Odd")?;
    let mut client = Client::connect_answering(NEW, &gatehouse.endpoint, &token, &json!({}))?;
    client.ask("level", "loud")?;
    let answer = client.call("say", &json!({ "text": "hello" }))?;
    ensure!(matches!(&answer, CallOutcome::Error(error) if error["code"] == -32602), "{answer:?}");
    client.ask("level", "info")?;
    ensure!(client.call("say", &json!({ "text": "hello" }))?.is_ok());
    Ok(())
}
