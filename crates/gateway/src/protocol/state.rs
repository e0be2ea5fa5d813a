//! State that all requests share: the sessions, the `subscriptions/listen` streams, the calls in flight, and the
//! lists.
//!
//! Handlers use it, so it knows none of them.

use std::sync::Arc;

use gatehouse_model::{ClientId, Event, EventSink};
use gatehouse_tools::ByteBudget;
use tokio_util::task::TaskTracker;

use crate::clients::registry::DisconnectReason;
use crate::protocol::catalog_lists::CatalogLists;
use crate::protocol::input_required::InputRequiredCalls;
use crate::protocol::subscriptions::ListenStreams;
use crate::session::resource_subscriptions::SubscriptionReleaser;
use crate::session::sessions::{ClientSessions, Session};
use crate::tool_service::ToolService;

/// State that all requests share.
pub(crate) struct ProtocolState {
    pub(crate) tool_service: Arc<dyn ToolService>,
    /// Byte budget for event logs and responses that wait for their client.
    pub(crate) retained_bytes: Arc<ByteBudget>,
    pub(crate) events: Arc<dyn EventSink>,
    /// Sessions of the stateful revisions.
    pub(crate) sessions: ClientSessions,
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
    ) -> Self {
        let calls = TaskTracker::new();
        let subscription_releaser = SubscriptionReleaser::new(Arc::clone(&tool_service), calls.clone());
        Self {
            lists: CatalogLists::new(Arc::clone(&tool_service)),
            sessions: ClientSessions::default(),
            listen_streams: ListenStreams::new(subscription_releaser.clone()),
            input_required_calls: InputRequiredCalls::new(calls.clone(), Arc::clone(&retained_bytes)),
            subscription_releaser,
            tool_service,
            retained_bytes,
            events,
            calls,
        }
    }

    /// Ends a session and cleans up after it. Does nothing if it has already ended.
    pub(crate) fn end_session(&self, session: &Session) {
        if self.sessions.end(session) {
            self.on_session_ended(session);
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
        self.listen_streams.end_all();
    }
}
