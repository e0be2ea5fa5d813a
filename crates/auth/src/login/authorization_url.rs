//! The authorization code flow with PKCE: builds the authorization URL, waits for the response, and has its code
//! exchanged. `state`, code verifier and nonce are used for one attempt only and dropped with it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, Secret};
use oauth2::{CsrfToken, PkceCodeChallenge};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::callback::{CallbackReceiver, CallbackResult, ExpectedCallback};
use super::listener::LoopbackListener;
use crate::discovery::resolve::authorize_endpoint;
use crate::error::AuthError;
use crate::grants::grant_request::{AuthorizationCode, GrantRequest};
use crate::grants::token_endpoint::TokenResponse;
use crate::oauth_error::GrantError;

/// How long to wait for the browser to load its final page.
const LAST_PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// An authorization request whose response is awaited.
pub(crate) struct PendingAuthorization {
    grant: GrantRequest,
    listener: LoopbackListener,
    /// Receives the response.
    pub(crate) callback: Arc<CallbackReceiver>,
    answer: oneshot::Receiver<CallbackResult>,
    verifier: Secret,
    /// The nonce that the id token must repeat.
    pub(crate) nonce: Secret,
    /// The authorization URL for the user.
    pub(crate) address: Url,
}

/// The request that a token response belongs to.
pub(crate) struct AuthorizationContext {
    pub(crate) grant: GrantRequest,
    /// The nonce that the id token must repeat.
    pub(crate) nonce: Secret,
}

/// Why there was no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallbackError {
    /// The attempt was cancelled.
    Cancelled,
    /// The deadline passed.
    TimedOut,
}

impl PendingAuthorization {
    /// Builds the authorization URL, with this listener as the redirect target.
    pub(crate) fn new(grant: GrantRequest, listener: LoopbackListener) -> Result<Self, AuthError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random_len(32);
        let nonce = CsrfToken::new_random();
        let mut address = authorize_endpoint(&grant.web, &grant.server)?.clone();
        {
            let mut query = address.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &grant.client.id)
                .append_pair("redirect_uri", &listener.redirect_uri)
                .append_pair("state", state.secret())
                .append_pair("code_challenge", challenge.as_str())
                .append_pair("code_challenge_method", "S256");
            if let Some(resource) = &grant.resource {
                query.append_pair("resource", resource);
            }
            if !grant.scopes.is_empty() {
                query.append_pair("scope", &grant.scopes.join(" "));
            }
            let requests = |scope: &str| grant.scopes.iter().any(|requested| requested == scope);
            if requests("openid") {
                query.append_pair("nonce", nonce.secret());
            }
            if requests("offline_access") {
                // OpenID Connect only grants offline access if the user is asked for consent.
                query.append_pair("prompt", "consent");
            }
        }
        let expected = ExpectedCallback {
            redirect: listener.redirect.clone(),
            state: Secret::new(state.secret()),
            issuer: grant.is_issuer_known.then(|| grant.server.issuer.clone()),
            is_issuer_required: grant.server.has_iss_parameter(),
        };
        let (callback, answer) = CallbackReceiver::open(expected);
        Ok(Self {
            grant,
            listener,
            callback: Arc::new(callback),
            answer,
            verifier: Secret::new(verifier.into_secret()),
            nonce: Secret::new(nonce.secret()),
            address,
        })
    }

    /// Waits for the response, exchanges the code for tokens, and passes the outcome to `on_response`, which returns
    /// whether the sign-in succeeded. The browser then gets its final page and the listener is closed.
    ///
    /// # Errors
    /// Why there was no response; `on_response` wasn't called then.
    pub(crate) async fn run<F, D>(
        self,
        deadline: Instant,
        cancel: &CancellationToken,
        clock: &dyn Clock,
        on_response: F,
    ) -> Result<(), CallbackError>
    where
        F: FnOnce(AuthorizationContext, Result<TokenResponse, GrantError>) -> D,
        D: Future<Output = bool>,
    {
        let Self { grant, listener, callback, answer, verifier, nonce, .. } = self;
        let redirect_uri = listener.redirect_uri.clone();
        let serving = listener.serve(Arc::clone(&callback));
        tokio::pin!(serving);
        let answered = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CallbackError::Cancelled),
            answered = answer => answered.map_err(|_| CallbackError::Cancelled)?,
            () = tokio::time::sleep_until(deadline) => return Err(CallbackError::TimedOut),
            () = &mut serving => return Err(CallbackError::Cancelled),
        };
        let finish = async {
            let response = match answered.outcome {
                Ok(code) => {
                    let code = AuthorizationCode { code, verifier, redirect_uri };
                    grant.exchange_code(code, clock).await
                }
                Err(error) => Err(error),
            };
            let good = on_response(AuthorizationContext { grant, nonce }, response).await;
            if answered.completed.send(good).is_err() {
                tracing::debug!("the browser is gone already");
            }
            callback.closing.cancel();
        };
        tokio::join!(finish, async {
            // A new attempt doesn't have to wait until the browser has loaded its page.
            tokio::select! {
                () = &mut serving => {}
                () = async {
                    callback.closing.cancelled().await;
                    tokio::time::timeout(LAST_PAGE_TIMEOUT, cancel.cancelled()).await.ok();
                } => tracing::debug!("the browser did not take its last page"),
            }
        });
        Ok(())
    }
}
