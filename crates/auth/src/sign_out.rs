//! Sign-out (AUTH-7): tokens are deleted in any case, and revoked if the server supports it.

use std::sync::Arc;

use gatehouse_model::Secret;
use gatehouse_model::ServerConfig;
use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignedOut;

use crate::grant::TokenEndpoint;
use crate::kept::{Company, SignIn, Tokens};
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::web::Web;
use crate::{AuthError, identity, lock};

impl Inner {
    /// Signs out.
    pub(crate) async fn sign_out(&self, server: &Arc<ServerConfig>) -> Result<SignedOut, AuthError> {
        let slot = self.slot(&server.id);
        if let Some(preparing) = slot.with(|now| now.preparing.take()) {
            preparing.cancel();
        }
        let _beginning = slot.beginning.lock().await;
        slot.give_up().await;
        let _one = slot.renewing.lock().await;
        let _alone = lock::hold(&self.deps.data_dir, &server.id).await?;
        let kept = match self.read_anew(server, &slot).await {
            Ok(kept) => kept,
            // It is deleted all the same.
            Err(AuthError::Unreadable) => None,
            Err(error) => return Err(error),
        };
        // Signing out only removes access, so it takes effect even if the audit entry can't be written; the
        // error is returned afterwards.
        let written = self.record(server, SignInOutcome::SignedOut, kept.as_deref()).await;
        self.keeper.forget::<Company>(server).await?;
        match &kept {
            // Without this record, a server that needs no user would be signed in again by the next call.
            Some(kept) if self.renews_alone(server) => {
                let out = SignIn { tokens: None, account: None, scopes: Vec::new(), ..(**kept).clone() };
                self.keep(server, &slot, out).await?;
            }
            Some(_) | None => {
                self.keeper.forget::<SignIn>(server).await?;
                slot.set_copy(server, None);
            }
        }
        slot.with(|now| {
            now.problem = None;
            now.rejected = None;
            now.wanted.clear();
        });
        self.tell(server).await;
        let tokens = kept.as_ref().and_then(|kept| kept.tokens.as_ref().map(|tokens| (&**kept, tokens)));
        let revoked = match tokens {
            Some((kept, tokens)) => self.revoke(server, kept, tokens).await,
            None => false,
        };
        if revoked
            && let Err(problem) = self.record(server, SignInOutcome::TokensRevoked, kept.as_deref()).await
        {
            tracing::error!(server = %server.id, %problem, "a revocation is missing in the audit");
        }
        written.map_err(AuthError::Refused)?;
        Ok(SignedOut { revoked })
    }

    /// Revokes the tokens, the refresh token first. Returns whether all were revoked.
    async fn revoke(&self, server: &ServerConfig, kept: &SignIn, tokens: &Tokens) -> bool {
        let Some(url) = &kept.revocation_endpoint else { return false };
        let Ok(target) = Target::of(server) else { return false };
        let (Ok(address), Ok(Some(client))) =
            (target.url(), identity::of_tokens(target, &self.keeper, kept).await)
        else {
            return false;
        };
        let web = Web::of(&address).await;
        let endpoint = TokenEndpoint { web: &web, url, issuer: &kept.issuer, clock: &*self.deps.clock };
        let refresh = tokens.refresh.iter().map(|token| (token, "refresh_token"));
        let mut all = true;
        for (token, hint) in refresh.chain([(&tokens.access, "access_token")]) {
            let form = vec![("token", token.clone()), ("token_type_hint", Secret::new(hint))];
            if let Err(error) = endpoint.tell(&client, form).await {
                tracing::debug!(server = %server.id, %error, "a token could not be given back");
                all = false;
            }
        }
        all
    }
}
