//! Tokens in the store for secrets, bound to server id, generation, resource and issuer (AUTH-5).
//!
//! A token is found by server, generation and resource together; its issuer is written with it,
//! so that whoever refreshes it can compare. An expired one is no token: refreshing is the work
//! of the sign-in, not of a connection.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{BoxFuture, Clock, Secret, Timestamp};
use gatehouse_store::{SecretKey, SecretStore};
use oauth2::TokenResponse as _;
use oauth2::basic::BasicTokenResponse;
use serde::{Deserialize, Serialize};

use crate::{AuthError, TokenRequest, TokenSource};

/// [`TokenSource`] over what was stored at sign-in.
#[derive(Clone)]
pub struct StoredTokens {
    secrets: Arc<dyn SecretStore>,
    clock: Arc<dyn Clock>,
}

/// One sign-in as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignIn {
    issuer: String,
    resource: String,
    received: Timestamp,
    token: BasicTokenResponse,
}

impl StoredTokens {
    /// Reads from this store.
    #[must_use]
    pub fn new(secrets: Arc<dyn SecretStore>, clock: Arc<dyn Clock>) -> Self {
        Self { secrets, clock }
    }

    /// Keeps the answer of a token endpoint in the place of the one before. Blocks on the store.
    ///
    /// # Errors
    /// When the store for secrets refuses.
    pub fn keep(
        &self,
        ask: &TokenRequest,
        issuer: &str,
        token: &BasicTokenResponse,
    ) -> Result<(), AuthError> {
        let sign_in = SignIn {
            issuer: issuer.to_owned(),
            resource: ask.resource.clone(),
            received: self.clock.now(),
            token: token.clone(),
        };
        let text = serde_json::to_string(&sign_in).map_err(|_| AuthError::Unreadable)?;
        Ok(self.secrets.set(&key(ask), &Secret::new(text))?)
    }

    /// Whose sign-in is stored, if one is. Blocks on the store.
    ///
    /// # Errors
    /// When the store for secrets refuses or holds something else.
    pub fn issuer(&self, ask: &TokenRequest) -> Result<Option<String>, AuthError> {
        Ok(self.read(ask)?.map(|sign_in| sign_in.issuer))
    }

    /// Forgets a sign-in. Blocks on the store.
    ///
    /// # Errors
    /// When the store for secrets refuses.
    pub fn forget(&self, ask: &TokenRequest) -> Result<(), AuthError> {
        Ok(self.secrets.delete(&key(ask))?)
    }

    fn read(&self, ask: &TokenRequest) -> Result<Option<SignIn>, AuthError> {
        let Some(text) = self.secrets.get(&key(ask))? else { return Ok(None) };
        let sign_in: SignIn = serde_json::from_str(text.reveal()).map_err(|_| AuthError::Unreadable)?;
        // The key says so already; a store that answers the wrong item must not leak a token.
        Ok((sign_in.resource == ask.resource).then_some(sign_in))
    }

    fn valid(&self, ask: &TokenRequest) -> Result<Option<Secret>, AuthError> {
        let Some(sign_in) = self.read(ask)? else { return Ok(None) };
        let lives = sign_in.token.expires_in().unwrap_or(Duration::MAX);
        let valid = self.clock.now() < sign_in.received.plus(lives);
        Ok(valid.then(|| Secret::new(sign_in.token.access_token().secret())))
    }
}

impl TokenSource for StoredTokens {
    fn bearer<'a>(&'a self, ask: &'a TokenRequest) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            let (tokens, ask) = (self.clone(), ask.clone());
            // A keychain may take as long as the user takes to unlock it.
            tokio::task::spawn_blocking(move || tokens.valid(&ask)).await.map_err(|_| AuthError::CutOff)?
        })
    }
}

fn key(ask: &TokenRequest) -> SecretKey {
    SecretKey::sign_in(&ask.server, ask.generation, &ask.resource)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use gatehouse_model::{Generation, ServerId};
    use oauth2::basic::BasicTokenType;
    use oauth2::{AccessToken, EmptyExtraTokenFields, RefreshToken};

    use super::*;

    #[derive(Debug, Default)]
    struct SetClock(AtomicI64);

    impl Clock for SetClock {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::SeqCst))
        }
    }

    fn ask(generation: u32, resource: &str) -> TokenRequest {
        TokenRequest {
            server: ServerId::new("srv-1"),
            generation: Generation(generation),
            resource: resource.to_owned(),
        }
    }

    fn token(lives: Option<Duration>) -> BasicTokenResponse {
        let mut token = BasicTokenResponse::new(
            AccessToken::new("abc".to_owned()),
            BasicTokenType::Bearer,
            EmptyExtraTokenFields {},
        );
        token.set_refresh_token(Some(RefreshToken::new("again".to_owned())));
        token.set_expires_in(lives.as_ref());
        token
    }

    fn tokens() -> (StoredTokens, Arc<SetClock>, Arc<dyn SecretStore>) {
        let (clock, secrets) = (Arc::new(SetClock::default()), gatehouse_store::memory());
        let tokens = StoredTokens::new(Arc::clone(&secrets), Arc::clone(&clock) as Arc<dyn Clock>);
        (tokens, clock, secrets)
    }

    async fn bearer(tokens: &StoredTokens, ask: &TokenRequest) -> Option<String> {
        tokens.bearer(ask).await.unwrap().map(|secret| secret.reveal().to_owned())
    }

    #[tokio::test]
    async fn a_token_serves_only_what_it_was_given_for() {
        let (tokens, ..) = tokens();
        let given = ask(1, "https://mcp.example/mcp");
        tokens.keep(&given, "https://id.example", &token(None)).unwrap();
        assert_eq!(bearer(&tokens, &given).await.as_deref(), Some("abc"));
        assert_eq!(tokens.issuer(&given).unwrap().as_deref(), Some("https://id.example"));
        for other in [
            ask(2, "https://mcp.example/mcp"),
            ask(1, "https://mcp.example/other"),
            TokenRequest { server: ServerId::new("srv-2"), ..given.clone() },
        ] {
            assert_eq!(bearer(&tokens, &other).await, None, "{other:?}");
        }
        tokens.forget(&given).unwrap();
        assert_eq!(bearer(&tokens, &given).await, None);
    }

    #[tokio::test]
    async fn an_expired_token_is_none_and_no_expiry_means_valid() {
        let (tokens, clock, _) = tokens();
        let (short, long) = (ask(1, "https://a.example"), ask(1, "https://b.example"));
        tokens.keep(&short, "https://id.example", &token(Some(Duration::from_secs(60)))).unwrap();
        tokens.keep(&long, "https://id.example", &token(None)).unwrap();
        clock.0.store(59_999, Ordering::SeqCst);
        assert!(bearer(&tokens, &short).await.is_some());
        clock.0.store(60_000, Ordering::SeqCst);
        assert!(bearer(&tokens, &short).await.is_none());
        clock.0.store(i64::MAX - 1, Ordering::SeqCst);
        assert!(bearer(&tokens, &long).await.is_some());
    }

    #[tokio::test]
    async fn garbage_is_an_error_and_an_item_of_another_resource_is_nothing() {
        let (tokens, _, secrets) = tokens();
        let given = ask(1, "https://a.example");
        secrets.set(&key(&given), &Secret::new("{}")).unwrap();
        assert!(matches!(tokens.bearer(&given).await, Err(AuthError::Unreadable)));
        let moved = ask(1, "https://b.example");
        tokens.keep(&given, "https://id.example", &token(None)).unwrap();
        let item = secrets.get(&key(&given)).unwrap().unwrap();
        secrets.set(&key(&moved), &item).unwrap();
        assert_eq!(bearer(&tokens, &moved).await, None);
    }
}
