//! Detects edits of `servers.json` by hand.
//!
//! The folder is watched, not the file, since editors replace files. Only the content counts: our own writes,
//! and writes that don't change the content, aren't reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use gatehouse_model::{ErrorCode, UserError, message};
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// A change is reported once the file hasn't changed for this long.
const DEBOUNCE: Duration = Duration::from_millis(200);

/// Hash of the last known content; the inner `None` stands for a missing file.
#[derive(Clone, Default)]
pub(super) struct KnownContent(Arc<Mutex<Option<Option<[u8; 32]>>>>);

impl KnownContent {
    /// Runs a write of our own, and records its content as known.
    pub(super) fn record_own_write<E>(
        &self,
        content: Option<&[u8]>,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut known_content = self.0.lock();
        write()?;
        *known_content = Some(content.map(|content| Sha256::digest(content).into()));
        Ok(())
    }

    /// Records content that was read, if none is known yet.
    pub(super) fn set_if_unknown(&self, content: Option<&[u8]>) {
        self.0.lock().get_or_insert_with(|| content.map(|content| Sha256::digest(content).into()));
    }

    /// Whether the content on the disk isn't known yet. Records it as known.
    fn detect_change(&self, path: &Path) -> bool {
        let mut known_content = self.0.lock();
        let now = Some(std::fs::read(path).ok().map(|content| Sha256::digest(content).into()));
        let news = *known_content != now;
        *known_content = now;
        news
    }
}

/// Watches until dropped; the callback isn't called after that.
pub struct WatchGuard {
    watcher: Option<RecommendedWatcher>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for WatchGuard {
    fn drop(&mut self) {
        drop(self.watcher.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the watch over the settings file failed");
        }
    }
}

pub(super) fn watch(
    path: PathBuf,
    known_content: KnownContent,
    on_change: Box<dyn Fn() + Send + Sync>,
) -> Result<WatchGuard, StoreError> {
    let (Some(dir), Some(name)) =
        (path.parent().map(Path::to_owned), path.file_name().map(ToOwned::to_owned))
    else {
        return Err(watch_error("it has no folder"));
    };
    let (change_sender, changes) = sync_channel(1);
    // Also detects an edit between the first read and now.
    notify_change(&change_sender);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns = event.as_ref().map_or(true, |event| {
            !event.kind.is_access()
                && event.paths.iter().any(|path| path.file_name() == Some(name.as_os_str()))
        });
        if concerns {
            notify_change(&change_sender);
        }
    })
    .map_err(|e| watch_error(&e.to_string()))?;
    watcher.watch(&dir, RecursiveMode::NonRecursive).map_err(|e| watch_error(&e.to_string()))?;
    let thread = std::thread::Builder::new()
        .name("servers-file".to_owned())
        .spawn(move || run(&path, &known_content, &changes, &*on_change))
        .map_err(StoreError::io(message!("error.store.fileUnwatched")))?;
    Ok(WatchGuard { watcher: Some(watcher), thread: Some(thread) })
}

fn notify_change(change_sender: &SyncSender<()>) {
    match change_sender.try_send(()) {
        // A signal that is still queued also covers this one.
        Ok(()) | Err(TrySendError::Full(()) | TrySendError::Disconnected(())) => {}
    }
}

fn run(
    path: &Path,
    known_content: &KnownContent,
    changes: &Receiver<()>,
    on_change: &(dyn Fn() + Send + Sync),
) {
    while changes.recv().is_ok() {
        loop {
            match changes.recv_timeout(DEBOUNCE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        if known_content.detect_change(path) {
            on_change();
        }
    }
}

fn watch_error(why: &str) -> StoreError {
    StoreError::Config(
        UserError::new(ErrorCode::Storage, message!("error.store.fileUnwatched"))
            .with_cause(format!("{why}."))
            .with_hint(message!("error.store.fileUnwatchedHint")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_that_another_program_wrote_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        let write = |content: &str| std::fs::write(&path, content);
        let known = KnownContent::default();
        known.set_if_unknown(None);
        assert!(!known.detect_change(&path), "no file, as before");
        known.record_own_write(Some(b"{}"), || write("{}")).unwrap();
        assert!(!known.detect_change(&path), "our own write");
        write("{}").unwrap();
        assert!(!known.detect_change(&path), "a touch without a change");
        write("{ }").unwrap();
        assert!(known.detect_change(&path));
        assert!(!known.detect_change(&path), "each change is reported once");
        std::fs::remove_file(&path).unwrap();
        assert!(known.detect_change(&path), "the file is gone");
        known.record_own_write(Some(b"{}"), || Err("no room")).unwrap_err();
        write("{}").unwrap();
        assert!(known.detect_change(&path), "a write of ours that failed is not known");
    }
}
