//! In-memory sign-in state of one server: the last challenge, the pending attempt, and a copy of the stored
//! sign-in.

use std::sync::Arc;

use gatehouse_model::{Problem, Secret, ServerBinding, ServerConfig, Timestamp};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::callback::Desk;
use crate::challenge::Challenge;
use crate::kept::SignIn;
use crate::step_up::StepUps;

pub(crate) struct Slot {
    /// Held while a sign-in is being started.
    pub(crate) beginning: tokio::sync::Mutex<()>,
    /// Held while tokens are renewed or stored.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    /// Held while a scope upgrade request is pending.
    pub(crate) stepping: tokio::sync::Mutex<StepUps>,
    /// Held while the state is emitted, so that the last event has the latest state.
    pub(crate) telling: tokio::sync::Mutex<()>,
    /// Changes at the end of each attempt.
    pub(crate) attempts: watch::Sender<u64>,
    now: Mutex<Now>,
}

/// The mutable state.
#[derive(Default)]
pub(crate) struct Now {
    /// The server's last challenge.
    pub(crate) challenge: Challenge,
    /// Scopes that a call lacked.
    pub(crate) wanted: Vec<String>,
    /// Cancels the attempt that is being prepared.
    pub(crate) preparing: Option<CancellationToken>,
    /// The attempt that waits for the browser.
    pub(crate) attempt: Option<Attempt>,
    /// Cancellation tokens of the last attempt: the first ends its listener, the second is cancelled once the
    /// listener is closed.
    pub(crate) listener: Option<(CancellationToken, CancellationToken)>,
    /// Error of the last attempt.
    pub(crate) problem: Option<Problem>,
    /// Copy of the stored sign-in.
    pub(crate) copy: Option<Copy>,
    /// An access token that the server refused.
    pub(crate) rejected: Option<Secret>,
    /// Number of scope upgrade requests that were answered.
    pub(crate) questions: u64,
    /// Renewal isn't tried before this time, since it just failed.
    pub(crate) rest_until: Option<Instant>,
}

/// A copy of the stored sign-in, for one identity of the server.
#[derive(Clone)]
pub(crate) struct Copy {
    of: ServerBinding,
    sign_in: Option<Arc<SignIn>>,
}

/// An attempt that waits for the browser.
#[derive(Clone)]
pub(crate) struct Attempt {
    /// Host of the page at which the user signs in, for display.
    pub(crate) host: String,
    /// Deadline.
    pub(crate) until: Timestamp,
    /// Receives the response.
    pub(crate) desk: Arc<Desk>,
    /// Cancels the attempt.
    pub(crate) cancel: CancellationToken,
    /// Cancelled once its listener is closed.
    pub(crate) ended: CancellationToken,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            beginning: tokio::sync::Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            stepping: tokio::sync::Mutex::default(),
            telling: tokio::sync::Mutex::default(),
            attempts: watch::Sender::new(0),
            now: Mutex::default(),
        }
    }
}

impl Slot {
    /// Reads or changes the state. The lock is never held across an await.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Now) -> T) -> T {
        look(&mut self.now.lock())
    }

    /// The copy for the server's current identity; `None` if there is no copy.
    pub(crate) fn copy(&self, server: &ServerConfig) -> Option<Option<Arc<SignIn>>> {
        let copy = self.now.lock().copy.clone()?;
        (copy.of == server.binding()).then_some(copy.sign_in)
    }

    pub(crate) fn set_copy(&self, server: &ServerConfig, sign_in: Option<Arc<SignIn>>) {
        self.now.lock().copy = Some(Copy { of: server.binding(), sign_in });
    }

    /// Cancels the pending attempt, and returns when its listener is closed.
    pub(crate) async fn give_up(&self) {
        let listener = self.now.lock().listener.take();
        if let Some((cancel, ended)) = listener {
            cancel.cancel();
            ended.cancelled().await;
        }
    }
}
