//! What a user sees for each fault of a server, how long that takes, and how the server recovers. Every
//! run prints the table.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gatehouse_tests::client::{Client, Sdk};
use gatehouse_tests::eventually::eventually;
use gatehouse_tests::fixture_server::ServerTransport;
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::{fixture_server, paths};
use serde_json::{Value, json};

struct FaultCase {
    fault: &'static str,
    over: ServerTransport,
    lifecycle: &'static str,
    /// The call that triggers the fault, if one is needed.
    call: Option<(&'static str, &'static str)>,
    /// What has to be visible: in the status, in the answer to the call, or in the log.
    symptom: Symptom,
    /// How the server recovers.
    recovery: &'static str,
}

#[derive(Clone, Copy)]
enum Symptom {
    /// This status with this text in its message (empty: any).
    Status(&'static str, &'static str),
    /// The server works: the fault does not concern the user.
    Connected,
    /// The call is answered with this text (empty: with its result), and this is the status afterwards.
    Call(&'static str, &'static str),
    /// The log contains this text.
    Log(&'static str),
}

const CALL: Option<(&str, &str)> = Some(("echo", "{}"));

const fn stdio(fault: &'static str, symptom: Symptom, recovery: &'static str) -> FaultCase {
    FaultCase { fault, over: ServerTransport::Stdio, lifecycle: "both", call: None, symptom, recovery }
}

const fn http(fault: &'static str, symptom: Symptom, recovery: &'static str) -> FaultCase {
    FaultCase { fault, over: ServerTransport::Http, lifecycle: "both", call: None, symptom, recovery }
}

const fn calling(case: FaultCase) -> FaultCase {
    FaultCase { call: CALL, ..case }
}

const RETRY: &str = "tried again after 1, 2, 4, 8, 16 s";
const BY_HAND: &str = "by hand, once it is mended";
const NOTHING: &str = "nothing to do";

const CASES: &[FaultCase] = &[
    stdio("slow-start=1500", Symptom::Connected, NOTHING),
    stdio("silent-after-connect", Symptom::Status("failed", "health check"), RETRY),
    stdio("half-open", Symptom::Status("failed", "health check"), RETRY),
    http("half-open", Symptom::Status("failed", "health check"), RETRY),
    calling(stdio("dies-mid-call", Symptom::Call("exit code 7", "failed"), RETRY)),
    stdio("dies-at-start", Symptom::Status("failed", "exit code 3"), RETRY),
    stdio("dies-after=300", Symptom::Status("failed", "exit code 9"), RETRY),
    stdio("exits-on-discover", Symptom::Connected, "started again with initialize"),
    calling(stdio("foreign-id", Symptom::Call("", "connected"), NOTHING)),
    calling(stdio("garbage-lines", Symptom::Log("not a protocol message"), NOTHING)),
    calling(stdio("huge-result", Symptom::Call("xxx", "connected"), NOTHING)),
    stdio("many-tools", Symptom::Connected, NOTHING),
    stdio("endless-paging", Symptom::Log("not read to its end"), NOTHING),
    stdio("repeated-cursor", Symptom::Log("not read to its end"), NOTHING),
    calling(stdio("notification-flood", Symptom::Call("", "connected"), NOTHING)),
    calling(FaultCase {
        lifecycle: "legacy",
        ..http("loses-session=1", Symptom::Call("", "connected"), "opened once more, the call sent again")
    }),
    calling(FaultCase {
        lifecycle: "legacy",
        ..http("loses-session=always", Symptom::Call("session", "failed"), BY_HAND)
    }),
    http("http-status=401", Symptom::Status("needs_auth", ""), "signing in"),
    http("http-status=403", Symptom::Status("needs_auth", ""), "signing in"),
    http("http-status=404", Symptom::Status("failed", "404"), BY_HAND),
    http("http-status=405", Symptom::Status("failed", "405"), BY_HAND),
    http("http-status=429", Symptom::Status("failed", "429"), RETRY),
    http("http-status=500", Symptom::Status("failed", "500"), RETRY),
    http("http-status=503", Symptom::Status("failed", "503"), RETRY),
    http("status-times=2:503", Symptom::Status("connected", ""), RETRY),
    FaultCase {
        call: Some(("slow", r#"{"ms":600,"progress":3}"#)),
        lifecycle: "legacy",
        ..http("lost-stream", Symptom::Call("slept", "connected"), "the stream is taken up again")
    },
    FaultCase {
        call: Some(("slow", r#"{"ms":100}"#)),
        lifecycle: "legacy",
        ..http(
            "polled-stream",
            Symptom::Call("slept", "connected"),
            "asked again as often as the server wants",
        )
    },
    stdio("grandchild-holds-stdout", Symptom::Connected, NOTHING),
    stdio("ignores-sigterm", Symptom::Connected, "killed when it is stopped"),
    calling(stdio("changes-tools", Symptom::Call("", "connected"), "read again, asked about again")),
];

#[test]
fn reports_every_fault() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let token = gatehouse.add_client("Tester")?;
    let mut client = Client::connect(Sdk::TypeScript, "2026-07-28", &gatehouse.endpoint, Some(&token))?;
    let mut table = String::new();
    for (number, case) in CASES.iter().enumerate() {
        let name = format!("case{number}");
        let began = Instant::now();
        let row = play(&gatehouse, &mut client, &name, case);
        let said = row.with_context(|| format!("{} over {:?}", case.fault, case.over))?;
        let said: String = said.chars().take(110).collect();
        let took = began.elapsed().as_secs_f64();
        writeln!(table, "| {} ({:?}) | {said} | {took:.1} s | {} |", case.fault, case.over, case.recovery)?;
        gatehouse.ask(&["servers", "remove", &name])?;
    }
    // Not by `println!`, whose output is captured for tests that pass.
    let head = "\n| fault | what the user sees | seen after | how it comes right |\n|---|---|---|---|\n";
    std::io::stdout().write_all((head.to_owned() + &table).as_bytes())?;
    Ok(())
}

fn add(gatehouse: &Gatehouse, name: &str, case: &FaultCase) -> Result<Option<fixture_server::FixtureServer>> {
    let words = ["--lifecycle", case.lifecycle, "--fault", case.fault];
    let checks = case.fault.starts_with("half-open") || case.fault.starts_with("silent");
    let (transport, upstream) = if case.over == ServerTransport::Stdio {
        let program = paths::program("fixture-server")?;
        (json!({ "type": "stdio", "command": program, "args": words }), None)
    } else {
        let upstream = fixture_server::FixtureServer::start(case.over, &words)?;
        (json!({ "type": "auto", "url": upstream.url }), Some(upstream))
    };
    let limits = if checks {
        json!({ "healthEverySecs": 1, "healthTimeoutSecs": 1, "healthFailures": 2 })
    } else {
        json!({})
    };
    let draft = json!({ "name": name, "transport": transport, "limits": limits });
    gatehouse.command("servers.add", &json!({ "draft": draft, "trustLabels": false }))?;
    Ok(upstream)
}

fn play(gatehouse: &Gatehouse, client: &mut Client, name: &str, case: &FaultCase) -> Result<String> {
    let _upstream = add(gatehouse, name, case)?;
    let (mut answered, mut is_ok) = (String::new(), false);
    if let Some((tool, arguments)) = case.call {
        await_state(gatehouse, name, "connected", "")?;
        gatehouse.ask(&["policy", "auto-approve", name, "all"])?;
        let arguments: Value = serde_json::from_str(arguments)?;
        let outcome = client.call(tool, &arguments)?;
        (answered, is_ok) = (format!("{outcome:?}"), outcome.is_ok());
    }
    match case.symptom {
        Symptom::Connected => {
            await_state(gatehouse, name, "connected", "")?;
            Ok("connected".to_owned())
        }
        Symptom::Status(state, words) => {
            let found = await_state(gatehouse, name, state, words)?;
            // Not every state has a message.
            let message = if words.is_empty() { String::new() } else { status_text(&found["status"])? };
            Ok(format!("{state} {message}"))
        }
        Symptom::Call(words, state) => {
            let is_told = if words.is_empty() { is_ok } else { answered.contains(words) };
            ensure!(is_told, "the call answered {}", answered.chars().take(300).collect::<String>());
            await_state(gatehouse, name, state, "")?;
            let told = if words.is_empty() { "the call's result" } else { words };
            Ok(format!("{told}; then {state}"))
        }
        Symptom::Log(words) => {
            let found = await_state(gatehouse, name, "connected", "")?;
            let log = gatehouse.ask(&["servers", "log", name])?.to_string();
            ensure!(log.contains(words), "the log has {log}");
            Ok(format!("{}; in the log: {words}", found["status"]["state"]))
        }
    }
}

fn await_state(gatehouse: &Gatehouse, name: &str, state: &str, words: &str) -> Result<Value> {
    eventually(format!("{name} to be {state}"), || {
        let servers = gatehouse.ask(&["servers", "list"])?;
        let found = servers.as_array().into_iter().flatten().find(|server| server["config"]["name"] == name);
        let found = found.cloned().unwrap_or(Value::Null);
        let is_said =
            words.is_empty() || status_text(&found["status"]).is_ok_and(|message| message.contains(words));
        let is_wanted = found["status"]["state"] == state && is_said;
        Ok(if is_wanted { Ok(found) } else { Err(format!("{:#}", found["status"])) })
    })
}

/// Every fault that the fixture knows has to be in the table, so that a new one is not forgotten.
#[test]
fn covers_every_fixture_fault() -> Result<()> {
    let source = fs::read_to_string(paths::tests_dir().join("src/fixture/options.rs"))?;
    // Other tests cover these more thoroughly than a row could.
    let elsewhere = [
        "unauthorized",
        "status-after",
        "retry-after",
        "pages",
        "ttl",
        "wrong-output",
        "no-output",
        "asks-at-start",
        "adds-tool",
        "deceives",
        "folds-names",
        "folds-uris",
        "leaks",
        "bombs",
        "big-pages",
        "progress-flood",
        "adds-prompts",
        "open-templates",
        "bad-header",
        "nested-defaults",
        "asks-in-calls",
        "checks-capabilities",
        "generated",
        "tasks",
    ];
    let (_, faults) = source.split_once("impl Fault {").context("the faults are elsewhere")?;
    let faults = faults.lines().take_while(|line| !line.starts_with('}'));
    let faults = faults.filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"));
    let mut known = 0;
    for (fault, _) in faults {
        known += 1;
        let listed = CASES.iter().any(|case| case.fault.split('=').next() == Some(fault))
            || elsewhere.contains(&fault);
        ensure!(listed, "the fault {fault} is not in the table");
    }
    ensure!(known > 20, "the list of faults is not where it was: {known} found");
    Ok(())
}
