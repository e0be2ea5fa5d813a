//! Login attempts: at most one per server. Each that waits for the browser runs in a task of its own with its
//! own loopback listener, and a newer attempt replaces an older one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ErrorCode, OpenUrl, ServerConfig, ServerId, UserError, message};
use parking_lot::Mutex;
use tokio::sync::{MutexGuard, broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::authorization_url::{AuthorizationContext, CallbackError, PendingAuthorization};
use super::callback::CallbackReceiver;
use super::listener::LoopbackListener;
use crate::background_tasks::BackgroundTasks;
use crate::error::AuthError;
use crate::grants::grant_request::GrantRequest;
use crate::grants::token_endpoint::TokenResponse;
use crate::http_client::host;
use crate::oauth_error::GrantError;
use crate::session::session_state::PendingLogin;
use crate::session::sessions::SignInSessions;

/// Capacity of the channel that announces sign-ins. A receiver that lags behind has to read all states again.
const SUBSCRIBER_CAPACITY: usize = 64;

/// The attempts of all servers.
pub(crate) struct Attempts {
    pub(crate) sessions: Arc<SignInSessions>,
    browser: Arc<dyn OpenUrl>,
    signed_in: broadcast::Sender<ServerId>,
    tasks: BackgroundTasks,
    /// How long the user may take in the browser.
    deadline: Duration,
    /// Entries stay when a server is removed: an attempt that is just being started holds the lock in one.
    servers: Mutex<HashMap<ServerId, Arc<ServerAttempts>>>,
}

pub(crate) struct ServerAttempts {
    /// Held while an attempt is being started.
    start_lock: tokio::sync::Mutex<()>,
    /// Changes at the end of each attempt.
    ended: watch::Sender<u64>,
    current: Mutex<CurrentAttempt>,
}

#[derive(Default)]
struct CurrentAttempt {
    /// Cancels the attempt that is being prepared.
    preparation_cancel: Option<CancellationToken>,
    /// The attempt that waits for the browser.
    waiting: Option<Attempt>,
    /// The last attempt, whose listener may still be open.
    last: Option<Attempt>,
}

/// An attempt that waits for the browser.
#[derive(Clone)]
struct Attempt {
    /// Receives the response.
    callback: Arc<CallbackReceiver>,
    cancel: CancellationToken,
    /// Cancelled once its listener is closed.
    ended: CancellationToken,
}

/// An attempt that is being started. No other of this server is, until it is dropped.
pub(crate) struct StartingAttempt<'a> {
    _lock: MutexGuard<'a, ()>,
    /// Cancelled if the user gives up or a newer attempt replaces this one.
    pub(crate) cancel: CancellationToken,
}

/// How an attempt ended.
enum AttemptOutcome {
    SignedIn,
    /// Not shown as an error.
    Cancelled,
    Failed(UserError),
}

impl ServerAttempts {
    fn new() -> Self {
        Self {
            start_lock: tokio::sync::Mutex::default(),
            ended: watch::Sender::new(0),
            current: Mutex::default(),
        }
    }

    /// Cancels what the user waits for, without waiting for its end.
    pub(crate) fn cancel(&self) {
        let (preparation_cancel, waiting) = {
            let mut current = self.current.lock();
            (current.preparation_cancel.take(), current.waiting.clone())
        };
        if let Some(preparation_cancel) = preparation_cancel {
            preparation_cancel.cancel();
        }
        if let Some(waiting) = waiting {
            waiting.cancel.cancel();
        }
    }

    /// Ends the current attempt. No other starts until the result is dropped.
    pub(crate) async fn end(&self) -> MutexGuard<'_, ()> {
        let preparation_cancel = self.current.lock().preparation_cancel.take();
        if let Some(preparation_cancel) = preparation_cancel {
            preparation_cancel.cancel();
        }
        let lock = self.start_lock.lock().await;
        self.cancel_waiting().await;
        lock
    }

    /// Receives the response of the attempt that waits for the browser.
    pub(crate) fn callback(&self) -> Option<Arc<CallbackReceiver>> {
        self.current.lock().waiting.as_ref().map(|waiting| Arc::clone(&waiting.callback))
    }

    /// Cancels the attempt that waits for the browser, and returns when its listener is closed.
    async fn cancel_waiting(&self) {
        let last = self.current.lock().last.take();
        if let Some(last) = last {
            last.cancel.cancel();
            last.ended.cancelled().await;
        }
    }

    fn is_waiting(&self) -> bool {
        self.current.lock().waiting.is_some()
    }
}

impl Attempts {
    pub(crate) fn new(
        sessions: Arc<SignInSessions>,
        browser: Arc<dyn OpenUrl>,
        tasks: BackgroundTasks,
        deadline: Duration,
    ) -> Self {
        let signed_in = broadcast::Sender::new(SUBSCRIBER_CAPACITY);
        Self { sessions, browser, signed_in, tasks, deadline, servers: Mutex::default() }
    }

    pub(crate) fn of_server(&self, server: &ServerId) -> Arc<ServerAttempts> {
        let mut servers = self.servers.lock();
        Arc::clone(servers.entry(server.clone()).or_insert_with(|| Arc::new(ServerAttempts::new())))
    }

    /// Receives the id of each server that was signed in to.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<ServerId> {
        self.signed_in.subscribe()
    }

    /// Replaces any attempt of the server, also one that is still being prepared.
    pub(crate) async fn replace<'a>(&self, attempts: &'a ServerAttempts) -> StartingAttempt<'a> {
        let cancel = self.tasks.stop.child_token();
        let before = attempts.current.lock().preparation_cancel.replace(cancel.clone());
        if let Some(before) = before {
            before.cancel();
        }
        let lock = attempts.start_lock.lock().await;
        attempts.cancel_waiting().await;
        StartingAttempt { _lock: lock, cancel }
    }

    /// Starts a task that waits until the browser comes back to the listener, and returns the authorization URL to
    /// open. `on_response` stores the result.
    ///
    /// # Errors
    /// When the authorization server has no usable authorization endpoint; nothing was started then.
    pub(crate) fn start_waiting<F, D>(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        grant: GrantRequest,
        listener: LoopbackListener,
        on_response: F,
    ) -> Result<Url, AuthError>
    where
        F: FnOnce(
                Arc<SignInSessions>,
                Arc<ServerConfig>,
                AuthorizationContext,
                Result<TokenResponse, GrantError>,
            ) -> D
            + Send
            + 'static,
        D: Future<Output = Result<(), AuthError>> + Send,
    {
        let pending = PendingAuthorization::new(grant, listener)?;
        let address = pending.address.clone();
        let deadline = Instant::now() + self.deadline;
        let attempt = Attempt {
            callback: Arc::clone(&pending.callback),
            cancel: self.tasks.stop.child_token(),
            ended: CancellationToken::new(),
        };
        self.sessions.session_state(&server.id).with(|data| {
            data.pending_login =
                Some(PendingLogin { host: host(&address), until: self.sessions.now().plus(self.deadline) });
            data.error = None;
        });
        {
            let attempts = self.of_server(&server.id);
            let mut current = attempts.current.lock();
            current.waiting = Some(attempt.clone());
            current.last = Some(attempt.clone());
        }
        let (attempts, server) = (Arc::clone(self), Arc::clone(server));
        self.tasks.tracker.spawn(async move {
            // Marks the attempt as ended even if this task panics, so that nothing waits for it forever.
            let _ended = attempt.ended.clone().drop_guard();
            attempts.sessions.notify(&server).await;
            let on_response = |authorization, response| async {
                let (sessions, server_config) = (Arc::clone(&attempts.sessions), Arc::clone(&server));
                let outcome = on_response(sessions, server_config, authorization, response).await;
                let is_signed_in = outcome.is_ok();
                let outcome = match outcome {
                    Ok(()) => AttemptOutcome::SignedIn,
                    Err(error) => AttemptOutcome::Failed(error.into()),
                };
                attempts.finish(&server, outcome).await;
                is_signed_in
            };
            let clock = &*attempts.sessions.clock;
            match pending.run(deadline, &attempt.cancel, clock, on_response).await {
                Ok(()) => {}
                Err(CallbackError::Cancelled) => attempts.finish(&server, AttemptOutcome::Cancelled).await,
                Err(CallbackError::TimedOut) => {
                    attempts.finish(&server, AttemptOutcome::Failed(timed_out_error())).await
                }
            }
        });
        Ok(address)
    }

    /// Records the end of an attempt.
    async fn finish(&self, server: &ServerConfig, outcome: AttemptOutcome) {
        if let AttemptOutcome::Failed(error) = &outcome {
            self.sessions.record_failure(server, error).await;
        }
        let is_signed_in = matches!(outcome, AttemptOutcome::SignedIn);
        let error = match outcome {
            AttemptOutcome::SignedIn | AttemptOutcome::Cancelled => None,
            AttemptOutcome::Failed(error) => Some(error),
        };
        self.sessions.session_state(&server.id).with(|data| {
            data.pending_login = None;
            data.error = error;
        });
        let attempts = self.of_server(&server.id);
        attempts.current.lock().waiting = None;
        attempts.ended.send_modify(|count| *count = count.wrapping_add(1));
        if is_signed_in {
            self.announce_sign_in(server).await;
        } else {
            self.sessions.notify(server).await;
        }
    }

    /// Announces a successful sign-in.
    pub(crate) async fn announce_sign_in(&self, server: &ServerConfig) {
        self.sessions.notify(server).await;
        // Fails if there is no receiver, which is fine.
        drop(self.signed_in.send(server.id.clone()));
    }

    /// Opens the browser. A failure is only logged: the address can still be shown to the user.
    pub(crate) async fn open_browser(&self, server: &ServerConfig, address: &Url) {
        let (browser, address) = (Arc::clone(&self.browser), address.to_string());
        let opened = tokio::task::spawn_blocking(move || browser.open(&address)).await;
        if let Ok(Err(error)) = opened {
            tracing::warn!(server = %server.id, %error, "the browser could not be opened");
        }
    }

    /// Returns when no attempt waits for the browser; one attempt may replace another meanwhile.
    pub(crate) async fn wait_until_none(&self, server: &ServerId) {
        let attempts = self.of_server(server);
        let mut ended = attempts.ended.subscribe();
        loop {
            while attempts.is_waiting() {
                tokio::select! {
                    changed = ended.changed() => if changed.is_err() { return },
                    () = self.tasks.stop.cancelled() => return,
                }
            }
            let start_lock = attempts.start_lock.lock().await;
            if !attempts.is_waiting() {
                return;
            }
            drop(start_lock);
        }
    }
}

fn timed_out_error() -> UserError {
    UserError::new(ErrorCode::TimedOut, message!("error.auth.timedOut"))
        .with_hint(message!("error.auth.tryAgain"))
}
