//! The client credentials grant (MCP extension): Gatehouse signs in as the client itself, with its secret or
//! a signed assertion, without a user or a browser.

use std::sync::Arc;

use gatehouse_model::Secret;

use crate::AuthError;
use crate::begin::{find, sign_in, union};
use crate::browser::{CodeGrant, token_endpoint};
use crate::discovery::unusable;
use crate::grant::{Form, TokenEndpoint};
use crate::identity;
use crate::kept::SignIn;
use crate::settings::Target;
use crate::sign_ins::Inner;
use crate::slot::Slot;
use crate::web::Web;

impl Inner {
    /// Fetches a token and stores it.
    pub(crate) async fn by_itself(
        self: &Arc<Self>,
        target: Target<'_>,
        slot: &Slot,
    ) -> Result<(), AuthError> {
        let fetched = self.fetch_by_itself(target, slot).await?;
        self.keep_new(target.server, slot, fetched).await
    }

    /// Fetches a token without storing it.
    pub(crate) async fn fetch_by_itself(&self, target: Target<'_>, slot: &Slot) -> Result<SignIn, AuthError> {
        let url = target.url()?;
        let web = Web::of(&url).await;
        let (challenge, wanted) = slot.with(|now| (now.challenge.clone(), now.wanted.clone()));
        let found = find(target, &web, &url, &challenge).await?;
        let client = identity::entered(target, &self.keeper, &found.server.methods()).await?;
        let client = client.ok_or_else(|| unusable("No client is entered."))?;
        let own = &target.settings().scopes;
        let scopes = union(if own.is_empty() { &challenge.scopes } else { own }, &wanted);
        let grant = CodeGrant {
            web,
            server: found.server,
            known: !found.by_hand,
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
        let granted = endpoint.ask(&grant.client, form).await?;
        let account = Some(grant.client.id.clone());
        Ok(SignIn { resource: found.resource, account, ..sign_in(&grant, granted, self.now())? })
    }
}
