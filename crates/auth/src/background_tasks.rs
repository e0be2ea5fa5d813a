//! The tasks of the sign-in, which shutdown cancels and waits for. Nothing here is spawned in another way.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tracks tasks. Clones share the same tasks.
#[derive(Clone, Default)]
pub(crate) struct BackgroundTasks {
    pub(crate) tracker: TaskTracker,
    /// Cancelled at shutdown.
    pub(crate) stop: CancellationToken,
}

impl BackgroundTasks {
    /// Cancels the tasks, and returns when all have ended.
    pub(crate) async fn shutdown(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
