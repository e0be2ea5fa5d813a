//! The login flow: starts a sign-in and handles its outcome. Each attempt that waits for the browser runs in
//! a task of its own with its own loopback listener.

use std::sync::Arc;

use gatehouse_model::sign_in::{SignInMethod, SignInSettings, SignInStart};
use gatehouse_model::{ErrorCode, ServerConfig, UserError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::AuthError;
use crate::account::Claims;
use crate::authorization_url::{
    AuthorizationContext, CallbackError, CodeGrant, PendingAuthorization, authorize_endpoint, token_endpoint,
};
use crate::client_identity::{self, ClientIdentity};
use crate::discovery::{DiscoveredServer, discover, from_settings};
use crate::http_client::{AuthHttpClient, host};
use crate::listener::{self, LoopbackListener};
use crate::registration::register;
use crate::session_state::{Attempt, SessionState};
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_endpoint::{ClientSource, GrantError, OAuthClient, TokenResponse};
use crate::token_store::{Registration, StoredSignIn, Tokens};
use crate::www_authenticate::Challenge;

/// The OpenID Connect scope for refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

impl SignInsShared {
    /// Starts to sign in, in place of any attempt that is in progress for this server. `open` opens the
    /// browser.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        server: Arc<ServerConfig>,
        open: bool,
    ) -> Result<SignInStart, UserError> {
        let session_state = self.session_state(&server.id);
        let preparation_cancel_token = self.stop.child_token();
        // A newer attempt replaces an older one, also while that one is still being prepared.
        if let Some(before) =
            session_state.with(|now| now.preparation_cancel.replace(preparation_cancel_token.clone()))
        {
            before.cancel();
        }
        let _one = session_state.begin_lock.lock().await;
        session_state.cancel_attempt().await;
        let begun =
            preparation_cancel_token.run_until_cancelled(self.start_attempt(&server, &session_state)).await;
        let Some(begun) = begun else {
            return Err(UserError::new(ErrorCode::Refused, "The sign-in was given up."));
        };
        match begun {
            Ok(None) => Ok(SignInStart { address: None }),
            Ok(Some(address)) => {
                if open {
                    self.open(&server, &address).await;
                }
                Ok(SignInStart { address: Some(address.into()) })
            }
            Err(error) => {
                let problem = UserError::from(error);
                session_state.with(|now| now.problem = Some(problem.clone()));
                self.record_failure(&server, &problem).await;
                self.notify(&server).await;
                Err(problem)
            }
        }
    }

    async fn start_attempt(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
    ) -> Result<Option<Url>, AuthError> {
        let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
        let url = target.url()?;
        let web = AuthHttpClient::of(&url).await;
        match target.settings().with {
            SignInMethod::Browser => {}
            SignInMethod::ClientSecret | SignInMethod::ClientKey { .. } => {
                self.sign_in_with_client_credentials(target, session_state).await?;
                self.announce_sign_in(server).await;
                return Ok(None);
            }
            SignInMethod::Enterprise { .. } => return self.sign_in_with_idp(server, session_state).await,
        }
        let challenge = session_state.with(|now| now.challenge.clone());
        let found = find(target, &web, &url, &challenge).await?;
        // Check this before anything is registered.
        authorize_endpoint(&web, &found.server)?;
        let client_metadata_url = self.client_metadata_url.lock().clone();
        let identity = client_identity::resolve(
            target,
            &self.token_store,
            (&found.server, client_metadata_url.as_deref()),
            self.now(),
        )
        .await?;
        let before = match &identity {
            ClientIdentity::Registered(known) => Some(&known.redirect),
            ClientIdentity::Known(_) | ClientIdentity::Register => None,
        };
        let listener = bind(target.settings(), before).await?;
        let client = match identity {
            ClientIdentity::Known(client) => client,
            ClientIdentity::Registered(known) if known.redirect == listener.redirect => {
                known.client(&found.server.methods())
            }
            ClientIdentity::Registered(_) | ClientIdentity::Register => {
                self.register(server, &web, &found, &listener).await?
            }
        };
        let stored = self.token_store.get::<StoredSignIn>(server).await.unwrap_or_default();
        let stored =
            stored.filter(|stored| stored.issuer == found.server.issuer && stored.resource == found.resource);
        let wanted_scopes = session_state.with(|now| now.wanted_scopes.clone());
        let scopes = scopes(target.settings(), &challenge, &found, (stored.as_ref(), &wanted_scopes));
        let grant = CodeGrant {
            web,
            server: found.server,
            is_issuer_known: !found.is_from_settings,
            client,
            resource: Some(found.resource),
            scopes,
        };
        let pending = grant.request(listener)?;
        let address = pending.address.clone();
        let (shared, target_server, target_state) =
            (Arc::clone(self), Arc::clone(server), Arc::clone(session_state));
        let on_response = move |authorization, response| async move {
            shared.complete_login(&target_server, &target_state, authorization, response).await
        };
        self.spawn_callback_wait(server, session_state, pending, on_response);
        Ok(Some(address))
    }

    async fn register(
        &self,
        server: &ServerConfig,
        web: &AuthHttpClient,
        found: &DiscoveredServer,
        listener: &LoopbackListener,
    ) -> Result<OAuthClient, AuthError> {
        let registration = register(web, &found.server, (&listener.redirect, &listener.redirect_uri)).await?;
        self.token_store.set(server, &registration).await?;
        Ok(registration.client(&found.server.methods()))
    }

    /// Starts a task that waits for the browser. `store_sign_in` stores the result.
    pub(crate) fn spawn_callback_wait<F, D>(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
        pending: PendingAuthorization,
        on_response: F,
    ) where
        F: FnOnce(AuthorizationContext, Result<TokenResponse, GrantError>) -> D + Send + 'static,
        D: Future<Output = Result<(), AuthError>> + Send,
    {
        let deadline = Instant::now() + self.deadline;
        let attempt = Attempt {
            host: host(&pending.address),
            until: self.now().plus(self.deadline),
            callback: Arc::clone(&pending.callback),
            cancel: self.stop.child_token(),
            ended: CancellationToken::new(),
        };
        session_state.with(|now| {
            now.attempt = Some(attempt.clone());
            now.listener = Some((attempt.cancel.clone(), attempt.ended.clone()));
            now.problem = None;
        });
        let (shared, server, session_state) =
            (Arc::clone(self), Arc::clone(server), Arc::clone(session_state));
        self.tasks.spawn(async move {
            // Marks the attempt as ended even if this task panics, so that nothing waits for it forever.
            let _ended = attempt.ended.clone().drop_guard();
            shared.notify(&server).await;
            let on_response = |authorization, response| async {
                let outcome = on_response(authorization, response).await.map_err(UserError::from);
                let good = outcome.is_ok();
                shared.finish_attempt(&server, &session_state, outcome.map_err(Some)).await;
                good
            };
            let no_answer = pending.run((deadline, &attempt.cancel), &*shared.deps.clock, on_response).await;
            match no_answer {
                Ok(()) => {}
                Err(CallbackError::Cancelled) => {
                    shared.finish_attempt(&server, &session_state, Err(None)).await
                }
                Err(CallbackError::TimedOut) => {
                    shared.finish_attempt(&server, &session_state, Err(Some(timed_out_error()))).await
                }
            }
        });
    }

    /// Records the end of an attempt. `Err(None)` means that it was cancelled, which isn't shown as an error.
    async fn finish_attempt(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        outcome: Result<(), Option<UserError>>,
    ) {
        let good = outcome.is_ok();
        if let Err(Some(problem)) = &outcome {
            self.record_failure(server, problem).await;
        }
        session_state.with(|now| {
            now.attempt = None;
            now.problem = outcome.err().flatten();
        });
        session_state.attempts.send_modify(|count| *count = count.wrapping_add(1));
        if good {
            self.announce_sign_in(server).await;
        } else {
            self.notify(server).await;
        }
    }

    /// Announces a successful sign-in.
    pub(crate) async fn announce_sign_in(&self, server: &ServerConfig) {
        self.notify(server).await;
        // Fails if there is no receiver, which is fine.
        drop(self.signed_in.send(server.id.clone()));
    }

    /// Stores a sign-in made from the token response.
    async fn complete_login(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        authorization: AuthorizationContext,
        response: Result<TokenResponse, GrantError>,
    ) -> Result<(), AuthError> {
        let grant = authorization.grant;
        let response = match response {
            Ok(response) => response,
            Err(error) => {
                self.forget_rejected_client(server, &grant.client, &error).await;
                self.forget_rejected_scopes(server, session_state, &error).await;
                return Err(error.into());
            }
        };
        let claims = response.id_token.as_ref().and_then(Claims::decode_unverified);
        let sign_in = StoredSignIn {
            resource: grant.resource.clone().unwrap_or_default(),
            account: claims.and_then(|claims| claims.account()),
            ..sign_in(&grant, response, self.now())?
        };
        self.store_new_sign_in(server, session_state, sign_in).await
    }

    /// Deletes a dynamic registration if the error shows that the authorization server doesn't accept the
    /// client any more.
    pub(crate) async fn forget_rejected_client(
        &self,
        server: &ServerConfig,
        client: &OAuthClient,
        error: &GrantError,
    ) {
        if client.source == ClientSource::Registered
            && error.is_about_client()
            && let Err(error) = self.token_store.forget::<Registration>(server).await
        {
            tracing::warn!(server = %server.id, %error, "a registration could not be forgotten");
        }
    }

    /// After `invalid_scope`, forgets the scopes of earlier sign-ins that aren't part of the current grant,
    /// so that the next attempt doesn't fail because of them again.
    async fn forget_rejected_scopes(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        error: &GrantError,
    ) {
        if !matches!(error, GrantError::Denied { code, .. } if code == "invalid_scope") {
            return;
        }
        session_state.with(|now| now.wanted_scopes.clear());
        let Ok(Some(stored)) = self.load_sign_in(server, session_state).await else { return };
        let scopes = stored.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
        let less = StoredSignIn { scopes, ..(*stored).clone() };
        if let Err(error) = self.store_sign_in(server, session_state, less).await {
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

fn timed_out_error() -> UserError {
    UserError::new(ErrorCode::TimedOut, "Nobody signed in within the time there was.").with_hint("Try again.")
}

/// The sign-in to store for a token response.
pub(crate) fn sign_in(
    grant: &CodeGrant,
    response: TokenResponse,
    now: gatehouse_model::Timestamp,
) -> Result<StoredSignIn, AuthError> {
    let given = response.scopes.unwrap_or_else(|| grant.scopes.clone());
    Ok(StoredSignIn {
        issuer: grant.server.issuer.clone(),
        resource: String::new(),
        client: grant.client.id.clone(),
        token_endpoint: token_endpoint(&grant.server)?.clone(),
        revocation_endpoint: grant.server.revocation_endpoint.clone(),
        methods: grant.server.methods(),
        scopes: merge_scopes(&grant.scopes, &given),
        account: None,
        tokens: Some(Tokens {
            access: response.access,
            refresh: response.refresh,
            scopes: given,
            received: now,
            lives_secs: response.lives_secs,
        }),
    })
}

/// Determines how to sign in to a server: from the user's settings if they contain endpoints, otherwise by
/// discovery.
pub(crate) async fn find(
    target: SignInTarget<'_>,
    web: &AuthHttpClient,
    url: &Url,
    challenge: &Challenge,
) -> Result<DiscoveredServer, AuthError> {
    match &target.settings().endpoints {
        Some(entered) => from_settings(url, entered),
        None => discover(web, url, challenge).await,
    }
}

/// Binds the listener for the redirect.
pub(crate) async fn bind(
    settings: &SignInSettings,
    before: Option<&Url>,
) -> Result<LoopbackListener, AuthError> {
    listener::bind(settings.redirect.as_deref(), before).await.map_err(|error| {
        let what = "Gatehouse cannot listen for the browser's answer.";
        let problem = UserError::new(ErrorCode::PortInUse, what).with_cause(format!("{error}."));
        AuthError::Refused(problem.with_hint("Close what uses the port, or set another redirect."))
    })
}

/// The scopes to request: those in the user's settings, else those of the server's challenge, else all that
/// the resource metadata lists; plus those that were granted or requested before or that a call lacked. Adds
/// `offline_access` where it is supported.
fn scopes(
    settings: &SignInSettings,
    challenge: &Challenge,
    found: &DiscoveredServer,
    (stored, wanted_scopes): (Option<&StoredSignIn>, &[String]),
) -> Vec<String> {
    let base =
        [&settings.scopes, &challenge.scopes, &found.scopes].into_iter().find(|scopes| !scopes.is_empty());
    let mut scopes = base.cloned().unwrap_or_default();
    scopes = merge_scopes(&scopes, stored.map(|stored| stored.scopes.as_slice()).unwrap_or_default());
    scopes = merge_scopes(&scopes, wanted_scopes);
    if !scopes.is_empty() && found.server.has_offline_access() && found.server.can_grant("refresh_token") {
        scopes = merge_scopes(&scopes, &[OFFLINE_ACCESS.to_owned()]);
    }
    scopes
}

/// Union that preserves order.
pub(crate) fn merge_scopes(first: &[String], second: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    for word in second {
        if !all.contains(word) {
            all.push(word.clone());
        }
    }
    all
}
