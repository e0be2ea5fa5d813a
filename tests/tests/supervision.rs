//! Child processes: how they exit, how they are restarted, and that none is left behind.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use gatehouse_tests::eventually::{eventually, eventually_holds};
use gatehouse_tests::gatehouse::{Gatehouse, status_text};
use gatehouse_tests::paths;
use serde_json::json;

/// Processes whose command line contains a text.
fn processes(mark: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
        })
        .collect()
}

fn await_processes(mark: &str, wanted: usize) -> Result<Vec<u32>> {
    eventually(format!("{wanted} processes with {mark}"), || {
        let found = processes(mark);
        Ok(if found.len() == wanted { Ok(found) } else { Err(format!("{found:?}")) })
    })
}

fn add_fixture(gatehouse: &Gatehouse, name: &str, more: &[&str]) -> Result<String> {
    let server = paths::program("fixture-server")?;
    let log = gatehouse.folder("log")?.join(name);
    let mark = log.to_str().context("path")?.to_owned();
    let mut words = vec!["servers", "add", name, "--", server.to_str().context("path")?, "--log", &mark];
    words.extend_from_slice(more);
    gatehouse.ask(&words)?;
    Ok(mark)
}

#[test]
fn restarts_killed_server_and_reports_exit() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let mark = add_fixture(&gatehouse, "raw", &[])?;
    gatehouse.await_status("raw", "connected")?;
    let first = await_processes(&mark, 1)?;
    let pid = first.first().context("pid")?.to_string();
    ensure!(std::process::Command::new("kill").args(["-KILL", &pid]).status()?.success(), "kill failed");
    eventually_holds("another process of the server", || {
        let now = processes(&mark);
        Ok(now.len() == 1 && now != first)
    })?;
    gatehouse.await_status("raw", "connected")?;
    let events = gatehouse.command("events.list", &json!({}))?;
    let ended = events.as_array().context("no list of events")?.iter().find(|event| {
        event["event"]["event"] == "status_changed" && event["event"]["cause"]["cause"] == "unexpected_close"
    });
    let reason =
        ended.with_context(|| format!("no unexpected end: {events:#}"))?["event"]["cause"].to_string();
    ensure!(reason.contains("signal"), "{reason}");
    Ok(())
}

#[test]
fn stop_leaves_no_process() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    let stubborn = add_fixture(&gatehouse, "stubborn", &["--fault", "ignores-sigterm"])?;
    let holder = add_fixture(&gatehouse, "holder", &["--fault", "grandchild-holds-stdout"])?;
    let escaped = gatehouse.folder("log")?.join("escaped").to_str().context("path")?.to_owned();
    let script = format!(
        "setsid python3 -c 'import time; time.sleep(600)' {escaped} & exec {} --log {escaped}",
        paths::program("fixture-server")?.display()
    );
    gatehouse.ask(&["servers", "add", "escaped", "--", "sh", "-c", &script])?;
    for name in ["stubborn", "holder", "escaped"] {
        gatehouse.await_status(name, "connected")?;
    }
    await_processes(&escaped, 2)?;
    gatehouse.ask(&["servers", "stop", "stubborn"])?;
    gatehouse.ask(&["servers", "stop", "escaped"])?;
    await_processes(&stubborn, 0)?;
    await_processes(&escaped, 0)?;
    gatehouse.await_status("stubborn", "stopped")?;
    gatehouse.stop()?;
    await_processes(&holder, 0)?;
    Ok(())
}

#[test]
fn sigkill_leaves_no_orphans() -> Result<()> {
    for _ in 0..5 {
        let mut gatehouse = Gatehouse::start()?;
        let plain = add_fixture(&gatehouse, "plain", &[])?;
        let stubborn = add_fixture(&gatehouse, "stubborn", &["--fault", "ignores-sigterm"])?;
        let escaped = gatehouse.folder("log")?.join("escaped").to_str().context("path")?.to_owned();
        let script = format!(
            "setsid python3 -c 'import time; time.sleep(600)' {escaped} & exec {} --log {escaped}",
            paths::program("fixture-server")?.display()
        );
        gatehouse.ask(&["servers", "add", "escaped", "--", "sh", "-c", &script])?;
        for name in ["plain", "stubborn", "escaped"] {
            gatehouse.await_status(name, "connected")?;
        }
        gatehouse.kill()?;
        for mark in [&plain, &stubborn, &escaped] {
            await_processes(mark, 0)?;
        }
        let data = gatehouse.data_dir().to_str().context("path")?.to_owned();
        await_processes(&data, 0)?;
    }
    Ok(())
}

/// The guard runs for as long as a server does: it is the program that contains helper processes alone.
#[test]
fn guard_is_the_helper_program() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    add_fixture(&gatehouse, "raw", &[])?;
    gatehouse.await_status("raw", "connected")?;
    let own = gatehouse.pid()?;
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent == Some(own)
    };
    let guards: Vec<u32> = processes("--child-guard").into_iter().filter(is_child).collect();
    let [guard] = guards.as_slice() else { bail!("guards: {guards:?}") };
    let helper = paths::program("gatehouse-helper")?;
    ensure!(fs::read_link(format!("/proc/{guard}/exe"))? == helper);

    // By hand it does nothing, and says so.
    let started = std::process::Command::new(helper).output()?;
    ensure!(!started.status.success() && !started.stderr.is_empty(), "{started:?}");
    Ok(())
}

#[test]
fn repeated_start_creates_one_process() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let mark = add_fixture(&gatehouse, "raw", &["--fault", "slow-start"])?;
    for _ in 0..5 {
        gatehouse.ask(&["servers", "start", "raw"])?;
    }
    gatehouse.await_status("raw", "connected")?;
    ensure!(processes(&mark).len() == 1, "more than one process");
    Ok(())
}

#[test]
fn broken_server_does_not_delay_others() -> Result<()> {
    let mut gatehouse = Gatehouse::start()?;
    add_fixture(&gatehouse, "silent", &["--fault", "slow-start=25000"])?;
    add_fixture(&gatehouse, "dies", &["--fault", "dies-at-start"])?;
    add_fixture(&gatehouse, "good", &[])?;
    gatehouse.stop()?;
    gatehouse.launch()?;
    gatehouse.await_status("good", "connected")?;
    let servers = gatehouse.ask(&["servers", "list"])?;
    let silent = servers.as_array().into_iter().flatten().find(|server| server["config"]["name"] == "silent");
    let silent = silent.context("the silent server is gone")?;
    ensure!(silent["status"]["state"] == "connecting", "the good one came after it: {silent:#}");
    let dead = gatehouse.await_status("dies", "failed")?;
    ensure!(status_text(&dead["status"])?.contains('3'), "no exit code: {dead:#}");
    Ok(())
}

#[test]
fn server_secrets_reach_only_that_server() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    let folder = gatehouse.folder("log")?;
    let server = paths::program("fixture-server")?;
    let script = |file: &str| format!("env > {}; exec {}", folder.join(file).display(), server.display());
    let (own, other) = (script("own"), script("other"));
    gatehouse.ask(&["servers", "add", "keyed", "--env", "API_KEY=plain-value", "--", "sh", "-c", &own])?;
    gatehouse.await_status("keyed", "connected")?;
    gatehouse.ask(&["servers", "add", "other", "--", "sh", "-c", &other])?;
    gatehouse.await_status("other", "connected")?;
    let seen = |file: &str| fs::read_to_string(folder.join(file));
    ensure!(seen("own")?.lines().any(|line| line == "API_KEY=plain-value"), "the environment did not arrive");
    let others = seen("other")?;
    ensure!(others.contains("PATH=") && !others.contains("plain-value"), "{others}");
    Ok(())
}
