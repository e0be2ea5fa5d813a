//! What a token is requested with, and the sign-in that its response makes.

use gatehouse_model::{Clock, Secret, Timestamp};

use super::token_endpoint::{Form, TokenEndpoint, TokenResponse};
use crate::client::authentication::OAuthClient;
use crate::discovery::metadata::ServerMetadata;
use crate::discovery::resolve::token_endpoint;
use crate::discovery::www_authenticate::Challenge;
use crate::error::{AuthError, sentences};
use crate::http_client::AuthHttpClient;
use crate::oauth_error::GrantError;
use crate::session::session_state::SessionState;
use crate::session::sessions::SignInSessions;
use crate::session::token_store::{StoredSignIn, TokenStore, Tokens};
use crate::settings::SignInTarget;

/// Parameters of a grant.
pub(crate) struct GrantRequest {
    pub(crate) web: AuthHttpClient,
    pub(crate) server: ServerMetadata,
    /// Whether the issuer is known from a metadata document.
    pub(crate) is_issuer_known: bool,
    pub(crate) client: OAuthClient,
    /// The `resource` parameter (RFC 8707).
    pub(crate) resource: Option<String>,
    /// The scopes to request; if empty, no `scope` parameter is sent.
    pub(crate) scopes: Vec<String>,
}

/// An authorization code with what proves that this client requested it.
pub(crate) struct AuthorizationCode {
    pub(crate) code: Secret,
    /// The PKCE code verifier.
    pub(crate) verifier: Secret,
    pub(crate) redirect_uri: String,
}

impl GrantRequest {
    /// The token endpoint of the authorization server.
    pub(crate) fn endpoint<'a>(&'a self, clock: &'a dyn Clock) -> Result<TokenEndpoint<'a>, AuthError> {
        let url = token_endpoint(&self.server)?;
        Ok(TokenEndpoint { web: &self.web, url, issuer: &self.server.issuer, clock })
    }

    pub(crate) async fn exchange_code(
        &self,
        code: AuthorizationCode,
        clock: &dyn Clock,
    ) -> Result<TokenResponse, GrantError> {
        let endpoint = self.endpoint(clock).map_err(|error| GrantError::Unusable(sentences(error.into())))?;
        let mut form: Form = vec![
            ("grant_type", Secret::new("authorization_code")),
            ("code", code.code),
            ("redirect_uri", Secret::new(code.redirect_uri)),
            ("code_verifier", code.verifier),
        ];
        form.extend(self.resource.as_deref().map(|resource| ("resource", Secret::new(resource))));
        endpoint.request(&self.client, form).await
    }

    /// The sign-in to store for a token response, without its account.
    pub(crate) fn sign_in(
        &self,
        response: TokenResponse,
        received: Timestamp,
    ) -> Result<StoredSignIn, AuthError> {
        let granted = response.scopes.unwrap_or_else(|| self.scopes.clone());
        Ok(StoredSignIn {
            issuer: self.server.issuer.clone(),
            resource: self.resource.clone().unwrap_or_default(),
            client: self.client.id.clone(),
            token_endpoint: token_endpoint(&self.server)?.clone(),
            revocation_endpoint: self.server.revocation_endpoint.clone(),
            methods: self.server.methods(),
            scopes: merge_scopes(&self.scopes, &granted),
            account: None,
            tokens: Some(Tokens {
                access: response.access,
                refresh: response.refresh,
                scopes: granted,
                received,
                lives_secs: response.lives_secs,
            }),
        })
    }
}

/// What a grant without a login is made from.
pub(crate) struct GrantContext<'a> {
    pub(crate) target: SignInTarget<'a>,
    pub(crate) token_store: &'a TokenStore,
    pub(crate) clock: &'a dyn Clock,
    /// The server's last challenge.
    pub(crate) challenge: Challenge,
    /// Scopes that a call lacked.
    wanted_scopes: Vec<String>,
}

impl<'a> GrantContext<'a> {
    pub(crate) fn new(
        sessions: &'a SignInSessions,
        session_state: &SessionState,
        target: SignInTarget<'a>,
    ) -> Self {
        let (challenge, wanted_scopes) =
            session_state.with(|data| (data.challenge.clone(), data.wanted_scopes.clone()));
        let (token_store, clock) = (&sessions.token_store, &*sessions.clock);
        Self { target, token_store, clock, challenge, wanted_scopes }
    }

    /// The scopes to request: those in the settings, else those of the challenge, plus those that a call lacked.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let own = &self.target.settings().scopes;
        merge_scopes(if own.is_empty() { &self.challenge.scopes } else { own }, &self.wanted_scopes)
    }
}

/// Union that preserves order.
pub(crate) fn merge_scopes(first: &[String], second: &[String]) -> Vec<String> {
    let mut all = first.to_vec();
    for scope in second {
        if !all.contains(scope) {
            all.push(scope.clone());
        }
    }
    all
}
