//! Resumes sessions from before: of an earlier run of Gatehouse, or after they ended because they were idle.

use std::sync::Arc;

use gatehouse_tools::{AccessCall, AccessKind, CallResponse, Peer};

use crate::protocol::mcp_headers;
use crate::protocol::request::RequestOrigin;
use crate::protocol::state::ProtocolState;
use crate::session::client_sessions::OpenedSession;
use crate::session::resource_subscriptions::{ResourceRef, ResourceSubscription};
use crate::session::sessions::Session;

/// Resumes the session that a request names, if it isn't open and can be resumed, and restores its subscriptions.
pub(crate) async fn resume(state: &Arc<ProtocolState>, origin: &RequestOrigin<'_>, peer: &Peer) {
    let Some(session) = resume_without_subscriptions(state, origin).await else { return };
    for uri in session.resource_subscriptions.unrestored() {
        let (state, session) = (Arc::clone(state), Arc::clone(&session));
        let tasks = state.calls.clone();
        tasks.spawn(restore_subscription(state, session, peer.clone(), uri));
    }
}

/// Resumes the session that a request names, and returns it. `None` if it is open, or can't be resumed: then it is
/// unknown to all that follows, and nothing says why.
pub(crate) async fn resume_without_subscriptions(
    state: &ProtocolState,
    origin: &RequestOrigin<'_>,
) -> Option<Arc<Session>> {
    let RequestOrigin { client, viewer, servers, headers, sse, .. } = *origin;
    if sse.is_some() {
        return None;
    }
    let id = mcp_headers::session_id(headers).ok()?;
    if state.sessions.find(id, viewer, servers).is_some() {
        return None;
    }
    // A session that is deleted meanwhile must not be opened from what was stored of it before.
    let _changing = state.saved_sessions.lock().await;
    let mut resumable = state.saved_sessions.find(&client.entry, id).await?;
    if resumable.init.servers != *servers {
        return None;
    }
    resumable.init.narrowing = viewer.narrowing.clone();
    let OpenedSession { session, evicted } = state.sessions.resume(resumable, client)?;
    if let Some(evicted) = evicted {
        state.on_session_ended(&evicted);
    }
    client.restore_client_info(session.client_info());
    state.tool_service.set_log_level(state.sessions.log_level());
    state.on_session_opened(&session);
    Some(session)
}

/// Subscribes to a resource again, as if the client had requested it: the policy is evaluated, and a person may be asked.
/// Waits until a server has the resource. The client is notified, as the resource may have changed meanwhile.
async fn restore_subscription(state: Arc<ProtocolState>, session: Arc<Session>, peer: Peer, uri: String) {
    let subscriptions = &session.resource_subscriptions;
    let look_up = || state.tool_service.resource(&session.viewer(), &session.servers, &uri);
    let target = tokio::select! {
        () = session.ended.cancelled() => None,
        target = state.await_resource(look_up) => target,
    };
    let Some(target) = target.filter(|_| subscriptions.is_unrestored(&uri)) else { return };
    let resource = ResourceRef { server: target.server.clone(), target: target.target.clone() };
    let call = AccessCall {
        cancel: session.ended.child_token(),
        ..AccessCall::new(target.server, AccessKind::Subscribe, target.target, uri.clone())
    };
    let response = state.tool_service.access(session.caller(peer), call).await;
    let is_wanted = subscriptions.settle(&uri);
    match response {
        CallResponse::Result(_) if is_wanted => {
            state.add_subscription(&session, ResourceSubscription { resource, uri: uri.clone() });
            session.notify_restored(&uri);
        }
        CallResponse::Result(_) => state.subscription_releaser.release(resource),
        CallResponse::Error(_) => {
            tracing::debug!(session = %session.id, "a subscription was not restored");
        }
    }
}
