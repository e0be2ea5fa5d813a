//! The client credentials grant (MCP extension): Gatehouse signs in as the client itself, with its secret or
//! a signed assertion, without a user or a browser.

use gatehouse_model::{Secret, message};

use super::grant_request::{GrantContext, GrantRequest};
use super::token_endpoint::Form;
use crate::client::identity;
use crate::discovery::resolve::find;
use crate::error::{AuthError, unusable};
use crate::http_client::AuthHttpClient;
use crate::session::token_store::StoredSignIn;

/// Fetches a token without storing it.
pub(crate) async fn fetch(context: &GrantContext<'_>) -> Result<StoredSignIn, AuthError> {
    let target = context.target;
    let url = target.url()?;
    let web = AuthHttpClient::of(&url).await;
    let found = find(&web, &url, target.settings().endpoints.as_ref(), &context.challenge).await?;
    let client = identity::from_settings(target, context.token_store, &found.server.methods()).await?;
    let client = client.ok_or_else(|| unusable(message!("error.auth.cause.noClient")))?;
    let grant = GrantRequest {
        web,
        server: found.server,
        is_issuer_known: !found.is_from_settings,
        client,
        resource: Some(found.resource.clone()),
        scopes: context.scopes(),
    };
    let mut form: Form =
        vec![("grant_type", Secret::new("client_credentials")), ("resource", Secret::new(&*found.resource))];
    if !grant.scopes.is_empty() {
        form.push(("scope", Secret::new(grant.scopes.join(" "))));
    }
    let response = grant.endpoint(context.clock)?.request(&grant.client, form).await?;
    let account = Some(grant.client.id.clone());
    Ok(StoredSignIn { account, ..grant.sign_in(response, context.clock.now())? })
}
