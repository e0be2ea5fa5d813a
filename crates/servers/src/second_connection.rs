//! The place of a server's second connection, which its handles and the task that keeps it share.
//!
//! A remote server that speaks both families of revisions has a stateless main connection. Calls of clients of the
//! older revisions go over a second one of their own family, because only there can such a server send requests of
//! its own while it works on a call. The second connection is opened for the first call that needs it
//! (`actor/second_connection_task.rs`). It is never part of the server's status, and lists, subscriptions and changes
//! stay with the main one. Nothing here connects.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_mcp_client::ServerConnection;
use gatehouse_mcp_client::lists::Declared;
use gatehouse_mcp_wire::ProtocolFamily;
use gatehouse_model::server::ProtocolVersionSetting;
use gatehouse_model::{ServerConfig, Transport};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

/// How long it stays open without a call. What a server keeps for a session, it may forget at any time.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How long no further attempt is made after one that failed and may succeed later.
const AFTER_FAILURE: Duration = Duration::from_secs(60);
/// Requests to open it that are queued. More callers wait for room.
const QUEUE: usize = 16;

/// The place of a second connection. Exists as long as the main connection.
pub(crate) struct SecondConnection {
    state: Mutex<SecondState>,
    /// Requests to open it; each is dropped after one attempt.
    wanted: mpsc::Sender<oneshot::Sender<()>>,
}

#[derive(Default)]
enum SecondState {
    /// Not open; the next call that needs it opens it.
    #[default]
    Closed,
    Open(Arc<OpenSecond>),
    /// The last attempt failed; there is none before this time.
    FailedUntil(Instant),
    /// The server doesn't speak the older revisions.
    Refused,
}

/// An open second connection.
pub(crate) struct OpenSecond {
    pub(crate) connection: Arc<dyn ServerConnection>,
    pub(crate) declared: Declared,
    /// Notified when a call failed in a way that suggests that the connection is broken.
    pub(crate) suspect: Notify,
    usage: Mutex<SecondUsage>,
}

struct SecondUsage {
    in_flight: usize,
    last: Instant,
    /// Set when it is about to be closed; no call may begin on it.
    is_over: bool,
}

/// Which connection a call is sent over.
pub(crate) enum CallRoute {
    Main,
    Second(SecondUse),
    /// The second one, which has to be opened first.
    Unopened,
}

/// A call in flight on a second connection. Dropping it ends the use.
pub(crate) struct SecondUse(Arc<OpenSecond>);

/// Whether a server with these settings may have a second connection beside a main one of this family.
pub(crate) fn may_have_second(config: &ServerConfig, main: ProtocolFamily) -> bool {
    main == ProtocolFamily::Stateless
        && config.protocol_version == ProtocolVersionSetting::Auto
        && match config.transport {
            Transport::Auto(_) | Transport::Http(_) | Transport::Ws(_) => true,
            // A second process would have a state of its own.
            Transport::Stdio { .. } | Transport::Sse(_) | Transport::Builtin { .. } => false,
        }
}

impl SecondConnection {
    /// The place, and the requests to open a connection.
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<oneshot::Sender<()>>) {
        let (wanted, requests) = mpsc::channel(QUEUE);
        (Arc::new(Self { state: Mutex::default(), wanted }), requests)
    }

    /// The connection for a call that belongs on it. One that could not be opened is replaced by the main one.
    pub(crate) fn route(&self) -> CallRoute {
        match &*self.state.lock() {
            SecondState::Open(open) => match OpenSecond::begin(open) {
                Some(begun) => CallRoute::Second(begun),
                None => CallRoute::Unopened,
            },
            SecondState::FailedUntil(until) if *until > Instant::now() => CallRoute::Main,
            SecondState::Refused => CallRoute::Main,
            SecondState::Closed | SecondState::FailedUntil(_) => CallRoute::Unopened,
        }
    }

    /// Waits for one attempt to open it, if there is to be one. `true` if it had to wait.
    pub(crate) async fn open(&self) -> bool {
        if !matches!(self.route(), CallRoute::Unopened) {
            return false;
        }
        let (settled, wait) = oneshot::channel();
        if self.wanted.send(settled).await.is_ok() && wait.await.is_err() {
            tracing::trace!("the attempt to open a second connection has ended");
        }
        true
    }

    /// The open connection.
    pub(crate) fn current(&self) -> Option<Arc<OpenSecond>> {
        match &*self.state.lock() {
            SecondState::Open(open) => Some(Arc::clone(open)),
            SecondState::Closed | SecondState::FailedUntil(_) | SecondState::Refused => None,
        }
    }

    pub(crate) fn publish(&self, connection: Arc<dyn ServerConnection>) -> Arc<OpenSecond> {
        let declared = Declared::read(&connection.handshake().capabilities);
        let usage = Mutex::new(SecondUsage { in_flight: 0, last: Instant::now(), is_over: false });
        let open = Arc::new(OpenSecond { connection, declared, suspect: Notify::new(), usage });
        *self.state.lock() = SecondState::Open(Arc::clone(&open));
        open
    }

    /// The server doesn't speak the older revisions: there is no further attempt.
    pub(crate) fn refuse(&self) {
        *self.state.lock() = SecondState::Refused;
    }

    /// An attempt failed. Calls use the main connection for a while.
    pub(crate) fn fail(&self) {
        *self.state.lock() = SecondState::FailedUntil(Instant::now() + AFTER_FAILURE);
    }

    /// The connection is given up: the next call opens another one.
    pub(crate) fn discard(&self, given_up: &OpenSecond) {
        given_up.usage.lock().is_over = true;
        let mut state = self.state.lock();
        if matches!(&*state, SecondState::Open(open) if std::ptr::eq(&raw const **open, given_up)) {
            *state = SecondState::Closed;
        }
    }
}

impl OpenSecond {
    fn begin(open: &Arc<Self>) -> Option<SecondUse> {
        let mut usage = open.usage.lock();
        if usage.is_over {
            return None;
        }
        usage.in_flight += 1;
        Some(SecondUse(Arc::clone(open)))
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.usage.lock().in_flight > 0
    }

    /// When it will have been idle for long enough to be closed, if no call comes.
    pub(crate) fn idle_at(&self) -> Instant {
        let usage = self.usage.lock();
        let since = if usage.in_flight > 0 { Instant::now() } else { usage.last };
        since + IDLE
    }

    /// Ends its use if it has been idle for long enough. `true` if it is to be closed.
    pub(crate) fn end_if_idle(&self) -> bool {
        let mut usage = self.usage.lock();
        usage.is_over |= usage.in_flight == 0 && usage.last + IDLE <= Instant::now();
        usage.is_over
    }
}

impl std::ops::Deref for SecondUse {
    type Target = Arc<OpenSecond>;

    fn deref(&self) -> &Arc<OpenSecond> {
        &self.0
    }
}

impl Drop for SecondUse {
    fn drop(&mut self) {
        let mut usage = self.0.usage.lock();
        usage.in_flight -= 1;
        usage.last = Instant::now();
    }
}
