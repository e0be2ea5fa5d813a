//! Writes the mark (`checkpoint.rs`) to the secret store, on a thread of its own: a locked keychain asks the user
//! to unlock it and may never answer, and audit entries must not wait for that. If several marks are queued,
//! only the latest is written.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gatehouse_model::{Secret, message};
use parking_lot::{Condvar, Mutex};

use crate::error::{SecretError, StoreError};
use crate::secrets::key::SecretKey;
use crate::secrets::secret_store::{SecretStore, SecretStoreKind};

/// How long flushing and shutdown wait for the last mark.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Channel for whether a mark was written.
pub(super) type WriteAck = SyncSender<Result<(), SecretError>>;

/// Handle of the thread that writes marks.
pub(super) struct CheckpointWriter {
    shared: Arc<CheckpointShared>,
    /// `None` if secrets are kept in memory: they are lost with the process, so the mark isn't written.
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct CheckpointShared {
    queue: Mutex<CheckpointQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct CheckpointQueue {
    next: Option<CheckpointJob>,
    is_writing: bool,
    /// Whether the last attempt to write failed.
    has_failed: bool,
    /// Whether a wait for the current write timed out, so that shutdown doesn't wait again.
    has_given_up: bool,
    is_closing: bool,
}

struct CheckpointJob {
    text: Secret,
    acks: Vec<WriteAck>,
}

impl CheckpointWriter {
    pub(super) fn start(secrets: Arc<dyn SecretStore>, key: SecretKey) -> Result<Self, StoreError> {
        let shared = Arc::new(CheckpointShared::default());
        if secrets.kind() == SecretStoreKind::Memory {
            return Ok(Self { shared, thread: None });
        }
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("audit-mark".to_owned())
            .spawn(move || {
                while let Some(job) = own.wait_for_next() {
                    let written = secrets.set(&key, &job.text);
                    own.finish_job(job, written);
                }
            })
            .map_err(StoreError::io(message!("error.store.auditWriterUnstarted")))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a mark, replacing one that is queued. Never blocks on the secret store.
    pub(super) fn submit(&self, text: Secret, acks: Option<WriteAck>) {
        if self.thread.is_none() {
            notify_waiters(acks, &Ok(()));
            return;
        }
        let mut queue = self.shared.queue.lock();
        let mut waiting = queue.next.take().map(|job| job.acks).unwrap_or_default();
        waiting.extend(acks);
        queue.next = Some(CheckpointJob { text, acks: waiting });
        self.shared.changed.notify_all();
    }

    /// Whether the last attempt to write failed.
    pub(super) fn has_failed(&self) -> bool {
        self.shared.queue.lock().has_failed
    }

    /// Waits until everything queued is written, or [`STOP_TIMEOUT`] has passed. Blocks.
    pub(super) fn flush(&self) {
        self.wait_until_idle(STOP_TIMEOUT);
    }

    /// Waits for the queue to empty. Returns whether nothing is queued or being written any more.
    fn wait_until_idle(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut queue = self.shared.queue.lock();
        while queue.next.is_some() || queue.is_writing {
            if self.shared.changed.wait_until(&mut queue, deadline).timed_out() {
                queue.has_given_up = true;
                tracing::warn!("the secret store does not answer; how far the audit has come is not kept");
                return false;
            }
        }
        true
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let limit = if self.shared.queue.lock().has_given_up { Duration::ZERO } else { STOP_TIMEOUT };
        let is_settled = self.wait_until_idle(limit);
        {
            let mut queue = self.shared.queue.lock();
            queue.is_closing = true;
            // A write that hasn't started must not start later, when the folder may have another owner.
            queue.next = None;
            self.shared.changed.notify_all();
        }
        if is_settled && thread.join().is_err() {
            tracing::error!("the writer of the audit's mark failed");
        }
    }
}

impl CheckpointShared {
    /// Waits for the next mark; `None` at shutdown.
    fn wait_for_next(&self) -> Option<CheckpointJob> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.next.take() {
                queue.is_writing = true;
                return Some(job);
            }
            if queue.is_closing {
                return None;
            }
            self.changed.wait(&mut queue);
        }
    }

    fn finish_job(&self, job: CheckpointJob, written: Result<(), SecretError>) {
        if let Err(error) = &written {
            tracing::warn!(%error, "how far the audit has come could not be kept");
        }
        {
            let mut queue = self.queue.lock();
            queue.is_writing = false;
            queue.has_given_up = false;
            queue.has_failed = written.is_err();
            self.changed.notify_all();
        }
        notify_waiters(job.acks, &written);
    }
}

fn notify_waiters(acks: impl IntoIterator<Item = WriteAck>, written: &Result<(), SecretError>) {
    for acks in acks {
        if acks.send(written.clone()).is_err() {
            tracing::debug!("nobody waits for the mark any more");
        }
    }
}
