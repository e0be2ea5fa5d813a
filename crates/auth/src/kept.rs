//! What is kept of a sign-in, in the store for secrets: tokens, the registration of Gatehouse, and
//! the sign-in at the company. Each is bound to what the server is (SRV-16), and says whose it is, so that
//! another issuer or resource never sees it (AUTH-5).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::sign_in::TokenMethod;
use gatehouse_model::{Secret, ServerBinding, ServerConfig, Timestamp};
use gatehouse_store::{SecretKey, SecretStore, generations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::AuthError;
use crate::address::{resource, server_url};

/// A token is renewed so long before it expires, or a third of its life if that is shorter.
const AHEAD: Duration = Duration::from_secs(300);

/// The sign-in at one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignIn {
    /// With whom.
    pub(crate) issuer: String,
    /// What for.
    pub(crate) resource: String,
    /// As which client.
    pub(crate) client: String,
    /// Where tokens come from.
    pub(crate) token_endpoint: Url,
    /// Where they are given back.
    pub(crate) revocation_endpoint: Option<Url>,
    /// How clients may prove themselves there.
    pub(crate) methods: Vec<String>,
    /// All that was ever granted and asked for, for the next time.
    pub(crate) scopes: Vec<String>,
    /// Who signed in.
    pub(crate) account: Option<String>,
    /// `None` once they are worth nothing.
    pub(crate) tokens: Option<Tokens>,
}

/// Tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tokens {
    /// The access token.
    #[serde(serialize_with = "revealed")]
    pub(crate) access: Secret,
    /// What renews it.
    #[serde(serialize_with = "revealed_option")]
    pub(crate) refresh: Option<Secret>,
    /// What was granted.
    pub(crate) scopes: Vec<String>,
    /// When they came.
    pub(crate) received: Timestamp,
    /// How long the access token lives, where that is said.
    pub(crate) lives_secs: Option<u64>,
}

impl Tokens {
    /// When the access token expires.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.lives_secs.map(|secs| self.received.plus(Duration::from_secs(secs)))
    }

    /// Whether the access token is valid.
    pub(crate) fn is_valid(&self, now: Timestamp) -> bool {
        self.expires().is_none_or(|expires| now < expires)
    }

    /// Whether it is time to renew it.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        let Some(secs) = self.lives_secs else { return false };
        let lives = Duration::from_secs(secs);
        now >= self.received.plus(lives.saturating_sub(AHEAD.min(lives / 3)))
    }
}

/// How Gatehouse is known to an authorization server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registration {
    /// To whom.
    pub(crate) issuer: String,
    /// `client_id`
    pub(crate) id: String,
    /// `client_secret`
    #[serde(serialize_with = "revealed_option")]
    pub(crate) secret: Option<Secret>,
    /// How it proves itself.
    pub(crate) method: TokenMethod,
    /// Where the browser comes back to.
    pub(crate) redirect: Url,
    /// When the secret ceases to be one.
    pub(crate) expires: Option<Timestamp>,
}

/// The sign-in at the company's identity provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Company {
    /// With whom.
    pub(crate) issuer: String,
    /// As which client.
    pub(crate) client: String,
    /// Who the user is, signed.
    #[serde(serialize_with = "revealed")]
    pub(crate) id_token: Secret,
    /// When that is no longer believed.
    pub(crate) expires: Option<Timestamp>,
}

fn revealed<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.reveal())
}

fn revealed_option<S: Serializer>(secret: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => serializer.serialize_some(secret.reveal()),
        None => serializer.serialize_none(),
    }
}

/// Something that is kept under a name of its own.
pub(crate) trait Kept: Serialize + DeserializeOwned + Send + 'static {
    /// That name, for a server.
    fn name(server: &ServerConfig) -> String;

    /// Its key for a server at its present generation.
    fn key(server: &ServerConfig) -> SecretKey {
        SecretKey::sign_in(&server.binding(), &Self::name(server))
    }

    /// That, its keys in the generations before, and those that older versions gave it.
    fn all_keys(server: &ServerConfig) -> Vec<SecretKey> {
        let (present, name) = (server.binding(), Self::name(server));
        let keys = |bound: ServerBinding| {
            [SecretKey::sign_in(&bound, &name), SecretKey::sign_in_before_identity(&bound, &name)]
        };
        generations(&present).flat_map(keys).collect()
    }
}

impl Kept for SignIn {
    fn name(server: &ServerConfig) -> String {
        let address = server.transport.remote().map(|remote| remote.url.as_str()).unwrap_or_default();
        server_url(address).map_or_else(|| address.to_owned(), |url| resource(&url))
    }
}

impl Kept for Registration {
    fn name(_: &ServerConfig) -> String {
        "registration".to_owned()
    }
}

impl Kept for Company {
    fn name(_: &ServerConfig) -> String {
        "company".to_owned()
    }
}

/// The keys under which the sign-in of a server is kept, as the server is now.
#[must_use]
pub fn secret_keys(server: &ServerConfig) -> [SecretKey; 3] {
    [SignIn::key(server), Registration::key(server), Company::key(server)]
}

/// The store for secrets, beside the executor: a keychain may take as long as the user takes to
/// unlock it.
#[derive(Clone)]
pub(crate) struct Keeper {
    secrets: Arc<dyn SecretStore>,
}

impl Keeper {
    pub(crate) fn new(secrets: Arc<dyn SecretStore>) -> Self {
        Self { secrets }
    }

    /// What is kept, if anything is.
    pub(crate) async fn get<T: Kept>(&self, server: &ServerConfig) -> Result<Option<T>, AuthError> {
        match self.secret(T::key(server)).await? {
            Some(text) => serde_json::from_str(text.reveal()).map(Some).map_err(|_| AuthError::Unreadable),
            None => Ok(None),
        }
    }

    /// Keeps it; durable on return.
    pub(crate) async fn set<T: Kept>(&self, server: &ServerConfig, value: &T) -> Result<(), AuthError> {
        let text = Secret::new(serde_json::to_string(value).map_err(|_| AuthError::Unreadable)?);
        let key = T::key(server);
        self.beside(move |secrets| Ok(secrets.set(&key, &text)?)).await
    }

    /// Forgets it.
    pub(crate) async fn forget<T: Kept>(&self, server: &ServerConfig) -> Result<(), AuthError> {
        let key = T::key(server);
        self.beside(move |secrets| Ok(secrets.delete(&key)?)).await
    }

    /// Forgets all that was ever kept of the server under its id.
    pub(crate) async fn forget_all(&self, server: &ServerConfig) -> Result<(), AuthError> {
        let keys =
            [SignIn::all_keys(server), Registration::all_keys(server), Company::all_keys(server)].concat();
        self.beside(move |secrets| {
            let mut outcome = Ok(());
            for key in &keys {
                // What can be deleted is, also where something else cannot.
                outcome = outcome.and(secrets.delete(key));
            }
            Ok(outcome?)
        })
        .await
    }

    /// The secret under a key.
    pub(crate) async fn secret(&self, key: SecretKey) -> Result<Option<Secret>, AuthError> {
        self.beside(move |secrets| Ok(secrets.get(&key)?)).await
    }

    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn SecretStore) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let secrets = Arc::clone(&self.secrets);
        tokio::task::spawn_blocking(move || work(&*secrets)).await.map_err(|_| AuthError::CutOff)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(lives_secs: Option<u64>) -> Tokens {
        Tokens {
            access: Secret::new("a-token"),
            refresh: None,
            scopes: vec![],
            received: Timestamp(0),
            lives_secs,
        }
    }

    #[test]
    fn a_token_is_due_a_third_or_five_minutes_ahead() {
        for (lives, due) in [(60, 40), (900, 600), (3600, 3300)] {
            let tokens = tokens(Some(lives));
            assert!(!tokens.is_due(Timestamp(due * 1000 - 1)), "{lives}");
            assert!(tokens.is_due(Timestamp(due * 1000)), "{lives}");
            let end = i64::try_from(lives).unwrap() * 1000;
            assert!(tokens.is_valid(Timestamp(end - 1)) && !tokens.is_valid(Timestamp(end)), "{lives}");
        }
        let endless = tokens(None);
        assert!(endless.is_valid(Timestamp(i64::MAX)) && !endless.is_due(Timestamp(i64::MAX)));
    }

    #[test]
    fn what_is_kept_comes_back_and_is_not_seen_otherwise() {
        let before = tokens(Some(60));
        let text = serde_json::to_string(&before).unwrap();
        assert!(text.contains("a-token"));
        assert_eq!(serde_json::from_str::<Tokens>(&text).unwrap(), before);
        assert!(!format!("{before:?}").contains("a-token"));
    }
}
