//! Enterprise-managed authorization (ID-JAG): the user signs in at the company's identity provider. Its id
//! token is exchanged for an identity assertion grant (RFC 8693 token exchange), which the MCP server's
//! authorization server exchanges for an access token (RFC 7523). The identity provider decides what the
//! company allows.

use std::sync::Arc;

use gatehouse_model::sign_in::SignInMethod;
use gatehouse_model::{Secret, ServerConfig};
use url::Url;

use crate::account::Claims;
use crate::authorization_url::{AuthorizationContext, CodeGrant, token_endpoint};
use crate::discovery::{fetch_server_metadata, unusable};
use crate::http_client::AuthHttpClient;
use crate::login::{bind, find, merge_scopes, sign_in};
use crate::metadata::ServerMetadata;
use crate::session_state::SessionState;
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_endpoint::{
    ClientAuth, ClientSource, Form, GrantError, OAuthClient, TokenEndpoint, TokenResponse,
};
use crate::token_store::{IdpSignIn, StoredSignIn};
use crate::{AuthError, client_identity};

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The identity provider in the settings.
struct Provider {
    issuer: String,
    client: OAuthClient,
    server: ServerMetadata,
}

impl SignInsShared {
    /// Signs in with the stored id token, or otherwise through the browser. Returns the authorization URL in
    /// the second case.
    pub(crate) async fn sign_in_with_idp(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        session_state: &Arc<SessionState>,
    ) -> Result<Option<Url>, AuthError> {
        let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
        match self.fetch_with_idp(target, session_state).await {
            Ok(Some(fetched)) => {
                self.store_new_sign_in(server, session_state, fetched).await?;
                self.announce_sign_in(server).await;
                return Ok(None);
            }
            Ok(None) => {}
            // The stored id token may be what was refused. Signing in again provides another one.
            Err(AuthError::Refused(problem)) => {
                tracing::debug!(server = %server.id, %problem, "the kept sign-in at the company does not help");
            }
            Err(error) => return Err(error),
        }
        let web = AuthHttpClient::of(&target.url()?).await;
        let provider = self.provider(target, &web).await?;
        let offers = |scope: &str| {
            provider.server.scopes_supported.as_ref().is_some_and(|all| all.iter().any(|one| one == scope))
        };
        let more = ["email", "profile"].into_iter().filter(|scope| offers(scope));
        let grant = CodeGrant {
            web,
            server: provider.server.clone(),
            is_issuer_known: true,
            client: provider.client,
            resource: None,
            scopes: ["openid"].into_iter().chain(more).map(str::to_owned).collect(),
        };
        let pending = grant.request(bind(target.settings(), None).await?)?;
        let address = pending.address.clone();
        let (shared, target_server, target_state) =
            (Arc::clone(self), Arc::clone(server), Arc::clone(session_state));
        let on_response = move |authorization, response| async move {
            shared.complete_idp_login(&target_server, &target_state, authorization, response).await
        };
        self.spawn_callback_wait(server, session_state, pending, on_response);
        Ok(Some(address))
    }

    /// Fetches a token with the stored id token; `None` if there is none that is valid, so that the user has
    /// to sign in at the identity provider.
    pub(crate) async fn fetch_with_idp(
        &self,
        target: SignInTarget<'_>,
        session_state: &SessionState,
    ) -> Result<Option<StoredSignIn>, AuthError> {
        let SignInMethod::Enterprise { issuer, client, .. } = &target.settings().with else {
            return Ok(None);
        };
        let idp_sign_in = self.token_store.get::<IdpSignIn>(target.server).await?;
        let idp_sign_in = idp_sign_in.filter(|idp_sign_in| {
            idp_sign_in.issuer == *issuer
                && idp_sign_in.client == *client
                && idp_sign_in.expires.is_none_or(|expires| self.now() < expires)
        });
        match idp_sign_in {
            Some(idp_sign_in) => self.exchange_id_token(target, session_state, &idp_sign_in).await.map(Some),
            None => Ok(None),
        }
    }

    /// Stores an id token that the user already has.
    pub(crate) async fn adopt_id_token(
        &self,
        server: &ServerConfig,
        id_token: Secret,
    ) -> Result<(), AuthError> {
        let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
        let SignInMethod::Enterprise { issuer, client, .. } = &target.settings().with else {
            return Err(unusable("The settings name no identity provider."));
        };
        let claims = require_matching_claims(&id_token, issuer, client)?;
        let idp_sign_in =
            IdpSignIn { issuer: issuer.clone(), client: client.clone(), id_token, expires: claims.expires() };
        self.token_store.set(server, &idp_sign_in).await
    }

    async fn complete_idp_login(
        &self,
        server: &ServerConfig,
        session_state: &SessionState,
        authorization: AuthorizationContext,
        response: Result<TokenResponse, GrantError>,
    ) -> Result<(), AuthError> {
        let target = SignInTarget::of(server).map_err(AuthError::Refused)?;
        let (issuer, client) = (authorization.grant.server.issuer, authorization.grant.client.id);
        let id_token =
            response?.id_token.ok_or_else(|| unusable("The identity provider gave no id token."))?;
        let claims = require_matching_claims(&id_token, &issuer, &client)?;
        if claims.nonce.as_deref() != Some(authorization.nonce.reveal()) {
            return Err(unusable("The id token of the identity provider belongs to another sign-in."));
        }
        let idp_sign_in = IdpSignIn { issuer, client, id_token, expires: claims.expires() };
        self.token_store.set(server, &idp_sign_in).await?;
        let fetched = self.exchange_id_token(target, session_state, &idp_sign_in).await?;
        self.store_new_sign_in(server, session_state, fetched).await
    }

    async fn provider(&self, target: SignInTarget<'_>, web: &AuthHttpClient) -> Result<Provider, AuthError> {
        let SignInMethod::Enterprise { issuer, client, secret } = &target.settings().with else {
            return Err(unusable("The settings name no identity provider."));
        };
        let server = fetch_server_metadata(web, issuer).await?;
        let secret = match secret {
            Some(secret) => Some(target.expand_references(&self.token_store, "companySecret", secret).await?),
            None => None,
        };
        let auth = ClientAuth::with(secret, None, &server.methods());
        let client = OAuthClient { id: client.clone(), auth, source: ClientSource::Entered };
        Ok(Provider { issuer: issuer.clone(), client, server })
    }

    /// Exchanges the id token for an identity assertion grant, and that for an access token.
    async fn exchange_id_token(
        &self,
        target: SignInTarget<'_>,
        session_state: &SessionState,
        idp_sign_in: &IdpSignIn,
    ) -> Result<StoredSignIn, AuthError> {
        let url = target.url()?;
        let web = AuthHttpClient::of(&url).await;
        let (challenge, wanted_scopes) =
            session_state.with(|now| (now.challenge.clone(), now.wanted_scopes.clone()));
        let found = find(target, &web, &url, &challenge).await?;
        let own = &target.settings().scopes;
        let scopes = merge_scopes(if own.is_empty() { &challenge.scopes } else { own }, &wanted_scopes);
        let provider = self.provider(target, &web).await?;
        let mut form: Form = vec![
            ("grant_type", Secret::new(TOKEN_EXCHANGE)),
            ("requested_token_type", Secret::new(ID_JAG)),
            ("audience", Secret::new(&*found.server.issuer)),
            ("resource", Secret::new(&*found.resource)),
            ("subject_token", idp_sign_in.id_token.clone()),
            ("subject_token_type", Secret::new(ID_TOKEN)),
        ];
        let scope = (!scopes.is_empty()).then(|| ("scope", Secret::new(scopes.join(" "))));
        form.extend(scope.clone());
        let idp_endpoint = TokenEndpoint {
            web: &web,
            url: token_endpoint(&provider.server)?,
            issuer: &provider.issuer,
            clock: &*self.deps.clock,
        };
        let grant = idp_endpoint.request(&provider.client, form).await?.access;
        let client =
            client_identity::from_settings(target, &self.token_store, &found.server.methods()).await?;
        let client = client.ok_or_else(|| {
            unusable("The settings have no client id for the server's own authorization server.")
        })?;
        let mut form: Form = vec![("grant_type", Secret::new(JWT_BEARER)), ("assertion", grant)];
        form.extend(scope);
        let authorization = CodeGrant {
            web,
            server: found.server,
            is_issuer_known: true,
            client,
            resource: Some(found.resource.clone()),
            scopes,
        };
        let server_endpoint = TokenEndpoint {
            web: &authorization.web,
            url: token_endpoint(&authorization.server)?,
            issuer: &authorization.server.issuer,
            clock: &*self.deps.clock,
        };
        let response = server_endpoint.request(&authorization.client, form).await?;
        let account = Claims::decode_unverified(&idp_sign_in.id_token).and_then(|claims| claims.account());
        Ok(StoredSignIn {
            resource: found.resource,
            account,
            ..sign_in(&authorization, response, self.now())?
        })
    }
}

/// The claims of an id token if it is from this issuer and for this client. The signature isn't verified
/// here: the token came directly from the provider or from the user, and the provider verifies it when it is
/// exchanged.
fn require_matching_claims(id_token: &Secret, issuer: &str, client: &str) -> Result<Claims, AuthError> {
    Claims::decode_unverified(id_token)
        .filter(|claims| claims.iss.as_deref() == Some(issuer) && claims.is_for(client))
        .ok_or_else(|| unusable("The id token is not one of the identity provider for this client."))
}
