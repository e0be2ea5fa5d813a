//! Handles a server's refusal of a request: uses another token if there is one, renews it, requests more
//! scopes, or asks the user to sign in.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ErrorCode, Secret, ServerConfig, UserError, message};

use super::refresh::{RefreshReason, TokenRefresher};
use super::step_up::{ScopeRefusal, StepUp};
use crate::client::identity::{self, ClientIdentity};
use crate::discovery::resolve::{DiscoveredServer, authorize_endpoint, find, issuers};
use crate::discovery::www_authenticate::{Challenge, issuer_hint};
use crate::error::{AuthError, sentences};
use crate::http_client::AuthHttpClient;
use crate::login::login_service::LoginService;
use crate::session::session_state::SessionState;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::StoredSignIn;
use crate::settings::{SignInTarget, is_non_interactive};
use crate::token_source::{AuthRecovery, AuthRejection};

/// Time limit for discovering the issuer, during which the refused request waits.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(12);

/// Handles refusals.
pub(crate) struct RejectionHandler {
    pub(crate) sessions: Arc<SignInSessions>,
    pub(crate) login: Arc<LoginService>,
    pub(crate) refresher: Arc<TokenRefresher>,
    pub(crate) step_up: Arc<StepUp>,
}

/// A 401 for a server whose tokens are stored.
struct RejectedToken<'a> {
    stored: &'a StoredSignIn,
    /// The token that was sent, if any.
    sent: Option<Secret>,
    challenge: &'a Challenge,
    /// Whether the token was already obtained for this request.
    is_retry: bool,
}

impl RejectionHandler {
    /// Decides what to do about a refusal.
    pub(crate) async fn recover(
        &self,
        server: &Arc<ServerConfig>,
        rejection: AuthRejection,
    ) -> Result<AuthRecovery, AuthError> {
        let target = match SignInTarget::of(server) {
            Ok(target) => target,
            Err(error) => return Ok(AuthRecovery::Refused { reason: sentences(error) }),
        };
        let session_state = self.sessions.session_state(&server.id);
        let challenge = Challenge::read(&rejection.challenges);
        if rejection.status == 403 {
            if !challenge.is_scope_insufficient {
                let reason = message!("error.auth.forbidden", server = &server.name).into();
                return Ok(AuthRecovery::Refused { reason });
            }
            let (sent, can_wait) = (rejection.sent.as_ref(), rejection.can_wait);
            let refusal = ScopeRefusal { sent, challenge: &challenge, can_wait };
            return Box::pin(self.step_up.step_up(server, refusal)).await;
        }
        session_state.with(|data| data.challenge = challenge.clone());
        let hint = rejection.challenges.iter().find_map(|value| issuer_hint(value));
        let stored = self.sessions.load_sign_in(server, &session_state).await?;
        let Some(stored) = stored.filter(|stored| stored.tokens.is_some()) else {
            if is_non_interactive(server) {
                return self.fetch_without_user(server, &session_state, hint).await;
            }
            return self.find_issuer(target, &challenge, hint).await;
        };
        let rejected = RejectedToken {
            stored: &stored,
            sent: rejection.sent,
            challenge: &challenge,
            is_retry: rejection.is_retry,
        };
        self.recover_rejected_token(target, server, &session_state, rejected).await
    }

    /// Handles a 401 although a token exists: it was refused, or wasn't sent.
    async fn recover_rejected_token(
        &self,
        target: SignInTarget<'_>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        rejected: RejectedToken<'_>,
    ) -> Result<AuthRecovery, AuthError> {
        let RejectedToken { stored, sent, challenge, is_retry } = rejected;
        let sign_in = || AuthRecovery::SignIn { issuer: Some(stored.issuer.clone()) };
        let Some(tokens) = &stored.tokens else { return Ok(sign_in()) };
        let rejected_token = session_state.with(|data| data.rejected_token.clone());
        if rejected_token.as_ref() == Some(&tokens.access) {
            return Ok(sign_in());
        }
        let sent = match sent {
            Some(sent) if sent == tokens.access => sent,
            _ if tokens.is_valid(self.sessions.now()) => {
                return Ok(AuthRecovery::Retry(tokens.access.clone()));
            }
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
        match self
            .refresher
            .refreshed_token(server, session_state, RefreshReason::Refused(sent.clone()))
            .await?
        {
            Some(token) => Ok(AuthRecovery::Retry(token)),
            None => {
                self.mark_rejected(server, session_state, &sent).await;
                Ok(sign_in())
            }
        }
    }

    /// Marks a token as rejected, so that it isn't sent again, and shows that in the state.
    async fn mark_rejected(&self, server: &ServerConfig, session_state: &SessionState, token: &Secret) {
        session_state.with(|data| {
            data.rejected_token = Some(token.clone());
            data.error.get_or_insert_with(|| {
                UserError::new(ErrorCode::Refused, message!("error.auth.notAccepted"))
                    .with_hint(message!("error.auth.signInAgain"))
            });
        });
        self.sessions.notify(server).await;
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
        &self,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        hint: Option<String>,
    ) -> Result<AuthRecovery, AuthError> {
        if self.sessions.cached_sign_in(server, session_state).await?.is_some() {
            return Ok(AuthRecovery::SignIn { issuer: hint });
        }
        match self.refresher.refreshed_token(server, session_state, RefreshReason::Due).await {
            Ok(Some(token)) => Ok(AuthRecovery::Retry(token)),
            Ok(None) => Ok(AuthRecovery::SignIn { issuer: hint }),
            Err(AuthError::Refused(error)) => Ok(recovery_for(error)),
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
            let found = find(&web, &url, target.settings().endpoints.as_ref(), challenge).await?;
            authorize_endpoint(&web, &found.server)?;
            Ok::<DiscoveredServer, AuthError>(found)
        };
        let found = match tokio::time::timeout(DISCOVERY_TIMEOUT, finding).await {
            Ok(Ok(found)) => found,
            Ok(Err(AuthError::Refused(error))) => {
                // Another attempt may succeed; if it doesn't, it reports the same error.
                tracing::debug!(server = %target.server.id, %error, "whom to sign in with is not known");
                return Ok(AuthRecovery::SignIn { issuer: hint });
            }
            Ok(Err(_)) | Err(_) => return Ok(AuthRecovery::SignIn { issuer: hint }),
        };
        let client_metadata_url = self.login.client_metadata_url();
        let identity = identity::resolve(
            target,
            &self.sessions.token_store,
            &found.server,
            client_metadata_url.as_deref(),
            self.sessions.now(),
        )
        .await;
        match identity {
            Ok(ClientIdentity::Known(_) | ClientIdentity::Registered(_) | ClientIdentity::Register) => {
                Ok(AuthRecovery::SignIn { issuer: Some(found.server.issuer) })
            }
            Err(AuthError::Refused(error)) => Ok(recovery_for(error)),
            Err(error) => Err(error),
        }
    }
}

fn recovery_for(error: UserError) -> AuthRecovery {
    if error.code == ErrorCode::NeedsClientRegistration {
        return AuthRecovery::Register { reason: error.cause.unwrap_or(error.message) };
    }
    AuthRecovery::Refused { reason: sentences(error) }
}
