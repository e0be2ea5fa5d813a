//! Asks the client of a session for its roots, and narrows what the session sees by them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_tools::CatalogViewKey;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::{OpenRequest, Session};
use crate::session::changed_lists::ChangedLists;

/// How long a client may take to say its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(30);

/// The requests for the roots of one session: one is pending, and one more may wait.
pub(crate) struct RootsRequests {
    pub(crate) slots: Semaphore,
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl Default for RootsRequests {
    fn default() -> Self {
        Self { slots: Semaphore::new(2), turn: tokio::sync::Mutex::default() }
    }
}

impl Session {
    /// Asks on the GET stream. The result of `roots/list`; `None` if there is no stream, or the client doesn't answer.
    pub(crate) async fn request_roots(&self) -> Option<Box<RawValue>> {
        let log = self.notification_stream()?;
        let OpenRequest { id, response } = self.open_request()?;
        let text = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"roots/list"}}"#);
        log.push(std::iter::once(text.as_bytes()));
        let answer = tokio::select! {
            response = response => response.ok(),
            () = tokio::time::sleep(ROOTS_TIMEOUT) => None,
            () = self.ended.cancelled() => None,
        };
        self.withdraw_request(&id);
        answer?.ok()
    }

    pub(crate) fn set_roots(&self, roots: Vec<Arc<Path>>) {
        self.narrowing.lock().roots = roots;
    }

    /// Tells the client that all lists changed, if it sees something else of the catalog now.
    pub(crate) fn update_view(&self, view: CatalogViewKey) {
        let before = std::mem::replace(&mut *self.view.lock(), view.clone());
        if before != view {
            self.notify_lists_changed(ChangedLists::ALL);
        }
    }
}
