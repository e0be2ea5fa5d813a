//! What is in memory of one server's sign-in: what the server last said, what waits, and a copy of
//! what is kept.

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

/// One server's.
pub(crate) struct Slot {
    /// Held while a sign-in begins.
    pub(crate) beginning: tokio::sync::Mutex<()>,
    /// Held while tokens are renewed or written.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    /// Held while the user is asked for more rights.
    pub(crate) stepping: tokio::sync::Mutex<StepUps>,
    /// Held while the state is told, so that the last that is told is the last that was.
    pub(crate) telling: tokio::sync::Mutex<()>,
    /// Hears of the end of each attempt.
    pub(crate) attempts: watch::Sender<u64>,
    now: Mutex<Now>,
}

/// What changes.
#[derive(Default)]
pub(crate) struct Now {
    /// What the server last said when it refused.
    pub(crate) challenge: Challenge,
    /// Scopes that a call lacked.
    pub(crate) wanted: Vec<String>,
    /// Gives up the attempt that is being prepared.
    pub(crate) preparing: Option<CancellationToken>,
    /// The attempt that waits for the browser.
    pub(crate) attempt: Option<Attempt>,
    /// Closes the listener of the last attempt, and says when it is closed.
    pub(crate) listener: Option<(CancellationToken, CancellationToken)>,
    /// Why the last attempt came to nothing.
    pub(crate) problem: Option<Problem>,
    /// What is kept.
    pub(crate) copy: Option<Copy>,
    /// An access token that the server does not take.
    pub(crate) rejected: Option<Secret>,
    /// How many questions for more rights were answered.
    pub(crate) questions: u64,
    /// Until when renewing is not tried, since it just failed.
    pub(crate) rest_until: Option<Instant>,
}

/// A copy of what is kept, for one server as it was.
#[derive(Clone)]
pub(crate) struct Copy {
    of: ServerBinding,
    sign_in: Option<Arc<SignIn>>,
}

/// An attempt that waits for the browser.
#[derive(Clone)]
pub(crate) struct Attempt {
    /// Host of the page that the user signs in at.
    pub(crate) host: String,
    /// When it ends by itself.
    pub(crate) until: Timestamp,
    /// Where the answer is handed in.
    pub(crate) desk: Arc<Desk>,
    /// Gives it up.
    pub(crate) cancel: CancellationToken,
    /// Its listener is gone.
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
    /// Looks at or changes what is now. Never held across an await.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Now) -> T) -> T {
        look(&mut self.now.lock())
    }

    /// The copy of what is kept for this server as it is: `None` when there is no copy.
    pub(crate) fn copy(&self, server: &ServerConfig) -> Option<Option<Arc<SignIn>>> {
        let copy = self.now.lock().copy.clone()?;
        (copy.of == server.binding()).then_some(copy.sign_in)
    }

    /// Keeps a copy.
    pub(crate) fn set_copy(&self, server: &ServerConfig, sign_in: Option<Arc<SignIn>>) {
        self.now.lock().copy = Some(Copy { of: server.binding(), sign_in });
    }

    /// Gives up what waits, and returns when nothing listens any more.
    pub(crate) async fn give_up(&self) {
        let listener = self.now.lock().listener.take();
        if let Some((cancel, ended)) = listener {
            cancel.cancel();
            ended.cancelled().await;
        }
    }
}
