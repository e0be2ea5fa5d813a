//! The approval requests about servers of projects that are pending. Each is made once, however many bridges work in the
//! project, and is withdrawn when the project's file says something else. None outlives Gatehouse.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProjectRequest {
    /// The project folder.
    pub(crate) folder: String,
    /// Name of the server in the project's file.
    pub(crate) name: String,
    /// Digest of its entry.
    pub(crate) digest: String,
}

type ProjectRequestTokens = Arc<Mutex<HashMap<ProjectRequest, CancellationToken>>>;

/// The pending requests, and the work on project files.
#[derive(Default)]
pub(crate) struct ProjectRequests {
    pending: ProjectRequestTokens,
    cancel: CancellationToken,
    tasks: TaskTracker,
}

/// A pending request. Dropping it ends it.
pub(crate) struct PendingProjectRequest {
    pending: ProjectRequestTokens,
    request: ProjectRequest,
    /// Cancelled when the request is withdrawn.
    pub(crate) withdrawn: CancellationToken,
}

impl Drop for PendingProjectRequest {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.request);
    }
}

impl ProjectRequests {
    /// Adds a request; `None` if it is pending already.
    pub(crate) fn add(&self, request: ProjectRequest) -> Option<PendingProjectRequest> {
        let mut pending = self.pending.lock();
        if pending.contains_key(&request) {
            return None;
        }
        let withdrawn = self.cancel.child_token();
        pending.insert(request.clone(), withdrawn.clone());
        Some(PendingProjectRequest { pending: Arc::clone(&self.pending), request, withdrawn })
    }

    /// Withdraws the requests about a folder that are not `wanted` any more.
    pub(crate) fn withdraw_others(&self, folder: &str, is_wanted: impl Fn(&ProjectRequest) -> bool) {
        for (request, withdrawn) in self.pending.lock().iter() {
            if request.folder == folder && !is_wanted(request) {
                withdrawn.cancel();
            }
        }
    }

    /// Runs work until it is done, or Gatehouse ends.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let cancel = self.cancel.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = work => {}
            }
        });
    }

    pub(crate) async fn shutdown(&self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
