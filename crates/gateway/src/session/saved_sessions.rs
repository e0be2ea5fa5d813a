//! Sessions that outlive a run of Gatehouse. Clients with sessions never call `initialize` again, so the id of a session
//! carries what `initialize` determined, sealed for the client and its token, and a gateway that doesn't know the session
//! resumes it. What the client sent later and doesn't repeat is in the store ([`gatehouse_store::SessionStore`]).
//!
//! An id is `ses-<nonce>.<content>.<MAC>`: 32 hexadecimal digits, then JSON and an HMAC-SHA256 in base64url. It is not
//! secret and allows nothing without the client's token. It is useless for another client, another gateway, and after
//! the client got a new token. What is limited to a session, such as an approval, doesn't pass to the resumed one.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{ClientEntry, Clock, SessionId, Timestamp, UserError};
use gatehouse_store::{SavedSessionId, SessionSeal, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::clients::token;
use crate::session::identity::{ResumableSession, SessionIdentity, SessionInit};
use crate::session::sessions::Session;

/// Maximum length of an id. A session whose id would be longer gets one without content, and can't be resumed.
const MAX_ID_BYTES: usize = 1024;

/// What an id carries.
#[derive(Serialize, Deserialize)]
struct IdContent<Init> {
    /// When the client opened the session.
    opened: Timestamp,
    init: Init,
}

/// An id whose seal is intact.
struct OpenedId {
    saved_as: SavedSessionId,
    init: SessionInit,
}

pub(crate) struct SavedSessions {
    store: Arc<Store>,
    /// `None` if the secret store didn't give the key: then no session can be resumed.
    seal: Option<SessionSeal>,
    clock: Arc<dyn Clock>,
    /// Held from the look-up of a session in the store until it is open again, and from the record of its end until it is
    /// no longer open.
    changing: tokio::sync::Mutex<()>,
}

impl SavedSessions {
    /// Reads the key from the secret store.
    pub(crate) async fn open(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        let blocking = Arc::clone(&store);
        let seal = match tokio::task::spawn_blocking(move || blocking.sessions().seal()).await {
            Ok(Ok(seal)) => Some(seal),
            Ok(Err(error)) => {
                tracing::warn!(%error, "sessions of clients will not survive a restart");
                None
            }
            Err(error) => {
                tracing::error!(%error, "the key for sessions could not be read");
                None
            }
        };
        Self { store, seal, clock, changing: tokio::sync::Mutex::default() }
    }

    /// The ids of a new session.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(crate) fn identify(
        &self,
        client: &ClientEntry,
        init: &SessionInit,
    ) -> Result<SessionIdentity, UserError> {
        let nonce = hex::encode(token::random::<16>()?);
        let id = SessionId::new(format!("ses-{nonce}"));
        let opened = self.clock.now();
        // A client of HTTP+SSE never learns the id.
        let seal = self.seal.as_ref().filter(|_| init.only_stream.is_none());
        let sealed = seal.and_then(|seal| {
            let content = serde_json::to_vec(&IdContent { opened, init }).ok()?;
            let unsealed = format!("{id}.{}", URL_SAFE_NO_PAD.encode(content));
            let mac = URL_SAFE_NO_PAD.encode(seal.mac(client, &unsealed));
            Some(format!("{unsealed}.{mac}")).filter(|header| header.len() <= MAX_ID_BYTES)
        });
        let saved_as = sealed.is_some().then(|| SavedSessionId { client: client.id.clone(), nonce, opened });
        let header = sealed.unwrap_or_else(|| id.to_string()).into();
        Ok(SessionIdentity { id, header, saved_as })
    }

    /// Waits until nobody else resumes or deletes a session.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// The session with this id, if it is one of this client that can be resumed. To be called and used under
    /// [`Self::lock`].
    pub(crate) async fn find(&self, client: &ClientEntry, header: &str) -> Option<ResumableSession> {
        let OpenedId { saved_as, init } = self.open_id(client, header)?;
        let (store, key) = (Arc::clone(&self.store), saved_as.clone());
        let saved = match tokio::task::spawn_blocking(move || store.sessions().load(&key)).await {
            Ok(Ok(saved)) => saved?,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a session can't be resumed");
                return None;
            }
            Err(error) => {
                tracing::error!(%error, "a session could not be looked up");
                return None;
            }
        };
        // A new one: what was limited to the session ended with the run of Gatehouse.
        let id = SessionId::new(format!("ses-{}", hex::encode(token::random::<16>().ok()?)));
        // Half of the range is left to count up in.
        let first_number = u64::from_le_bytes(token::random().ok()?) >> 1;
        let identity = SessionIdentity { id, header: header.into(), saved_as: Some(saved_as) };
        Some(ResumableSession { identity, init, saved, first_number })
    }

    /// Saves what a session needs after a restart. The future saves the state of this moment.
    pub(crate) fn save(&self, session: &Arc<Session>) -> impl Future<Output = ()> + Send + use<> {
        let work = session.snapshot().zip(session.saved_as.clone());
        let (store, session) = (Arc::clone(&self.store), Arc::clone(session));
        async move {
            let Some((snapshot, key)) = work else { return };
            let save = move || session.snapshots.save(&snapshot, |state| store.sessions().save(&key, state));
            log_failure(tokio::task::spawn_blocking(save).await);
        }
    }

    /// Records that a session has ended for good. To be called under [`Self::lock`].
    pub(crate) async fn end(&self, session: Option<SavedSessionId>) {
        let Some(key) = session else { return };
        let store = Arc::clone(&self.store);
        log_failure(tokio::task::spawn_blocking(move || store.sessions().end(&key)).await);
    }

    /// Verifies an id and reads its content.
    fn open_id(&self, client: &ClientEntry, header: &str) -> Option<OpenedId> {
        if header.len() > MAX_ID_BYTES {
            return None;
        }
        let (unsealed, mac) = header.rsplit_once('.')?;
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        if !self.seal.as_ref()?.is_mac_valid(client, unsealed, &mac) {
            return None;
        }
        let (id, content) = unsealed.split_once('.')?;
        let nonce = id.strip_prefix("ses-")?.to_owned();
        let content = URL_SAFE_NO_PAD.decode(content).ok()?;
        let IdContent { opened, init } = serde_json::from_slice(&content).ok()?;
        Some(OpenedId { saved_as: SavedSessionId { client: client.id.clone(), nonce, opened }, init })
    }
}

fn log_failure(written: Result<Result<(), StoreError>, tokio::task::JoinError>) {
    match written {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a session could not be saved"),
        Err(error) => tracing::error!(%error, "saving a session failed"),
    }
}
