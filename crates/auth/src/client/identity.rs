//! Which OAuth client Gatehouse uses (AUTH-2): the one that the user entered, else its Client ID Metadata
//! Document, else a dynamically registered one.

use gatehouse_model::sign_in::{RegisteredClient, SignInMethod};
use gatehouse_model::{ServerConfig, Timestamp};
use url::Url;

use super::authentication::{ClientAuth, ClientSource, OAuthClient};
use super::registration::require_registration_endpoint;
use super::secret_references;
use crate::discovery::metadata::ServerMetadata;
use crate::error::AuthError;
use crate::oauth_error::GrantError;
use crate::session::token_store::{Registration, StoredSignIn, TokenStore};
use crate::settings::SignInTarget;

/// How to obtain a client id.
pub(crate) enum ClientIdentity {
    /// A client id is available.
    Known(OAuthClient),
    /// A registration exists, for the redirect URI in it.
    Registered(Registration),
    /// Dynamic registration is possible.
    Register,
}

impl Registration {
    pub(crate) fn client(&self, offered: &[String]) -> OAuthClient {
        let auth = ClientAuth::with(self.secret.clone(), Some(self.method), offered);
        OAuthClient { id: self.id.clone(), auth, source: ClientSource::Registered }
    }

    fn is_valid_for(&self, issuer: &str, now: Timestamp) -> bool {
        self.issuer == issuer && self.expires.is_none_or(|expires| now < expires)
    }
}

/// The client that the user entered, if any.
pub(crate) async fn from_settings(
    target: SignInTarget<'_>,
    token_store: &TokenStore,
    offered: &[String],
) -> Result<Option<OAuthClient>, AuthError> {
    let Some(RegisteredClient { id, secret, method }) = &target.settings().client else { return Ok(None) };
    let auth = if let SignInMethod::ClientKey { key, algorithm } = &target.settings().with {
        ClientAuth::Key {
            key: secret_references::expand(target, token_store, "key", key).await?,
            algorithm: algorithm.clone(),
        }
    } else {
        let secret = match secret {
            Some(secret) => Some(secret_references::expand(target, token_store, "secret", secret).await?),
            None => None,
        };
        ClientAuth::with(secret, *method, offered)
    };
    Ok(Some(OAuthClient { id: id.trim().to_owned(), auth, source: ClientSource::Entered }))
}

/// Determines the client for this authorization server.
pub(crate) async fn resolve(
    target: SignInTarget<'_>,
    token_store: &TokenStore,
    server: &ServerMetadata,
    client_metadata_url: Option<&str>,
    now: Timestamp,
) -> Result<ClientIdentity, AuthError> {
    if let Some(client) = from_settings(target, token_store, &server.methods()).await? {
        return Ok(ClientIdentity::Known(client));
    }
    if let Some(client_metadata_url) =
        client_metadata_url.filter(|_| server.client_id_metadata_document_supported.unwrap_or(false))
    {
        return Ok(ClientIdentity::Known(from_document(client_metadata_url)));
    }
    match token_store.get::<Registration>(target.server).await {
        Ok(Some(known)) if known.is_valid_for(&server.issuer, now) => {
            return Ok(ClientIdentity::Registered(known));
        }
        Ok(_) | Err(AuthError::Unreadable) => {}
        Err(error) => return Err(error),
    }
    require_registration_endpoint(server).map(|_| ClientIdentity::Register)
}

/// The client that the tokens were issued to; `None` if it is no longer known.
pub(crate) async fn for_tokens(
    target: SignInTarget<'_>,
    token_store: &TokenStore,
    sign_in: &StoredSignIn,
) -> Result<Option<OAuthClient>, AuthError> {
    if let Some(client) = from_settings(target, token_store, &sign_in.methods).await? {
        return Ok((client.id == sign_in.client).then_some(client));
    }
    if let Ok(Some(known)) = token_store.get::<Registration>(target.server).await
        && known.issuer == sign_in.issuer
        && known.id == sign_in.client
    {
        return Ok(Some(known.client(&sign_in.methods)));
    }
    Ok(Url::parse(&sign_in.client)
        .is_ok_and(|url| url.scheme() == "https")
        .then(|| from_document(&sign_in.client)))
}

fn from_document(client_metadata_url: &str) -> OAuthClient {
    OAuthClient { id: client_metadata_url.to_owned(), auth: ClientAuth::None, source: ClientSource::Document }
}

/// Deletes a dynamic registration if the error shows that the authorization server doesn't accept the client
/// any more.
pub(crate) async fn forget_rejected(
    token_store: &TokenStore,
    server: &ServerConfig,
    client: &OAuthClient,
    error: &GrantError,
) {
    if client.source == ClientSource::Registered
        && error.is_about_client()
        && let Err(error) = token_store.forget::<Registration>(server).await
    {
        tracing::warn!(server = %server.id, %error, "a registration could not be forgotten");
    }
}
