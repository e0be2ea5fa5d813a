//! Enterprise-managed authorization (ID-JAG): the user signs in at the company's identity provider. Its id
//! token is exchanged for an identity assertion grant (RFC 8693 token exchange), which the MCP server's
//! authorization server exchanges for an access token (RFC 7523). The identity provider decides what the
//! company allows.

use std::sync::Arc;

use gatehouse_model::sign_in::SignInWith;
use gatehouse_model::{Secret, ServerConfig};
use url::Url;

use crate::account::Claims;
use crate::begin::{bind, find, sign_in, union};
use crate::browser::{Asked, CodeGrant, token_endpoint};
use crate::discovery::{ask_issuer, unusable};
use crate::grant::{Client, Form, GrantError, Granted, Origin, Proof, TokenEndpoint};
use crate::kept::{Company, SignIn};
use crate::metadata::ServerMetadata;
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::slot::Slot;
use crate::web::Web;
use crate::{AuthError, identity};

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// The identity provider in the settings.
struct Provider {
    issuer: String,
    client: Client,
    server: ServerMetadata,
}

impl Inner {
    /// Signs in with the stored id token, or otherwise through the browser. Returns the authorization URL in
    /// the second case.
    pub(crate) async fn by_company(
        self: &Arc<Self>,
        server: &Arc<ServerConfig>,
        slot: &Arc<Slot>,
    ) -> Result<Option<Url>, AuthError> {
        let target = Target::of(server).map_err(AuthError::Refused)?;
        match self.fetch_by_company(target, slot).await {
            Ok(Some(fetched)) => {
                self.keep_new(server, slot, fetched).await?;
                self.signed_in(server).await;
                return Ok(None);
            }
            Ok(None) => {}
            // The stored id token may be what was refused. Signing in again provides another one.
            Err(AuthError::Refused(problem)) => {
                tracing::debug!(server = %server.id, %problem, "the kept sign-in at the company does not help");
            }
            Err(error) => return Err(error),
        }
        let web = Web::of(&target.url()?).await;
        let provider = self.provider(target, &web).await?;
        let offers = |scope: &str| {
            provider.server.scopes_supported.as_ref().is_some_and(|all| all.iter().any(|one| one == scope))
        };
        let more = ["email", "profile"].into_iter().filter(|scope| offers(scope));
        let grant = CodeGrant {
            web,
            server: provider.server.clone(),
            known: true,
            client: provider.client,
            resource: None,
            scopes: ["openid"].into_iter().chain(more).map(str::to_owned).collect(),
        };
        let pending = grant.ask(bind(target.settings(), None).await?)?;
        let address = pending.address.clone();
        let (house, of, its) = (Arc::clone(self), Arc::clone(server), Arc::clone(slot));
        let keep = move |asked, granted| async move { house.finish_company(&of, &its, asked, granted).await };
        self.wait_for(server, slot, pending, keep);
        Ok(Some(address))
    }

    /// Fetches a token with the stored id token; `None` if there is none that is valid, so that the user has
    /// to sign in at the identity provider.
    pub(crate) async fn fetch_by_company(
        &self,
        target: Target<'_>,
        slot: &Slot,
    ) -> Result<Option<SignIn>, AuthError> {
        let SignInWith::Enterprise { issuer, client, .. } = &target.settings().with else { return Ok(None) };
        let company = self.keeper.get::<Company>(target.server).await?;
        let company = company.filter(|company| {
            company.issuer == *issuer
                && company.client == *client
                && company.expires.is_none_or(|expires| self.now() < expires)
        });
        match company {
            Some(company) => self.trade(target, slot, &company).await.map(Some),
            None => Ok(None),
        }
    }

    /// Stores an id token that the user already has.
    pub(crate) async fn adopt_id_token(
        &self,
        server: &ServerConfig,
        id_token: Secret,
    ) -> Result<(), AuthError> {
        let target = Target::of(server).map_err(AuthError::Refused)?;
        let SignInWith::Enterprise { issuer, client, .. } = &target.settings().with else {
            return Err(unusable("The settings name no identity provider."));
        };
        let claims = claims_for(&id_token, issuer, client)?;
        let company =
            Company { issuer: issuer.clone(), client: client.clone(), id_token, expires: claims.expires() };
        self.keeper.set(server, &company).await
    }

    async fn finish_company(
        &self,
        server: &ServerConfig,
        slot: &Slot,
        asked: Asked,
        granted: Result<Granted, GrantError>,
    ) -> Result<(), AuthError> {
        let target = Target::of(server).map_err(AuthError::Refused)?;
        let (issuer, client) = (asked.grant.server.issuer, asked.grant.client.id);
        let id_token =
            granted?.id_token.ok_or_else(|| unusable("The identity provider gave no id token."))?;
        let claims = claims_for(&id_token, &issuer, &client)?;
        if claims.nonce.as_deref() != Some(asked.nonce.reveal()) {
            return Err(unusable("The id token of the identity provider belongs to another sign-in."));
        }
        let company = Company { issuer, client, id_token, expires: claims.expires() };
        self.keeper.set(server, &company).await?;
        let fetched = self.trade(target, slot, &company).await?;
        self.keep_new(server, slot, fetched).await
    }

    async fn provider(&self, target: Target<'_>, web: &Web) -> Result<Provider, AuthError> {
        let SignInWith::Enterprise { issuer, client, secret } = &target.settings().with else {
            return Err(unusable("The settings name no identity provider."));
        };
        let server = ask_issuer(web, issuer).await?;
        let secret = match secret {
            Some(secret) => Some(target.fill(&self.keeper, "companySecret", secret).await?),
            None => None,
        };
        let proof = Proof::with(secret, None, &server.methods());
        let client = Client { id: client.clone(), proof, origin: Origin::Entered };
        Ok(Provider { issuer: issuer.clone(), client, server })
    }

    /// Exchanges the id token for an identity assertion grant, and that for an access token.
    async fn trade(&self, target: Target<'_>, slot: &Slot, company: &Company) -> Result<SignIn, AuthError> {
        let url = target.url()?;
        let web = Web::of(&url).await;
        let (challenge, wanted) = slot.with(|now| (now.challenge.clone(), now.wanted.clone()));
        let found = find(target, &web, &url, &challenge).await?;
        let own = &target.settings().scopes;
        let scopes = union(if own.is_empty() { &challenge.scopes } else { own }, &wanted);
        let provider = self.provider(target, &web).await?;
        let mut form: Form = vec![
            ("grant_type", Secret::new(TOKEN_EXCHANGE)),
            ("requested_token_type", Secret::new(ID_JAG)),
            ("audience", Secret::new(&*found.server.issuer)),
            ("resource", Secret::new(&*found.resource)),
            ("subject_token", company.id_token.clone()),
            ("subject_token_type", Secret::new(ID_TOKEN)),
        ];
        let scope = (!scopes.is_empty()).then(|| ("scope", Secret::new(scopes.join(" "))));
        form.extend(scope.clone());
        let at_company = TokenEndpoint {
            web: &web,
            url: token_endpoint(&provider.server)?,
            issuer: &provider.issuer,
            clock: &*self.deps.clock,
        };
        let grant = at_company.ask(&provider.client, form).await?.access;
        let client = identity::entered(target, &self.keeper, &found.server.methods()).await?;
        let client = client.ok_or_else(|| {
            unusable("The settings have no client id for the server's own authorization server.")
        })?;
        let mut form: Form = vec![("grant_type", Secret::new(JWT_BEARER)), ("assertion", grant)];
        form.extend(scope);
        let asked = CodeGrant {
            web,
            server: found.server,
            known: true,
            client,
            resource: Some(found.resource.clone()),
            scopes,
        };
        let at_server = TokenEndpoint {
            web: &asked.web,
            url: token_endpoint(&asked.server)?,
            issuer: &asked.server.issuer,
            clock: &*self.deps.clock,
        };
        let granted = at_server.ask(&asked.client, form).await?;
        let account = Claims::read(&company.id_token).and_then(|claims| claims.account());
        Ok(SignIn { resource: found.resource, account, ..sign_in(&asked, granted, self.now())? })
    }
}

/// The claims of an id token if it is from this issuer and for this client. The signature isn't verified
/// here: the token came directly from the provider or from the user, and the provider verifies it when it is
/// exchanged.
fn claims_for(id_token: &Secret, issuer: &str, client: &str) -> Result<Claims, AuthError> {
    Claims::read(id_token)
        .filter(|claims| claims.iss.as_deref() == Some(issuer) && claims.is_for(client))
        .ok_or_else(|| unusable("The id token is not one of the identity provider for this client."))
}
