//! Writes the mark (`mark.rs`) to the secret store, on a thread of its own: a locked keychain asks the user
//! to unlock it and may never answer, and audit entries must not wait for that. If several marks are queued,
//! only the latest is written.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gatehouse_model::Secret;
use parking_lot::{Condvar, Mutex};

use crate::error::{SecretError, StoreError};
use crate::secrets::{SecretKey, SecretKind, SecretStore};

/// How long flushing and shutdown wait for the last mark.
const STOP: Duration = Duration::from_secs(2);

/// Channel for whether a mark was written.
pub(super) type Told = SyncSender<Result<(), SecretError>>;

/// Handle of the thread that writes marks.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    /// `None` if secrets are kept in memory: they are lost with the process, so the mark isn't written.
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    slot: Mutex<Slot>,
    changed: Condvar,
}

#[derive(Default)]
struct Slot {
    next: Option<Job>,
    is_writing: bool,
    /// Whether the last attempt to write failed.
    failed: bool,
    /// Whether a wait for the current write timed out, so that shutdown doesn't wait again.
    given_up: bool,
    is_closing: bool,
}

struct Job {
    text: Secret,
    told: Vec<Told>,
}

impl Keeper {
    pub(super) fn start(secrets: Arc<dyn SecretStore>, key: SecretKey) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        if secrets.kind() == SecretKind::Memory {
            return Ok(Self { shared, thread: None });
        }
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("audit-mark".to_owned())
            .spawn(move || {
                while let Some(job) = own.wait_for_next() {
                    let written = secrets.set(&key, &job.text);
                    own.wrote(job, written);
                }
            })
            .map_err(StoreError::io("The writer of the audit's mark cannot be started"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a mark, replacing one that is queued. Never blocks on the secret store.
    pub(super) fn put(&self, text: Secret, told: Option<Told>) {
        if self.thread.is_none() {
            tell(told, &Ok(()));
            return;
        }
        let mut slot = self.shared.slot.lock();
        let mut waiting = slot.next.take().map(|job| job.told).unwrap_or_default();
        waiting.extend(told);
        slot.next = Some(Job { text, told: waiting });
        self.shared.changed.notify_all();
    }

    /// Whether the last attempt to write failed.
    pub(super) fn has_failed(&self) -> bool {
        self.shared.slot.lock().failed
    }

    /// Waits until everything queued is written, or [`STOP`] has passed. Blocks.
    pub(super) fn flush(&self) {
        self.settle(STOP);
    }

    /// Waits for the queue to empty. Returns whether nothing is queued or being written any more.
    fn settle(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut slot = self.shared.slot.lock();
        while slot.next.is_some() || slot.is_writing {
            if self.shared.changed.wait_until(&mut slot, deadline).timed_out() {
                slot.given_up = true;
                tracing::warn!("the secret store does not answer; how far the audit has come is not kept");
                return false;
            }
        }
        true
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let limit = if self.shared.slot.lock().given_up { Duration::ZERO } else { STOP };
        let is_settled = self.settle(limit);
        {
            let mut slot = self.shared.slot.lock();
            slot.is_closing = true;
            // A write that hasn't started must not start later, when the folder may have another owner.
            slot.next = None;
            self.shared.changed.notify_all();
        }
        if is_settled && thread.join().is_err() {
            tracing::error!("the writer of the audit's mark failed");
        }
    }
}

impl Shared {
    /// Waits for the next mark; `None` at shutdown.
    fn wait_for_next(&self) -> Option<Job> {
        let mut slot = self.slot.lock();
        loop {
            if let Some(job) = slot.next.take() {
                slot.is_writing = true;
                return Some(job);
            }
            if slot.is_closing {
                return None;
            }
            self.changed.wait(&mut slot);
        }
    }

    fn wrote(&self, job: Job, written: Result<(), SecretError>) {
        if let Err(error) = &written {
            tracing::warn!(%error, "how far the audit has come could not be kept");
        }
        {
            let mut slot = self.slot.lock();
            slot.is_writing = false;
            slot.given_up = false;
            slot.failed = written.is_err();
            self.changed.notify_all();
        }
        tell(job.told, &written);
    }
}

fn tell(told: impl IntoIterator<Item = Told>, written: &Result<(), SecretError>) {
    for told in told {
        if told.send(written.clone()).is_err() {
            tracing::debug!("nobody waits for the mark any more");
        }
    }
}
