//! `gatehousectl bridge` (GATE-2): clients over standard streams, through restarts of Gatehouse, with nothing lost,
//! repeated or left behind.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::bridge::{Bridge, BridgeCommand};
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::fixture::ODD_RESULT_MEMBERS;
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add};
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use serde_json::{Value, json};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// Members of the arguments that a parser of JSON numbers or strings would change.
const ODD: &str = r#"{"z":12345678901234567890,"a":null,"m":{"y":-0.10e+05,"b":[1,  2,null],"":"empty"},"e":1E400,"u":"\u00e9\ud83d\ude00/\/"}"#;

/// A Gatehouse with the fixture, whose tools are all allowed, and a bridge of a client.
struct Setup {
    gatehouse: Gatehouse,
    bridge: BridgeCommand,
    log: std::path::PathBuf,
    _upstream: FixtureServer,
}

fn setup() -> Result<Setup> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("messages");
    let upstream =
        add(&gatehouse, "fixture", ServerTransport::Stdio, &["--log", log.to_str().context("path")?])?;
    gatehouse.ask(&["policy", "auto-approve", "fixture", "all"])?;
    let token = gatehouse.add_client("Bridged")?;
    let bridge = BridgeCommand::new(&gatehouse, &token)?;
    Ok(Setup { gatehouse, bridge, log, _upstream: upstream })
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// How often the fixture received a call of a tool.
fn received(setup: &Setup, tool: &str) -> usize {
    let text = fs::read_to_string(&setup.log).unwrap_or_default();
    text.lines().filter(|line| line.contains(&format!(r#""name":"{tool}""#))).count()
}

fn sessions(gatehouse: &Gatehouse) -> Result<u64> {
    let clients = gatehouse.ask(&["clients", "list"])?;
    let client = clients.as_array().into_iter().flatten().find(|client| client["name"] == "Bridged");
    client.and_then(|client| client["sessions"].as_u64()).context("no client")
}

/// Third-party clients of both revisions: everything works, and the client, not the bridge, is the caller.
#[test]
fn sdk_clients_work_over_standard_streams() -> Result<()> {
    let setup = setup()?;
    let gatehouse = &setup.gatehouse;
    gatehouse.await_status("Notes", "connected")?;
    let mut person = gatehouse.person()?;
    let answers = json!({ "form": { "action": "accept", "content": { "name": "Zoe" } } });
    for (sdk, revision, program, script) in [
        (Sdk::TypeScript, OLD, "node", "client.mjs"),
        (Sdk::TypeScript, NEW, "node", "client.mjs"),
        (Sdk::Python, OLD, "python", "client.py"),
        (Sdk::Python, NEW, "python", "client.py"),
    ] {
        let mut client = Client::connect_bridge(sdk, revision, &setup.bridge, &answers)?;
        let tools = client.tools()?;
        ensure!(tools.iter().any(|tool| tool["name"] == "echo"), "{sdk:?} {revision}: {tools:#?}");
        ensure!(client.call("echo", &json!({ "a": 1 }))?.is_ok(), "{sdk:?} {revision}");
        let big = client.call("big", &json!({ "bytes": 1 << 20 }))?;
        ensure!(big.text().len() == 1 << 20, "{sdk:?} {revision}: {} bytes", big.text().len());

        let id = client.begin("slow", &json!({ "ms": 400, "progress": 3 }))?;
        ensure!(client.finish(&id)?.is_ok(), "{sdk:?} {revision}");
        let progress = client.progress_of(&id);
        ensure!(progress.len() == 3, "{sdk:?} {revision}: {progress:#?}");

        let calls: Vec<String> =
            (0..50).map(|number| client.begin("echo", &json!({ "n": number }))).collect::<Result<_>>()?;
        for id in calls {
            ensure!(client.finish(&id)?.is_ok(), "{sdk:?} {revision}");
        }
        if sdk == Sdk::TypeScript {
            let filled = client.call("ask_form", &json!({}))?;
            ensure!(filled.text().contains("Zoe") || format!("{filled:?}").contains("Zoe"), "{filled:?}");
        }

        for (answer, is_allowed) in [("allow", true), ("deny", false)] {
            let text = format!("{sdk:?} {revision} {answer}");
            let id = client.begin("add_note", &json!({ "text": text }))?;
            let question = person.next_approval()?;
            let seen = &question["request"]["client"]["seenFrom"];
            let name = seen["program"]["name"].as_str().context("no name")?;
            ensure!(name.starts_with(program) && name.ends_with(script), "{seen:#}");
            person.answer(&question, answer)?;
            let outcome = client.finish(&id)?;
            ensure!(outcome.is_ok() == is_allowed, "{text}: {outcome:?}");
        }

        let before = received(&setup, "slow");
        let id = client.begin("slow", &json!({ "ms": 60_000 }))?;
        eventually_holds("the slow call", || Ok(received(&setup, "slow") == before + 1))?;
        client.cancel(&id)?;
        client.finish(&id)?;
        client.close()?;
    }
    eventually("the end of all sessions", || {
        let open = sessions(gatehouse)?;
        Ok(if open == 0 { Ok(()) } else { Err(format!("{open} are open")) })
    })
}

/// A cancellation reaches the server, however soon it follows its request, and the request gets no answer.
#[test]
fn cancels_in_both_families() -> Result<()> {
    let setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({}))?;
    let slow = call("slow", &json!({ "ms": 60_000 }));
    let noted = |word: &str| {
        let log = fs::read_to_string(&setup.log).unwrap_or_default();
        log.lines().filter(|line| line.starts_with("# slow") && line.ends_with(word)).count()
    };
    for (id, is_stateless) in [(101, false), (102, true)] {
        if is_stateless {
            bridge.stateless_request(id, "tools/call", &slow)?;
        } else {
            bridge.request(id, "tools/call", &slow)?;
        }
        let before = noted("cancelled");
        eventually_holds("the call", || Ok(noted("started") == before + 1))?;
        bridge.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "enough" }))?;
        eventually_holds("the cancellation", || Ok(noted("cancelled") == before + 1))?;
    }
    for id in 110..130 {
        bridge.request(id, "tools/call", &slow)?;
        bridge.notify("notifications/cancelled", &json!({ "requestId": id }))?;
    }
    bridge.request(1, "ping", &json!({}))?;
    ensure!(bridge.answer(1)?["result"] == json!({}), "no answer");
    eventually_holds("the end of all calls", || Ok(noted("started") == noted("cancelled")))?;
    let late = bridge.unread().iter().find(|line| line.contains(r#""id":1"#));
    ensure!(late.is_none(), "a cancelled request was answered: {late:?}");
    ensure!(bridge.close()?.success(), "it failed");
    Ok(())
}

/// Arguments, results and ids are the bytes that were written.
#[test]
fn passes_bytes_on_as_they_are() -> Result<()> {
    let setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({}))?;
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    for more in [String::new(), format!(",{meta}")] {
        let id = r#""\u0041 1e2""#;
        bridge.send(&format!(
            r#"{{ "method":"tools/call","x":[1],"params":{{"arguments":{ODD},"name":"echo"{more}}},"id":{id},"jsonrpc":"2.0"}}"#
        ))?;
        let line = bridge.line(|message| message["id"] == "A 1e2")?;
        ensure!(line.contains(ODD) && line.contains(&format!(r#""id":{id}"#)), "{line}");
        bridge.send(&format!(
            r#"{{"jsonrpc":"2.0","id":7.0,"method":"tools/call","params":{{"name":"odd","arguments":{{}}{more}}}}}"#
        ))?;
        let line = bridge.line(|message| message["id"].as_f64() == Some(7.0))?;
        ensure!(line.contains(ODD_RESULT_MEMBERS) && line.contains(r#""id":7.0"#), "{line}");
    }
    let log = fs::read_to_string(&setup.log)?;
    ensure!(log.matches(&format!(r#""arguments":{ODD}"#)).count() == 2, "the arguments were changed: {log}");
    Ok(())
}

/// What is no message, or too long, gets an error, and the rest goes on.
#[test]
fn answers_garbage_with_errors() -> Result<()> {
    let setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    for (line, code) in [
        ("garbage", -32700),
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","method":"m","method":"n"}"#, -32600),
    ] {
        bridge.send(line)?;
        let answer: Value = serde_json::from_str(&bridge.line(|message| message["id"].is_null())?)?;
        ensure!(answer["error"]["code"] == code, "{line}: {answer}");
    }
    bridge.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(17 << 20)))?;
    let answer: Value = serde_json::from_str(&bridge.line(|message| message["id"].is_null())?)?;
    ensure!(answer["error"]["code"] == -32600, "{answer}");
    bridge.request(1, "tools/list", &json!({}))?;
    ensure!(bridge.answer(1)?["error"]["code"] == -32600, "there is no session");
    let answer = bridge.initialize(&json!({}))?;
    ensure!(answer["result"]["protocolVersion"] == OLD, "{answer}");
    bridge.request(2, "no/such", &json!({}))?;
    ensure!(bridge.answer(2)?["error"]["code"] == -32601, "the gateway's own error");
    Ok(())
}

/// A restart in the middle of a session: what is under way fails at once and runs once, what comes meanwhile waits,
/// and the session is as it was, with its log level and its subscriptions.
#[test]
fn session_survives_a_restart() -> Result<()> {
    let mut setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({}))?;
    bridge.request(1, "logging/setLevel", &json!({ "level": "notice" }))?;
    bridge.answer(1)?;
    bridge.request(2, "resources/subscribe", &json!({ "uri": "fixture://note" }))?;
    ensure!(bridge.answer(2)?["result"] == json!({}), "no subscription");
    for is_killed in [true, false] {
        let before = received(&setup, "slow");
        bridge.request(3, "tools/call", &call("slow", &json!({ "ms": 60_000 })))?;
        eventually_holds("the slow call", || Ok(received(&setup, "slow") == before + 1))?;
        if is_killed {
            setup.gatehouse.kill()?;
        } else {
            setup.gatehouse.stop()?;
        }
        let answer = bridge.answer(3)?;
        ensure!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
        // Sent while nobody listens.
        bridge.request(4, "tools/list", &json!({}))?;
        setup.gatehouse.launch()?;
        let answer = bridge.answer(4)?;
        ensure!(answer["result"]["tools"].is_array(), "{answer}");
        setup.gatehouse.await_status("fixture", "connected")?;
        ensure!(received(&setup, "slow") == before + 1, "a call was repeated");
        bridge.next("notifications/tools/list_changed")?;

        bridge.request(5, "tools/call", &call("say", &json!({ "level": "info", "text": "too little" })))?;
        bridge.answer(5)?;
        bridge.request(6, "tools/call", &call("say", &json!({ "level": "alert", "text": "enough" })))?;
        bridge.answer(6)?;
        let logged = bridge.next("notifications/message")?;
        ensure!(logged["params"]["data"] == "enough", "the log level was lost: {logged}");

        // It may have changed while there was no session.
        bridge.next("notifications/resources/updated")?;
        let note = call("write_note", &json!({ "text": "changed" }));
        let updated = eventually("the subscription", || {
            bridge.request(7, "tools/call", &note)?;
            bridge.answer(7)?;
            // An answer comes over another connection, so the update may be behind it.
            bridge.request(8, "ping", &json!({}))?;
            bridge.answer(8)?;
            let is_updated =
                bridge.unread().iter().any(|line| line.contains("notifications/resources/updated"));
            Ok(if is_updated { Ok(()) } else { Err("no update") })
        });
        updated?;
        let updated = bridge.next("notifications/resources/updated")?;
        ensure!(updated["params"]["uri"] == "fixture://note", "{updated}");
        while bridge.unread().iter().any(|line| line.contains("notifications/resources/updated")) {
            bridge.next("notifications/resources/updated")?;
        }
    }
    let repeated = bridge.unread().iter().filter(|line| line.contains("protocolVersion")).count();
    ensure!(repeated == 0, "the client saw another initialize");
    ensure!(bridge.close()?.success(), "it failed");
    ensure!(sessions(&setup.gatehouse)? == 0, "a session is left");
    Ok(())
}

/// A request of a server that a restart has ended is taken back, and its late answer answers nothing of the next
/// session.
#[test]
fn late_answers_of_an_ended_session_answer_nothing() -> Result<()> {
    let mut setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({ "elicitation": {} }))?;
    bridge.request(1, "tools/call", &call("ask_form", &json!({})))?;
    let first = bridge.next("elicitation/create")?;
    setup.gatehouse.kill()?;
    ensure!(bridge.answer(1)?["error"].is_object(), "it had no answer");
    setup.gatehouse.launch()?;
    setup.gatehouse.await_status("fixture", "connected")?;
    let withdrawn = bridge.next("notifications/cancelled")?;
    ensure!(withdrawn["params"]["requestId"] == first["id"], "{withdrawn}");
    bridge.request(2, "tools/call", &call("ask_form", &json!({})))?;
    let second = bridge.next("elicitation/create")?;
    ensure!(first["id"] != second["id"], "both have the id {}", first["id"]);
    let answer = |id: &Value, name: &str| json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "accept", "content": { "name": name } } });
    bridge.send(&answer(&first["id"], "late").to_string())?;
    bridge.send(&answer(&second["id"], "right").to_string())?;
    let outcome = bridge.answer(2)?;
    let content = &outcome["result"]["structuredContent"]["answer"]["content"];
    ensure!(content["name"] == "right", "{outcome}");
    Ok(())
}

/// Without sessions: streams of subscriptions are opened again, and say that lists and resources may have changed.
#[test]
fn subscription_streams_survive_a_restart() -> Result<()> {
    let mut setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    let filter = json!({ "notifications": {
        "toolsListChanged": true, "resourceSubscriptions": ["fixture://note"],
    }});
    bridge.stateless_request(1, "subscriptions/listen", &filter)?;
    bridge.next("notifications/subscriptions/acknowledged")?;
    for is_killed in [true, false] {
        if is_killed {
            setup.gatehouse.kill()?;
        } else {
            setup.gatehouse.stop()?;
        }
        setup.gatehouse.launch()?;
        setup.gatehouse.await_status("fixture", "connected")?;
        for method in ["notifications/tools/list_changed", "notifications/resources/updated"] {
            let changed = bridge.next(method)?;
            ensure!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1, "{changed}");
        }
    }
    // Each restart may add one more update, which says that the resource may have changed before its server was there.
    let note = call("write_note", &json!({ "text": "changed" }));
    let mut updates = 0;
    eventually_holds("three updates", || {
        bridge.stateless_request(2, "tools/call", &note)?;
        ensure!(bridge.answer(2)?["result"].is_object(), "no answer");
        while bridge.unread().iter().any(|line| line.contains("notifications/resources/updated")) {
            let updated = bridge.next("notifications/resources/updated")?;
            ensure!(updated["params"]["uri"] == "fixture://note", "{updated}");
            updates += 1;
        }
        Ok(updates >= 3)
    })?;
    let strange = bridge
        .unread()
        .iter()
        .find(|line| line.contains(r#""id":1"#) || line.contains("subscriptions/acknowledged"));
    ensure!(strange.is_none(), "the client noticed the restart: {strange:?}");
    Ok(())
}

/// The client leaves with a call under way: the bridge ends within seconds, and its session with it.
#[test]
fn ends_with_its_client() -> Result<()> {
    let setup = setup()?;
    for end in ["stdin", "TERM"] {
        let mut bridge = setup.bridge.start()?;
        bridge.initialize(&json!({}))?;
        let before = received(&setup, "slow");
        bridge.request(1, "tools/call", &call("slow", &json!({ "ms": 60_000 })))?;
        eventually_holds("the slow call", || Ok(received(&setup, "slow") == before + 1))?;
        let began = Instant::now();
        match end {
            "stdin" => bridge.process.close_stdin(),
            _ => bridge.process.signal("TERM")?,
        }
        ensure!(bridge.process.wait()?.success(), "{end}: it failed");
        ensure!(began.elapsed() < Duration::from_secs(30), "{end}: it took {:?}", began.elapsed());
        eventually(format!("the end of the session after {end}"), || {
            let open = sessions(&setup.gatehouse)?;
            Ok(if open == 0 { Ok(()) } else { Err(format!("{open} are open")) })
        })?;
    }
    Ok(())
}

/// The client has closed the bridge's output: the first line that can't be written ends it, and so the whole
/// pipeline.
#[test]
fn ends_when_nobody_reads() -> Result<()> {
    let setup = setup()?;
    let files = setup.gatehouse.folder("piped")?;
    fs::write(files.join("token"), setup.gatehouse.add_client("Piped")?)?;
    let script = r#"while printf '{"jsonrpc":"2.0","id":1,"method":"x"}\n'; do sleep 0.1; done 2>/dev/null |
        { exec 4<"$TOKEN"; exec "$0" --data-dir "$DATA" bridge --no-start --token-fd 4; } | true"#;
    let mut pipeline = Command::new("sh");
    pipeline
        .args(["-c", script])
        .arg(paths::program("gatehousectl")?)
        .env("TOKEN", files.join("token"))
        .env("DATA", setup.gatehouse.data_dir());
    ensure!(ChildProcess::start("the pipeline", &mut pipeline)?.wait()?.success(), "it failed");
    Ok(())
}

/// What is under way when the client closes its end still gets its answer.
#[test]
fn answers_what_was_asked_before_the_end() -> Result<()> {
    let setup = setup()?;
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({}))?;
    bridge.request(1, "tools/call", &call("slow", &json!({ "ms": 500 })))?;
    bridge.process.close_stdin();
    ensure!(bridge.answer(1)?["result"].is_object(), "no answer");
    ensure!(bridge.process.wait()?.success(), "it failed");

    // All lines at once, as a script writes them.
    let mut bridge = setup.bridge.start()?;
    let params =
        json!({ "protocolVersion": OLD, "capabilities": {}, "clientInfo": { "name": "s", "version": "1" } });
    bridge.request(1, "initialize", &params)?;
    bridge.notify("notifications/initialized", &json!({}))?;
    bridge.request(2, "tools/call", &call("echo", &json!({ "n": 2 })))?;
    bridge.process.close_stdin();
    ensure!(bridge.answer(2)?["result"]["structuredContent"]["n"] == 2, "no answer");
    ensure!(bridge.process.wait()?.success() && sessions(&setup.gatehouse)? == 0, "it left something");
    Ok(())
}

/// A token that nobody has, and no Gatehouse at all: each request says so, and nothing else happens.
#[test]
fn says_why_it_is_not_connected() -> Result<()> {
    let mut setup = setup()?;
    let stranger = BridgeCommand::new(&setup.gatehouse, &"A".repeat(43))?;
    let mut bridge = stranger.start()?;
    bridge.request(1, "initialize", &json!({ "protocolVersion": OLD }))?;
    let answer = bridge.answer(1)?;
    ensure!(answer["error"]["message"].to_string().contains("prove"), "{answer}");
    // The right one, which is revoked then.
    let mut bridge = setup.bridge.start()?;
    bridge.initialize(&json!({}))?;
    setup.gatehouse.ask(&["clients", "revoke", "Bridged"])?;
    bridge.request(1, "tools/list", &json!({}))?;
    let answer = bridge.answer(1)?;
    ensure!(answer["error"].is_object(), "{answer}");
    setup.gatehouse.stop()
}

/// Another program holds the control socket of a data folder and says that it is Gatehouse: it gets no token, and no
/// request of the client.
#[test]
fn gives_no_token_to_an_impostor() -> Result<()> {
    let home = tempfile::tempdir()?;
    let data = home.path().join("data");
    fs::DirBuilder::new().mode(0o700).create(&data)?;
    let gateway = TcpListener::bind("127.0.0.1:0")?;
    gateway.set_nonblocking(true)?;
    let endpoint = format!("http://{}/mcp", gateway.local_addr()?);
    let control = UnixListener::bind(data.join("control.sock"))?;
    fs::set_permissions(data.join("control.sock"), fs::Permissions::from_mode(0o600))?;
    let token = "secret-of-the-client-that-nobody-else-may-see";
    let mut bridge = BridgeCommand::to_folder(&data, home.path(), token)?.start()?;
    bridge.request(1, "initialize", &json!({ "protocolVersion": OLD }))?;
    let (stream, _) = control.accept()?;
    let mut heard = String::new();
    BufReader::new(&stream).read_line(&mut heard)?;
    ensure!(heard.contains("hello") && !heard.contains(token), "{heard}");
    let status = json!({ "id": 1, "reply": { "endpoint": endpoint, "pid": 1 } });
    let welcome = json!({ "hello": 1, "share": "A".repeat(43), "proof": "A".repeat(43) });
    (&stream).write_all(format!("{welcome}\n{status}\n").as_bytes())?;
    let answer = bridge.answer(1)?;
    ensure!(answer["error"].is_object(), "{answer}");
    let connected = gateway.accept().map(|(_, from)| from);
    ensure!(
        connected.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock),
        "it connected to what the impostor named: {connected:?}"
    );
    Ok(())
}

/// Tried: a program takes the place of the socket and passes on what is said. It keeps the bridge's end open when Gatehouse
/// has ended, and takes the gateway's address. Stopped by: nothing is sent on a connection before Gatehouse has answered
/// again.
#[test]
fn gives_no_token_to_a_relay_that_outlives_gatehouse() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Bridged")?;
    let command = BridgeCommand::new(&gatehouse, &token)?;
    let (socket, behind) =
        (gatehouse.data_dir().join("control.sock"), gatehouse.data_dir().join("behind.sock"));
    fs::rename(&socket, &behind)?;
    let control = UnixListener::bind(&socket)?;
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o600))?;
    let relay = std::thread::spawn(move || -> Result<UnixStream> {
        let (outside, _) = control.accept()?;
        let inside = UnixStream::connect(&behind)?;
        let (mut from, mut to) = (outside.try_clone()?, inside.try_clone()?);
        std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        drop(std::io::copy(&mut &inside, &mut &outside));
        Ok(outside)
    });
    let mut bridge = command.start()?;
    bridge.initialize(&json!({}))?;
    let address = gatehouse.endpoint.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    gatehouse.kill()?;
    let impostor = TcpListener::bind(&address)?;
    bridge.request(2, "ping", &json!({}))?;
    let (mut stolen, _) = impostor.accept()?;
    stolen.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut heard = Vec::new();
    let end = stolen.read_to_end(&mut heard);
    ensure!(end.is_ok() && heard.is_empty(), "{end:?}: {}", String::from_utf8_lossy(&heard));
    // Until now it held the bridge's end open.
    ensure!(relay.join().is_ok_and(|outside| outside.is_ok()), "the relay failed");
    Ok(())
}

/// A bridge whose starter is gone is nobody's: the caller is unknown, and not `gatehousectl`.
#[test]
fn program_is_unknown_when_its_starter_is_gone() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Bridged")?;
    let files = gatehouse.folder("orphan")?;
    fs::write(files.join("token"), token)?;
    let status = Command::new("mkfifo").arg(files.join("in")).status()?;
    ensure!(status.success(), "no pipe");
    // The inner shell ends at once; the init process of the namespace adopts the bridge.
    let script = r#"(setsid sh -c 'exec 4<"$1/token" <"$1/in" >"$1/out"; exec "$0" --data-dir "$DATA" bridge --no-start --token-fd 4' "$0" "$1" &) ; exit 0"#;
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(paths::program("gatehousectl")?)
        .arg(&files)
        .env("DATA", gatehouse.data_dir())
        .status()?;
    ensure!(status.success(), "not started");
    let mut input = fs::OpenOptions::new().write(true).open(files.join("in"))?;
    let mut person = gatehouse.person()?;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "add_note", "arguments": { "text": "whose?" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    writeln!(input, "{request}")?;
    let question = person.next_approval()?;
    let seen = question["request"]["client"]["seenFrom"]["program"]["name"].as_str().unwrap_or_default();
    ensure!(!seen.contains("gatehousectl"), "the bridge stands as the caller: {question:#}");
    person.answer(&question, "deny")?;
    drop(input);
    Ok(())
}

/// The token is in the keychain: stored by the verb that makes it, found by the client's name, and replaced.
#[cfg(target_os = "linux")]
#[test]
fn takes_its_token_from_the_keychain() -> Result<()> {
    use gatehouse_tests::window::Desktop;

    let desktop = Desktop::start()?;
    let gatehouse = Gatehouse::start()?;
    let program = paths::program("gatehousectl")?;
    let run = |name: &str| -> Result<Bridge> {
        let mut command = desktop.command(&program);
        command.arg("--data-dir").arg(gatehouse.data_dir()).args(["bridge", "--client", name]);
        Bridge::run(&mut command)
    };
    let bus = desktop.bus();
    let output = gatehouse.operator_in(
        ("DBUS_SESSION_BUS_ADDRESS", bus),
        &["--json", "clients", "add", "Bridged", "--bridge"],
    )?;
    ensure!(output.status.success(), "{output:?}");
    let shown: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(shown["name"] == "Bridged" && shown.get("token").is_none(), "the token was shown: {shown}");

    let mut bridge = run("bridged")?;
    ensure!(bridge.initialize(&json!({}))?["result"].is_object(), "no session");
    let output = gatehouse.operator_in(
        ("DBUS_SESSION_BUS_ADDRESS", bus),
        &["--json", "clients", "rotate", "Bridged", "--bridge"],
    )?;
    ensure!(output.status.success(), "{output:?}");
    // The old token counts no more; the bridge finds the new one.
    bridge.request(1, "tools/list", &json!({}))?;
    let answer = bridge.answer(1)?;
    ensure!(answer["result"].is_object(), "{answer}");
    ensure!(bridge.close()?.success(), "it failed");
    let mut other = run("another")?;
    ensure!(other.process.wait()?.code() == Some(1), "there is no such token");
    Ok(())
}

/// What a window does with a token that it shows: the core has the program of the bridge store it. Revoking its client
/// deletes it.
#[cfg(target_os = "linux")]
#[test]
fn kept_token_goes_with_its_client() -> Result<()> {
    use gatehouse_tests::window::Desktop;

    let desktop = Desktop::start()?;
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.stop()?;
    gatehouse.launch_with_env(&[("DBUS_SESSION_BUS_ADDRESS", desktop.bus())])?;
    let program = paths::program("gatehousectl")?;
    let run = || -> Result<Bridge> {
        let mut command = desktop.command(&program);
        command.arg("--data-dir").arg(gatehouse.data_dir()).args(["bridge", "--client", "Kept"]);
        Bridge::run(&mut command)
    };
    let token = gatehouse.add_client("Kept")?;
    ensure!(gatehouse.command("clients.keepToken", &json!({ "token": "no token" })).is_err());
    ensure!(run()?.process.wait()?.code() == Some(1), "there is a token before it was kept");
    gatehouse.command("clients.keepToken", &json!({ "token": token }))?;
    let mut bridge = run()?;
    ensure!(bridge.initialize(&json!({}))?["result"].is_object(), "no session");
    ensure!(bridge.close()?.success(), "it failed");
    gatehouse.ask(&["clients", "revoke", "Kept"])?;
    ensure!(run()?.process.wait()?.code() == Some(1), "the token is still in the keychain");
    Ok(())
}

/// No Gatehouse runs: the app beside the program is started, once, and what the client has said waits for it.
#[test]
fn starts_the_app_beside_it() -> Result<()> {
    let home = tempfile::Builder::new().prefix("gatehouse-test-").tempdir()?;
    let (bin, data) = (home.path().join("bin"), home.path().join("gatehouse"));
    for folder in [&bin, &data] {
        fs::DirBuilder::new().mode(0o700).create(folder)?;
    }
    let program = bin.join("gatehousectl");
    fs::copy(paths::program("gatehousectl")?, &program)?;
    // In place of the app: says that it was started, and is no Gatehouse.
    let app = bin.join("gatehouse");
    fs::write(&app, "#!/bin/sh\necho started >>\"$XDG_DATA_HOME/started\"\n")?;
    fs::set_permissions(&app, fs::Permissions::from_mode(0o755))?;
    fs::write(home.path().join("token"), "token")?;
    let run = |more: &str| -> Result<Bridge> {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!(r#"exec 4<"$XDG_DATA_HOME/token"; exec "$0" bridge --token-fd 4 {more}"#)])
            .arg(&program)
            .env("XDG_DATA_HOME", home.path())
            .env_remove("GATEHOUSE_DATA_DIR");
        Bridge::run(&mut command)
    };
    let started = || fs::read_to_string(home.path().join("started")).unwrap_or_default().lines().count();
    let bridge = run("--no-start")?;
    ensure!(bridge.close()?.success() && started() == 0, "it was started");
    let mut bridge = run("")?;
    eventually_holds("the start of the app", || Ok(started() == 1))?;
    bridge.request(1, "initialize", &json!({ "protocolVersion": OLD }))?;
    ensure!(bridge.close()?.success() && started() == 1, "it was started {} times", started());
    Ok(())
}

/// Tried: an agent stores its own token as that of another client, whose bridges would then be the agent's client, with its
/// rules. Stopped by: Gatehouse says whose token it is.
#[test]
fn keeps_a_token_only_for_its_own_client() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.add_client("Victim")?;
    let token = gatehouse.folder("agent")?.join("token");
    fs::write(&token, gatehouse.add_client("Agent")?)?;
    let kept = Command::new(paths::program("gatehousectl")?)
        .arg("--data-dir")
        .arg(gatehouse.data_dir())
        .args(["clients", "keep-token", "Victim", "--token-fd", "0"])
        .env("LC_ALL", "C.UTF-8")
        .stdin(fs::File::open(&token)?)
        .output()?;
    let said = String::from_utf8_lossy(&kept.stderr);
    ensure!(!kept.status.success() && said.contains("belongs to the client Agent"), "{said}");
    Ok(())
}
