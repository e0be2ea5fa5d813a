//! `subscriptions/listen` of the stateless revision: long-lived streams that announce changed lists and
//! resources.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::ClientId;
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::gateway::GatewayState;
use crate::http::response::{MessageChunks, RpcResponse};
use crate::protocol::initialize;
use crate::protocol::rpc_error::HttpRpcError;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::EventLog;
use crate::session::resource_subscriptions::{self, ResourceRef, ResourceSubscriptions};

/// Maximum number of streams per client.
const MAX_STREAMS_PER_CLIENT: usize = 64;

/// Maximum number of resources per stream.
const MAX_RESOURCES_PER_STREAM: usize = 256;

/// Parses the subscription filter, as far as the gateway supports it: lists, and URIs of resources.
pub(crate) fn filter(params: &Members<'_>) -> Result<(ChangedLists, Vec<String>), HttpRpcError> {
    let invalid = |what: &'static str| HttpRpcError::new(hyper::StatusCode::OK, -32602, what);
    let wrong = || invalid("The member `notifications` must be an object.");
    let filter = params.get("notifications").and_then(|raw| Members::of(raw).ok()).ok_or_else(wrong)?;
    let wants = |member: &str| filter.get(member).map(RawValue::get) == Some("true");
    let uris: Vec<String> = match filter.get("resourceSubscriptions") {
        None => Vec::new(),
        Some(raw) => serde_json::from_str(raw.get())
            .map_err(|_| invalid("The member `resourceSubscriptions` must be a list of URIs."))?,
    };
    if uris.len() > MAX_RESOURCES_PER_STREAM {
        return Err(invalid("One stream can be for 256 resources at most."));
    }
    let lists = ChangedLists {
        tools: wants("toolsListChanged"),
        resources: wants("resourcesListChanged"),
        prompts: wants("promptsListChanged"),
    };
    Ok((lists, uris))
}

/// The open streams.
#[derive(Default)]
pub(crate) struct ListenStreams {
    state: Mutex<ListenStreamsState>,
}

#[derive(Default)]
struct ListenStreamsState {
    next: u64,
    open: HashMap<u64, ListenStream>,
}

struct ListenStream {
    client: ClientId,
    id: String,
    filter: ChangedLists,
    resource_subscriptions: ResourceSubscriptions,
    log: Arc<EventLog>,
}

impl ListenStream {
    fn notify(&self, method: &str, more: &str) {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}{more}}}}}"#,
            self.id
        );
        self.log.push(std::iter::once(text.as_bytes()));
    }

    fn end(&self) {
        self.log.finish(
            MessageChunks::response(&self.id, &RpcResponse::result(initialize::listen_ended(&self.id)))
                .pieces(),
        );
    }
}

impl ListenStreams {
    /// Opens a stream. `None` if the client has too many.
    pub(crate) fn listen(
        &self,
        client: &ClientId,
        id: &str,
        filter: ChangedLists,
    ) -> Option<(u64, Arc<EventLog>)> {
        let log = EventLog::passing();
        let listener = ListenStream {
            client: client.clone(),
            id: id.to_owned(),
            filter,
            resource_subscriptions: ResourceSubscriptions::default(),
            log: Arc::clone(&log),
        };
        let mut state = self.state.lock();
        if state.open.values().filter(|other| other.client == *client).count() >= MAX_STREAMS_PER_CLIENT {
            return None;
        }
        state.next += 1;
        let number = state.next;
        state.open.insert(number, listener);
        Some((number, log))
    }

    /// Writes the acknowledgement, which is the first message on a stream.
    pub(crate) fn acknowledge(&self, number: u64) {
        let state = self.state.lock();
        let Some(listener) = state.open.get(&number) else { return };
        let accepted = listener.filter.as_filter(&listener.resource_subscriptions.uris());
        listener
            .notify("notifications/subscriptions/acknowledged", &format!(r#","notifications":{accepted}"#));
    }

    /// Adds a resource subscription to a stream, or releases it at the server if the stream has ended.
    pub(crate) fn add_resource(
        &self,
        number: u64,
        (resource, uri): (ResourceRef, String),
        gateway: &GatewayState,
    ) {
        let state = self.state.lock();
        let kept = state
            .open
            .get(&number)
            .is_some_and(|listener| listener.resource_subscriptions.insert(resource.clone(), uri));
        drop(state);
        if !kept {
            resource_subscriptions::release(&gateway.tool_service, &gateway.calls, resource);
        }
    }

    /// Notifies the streams that subscribed to a resource.
    pub(crate) fn notify_resource_updated(&self, resource: &ResourceRef) {
        let state = self.state.lock();
        for listener in state.open.values() {
            if let Some(uri) = listener.resource_subscriptions.uri(resource) {
                let uri = serde_json::Value::from(uri);
                listener.notify("notifications/resources/updated", &format!(r#","uri":{uri}"#));
            }
        }
    }

    /// Removes a stream whose client disconnected.
    pub(crate) fn forget(&self, number: u64, gateway: &GatewayState) {
        let gone = self.state.lock().open.remove(&number);
        if let Some(listener) = gone {
            listener.resource_subscriptions.release_all(&gateway.tool_service, &gateway.calls);
        }
    }

    /// Notifies the streams that subscribed to changed lists.
    pub(crate) fn notify_lists_changed(&self, changed: ChangedLists) {
        let state = self.state.lock();
        for listener in state.open.values() {
            for method in changed.and(listener.filter).methods() {
                listener.notify(method, "");
            }
        }
    }

    /// Ends the streams of one client.
    pub(crate) fn end_for_client(&self, client: &ClientId, gateway: &GatewayState) {
        self.end_where(gateway, |listener| listener.client == *client);
    }

    /// Ends all streams.
    pub(crate) fn end_all(&self, gateway: &GatewayState) {
        self.end_where(gateway, |_| true);
    }

    fn end_where(&self, gateway: &GatewayState, which: impl Fn(&ListenStream) -> bool) {
        let ended: Vec<_> = self.state.lock().open.extract_if(|_, listener| which(listener)).collect();
        for (_, listener) in ended {
            listener.end();
            listener.resource_subscriptions.release_all(&gateway.tool_service, &gateway.calls);
        }
    }
}
