//! The one door to signing in, and what all ways of signing in share.

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

/// How long a person may take in the browser.
const DEADLINE: Duration = Duration::from_secs(300);
/// How many servers may be signed in to before a listener has to read all of them again.
const SIGNED_IN: usize = 64;

/// All sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct SignIns {
    inner: Arc<Inner>,
}

/// What the clones share.
pub(crate) struct Inner {
    pub(crate) deps: SignInDeps,
    pub(crate) keeper: Keeper,
    pub(crate) document: Mutex<Option<String>>,
    /// Let go of at the end: who answers may well know us.
    pub(crate) ask: Mutex<Option<Arc<dyn AskUser>>>,
    pub(crate) signed_in: broadcast::Sender<ServerId>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) deadline: Duration,
    slots: Mutex<HashMap<ServerId, Arc<Slot>>>,
}

impl SignIns {
    /// Begins with nobody signing in.
    #[must_use]
    pub fn new(deps: SignInDeps) -> Self {
        Self::with_deadline(deps, DEADLINE)
    }

    /// The same, with another time that a person may take in the browser.
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

    /// Who answers when a server wants more rights. Only the first one counts; without one the answer
    /// is no.
    pub fn answer_with(&self, ask: Arc<dyn AskUser>) {
        self.inner.ask.lock().get_or_insert(ask);
    }

    /// Address of the Client ID Metadata Document, if there is one.
    pub fn set_client_document(&self, url: Option<String>) {
        *self.inner.document.lock() = url;
    }

    /// Begins to sign in; what was begun before for this server is given up. Without an address in
    /// what is returned all is done.
    ///
    /// # Errors
    /// Why it cannot be begun; [`ErrorCode::NeedsClientRegistration`] when a client id is missing.
    pub async fn begin(&self, server: Arc<ServerConfig>, open: bool) -> Result<SignInBegun, Problem> {
        self.inner.begin(server, open).await
    }

    /// Takes the address that the browser ended at. What is wrong with the answer itself is told by the
    /// state, as with an answer that came by itself.
    ///
    /// # Errors
    /// When nothing waits for it, or it is not the one that is waited for.
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

    /// Gives up a sign-in that waits.
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

    /// Signs out: takes the tokens back where that is offered, and forgets them.
    ///
    /// # Errors
    /// When the store for secrets refuses.
    pub async fn sign_out(&self, server: Arc<ServerConfig>) -> Result<SignedOut, Problem> {
        Ok(self.inner.sign_out(&server).await?)
    }

    /// The sign-in of a server as it stands.
    pub async fn state(&self, server: Arc<ServerConfig>) -> SignInState {
        self.inner.state(&server).await
    }

    /// Forgets all that is kept for a server that was removed, or that was this before an edit.
    pub async fn forget(&self, server: &ServerConfig) {
        self.inner.forget(server).await;
    }

    /// Takes an id token of the company's identity provider that the user has already, so that nobody
    /// has to sign in there again.
    ///
    /// # Errors
    /// When the settings name no identity provider, or the store for secrets refuses.
    pub async fn adopt_id_token(&self, server: &ServerConfig, id_token: Secret) -> Result<(), Problem> {
        Ok(self.inner.adopt_id_token(server, id_token).await?)
    }

    /// Hears of each server that was signed in to.
    #[must_use]
    pub fn signed_in(&self) -> broadcast::Receiver<ServerId> {
        self.inner.signed_in.subscribe()
    }

    /// Gives up whatever waits, and returns when nothing of it is left.
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
    /// What is in memory of a server.
    pub(crate) fn slot(&self, server: &ServerId) -> Arc<Slot> {
        Arc::clone(self.slots.lock().entry(server.clone()).or_default())
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Timestamp {
        self.deps.clock.now()
    }

    /// What is kept of a sign-in, from the copy if there is one.
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

    /// What is kept of a sign-in, as it is kept. One for another resource is none.
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

    /// Keeps a sign-in. It is used only when it is kept.
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

    /// Keeps what a sign-in or the first token of a client gave, while nobody renews.
    pub(crate) async fn keep_new(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        sign_in: SignIn,
    ) -> Result<(), AuthError> {
        let _one = slot.renewing.lock().await;
        let _alone = lock::hold(&self.deps.data_dir, &server.id).await?;
        // Nobody is signed in unless the audit says so.
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

    /// Writes an entry about a server's sign-in to the audit. It names the account and the authorization
    /// server, and nothing that is secret.
    ///
    /// # Errors
    /// When it cannot be written; then nothing that it would allow may take effect.
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

    /// Writes a failed attempt to the audit. Only the code of the problem is written, since its texts may
    /// repeat what the authorization server sent.
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

    /// The state, and whether it can be told at all.
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

    /// Tells everybody the state.
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
