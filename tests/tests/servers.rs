//! Every kind of server and its life cycle: transports, sessions, sign-in statuses, headers, resource
//! subscriptions, results that violate their schema, the managed policy.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::fixture_server::{FixtureServer, ServerTransport, add, add_unconnected};
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use serde_json::{Value, json};

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn status(gatehouse: &Gatehouse, name: &str) -> Result<Value> {
    let servers = gatehouse.ask(&["servers", "list"])?;
    let found = servers.as_array().into_iter().flatten().find(|server| server["config"]["name"] == name);
    Ok(found.map_or(Value::Null, |server| server["status"].clone()))
}

/// Waits until a server has this status.
fn wait_until(gatehouse: &Gatehouse, name: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually(format!("the status of {name}"), || {
        let status = status(gatehouse, name)?;
        Ok(if wanted(&status) { Ok(status) } else { Err(format!("{status:#}")) })
    })
}

fn count_lines(path: &Path, words: &str) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().filter(|line| line.contains(words)).count()
}

/// A remote URL without a given transport: Streamable HTTP, or the older transport if the server does
/// not accept that; a WebSocket by its URL. A call succeeds over each.
#[test]
fn calls_over_each_transport() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    for over in ServerTransport::ALL {
        let name = format!("{over:?}");
        let _upstream = add(&gatehouse, &name, over, &[])?;
        gatehouse.ask(&["policy", "auto-approve", &name, "all"])?;
        let mut client = Client::connect(Sdk::TypeScript, NEW, &gatehouse.endpoint, Some(&token))?;
        let answer = client.call("echo", &json!({ "over": name }))?;
        ensure!(answer.is_ok() && format!("{answer:?}").contains(&name), "{name}: {answer:?}");
        let call = client.begin("slow", &json!({ "ms": 400, "progress": 3 }))?;
        ensure!(client.finish(&call)?.is_ok(), "{name}: slow");
        ensure!(client.progress_of(&call).len() == 3, "{name}: progress was lost");
        gatehouse.ask(&["servers", "remove", &name])?;
    }
    Ok(())
}

/// 401 and 403 end the detection of the transport, and so does a server error; 405 continues it.
#[test]
fn falls_back_to_sse_only_on_some_statuses() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for (code, state, error) in [
        ("401", "needs_auth", ""),
        ("403", "needs_auth", ""),
        ("404", "failed", "permanent_network"),
        ("405", "failed", "protocol"),
        ("429", "failed", "temporary_network"),
        ("500", "failed", "temporary_network"),
        ("503", "failed", "temporary_network"),
    ] {
        let log = gatehouse.folder("log")?.join(code);
        let fault = format!("http-status={code}");
        let words = ["--fault", &fault, "--log", log.to_str().context("path")?];
        let _upstream = add_unconnected(&gatehouse, code, ServerTransport::Http, &words)?;
        let status = wait_until(&gatehouse, code, |status| status["state"] == state)?;
        if !error.is_empty() {
            ensure!(status["error"] == error, "{code}: {status:#}");
            ensure!(status_text(&status)?.contains(code), "{status:#}");
            let again = status["nextRetry"] != Value::Null;
            ensure!(again == (error == "temporary_network"), "{code}: {status:#}");
        }
        // The older transport begins with GET; sign-in discovery uses other paths.
        let led_on = count_lines(&log, "# GET ") > count_lines(&log, "# GET /.well-known/");
        ensure!(led_on == matches!(code, "404" | "405"), "{code}: the older transport was tried: {led_on}");
        gatehouse.ask(&["servers", "remove", code])?;
    }
    Ok(())
}

/// The content of a challenge reaches the user.
#[test]
fn challenge_reports_required_sign_in() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let fault = "unauthorized=https://auth.example/.well-known/oauth-protected-resource";
    let _upstream = add_unconnected(&gatehouse, "locked", ServerTransport::Http, &["--fault", fault])?;
    let status = wait_until(&gatehouse, "locked", |status| status["state"] == "needs_auth")?;
    ensure!(status["issuer"].as_str().is_some_and(|issuer| issuer.contains("auth.example")), "{status:#}");
    Ok(())
}

/// A session that the server lost is opened again and the call is sent again, once; a server that loses
/// it again fails with a reason, and is not retried for ever.
#[test]
fn reopens_lost_session_once() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    let log = gatehouse.folder("log")?.join("once");
    let words =
        ["--lifecycle", "legacy", "--fault", "loses-session=1", "--log", log.to_str().context("path")?];
    let _once = add(&gatehouse, "once", ServerTransport::Http, &words)?;
    gatehouse.ask(&["policy", "auto-approve", "once", "all"])?;
    let mut client = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
    let answer = client.call("echo", &json!({ "n": 1 }))?;
    ensure!(answer.is_ok(), "{answer:?}");
    ensure!(
        count_lines(&log, r#""method":"initialize""#) == 2,
        "the session was not opened exactly once more"
    );
    ensure!(count_lines(&log, r#""method":"tools/call""#) == 2, "the call did not go out exactly twice");
    wait_until(&gatehouse, "once", |status| status["state"] == "connected")?;
    gatehouse.ask(&["servers", "remove", "once"])?;

    let log = gatehouse.folder("log")?.join("always");
    let words =
        ["--lifecycle", "legacy", "--fault", "loses-session=always", "--log", log.to_str().context("path")?];
    let _always = add(&gatehouse, "always", ServerTransport::Http, &words)?;
    gatehouse.ask(&["policy", "auto-approve", "always", "all"])?;
    let answer = client.call("echo", &json!({ "n": 2 }))?;
    ensure!(answer.is_tool_error() && answer.text().contains("session"), "{answer:?}");
    let status = wait_until(&gatehouse, "always", |status| status["state"] == "failed")?;
    ensure!(status["nextRetry"] == Value::Null, "it is tried again by itself: {status:#}");
    ensure!(status_text(&status)?.contains("session"), "{status:#}");
    ensure!(count_lines(&log, r#""method":"initialize""#) == 2, "it went round in a circle");
    Ok(())
}

/// A server that went away and came back at the same address: calls succeed again without user action.
#[test]
fn reconnects_to_returned_remote_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    for over in [ServerTransport::Http, ServerTransport::Sse, ServerTransport::Ws] {
        let name = format!("{over:?}");
        let mut upstream = add(&gatehouse, &name, over, &[])?;
        gatehouse.ask(&["policy", "auto-approve", &name, "all"])?;
        let port = upstream.port()?;
        upstream.kill()?;
        let mut client = Client::connect(Sdk::TypeScript, NEW, &gatehouse.endpoint, Some(&token))?;
        let _again = FixtureServer::start_at(over, port, &[])?;
        eventually(format_args!("{name} to answer again"), || {
            let answer = client.call("echo", &json!({ "n": 3 }))?;
            Ok(if answer.is_ok() { Ok(()) } else { Err(format!("{answer:?}")) })
        })?;
        gatehouse.ask(&["servers", "remove", &name])?;
    }
    Ok(())
}

/// Headers of a configuration and of a program reach the server; neither is visible anywhere else.
#[test]
fn sends_headers_from_entry_and_program() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let program = gatehouse.folder("bin")?.join("headers");
    fs::write(&program, "#!/bin/sh\necho 'X-Printed: printed-secret-1'\n")?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let log = gatehouse.folder("log")?.join("headers");
    let upstream = FixtureServer::start(ServerTransport::Http, &["--log", log.to_str().context("path")?])?;
    gatehouse.ask(&[
        "servers",
        "add",
        "headed",
        "--url",
        &upstream.url,
        "--header",
        "X-Static=static-value",
        "--headers-from",
        program.to_str().context("path")?,
    ])?;
    gatehouse.await_status("headed", "connected")?;
    let seen = fs::read_to_string(&log)?.to_ascii_lowercase();
    ensure!(seen.contains("x-printed: printed-secret-1"), "the program's header did not arrive: {seen}");
    ensure!(seen.contains("x-static: static-value"), "the entry's header did not arrive: {seen}");
    let told = gatehouse.ask(&["servers", "list"])?.to_string() + &gatehouse.stderr();
    ensure!(!told.contains("printed-secret"), "what the program printed was told");

    fs::write(&program, "#!/bin/sh\necho 'not a header'\n")?;
    gatehouse.ask(&["servers", "reconnect", "headed"])?;
    let status = wait_until(&gatehouse, "headed", |status| status["state"] == "failed")?;
    ensure!(status["error"] == "configuration", "{status:#}");
    ensure!(status_text(&status)?.contains("printed something else"), "{status:#}");
    Ok(())
}

/// A resource subscription: one subscription at the server for all clients, updates on both revisions,
/// renewed after a reconnect, and removed with the last subscriber.
#[test]
fn notifies_subscribed_resources() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    for lifecycle in ["legacy", "modern"] {
        let log = gatehouse.folder("log")?.join(lifecycle);
        let words = ["--lifecycle", lifecycle, "--log", log.to_str().context("path")?];
        let _upstream = add(&gatehouse, lifecycle, ServerTransport::Stdio, &words)?;
        gatehouse.ask(&["policy", "auto-approve", lifecycle, "all"])?;
        let uri = "fixture://note";
        let mut first = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
        let mut second = Client::connect(Sdk::TypeScript, OLD, &gatehouse.endpoint, Some(&token))?;
        for client in [&mut first, &mut second] {
            let answer = client.ask("watch", uri)?;
            ensure!(answer.is_ok(), "{lifecycle}: {answer:?}");
        }
        first.call("write_note", &json!({ "text": "one" }))?;
        for client in [&mut first, &mut second] {
            ensure!(client.next_message("updated")?["updated"] == uri, "{lifecycle}: another resource");
        }
        gatehouse.ask(&["servers", "reconnect", lifecycle])?;
        gatehouse.await_status(lifecycle, "connected")?;
        // The subscription is renewed concurrently with the reconnect.
        let subscribes =
            if lifecycle == "legacy" { r#""method":"resources/subscribe""# } else { "resourceSubscriptions" };
        eventually_holds(format!("{lifecycle}: the renewed subscription"), || {
            Ok(count_lines(&log, subscribes) >= 2)
        })?;
        ensure!(second.ask("unwatch", uri)?.is_ok(), "{lifecycle}: unwatch");
        first.call("write_note", &json!({ "text": "two" }))?;
        ensure!(
            first.next_message("updated")?["updated"] == uri,
            "{lifecycle}: not told after the reconnect"
        );
        ensure!(second.buffered_count("updated") == 0, "{lifecycle}: told although no longer wanted");
        if lifecycle == "legacy" {
            ensure!(
                count_lines(&log, r#""method":"resources/subscribe""#) == 2,
                "one subscription serves all"
            );
            ensure!(first.ask("unwatch", uri)?.is_ok(), "unwatch");
            eventually_holds("the end of the subscription", || {
                Ok(count_lines(&log, r#""method":"resources/unsubscribe""#) > 0)
            })?;
        }
        gatehouse.ask(&["servers", "remove", lifecycle])?;
    }
    Ok(())
}

/// Undeclared capabilities are not requested: lists are empty, everything else is a clear error, and in
/// strict mode lists are too.
#[test]
fn does_not_request_undeclared_capabilities() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let log = gatehouse.folder("log")?.join("bare");
    let words = [
        "--without",
        "resources",
        "--without",
        "prompts",
        "--without",
        "logging",
        "--log",
        log.to_str().context("path")?,
    ];
    let _upstream = add(&gatehouse, "bare", ServerTransport::Stdio, &words)?;
    let servers = gatehouse.ask(&["servers", "list"])?;
    let bare = servers.as_array().into_iter().flatten().find(|server| server["config"]["name"] == "bare");
    let declared = &bare.context("no server")?["declared"];
    ensure!(
        declared["tools"] == true && declared["resources"] == false && declared["logging"] == false,
        "{declared}"
    );
    ensure!(
        count_lines(&log, "resources/") + count_lines(&log, "prompts/") + count_lines(&log, "logging/") == 0,
        "it was asked"
    );
    Ok(())
}

/// A result that violates the tool's schema passes through unchanged and is flagged.
#[test]
fn flags_results_violating_output_schema() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    for (fault, flagged) in [("pages", false), ("wrong-output", true), ("no-output", true)] {
        let _upstream = add(&gatehouse, fault, ServerTransport::Stdio, &["--fault", fault])?;
        gatehouse.ask(&["policy", "auto-approve", fault, "all"])?;
        let body = gatehouse_tests::http::stateless_request(
            &gatehouse.endpoint,
            &token,
            "tools/call",
            r#""name":"typed","arguments":{}"#,
        )?
        .body;
        ensure!(!body.contains("isError\":true"), "{fault}: {body}");
        ensure!(body.contains(r#""n":"one""#) == (fault == "wrong-output"), "{fault}: {body}");
        let calls = gatehouse.ask(&["calls"])?;
        let outcome = &calls[0]["outcome"];
        ensure!((outcome["outcome"] == "unfit") == flagged, "{fault}: {outcome}");
        gatehouse.ask(&["servers", "remove", fault])?;
    }
    Ok(())
}

/// The lists of a server with 10,000 tools and of one whose list never ends are both read to an end.
#[test]
fn bounds_long_lists() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let _many = add(&gatehouse, "many", ServerTransport::Stdio, &["--fault", "many-tools"])?;
    let many = gatehouse.await_status("many", "connected")?;
    ensure!(many["counts"]["tools"].as_u64().is_some_and(|count| count >= 10_000), "{}", many["counts"]);
    for fault in ["endless-paging", "repeated-cursor"] {
        let _upstream = add(&gatehouse, fault, ServerTransport::Stdio, &["--fault", fault])?;
        let found = gatehouse.await_status(fault, "connected")?;
        let tail = found["logTail"].to_string();
        ensure!(tail.contains("not read to its end"), "{fault}: {tail}");
        ensure!(
            found["logTail"].as_array().into_iter().flatten().any(|line| line["source"] == "gatehouse"),
            "{tail}"
        );
    }
    Ok(())
}

/// A server that no longer answers is detected by its health check and reconnected, over standard
/// streams and over HTTP.
#[test]
fn health_check_reconnects_silent_server() -> Result<()> {
    let gatehouse = Gatehouse::start_with(|data| {
        let program = gatehouse_tests::paths::program("fixture-server")?;
        let entry = json!({ "mcpServers": { "silent": {
            "command": program, "args": ["--fault", "half-open"],
            "limits": { "healthEverySecs": 1, "healthTimeoutSecs": 1, "healthFailures": 2 },
        } } });
        Ok(fs::write(data.join("servers.json"), entry.to_string())?)
    })?;
    let mut person = gatehouse.person()?;
    let question = person.next_approval()?;
    person.answer(&question, "allow")?;
    let failed = wait_until(&gatehouse, "silent", |status| status["state"] == "failed")?;
    ensure!(status_text(&failed)?.contains("2 health checks"), "{failed:#}");
    ensure!(failed["nextRetry"] != Value::Null, "it is not tried again: {failed:#}");
    gatehouse.await_status("silent", "connected")?;
    Ok(())
}

/// Started with only a home folder, as from a desktop entry, the login shell's PATH is found; and a
/// missing runtime is named before anything is started.
#[test]
fn bare_environment_resolves_user_programs() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let bin = folder.path().join("bin");
    fs::create_dir(&bin)?;
    std::os::unix::fs::symlink(gatehouse_tests::paths::program("fixture-server")?, bin.join("my-server"))?;
    fs::write(folder.path().join(".profile"), format!("PATH={}:$PATH; export PATH\n", bin.display()))?;
    let gatehouse = Gatehouse::start_bare(folder.path())?;
    gatehouse.ask(&["servers", "add", "mine", "--", "my-server"])?;
    gatehouse.await_status("mine", "connected")?;
    gatehouse.ask(&["servers", "add", "missing", "--", "bun", "x", "some-server"])?;
    let status = wait_until(&gatehouse, "missing", |status| status["state"] == "failed")?;
    let words = status_text(&status)?;
    ensure!(
        status["error"] == "configuration" && words.contains("bun") && words.contains("Bun"),
        "{status:#}"
    );
    Ok(())
}

/// Variables that are withheld from the window's process are kept under other names, and reach servers
/// under their own: certificate locations, and variables that a configuration refers to.
#[test]
fn variables_that_the_window_withholds_reach_servers() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    gatehouse.stop()?;
    gatehouse.launch_with_env(&[
        ("GATEHOUSE_USER_SSL_CERT_FILE", "/company/ca.pem"),
        ("GATEHOUSE_USER_WITHHELD_WORD", "xyzzy"),
    ])?;
    // A variable under its own name takes precedence.
    let certificates = std::env::var("SSL_CERT_FILE").unwrap_or_else(|_| "/company/ca.pem".to_owned());
    let script = r#"echo "certificates $SSL_CERT_FILE, word $WORD, kept ${WITHHELD_WORD:-back}" >&2; exit 3"#;
    let env = json!({ "WORD": "${env:WITHHELD_WORD}" });
    let transport = json!({ "type": "stdio", "command": "sh", "args": ["-c", script], "env": env });
    let draft = json!({ "name": "mine", "transport": transport });
    gatehouse.command("servers.add", &json!({ "draft": draft, "trustLabels": false, "secrets": [] }))?;
    let status = wait_until(&gatehouse, "mine", |status| status["state"] == "failed")?;
    let words = status_text(&status)?;
    let wanted = format!("certificates {certificates}, word xyzzy, kept back");
    ensure!(words.contains(&wanted), "{wanted}: {status:#}");
    Ok(())
}
