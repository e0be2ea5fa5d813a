//! Token renewal (AUTH-6). A renewal is a transaction: only one runs at a time, also across processes; the
//! stored tokens are read again first, since another process may have renewed them; new tokens are stored
//! before they are used; and the renewal completes even if its caller is cancelled.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignInMethod;
use gatehouse_model::{ErrorCode, Secret, ServerConfig, UserError};
use tokio::time::Instant;

use crate::http_client::AuthHttpClient;
use crate::session_state::SessionState;
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_endpoint::{Form, GrantError, TokenEndpoint, TokenResponse};
use crate::token_store::{StoredSignIn, Tokens};
use crate::{AuthError, client_identity, renewal_lock};

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

impl SignInsShared {
    /// A token that is valid now; `None` if the user has to sign in.
    pub(crate) async fn bearer(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
    ) -> Result<Option<Secret>, AuthError> {
        if SignInTarget::of(server).is_err() {
            return Ok(None);
        }
        let session_state = self.session_state(&server.id);
        let stored = self.cached_sign_in(server, &session_state).await?;
        let tokens = stored.as_ref().and_then(|stored| stored.tokens.as_ref());
        let (rejected_token, retry_after) =
            session_state.with(|now| (now.rejected_token.clone(), now.retry_after));
        match tokens {
            Some(tokens) if rejected_token.as_ref() == Some(&tokens.access) => return Ok(None),
            Some(tokens) if !tokens.is_refresh_due(self.now()) => return Ok(Some(tokens.access.clone())),
            Some(tokens)
                if tokens.is_valid(self.now()) && retry_after.is_some_and(|until| Instant::now() < until) =>
            {
                return Ok(Some(tokens.access.clone()));
            }
            // Signed out, or the tokens were lost: the user has to sign in.
            None if stored.is_some() || !self.is_non_interactive(server) => return Ok(None),
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
        why: RefreshReason,
    ) -> Result<Option<Secret>, AuthError> {
        if self.stop.is_cancelled() {
            return Err(AuthError::Aborted);
        }
        let (shared, server, session_state) =
            (Arc::clone(self), Arc::clone(server), Arc::clone(session_state));
        let renewal =
            self.tasks.spawn(async move { shared.refresh_locked(&server, &session_state, why).await });
        renewal.await.map_err(|_| AuthError::Aborted)?
    }

    /// Whether tokens can be fetched without the user.
    pub(crate) fn is_non_interactive(&self, server: &ServerConfig) -> bool {
        SignInTarget::of(server).is_ok_and(|target| match target.settings().with {
            SignInMethod::Browser => false,
            SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } | SignInMethod::Enterprise { .. } => {
                true
            }
        })
    }

    async fn refresh_locked(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        why: RefreshReason,
    ) -> Result<Option<Secret>, AuthError> {
        let _one = session_state.refresh_lock.lock().await;
        let _alone = renewal_lock::acquire(&self.deps.data_dir, &server.id).await?;
        let stored = self.load_sign_in(server, session_state).await?;
        let Some(stored) = stored else { return self.refresh_without_user(server, session_state).await };
        let Some(tokens) = &stored.tokens else { return Ok(None) };
        let valid = tokens.is_valid(self.now());
        let done = match &why {
            RefreshReason::Due => !tokens.is_refresh_due(self.now()),
            RefreshReason::Refused(sent) => tokens.access != *sent && valid,
        };
        if done {
            return Ok(Some(tokens.access.clone()));
        }
        let usable = |error: AuthError| match why {
            RefreshReason::Due if valid => {
                session_state.with(|now| now.retry_after = Some(Instant::now() + RETRY_DELAY));
                tracing::debug!(server = %server.id, %error, "a token could not be renewed yet");
                Ok(Some(tokens.access.clone()))
            }
            RefreshReason::Due | RefreshReason::Refused(_) => Err(error),
        };
        let Some(refresh) = &tokens.refresh else {
            return match self.refresh_without_user(server, session_state).await {
                Ok(Some(token)) => Ok(Some(token)),
                Ok(None) => Ok((valid && matches!(why, RefreshReason::Due)).then(|| tokens.access.clone())),
                Err(error) => usable(error),
            };
        };
        match self.refresh(server, (&stored, refresh)).await {
            Ok(response) => {
                self.store_refreshed(server, session_state, (&stored, tokens, response)).await.map(Some)
            }
            Err(RefreshError::Temporary(error)) => usable(error),
            Err(RefreshError::Ended(problem)) => {
                self.mark_expired(server, session_state, &stored, problem).await?;
                if self.is_non_interactive(server) {
                    self.refresh_without_user(server, session_state).await
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Fetches a token without the user, if the settings allow it.
    async fn refresh_without_user(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
    ) -> Result<Option<Secret>, AuthError> {
        let Ok(target) = SignInTarget::of(server) else { return Ok(None) };
        let fetched = match target.settings().with {
            SignInMethod::Browser => return Ok(None),
            SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } => {
                self.fetch_with_client_credentials(target, session_state).await.map(Some)
            }
            SignInMethod::Enterprise { .. } => self.fetch_with_idp(target, session_state).await,
        };
        let fetched = match fetched {
            Ok(Some(fetched)) => fetched,
            Ok(None) => return Ok(None),
            Err(error) => {
                if let AuthError::Refused(problem) = &error {
                    session_state.with(|now| now.problem = Some(problem.clone()));
                    self.notify(server).await;
                }
                return Err(error);
            }
        };
        let access = fetched.tokens.as_ref().map(|tokens| tokens.access.clone());
        let was_signed_in =
            self.load_sign_in(server, session_state).await?.is_some_and(|stored| stored.tokens.is_some());
        if !was_signed_in {
            let written = self.record(server, SignInOutcome::SignedIn, Some(&fetched)).await;
            written.map_err(AuthError::Refused)?;
        }
        self.store_sign_in(server, session_state, fetched).await?;
        session_state.with(|now| {
            now.problem = None;
            now.rejected_token = None;
            now.retry_after = None;
        });
        self.notify(server).await;
        Ok(access)
    }

    async fn refresh(
        &self,
        server: &ServerConfig,
        (stored, refresh): (&StoredSignIn, &Secret),
    ) -> Result<TokenResponse, RefreshError> {
        let target = SignInTarget::of(server)
            .map_err(|problem| RefreshError::Temporary(AuthError::Refused(problem)))?;
        let url = target.url().map_err(RefreshError::Temporary)?;
        let client = client_identity::for_tokens(target, &self.token_store, stored)
            .await
            .map_err(RefreshError::Temporary)?;
        let Some(client) = client else {
            return Err(RefreshError::Ended(
                "Gatehouse is known there by another client id by now.".to_owned(),
            ));
        };
        let web = AuthHttpClient::of(&url).await;
        let endpoint = TokenEndpoint {
            web: &web,
            url: &stored.token_endpoint,
            issuer: &stored.issuer,
            clock: &*self.deps.clock,
        };
        let form: Form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", refresh.clone()),
            ("resource", Secret::new(&*stored.resource)),
        ];
        match endpoint.request(&client, form).await {
            Ok(response) => Ok(response),
            Err(error) => {
                self.forget_rejected_client(server, &client, &error).await;
                let over = matches!(&error, GrantError::Denied { code, .. } if code == "invalid_grant");
                if over || error.is_about_client() {
                    return Err(RefreshError::Ended(error.to_string()));
                }
                Err(RefreshError::Temporary(AuthError::Unreachable(error.to_string())))
            }
        }
    }

    async fn store_refreshed(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        (stored, before, response): (&StoredSignIn, &Tokens, TokenResponse),
    ) -> Result<Secret, AuthError> {
        let access = response.access.clone();
        let tokens = Tokens {
            access: response.access,
            refresh: response.refresh.or_else(|| before.refresh.clone()),
            scopes: response.scopes.unwrap_or_else(|| before.scopes.clone()),
            received: self.now(),
            lives_secs: response.lives_secs,
        };
        self.store_sign_in(server, session_state, StoredSignIn { tokens: Some(tokens), ..stored.clone() })
            .await?;
        session_state.with(|now| {
            now.problem = None;
            now.rejected_token = None;
            now.retry_after = None;
        });
        self.notify(server).await;
        Ok(access)
    }

    /// Drops tokens that are no longer usable. The granted scopes are kept for the next sign-in.
    async fn mark_expired(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        stored: &StoredSignIn,
        why: String,
    ) -> Result<(), AuthError> {
        let problem =
            UserError::new(ErrorCode::Refused, "The sign-in is not valid any more.").with_cause(why);
        session_state.with(|now| now.problem = Some(problem.with_hint("Sign in again.")));
        if let Err(problem) = self.record(server, SignInOutcome::Expired, Some(stored)).await {
            // The tokens are useless whether or not that can be recorded.
            tracing::error!(server = %server.id, %problem, "the end of a sign-in is missing in the audit");
        }
        self.store_sign_in(server, session_state, StoredSignIn { tokens: None, ..stored.clone() }).await?;
        self.notify(server).await;
        Ok(())
    }
}

/// Why a refresh failed.
enum RefreshError {
    /// It may work later.
    Temporary(AuthError),
    /// The refresh token is no longer usable.
    Ended(String),
}
