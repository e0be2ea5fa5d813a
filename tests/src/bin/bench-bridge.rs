//! How soon a client has a session through `gatehousectl bridge`: from its start to the answer to `initialize`, against a
//! process that only writes a line. `cargo xtask bench bridge`.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gatehouse_tests::bridge::BridgeCommand;
use gatehouse_tests::child_process::ChildProcess;
use gatehouse_tests::gatehouse::Gatehouse;
use serde_json::{Value, json};

const STARTS: usize = 100;

/// The most that the median may be.
const READY: Duration = Duration::from_millis(25);

/// Starts as a bridge is started, and does nothing.
const EMPTY: &str = r#"exec 4</dev/null; exec echo ready"#;

fn main() -> Result<()> {
    let gatehouse = Gatehouse::start()?;
    gatehouse.await_status("Notes", "connected")?;
    let token = gatehouse.add_client("Bridged")?;
    let bridge = BridgeCommand::new(&gatehouse, &token)?;
    let project = gatehouse.folder("project")?;
    let settings = json!({ "name": "Project", "folders": [project] });
    gatehouse.command("profiles.add", &json!({ "settings": settings }))?;
    let initialize: Value = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
    });
    let (mut ready, mut in_project, mut empty) = (Vec::new(), Vec::new(), Vec::new());
    // Alternately, so that all of them meet the same load. The first of each warms the caches.
    for number in 0..=STARTS {
        for (folder, times) in [(gatehouse.home(), &mut ready), (project.as_path(), &mut in_project)] {
            let begun = Instant::now();
            let mut started = bridge.start_in(folder, &[])?;
            started.request(0, "initialize", &initialize)?;
            let answer = started.answer(0)?;
            let time = begun.elapsed();
            ensure!(answer["result"]["serverInfo"]["name"] == "Gatehouse", "{answer:#}");
            ensure!(started.close()?.success(), "the bridge failed");
            if number > 0 {
                times.push(time);
            }
        }
        let begun = Instant::now();
        let mut process = ChildProcess::start("empty", Command::new("sh").args(["-c", EMPTY]))?;
        process.next_line()?;
        if number > 0 {
            empty.push(begun.elapsed());
        }
        process.wait()?;
    }
    let base = percentile(&mut empty, 50);
    for (what, times) in [("ready", &mut ready), ("ready in a project folder", &mut in_project)] {
        let (median, p95) = (percentile(times, 50), percentile(times, 95));
        println!(
            "{what}: {:.1} ms median, {:.1} ms p95 of {STARTS} starts, {:.1} times an empty process ({:.1} ms)",
            millis(median),
            millis(p95),
            millis(median) / millis(base),
            millis(base)
        );
    }
    let median = percentile(&mut ready, 50);
    ensure!(median <= READY, "ready takes {:.1} ms, more than {:.0} ms", millis(median), millis(READY));
    Ok(())
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort();
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
