//! Which OAuth client Gatehouse uses (AUTH-2): the one that the user entered, else its Client ID Metadata
//! Document, else a dynamically registered one.

use gatehouse_model::sign_in::SignInWith;
use gatehouse_model::{Timestamp, sign_in::RegisteredClient};
use url::Url;

use crate::AuthError;
use crate::grant::{Client, Origin, Proof};
use crate::kept::{Keeper, Registration, SignIn};
use crate::metadata::ServerMetadata;
use crate::registration::is_offered;
use crate::settings::Target;

/// How to obtain a client id.
pub(crate) enum Way {
    /// A client id is available.
    Client(Client),
    /// A registration exists, for the redirect URI in it.
    Registered(Registration),
    /// Dynamic registration is possible.
    Register,
}

impl Registration {
    pub(crate) fn client(&self, offered: &[String]) -> Client {
        let proof = Proof::with(self.secret.clone(), Some(self.method), offered);
        Client { id: self.id.clone(), proof, origin: Origin::Registered }
    }

    fn holds(&self, issuer: &str, now: Timestamp) -> bool {
        self.issuer == issuer && self.expires.is_none_or(|expires| now < expires)
    }
}

/// The client that the user entered, if any.
pub(crate) async fn entered(
    target: Target<'_>,
    keeper: &Keeper,
    offered: &[String],
) -> Result<Option<Client>, AuthError> {
    let Some(RegisteredClient { id, secret, method }) = &target.settings().client else { return Ok(None) };
    let proof = if let SignInWith::ClientKey { key, algorithm } = &target.settings().with {
        Proof::Key { key: target.fill(keeper, "key", key).await?, algorithm: algorithm.clone() }
    } else {
        let secret = match secret {
            Some(secret) => Some(target.fill(keeper, "secret", secret).await?),
            None => None,
        };
        Proof::with(secret, *method, offered)
    };
    Ok(Some(Client { id: id.trim().to_owned(), proof, origin: Origin::Entered }))
}

/// Determines the client for this authorization server.
pub(crate) async fn way(
    target: Target<'_>,
    keeper: &Keeper,
    (server, document): (&ServerMetadata, Option<&str>),
    now: Timestamp,
) -> Result<Way, AuthError> {
    if let Some(client) = entered(target, keeper, &server.methods()).await? {
        return Ok(Way::Client(client));
    }
    if let Some(document) = document.filter(|_| server.client_id_metadata_document_supported.unwrap_or(false))
    {
        return Ok(Way::Client(described(document)));
    }
    match keeper.get::<Registration>(target.server).await {
        Ok(Some(known)) if known.holds(&server.issuer, now) => return Ok(Way::Registered(known)),
        Ok(_) | Err(AuthError::Unreadable) => {}
        Err(error) => return Err(error),
    }
    is_offered(server).map(|_| Way::Register)
}

/// The client that the tokens were issued to; `None` if it is no longer known.
pub(crate) async fn of_tokens(
    target: Target<'_>,
    keeper: &Keeper,
    sign_in: &SignIn,
) -> Result<Option<Client>, AuthError> {
    if let Some(client) = entered(target, keeper, &sign_in.methods).await? {
        return Ok((client.id == sign_in.client).then_some(client));
    }
    if let Ok(Some(known)) = keeper.get::<Registration>(target.server).await
        && known.issuer == sign_in.issuer
        && known.id == sign_in.client
    {
        return Ok(Some(known.client(&sign_in.methods)));
    }
    Ok(Url::parse(&sign_in.client)
        .is_ok_and(|url| url.scheme() == "https")
        .then(|| described(&sign_in.client)))
}

fn described(document: &str) -> Client {
    Client { id: document.to_owned(), proof: Proof::None, origin: Origin::Document }
}
