//! Waits until something holds. Tests poll only here: one interval, one time limit, and an error that
//! says what was waited for and what was seen last.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a test waits for anything before it fails. Generous: it is an upper bound, not a measurement.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Looks again and again until a look succeeds; the error of a look is what it saw instead.
pub fn eventually<T, S: Display>(
    what: impl Display,
    mut look: impl FnMut() -> Result<Result<T, S>>,
) -> Result<T> {
    let deadline = Instant::now() + TEST_TIMEOUT;
    loop {
        match look()? {
            Ok(found) => return Ok(found),
            Err(seen) if Instant::now() >= deadline => bail!("waited in vain for {what}: {seen}"),
            Err(_) => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Looks again and again until a condition holds.
pub fn eventually_holds(what: impl Display, mut holds: impl FnMut() -> Result<bool>) -> Result<()> {
    eventually(what, || Ok(if holds()? { Ok(()) } else { Err("it does not hold") }))
}
