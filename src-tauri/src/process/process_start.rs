//! Start time of this process, for the start-up figure. On Linux it is taken from the kernel, so that
//! loading libraries is included; elsewhere it is the beginning of `main`.

use std::time::{Duration, Instant};

/// The start time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessStart(Instant);

impl ProcessStart {
    /// Must be called first in `main`.
    pub(crate) fn now() -> Self {
        let here = Instant::now();
        let before = age().unwrap_or_default();
        Self(here.checked_sub(before).unwrap_or(here))
    }

    /// Time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(target_os = "linux")]
fn age() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    age_of(&stat, &uptime)
}

#[cfg(not(target_os = "linux"))]
fn age() -> Option<Duration> {
    None
}

/// Age of a process from its `/proc/self/stat` and the system's uptime.
#[cfg(target_os = "linux")]
fn age_of(stat: &str, uptime: &str) -> Option<Duration> {
    /// `USER_HZ`: clock ticks per second in the kernel's user interface, the same on every architecture.
    const TICKS: f64 = 100.0;
    // The program name is in parentheses and may contain any character.
    let after_name = stat.rsplit_once(')')?.1;
    let ticks: f64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
    let now: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Duration::try_from_secs_f64(now - ticks / TICKS).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn parses_age_after_name_with_brackets() {
        let stat =
            "7 (a ) b) S 1 7 7 0 -1 4194304 99 0 0 0 1 2 0 0 20 0 1 0 12300 1000 10 18446744073709551615";
        assert_eq!(age_of(stat, "124.00 200.0"), Some(Duration::from_secs(1)));
        assert_eq!(age_of("", "124.00"), None);
        assert_eq!(age_of(stat, "100.0 200.0"), None);
    }

    #[test]
    fn reads_own_process_age() {
        assert!(age().is_some_and(|age| age < Duration::from_secs(3_600)));
    }
}
