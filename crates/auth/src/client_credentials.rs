//! The client credentials grant (MCP extension): Gatehouse signs in as the client itself, with its secret or
//! a signed assertion, without a user or a browser.

use std::sync::Arc;

use gatehouse_model::Secret;

use crate::AuthError;
use crate::authorization_url::{CodeGrant, token_endpoint};
use crate::client_identity;
use crate::discovery::unusable;
use crate::http_client::AuthHttpClient;
use crate::login::{find, merge_scopes, sign_in};
use crate::session_state::SessionState;
use crate::settings::SignInTarget;
use crate::sign_ins::SignInsShared;
use crate::token_endpoint::{Form, TokenEndpoint};
use crate::token_store::StoredSignIn;

impl SignInsShared {
    /// Fetches a token and stores it.
    pub(crate) async fn sign_in_with_client_credentials(
        self: &Arc<Self>,
        target: SignInTarget<'_>,
        session_state: &SessionState,
    ) -> Result<(), AuthError> {
        let fetched = self.fetch_with_client_credentials(target, session_state).await?;
        self.store_new_sign_in(target.server, session_state, fetched).await
    }

    /// Fetches a token without storing it.
    pub(crate) async fn fetch_with_client_credentials(
        &self,
        target: SignInTarget<'_>,
        session_state: &SessionState,
    ) -> Result<StoredSignIn, AuthError> {
        let url = target.url()?;
        let web = AuthHttpClient::of(&url).await;
        let (challenge, wanted_scopes) =
            session_state.with(|now| (now.challenge.clone(), now.wanted_scopes.clone()));
        let found = find(target, &web, &url, &challenge).await?;
        let client =
            client_identity::from_settings(target, &self.token_store, &found.server.methods()).await?;
        let client = client.ok_or_else(|| unusable("No client is entered."))?;
        let own = &target.settings().scopes;
        let scopes = merge_scopes(if own.is_empty() { &challenge.scopes } else { own }, &wanted_scopes);
        let grant = CodeGrant {
            web,
            server: found.server,
            is_issuer_known: !found.is_from_settings,
            client,
            resource: Some(found.resource.clone()),
            scopes,
        };
        let mut form: Form = vec![
            ("grant_type", Secret::new("client_credentials")),
            ("resource", Secret::new(&*found.resource)),
        ];
        if !grant.scopes.is_empty() {
            form.push(("scope", Secret::new(grant.scopes.join(" "))));
        }
        let endpoint = TokenEndpoint {
            web: &grant.web,
            url: token_endpoint(&grant.server)?,
            issuer: &grant.server.issuer,
            clock: &*self.deps.clock,
        };
        let response = endpoint.request(&grant.client, form).await?;
        let account = Some(grant.client.id.clone());
        Ok(StoredSignIn { resource: found.resource, account, ..sign_in(&grant, response, self.now())? })
    }
}
