//! Updates of the application (UI-9): looked for, downloaded and installed when the user says so, and never otherwise.
//! Where they come from and whose signature counts is built into the program, so no setting and no other program of the
//! user can point it elsewhere. A build without both has no updates of its own.

use std::sync::Arc;

use gatehouse_model::{BoxFuture, ErrorCode, Message, UserError, message};
use parking_lot::Mutex;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

/// Most bytes of an update.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Is told how many bytes were received, and of how many if that is known.
pub type UpdateProgress = Box<dyn FnMut(u64, Option<u64>) + Send>;

/// The toolkit's side of updates.
pub trait UpdateSource: Send + Sync {
    /// Whether the program knows where its updates come from, and whose signature counts.
    fn has_updates(&self) -> bool;

    /// Looks for a newer release; its version if there is one.
    fn find_update(&self) -> BoxFuture<'_, Result<Option<String>, String>>;

    /// Downloads the release that was found last, verifies its signature and installs it. Dropping this ends the
    /// download.
    fn install_update(&self, on_progress: UpdateProgress) -> BoxFuture<'_, Result<(), String>>;
}

/// Where an update is in its course, for the page.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum UpdateStatus {
    /// Updates come from where the program was installed.
    Unavailable,
    /// Nothing was looked for yet, or the user cancelled.
    Idle,
    Checking,
    UpToDate,
    Available {
        version: String,
    },
    Downloading {
        version: String,
        /// Bytes so far.
        received: u64,
        /// Bytes in all, if known.
        total: Option<u64>,
    },
    /// It counts from the next start on.
    Installed {
        version: String,
    },
    Failed {
        error: UserError,
    },
}

/// The course of the update. One thing happens at a time.
#[derive(Clone)]
pub(crate) struct Updates {
    source: Arc<dyn UpdateSource>,
    status: Arc<Mutex<UpdateStatus>>,
    cancel: Arc<Mutex<CancellationToken>>,
}

impl Updates {
    pub(crate) fn new(source: Arc<dyn UpdateSource>) -> Self {
        let status = if source.has_updates() { UpdateStatus::Idle } else { UpdateStatus::Unavailable };
        Self { source, status: Arc::new(Mutex::new(status)), cancel: Arc::default() }
    }

    pub(crate) fn status(&self) -> UpdateStatus {
        self.status.lock().clone()
    }

    /// Looks for a newer release.
    pub(crate) async fn check(&self) -> UpdateStatus {
        let Some(cancel) = self.begin(|status| match status {
            UpdateStatus::Unavailable | UpdateStatus::Checking | UpdateStatus::Downloading { .. } => None,
            _ => Some(UpdateStatus::Checking),
        }) else {
            return self.status();
        };
        let found = tokio::select! {
            () = cancel.cancelled() => UpdateStatus::Idle,
            found = self.source.find_update() => match found {
                Ok(None) => UpdateStatus::UpToDate,
                Ok(Some(version)) => UpdateStatus::Available { version },
                Err(reason) => failed(message!("error.desktop.updateUnchecked"), reason),
            },
        };
        self.end(found)
    }

    /// Downloads, verifies and installs the release that was found.
    pub(crate) async fn install(&self) -> UpdateStatus {
        let Some(cancel) = self.begin(|status| match status {
            UpdateStatus::Available { version } => {
                Some(UpdateStatus::Downloading { version: version.clone(), received: 0, total: None })
            }
            _ => None,
        }) else {
            return self.status();
        };
        let UpdateStatus::Downloading { version, .. } = self.status() else { return self.status() };
        let (status, too_large) = (Arc::clone(&self.status), cancel.clone());
        let on_progress: UpdateProgress = Box::new(move |now, of| {
            if now > MAX_BYTES || of.is_some_and(|of| of > MAX_BYTES) {
                too_large.cancel();
            }
            if let UpdateStatus::Downloading { received, total, .. } = &mut *status.lock() {
                (*received, *total) = (now, of);
            }
        });
        let installed = tokio::select! {
            biased;
            () = cancel.cancelled() => UpdateStatus::Available { version },
            done = self.source.install_update(on_progress) => match done {
                Ok(()) => UpdateStatus::Installed { version },
                Err(reason) => failed(message!("error.desktop.updateUninstalled"), reason),
            },
        };
        self.end(installed)
    }

    /// Ends the check or the download.
    pub(crate) fn cancel(&self) {
        self.cancel.lock().cancel();
    }

    /// Goes to the next state if `next` allows it; what cancels it.
    fn begin(&self, next: impl FnOnce(&UpdateStatus) -> Option<UpdateStatus>) -> Option<CancellationToken> {
        let mut status = self.status.lock();
        *status = next(&status)?;
        let cancel = CancellationToken::new();
        *self.cancel.lock() = cancel.clone();
        Some(cancel)
    }

    fn end(&self, status: UpdateStatus) -> UpdateStatus {
        self.status.lock().clone_from(&status);
        status
    }
}

fn failed(what: Message, reason: String) -> UpdateStatus {
    tracing::warn!(reason, "the update failed");
    let error = UserError::new(ErrorCode::Internal, what)
        .with_cause(format!("{reason}."))
        .with_hint(message!("error.desktop.updateHint"));
    UpdateStatus::Failed { error }
}
