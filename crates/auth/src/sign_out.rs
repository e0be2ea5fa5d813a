//! Sign-out (AUTH-7): tokens are deleted in any case, and revoked if the server supports it.

use std::sync::Arc;

use gatehouse_model::Secret;
use gatehouse_model::ServerConfig;
use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignOutResult;

use crate::http_client::AuthHttpClient;
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_endpoint::TokenEndpoint;
use crate::token_store::{IdpSignIn, StoredSignIn, Tokens};
use crate::{AuthError, client_identity, renewal_lock};

impl SignInsShared {
    /// Signs out.
    pub(crate) async fn sign_out(&self, server: &Arc<ServerConfig>) -> Result<SignOutResult, AuthError> {
        let session_state = self.session_state(&server.id);
        if let Some(preparation_cancel) = session_state.with(|now| now.preparation_cancel.take()) {
            preparation_cancel.cancel();
        }
        let _beginning = session_state.begin_lock.lock().await;
        session_state.cancel_attempt().await;
        let _one = session_state.refresh_lock.lock().await;
        let _alone = renewal_lock::acquire(&self.deps.data_dir, &server.id).await?;
        let stored = match self.load_sign_in(server, &session_state).await {
            Ok(stored) => stored,
            // It is deleted all the same.
            Err(AuthError::Unreadable) => None,
            Err(error) => return Err(error),
        };
        // Signing out only removes access, so it takes effect even if the audit entry can't be written; the
        // error is returned afterwards.
        let written = self.record(server, SignInOutcome::SignedOut, stored.as_deref()).await;
        self.token_store.forget::<IdpSignIn>(server).await?;
        match &stored {
            // Without this record, a server that needs no user would be signed in again by the next call.
            Some(stored) if self.is_non_interactive(server) => {
                let out =
                    StoredSignIn { tokens: None, account: None, scopes: Vec::new(), ..(**stored).clone() };
                self.store_sign_in(server, &session_state, out).await?;
            }
            Some(_) | None => {
                self.token_store.forget::<StoredSignIn>(server).await?;
                session_state.set_cached(server, None);
            }
        }
        session_state.with(|now| {
            now.problem = None;
            now.rejected_token = None;
            now.wanted_scopes.clear();
        });
        self.notify(server).await;
        let tokens =
            stored.as_ref().and_then(|stored| stored.tokens.as_ref().map(|tokens| (&**stored, tokens)));
        let revoked = match tokens {
            Some((stored, tokens)) => self.revoke(server, stored, tokens).await,
            None => false,
        };
        if revoked
            && let Err(problem) = self.record(server, SignInOutcome::TokensRevoked, stored.as_deref()).await
        {
            tracing::error!(server = %server.id, %problem, "a revocation is missing in the audit");
        }
        written.map_err(AuthError::Refused)?;
        Ok(SignOutResult { revoked })
    }

    /// Revokes the tokens, the refresh token first. Returns whether all were revoked.
    async fn revoke(&self, server: &ServerConfig, stored: &StoredSignIn, tokens: &Tokens) -> bool {
        let Some(url) = &stored.revocation_endpoint else { return false };
        let Ok(target) = SignInTarget::of(server) else { return false };
        let (Ok(address), Ok(Some(client))) =
            (target.url(), client_identity::for_tokens(target, &self.token_store, stored).await)
        else {
            return false;
        };
        let web = AuthHttpClient::of(&address).await;
        let endpoint = TokenEndpoint { web: &web, url, issuer: &stored.issuer, clock: &*self.deps.clock };
        let refresh = tokens.refresh.iter().map(|token| (token, "refresh_token"));
        let mut all = true;
        for (token, hint) in refresh.chain([(&tokens.access, "access_token")]) {
            let form = vec![("token", token.clone()), ("token_type_hint", Secret::new(hint))];
            if let Err(error) = endpoint.notify(&client, form).await {
                tracing::debug!(server = %server.id, %error, "a token could not be given back");
                all = false;
            }
        }
        all
    }
}
