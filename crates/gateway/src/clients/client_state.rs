//! A client's state in memory: whether its token is valid, how it identifies itself, when it was last seen, and how
//! many sessions it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use gatehouse_model::client::ClientView;
use gatehouse_model::profile::ToolListCost;
use gatehouse_model::{ClientEntry, Timestamp};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::clients::client_info;
use crate::clients::token::TokenDigest;
use crate::clients::tool_list_use::ToolListUse;

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
    /// Sessions with an old tool list.
    stale_sessions: AtomicU32,
    /// Of the stateless revision, where several programs with the same token count as one.
    tool_list: ToolListUse,
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

    /// Records how the client identified itself before Gatehouse was restarted, unless it has done so again.
    pub(crate) fn restore_client_info(&self, text: Option<&str>) {
        let mut info_cache = self.activity.info_cache.lock();
        if info_cache.text.is_none() {
            info_cache.text = text.map(str::to_owned);
        }
    }

    pub(crate) fn session_opened(&self) {
        self.activity.sessions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn session_closed(&self) {
        self.activity.sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// A session has got an old tool list.
    pub(crate) fn list_became_stale(&self) {
        self.activity.stale_sessions.fetch_add(1, Ordering::Relaxed);
    }

    /// A session has an old tool list no longer, or has ended.
    pub(crate) fn list_no_longer_stale(&self) {
        self.activity.stale_sessions.fetch_sub(1, Ordering::Relaxed);
    }

    /// What the client did with its tool list in the stateless revision.
    pub(crate) fn tool_list(&self) -> &ToolListUse {
        &self.activity.tool_list
    }

    /// Whether the client works with an old tool list, in any session or without one (GATE-7).
    pub(crate) fn has_stale_list(&self) -> bool {
        self.activity.stale_sessions.load(Ordering::Relaxed) > 0 || self.activity.tool_list.is_stale()
    }

    /// The client for display, without its profile, which only the tools know.
    pub(crate) fn view(&self) -> ClientView {
        let last_seen = self.activity.last_seen.load(Ordering::Relaxed);
        ClientView {
            id: self.entry.id.clone(),
            name: self.entry.name.clone(),
            created: self.entry.created,
            access: self.entry.access.clone(),
            says: self.client_info(),
            last_seen: (last_seen != 0).then_some(Timestamp(last_seen)),
            sessions: self.activity.sessions.load(Ordering::Relaxed),
            has_stale_list: self.has_stale_list(),
            profile: None,
            tool_list: ToolListCost::default(),
        }
    }
}
