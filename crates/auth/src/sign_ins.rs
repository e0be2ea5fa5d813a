//! The public interface of the sign-in, and the state that all sign-in methods share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::{AuditEvent, SignInOutcome};
use gatehouse_model::sign_in::{SignInStart, SignInState, SignOutResult};
use gatehouse_model::{
    AskUser, BoxFuture, ErrorCode, Event, Secret, ServerConfig, ServerId, Timestamp, UserError,
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::covers;
use crate::session_state::SessionState;
use crate::settings::SignInTarget;
use crate::token_store::{StoredSignIn, TokenStore};
use crate::{AuthError, AuthRecovery, AuthRejection, SignInDeps, TokenSource, renewal_lock};

/// How long the user may take in the browser.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(300);
/// Capacity of the channel that announces sign-ins. A receiver that lags behind has to read all states again.
const SUBSCRIBER_CAPACITY: usize = 64;

/// All sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct SignIns {
    shared: Arc<SignInsShared>,
}

/// State shared by the clones.
pub(crate) struct SignInsShared {
    pub(crate) deps: SignInDeps,
    pub(crate) token_store: TokenStore,
    pub(crate) client_metadata_url: Mutex<Option<String>>,
    /// Dropped at shutdown: the handler may hold a reference to this object, which would be a cycle.
    pub(crate) ask: Mutex<Option<Arc<dyn AskUser>>>,
    pub(crate) signed_in: broadcast::Sender<ServerId>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) deadline: Duration,
    slots: Mutex<HashMap<ServerId, Arc<SessionState>>>,
}

impl SignIns {
    /// Starts without pending sign-ins.
    #[must_use]
    pub fn new(deps: SignInDeps) -> Self {
        Self::with_deadline(deps, LOGIN_TIMEOUT)
    }

    /// As [`Self::new`], with another time limit for the browser.
    #[must_use]
    pub fn with_deadline(deps: SignInDeps, deadline: Duration) -> Self {
        let shared = SignInsShared {
            token_store: TokenStore::new(Arc::clone(&deps.secrets)),
            deps,
            client_metadata_url: Mutex::default(),
            ask: Mutex::default(),
            signed_in: broadcast::Sender::new(SUBSCRIBER_CAPACITY),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            deadline,
            slots: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets the handler for scope upgrade requests. Only the first call has an effect; without a handler
    /// every request is declined.
    pub fn set_approver(&self, ask: Arc<dyn AskUser>) {
        self.shared.ask.lock().get_or_insert(ask);
    }

    /// Sets the URL of the Client ID Metadata Document.
    pub fn set_client_document(&self, url: Option<String>) {
        *self.shared.client_metadata_url.lock() = url;
    }

    /// Starts to sign in. A pending sign-in for this server is cancelled. If the result contains no address,
    /// the sign-in is complete.
    ///
    /// # Errors
    /// When the sign-in can't be started; [`ErrorCode::NeedsClientRegistration`] if a client id is missing.
    pub async fn begin(&self, server: Arc<ServerConfig>, open: bool) -> Result<SignInStart, UserError> {
        self.shared.begin(server, open).await
    }

    /// Takes the address at which the browser ended up, as pasted by the user. Errors in the response itself
    /// are reported through the state, as for a response that reaches the listener.
    ///
    /// # Errors
    /// When no sign-in is pending, or the address doesn't belong to the pending one.
    pub fn paste(&self, server: &ServerId, address: &str) -> Result<(), UserError> {
        let attempt = self.shared.session_state(server).with(|now| now.attempt.clone());
        let attempt = attempt.ok_or_else(|| {
            UserError::new(ErrorCode::NotFound, "No sign-in waits for an address.")
                .with_hint("Begin to sign in first.")
        })?;
        attempt.callback.take_pasted_url(address).map_err(|_| {
            UserError::new(ErrorCode::BadRequest, "This is not the address that the sign-in waits for.")
                .with_hint("Copy the whole address that the browser ended at, from the last attempt.")
        })
    }

    /// Cancels a pending sign-in.
    pub fn cancel(&self, server: &ServerId) {
        let (preparation_cancel, attempt) = self
            .shared
            .session_state(server)
            .with(|now| (now.preparation_cancel.take(), now.attempt.clone()));
        if let Some(preparation_cancel) = preparation_cancel {
            preparation_cancel.cancel();
        }
        if let Some(attempt) = attempt {
            attempt.cancel.cancel();
        }
    }

    /// Signs out: deletes the tokens, and revokes them if the server supports it.
    ///
    /// # Errors
    /// When the secret store refuses, or another process holds the renewal lock for too long. Also when the audit
    /// entry can't be written; the user is signed out all the same then.
    pub async fn sign_out(&self, server: Arc<ServerConfig>) -> Result<SignOutResult, UserError> {
        Ok(self.shared.sign_out(&server).await?)
    }

    /// The current sign-in state of a server.
    pub async fn state(&self, server: Arc<ServerConfig>) -> SignInState {
        self.shared.state(&server).await
    }

    /// Deletes all sign-in data of a server that was removed, or of the server as it was before an edit.
    pub async fn forget(&self, server: &ServerConfig) {
        self.shared.forget(server).await;
    }

    /// Takes an id token of the company's identity provider that the user already has, so that no further
    /// sign-in is needed.
    ///
    /// # Errors
    /// When the settings name no identity provider, the token isn't from it or not for this client, or the
    /// secret store refuses.
    pub async fn adopt_id_token(&self, server: &ServerConfig, id_token: Secret) -> Result<(), UserError> {
        Ok(self.shared.adopt_id_token(server, id_token).await?)
    }

    /// Receives the id of each server that was signed in to.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<ServerId> {
        self.shared.signed_in.subscribe()
    }

    /// Cancels pending sign-ins, and returns when all tasks have ended.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        drop(self.shared.ask.lock().take());
    }
}

impl TokenSource for SignIns {
    fn bearer<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(self.shared.bearer(server))
    }

    fn recover<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> BoxFuture<'a, Result<AuthRecovery, AuthError>> {
        Box::pin(self.shared.recover(server, rejection))
    }
}

impl SignInsShared {
    /// In-memory state of a server.
    pub(crate) fn session_state(&self, server: &ServerId) -> Arc<SessionState> {
        Arc::clone(self.slots.lock().entry(server.clone()).or_default())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    /// The stored sign-in, from the in-memory copy if there is one.
    pub(crate) async fn cached_sign_in(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
    ) -> Result<Option<Arc<StoredSignIn>>, AuthError> {
        match session_state.cached(server) {
            Some(cached) => Ok(cached),
            None => self.load_sign_in(server, session_state).await,
        }
    }

    /// The stored sign-in, from the secret store. One for another resource counts as absent.
    pub(crate) async fn load_sign_in(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
    ) -> Result<Option<Arc<StoredSignIn>>, AuthError> {
        let Ok(target) = SignInTarget::of(server) else { return Ok(None) };
        let url = target.url()?;
        let stored = self.token_store.get::<StoredSignIn>(server).await?;
        let stored = stored.filter(|stored| covers(&stored.resource, &url)).map(Arc::new);
        session_state.set_cached(server, stored.clone());
        Ok(stored)
    }

    /// Stores a sign-in. The in-memory copy is updated only after that.
    pub(crate) async fn store_sign_in(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        sign_in: StoredSignIn,
    ) -> Result<(), AuthError> {
        self.token_store.set(server, &sign_in).await?;
        session_state.set_cached(server, Some(Arc::new(sign_in)));
        Ok(())
    }

    /// Stores a new sign-in, or the first token of a client. Excludes concurrent renewals.
    pub(crate) async fn store_new_sign_in(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        sign_in: StoredSignIn,
    ) -> Result<(), AuthError> {
        let _one = session_state.refresh_lock.lock().await;
        let _alone = renewal_lock::acquire(&self.deps.data_dir, &server.id).await?;
        // A sign-in without an audit entry doesn't take effect.
        self.record(server, SignInOutcome::SignedIn, Some(&sign_in)).await.map_err(AuthError::Refused)?;
        self.store_sign_in(server, session_state, sign_in).await?;
        session_state.with(|now| {
            now.problem = None;
            now.rejected_token = None;
            now.retry_after = None;
            now.wanted_scopes.clear();
        });
        Ok(())
    }

    /// Writes an audit entry about a server's sign-in. It contains the account and the issuer, and nothing
    /// secret.
    ///
    /// # Errors
    /// When it can't be written. What would be permitted by it must not take effect then.
    pub(crate) async fn record(
        &self,
        server: &ServerConfig,
        what: SignInOutcome,
        sign_in: Option<&StoredSignIn>,
    ) -> Result<(), UserError> {
        let event = AuditEvent::SignIn {
            server: server.id.clone(),
            what,
            issuer: sign_in.map(|sign_in| sign_in.issuer.clone()),
            account: sign_in.and_then(|sign_in| sign_in.account.clone()),
            reason: None,
        };
        self.deps.audit.append(event).await
    }

    /// Writes a failed attempt to the audit. Only the error code is recorded, since the texts may repeat what
    /// the authorization server sent.
    pub(crate) async fn record_failure(&self, server: &ServerConfig, problem: &UserError) {
        let event = AuditEvent::SignIn {
            server: server.id.clone(),
            what: SignInOutcome::Failed,
            issuer: None,
            account: None,
            reason: Some(problem.code),
        };
        if let Err(problem) = self.deps.audit.append(event).await {
            tracing::error!(server = %server.id, %problem, "a failed sign-in is missing in the audit");
        }
    }

    /// The current state. If the stored sign-in can't be read, the state is signed out with that error.
    pub(crate) async fn state(&self, server: &ServerConfig) -> SignInState {
        let session_state = self.session_state(&server.id);
        let waiting = session_state.with(|now| {
            now.attempt
                .as_ref()
                .map(|attempt| SignInState::Waiting { host: attempt.host.clone(), until: attempt.until })
        });
        if let Some(waiting) = waiting {
            return waiting;
        }
        let stored = match self.cached_sign_in(server, &session_state).await {
            Ok(stored) => stored,
            Err(error) => return SignInState::Out { problem: Some(error.into()) },
        };
        let (problem, rejected_token) =
            session_state.with(|now| (now.problem.clone(), now.rejected_token.clone()));
        let Some((stored, tokens)) =
            stored.as_ref().and_then(|stored| Some((stored, stored.tokens.as_ref()?)))
        else {
            return SignInState::Out { problem };
        };
        let renews = tokens.refresh.is_some() || self.is_non_interactive(server);
        if rejected_token.as_ref() == Some(&tokens.access) || !(renews || tokens.is_valid(self.now())) {
            let over = || {
                UserError::new(ErrorCode::Refused, "The sign-in is not valid any more.")
                    .with_hint("Sign in again.")
            };
            return SignInState::Out { problem: Some(problem.unwrap_or_else(over)) };
        }
        SignInState::In {
            account: stored.account.clone(),
            issuer: stored.issuer.clone(),
            scopes: tokens.scopes.clone(),
            expires: tokens.expires(),
            renews,
        }
    }

    /// Emits the current state as an event.
    pub(crate) async fn notify(&self, server: &ServerConfig) {
        let session_state = self.session_state(&server.id);
        let _one = session_state.notify_lock.lock().await;
        let sign_in = self.state(server).await;
        self.deps.events.emit(Event::SignInChanged { server: server.id.clone(), sign_in });
    }

    async fn forget(&self, server: &ServerConfig) {
        let session_state = self.session_state(&server.id);
        if let Some(preparation_cancel) = session_state.with(|now| now.preparation_cancel.take()) {
            preparation_cancel.cancel();
        }
        let _beginning = session_state.begin_lock.lock().await;
        session_state.cancel_attempt().await;
        let _one = session_state.refresh_lock.lock().await;
        if let Err(error) = self.token_store.forget_all(server).await {
            tracing::warn!(server = %server.id, %error, "a part of a sign-in stays until the next start");
        }
        renewal_lock::forget(&self.deps.data_dir, &server.id).await;
        self.slots.lock().remove(&server.id);
    }
}
