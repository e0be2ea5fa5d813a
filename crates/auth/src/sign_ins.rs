//! The public interface of the sign-in, and the state that all sign-in methods share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::{AuditEvent, SignInOutcome};
use gatehouse_model::sign_in::{SignInBegun, SignInState, SignedOut};
use gatehouse_model::{
    AskUser, BoxFuture, ErrorCode, Event, Problem, Secret, ServerConfig, ServerId, Timestamp,
};
use parking_lot::Mutex;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::address::covers;
use crate::kept::{Keeper, SignIn};
use crate::settings::Target;
use crate::slot::Slot;
use crate::{AuthError, Next, Refusal, SignInDeps, TokenSource, lock};

/// How long the user may take in the browser.
const DEADLINE: Duration = Duration::from_secs(300);
/// Capacity of the channel that announces sign-ins. A receiver that lags behind has to read all states again.
const SIGNED_IN: usize = 64;

/// All sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct SignIns {
    inner: Arc<Inner>,
}

/// State shared by the clones.
pub(crate) struct Inner {
    pub(crate) deps: SignInDeps,
    pub(crate) keeper: Keeper,
    pub(crate) document: Mutex<Option<String>>,
    /// Dropped at shutdown: the handler may hold a reference to this object, which would be a cycle.
    pub(crate) ask: Mutex<Option<Arc<dyn AskUser>>>,
    pub(crate) signed_in: broadcast::Sender<ServerId>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) deadline: Duration,
    slots: Mutex<HashMap<ServerId, Arc<Slot>>>,
}

impl SignIns {
    /// Starts without pending sign-ins.
    #[must_use]
    pub fn new(deps: SignInDeps) -> Self {
        Self::with_deadline(deps, DEADLINE)
    }

    /// As [`Self::new`], with another time limit for the browser.
    #[must_use]
    pub fn with_deadline(deps: SignInDeps, deadline: Duration) -> Self {
        let inner = Inner {
            keeper: Keeper::new(Arc::clone(&deps.secrets)),
            deps,
            document: Mutex::default(),
            ask: Mutex::default(),
            signed_in: broadcast::Sender::new(SIGNED_IN),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            deadline,
            slots: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sets the handler for scope upgrade requests. Only the first call has an effect; without a handler
    /// every request is declined.
    pub fn answer_with(&self, ask: Arc<dyn AskUser>) {
        self.inner.ask.lock().get_or_insert(ask);
    }

    /// Sets the URL of the Client ID Metadata Document.
    pub fn set_client_document(&self, url: Option<String>) {
        *self.inner.document.lock() = url;
    }

    /// Starts to sign in. A pending sign-in for this server is cancelled. If the result contains no address,
    /// the sign-in is complete.
    ///
    /// # Errors
    /// When the sign-in can't be started; [`ErrorCode::NeedsClientRegistration`] if a client id is missing.
    pub async fn begin(&self, server: Arc<ServerConfig>, open: bool) -> Result<SignInBegun, Problem> {
        self.inner.begin(server, open).await
    }

    /// Takes the address at which the browser ended up, as pasted by the user. Errors in the response itself
    /// are reported through the state, as for a response that reaches the listener.
    ///
    /// # Errors
    /// When no sign-in is pending, or the address doesn't belong to the pending one.
    pub fn paste(&self, server: &ServerId, address: &str) -> Result<(), Problem> {
        let attempt = self.inner.slot(server).with(|now| now.attempt.clone());
        let attempt = attempt.ok_or_else(|| {
            Problem::new(ErrorCode::NotFound, "No sign-in waits for an address.")
                .todo("Begin to sign in first.")
        })?;
        attempt.desk.take_address(address).map_err(|_| {
            Problem::new(ErrorCode::BadRequest, "This is not the address that the sign-in waits for.")
                .todo("Copy the whole address that the browser ended at, from the last attempt.")
        })
    }

    /// Cancels a pending sign-in.
    pub fn cancel(&self, server: &ServerId) {
        let (preparing, attempt) =
            self.inner.slot(server).with(|now| (now.preparing.take(), now.attempt.clone()));
        if let Some(preparing) = preparing {
            preparing.cancel();
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
    pub async fn sign_out(&self, server: Arc<ServerConfig>) -> Result<SignedOut, Problem> {
        Ok(self.inner.sign_out(&server).await?)
    }

    /// The current sign-in state of a server.
    pub async fn state(&self, server: Arc<ServerConfig>) -> SignInState {
        self.inner.state(&server).await
    }

    /// Deletes all sign-in data of a server that was removed, or of the server as it was before an edit.
    pub async fn forget(&self, server: &ServerConfig) {
        self.inner.forget(server).await;
    }

    /// Takes an id token of the company's identity provider that the user already has, so that no further
    /// sign-in is needed.
    ///
    /// # Errors
    /// When the settings name no identity provider, the token isn't from it or not for this client, or the
    /// secret store refuses.
    pub async fn adopt_id_token(&self, server: &ServerConfig, id_token: Secret) -> Result<(), Problem> {
        Ok(self.inner.adopt_id_token(server, id_token).await?)
    }

    /// Receives the id of each server that was signed in to.
    #[must_use]
    pub fn signed_in(&self) -> broadcast::Receiver<ServerId> {
        self.inner.signed_in.subscribe()
    }

    /// Cancels pending sign-ins, and returns when all tasks have ended.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        drop(self.inner.ask.lock().take());
    }
}

impl TokenSource for SignIns {
    fn bearer<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(self.inner.bearer(server))
    }

    fn refused<'a>(
        &'a self,
        server: &'a Arc<ServerConfig>,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, AuthError>> {
        Box::pin(self.inner.refused(server, refusal))
    }
}

impl Inner {
    /// In-memory state of a server.
    pub(crate) fn slot(&self, server: &ServerId) -> Arc<Slot> {
        Arc::clone(self.slots.lock().entry(server.clone()).or_default())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    /// The stored sign-in, from the in-memory copy if there is one.
    pub(crate) async fn read(
        &self,
        server: &ServerConfig,
        slot: &Slot,
    ) -> Result<Option<Arc<SignIn>>, AuthError> {
        match slot.copy(server) {
            Some(copy) => Ok(copy),
            None => self.read_anew(server, slot).await,
        }
    }

    /// The stored sign-in, from the secret store. One for another resource counts as absent.
    pub(crate) async fn read_anew(
        &self,
        server: &ServerConfig,
        slot: &Slot,
    ) -> Result<Option<Arc<SignIn>>, AuthError> {
        let Ok(target) = Target::of(server) else { return Ok(None) };
        let url = target.url()?;
        let kept = self.keeper.get::<SignIn>(server).await?;
        let kept = kept.filter(|kept| covers(&kept.resource, &url)).map(Arc::new);
        slot.set_copy(server, kept.clone());
        Ok(kept)
    }

    /// Stores a sign-in. The in-memory copy is updated only after that.
    pub(crate) async fn keep(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        sign_in: SignIn,
    ) -> Result<(), AuthError> {
        self.keeper.set(server, &sign_in).await?;
        slot.set_copy(server, Some(Arc::new(sign_in)));
        Ok(())
    }

    /// Stores a new sign-in, or the first token of a client. Excludes concurrent renewals.
    pub(crate) async fn keep_new(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        sign_in: SignIn,
    ) -> Result<(), AuthError> {
        let _one = slot.renewing.lock().await;
        let _alone = lock::hold(&self.deps.data_dir, &server.id).await?;
        // A sign-in without an audit entry doesn't take effect.
        self.record(server, SignInOutcome::SignedIn, Some(&sign_in)).await.map_err(AuthError::Refused)?;
        self.keep(server, slot, sign_in).await?;
        slot.with(|now| {
            now.problem = None;
            now.rejected = None;
            now.rest_until = None;
            now.wanted.clear();
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
        sign_in: Option<&SignIn>,
    ) -> Result<(), Problem> {
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
    pub(crate) async fn record_failure(&self, server: &ServerConfig, problem: &Problem) {
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
        let slot = self.slot(&server.id);
        let waiting = slot.with(|now| {
            now.attempt
                .as_ref()
                .map(|attempt| SignInState::Waiting { host: attempt.host.clone(), until: attempt.until })
        });
        if let Some(waiting) = waiting {
            return waiting;
        }
        let kept = match self.read(server, &slot).await {
            Ok(kept) => kept,
            Err(error) => return SignInState::Out { problem: Some(error.into()) },
        };
        let (problem, rejected) = slot.with(|now| (now.problem.clone(), now.rejected.clone()));
        let Some((kept, tokens)) = kept.as_ref().and_then(|kept| Some((kept, kept.tokens.as_ref()?))) else {
            return SignInState::Out { problem };
        };
        let renews = tokens.refresh.is_some() || self.renews_alone(server);
        if rejected.as_ref() == Some(&tokens.access) || !(renews || tokens.is_valid(self.now())) {
            let over = || {
                Problem::new(ErrorCode::Refused, "The sign-in is not valid any more.").todo("Sign in again.")
            };
            return SignInState::Out { problem: Some(problem.unwrap_or_else(over)) };
        }
        SignInState::In {
            account: kept.account.clone(),
            issuer: kept.issuer.clone(),
            scopes: tokens.scopes.clone(),
            expires: tokens.expires(),
            renews,
        }
    }

    /// Emits the current state as an event.
    pub(crate) async fn tell(&self, server: &ServerConfig) {
        let slot = self.slot(&server.id);
        let _one = slot.telling.lock().await;
        let sign_in = self.state(server).await;
        self.deps.events.emit(Event::SignInChanged { server: server.id.clone(), sign_in });
    }

    async fn forget(&self, server: &ServerConfig) {
        let slot = self.slot(&server.id);
        if let Some(preparing) = slot.with(|now| now.preparing.take()) {
            preparing.cancel();
        }
        let _beginning = slot.beginning.lock().await;
        slot.give_up().await;
        let _one = slot.renewing.lock().await;
        if let Err(error) = self.keeper.forget_all(server).await {
            tracing::warn!(server = %server.id, %error, "a part of a sign-in stays until the next start");
        }
        lock::forget(&self.deps.data_dir, &server.id).await;
        self.slots.lock().remove(&server.id);
    }
}
