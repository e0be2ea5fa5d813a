//! Cost of many servers: how much ten broken ones delay forty good ones, the resources of twenty idle
//! ones, and that a hundred starts, crashes and kills leave no process behind. `cargo xtask bench
//! servers`.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use gatehouse_tests::child_process::TEST_TIMEOUT;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::paths;
use gatehouse_tests::process_usage::processor_ticks;
use serde_json::{Value, json};

const GOOD: usize = 40;
const IDLE: usize = 20;
const IDLE_FOR: Duration = Duration::from_secs(60);
const ROUNDS: usize = 100;

/// The faults of the ten broken servers.
const BROKEN: [&str; 10] = [
    "slow-start=20000",
    "dies-at-start",
    "silent-after-connect",
    "half-open",
    "garbage-lines",
    "dies-after=200",
    "endless-paging",
    "exits-on-discover",
    "ignores-sigterm",
    "grandchild-holds-stdout",
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if wanted("launch") {
        launch()?;
    }
    if wanted("idle") {
        idle()?;
    }
    if wanted("orphans") {
        orphans()?;
    }
    Ok(())
}

fn add_fixture(gatehouse: &Gatehouse, name: &str, fault: Option<&str>) -> Result<()> {
    let program = paths::program("fixture-server")?;
    let args = fault.map_or_else(Vec::new, |fault| vec!["--fault", fault]);
    let transport = json!({ "type": "stdio", "command": program, "args": args });
    let draft = json!({ "name": name, "transport": transport });
    gatehouse.command("servers.add", &json!({ "draft": draft, "trustLabels": false })).map(drop)
}

/// Milliseconds from the launch until the good servers are connected.
fn time_until_connected(gatehouse: &mut Gatehouse) -> Result<f64> {
    let begun = Instant::now();
    gatehouse.launch()?;
    loop {
        let servers = gatehouse.command("servers.list", &json!({}))?;
        let connected = servers.as_array().into_iter().flatten().filter(|server| {
            server["config"]["name"].as_str().is_some_and(|name| name.starts_with("good"))
                && server["status"]["state"] == "connected"
        });
        if connected.count() == GOOD {
            return Ok(begun.elapsed().as_secs_f64() * 1000.0);
        }
        ensure!(begun.elapsed() < TEST_TIMEOUT, "the good servers never connected");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Forty good servers alone, and with ten that each have another fault, alternately.
fn launch() -> Result<()> {
    let mut alone = Gatehouse::start()?;
    let mut beside = Gatehouse::start()?;
    for number in 0..GOOD {
        add_fixture(&alone, &format!("good{number}"), None)?;
        add_fixture(&beside, &format!("good{number}"), None)?;
    }
    for fault in BROKEN {
        add_fixture(&beside, fault.split('=').next().unwrap_or(fault), Some(fault))?;
    }
    alone.stop()?;
    beside.stop()?;
    let (mut of_alone, mut of_beside) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        of_alone.push(time_until_connected(&mut alone)?);
        alone.stop()?;
        of_beside.push(time_until_connected(&mut beside)?);
        beside.stop()?;
    }
    let (alone, beside) = (median(of_alone), median(of_beside));
    println!(
        "launch: {GOOD} good servers usable after {alone:.0} ms alone, {beside:.0} ms beside {} broken ones, ratio {:.2}",
        BROKEN.len(),
        beside / alone
    );
    Ok(())
}

/// CPU and memory of the core while connected servers are idle.
fn idle() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    for number in 0..IDLE {
        add_fixture(&gatehouse, &format!("idle{number}"), None)?;
    }
    for number in 0..IDLE {
        gatehouse.await_status(&format!("idle{number}"), "connected")?;
    }
    let pid = gatehouse.pid()?;
    let before = processor_ticks(pid)?;
    std::thread::sleep(IDLE_FOR);
    let ticks = processor_ticks(pid)? - before;
    // A tick is 10 ms on every Linux that this runs on.
    let share = ticks as f64 / IDLE_FOR.as_secs_f64();
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let pss = smaps.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
    println!(
        "idle: {IDLE} connected servers, {share:.2} % of a core over {} s, memory of the core {} (PSS)",
        IDLE_FOR.as_secs(),
        pss.trim()
    );
    Ok(())
}

/// A hundred rounds of stopped servers, crashed servers and a killed Gatehouse, alternately. No process
/// may be left.
fn orphans() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let mark = gatehouse.folder("log")?.join("marked").display().to_string();
    let program = paths::program("fixture-server")?;
    for (name, fault) in [
        ("plain", None),
        ("stubborn", Some("ignores-sigterm")),
        ("holder", Some("grandchild-holds-stdout")),
        ("mortal", Some("dies-mid-call")),
    ] {
        let mut args = vec!["--log", mark.as_str()];
        if let Some(fault) = fault {
            args.extend(["--fault", fault]);
        }
        let transport = json!({ "type": "stdio", "command": program, "args": args });
        let draft = json!({ "name": name, "transport": transport });
        gatehouse.command("servers.add", &json!({ "draft": draft, "trustLabels": false }))?;
    }
    let mut left = 0;
    for round in 0..ROUNDS {
        for name in ["plain", "stubborn", "holder", "mortal"] {
            gatehouse.await_status(name, "connected")?;
        }
        match round % 3 {
            0 => gatehouse.stop()?,
            1 => gatehouse.kill()?,
            _ => {
                let arguments = json!({ "server": "mortal", "tool": "echo", "arguments": "{}" });
                let answer: Value = gatehouse.command("servers.callTool", &arguments)?;
                ensure!(answer["end"]["end"] != "ok", "it should have died: {answer}");
                gatehouse.stop()?;
            }
        }
        left += leftovers(&mark);
        gatehouse.launch()?;
    }
    gatehouse.stop()?;
    println!("orphans: {left} processes left after {ROUNDS} rounds of stop, crash and SIGKILL");
    ensure!(left == 0, "processes were left behind");
    Ok(())
}

/// Processes of the servers that still run some time after their Gatehouse ended.
fn leftovers(mark: &str) -> usize {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let found = processes(mark);
        if found == 0 || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn processes(mark: &str) -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let marked = entries.flatten().filter(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    });
    marked.count()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
