//! A client's state in memory: whether its token is valid, how it identifies itself, when it was last seen, and how
//! many sessions it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use gatehouse_model::client::ClientView;
use gatehouse_model::{ClientEntry, Timestamp};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::clients::client_info;
use crate::clients::token::TokenDigest;

/// A client and its in-memory state since Gatehouse started.
pub(crate) struct ClientState {
    /// The persisted entry.
    pub(crate) entry: Arc<ClientEntry>,
    /// Cancelled when the client's token is no longer valid. The tokens of its sessions and calls are
    /// children of this one.
    pub(crate) disconnected: CancellationToken,
    digest: Option<TokenDigest>,
    activity: Arc<ClientActivity>,
}

/// State that is kept in memory only and survives a token rotation.
#[derive(Default)]
struct ClientActivity {
    info_cache: Mutex<ClientInfoCache>,
    last_seen: AtomicI64,
    sessions: AtomicU32,
}

#[derive(Default)]
struct ClientInfoCache {
    /// The last `clientInfo` as raw JSON, so that an unchanged one isn't parsed again.
    raw: String,
    text: Option<String>,
}

impl ClientState {
    /// A client that hasn't connected yet.
    pub(crate) fn new(entry: ClientEntry) -> Self {
        Self::with_activity(entry, Arc::default())
    }

    /// The same client with a new token.
    pub(crate) fn rotated(&self, entry: ClientEntry) -> Self {
        Self::with_activity(entry, Arc::clone(&self.activity))
    }

    fn with_activity(entry: ClientEntry, activity: Arc<ClientActivity>) -> Self {
        Self {
            digest: TokenDigest::from_hex(&entry.token_sha256),
            entry: Arc::new(entry),
            disconnected: CancellationToken::new(),
            activity,
        }
    }

    /// Whether the client's token has this digest. Compares in constant time.
    pub(crate) fn has_token(&self, given: &TokenDigest) -> bool {
        self.digest.is_some_and(|digest| digest.matches(given))
    }

    /// Records that the client was seen. Returns whether this is the first time since Gatehouse started.
    pub(crate) fn mark_seen(&self, now: Timestamp) -> bool {
        self.activity.last_seen.swap(now.0, Ordering::Relaxed) == 0
    }

    /// How the client last identified itself.
    pub(crate) fn client_info(&self) -> Option<String> {
        self.activity.info_cache.lock().text.clone()
    }

    /// Records how the client identifies itself now (`clientInfo` as raw JSON), and returns it as text.
    pub(crate) fn record_client_info(&self, info: &RawValue) -> Option<String> {
        let mut info_cache = self.activity.info_cache.lock();
        if info_cache.raw != info.get() {
            info_cache.text = client_info::display_text(info);
            info_cache.raw = info.get().to_owned();
        }
        info_cache.text.clone()
    }

    pub(crate) fn session_opened(&self) {
        self.activity.sessions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn session_closed(&self) {
        self.activity.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// The client for display.
    pub(crate) fn view(&self) -> ClientView {
        let last_seen = self.activity.last_seen.load(Ordering::Relaxed);
        ClientView {
            id: self.entry.id.clone(),
            name: self.entry.name.clone(),
            created: self.entry.created,
            says: self.client_info(),
            last_seen: (last_seen != 0).then_some(Timestamp(last_seen)),
            sessions: self.activity.sessions.load(Ordering::Relaxed),
        }
    }
}
