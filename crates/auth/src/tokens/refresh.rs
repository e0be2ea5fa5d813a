//! Token renewal (AUTH-6). A renewal is a transaction: only one runs at a time, also across processes; the
//! stored tokens are read again first, since another process may have renewed them; new tokens are stored
//! before they are used; and the renewal completes even if its caller is cancelled.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignInMethod;
use gatehouse_model::{ErrorCode, Secret, ServerConfig, Timestamp, UserError, UserText, message};
use tokio::time::Instant;

use crate::background_tasks::BackgroundTasks;
use crate::client::identity;
use crate::error::AuthError;
use crate::grants::grant_request::GrantContext;
use crate::grants::token_endpoint::{Form, TokenEndpoint, TokenResponse};
use crate::grants::{client_credentials, enterprise_auth};
use crate::http_client::AuthHttpClient;
use crate::oauth_error::GrantError;
use crate::session::session_state::SessionState;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::{StoredSignIn, Tokens};
use crate::settings::{SignInTarget, is_non_interactive};

/// After a failed renewal, a token that is still valid is used for this long before the next try.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// Why a token is renewed.
#[derive(Clone, Debug)]
pub(crate) enum RefreshReason {
    /// It expires soon.
    Due,
    /// The server refused this token.
    Refused(Secret),
}

impl RefreshReason {
    /// Whether these tokens are newer than the reason: another task or process has renewed them meanwhile.
    fn is_settled_by(&self, tokens: &Tokens, now: Timestamp) -> bool {
        match self {
            Self::Due => !tokens.is_refresh_due(now),
            Self::Refused(sent) => tokens.access != *sent && tokens.is_valid(now),
        }
    }

    /// The token that may be used further if no new one can be had for now. A refused token may not.
    fn fallback_token(&self, tokens: &Tokens, now: Timestamp) -> Option<Secret> {
        match self {
            Self::Due if tokens.is_valid(now) => Some(tokens.access.clone()),
            Self::Due | Self::Refused(_) => None,
        }
    }
}

/// Hands out tokens and renews them.
pub(crate) struct TokenRefresher {
    sessions: Arc<SignInSessions>,
    tasks: BackgroundTasks,
}

impl TokenRefresher {
    pub(crate) fn new(sessions: Arc<SignInSessions>, tasks: BackgroundTasks) -> Self {
        Self { sessions, tasks }
    }

    /// A token that is valid now; `None` if the user has to sign in.
    pub(crate) async fn bearer(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
    ) -> Result<Option<Secret>, AuthError> {
        if SignInTarget::of(server).is_err() {
            return Ok(None);
        }
        let session_state = self.sessions.session_state(&server.id);
        let stored = self.sessions.cached_sign_in(server, &session_state).await?;
        let tokens = stored.as_ref().and_then(|stored| stored.tokens.as_ref());
        let (rejected_token, retry_after) =
            session_state.with(|data| (data.rejected_token.clone(), data.retry_after));
        match tokens {
            // The server refused this token, and it could not be renewed.
            Some(tokens) if rejected_token.as_ref() == Some(&tokens.access) => return Ok(None),
            Some(tokens) if !tokens.is_refresh_due(self.sessions.now()) => {
                return Ok(Some(tokens.access.clone()));
            }
            // A renewal has just failed, but the token can still be used.
            Some(tokens)
                if tokens.is_valid(self.sessions.now())
                    && retry_after.is_some_and(|until| Instant::now() < until) =>
            {
                return Ok(Some(tokens.access.clone()));
            }
            // Signed out, or the tokens were lost: the user has to sign in.
            None if stored.is_some() || !is_non_interactive(server) => return Ok(None),
            Some(_) | None => {}
        }
        self.refreshed_token(server, &session_state, RefreshReason::Due).await
    }

    /// Renews the token, or returns one that was renewed by another task or process meanwhile; `None` if the
    /// user has to sign in.
    pub(crate) async fn refreshed_token(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        reason: RefreshReason,
    ) -> Result<Option<Secret>, AuthError> {
        if self.tasks.stop.is_cancelled() {
            return Err(AuthError::Aborted);
        }
        let (refresher, server, session_state) =
            (Arc::clone(self), Arc::clone(server), Arc::clone(session_state));
        let renewal = self
            .tasks
            .tracker
            .spawn(async move { refresher.refresh_locked(&server, &session_state, reason).await });
        renewal.await.map_err(|_| AuthError::Aborted)?
    }

    /// One renewal. What the caller knows of the tokens may be outdated, so the decision is made with those
    /// that are stored once both locks are held.
    async fn refresh_locked(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        reason: RefreshReason,
    ) -> Result<Option<Secret>, AuthError> {
        let _task_lock = session_state.refresh_lock.lock().await;
        let _process_lock = self.sessions.lock_renewals(&server.id).await?;
        let Some(stored) = self.sessions.load_sign_in(server, session_state).await? else {
            return self.refresh_without_user(server, session_state).await;
        };
        let Some(tokens) = &stored.tokens else { return Ok(None) };
        let now = self.sessions.now();
        if reason.is_settled_by(tokens, now) {
            return Ok(Some(tokens.access.clone()));
        }
        let fallback = reason.fallback_token(tokens, now);
        let Some(refresh_token) = &tokens.refresh else {
            return match self.refresh_without_user(server, session_state).await {
                Ok(token) => Ok(token.or(fallback)),
                Err(error) => postpone(server, session_state, fallback, error),
            };
        };
        match self.request_refresh(server, &stored, refresh_token).await {
            Ok(response) => {
                let refreshed = StoredSignIn {
                    tokens: Some(self.refreshed_tokens(tokens, response)),
                    ..(*stored).clone()
                };
                self.store_refreshed(server, session_state, refreshed).await
            }
            Err(RefreshError::Temporary(error)) => postpone(server, session_state, fallback, error),
            Err(RefreshError::Ended(cause)) => {
                self.mark_expired(server, session_state, &stored, cause).await?;
                if is_non_interactive(server) {
                    self.refresh_without_user(server, session_state).await
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Fetches a token with a grant that needs neither a refresh token nor the user; `None` if the settings
    /// name no such grant, or the user is needed after all.
    async fn refresh_without_user(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
    ) -> Result<Option<Secret>, AuthError> {
        let Ok(target) = SignInTarget::of(server) else { return Ok(None) };
        let context = GrantContext::new(&self.sessions, session_state, target);
        let fetched = match target.settings().with {
            SignInMethod::Browser => return Ok(None),
            SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } => {
                client_credentials::fetch(&context).await.map(Some)
            }
            SignInMethod::Enterprise { .. } => enterprise_auth::fetch(&context).await,
        };
        let fetched = match fetched {
            Ok(Some(fetched)) => fetched,
            Ok(None) => return Ok(None),
            Err(error) => {
                if let AuthError::Refused(error) = &error {
                    session_state.with(|data| data.error = Some(error.clone()));
                    self.sessions.notify(server).await;
                }
                return Err(error);
            }
        };
        let was_signed_in = self
            .sessions
            .load_sign_in(server, session_state)
            .await?
            .is_some_and(|stored| stored.tokens.is_some());
        if !was_signed_in {
            let written = self.sessions.record(server, SignInOutcome::SignedIn, Some(&fetched)).await;
            written.map_err(AuthError::Refused)?;
        }
        self.store_refreshed(server, session_state, fetched).await
    }

    /// Exchanges the refresh token at the token endpoint. The new tokens are not stored yet.
    async fn request_refresh(
        &self,
        server: &ServerConfig,
        stored: &StoredSignIn,
        refresh_token: &Secret,
    ) -> Result<TokenResponse, RefreshError> {
        let target =
            SignInTarget::of(server).map_err(|error| RefreshError::Temporary(AuthError::Refused(error)))?;
        let url = target.url().map_err(RefreshError::Temporary)?;
        let client = identity::for_tokens(target, &self.sessions.token_store, stored)
            .await
            .map_err(RefreshError::Temporary)?;
        let Some(client) = client else {
            return Err(RefreshError::Ended(message!("error.auth.cause.otherClientId").into()));
        };
        let web = AuthHttpClient::of(&url).await;
        let endpoint = TokenEndpoint {
            web: &web,
            url: &stored.token_endpoint,
            issuer: &stored.issuer,
            clock: &*self.sessions.clock,
        };
        let form: Form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", refresh_token.clone()),
            ("resource", Secret::new(&*stored.resource)),
        ];
        match endpoint.request(&client, form).await {
            Ok(response) => Ok(response),
            Err(error) => {
                identity::forget_rejected(&self.sessions.token_store, server, &client, &error).await;
                let is_invalid = matches!(&error, GrantError::Denied { code, .. } if code == "invalid_grant");
                if is_invalid || error.is_about_client() {
                    return Err(RefreshError::Ended(error.into_text()));
                }
                Err(RefreshError::Temporary(AuthError::Unreachable(error.into_text())))
            }
        }
    }

    /// The tokens of a renewal, with what the response leaves out taken from those before.
    fn refreshed_tokens(&self, before: &Tokens, response: TokenResponse) -> Tokens {
        Tokens {
            access: response.access,
            refresh: response.refresh.or_else(|| before.refresh.clone()),
            scopes: response.scopes.unwrap_or_else(|| before.scopes.clone()),
            received: self.sessions.now(),
            lives_secs: response.lives_secs,
        }
    }

    /// Stores a sign-in with new tokens, and returns its access token.
    async fn store_refreshed(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        refreshed: StoredSignIn,
    ) -> Result<Option<Secret>, AuthError> {
        let access = refreshed.tokens.as_ref().map(|tokens| tokens.access.clone());
        self.sessions.store_sign_in(server, session_state, refreshed).await?;
        session_state.with(|data| {
            data.error = None;
            data.rejected_token = None;
            data.retry_after = None;
        });
        self.sessions.notify(server).await;
        Ok(access)
    }

    /// Drops tokens that are no longer usable. The granted scopes are kept for the next sign-in.
    async fn mark_expired(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        stored: &StoredSignIn,
        cause: UserText,
    ) -> Result<(), AuthError> {
        let error = UserError::new(ErrorCode::Refused, message!("error.auth.invalid")).with_cause(cause);
        session_state.with(|data| data.error = Some(error.with_hint(message!("error.auth.signInAgain"))));
        if let Err(error) = self.sessions.record(server, SignInOutcome::Expired, Some(stored)).await {
            // The tokens are useless whether or not that can be recorded.
            tracing::error!(server = %server.id, %error, "the end of a sign-in is missing in the audit");
        }
        self.sessions
            .store_sign_in(server, session_state, StoredSignIn { tokens: None, ..stored.clone() })
            .await?;
        self.sessions.notify(server).await;
        Ok(())
    }
}

/// Goes on with the fallback token, if there is one, and delays the next try. Without one, the error stands.
fn postpone(
    server: &ServerConfig,
    session_state: &SessionState,
    fallback: Option<Secret>,
    error: AuthError,
) -> Result<Option<Secret>, AuthError> {
    let Some(token) = fallback else { return Err(error) };
    session_state.with(|data| data.retry_after = Some(Instant::now() + RETRY_DELAY));
    tracing::debug!(server = %server.id, %error, "a token could not be renewed yet");
    Ok(Some(token))
}

/// Why a refresh failed.
enum RefreshError {
    /// It may work later.
    Temporary(AuthError),
    /// The refresh token is no longer usable.
    Ended(UserText),
}
