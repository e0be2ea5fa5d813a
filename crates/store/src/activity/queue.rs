//! The queue between the calls and the writer thread.
//!
//! A wake-up of the writer costs a call more than its record, so the writer is woken by the first record of a
//! batch and then sleeps until the batch is due.

use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use gatehouse_model::{CallRecord, ServerId, Timestamp};
use parking_lot::{Condvar, Mutex};

use super::Retention;

/// Maximum number of queued records.
const MAX_QUEUED: usize = 16 * 1024;
/// Maximum time that a record waits for its batch.
const MAX_BATCH_DELAY: Duration = Duration::from_millis(200);
/// With this many records a batch is written before it is due.
const FULL_BATCH: usize = 4096;

/// What the writer has to do next.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) records: Vec<CallRecord>,
    /// A changed retention.
    pub(super) retention: Option<Retention>,
    /// Servers that are there now.
    pub(super) servers: Vec<(ServerId, Timestamp)>,
    /// Who waits until the records are written.
    pub(super) flushes: Vec<SyncSender<()>>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.retention.is_none()
            && self.servers.is_empty()
            && self.flushes.is_empty()
    }

    /// Whether it is written at once.
    fn is_urgent(&self) -> bool {
        self.records.len() >= FULL_BATCH || !self.flushes.is_empty()
    }
}

#[derive(Default)]
struct QueueState {
    batch: Batch,
    closed: bool,
}

#[derive(Default)]
pub(super) struct RecordQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

impl RecordQueue {
    /// Adds a record; false if the queue is full or closed.
    pub(super) fn push(&self, record: CallRecord) -> bool {
        let mut state = self.state.lock();
        if state.closed || state.batch.records.len() >= MAX_QUEUED {
            return false;
        }
        let was_empty = state.batch.is_empty();
        state.batch.records.push(record);
        if was_empty || state.batch.records.len() == FULL_BATCH {
            self.changed.notify_one();
        }
        true
    }

    /// Changes the retention with the next batch.
    pub(super) fn set_retention(&self, retention: Retention) {
        self.state.lock().batch.retention = Some(retention);
        self.changed.notify_one();
    }

    /// Records with the next batch that a server was there at this time.
    pub(super) fn server_seen(&self, server: ServerId, at: Timestamp) {
        let mut state = self.state.lock();
        if !state.closed && state.batch.servers.len() < MAX_QUEUED {
            state.batch.servers.push((server, at));
            self.changed.notify_one();
        }
    }

    /// Asks for an answer as soon as everything queued so far is written. False if the queue is closed.
    pub(super) fn flush(&self, done: SyncSender<()>) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        state.batch.flushes.push(done);
        self.changed.notify_one();
        true
    }

    /// Takes no more records; the writer ends after what is queued.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
    }

    /// Closes the queue and drops what is in it: nobody takes it any more.
    pub(super) fn abandon(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.batch = Batch::default();
    }

    /// Whether there is a batch that is written at once, or the queue is closed.
    pub(super) fn has_work(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.batch.is_urgent()
    }

    /// Waits for the next batch; `None` if the queue is closed and empty.
    pub(super) fn next_batch(&self) -> Option<Batch> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.batch.is_empty() && !state.closed);
        let due = Instant::now() + MAX_BATCH_DELAY;
        while !state.batch.is_urgent()
            && !state.closed
            && !self.changed.wait_until(&mut state, due).timed_out()
        {}
        let batch = std::mem::take(&mut state.batch);
        (!batch.is_empty()).then_some(batch)
    }
}
