//! Sign-out (AUTH-7): tokens are deleted in any case, and revoked if the server supports it.

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignOutResult;
use gatehouse_model::{Secret, ServerConfig};
use tokio_util::sync::CancellationToken;

use crate::client::identity;
use crate::error::AuthError;
use crate::grants::token_endpoint::TokenEndpoint;
use crate::http_client::AuthHttpClient;
use crate::login::attempts::Attempts;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::{IdpSignIn, StoredSignIn, Tokens};
use crate::settings::{SignInTarget, is_non_interactive};

/// Signs out, and ends an attempt to sign in. `cancel` ends the revocation, which waits for the authorization server; the
/// tokens are deleted before it.
pub(crate) async fn sign_out(
    attempts: &Attempts,
    server: &ServerConfig,
    cancel: &CancellationToken,
) -> Result<SignOutResult, AuthError> {
    let sessions = &attempts.sessions;
    let session_state = sessions.session_state(&server.id);
    let server_attempts = attempts.of_server(&server.id);
    let _no_attempt = server_attempts.end().await;
    let _one = session_state.refresh_lock.lock().await;
    let _alone = sessions.lock_renewals(&server.id).await?;
    let stored = match sessions.load_sign_in(server, &session_state).await {
        Ok(stored) => stored,
        // It is deleted all the same.
        Err(AuthError::Unreadable) => None,
        Err(error) => return Err(error),
    };
    // Signing out only removes access, so it takes effect even if the audit entry can't be written; the
    // error is returned afterwards.
    let written = sessions.record(server, SignInOutcome::SignedOut, stored.as_deref()).await;
    sessions.token_store.forget::<IdpSignIn>(server).await?;
    match &stored {
        // Without this record, a server that needs no user would be signed in again by the next call.
        Some(stored) if is_non_interactive(server) => {
            let out = StoredSignIn { tokens: None, account: None, scopes: Vec::new(), ..(**stored).clone() };
            sessions.store_sign_in(server, &session_state, out).await?;
        }
        Some(_) | None => {
            sessions.token_store.forget::<StoredSignIn>(server).await?;
            session_state.set_cached(server, None);
        }
    }
    session_state.with(|data| {
        data.error = None;
        data.rejected_token = None;
        data.wanted_scopes.clear();
    });
    sessions.notify(server).await;
    let tokens = stored.as_ref().and_then(|stored| stored.tokens.as_ref().map(|tokens| (&**stored, tokens)));
    let revoked = match tokens {
        Some((stored, tokens)) => {
            let revoking = revoke(sessions, server, stored, tokens);
            cancel.run_until_cancelled(revoking).await.unwrap_or(false)
        }
        None => false,
    };
    if revoked
        && let Err(error) = sessions.record(server, SignInOutcome::TokensRevoked, stored.as_deref()).await
    {
        tracing::error!(server = %server.id, %error, "a revocation is missing in the audit");
    }
    written.map_err(AuthError::Refused)?;
    Ok(SignOutResult { revoked })
}

/// Revokes the tokens, the refresh token first. Returns whether all were revoked.
async fn revoke(
    sessions: &SignInSessions,
    server: &ServerConfig,
    stored: &StoredSignIn,
    tokens: &Tokens,
) -> bool {
    let Some(url) = &stored.revocation_endpoint else { return false };
    let Ok(target) = SignInTarget::of(server) else { return false };
    let (Ok(address), Ok(Some(client))) =
        (target.url(), identity::for_tokens(target, &sessions.token_store, stored).await)
    else {
        return false;
    };
    let web = AuthHttpClient::of(&address).await;
    let endpoint = TokenEndpoint { web: &web, url, issuer: &stored.issuer, clock: &*sessions.clock };
    let refresh = tokens.refresh.iter().map(|token| (token, "refresh_token"));
    let mut all = true;
    for (token, hint) in refresh.chain([(&tokens.access, "access_token")]) {
        let form = vec![("token", token.clone()), ("token_type_hint", Secret::new(hint))];
        if let Err(error) = endpoint.notify(&client, form).await {
            tracing::debug!(server = %server.id, %error, "a token could not be revoked");
            all = false;
        }
    }
    all
}
