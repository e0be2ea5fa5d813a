//! In-memory sign-in state of one server: the last challenge, what is shown to the user, and a copy of the
//! stored sign-in.

use std::sync::Arc;

use gatehouse_model::{Secret, ServerBinding, ServerConfig, Timestamp, UserError};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::token_store::StoredSignIn;
use crate::discovery::www_authenticate::Challenge;

#[derive(Default)]
pub(crate) struct SessionState {
    /// Held while tokens are renewed or stored.
    pub(crate) refresh_lock: tokio::sync::Mutex<()>,
    /// Held while the state is emitted, so that the last event has the latest state.
    pub(crate) notify_lock: tokio::sync::Mutex<()>,
    data: Mutex<SessionData>,
}

/// The mutable state.
#[derive(Default)]
pub(crate) struct SessionData {
    /// The server's last challenge.
    pub(crate) challenge: Challenge,
    /// Scopes that a call lacked.
    pub(crate) wanted_scopes: Vec<String>,
    /// The login that waits for the browser.
    pub(crate) pending_login: Option<PendingLogin>,
    /// Error of the last attempt.
    pub(crate) error: Option<UserError>,
    /// Copy of the stored sign-in.
    cached: Option<CachedSignIn>,
    /// An access token that the server refused.
    pub(crate) rejected_token: Option<Secret>,
    /// Renewal isn't tried before this time, since it just failed.
    pub(crate) retry_after: Option<Instant>,
}

/// A login that waits for the browser, for display.
#[derive(Clone)]
pub(crate) struct PendingLogin {
    /// Host of the page at which the user signs in.
    pub(crate) host: String,
    /// Deadline.
    pub(crate) until: Timestamp,
}

/// A copy of the stored sign-in, for one identity of the server.
#[derive(Clone)]
struct CachedSignIn {
    of: ServerBinding,
    sign_in: Option<Arc<StoredSignIn>>,
}

impl SessionState {
    /// Reads or changes the state. The lock is never held across an await.
    pub(crate) fn with<T>(&self, access: impl FnOnce(&mut SessionData) -> T) -> T {
        access(&mut self.data.lock())
    }

    /// The copy for the server's current identity; `None` if there is no copy.
    pub(crate) fn cached(&self, server: &ServerConfig) -> Option<Option<Arc<StoredSignIn>>> {
        let cached = self.data.lock().cached.clone()?;
        (cached.of == server.binding()).then_some(cached.sign_in)
    }

    pub(crate) fn set_cached(&self, server: &ServerConfig, sign_in: Option<Arc<StoredSignIn>>) {
        self.data.lock().cached = Some(CachedSignIn { of: server.binding(), sign_in });
    }
}
