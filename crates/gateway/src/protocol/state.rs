//! State that all requests share: the sessions, the `subscriptions/listen` streams, the calls in flight, and the
//! lists.
//!
//! Handlers use it, so it knows none of them.

use std::sync::Arc;

use gatehouse_model::{ClientId, Event, EventSink};
use gatehouse_tools::{ByteBudget, ResolvedTarget};
use tokio_util::task::TaskTracker;

use crate::clients::client_state::ClientState;
use crate::clients::registry::DisconnectReason;
use crate::protocol::catalog_lists::CatalogLists;
use crate::protocol::input_required::InputRequiredCalls;
use crate::protocol::subscriptions::ListenStreams;
use crate::session::client_sessions::ClientSessions;
use crate::session::resource_subscriptions::{ResourceSubscription, SubscriptionReleaser};
use crate::session::saved_sessions::SavedSessions;
use crate::session::sessions::Session;
use crate::session::sse_connections::SseConnections;
use crate::tool_service::ToolService;

/// State that all requests share.
pub(crate) struct ProtocolState {
    pub(crate) tool_service: Arc<dyn ToolService>,
    /// Byte budget for event logs and responses that wait for their client.
    pub(crate) retained_bytes: Arc<ByteBudget>,
    pub(crate) events: Arc<dyn EventSink>,
    /// Sessions of the stateful revisions.
    pub(crate) sessions: ClientSessions,
    /// Connections of HTTP+SSE.
    pub(crate) sse_connections: SseConnections,
    /// What of them outlives this run.
    pub(crate) saved_sessions: SavedSessions,
    /// `subscriptions/listen` streams of the stateless revision.
    pub(crate) listen_streams: ListenStreams,
    /// Calls that wait for the client's input (`input_required`).
    pub(crate) input_required_calls: InputRequiredCalls,
    /// Releases subscriptions at the servers.
    pub(crate) subscription_releaser: SubscriptionReleaser,
    /// Tasks of calls that run on after their request, and other work that outlives a request.
    pub(crate) calls: TaskTracker,
    pub(crate) lists: CatalogLists,
}

impl ProtocolState {
    pub(crate) fn new(
        tool_service: Arc<dyn ToolService>,
        retained_bytes: Arc<ByteBudget>,
        events: Arc<dyn EventSink>,
        saved_sessions: SavedSessions,
    ) -> Self {
        let calls = TaskTracker::new();
        let subscription_releaser = SubscriptionReleaser::new(Arc::clone(&tool_service), calls.clone());
        Self {
            lists: CatalogLists::new(Arc::clone(&tool_service)),
            sessions: ClientSessions::default(),
            sse_connections: SseConnections::default(),
            saved_sessions,
            listen_streams: ListenStreams::new(subscription_releaser.clone()),
            input_required_calls: InputRequiredCalls::new(calls.clone(), Arc::clone(&retained_bytes)),
            subscription_releaser,
            tool_service,
            retained_bytes,
            events,
            calls,
        }
    }

    /// Says whether a client works with an old tool list, since that has changed.
    pub(crate) fn announce_tool_list(&self, client: &ClientState) {
        let (client, is_stale) = (client.entry.id.clone(), client.has_stale_list());
        self.events.emit(Event::ClientToolList { client, is_stale });
    }

    /// Emits the event that a client opened or resumed a session.
    pub(crate) fn on_session_opened(&self, session: &Session) {
        let client = session.client.entry.id.clone();
        tracing::debug!(%client, session = %session.id, version = session.revision.as_str(), "a session began");
        self.events.emit(Event::ClientConnected { client, says: session.client_info().map(str::to_owned) });
    }

    /// Saves what a session needs after a restart, in the background.
    pub(crate) fn save_session(&self, session: &Arc<Session>) {
        self.calls.spawn(self.saved_sessions.save(session));
    }

    /// Waits until `look_up` finds a resource in the catalog, which changes when servers connect. `None` if the catalog
    /// doesn't change any more.
    pub(crate) async fn await_resource(
        &self,
        look_up: impl Fn() -> Option<ResolvedTarget>,
    ) -> Option<ResolvedTarget> {
        let mut versions = self.lists.versions();
        loop {
            versions.mark_unchanged();
            if let Some(target) = look_up() {
                return Some(target);
            }
            versions.changed().await.ok()?;
        }
    }

    /// Adds a subscription that was made at the server. Releases it there if the session has it or has ended.
    pub(crate) fn add_subscription(&self, session: &Arc<Session>, subscription: ResourceSubscription) {
        let subscriptions = &session.resource_subscriptions;
        let resource = subscription.resource.clone();
        let is_new = subscriptions.insert(subscription);
        if !is_new || (session.ended.is_cancelled() && subscriptions.remove(&resource)) {
            self.subscription_releaser.release(resource);
        }
        self.save_session(session);
    }

    /// Ends a session for good and cleans up after it. If it ended meanwhile and was resumed, that is what ends.
    pub(crate) async fn delete_session(&self, session: &Session) {
        let _changing = self.saved_sessions.lock().await;
        self.saved_sessions.end(session.saved_as.clone()).await;
        self.end_session(session);
    }

    /// Ends a session and cleans up after it. Does nothing if it has already ended.
    pub(crate) fn end_session(&self, session: &Session) {
        if let Some(ended) = self.sessions.end(&session.header) {
            self.on_session_ended(&ended);
        }
    }

    /// Cleans up after a session that ended: informs the tool service, releases its subscriptions, lowers the log
    /// level, and emits the event.
    pub(crate) fn on_session_ended(&self, session: &Session) {
        self.tool_service.session_ended(&session.id);
        session.resource_subscriptions.release_all(&self.subscription_releaser);
        self.tool_service.set_log_level(self.sessions.log_level());
        self.events.emit(Event::ClientGone { client: session.client.entry.id.clone() });
        tracing::debug!(client = %session.client.entry.id, session = %session.id, "a session ended");
    }

    /// Ends everything of a client whose token became invalid.
    pub(crate) fn disconnect(&self, client: &ClientId, reason: DisconnectReason) {
        for session in self.sessions.end_for_client(client) {
            self.on_session_ended(&session);
        }
        self.sse_connections.end_for_client(client);
        self.listen_streams.end_for_client(client);
        self.input_required_calls.end_for_client(client);
        if reason == DisconnectReason::Revoked {
            self.tool_service.client_revoked(client);
        }
    }

    /// Ends idle sessions, and drops expired streams and calls.
    pub(crate) fn drop_expired(&self) {
        self.input_required_calls.drop_expired();
        self.sessions.prune_streams();
        for session in self.sessions.end_idle() {
            self.on_session_ended(&session);
        }
    }

    /// Ends all sessions and streams.
    pub(crate) fn end_all(&self) {
        for session in self.sessions.end_all() {
            self.on_session_ended(&session);
        }
        self.sse_connections.end_all();
        self.listen_streams.end_all();
    }
}
