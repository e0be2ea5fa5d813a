//! The one door to signing in.

use std::sync::Arc;

use gatehouse_model::sign_in::{SignInBegun, SignInState, SignedOut};
use gatehouse_model::{AskUser, BoxFuture, ErrorCode, Problem, Secret, ServerConfig, ServerId};
use tokio::sync::broadcast;

use crate::{AuthError, Next, Refusal, SignInDeps, TokenSource};

/// All sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct SignIns {
    inner: Arc<Inner>,
}

struct Inner {
    #[allow(dead_code)]
    deps: SignInDeps,
    signed_in: broadcast::Sender<ServerId>,
}

impl SignIns {
    /// Begins with nobody signing in.
    #[must_use]
    pub fn new(deps: SignInDeps) -> Self {
        Self { inner: Arc::new(Inner { deps, signed_in: broadcast::Sender::new(64) }) }
    }

    /// Who answers when a server wants more rights. Only the first one counts; without one the answer
    /// is no.
    pub fn answer_with(&self, _ask: Arc<dyn AskUser>) {}

    /// Address of the Client ID Metadata Document, if there is one.
    pub fn set_client_document(&self, _url: Option<String>) {}

    /// Begins to sign in; what was begun before for this server is given up.
    ///
    /// # Errors
    /// Why it cannot be begun; [`ErrorCode::NeedsClientRegistration`] when a client id is missing.
    pub async fn begin(&self, server: Arc<ServerConfig>, _open: bool) -> Result<SignInBegun, Problem> {
        tokio::task::yield_now().await;
        Err(Problem::new(ErrorCode::Internal, format!("Signing in to {} is not there yet.", server.name)))
    }

    /// Takes the address that the browser ended at.
    ///
    /// # Errors
    /// When nothing waits for it, or it is not the one that is waited for.
    pub fn paste(&self, _server: &ServerId, _address: &str) -> Result<(), Problem> {
        Err(Problem::new(ErrorCode::NotFound, "No sign-in waits for an address."))
    }

    /// Gives up a sign-in that waits.
    pub fn cancel(&self, _server: &ServerId) {}

    /// Signs out.
    ///
    /// # Errors
    /// When the store for secrets refuses.
    pub async fn sign_out(&self, _server: Arc<ServerConfig>) -> Result<SignedOut, Problem> {
        tokio::task::yield_now().await;
        Ok(SignedOut { revoked: false })
    }

    /// The sign-in of a server as it stands.
    pub async fn state(&self, _server: Arc<ServerConfig>) -> SignInState {
        tokio::task::yield_now().await;
        SignInState::Out { problem: None }
    }

    /// Forgets all that is kept for a server that was removed, or that was this before an edit.
    pub async fn forget(&self, _server: &ServerConfig) {
        tokio::task::yield_now().await;
    }

    /// Hears of each server that was signed in to.
    #[must_use]
    pub fn signed_in(&self) -> broadcast::Receiver<ServerId> {
        self.inner.signed_in.subscribe()
    }

    /// Gives up whatever waits, and returns when nothing of it is left.
    pub async fn shutdown(&self) {
        tokio::task::yield_now().await;
    }
}

impl TokenSource for SignIns {
    fn bearer<'a>(&'a self, _: &'a Arc<ServerConfig>) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async { Ok(None) })
    }

    fn refused<'a>(
        &'a self,
        _: &'a Arc<ServerConfig>,
        refusal: Refusal,
    ) -> BoxFuture<'a, Result<Next, AuthError>> {
        Box::pin(async move {
            Ok(Next::SignIn { issuer: refusal.challenges.iter().find_map(|value| crate::issuer_hint(value)) })
        })
    }
}
