//! Which sessions are open: opening, resuming, finding and ending them, and what reaches several of them.
//!
//! A session ends when it is deleted (HTTP DELETE), after a day of inactivity, when its client opens too many sessions and it
//! is the longest idle one, or when its client's token becomes invalid. After a restart, and after an end for another reason
//! than the first and the last one, a request with its id resumes it (`session/saved_sessions.rs`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::server::LogLevel;
use gatehouse_model::{ClientId, ServerId};
use gatehouse_tools::{CatalogViewKey, ServerNotification, ServerSelection, TaskNotice, Viewer};
use parking_lot::{RwLock, RwLockWriteGuard};
use tokio::time::Instant;

use crate::clients::client_state::ClientState;
use crate::session::changed_lists::ChangedLists;
use crate::session::identity::{ResumableSession, SessionIdentity, SessionInit};
use crate::session::sessions::Session;

/// A session that was unused for this long ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum number of sessions per client. Opening another one ends the longest idle one.
const MAX_SESSIONS_PER_CLIENT: usize = 64;

#[derive(Default)]
pub(crate) struct ClientSessions {
    /// By the id that the client knows.
    open: RwLock<HashMap<Box<str>, Arc<Session>>>,
}

pub(crate) struct OpenedSession {
    pub(crate) session: Arc<Session>,
    /// The session that was ended to make room for it.
    pub(crate) evicted: Option<Arc<Session>>,
}

impl ClientSessions {
    /// Opens a session. If its client has too many, ends the longest idle one and returns it too; sessions in
    /// use are ended last.
    pub(crate) fn open(
        &self,
        identity: SessionIdentity,
        client: &Arc<ClientState>,
        init: SessionInit,
    ) -> OpenedSession {
        let session = Arc::new(Session::new(identity, Arc::clone(client), init));
        Self::insert(self.open.write(), session)
    }

    /// Resumes a session. As [`Self::open`], but `None` if another request has resumed it.
    pub(crate) fn resume(
        &self,
        resumable: ResumableSession,
        client: &Arc<ClientState>,
    ) -> Option<OpenedSession> {
        let open = self.open.write();
        if open.contains_key(&resumable.identity.header) {
            return None;
        }
        let session = Arc::new(Session::resumed(resumable, Arc::clone(client)));
        Some(Self::insert(open, session))
    }

    fn insert(
        mut open: RwLockWriteGuard<'_, HashMap<Box<str>, Arc<Session>>>,
        session: Arc<Session>,
    ) -> OpenedSession {
        let client = &session.client;
        let mut own: Vec<&Arc<Session>> =
            open.values().filter(|other| other.client.entry.id == client.entry.id).collect();
        let evicted = if own.len() >= MAX_SESSIONS_PER_CLIENT {
            own.sort_by_key(|other| (other.is_busy(), other.last_used()));
            own.first().map(|oldest| oldest.header.clone())
        } else {
            None
        };
        let evicted = evicted.and_then(|oldest| open.remove(&oldest));
        open.insert(session.header.clone(), Arc::clone(&session));
        drop(open);
        session.client.session_opened();
        if let Some(ended) = &evicted {
            ended.end();
        }
        OpenedSession { session, evicted }
    }

    /// The session with this id, if it belongs to this client, endpoint and bridge and hasn't ended. Counts as a use.
    pub(crate) fn find(&self, id: &str, viewer: &Viewer, servers: &ServerSelection) -> Option<Arc<Session>> {
        let session = self.open.read().get(id).cloned()?;
        let is_usable = session.client.entry.id == viewer.client
            && session.narrowing.lock().is_same_bridge(&viewer.narrowing)
            && session.servers == *servers
            && !session.ended.is_cancelled();
        if is_usable {
            session.touch();
        }
        is_usable.then_some(session)
    }

    /// The most verbose log level that any session requested.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.open.read().values().filter_map(|session| session.log_level()).min()
    }

    /// Ends the session that its client knows by this id, and returns it; `None` if there is none.
    pub(crate) fn end(&self, header: &str) -> Option<Arc<Session>> {
        let ended = self.open.write().remove(header)?;
        ended.end();
        Some(ended)
    }

    /// Ends sessions that were idle for too long and those of disconnected clients, and returns them.
    pub(crate) fn end_idle(&self) -> Vec<Arc<Session>> {
        let now = Instant::now();
        self.end_where(|session| {
            session.client.disconnected.is_cancelled()
                || !session.is_busy() && now.duration_since(session.last_used()) >= IDLE_TIMEOUT
        })
    }

    /// Drops finished streams that have expired, in all sessions.
    pub(crate) fn prune_streams(&self) {
        for session in self.open.read().values() {
            session.prune_streams();
        }
    }

    /// Ends the sessions of one client that were opened with an invalidated token, and returns them.
    pub(crate) fn end_for_client(&self, client: &ClientId) -> Vec<Arc<Session>> {
        self.end_where(|session| {
            session.client.entry.id == *client && session.client.disconnected.is_cancelled()
        })
    }

    /// Ends all sessions and returns them.
    pub(crate) fn end_all(&self) -> Vec<Arc<Session>> {
        self.end_where(|_| true)
    }

    fn end_where(&self, is_ended: impl Fn(&Session) -> bool) -> Vec<Arc<Session>> {
        let ended: Vec<_> = self
            .open
            .write()
            .extract_if(|_, session| is_ended(session))
            .map(|(_, session)| session)
            .collect();
        for session in &ended {
            session.end();
        }
        ended
    }

    /// Passes a notification of a server on to the sessions that it is for, and whose client `sees` the server.
    pub(crate) fn notify(
        &self,
        notification: &ServerNotification,
        sees: &dyn Fn(&Viewer, &ServerId) -> bool,
    ) {
        for session in self.open.read().values() {
            if sees(&session.viewer(), &notification.server) {
                session.notify(notification);
            }
        }
    }

    /// Passes on what a server says of a task to the session of the call that became it.
    pub(crate) fn notify_task(&self, notice: &TaskNotice) {
        let open = self.open.read();
        let session = open.values().find(|session| Some(&session.id) == notice.session.as_ref());
        if let Some(session) = session {
            session.push_notification("notifications/tasks/status", notice.params.get());
        }
    }

    /// Notifies the sessions whose clients see something else of the catalog now.
    pub(crate) fn notify_views_changed(&self, view_of: &dyn Fn(&Viewer) -> CatalogViewKey) {
        for session in self.open.read().values() {
            session.update_view(view_of(&session.viewer()));
        }
    }

    /// Notifies all sessions of changed lists; `changed` says which of the lists of some servers changed.
    pub(crate) fn notify_lists_changed(&self, changed: impl Fn(&ServerSelection) -> ChangedLists) {
        for session in self.open.read().values() {
            session.notify_lists_changed(changed(&session.servers));
        }
    }
}

#[cfg(test)]
mod tests;
