//! In-memory sign-in state of one server: the last challenge, the pending attempt, and a copy of the stored
//! sign-in.

use std::sync::Arc;

use gatehouse_model::{Secret, ServerBinding, ServerConfig, Timestamp, UserError};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::callback::CallbackReceiver;
use crate::step_up::StepUpHistory;
use crate::token_store::StoredSignIn;
use crate::www_authenticate::Challenge;

pub(crate) struct SessionState {
    /// Held while a sign-in is being started.
    pub(crate) begin_lock: tokio::sync::Mutex<()>,
    /// Held while tokens are renewed or stored.
    pub(crate) refresh_lock: tokio::sync::Mutex<()>,
    /// Held while a scope upgrade request is pending.
    pub(crate) step_up_lock: tokio::sync::Mutex<StepUpHistory>,
    /// Held while the state is emitted, so that the last event has the latest state.
    pub(crate) notify_lock: tokio::sync::Mutex<()>,
    /// Changes at the end of each attempt.
    pub(crate) attempts: watch::Sender<u64>,
    now: Mutex<SessionData>,
}

/// The mutable state.
#[derive(Default)]
pub(crate) struct SessionData {
    /// The server's last challenge.
    pub(crate) challenge: Challenge,
    /// Scopes that a call lacked.
    pub(crate) wanted_scopes: Vec<String>,
    /// Cancels the attempt that is being prepared.
    pub(crate) preparation_cancel: Option<CancellationToken>,
    /// The attempt that waits for the browser.
    pub(crate) attempt: Option<Attempt>,
    /// Cancellation tokens of the last attempt: the first ends its listener, the second is cancelled once the
    /// listener is closed.
    pub(crate) listener: Option<(CancellationToken, CancellationToken)>,
    /// Error of the last attempt.
    pub(crate) problem: Option<UserError>,
    /// Copy of the stored sign-in.
    pub(crate) cached: Option<CachedSignIn>,
    /// An access token that the server refused.
    pub(crate) rejected_token: Option<Secret>,
    /// Number of scope upgrade requests that were answered.
    pub(crate) answered_prompts: u64,
    /// Renewal isn't tried before this time, since it just failed.
    pub(crate) retry_after: Option<Instant>,
}

/// A copy of the stored sign-in, for one identity of the server.
#[derive(Clone)]
pub(crate) struct CachedSignIn {
    of: ServerBinding,
    sign_in: Option<Arc<StoredSignIn>>,
}

/// An attempt that waits for the browser.
#[derive(Clone)]
pub(crate) struct Attempt {
    /// Host of the page at which the user signs in, for display.
    pub(crate) host: String,
    /// Deadline.
    pub(crate) until: Timestamp,
    /// Receives the response.
    pub(crate) callback: Arc<CallbackReceiver>,
    /// Cancels the attempt.
    pub(crate) cancel: CancellationToken,
    /// Cancelled once its listener is closed.
    pub(crate) ended: CancellationToken,
}

impl Default for SessionState {
    fn default() -> Self {
        Self {
            begin_lock: tokio::sync::Mutex::default(),
            refresh_lock: tokio::sync::Mutex::default(),
            step_up_lock: tokio::sync::Mutex::default(),
            notify_lock: tokio::sync::Mutex::default(),
            attempts: watch::Sender::new(0),
            now: Mutex::default(),
        }
    }
}

impl SessionState {
    /// Reads or changes the state. The lock is never held across an await.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut SessionData) -> T) -> T {
        look(&mut self.now.lock())
    }

    /// The copy for the server's current identity; `None` if there is no copy.
    pub(crate) fn cached(&self, server: &ServerConfig) -> Option<Option<Arc<StoredSignIn>>> {
        let cached = self.now.lock().cached.clone()?;
        (cached.of == server.binding()).then_some(cached.sign_in)
    }

    pub(crate) fn set_cached(&self, server: &ServerConfig, sign_in: Option<Arc<StoredSignIn>>) {
        self.now.lock().cached = Some(CachedSignIn { of: server.binding(), sign_in });
    }

    /// Cancels the pending attempt, and returns when its listener is closed.
    pub(crate) async fn cancel_attempt(&self) {
        let listener = self.now.lock().listener.take();
        if let Some((cancel, ended)) = listener {
            cancel.cancel();
            ended.cancelled().await;
        }
    }
}
