//! The sign-in data of all servers: reads and stores sign-ins, keeps their copies in memory, writes the audit
//! entries, and tells the user what changed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_model::record::{AuditEvent, SignInOutcome};
use gatehouse_model::sign_in::SignInState;
use gatehouse_model::{
    AuditLog, Clock, ErrorCode, Event, EventSink, ServerConfig, ServerId, Timestamp, UserError, message,
};
use parking_lot::Mutex;

use super::renewal_lock;
use super::session_state::SessionState;
use super::token_store::{StoredSignIn, TokenStore};
use crate::discovery::resource_identifier::covers;
use crate::error::AuthError;
use crate::settings::{SignInTarget, is_non_interactive};

pub(crate) struct SignInSessions {
    pub(crate) token_store: TokenStore,
    pub(crate) clock: Arc<dyn Clock>,
    audit: Arc<dyn AuditLog>,
    events: Arc<dyn EventSink>,
    /// The data folder, which contains the lock files.
    data_dir: PathBuf,
    states: Mutex<HashMap<ServerId, Arc<SessionState>>>,
}

/// What the sign-in data is kept with.
pub(crate) struct SignInSessionsDeps {
    pub(crate) token_store: TokenStore,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) audit: Arc<dyn AuditLog>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) data_dir: PathBuf,
}

impl SignInSessions {
    pub(crate) fn new(deps: SignInSessionsDeps) -> Self {
        let SignInSessionsDeps { token_store, clock, audit, events, data_dir } = deps;
        Self { token_store, clock, audit, events, data_dir, states: Mutex::default() }
    }

    /// In-memory state of a server.
    pub(crate) fn session_state(&self, server: &ServerId) -> Arc<SessionState> {
        Arc::clone(self.states.lock().entry(server.clone()).or_default())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Excludes renewals by other processes until the result is dropped.
    pub(crate) async fn lock_renewals(
        &self,
        server: &ServerId,
    ) -> Result<renewal_lock::RenewalLock, AuthError> {
        renewal_lock::acquire(&self.data_dir, server).await
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
        let _alone = self.lock_renewals(&server.id).await?;
        // A sign-in without an audit entry doesn't take effect.
        self.record(server, SignInOutcome::SignedIn, Some(&sign_in)).await.map_err(AuthError::Refused)?;
        self.store_sign_in(server, session_state, sign_in).await?;
        session_state.with(|data| {
            data.error = None;
            data.rejected_token = None;
            data.retry_after = None;
            data.wanted_scopes.clear();
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
        self.audit.append(event).await
    }

    /// Writes a failed attempt to the audit. Only the error code is recorded, since the texts may repeat what
    /// the authorization server sent.
    pub(crate) async fn record_failure(&self, server: &ServerConfig, failure: &UserError) {
        let event = AuditEvent::SignIn {
            server: server.id.clone(),
            what: SignInOutcome::Failed,
            issuer: None,
            account: None,
            reason: Some(failure.code),
        };
        if let Err(error) = self.audit.append(event).await {
            tracing::error!(server = %server.id, %error, "a failed sign-in is missing in the audit");
        }
    }

    /// The current state. If the stored sign-in can't be read, the state is signed out with that error.
    pub(crate) async fn state(&self, server: &ServerConfig) -> SignInState {
        let session_state = self.session_state(&server.id);
        if let Some(pending) = session_state.with(|data| data.pending_login.clone()) {
            return SignInState::Waiting { host: pending.host, until: pending.until };
        }
        let stored = match self.cached_sign_in(server, &session_state).await {
            Ok(stored) => stored,
            Err(error) => return SignInState::Out { problem: Some(error.into()) },
        };
        let (error, rejected_token) =
            session_state.with(|data| (data.error.clone(), data.rejected_token.clone()));
        let Some((stored, tokens)) =
            stored.as_ref().and_then(|stored| Some((stored, stored.tokens.as_ref()?)))
        else {
            return SignInState::Out { problem: error };
        };
        let renews = tokens.refresh.is_some() || is_non_interactive(server);
        if rejected_token.as_ref() == Some(&tokens.access) || !(renews || tokens.is_valid(self.now())) {
            let invalid = || {
                UserError::new(ErrorCode::Refused, message!("error.auth.invalid"))
                    .with_hint(message!("error.auth.signInAgain"))
            };
            return SignInState::Out { problem: Some(error.unwrap_or_else(invalid)) };
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
        self.events.emit(Event::SignInChanged { server: server.id.clone(), sign_in });
    }

    /// Deletes all data of a server. No login of it may be in progress.
    pub(crate) async fn forget(&self, server: &ServerConfig) {
        let session_state = self.session_state(&server.id);
        let _one = session_state.refresh_lock.lock().await;
        if let Err(error) = self.token_store.forget_all(server).await {
            tracing::warn!(server = %server.id, %error, "a part of a sign-in stays until the next start");
        }
        renewal_lock::forget(&self.data_dir, &server.id).await;
        self.states.lock().remove(&server.id);
    }
}
