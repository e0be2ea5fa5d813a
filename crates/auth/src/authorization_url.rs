//! The authorization code flow with PKCE: builds the authorization URL, and exchanges the code that comes
//! back. `state`, code verifier and nonce are used for one attempt only and dropped with it.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, Secret};
use oauth2::{CsrfToken, PkceCodeChallenge};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::AuthError;
use crate::callback::{CallbackReceiver, CallbackResult, ExpectedCallback};
use crate::discovery::{from_http_error, unusable};
use crate::http_client::AuthHttpClient;
use crate::listener::LoopbackListener;
use crate::metadata::ServerMetadata;
use crate::token_endpoint::{Form, GrantError, OAuthClient, TokenEndpoint, TokenResponse};

/// How long to wait for the browser to load its final page.
const LAST_PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Parameters of an authorization code request.
pub(crate) struct CodeGrant {
    pub(crate) web: AuthHttpClient,
    pub(crate) server: ServerMetadata,
    /// Whether the issuer is known from a metadata document.
    pub(crate) is_issuer_known: bool,
    pub(crate) client: OAuthClient,
    /// The `resource` parameter (RFC 8707).
    pub(crate) resource: Option<String>,
    /// The scopes to request; if empty, no `scope` parameter is sent.
    pub(crate) scopes: Vec<String>,
}

/// An authorization request whose response is awaited.
pub(crate) struct PendingAuthorization {
    grant: CodeGrant,
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
    pub(crate) grant: CodeGrant,
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

impl CodeGrant {
    /// Builds the authorization URL, with this listener as the redirect target.
    pub(crate) fn request(self, listener: LoopbackListener) -> Result<PendingAuthorization, AuthError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = CsrfToken::new_random_len(32);
        let nonce = CsrfToken::new_random();
        let mut address = authorize_endpoint(&self.web, &self.server)?.clone();
        {
            let mut query = address.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &self.client.id)
                .append_pair("redirect_uri", &listener.redirect_uri)
                .append_pair("state", state.secret())
                .append_pair("code_challenge", challenge.as_str())
                .append_pair("code_challenge_method", "S256");
            if let Some(resource) = &self.resource {
                query.append_pair("resource", resource);
            }
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(" "));
            }
            let asks = |scope: &str| self.scopes.iter().any(|asked| asked == scope);
            if asks("openid") {
                query.append_pair("nonce", nonce.secret());
            }
            if asks("offline_access") {
                // OpenID Connect only grants offline access if the user is asked for consent.
                query.append_pair("prompt", "consent");
            }
        }
        let expected = ExpectedCallback {
            redirect: listener.redirect.clone(),
            state: Secret::new(state.secret()),
            issuer: self.is_issuer_known.then(|| self.server.issuer.clone()),
            is_issuer_required: self.server.has_iss_parameter(),
        };
        let (callback, answer) = CallbackReceiver::open(expected);
        Ok(PendingAuthorization {
            grant: self,
            listener,
            callback: Arc::new(callback),
            answer,
            verifier: Secret::new(verifier.into_secret()),
            nonce: Secret::new(nonce.secret()),
            address,
        })
    }

    async fn exchange(
        &self,
        code: &Secret,
        verifier: &Secret,
        redirect: &str,
        clock: &dyn Clock,
    ) -> Result<TokenResponse, GrantError> {
        let url = token_endpoint(&self.server).map_err(|error| GrantError::Unusable(error.to_string()))?;
        let endpoint = TokenEndpoint { web: &self.web, url, issuer: &self.server.issuer, clock };
        let mut form: Form = vec![
            ("grant_type", Secret::new("authorization_code")),
            ("code", code.clone()),
            ("redirect_uri", Secret::new(redirect)),
            ("code_verifier", verifier.clone()),
        ];
        form.extend(self.resource.as_deref().map(|resource| ("resource", Secret::new(resource))));
        endpoint.request(&self.client, form).await
    }
}

/// The authorization endpoint, if the server is safe to use: it must support PKCE with S256, have allowed
/// URLs, and have a token endpoint.
pub(crate) fn authorize_endpoint<'a>(
    web: &AuthHttpClient,
    server: &'a ServerMetadata,
) -> Result<&'a Url, AuthError> {
    if !server.has_s256() {
        return Err(unusable(
            "The authorization server does not say that it protects sign-ins with PKCE (S256). Without \
             that another program could take the answer of your browser.",
        ));
    }
    let endpoint = server.authorization_endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| unusable("The authorization server has no page to sign in at."))?;
    web.check(endpoint).map_err(|error| from_http_error(&error))?;
    token_endpoint(server)?;
    Ok(endpoint)
}

pub(crate) fn token_endpoint(server: &ServerMetadata) -> Result<&Url, AuthError> {
    server
        .token_endpoint
        .as_ref()
        .ok_or_else(|| unusable("The authorization server does not say where tokens are."))
}

impl PendingAuthorization {
    /// Waits for the response, exchanges the code for tokens, and passes the outcome to `on_response`, which returns
    /// whether the sign-in succeeded. The browser then gets its final page and the listener is closed.
    ///
    /// # Errors
    /// Why there was no response; `on_response` wasn't called then.
    pub(crate) async fn run<F, D>(
        self,
        (deadline, cancel): (Instant, &CancellationToken),
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
                Ok(code) => grant.exchange(&code, &verifier, &redirect_uri, clock).await,
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
