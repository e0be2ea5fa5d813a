//! Enterprise-managed authorization (ID-JAG): the id token of the company's identity provider is exchanged for
//! an identity assertion grant (RFC 8693 token exchange), which the MCP server's authorization server exchanges
//! for an access token (RFC 7523). The identity provider decides what the company allows.

use gatehouse_model::sign_in::SignInMethod;
use gatehouse_model::{Clock, Secret, message};

use super::grant_request::{GrantContext, GrantRequest};
use super::token_endpoint::{Form, TokenEndpoint};
use crate::client::authentication::{ClientAuth, ClientSource, OAuthClient};
use crate::client::{identity, secret_references};
use crate::discovery::metadata::ServerMetadata;
use crate::discovery::resolve::{fetch_server_metadata, find, token_endpoint};
use crate::error::{AuthError, unusable};
use crate::http_client::AuthHttpClient;
use crate::id_token::Claims;
use crate::session::token_store::{IdpSignIn, StoredSignIn, TokenStore};
use crate::settings::SignInTarget;

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The identity provider in the settings.
pub(crate) struct Provider {
    issuer: String,
    pub(crate) client: OAuthClient,
    pub(crate) server: ServerMetadata,
}

impl Provider {
    /// Fetches the metadata of the identity provider that the settings name.
    pub(crate) async fn fetch(
        target: SignInTarget<'_>,
        token_store: &TokenStore,
        web: &AuthHttpClient,
    ) -> Result<Self, AuthError> {
        let SignInMethod::Enterprise { issuer, client, secret } = &target.settings().with else {
            return Err(unusable(message!("error.auth.cause.noProvider")));
        };
        let server = fetch_server_metadata(web, issuer).await?;
        let secret = match secret {
            Some(secret) => {
                Some(secret_references::expand(target, token_store, "companySecret", secret).await?)
            }
            None => None,
        };
        let auth = ClientAuth::with(secret, None, &server.methods());
        let client = OAuthClient { id: client.clone(), auth, source: ClientSource::Entered };
        Ok(Self { issuer: issuer.clone(), client, server })
    }

    fn endpoint<'a>(
        &'a self,
        web: &'a AuthHttpClient,
        clock: &'a dyn Clock,
    ) -> Result<TokenEndpoint<'a>, AuthError> {
        Ok(TokenEndpoint { web, url: token_endpoint(&self.server)?, issuer: &self.issuer, clock })
    }
}

/// Fetches a token with the stored id token; `None` if there is none that is valid, so that the user has to
/// sign in at the identity provider.
pub(crate) async fn fetch(context: &GrantContext<'_>) -> Result<Option<StoredSignIn>, AuthError> {
    let SignInMethod::Enterprise { issuer, client, .. } = &context.target.settings().with else {
        return Ok(None);
    };
    let now = context.clock.now();
    let idp_sign_in = context.token_store.get::<IdpSignIn>(context.target.server).await?;
    let idp_sign_in = idp_sign_in.filter(|idp_sign_in| {
        idp_sign_in.issuer == *issuer
            && idp_sign_in.client == *client
            && idp_sign_in.expires.is_none_or(|expires| now < expires)
    });
    match idp_sign_in {
        Some(idp_sign_in) => exchange_id_token(context, &idp_sign_in).await.map(Some),
        None => Ok(None),
    }
}

/// Exchanges the id token for an identity assertion grant, and that for an access token.
pub(crate) async fn exchange_id_token(
    context: &GrantContext<'_>,
    idp_sign_in: &IdpSignIn,
) -> Result<StoredSignIn, AuthError> {
    let target = context.target;
    let url = target.url()?;
    let web = AuthHttpClient::of(&url).await;
    let found = find(&web, &url, target.settings().endpoints.as_ref(), &context.challenge).await?;
    let scopes = context.scopes();
    let provider = Provider::fetch(target, context.token_store, &web).await?;
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
    let assertion = provider.endpoint(&web, context.clock)?.request(&provider.client, form).await?.access;
    let client = identity::from_settings(target, context.token_store, &found.server.methods()).await?;
    let client = client.ok_or_else(|| unusable(message!("error.auth.cause.noServerClient")))?;
    let mut form: Form = vec![("grant_type", Secret::new(JWT_BEARER)), ("assertion", assertion)];
    form.extend(scope);
    let grant = GrantRequest {
        web,
        server: found.server,
        is_issuer_known: true,
        client,
        resource: Some(found.resource),
        scopes,
    };
    let response = grant.endpoint(context.clock)?.request(&grant.client, form).await?;
    let account = Claims::decode_unverified(&idp_sign_in.id_token).and_then(|claims| claims.account());
    Ok(StoredSignIn { account, ..grant.sign_in(response, context.clock.now())? })
}

/// The claims of an id token if it is from this issuer and for this client. The signature isn't verified
/// here: the token came directly from the provider or from the user, and the provider verifies it when it is
/// exchanged.
pub(crate) fn require_matching_claims(
    id_token: &Secret,
    issuer: &str,
    client: &str,
) -> Result<Claims, AuthError> {
    Claims::decode_unverified(id_token)
        .filter(|claims| claims.iss.as_deref() == Some(issuer) && claims.is_for(client))
        .ok_or_else(|| unusable(message!("error.auth.cause.otherIdToken")))
}
