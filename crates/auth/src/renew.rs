//! Token renewal (AUTH-6). A renewal is a transaction: only one runs at a time, also across processes; the
//! stored tokens are read again first, since another process may have renewed them; new tokens are stored
//! before they are used; and the renewal completes even if its caller is cancelled.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::record::SignInOutcome;
use gatehouse_model::sign_in::SignInWith;
use gatehouse_model::{ErrorCode, Problem, Secret, ServerConfig};
use tokio::time::Instant;

use crate::grant::{Form, GrantError, Granted, TokenEndpoint};
use crate::kept::{SignIn, Tokens};
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::slot::Slot;
use crate::web::Web;
use crate::{AuthError, identity, lock};

/// After a failed renewal, a token that is still valid is used for this long before the next try.
const REST: Duration = Duration::from_secs(30);

/// Why a token is renewed.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    /// It expires soon.
    Due,
    /// The server refused this token.
    Refused(Secret),
}

impl Inner {
    /// A token that is valid now; `None` if the user has to sign in.
    pub(crate) async fn bearer(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
    ) -> Result<Option<Secret>, AuthError> {
        if Target::of(server).is_err() {
            return Ok(None);
        }
        let slot = self.slot(&server.id);
        let kept = self.read(server, &slot).await?;
        let tokens = kept.as_ref().and_then(|kept| kept.tokens.as_ref());
        let (rejected, rest_until) = slot.with(|now| (now.rejected.clone(), now.rest_until));
        match tokens {
            Some(tokens) if rejected.as_ref() == Some(&tokens.access) => return Ok(None),
            Some(tokens) if !tokens.is_due(self.now()) => return Ok(Some(tokens.access.clone())),
            Some(tokens)
                if tokens.is_valid(self.now()) && rest_until.is_some_and(|until| Instant::now() < until) =>
            {
                return Ok(Some(tokens.access.clone()));
            }
            // Signed out, or the tokens were lost: the user has to sign in.
            None if kept.is_some() || !self.renews_alone(server) => return Ok(None),
            Some(_) | None => {}
        }
        self.fresh(server, &slot, Why::Due).await
    }

    /// Renews the token, or returns one that was renewed by another task or process meanwhile; `None` if the
    /// user has to sign in.
    pub(crate) async fn fresh(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
        why: Why,
    ) -> Result<Option<Secret>, AuthError> {
        if self.stop.is_cancelled() {
            return Err(AuthError::CutOff);
        }
        let (house, server, slot) = (Arc::clone(self), Arc::clone(server), Arc::clone(slot));
        let renewal = self.tasks.spawn(async move { house.renew(&server, &slot, why).await });
        renewal.await.map_err(|_| AuthError::CutOff)?
    }

    /// Whether tokens can be fetched without the user.
    pub(crate) fn renews_alone(&self, server: &ServerConfig) -> bool {
        Target::of(server).is_ok_and(|target| match target.settings().with {
            SignInWith::Browser => false,
            SignInWith::ClientSecret | SignInWith::ClientKey { .. } | SignInWith::Enterprise { .. } => true,
        })
    }

    async fn renew(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
        why: Why,
    ) -> Result<Option<Secret>, AuthError> {
        let _one = slot.renewing.lock().await;
        let _alone = lock::hold(&self.deps.data_dir, &server.id).await?;
        let kept = self.read_anew(server, slot).await?;
        let Some(kept) = kept else { return self.renew_alone(server, slot).await };
        let Some(tokens) = &kept.tokens else { return Ok(None) };
        let valid = tokens.is_valid(self.now());
        let done = match &why {
            Why::Due => !tokens.is_due(self.now()),
            Why::Refused(sent) => tokens.access != *sent && valid,
        };
        if done {
            return Ok(Some(tokens.access.clone()));
        }
        let usable = |error: AuthError| match why {
            Why::Due if valid => {
                slot.with(|now| now.rest_until = Some(Instant::now() + REST));
                tracing::debug!(server = %server.id, %error, "a token could not be renewed yet");
                Ok(Some(tokens.access.clone()))
            }
            Why::Due | Why::Refused(_) => Err(error),
        };
        let Some(refresh) = &tokens.refresh else {
            return match self.renew_alone(server, slot).await {
                Ok(Some(token)) => Ok(Some(token)),
                Ok(None) => Ok((valid && matches!(why, Why::Due)).then(|| tokens.access.clone())),
                Err(error) => usable(error),
            };
        };
        match self.refresh(server, (&kept, refresh)).await {
            Ok(granted) => self.renewed(server, slot, (&kept, tokens, granted)).await.map(Some),
            Err(Refresh::Temporary(error)) => usable(error),
            Err(Refresh::Ended(problem)) => {
                self.lost(server, slot, &kept, problem).await?;
                if self.renews_alone(server) { self.renew_alone(server, slot).await } else { Ok(None) }
            }
        }
    }

    /// Fetches a token without the user, if the settings allow it.
    async fn renew_alone(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
    ) -> Result<Option<Secret>, AuthError> {
        let Ok(target) = Target::of(server) else { return Ok(None) };
        let fetched = match target.settings().with {
            SignInWith::Browser => return Ok(None),
            SignInWith::ClientSecret | SignInWith::ClientKey { .. } => {
                self.fetch_by_itself(target, slot).await.map(Some)
            }
            SignInWith::Enterprise { .. } => self.fetch_by_company(target, slot).await,
        };
        let fetched = match fetched {
            Ok(Some(fetched)) => fetched,
            Ok(None) => return Ok(None),
            Err(error) => {
                if let AuthError::Refused(problem) = &error {
                    slot.with(|now| now.problem = Some(problem.clone()));
                    self.tell(server).await;
                }
                return Err(error);
            }
        };
        let access = fetched.tokens.as_ref().map(|tokens| tokens.access.clone());
        let was_signed_in = self.read_anew(server, slot).await?.is_some_and(|kept| kept.tokens.is_some());
        if !was_signed_in {
            let written = self.record(server, SignInOutcome::SignedIn, Some(&fetched)).await;
            written.map_err(AuthError::Refused)?;
        }
        self.keep(server, slot, fetched).await?;
        slot.with(|now| {
            now.problem = None;
            now.rejected = None;
            now.rest_until = None;
        });
        self.tell(server).await;
        Ok(access)
    }

    async fn refresh(
        &self,
        server: &ServerConfig,
        (kept, refresh): (&SignIn, &Secret),
    ) -> Result<Granted, Refresh> {
        let target = Target::of(server).map_err(|problem| Refresh::Temporary(AuthError::Refused(problem)))?;
        let url = target.url().map_err(Refresh::Temporary)?;
        let client = identity::of_tokens(target, &self.keeper, kept).await.map_err(Refresh::Temporary)?;
        let Some(client) = client else {
            return Err(Refresh::Ended("Gatehouse is known there by another client id by now.".to_owned()));
        };
        let web = Web::of(&url).await;
        let endpoint = TokenEndpoint {
            web: &web,
            url: &kept.token_endpoint,
            issuer: &kept.issuer,
            clock: &*self.deps.clock,
        };
        let form: Form = vec![
            ("grant_type", Secret::new("refresh_token")),
            ("refresh_token", refresh.clone()),
            ("resource", Secret::new(&*kept.resource)),
        ];
        match endpoint.ask(&client, form).await {
            Ok(granted) => Ok(granted),
            Err(error) => {
                self.drop_client(server, &client, &error).await;
                let over = matches!(&error, GrantError::Denied { code, .. } if code == "invalid_grant");
                if over || error.is_about_client() {
                    return Err(Refresh::Ended(error.to_string()));
                }
                Err(Refresh::Temporary(AuthError::Unreachable(error.to_string())))
            }
        }
    }

    async fn renewed(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        (kept, before, granted): (&SignIn, &Tokens, Granted),
    ) -> Result<Secret, AuthError> {
        let access = granted.access.clone();
        let tokens = Tokens {
            access: granted.access,
            refresh: granted.refresh.or_else(|| before.refresh.clone()),
            scopes: granted.scopes.unwrap_or_else(|| before.scopes.clone()),
            received: self.now(),
            lives_secs: granted.lives_secs,
        };
        self.keep(server, slot, SignIn { tokens: Some(tokens), ..kept.clone() }).await?;
        slot.with(|now| {
            now.problem = None;
            now.rejected = None;
            now.rest_until = None;
        });
        self.tell(server).await;
        Ok(access)
    }

    /// Drops tokens that are no longer usable. The granted scopes are kept for the next sign-in.
    async fn lost(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        kept: &SignIn,
        why: String,
    ) -> Result<(), AuthError> {
        let problem = Problem::new(ErrorCode::Refused, "The sign-in is not valid any more.").why(why);
        slot.with(|now| now.problem = Some(problem.todo("Sign in again.")));
        if let Err(problem) = self.record(server, SignInOutcome::Expired, Some(kept)).await {
            // The tokens are useless whether or not that can be recorded.
            tracing::error!(server = %server.id, %problem, "the end of a sign-in is missing in the audit");
        }
        self.keep(server, slot, SignIn { tokens: None, ..kept.clone() }).await?;
        self.tell(server).await;
        Ok(())
    }
}

/// Why a refresh failed.
enum Refresh {
    /// It may work later.
    Temporary(AuthError),
    /// The refresh token is no longer usable.
    Ended(String),
}
