//! New ids. They are unique but not secret.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Generates unique 64-bit numbers: a counter that starts at a random value.
#[derive(Debug)]
pub(crate) struct IdGenerator(AtomicU64);

impl IdGenerator {
    pub(crate) fn new() -> Self {
        let seed = getrandom::u64().unwrap_or_else(|_| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).rotate_left(20)
        });
        Self(AtomicU64::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
