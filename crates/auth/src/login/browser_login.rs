//! Login in the browser at the server's authorization server (authorization code grant).

use std::sync::Arc;

use gatehouse_model::ServerConfig;
use gatehouse_model::sign_in::SignInSettings;
use url::Url;

use super::attempts::Attempts;
use super::authorization_url::AuthorizationContext;
use super::listener::{self, LoopbackListener};
use crate::client::authentication::OAuthClient;
use crate::client::identity::{self, ClientIdentity};
use crate::client::registration::{RedirectUri, register};
use crate::discovery::resolve::{DiscoveredServer, authorize_endpoint, find};
use crate::discovery::www_authenticate::Challenge;
use crate::error::AuthError;
use crate::grants::grant_request::{GrantRequest, merge_scopes};
use crate::grants::token_endpoint::TokenResponse;
use crate::http_client::AuthHttpClient;
use crate::id_token::Claims;
use crate::oauth_error::GrantError;
use crate::session::session_state::SessionState;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::StoredSignIn;
use crate::settings::SignInTarget;

/// The OpenID Connect scope for refresh tokens.
const OFFLINE_ACCESS: &str = "offline_access";

/// Starts an attempt, and returns the authorization URL.
pub(crate) async fn start(
    attempts: &Arc<Attempts>,
    server: &Arc<ServerConfig>,
    client_metadata_url: Option<&str>,
) -> Result<Url, AuthError> {
    let sessions = &attempts.sessions;
    let session_state = sessions.session_state(&server.id);
    let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
    let url = target.url()?;
    let web = AuthHttpClient::of(&url).await;
    let challenge = session_state.with(|data| data.challenge.clone());
    let found = find(&web, &url, target.settings().endpoints.as_ref(), &challenge).await?;
    // Check this before anything is registered.
    authorize_endpoint(&web, &found.server)?;
    let now = sessions.now();
    let token_store = &sessions.token_store;
    let identity = identity::resolve(target, token_store, &found.server, client_metadata_url, now).await?;
    let before = match &identity {
        ClientIdentity::Registered(known) => Some(&known.redirect),
        ClientIdentity::Known(_) | ClientIdentity::Register => None,
    };
    let listener = listener::bind(target.settings().redirect.as_deref(), before).await?;
    let client = match identity {
        ClientIdentity::Known(client) => client,
        ClientIdentity::Registered(known) if known.redirect == listener.redirect => {
            known.client(&found.server.methods())
        }
        ClientIdentity::Registered(_) | ClientIdentity::Register => {
            register_client(sessions, server, &web, &found, &listener).await?
        }
    };
    let stored = token_store.get::<StoredSignIn>(server).await.unwrap_or_default();
    let stored =
        stored.filter(|stored| stored.issuer == found.server.issuer && stored.resource == found.resource);
    let wanted_scopes = session_state.with(|data| data.wanted_scopes.clone());
    let scopes = scopes(target.settings(), &challenge, &found, stored.as_ref(), &wanted_scopes);
    let grant = GrantRequest {
        web,
        server: found.server,
        is_issuer_known: !found.is_from_settings,
        client,
        resource: Some(found.resource),
        scopes,
    };
    attempts.start_waiting(server, grant, listener, complete)
}

async fn register_client(
    sessions: &SignInSessions,
    server: &ServerConfig,
    web: &AuthHttpClient,
    found: &DiscoveredServer,
    listener: &LoopbackListener,
) -> Result<OAuthClient, AuthError> {
    let redirect = RedirectUri { url: &listener.redirect, text: &listener.redirect_uri };
    let registration = register(web, &found.server, redirect).await?;
    sessions.token_store.set(server, &registration).await?;
    Ok(registration.client(&found.server.methods()))
}

/// Stores a sign-in made from the token response.
async fn complete(
    sessions: Arc<SignInSessions>,
    server: Arc<ServerConfig>,
    authorization: AuthorizationContext,
    response: Result<TokenResponse, GrantError>,
) -> Result<(), AuthError> {
    let (sessions, server) = (&*sessions, &*server);
    let session_state = sessions.session_state(&server.id);
    let grant = authorization.grant;
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            identity::forget_rejected(&sessions.token_store, server, &grant.client, &error).await;
            forget_rejected_scopes(sessions, server, &session_state, &error).await;
            return Err(error.into());
        }
    };
    let claims = response.id_token.as_ref().and_then(Claims::decode_unverified);
    let account = claims.and_then(|claims| claims.account());
    let sign_in = StoredSignIn { account, ..grant.sign_in(response, sessions.now())? };
    sessions.store_new_sign_in(server, &session_state, sign_in).await
}

/// After `invalid_scope`, forgets the scopes of earlier sign-ins that aren't part of the current grant, so that
/// the next attempt doesn't fail because of them again.
async fn forget_rejected_scopes(
    sessions: &SignInSessions,
    server: &ServerConfig,
    session_state: &SessionState,
    error: &GrantError,
) {
    if !matches!(error, GrantError::Denied { code, .. } if code == "invalid_scope") {
        return;
    }
    session_state.with(|data| data.wanted_scopes.clear());
    let Ok(Some(stored)) = sessions.load_sign_in(server, session_state).await else { return };
    let scopes = stored.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
    let less = StoredSignIn { scopes, ..(*stored).clone() };
    if let Err(error) = sessions.store_sign_in(server, session_state, less).await {
        tracing::warn!(server = %server.id, %error, "scopes could not be forgotten");
    }
}

/// The scopes to request: those in the user's settings, else those of the server's challenge, else all that
/// the resource metadata lists; plus those that were granted or requested before or that a call lacked. Adds
/// `offline_access` where it is supported.
fn scopes(
    settings: &SignInSettings,
    challenge: &Challenge,
    found: &DiscoveredServer,
    stored: Option<&StoredSignIn>,
    wanted_scopes: &[String],
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
