//! An agent that runs as the same user replaces the control socket: it renames the real one, binds its
//! own at the path, and waits for the operator to run `gatehousectl`. Each test states what the agent
//! tried and what stopped it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::{approvals, http, paths};
use serde_json::{Value, json};

/// What an impostor does with the lines that the real Gatehouse sends.
#[derive(Clone, Copy, Debug)]
enum Trick {
    /// Forwards all of them.
    Pass,
    /// Replaces the true text by another one.
    Reword,
    /// Changes one byte of the second line.
    Change,
    /// Sends the second line twice.
    Repeat,
    /// Sends the client's own line back instead of the second one.
    SendBack,
}

/// A process that holds the path of the control socket.
struct Impostor {
    real: PathBuf,
    /// The lines that clients sent.
    heard: Arc<Mutex<Vec<String>>>,
}

const TRUE_TEXT: &str = "pay mallory";
const FALSE_TEXT: &str = "pay alice!!";

impl Impostor {
    fn take_the_path(gatehouse: &Gatehouse) -> Result<(UnixListener, Self)> {
        let path = gatehouse.data_dir().join("control.sock");
        let real = gatehouse.data_dir().join("real.sock");
        fs::rename(&path, &real)?;
        Ok((UnixListener::bind(&path)?, Self { real, heard: Arc::default() }))
    }

    /// Restores the real socket.
    fn leave(&self, gatehouse: &Gatehouse) -> Result<()> {
        let path = gatehouse.data_dir().join("control.sock");
        fs::remove_file(&path)?;
        Ok(fs::rename(&self.real, &path)?)
    }

    /// Relays between clients and the real Gatehouse from now on.
    fn relay(gatehouse: &Gatehouse, trick: Trick) -> Result<Self> {
        let (listener, this) = Self::take_the_path(gatehouse)?;
        let (real, heard) = (this.real.clone(), Arc::clone(&this.heard));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&real) else { return };
                let (Ok(from_client), Ok(to_client)) = (client.try_clone(), client.try_clone()) else {
                    return;
                };
                let (Ok(to_server), Ok(from_server)) = (server.try_clone(), server.try_clone()) else {
                    return;
                };
                let (heard, said) = (Arc::clone(&heard), Arc::new(Mutex::new(String::new())));
                let last = Arc::clone(&said);
                std::thread::spawn(move || pass_requests(from_client, to_server, &heard, &last));
                std::thread::spawn(move || pass_answers(from_server, to_client, trick, &said));
            }
        });
        Ok(this)
    }

    /// Answers clients with this line from now on.
    fn answer(gatehouse: &Gatehouse, line: String) -> Result<Self> {
        let (listener, this) = Self::take_the_path(gatehouse)?;
        let heard = Arc::clone(&this.heard);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (line, heard) = (line.clone(), Arc::clone(&heard));
                std::thread::spawn(move || {
                    let Ok(reading) = client.try_clone() else { return };
                    for said in BufReader::new(reading).lines().map_while(Result::ok) {
                        if let Ok(mut heard) = heard.lock() {
                            heard.push(said);
                        }
                        if (&client).write_all(format!("{line}\n").as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Ok(this)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().map(|heard| heard.clone()).unwrap_or_default()
    }

    fn ensure_not_heard(&self, what: &str, secret: &str) -> Result<()> {
        let heard = self.heard();
        ensure!(!heard.is_empty(), "nobody came by");
        ensure!(!heard.iter().any(|line| line.contains(secret)), "{what} was heard: {heard:#?}");
        Ok(())
    }
}

fn pass_requests(from: UnixStream, mut to: UnixStream, heard: &Mutex<Vec<String>>, last: &Mutex<String>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if let (Ok(mut heard), Ok(mut last)) = (heard.lock(), last.lock()) {
            heard.push(line.clone());
            last.clone_from(&line);
        }
        if to.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
    to.shutdown(std::net::Shutdown::Both).unwrap_or(());
}

fn pass_answers(from: UnixStream, mut to: UnixStream, trick: Trick, last: &Mutex<String>) {
    for (at, line) in BufReader::new(from).lines().map_while(Result::ok).enumerate() {
        let sent_back = last.lock().map(|last| last.clone()).unwrap_or_default();
        let lines = match (trick, at) {
            (Trick::Reword, _) => vec![line.replace(TRUE_TEXT, FALSE_TEXT)],
            (Trick::Change, 1) => vec![alter_byte(&line)],
            (Trick::Repeat, 1) => vec![line.clone(), line],
            (Trick::SendBack, 1) => vec![sent_back],
            _ => vec![line],
        };
        for line in lines {
            if to.write_all(format!("{line}\n").as_bytes()).is_err() {
                return;
            }
        }
    }
    to.shutdown(std::net::Shutdown::Both).unwrap_or(());
}

/// The same line with a changed byte in its middle.
fn alter_byte(line: &str) -> String {
    let mut bytes = line.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn output_text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A Gatehouse with a pending call, and its client's token.
fn with_pending_approval() -> Result<(Gatehouse, String, http::BackgroundCall)> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    let arguments = json!({ "text": TRUE_TEXT }).to_string();
    let call = http::BackgroundCall::call(&gatehouse.endpoint, &token, "add_note", &arguments);
    approvals::wait_for_pending(&gatehouse, 1)?;
    Ok((gatehouse, token, call))
}

/// Tried: to relay between the operator and Gatehouse and eavesdrop: on the operator key, a new client's
/// token, a server's secret, the arguments of an approval request; and to replay all of it later.
/// Stopped by: the key is proved and never sent, all lines are encrypted, and none of them decrypts on
/// another connection.
#[test]
fn resists_eavesdropping_and_replay() -> Result<()> {
    let (gatehouse, _, _call) = with_pending_approval()?;
    let key = gatehouse.operator_key()?;
    let impostor = Impostor::relay(&gatehouse, Trick::Pass)?;
    let token = gatehouse.add_client("second")?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let draft = json!({ "name": "far", "enabled": false, "transport": { "type": "http", "url": "http://127.0.0.1:9/mcp", "headers": { "X-Key": "${secret:X-Key}" } } });
    let secret = "a-secret-of-a-server";
    let secrets = json!([{ "field": "headers/X-Key", "value": secret }]);
    gatehouse
        .command("servers.add", &json!({ "draft": draft, "trustLabels": false, "secrets": secrets }))
        .context("through the impostor")?;
    for (what, secret) in [
        ("the operator key", &*key),
        ("a token", &*token),
        ("a secret of a server", secret),
        ("a hash that answers repeat", question["request"]["hash"].as_str().context("hash")?),
        ("a command", "clients.add"),
    ] {
        impostor.ensure_not_heard(what, secret)?;
    }
    // Everything again: to the real Gatehouse, each line as the first of a connection and all in a row.
    let before = gatehouse.ask(&["clients", "list"])?;
    let heard = impostor.heard();
    let all = heard.join("\n");
    for lines in heard.iter().chain([&all]) {
        let stream = UnixStream::connect(&impostor.real)?;
        stream.set_read_timeout(Some(TEST_TIMEOUT))?;
        (&stream).write_all(format!("{lines}\n").as_bytes()).unwrap_or(());
        stream.shutdown(std::net::Shutdown::Write)?;
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            ensure!(!line.contains("\"reply\""), "it was answered: {line}");
        }
    }
    impostor.leave(&gatehouse)?;
    ensure!(gatehouse.ask(&["clients", "list"])? == before, "something was done again");
    Ok(())
}

/// Tried: to show the operator another text than that of the approval request, under its hash, and to
/// change, repeat or reflect lines of Gatehouse. Stopped by: a line that is not exactly the next one of
/// Gatehouse does not decrypt; the connection is closed and nothing of it is shown.
#[test]
fn rejects_altered_messages() -> Result<()> {
    let (gatehouse, _, call) = with_pending_approval()?;
    let question = approvals::wait_for_pending(&gatehouse, 1)?.remove(0);
    let id = question["id"].as_str().context("id")?;
    for trick in [Trick::Change, Trick::SendBack, Trick::Reword, Trick::Repeat] {
        let impostor = Impostor::relay(&gatehouse, trick)?;
        let shown = output_text(&gatehouse.run_as_operator(&["approvals", "list"])?);
        ensure!(!shown.contains(FALSE_TEXT), "{trick:?}: the person saw another text: {shown}");
        // The list and the answer are two commands on one connection.
        let answer = || gatehouse.run_as_operator(&["approvals", "answer", id, "deny"]);
        match trick {
            Trick::Pass | Trick::Reword => ensure!(shown.contains(TRUE_TEXT), "{trick:?}: {shown}"),
            // The line after the list does not decrypt.
            Trick::Repeat => ensure!(!answer()?.status.success(), "{trick:?} was not noticed"),
            Trick::Change | Trick::SendBack => {
                ensure!(!shown.contains(TRUE_TEXT), "{trick:?} was not noticed: {shown}");
                ensure!(!answer()?.status.success(), "{trick:?} was not noticed");
            }
        }
        impostor.leave(&gatehouse)?;
    }
    ensure!(call.end()?.body.contains(r#""isError":true"#), "it ran");
    Ok(())
}

/// Tried: to answer instead of Gatehouse, with a made-up approval request, a made-up error, an echo, or
/// a made-up proof. Stopped by: the impostor does not know the key. Nothing of its answers is shown, and
/// beyond the opening line it gets nothing, neither the command nor a secret in it nor a client's token.
#[test]
fn rejects_impostor_without_key() -> Result<()> {
    let (gatehouse, token, _call) = with_pending_approval()?;
    let key = gatehouse.operator_key()?;
    let false_words = "type your key again at once";
    let question = json!({ "id": 1, "reply": [{ "id": "ask-1", "words": false_words }] });
    let proof = json!({ "hello": 1, "share": "A".repeat(43), "proof": "A".repeat(43), "words": false_words });
    let problem = json!({ "id": null, "problem": { "code": "not_permitted", "message": false_words, "cause": null, "hint": null } });
    for line in [question, proof, problem, json!({ "hello": 1, "as": "operator", "share": "A".repeat(43) })] {
        let impostor = Impostor::answer(&gatehouse, line.to_string())?;
        for words in [&["approvals", "list"][..], &["approvals", "watch"], &["clients", "add", "whoever"]] {
            let output = gatehouse.run_as_operator(words)?;
            ensure!(output.status.code() == Some(4), "{line}: {words:?} ended with {output:?}");
            ensure!(
                !output_text(&output).contains(false_words),
                "{line}: it was shown: {}",
                output_text(&output)
            );
        }
        let output = call_as(&gatehouse, &token, r#"{"text":"told to whom?"}"#)?;
        ensure!(
            !output.status.success() && !output_text(&output).contains(false_words),
            "{line}: {output:?}"
        );
        for (what, secret) in [
            ("the operator key", &*key),
            ("the client's token", &*token),
            ("the name of a client", "whoever"),
            ("an argument", "told to whom?"),
        ] {
            impostor.ensure_not_heard(what, secret)?;
        }
        impostor.leave(&gatehouse)?;
    }
    Ok(())
}

fn call_as(gatehouse: &Gatehouse, token: &str, arguments: &str) -> Result<Output> {
    let file = gatehouse.folder("tokens")?.join("token");
    fs::write(&file, token)?;
    Ok(Command::new("/bin/sh")
        .arg("-c")
        .arg(r#"exec 3<"$TOKEN"; exec "$0" --data-dir "$DATA" call --token-fd 3 add_note "$ARGS""#)
        .arg(paths::program("gatehousectl")?)
        .env("TOKEN", &file)
        .env("DATA", gatehouse.data_dir())
        .env("ARGS", arguments)
        .stdin(Stdio::null())
        .output()?)
}

/// Tried: to get a client's token from `gatehousectl call` by relaying, and to use it for a call without
/// a channel. Stopped by: the channel is made with a key derived from the token, and `call` is accepted
/// on a channel only. The call itself succeeds.
#[test]
fn hides_client_token_from_impostor() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("agent")?;
    gatehouse.ask(&["policy", "auto-approve", "Notes", "all"])?;
    let impostor = Impostor::relay(&gatehouse, Trick::Pass)?;
    let output = call_as(&gatehouse, &token, r#"{"text":"a note"}"#)?;
    ensure!(output.status.success(), "{output:?}");
    impostor.ensure_not_heard("the token", &token)?;
    impostor.ensure_not_heard("the tool", "add_note")?;
    impostor.leave(&gatehouse)?;
    let stream = UnixStream::connect(gatehouse.data_dir().join("control.sock"))?;
    stream.set_read_timeout(Some(TEST_TIMEOUT))?;
    let args = json!({ "token": token, "tool": "add_note", "arguments": "{\"text\":\"x\"}" });
    (&stream).write_all(format!("{}\n", json!({ "id": 1, "command": "call", "args": args })).as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    let answer: Value = serde_json::from_str(&answer)?;
    ensure!(answer["problem"]["code"] == "not_permitted", "{answer:#}");
    // With a token that is no longer valid there is no channel.
    gatehouse.ask(&["clients", "rotate", "agent"])?;
    let output = call_as(&gatehouse, &token, r#"{"text":"a note"}"#)?;
    ensure!(output.status.code() == Some(4), "{output:?}");
    Ok(())
}
