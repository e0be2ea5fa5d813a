//! Persisted sign-in state, in the secret store: tokens, the dynamic registration, and the sign-in at the
//! company's identity provider. Each is bound to the identity of the server (SRV-16) and contains its issuer,
//! so that it is never sent to another issuer or resource (AUTH-5).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::sign_in::TokenEndpointAuthMethod;
use gatehouse_model::{Secret, ServerBinding, ServerConfig, Timestamp};
use gatehouse_store::{SecretKey, SecretStore, generations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use url::Url;

use crate::discovery::resource_identifier::{resource, server_url};
use crate::error::AuthError;

/// A token is renewed this long before it expires, or after two thirds of its lifetime if that is later.
const REFRESH_AHEAD: Duration = Duration::from_secs(300);

/// The sign-in at one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredSignIn {
    pub(crate) issuer: String,
    /// The resource identifier that the tokens are for.
    pub(crate) resource: String,
    /// The client id.
    pub(crate) client: String,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    /// Client authentication methods that the token endpoint supports.
    pub(crate) methods: Vec<String>,
    /// All scopes that were granted or requested, for the next sign-in.
    pub(crate) scopes: Vec<String>,
    /// The account name, for display.
    pub(crate) account: Option<String>,
    /// `None` once they are no longer usable.
    pub(crate) tokens: Option<Tokens>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tokens {
    #[serde(serialize_with = "revealed")]
    pub(crate) access: Secret,
    #[serde(serialize_with = "revealed_option")]
    pub(crate) refresh: Option<Secret>,
    /// The granted scopes.
    pub(crate) scopes: Vec<String>,
    pub(crate) received: Timestamp,
    /// Lifetime of the access token in seconds, if the server stated it.
    pub(crate) lives_secs: Option<u64>,
}

impl Tokens {
    /// When the access token expires.
    pub(crate) fn expires(&self) -> Option<Timestamp> {
        self.lives_secs.map(|secs| self.received.plus(Duration::from_secs(secs)))
    }

    /// Whether the access token hasn't expired.
    pub(crate) fn is_valid(&self, now: Timestamp) -> bool {
        self.expires().is_none_or(|expires| now < expires)
    }

    /// Whether the access token should be renewed.
    pub(crate) fn is_refresh_due(&self, now: Timestamp) -> bool {
        let Some(secs) = self.lives_secs else { return false };
        let lives = Duration::from_secs(secs);
        now >= self.received.plus(lives.saturating_sub(REFRESH_AHEAD.min(lives / 3)))
    }
}

/// A dynamic client registration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registration {
    pub(crate) issuer: String,
    pub(crate) id: String,
    #[serde(serialize_with = "revealed_option")]
    pub(crate) secret: Option<Secret>,
    /// Client authentication method.
    pub(crate) method: TokenEndpointAuthMethod,
    /// The redirect URI.
    pub(crate) redirect: Url,
    /// When the client secret expires.
    pub(crate) expires: Option<Timestamp>,
}

/// The sign-in at the company's identity provider.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IdpSignIn {
    pub(crate) issuer: String,
    /// The client id.
    pub(crate) client: String,
    #[serde(serialize_with = "revealed")]
    pub(crate) id_token: Secret,
    /// When the id token expires.
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

/// A value that is stored in the secret store for each server.
pub(crate) trait StoredSecret: Serialize + DeserializeOwned + Send + 'static {
    /// Name of the value; part of its key.
    fn name(server: &ServerConfig) -> String;

    /// Its key for the server's current generation.
    fn key(server: &ServerConfig) -> SecretKey {
        SecretKey::sign_in(&server.binding(), &Self::name(server))
    }

    /// The key for the current generation, those of earlier generations, and those that older versions used.
    fn all_keys(server: &ServerConfig) -> Vec<SecretKey> {
        let (present, name) = (server.binding(), Self::name(server));
        let keys = |bound: ServerBinding| {
            [SecretKey::sign_in(&bound, &name), SecretKey::sign_in_before_identity(&bound, &name)]
        };
        generations(&present).flat_map(keys).collect()
    }
}

impl StoredSecret for StoredSignIn {
    fn name(server: &ServerConfig) -> String {
        let address = server.transport.remote().map(|remote| remote.url.as_str()).unwrap_or_default();
        server_url(address).map_or_else(|| address.to_owned(), |url| resource(&url))
    }
}

impl StoredSecret for Registration {
    fn name(_: &ServerConfig) -> String {
        "registration".to_owned()
    }
}

impl StoredSecret for IdpSignIn {
    fn name(_: &ServerConfig) -> String {
        "company".to_owned()
    }
}

/// The keys of a server's sign-in state, for the server's current identity.
#[must_use]
pub fn secret_keys(server: &ServerConfig) -> [SecretKey; 3] {
    [StoredSignIn::key(server), Registration::key(server), IdpSignIn::key(server)]
}

/// Async access to the secret store. Runs on blocking threads: a keychain may take as long as the user takes
/// to unlock it.
#[derive(Clone)]
pub(crate) struct TokenStore {
    secrets: Arc<dyn SecretStore>,
}

impl TokenStore {
    pub(crate) fn new(secrets: Arc<dyn SecretStore>) -> Self {
        Self { secrets }
    }

    /// Loads the value, if there is one.
    pub(crate) async fn get<T: StoredSecret>(&self, server: &ServerConfig) -> Result<Option<T>, AuthError> {
        match self.secret(T::key(server)).await? {
            Some(text) => serde_json::from_str(text.reveal()).map(Some).map_err(|_| AuthError::Unreadable),
            None => Ok(None),
        }
    }

    /// Stores the value; durable on return.
    pub(crate) async fn set<T: StoredSecret>(
        &self,
        server: &ServerConfig,
        value: &T,
    ) -> Result<(), AuthError> {
        let text = Secret::new(serde_json::to_string(value).map_err(|_| AuthError::Unreadable)?);
        let key = T::key(server);
        self.run_blocking(move |secrets| Ok(secrets.set(&key, &text)?)).await
    }

    /// Deletes the value.
    pub(crate) async fn forget<T: StoredSecret>(&self, server: &ServerConfig) -> Result<(), AuthError> {
        let key = T::key(server);
        self.run_blocking(move |secrets| Ok(secrets.delete(&key)?)).await
    }

    /// Deletes all values of the server, including those of earlier generations and older versions as far as
    /// their keys can be derived.
    pub(crate) async fn forget_all(&self, server: &ServerConfig) -> Result<(), AuthError> {
        let keys =
            [StoredSignIn::all_keys(server), Registration::all_keys(server), IdpSignIn::all_keys(server)]
                .concat();
        self.run_blocking(move |secrets| Ok(secrets.delete_all(&keys)?)).await
    }

    pub(crate) async fn secret(&self, key: SecretKey) -> Result<Option<Secret>, AuthError> {
        self.run_blocking(move |secrets| Ok(secrets.get(&key)?)).await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn SecretStore) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let secrets = Arc::clone(&self.secrets);
        tokio::task::spawn_blocking(move || work(&*secrets)).await.map_err(|_| AuthError::Aborted)?
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
    fn refresh_is_due_ahead_of_expiry() {
        for (lives, due) in [(60, 40), (900, 600), (3600, 3300)] {
            let tokens = tokens(Some(lives));
            assert!(!tokens.is_refresh_due(Timestamp(due * 1000 - 1)), "{lives}");
            assert!(tokens.is_refresh_due(Timestamp(due * 1000)), "{lives}");
            let end = i64::try_from(lives).unwrap() * 1000;
            assert!(tokens.is_valid(Timestamp(end - 1)) && !tokens.is_valid(Timestamp(end)), "{lives}");
        }
        let endless = tokens(None);
        assert!(endless.is_valid(Timestamp(i64::MAX)) && !endless.is_refresh_due(Timestamp(i64::MAX)));
    }

    #[test]
    fn tokens_round_trip_and_debug_redacts() {
        let before = tokens(Some(60));
        let text = serde_json::to_string(&before).unwrap();
        assert!(text.contains("a-token"));
        assert_eq!(serde_json::from_str::<Tokens>(&text).unwrap(), before);
        assert!(!format!("{before:?}").contains("a-token"));
    }
}
