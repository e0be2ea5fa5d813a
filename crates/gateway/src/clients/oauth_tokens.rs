//! Access and refresh tokens of clients that connect by OAuth. [`OAuthTokens`] is the only owner of their sealed list.
//!
//! A token is 256 random bits, and only its SHA-256 is kept. The tokens that came from one consent are a family: a
//! refresh replaces both of them, and a refresh token that was used before ends the family, since two programs have it
//! then. A family counts only while its client is in the list of clients. Access is granted after it was persisted;
//! an end takes effect at once. If the stored list can't be verified, no token is valid.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{ClientId, Clock, OAuthTokenFamily, Secret, UserError};
use gatehouse_store::Store;
use parking_lot::Mutex;

use crate::clients::disk::blocking;
use crate::clients::token::{self, TokenDigest};

/// How long an access token is valid.
pub(crate) const ACCESS_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// How long a refresh token is valid if it isn't used.
const REFRESH_LIFETIME: Duration = Duration::from_secs(90 * 24 * 60 * 60);

/// Maximum number of families of one client. The one that would expire first makes room.
const MAX_FAMILIES_PER_CLIENT: usize = 16;

const ACCESS_PREFIX: &str = "gatehouse_at_";
const REFRESH_PREFIX: &str = "gatehouse_rt_";

/// New tokens, which are shown to the client once.
#[derive(Debug)]
pub(crate) struct IssuedTokens {
    pub(crate) family: String,
    pub(crate) access: Secret,
    pub(crate) refresh: Secret,
}

/// What an access token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessGrant {
    pub(crate) client: ClientId,
    /// Name of the only server that it is for.
    pub(crate) server: Option<String>,
}

/// A refresh token that was recognized.
#[derive(Debug)]
pub(crate) enum RefreshToken {
    /// It is the current one of its family.
    Current(OAuthTokenFamily),
    /// It was replaced before.
    Used(OAuthTokenFamily),
}

pub(crate) struct OAuthTokens {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    families: Mutex<HashMap<String, OAuthTokenFamily>>,
    write_lock: tokio::sync::Mutex<()>,
}

/// Whether a text has the form of an access token, valid or not.
pub(crate) fn is_access_token(text: &str) -> bool {
    text.starts_with(ACCESS_PREFIX)
}

/// The id of the family that a token names.
fn family_id<'a>(token: &'a str, prefix: &str) -> Option<&'a str> {
    token.strip_prefix(prefix)?.split_once('.').map(|(id, _)| id)
}

fn new_token(prefix: &str, family: &str) -> Result<Secret, UserError> {
    let random = token::generate()?;
    Ok(Secret::new(format!("{prefix}{family}.{}", random.reveal())))
}

fn is_digest_of(stored: &str, token: &str) -> bool {
    TokenDigest::from_hex(stored).is_some_and(|digest| digest.matches(&TokenDigest::hash(token)))
}

impl OAuthTokens {
    /// Loads the list. Blocks.
    pub(crate) fn open(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        let stored = store.oauth_tokens().load().unwrap_or_else(|error| {
            tracing::warn!(%error, "the tokens of OAuth clients can't be verified, so they have to ask again");
            None
        });
        let families = stored.into_iter().flatten().map(|family| (family.id.clone(), family)).collect();
        Self { store, clock, families: Mutex::new(families), write_lock: tokio::sync::Mutex::new(()) }
    }

    /// What a valid access token is for. Doesn't check that its client still exists.
    pub(crate) fn find_access(&self, token: &str) -> Option<AccessGrant> {
        let families = self.families.lock();
        let family = families.get(family_id(token, ACCESS_PREFIX)?)?;
        let is_valid = is_digest_of(&family.access_sha256, token) && self.clock.now() < family.access_expires;
        is_valid.then(|| AccessGrant { client: family.client.clone(), server: family.server.clone() })
    }

    /// The family of a refresh token that hasn't expired.
    pub(crate) fn find_refresh(&self, token: &str) -> Option<RefreshToken> {
        let families = self.families.lock();
        let family = families.get(family_id(token, REFRESH_PREFIX)?)?;
        if self.clock.now() >= family.refresh_expires {
            return None;
        }
        Some(if is_digest_of(&family.refresh_sha256, token) {
            RefreshToken::Current(family.clone())
        } else {
            RefreshToken::Used(family.clone())
        })
    }

    /// The family of any token that is valid now, or was until it expired.
    pub(crate) fn family_of(&self, token: &str) -> Option<OAuthTokenFamily> {
        let families = self.families.lock();
        let find = |prefix, digest: fn(&OAuthTokenFamily) -> &str| {
            let family = families.get(family_id(token, prefix)?)?;
            is_digest_of(digest(family), token).then(|| family.clone())
        };
        find(ACCESS_PREFIX, |family| &family.access_sha256)
            .or_else(|| find(REFRESH_PREFIX, |family| &family.refresh_sha256))
    }

    /// Makes the tokens of a new family.
    pub(crate) async fn issue(&self, grant: AccessGrant) -> Result<IssuedTokens, UserError> {
        let id = hex::encode(token::random::<16>()?);
        let _guard = self.write_lock.lock().await;
        self.put(id, grant).await
    }

    /// Replaces both tokens of a family; `None` if it has ended or changed since it was found.
    pub(crate) async fn rotate(&self, family: &OAuthTokenFamily) -> Result<Option<IssuedTokens>, UserError> {
        let _guard = self.write_lock.lock().await;
        if self.families.lock().get(&family.id) != Some(family) {
            return Ok(None);
        }
        let grant = AccessGrant { client: family.client.clone(), server: family.server.clone() };
        self.put(family.id.clone(), grant).await.map(Some)
    }

    /// Makes the tokens of a family. The caller holds the write lock.
    async fn put(&self, id: String, grant: AccessGrant) -> Result<IssuedTokens, UserError> {
        let (access, refresh) = (new_token(ACCESS_PREFIX, &id)?, new_token(REFRESH_PREFIX, &id)?);
        let now = self.clock.now();
        let AccessGrant { client, server } = grant;
        let family = OAuthTokenFamily {
            id: id.clone(),
            client,
            server,
            access_sha256: TokenDigest::hash(access.reveal()).to_hex(),
            access_expires: now.plus(ACCESS_LIFETIME),
            refresh_sha256: TokenDigest::hash(refresh.reveal()).to_hex(),
            refresh_expires: now.plus(REFRESH_LIFETIME),
        };
        let mut families = self.families.lock().clone();
        families.retain(|_, other| now < other.refresh_expires);
        families.insert(id.clone(), family.clone());
        make_room(&mut families, &family);
        self.write(&families).await?;
        *self.families.lock() = families;
        Ok(IssuedTokens { family: id, access, refresh })
    }

    /// Ends a family. Returns whose it was.
    pub(crate) async fn end_family(&self, id: &str) -> Option<ClientId> {
        self.end(|family| family.id == id).await
    }

    /// Ends all families of a client.
    pub(crate) async fn end_client(&self, client: &ClientId) {
        self.end(|family| family.client == *client).await;
    }

    /// Returns whose the tokens were. Takes effect at once. If it can't be persisted, the tokens may be valid again
    /// after the next start; a client that was revoked stays out all the same.
    async fn end(&self, ends: impl Fn(&OAuthTokenFamily) -> bool) -> Option<ClientId> {
        let _guard = self.write_lock.lock().await;
        let (client, left) = {
            let mut families = self.families.lock();
            let client = families.values().find(|family| ends(family))?.client.clone();
            families.retain(|_, family| !ends(family));
            (client, families.clone())
        };
        if let Err(error) = self.write(&left).await {
            tracing::error!(%error, "the end of tokens of an OAuth client could not be stored");
        }
        Some(client)
    }

    async fn write(&self, families: &HashMap<String, OAuthTokenFamily>) -> Result<(), UserError> {
        let mut families: Vec<OAuthTokenFamily> = families.values().cloned().collect();
        families.sort_by(|one, other| one.id.cmp(&other.id));
        let store = Arc::clone(&self.store);
        // A rejected list may be replaced: no token of it is valid, and each family here was allowed by a person.
        blocking(move || Ok(store.oauth_tokens().overwrite(&families)?)).await
    }
}

/// Drops the families of the new one's client that would expire first, until there are few enough.
fn make_room(families: &mut HashMap<String, OAuthTokenFamily>, new: &OAuthTokenFamily) {
    let mut others: Vec<(String, _)> = families
        .values()
        .filter(|family| family.client == new.client && family.id != new.id)
        .map(|family| (family.id.clone(), family.refresh_expires))
        .collect();
    others.sort_by_key(|(_, expires)| *expires);
    let excess = (others.len() + 1).saturating_sub(MAX_FAMILIES_PER_CLIENT);
    for (id, _) in others.into_iter().take(excess) {
        families.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::SystemClock;
    use gatehouse_store::{Owner, StoreOptions, memory};

    use super::*;

    #[tokio::test]
    async fn family_that_ended_is_not_renewed() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            dir: dir.path().to_path_buf(),
            owner: Owner::Serve,
            secrets: memory(),
            clock: Arc::new(SystemClock),
        };
        let store = Arc::new(Store::open(options).unwrap());
        let tokens = OAuthTokens::open(store, Arc::new(SystemClock));
        let grant = || AccessGrant { client: "cli-1".into(), server: None };
        let found = |issued: &IssuedTokens| match tokens.find_refresh(issued.refresh.reveal()) {
            Some(RefreshToken::Current(family)) => family,
            other => panic!("{other:?}"),
        };
        let family = found(&tokens.issue(grant()).await.unwrap());
        let renewed = tokens.rotate(&family).await.unwrap().unwrap();
        assert!(tokens.rotate(&family).await.unwrap().is_none(), "it was renewed since it was found");
        // Revoked between the look-up and the renewal.
        let family = found(&renewed);
        tokens.end_family(&family.id).await;
        assert!(tokens.rotate(&family).await.unwrap().is_none());
        assert!(tokens.find_access(renewed.access.reveal()).is_none());
    }
}
