//! Pauses in answers, until the test releases them or their reader leaves.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use anyhow::Result;
use parking_lot::{Condvar, Mutex};

#[derive(Debug, Default)]
struct HoldCounts {
    /// How often the test released.
    releases: u64,
    /// How many readers left during a pause.
    left: usize,
}

#[derive(Debug, Default)]
struct HoldState {
    counts: Mutex<HoldCounts>,
    changed: Condvar,
}

/// All pauses of a provider.
#[derive(Debug, Default)]
pub(super) struct Holds(Arc<HoldState>);

impl Holds {
    pub(super) fn release(&self) {
        self.0.counts.lock().releases += 1;
        self.0.changed.notify_all();
    }

    pub(super) fn left(&self) -> usize {
        self.0.counts.lock().left
    }

    pub(super) fn releases(&self) -> u64 {
        self.0.counts.lock().releases
    }

    /// Waits until there were more releases than the answer has seen. False if its reader left before.
    pub(super) fn wait(&self, stream: &TcpStream, seen: &mut u64) -> Result<bool> {
        let has_left = Arc::new(Mutex::new(false));
        let (mut reading, leaves, state) = (stream.try_clone()?, Arc::clone(&has_left), Arc::clone(&self.0));
        // Nothing more is sent to it, so reading ends when the reader leaves, or with the answer.
        thread::spawn(move || {
            reading.read_to_end(&mut Vec::new()).unwrap_or_default();
            // With the lock, so that it can't come between a look and the wait.
            let counts = state.counts.lock();
            *leaves.lock() = true;
            drop(counts);
            state.changed.notify_all();
        });
        let mut counts = self.0.counts.lock();
        while counts.releases == *seen && !*has_left.lock() {
            self.0.changed.wait(&mut counts);
        }
        if counts.releases == *seen {
            counts.left += 1;
            return Ok(false);
        }
        *seen = counts.releases;
        Ok(true)
    }
}
