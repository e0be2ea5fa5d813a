//! The login flow: starts a sign-in and handles its outcome. Each attempt that waits for the browser runs in
//! a task of its own with its own loopback listener.

use std::sync::Arc;

use gatehouse_model::sign_in::{SignInBegun, SignInSettings, SignInWith};
use gatehouse_model::{ErrorCode, Problem, ServerConfig};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::AuthError;
use crate::account::Claims;
use crate::browser::{Asked, CodeGrant, NoAnswer, Pending, authorize_endpoint, token_endpoint};
use crate::challenge::Challenge;
use crate::discovery::{Found, by_hand, discover};
use crate::grant::{Client, GrantError, Granted, Origin};
use crate::identity::{self, Way};
use crate::kept::{Registration, SignIn, Tokens};
use crate::listener::{self, Door};
use crate::registration::register;
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::slot::{Attempt, Slot};
use crate::web::{Web, host};

/// The OpenID Connect scope for refresh tokens.
const OFFLINE: &str = "offline_access";

impl Inner {
    /// Starts to sign in, in place of any attempt that is in progress for this server. `open` opens the
    /// browser.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        server: Arc<ServerConfig>,
        open: bool,
    ) -> Result<SignInBegun, Problem> {
        let slot = self.slot(&server.id);
        let given_up = self.stop.child_token();
        // A newer attempt replaces an older one, also while that one is still being prepared.
        if let Some(before) = slot.with(|now| now.preparing.replace(given_up.clone())) {
            before.cancel();
        }
        let _one = slot.beginning.lock().await;
        slot.give_up().await;
        let begun = given_up.run_until_cancelled(self.begin_anew(&server, &slot)).await;
        let Some(begun) = begun else {
            return Err(Problem::new(ErrorCode::Refused, "The sign-in was given up."));
        };
        match begun {
            Ok(None) => Ok(SignInBegun { address: None }),
            Ok(Some(address)) => {
                if open {
                    self.open(&server, &address).await;
                }
                Ok(SignInBegun { address: Some(address.into()) })
            }
            Err(error) => {
                let problem = Problem::from(error);
                slot.with(|now| now.problem = Some(problem.clone()));
                self.record_failure(&server, &problem).await;
                self.tell(&server).await;
                Err(problem)
            }
        }
    }

    async fn begin_anew(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
    ) -> Result<Option<Url>, AuthError> {
        let target = Target::of(server).map_err(AuthError::Refused)?;
        let url = target.url()?;
        let web = Web::of(&url).await;
        match target.settings().with {
            SignInWith::Browser => {}
            SignInWith::ClientSecret | SignInWith::ClientKey { .. } => {
                self.by_itself(target, slot).await?;
                self.signed_in(server).await;
                return Ok(None);
            }
            SignInWith::Enterprise { .. } => return self.by_company(server, slot).await,
        }
        let challenge = slot.with(|now| now.challenge.clone());
        let found = find(target, &web, &url, &challenge).await?;
        // Check this before anything is registered.
        authorize_endpoint(&web, &found.server)?;
        let document = self.document.lock().clone();
        let way =
            identity::way(target, &self.keeper, (&found.server, document.as_deref()), self.now()).await?;
        let before = match &way {
            Way::Registered(known) => Some(&known.redirect),
            Way::Client(_) | Way::Register => None,
        };
        let door = bind(target.settings(), before).await?;
        let client = match way {
            Way::Client(client) => client,
            Way::Registered(known) if known.redirect == door.redirect => {
                known.client(&found.server.methods())
            }
            Way::Registered(_) | Way::Register => self.register(server, &web, &found, &door).await?,
        };
        let kept = self.keeper.get::<SignIn>(server).await.unwrap_or_default();
        let kept = kept.filter(|kept| kept.issuer == found.server.issuer && kept.resource == found.resource);
        let wanted = slot.with(|now| now.wanted.clone());
        let scopes = scopes(target.settings(), &challenge, &found, (kept.as_ref(), &wanted));
        let grant = CodeGrant {
            web,
            server: found.server,
            known: !found.by_hand,
            client,
            resource: Some(found.resource),
            scopes,
        };
        let pending = grant.ask(door)?;
        let address = pending.address.clone();
        let (house, of, its) = (Arc::clone(self), Arc::clone(server), Arc::clone(slot));
        let keep = move |asked, granted| async move { house.finish(&of, &its, asked, granted).await };
        self.wait_for(server, slot, pending, keep);
        Ok(Some(address))
    }

    async fn register(
        &self,
        server: &ServerConfig,
        web: &Web,
        found: &Found,
        door: &Door,
    ) -> Result<Client, AuthError> {
        let registration = register(web, &found.server, (&door.redirect, &door.told)).await?;
        self.keeper.set(server, &registration).await?;
        Ok(registration.client(&found.server.methods()))
    }

    /// Starts a task that waits for the browser. `keep` stores the result.
    pub(crate) fn wait_for<F, D>(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
        pending: Pending,
        keep: F,
    ) where
        F: FnOnce(Asked, Result<Granted, GrantError>) -> D + Send + 'static,
        D: Future<Output = Result<(), AuthError>> + Send,
    {
        let deadline = Instant::now() + self.deadline;
        let attempt = Attempt {
            host: host(&pending.address),
            until: self.now().plus(self.deadline),
            desk: Arc::clone(&pending.desk),
            cancel: self.stop.child_token(),
            ended: CancellationToken::new(),
        };
        slot.with(|now| {
            now.attempt = Some(attempt.clone());
            now.listener = Some((attempt.cancel.clone(), attempt.ended.clone()));
            now.problem = None;
        });
        let (house, server, slot) = (Arc::clone(self), Arc::clone(server), Arc::clone(slot));
        self.tasks.spawn(async move {
            // Marks the attempt as ended even if this task panics, so that nothing waits for it forever.
            let _ended = attempt.ended.clone().drop_guard();
            house.tell(&server).await;
            let keep = |asked, granted| async {
                let outcome = keep(asked, granted).await.map_err(Problem::from);
                let good = outcome.is_ok();
                house.ended(&server, &slot, outcome.map_err(Some)).await;
                good
            };
            let no_answer = pending.run((deadline, &attempt.cancel), &*house.deps.clock, keep).await;
            match no_answer {
                Ok(()) => {}
                Err(NoAnswer::Cancelled) => house.ended(&server, &slot, Err(None)).await,
                Err(NoAnswer::TooLate) => house.ended(&server, &slot, Err(Some(too_late()))).await,
            }
        });
    }

    /// Records the end of an attempt. `Err(None)` means that it was cancelled, which isn't shown as an error.
    async fn ended(&self, server: &ServerConfig, slot: &Slot, outcome: Result<(), Option<Problem>>) {
        let good = outcome.is_ok();
        if let Err(Some(problem)) = &outcome {
            self.record_failure(server, problem).await;
        }
        slot.with(|now| {
            now.attempt = None;
            now.problem = outcome.err().flatten();
        });
        slot.attempts.send_modify(|count| *count = count.wrapping_add(1));
        if good {
            self.signed_in(server).await;
        } else {
            self.tell(server).await;
        }
    }

    /// Announces a successful sign-in.
    pub(crate) async fn signed_in(&self, server: &ServerConfig) {
        self.tell(server).await;
        // Fails if there is no receiver, which is fine.
        drop(self.signed_in.send(server.id.clone()));
    }

    /// Stores a sign-in made from the token response.
    async fn finish(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        asked: Asked,
        granted: Result<Granted, GrantError>,
    ) -> Result<(), AuthError> {
        let grant = asked.grant;
        let granted = match granted {
            Ok(granted) => granted,
            Err(error) => {
                self.drop_client(server, &grant.client, &error).await;
                self.drop_scopes(server, slot, &error).await;
                return Err(error.into());
            }
        };
        let claims = granted.id_token.as_ref().and_then(Claims::read);
        let sign_in = SignIn {
            resource: grant.resource.clone().unwrap_or_default(),
            account: claims.and_then(|claims| claims.account()),
            ..sign_in(&grant, granted, self.now())?
        };
        self.keep_new(server, slot, sign_in).await
    }

    /// Deletes a dynamic registration if the error shows that the authorization server doesn't accept the
    /// client any more.
    pub(crate) async fn drop_client(&self, server: &ServerConfig, client: &Client, error: &GrantError) {
        if client.origin == Origin::Registered
            && error.is_about_client()
            && let Err(error) = self.keeper.forget::<Registration>(server).await
        {
            tracing::warn!(server = %server.id, %error, "a registration could not be forgotten");
        }
    }

    /// After `invalid_scope`, forgets the scopes of earlier sign-ins that aren't part of the current grant,
    /// so that the next attempt doesn't fail because of them again.
    async fn drop_scopes(&self, server: &ServerConfig, slot: &Slot, error: &GrantError) {
        if !matches!(error, GrantError::Denied { code, .. } if code == "invalid_scope") {
            return;
        }
        slot.with(|now| now.wanted.clear());
        let Ok(Some(kept)) = self.read_anew(server, slot).await else { return };
        let scopes = kept.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let less = SignIn { scopes, ..(*kept).clone() };
        if let Err(error) = self.keep(server, slot, less).await {
            tracing::warn!(server = %server.id, %error, "scopes could not be forgotten");
        }
    }

    /// Opens the browser. A failure is only logged: the address can still be shown to the user.
    pub(crate) async fn open(&self, server: &ServerConfig, address: &Url) {
        let (browser, address) = (Arc::clone(&self.deps.open), address.to_string());
        let opened = tokio::task::spawn_blocking(move || browser.open(&address)).await;
        if let Ok(Err(error)) = opened {
            tracing::warn!(server = %server.id, %error, "the browser could not be opened");
        }
    }
}

fn too_late() -> Problem {
    Problem::new(ErrorCode::TimedOut, "Nobody signed in within the time there was.").todo("Try again.")
}

/// The sign-in to store for a token response.
pub(crate) fn sign_in(
    grant: &CodeGrant,
    granted: Granted,
    now: gatehouse_model::Timestamp,
) -> Result<SignIn, AuthError> {
    let given = granted.scopes.unwrap_or_else(|| grant.scopes.clone());
    Ok(SignIn {
        issuer: grant.server.issuer.clone(),
        resource: String::new(),
        client: grant.client.id.clone(),
        token_endpoint: token_endpoint(&grant.server)?.clone(),
        revocation_endpoint: grant.server.revocation_endpoint.clone(),
        methods: grant.server.methods(),
        scopes: union(&grant.scopes, &given),
        account: None,
        tokens: Some(Tokens {
            access: granted.access,
            refresh: granted.refresh,
            scopes: given,
            received: now,
            lives_secs: granted.lives_secs,
        }),
    })
}

/// Determines how to sign in to a server: from the user's settings if they contain endpoints, otherwise by
/// discovery.
pub(crate) async fn find(
    target: Target<'_>,
    web: &Web,
    url: &Url,
    challenge: &Challenge,
) -> Result<Found, AuthError> {
    match &target.settings().endpoints {
        Some(entered) => by_hand(url, entered),
        None => discover(web, url, challenge).await,
    }
}

/// Binds the listener for the redirect.
pub(crate) async fn bind(settings: &SignInSettings, before: Option<&Url>) -> Result<Door, AuthError> {
    listener::bind(settings.redirect.as_deref(), before).await.map_err(|error| {
        let what = "Gatehouse cannot listen for the browser's answer.";
        let problem = Problem::new(ErrorCode::PortInUse, what).why(format!("{error}."));
        AuthError::Refused(problem.todo("Close what uses the port, or set another redirect."))
    })
}

/// The scopes to request: those in the user's settings, else those of the server's challenge, else all that
/// the resource metadata lists; plus those that were granted or requested before or that a call lacked. Adds
/// `offline_access` where it is supported.
fn scopes(
    settings: &SignInSettings,
    challenge: &Challenge,
    found: &Found,
    (kept, wanted): (Option<&SignIn>, &[String]),
) -> Vec<String> {
    let base =
        [&settings.scopes, &challenge.scopes, &found.scopes].into_iter().find(|scopes| !scopes.is_empty());
    let mut scopes = base.cloned().unwrap_or_default();
    scopes = union(&scopes, kept.map(|kept| kept.scopes.as_slice()).unwrap_or_default());
    scopes = union(&scopes, wanted);
    if !scopes.is_empty() && found.server.has_offline_access() && found.server.may_grant("refresh_token") {
        scopes = union(&scopes, &[OFFLINE.to_owned()]);
    }
    scopes
}

/// Union that preserves order.
pub(crate) fn union(first: &[String], second: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    for word in second {
        if !all.contains(word) {
            all.push(word.clone());
        }
    }
    all
}
