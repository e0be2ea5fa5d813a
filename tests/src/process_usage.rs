//! Memory and processor time of processes, as `/proc` tells. For benchmarks.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Proportional set size of a process and all its descendants, in MiB.
pub fn pss_of_family(root: u32) -> Result<f64> {
    let mut sum = 0.0;
    for pid in family(root) {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
        sum += line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0);
    }
    ensure!(sum > 0.0, "the memory cannot be read");
    Ok(sum / 1024.0)
}

/// Processor time of a process, in ticks of 10 ms.
pub fn processor_ticks(pid: u32) -> Result<u64> {
    let [user, system, ..] = processor_times(pid)?;
    Ok(user + system)
}

/// Watches a process and all its descendants for some time. Returns the percentage of one core that they used, also those
/// that ended meanwhile.
pub fn processor_share_of_family(root: u32, time: Duration) -> Result<f64> {
    let (begun, before) = (Instant::now(), family_ticks(root)?);
    std::thread::sleep(time);
    let ticks = family_ticks(root)?.saturating_sub(before);
    // A tick is 10 ms on every Linux that this runs on.
    Ok(ticks as f64 / begun.elapsed().as_secs_f64())
}

fn family_ticks(root: u32) -> Result<u64> {
    // A process that ends while this is read counts as a child that its parent waited for.
    let ticks: u64 = family(root).into_iter().filter_map(|pid| processor_times(pid).ok()).flatten().sum();
    ensure!(ticks > 0, "the processor time cannot be read");
    Ok(ticks)
}

/// A process and all its descendants.
fn family(root: u32) -> Vec<u32> {
    let mut family = vec![root];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        for task in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
        at += 1;
    }
    family
}

/// User and system time of a process, then those of the children that it waited for, in ticks.
fn processor_times(pid: u32) -> Result<[u64; 4]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program, which can contain anything, is in parentheses.
    let (_, fields) = stat.rsplit_once(") ").context("stat")?;
    let mut fields = fields.split(' ').skip(11);
    let mut next = || -> Result<u64> { Ok(fields.next().context("a field of stat")?.parse()?) };
    Ok([next()?, next()?, next()?, next()?])
}
