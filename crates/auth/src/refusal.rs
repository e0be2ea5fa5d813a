//! Handles a server's refusal of a request: uses another token if there is one, renews it, requests more
//! scopes, or asks the user to sign in.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ErrorCode, Problem, Secret, ServerConfig};

use crate::begin::find;
use crate::browser::authorize_endpoint;
use crate::challenge::Challenge;
use crate::discovery::{Found, issuers};
use crate::identity::{self, Way};
use crate::kept::SignIn;
use crate::renew::Why;
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::slot::Slot;
use crate::web::Web;
use crate::{AuthError, Next, Refusal, issuer_hint};

/// Time limit for discovering the issuer, during which the refused request waits.
const FIND: Duration = Duration::from_secs(12);

impl Inner {
    /// Decides what to do about a refusal.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        refusal: Refusal,
    ) -> Result<Next, AuthError> {
        let target = match Target::of(server) {
            Ok(target) => target,
            Err(problem) => return Ok(Next::Refused { reason: problem.to_string() }),
        };
        let slot = self.slot(&server.id);
        let challenge = Challenge::read(&refusal.challenges);
        if refusal.status == 403 {
            if !challenge.insufficient {
                return Ok(Next::Refused {
                    reason: format!("{} refuses access. The account lacks a right.", server.name),
                });
            }
            let asked = (refusal.sent.as_ref(), &challenge, refusal.waits);
            return Box::pin(self.step_up(server, &slot, asked)).await;
        }
        slot.with(|now| now.challenge = challenge.clone());
        let hint = refusal.challenges.iter().find_map(|value| issuer_hint(value));
        let kept = self.read_anew(server, &slot).await?;
        let Some(kept) = kept.filter(|kept| kept.tokens.is_some()) else {
            if self.renews_alone(server) {
                return self.without_user(server, &slot, hint).await;
            }
            return self.whom(target, &challenge, hint).await;
        };
        self.refused_token(target, server, (&slot, &kept), (refusal.sent, &challenge, refusal.once_more))
            .await
    }

    /// Handles a 401 although a token exists: it was refused, or wasn't sent.
    async fn refused_token(
        self: &Arc<Self>,
        target: Target<'_>,
        server: &Arc<ServerConfig>,
        (slot, kept): (&Arc<Slot>, &SignIn),
        (sent, challenge, once_more): (Option<Secret>, &Challenge, bool),
    ) -> Result<Next, AuthError> {
        let sign_in = || Next::SignIn { issuer: Some(kept.issuer.clone()) };
        let Some(tokens) = &kept.tokens else { return Ok(sign_in()) };
        let rejected = slot.with(|now| now.rejected.clone());
        if rejected.as_ref() == Some(&tokens.access) {
            return Ok(sign_in());
        }
        let sent = match sent {
            Some(sent) if sent == tokens.access => sent,
            _ if tokens.is_valid(self.now()) => return Ok(Next::Again(tokens.access.clone())),
            Some(sent) => sent,
            None => tokens.access.clone(),
        };
        if once_more {
            self.reject(server, slot, &sent).await;
            return Ok(sign_in());
        }
        if let Some(others) = self.other_issuers(target, kept, challenge).await {
            self.reject(server, slot, &sent).await;
            return Ok(Next::SignIn { issuer: others.into_iter().next() });
        }
        match self.fresh(server, slot, Why::Refused(sent.clone())).await? {
            Some(token) => Ok(Next::Again(token)),
            None => {
                self.reject(server, slot, &sent).await;
                Ok(sign_in())
            }
        }
    }

    /// Marks a token as rejected, so that it isn't sent again, and shows that in the state.
    async fn reject(&self, server: &ServerConfig, slot: &Slot, token: &Secret) {
        slot.with(|now| {
            now.rejected = Some(token.clone());
            now.problem.get_or_insert_with(|| {
                Problem::new(ErrorCode::Refused, "The server does not accept the sign-in any more.")
                    .todo("Sign in again.")
            });
        });
        self.tell(server).await;
    }

    /// The issuers that the server names now, if the issuer of the tokens isn't among them.
    async fn other_issuers(
        &self,
        target: Target<'_>,
        kept: &SignIn,
        challenge: &Challenge,
    ) -> Option<Vec<String>> {
        if target.settings().endpoints.is_some() {
            return None;
        }
        let url = target.url().ok()?;
        let web = Web::of(&url).await;
        let named = tokio::time::timeout(FIND, issuers(&web, &url, challenge)).await.ok()??;
        (!named.contains(&kept.issuer)).then_some(named)
    }

    /// For servers without interactive sign-in: fetches a token, once.
    async fn without_user(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
        hint: Option<String>,
    ) -> Result<Next, AuthError> {
        if self.read(server, slot).await?.is_some() {
            return Ok(Next::SignIn { issuer: hint });
        }
        match self.fresh(server, slot, Why::Due).await {
            Ok(Some(token)) => Ok(Next::Again(token)),
            Ok(None) => Ok(Next::SignIn { issuer: hint }),
            Err(AuthError::Refused(problem)) => Ok(refusal(problem)),
            Err(error) => Err(error),
        }
    }

    /// Finds out which issuer the user has to sign in with, and whether signing in is possible at all.
    async fn whom(
        &self,
        target: Target<'_>,
        challenge: &Challenge,
        hint: Option<String>,
    ) -> Result<Next, AuthError> {
        let finding = async {
            let url = target.url()?;
            let web = Web::of(&url).await;
            let found = find(target, &web, &url, challenge).await?;
            authorize_endpoint(&web, &found.server)?;
            Ok::<Found, AuthError>(found)
        };
        let found = match tokio::time::timeout(FIND, finding).await {
            Ok(Ok(found)) => found,
            Ok(Err(AuthError::Refused(problem))) => {
                // Another attempt may succeed; if it doesn't, it reports the same error.
                tracing::debug!(server = %target.server.id, %problem, "whom to sign in with is not known");
                return Ok(Next::SignIn { issuer: hint });
            }
            Ok(Err(_)) | Err(_) => return Ok(Next::SignIn { issuer: hint }),
        };
        let document = self.document.lock().clone();
        let way = identity::way(target, &self.keeper, (&found.server, document.as_deref()), self.now()).await;
        match way {
            Ok(Way::Client(_) | Way::Registered(_) | Way::Register) => {
                Ok(Next::SignIn { issuer: Some(found.server.issuer) })
            }
            Err(AuthError::Refused(problem)) => Ok(refusal(problem)),
            Err(error) => Err(error),
        }
    }
}

fn refusal(problem: Problem) -> Next {
    if problem.code == ErrorCode::NeedsClientRegistration {
        return Next::Register { reason: problem.why.unwrap_or(problem.what) };
    }
    Next::Refused { reason: problem.to_string() }
}
