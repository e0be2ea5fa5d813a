//! Handles a server's refusal of a request: uses another token if there is one, renews it, requests more
//! scopes, or asks the user to sign in.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ErrorCode, Secret, ServerConfig, UserError};

use crate::authorization_url::authorize_endpoint;
use crate::client_identity::{self, ClientIdentity};
use crate::discovery::{DiscoveredServer, issuers};
use crate::http_client::AuthHttpClient;
use crate::login::find;
use crate::refresh::RefreshReason;
use crate::session_state::SessionState;
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_store::StoredSignIn;
use crate::www_authenticate::Challenge;
use crate::{AuthError, AuthRecovery, AuthRejection, issuer_hint};

/// Time limit for discovering the issuer, during which the refused request waits.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(12);

impl SignInsShared {
    /// Decides what to do about a refusal.
    pub(crate) async fn recover(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> Result<AuthRecovery, AuthError> {
        let target = match SignInTarget::of(server) {
            Ok(target) => target,
            Err(problem) => return Ok(AuthRecovery::Refused { reason: problem.to_string() }),
        };
        let session_state = self.session_state(&server.id);
        let challenge = Challenge::read(&rejection.challenges);
        if rejection.status == 403 {
            if !challenge.is_scope_insufficient {
                return Ok(AuthRecovery::Refused {
                    reason: format!("{} refuses access. The account lacks a right.", server.name),
                });
            }
            let asked = (rejection.sent.as_ref(), &challenge, rejection.can_wait);
            return Box::pin(self.step_up(server, &session_state, asked)).await;
        }
        session_state.with(|now| now.challenge = challenge.clone());
        let hint = rejection.challenges.iter().find_map(|value| issuer_hint(value));
        let stored = self.load_sign_in(server, &session_state).await?;
        let Some(stored) = stored.filter(|stored| stored.tokens.is_some()) else {
            if self.is_non_interactive(server) {
                return self.fetch_without_user(server, &session_state, hint).await;
            }
            return self.find_issuer(target, &challenge, hint).await;
        };
        self.recover_rejected_token(
            target,
            server,
            (&session_state, &stored),
            (rejection.sent, &challenge, rejection.is_retry),
        )
        .await
    }

    /// Handles a 401 although a token exists: it was refused, or wasn't sent.
    async fn recover_rejected_token(
        self: &Arc<Self>,
        target: SignInTarget<'_>,
        server: &Arc<ServerConfig>,
        (session_state, stored): (&Arc<SessionState>, &StoredSignIn),
        (sent, challenge, is_retry): (Option<Secret>, &Challenge, bool),
    ) -> Result<AuthRecovery, AuthError> {
        let sign_in = || AuthRecovery::SignIn { issuer: Some(stored.issuer.clone()) };
        let Some(tokens) = &stored.tokens else { return Ok(sign_in()) };
        let rejected_token = session_state.with(|now| now.rejected_token.clone());
        if rejected_token.as_ref() == Some(&tokens.access) {
            return Ok(sign_in());
        }
        let sent = match sent {
            Some(sent) if sent == tokens.access => sent,
            _ if tokens.is_valid(self.now()) => return Ok(AuthRecovery::Retry(tokens.access.clone())),
            Some(sent) => sent,
            None => tokens.access.clone(),
        };
        if is_retry {
            self.mark_rejected(server, session_state, &sent).await;
            return Ok(sign_in());
        }
        if let Some(others) = self.other_issuers(target, stored, challenge).await {
            self.mark_rejected(server, session_state, &sent).await;
            return Ok(AuthRecovery::SignIn { issuer: others.into_iter().next() });
        }
        match self.refreshed_token(server, session_state, RefreshReason::Refused(sent.clone())).await? {
            Some(token) => Ok(AuthRecovery::Retry(token)),
            None => {
                self.mark_rejected(server, session_state, &sent).await;
                Ok(sign_in())
            }
        }
    }

    /// Marks a token as rejected, so that it isn't sent again, and shows that in the state.
    async fn mark_rejected(&self, server: &ServerConfig, session_state: &SessionState, token: &Secret) {
        session_state.with(|now| {
            now.rejected_token = Some(token.clone());
            now.problem.get_or_insert_with(|| {
                UserError::new(ErrorCode::Refused, "The server does not accept the sign-in any more.")
                    .with_hint("Sign in again.")
            });
        });
        self.notify(server).await;
    }

    /// The issuers that the server names now, if the issuer of the tokens isn't among them.
    async fn other_issuers(
        &self,
        target: SignInTarget<'_>,
        stored: &StoredSignIn,
        challenge: &Challenge,
    ) -> Option<Vec<String>> {
        if target.settings().endpoints.is_some() {
            return None;
        }
        let url = target.url().ok()?;
        let web = AuthHttpClient::of(&url).await;
        let named = tokio::time::timeout(DISCOVERY_TIMEOUT, issuers(&web, &url, challenge)).await.ok()??;
        (!named.contains(&stored.issuer)).then_some(named)
    }

    /// For servers without interactive sign-in: fetches a token, once.
    async fn fetch_without_user(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        hint: Option<String>,
    ) -> Result<AuthRecovery, AuthError> {
        if self.cached_sign_in(server, session_state).await?.is_some() {
            return Ok(AuthRecovery::SignIn { issuer: hint });
        }
        match self.refreshed_token(server, session_state, RefreshReason::Due).await {
            Ok(Some(token)) => Ok(AuthRecovery::Retry(token)),
            Ok(None) => Ok(AuthRecovery::SignIn { issuer: hint }),
            Err(AuthError::Refused(problem)) => Ok(recovery_for(problem)),
            Err(error) => Err(error),
        }
    }

    /// Finds out which issuer the user has to sign in with, and whether signing in is possible at all.
    async fn find_issuer(
        &self,
        target: SignInTarget<'_>,
        challenge: &Challenge,
        hint: Option<String>,
    ) -> Result<AuthRecovery, AuthError> {
        let finding = async {
            let url = target.url()?;
            let web = AuthHttpClient::of(&url).await;
            let found = find(target, &web, &url, challenge).await?;
            authorize_endpoint(&web, &found.server)?;
            Ok::<DiscoveredServer, AuthError>(found)
        };
        let found = match tokio::time::timeout(DISCOVERY_TIMEOUT, finding).await {
            Ok(Ok(found)) => found,
            Ok(Err(AuthError::Refused(problem))) => {
                // Another attempt may succeed; if it doesn't, it reports the same error.
                tracing::debug!(server = %target.server.id, %problem, "whom to sign in with is not known");
                return Ok(AuthRecovery::SignIn { issuer: hint });
            }
            Ok(Err(_)) | Err(_) => return Ok(AuthRecovery::SignIn { issuer: hint }),
        };
        let client_metadata_url = self.client_metadata_url.lock().clone();
        let identity = client_identity::resolve(
            target,
            &self.token_store,
            (&found.server, client_metadata_url.as_deref()),
            self.now(),
        )
        .await;
        match identity {
            Ok(ClientIdentity::Known(_) | ClientIdentity::Registered(_) | ClientIdentity::Register) => {
                Ok(AuthRecovery::SignIn { issuer: Some(found.server.issuer) })
            }
            Err(AuthError::Refused(problem)) => Ok(recovery_for(problem)),
            Err(error) => Err(error),
        }
    }
}

fn recovery_for(problem: UserError) -> AuthRecovery {
    if problem.code == ErrorCode::NeedsClientRegistration {
        return AuthRecovery::Register { reason: problem.cause.unwrap_or(problem.message) };
    }
    AuthRecovery::Refused { reason: problem.to_string() }
}
