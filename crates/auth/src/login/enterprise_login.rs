//! Login at the company's identity provider (enterprise-managed authorization): its id token is stored and
//! exchanged, also by later renewals, for access tokens of the server.

use std::sync::Arc;

use gatehouse_model::sign_in::SignInMethod;
use gatehouse_model::{Secret, ServerConfig, message};
use url::Url;

use super::attempts::Attempts;
use super::authorization_url::AuthorizationContext;
use super::listener;
use crate::error::{AuthError, unusable};
use crate::grants::enterprise_auth::{self, Provider, exchange_id_token, require_matching_claims};
use crate::grants::grant_request::{GrantContext, GrantRequest};
use crate::grants::token_endpoint::TokenResponse;
use crate::http_client::AuthHttpClient;
use crate::oauth_error::GrantError;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::IdpSignIn;
use crate::settings::SignInTarget;

/// Signs in with the stored id token, or otherwise through the browser. Returns the authorization URL in the
/// second case.
pub(crate) async fn start(
    attempts: &Arc<Attempts>,
    server: &Arc<ServerConfig>,
) -> Result<Option<Url>, AuthError> {
    let sessions = &attempts.sessions;
    let session_state = sessions.session_state(&server.id);
    let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
    match enterprise_auth::fetch(&GrantContext::new(sessions, &session_state, target)).await {
        Ok(Some(fetched)) => {
            sessions.store_new_sign_in(server, &session_state, fetched).await?;
            attempts.announce_sign_in(server).await;
            return Ok(None);
        }
        Ok(None) => {}
        // The stored id token may be what was refused. Signing in again provides another one.
        Err(AuthError::Refused(error)) => {
            tracing::debug!(server = %server.id, %error, "the stored sign-in at the company does not help");
        }
        Err(error) => return Err(error),
    }
    let web = AuthHttpClient::of(&target.url()?).await;
    let provider = Provider::fetch(target, &sessions.token_store, &web).await?;
    let offers = |scope: &str| {
        provider.server.scopes_supported.as_ref().is_some_and(|all| all.iter().any(|one| one == scope))
    };
    let more = ["email", "profile"].into_iter().filter(|scope| offers(scope));
    let grant = GrantRequest {
        web,
        scopes: ["openid"].into_iter().chain(more).map(str::to_owned).collect(),
        server: provider.server,
        is_issuer_known: true,
        client: provider.client,
        resource: None,
    };
    let listener = listener::bind(target.settings().redirect.as_deref(), None).await?;
    attempts.start_waiting(server, grant, listener, complete).map(Some)
}

/// Stores an id token that the user already has.
pub(crate) async fn adopt_id_token(
    sessions: &SignInSessions,
    server: &ServerConfig,
    id_token: Secret,
) -> Result<(), AuthError> {
    let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
    let SignInMethod::Enterprise { issuer, client, .. } = &target.settings().with else {
        return Err(unusable(message!("error.auth.cause.noProvider")));
    };
    let claims = require_matching_claims(&id_token, issuer, client)?;
    let idp_sign_in =
        IdpSignIn { issuer: issuer.clone(), client: client.clone(), id_token, expires: claims.expires() };
    sessions.token_store.set(server, &idp_sign_in).await
}

async fn complete(
    sessions: Arc<SignInSessions>,
    server: Arc<ServerConfig>,
    authorization: AuthorizationContext,
    response: Result<TokenResponse, GrantError>,
) -> Result<(), AuthError> {
    let (sessions, server) = (&*sessions, &*server);
    let session_state = sessions.session_state(&server.id);
    let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
    let (issuer, client) = (authorization.grant.server.issuer, authorization.grant.client.id);
    let id_token = response?.id_token.ok_or_else(|| unusable(message!("error.auth.cause.noIdToken")))?;
    let claims = require_matching_claims(&id_token, &issuer, &client)?;
    if claims.nonce.as_deref() != Some(authorization.nonce.reveal()) {
        return Err(unusable(message!("error.auth.cause.idTokenOfOther")));
    }
    let idp_sign_in = IdpSignIn { issuer, client, id_token, expires: claims.expires() };
    sessions.token_store.set(server, &idp_sign_in).await?;
    let context = GrantContext::new(sessions, &session_state, target);
    let fetched = exchange_id_token(&context, &idp_sign_in).await?;
    sessions.store_new_sign_in(server, &session_state, fetched).await
}
