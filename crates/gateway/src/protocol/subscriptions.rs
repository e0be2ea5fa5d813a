//! `subscriptions/listen` of the stateless revision: long-lived streams that announce changed lists and
//! resources.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::{ClientId, ServerId};
use gatehouse_tools::{
    CatalogViewKey, ForwardedNotification, NotificationKind, ServerNotification, ServerSelection, Viewer,
};
use parking_lot::Mutex;
use serde_json::value::RawValue;

use crate::clients::client_state::ClientState;
use crate::protocol::initialize;
use crate::protocol::response::{MessageChunks, RpcResponse};
use crate::protocol::rpc_error::HttpRpcError;
use crate::session::changed_lists::ChangedLists;
use crate::session::event_log::EventLog;
use crate::session::resource_subscriptions::{
    ResourceRef, ResourceSubscription, ResourceSubscriptions, SubscriptionReleaser, updated_params,
};

/// Maximum number of streams per client.
const MAX_STREAMS_PER_CLIENT: usize = 64;

/// Maximum number of resources per stream.
const MAX_RESOURCES_PER_STREAM: usize = 256;

/// What a client wants to be notified of, as far as the gateway supports it.
pub(crate) struct ListenFilter {
    pub(crate) lists: ChangedLists,
    /// URIs of resources, as the client knows them.
    pub(crate) resource_uris: Vec<String>,
}

impl ListenFilter {
    /// Parses the params of `subscriptions/listen`.
    pub(crate) fn parse(params: &Members<'_>) -> Result<Self, HttpRpcError> {
        let invalid = |message: &'static str| HttpRpcError::new(hyper::StatusCode::OK, -32602, message);
        let no_object = || invalid("The member `notifications` must be an object.");
        let filter =
            params.get("notifications").and_then(|raw| Members::of(raw).ok()).ok_or_else(no_object)?;
        let is_set = |member: &str| filter.get(member).map(RawValue::get) == Some("true");
        let resource_uris: Vec<String> = match filter.get("resourceSubscriptions") {
            None => Vec::new(),
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|_| invalid("The member `resourceSubscriptions` must be a list of URIs."))?,
        };
        if resource_uris.len() > MAX_RESOURCES_PER_STREAM {
            return Err(invalid("One stream can be for 256 resources at most."));
        }
        let lists = ChangedLists {
            tools: is_set("toolsListChanged"),
            resources: is_set("resourcesListChanged"),
            prompts: is_set("promptsListChanged"),
        };
        Ok(Self { lists, resource_uris })
    }
}

/// The open streams.
pub(crate) struct ListenStreams {
    state: Mutex<ListenStreamsState>,
    releaser: SubscriptionReleaser,
}

/// A request to open a stream.
pub(crate) struct ListenRequest<'a> {
    pub(crate) client: &'a Arc<ClientState>,
    /// The client as it sees the catalog with this request.
    pub(crate) viewer: &'a Viewer,
    /// The servers of the endpoint.
    pub(crate) servers: &'a ServerSelection,
    /// The request's id, as raw JSON.
    pub(crate) id: &'a str,
    pub(crate) lists: ChangedLists,
    /// What the client sees of the catalog.
    pub(crate) view: CatalogViewKey,
}

pub(crate) struct OpenedStream {
    pub(crate) number: u64,
    pub(crate) log: Arc<EventLog>,
}

#[derive(Default)]
struct ListenStreamsState {
    /// Number of the most recent stream.
    last_number: u64,
    open: HashMap<u64, ListenStream>,
}

struct ListenStream {
    client: Arc<ClientState>,
    /// The client as it sees the catalog on this stream.
    viewer: Viewer,
    /// The servers of the endpoint at which it was opened.
    servers: ServerSelection,
    /// The id of the request that opened the stream, as raw JSON.
    id: String,
    lists: ChangedLists,
    /// What the client saw of the catalog when it was last told of changed lists.
    view: CatalogViewKey,
    resource_subscriptions: ResourceSubscriptions,
    log: Arc<EventLog>,
}

impl ListenStream {
    /// Writes a notification. `more_params` are further members of `params`, each with a comma before it.
    fn notify(&self, method: &str, more_params: &str) {
        let params =
            format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}{more_params}}}"#, self.id);
        self.write(method, &params);
    }

    /// Writes a notification with these params.
    fn write(&self, method: &str, params: &str) {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
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
    pub(crate) fn new(releaser: SubscriptionReleaser) -> Self {
        Self { state: Mutex::default(), releaser }
    }

    /// Opens a stream. `None` if the client has too many.
    pub(crate) fn open(&self, request: ListenRequest<'_>) -> Option<OpenedStream> {
        let log = EventLog::transient();
        let ListenRequest { client, viewer, servers, id, lists, view } = request;
        let stream = ListenStream {
            client: Arc::clone(client),
            viewer: viewer.clone(),
            servers: servers.clone(),
            id: id.to_owned(),
            lists,
            view,
            resource_subscriptions: ResourceSubscriptions::default(),
            log: Arc::clone(&log),
        };
        let mut state = self.state.lock();
        let is_own = |other: &&ListenStream| other.client.entry.id == client.entry.id;
        if state.open.values().filter(is_own).count() >= MAX_STREAMS_PER_CLIENT {
            return None;
        }
        state.last_number += 1;
        let number = state.last_number;
        state.open.insert(number, stream);
        Some(OpenedStream { number, log })
    }

    /// Writes the acknowledgement, which is the first message on a stream: for what it is subscribed to, and for `later`,
    /// the URIs of resources that it will be subscribed to as soon as a server has them.
    pub(crate) fn acknowledge(&self, number: u64, later: Vec<String>) {
        let state = self.state.lock();
        let Some(stream) = state.open.get(&number) else { return };
        let mut uris = stream.resource_subscriptions.uris();
        uris.extend(later);
        let accepted = stream.lists.as_filter(&uris);
        stream.notify("notifications/subscriptions/acknowledged", &format!(r#","notifications":{accepted}"#));
    }

    /// Adds a resource subscription to a stream, or releases it at the server if the stream has ended.
    pub(crate) fn add_resource(&self, number: u64, subscription: ResourceSubscription) {
        let resource = subscription.resource.clone();
        let state = self.state.lock();
        let is_added =
            state.open.get(&number).is_some_and(|stream| stream.resource_subscriptions.insert(subscription));
        drop(state);
        if !is_added {
            self.releaser.release(resource);
        }
    }

    /// Notifies a stream that a resource may have changed before the subscription was made.
    pub(crate) fn notify_restored(&self, number: u64, uri: &str) {
        if let Some(stream) = self.state.lock().open.get(&number) {
            stream.write("notifications/resources/updated", &updated_params("{}", uri, Some(&stream.id)));
        }
    }

    /// Notifies the streams that subscribed to a resource, and whose client `sees` its server. Other notifications aren't
    /// for these streams.
    pub(crate) fn notify(
        &self,
        notification: &ServerNotification,
        sees: &dyn Fn(&Viewer, &ServerId) -> bool,
    ) {
        let ServerNotification { server, notification: ForwardedNotification { kind, params } } =
            notification;
        let NotificationKind::ResourceUpdated { uri } = kind else { return };
        let resource = ResourceRef { server: server.clone(), target: uri.clone() };
        let state = self.state.lock();
        for stream in state.open.values().filter(|stream| sees(&stream.viewer, server)) {
            if let Some(uri) = stream.resource_subscriptions.uri(&resource) {
                let params = updated_params(params, &uri, Some(&stream.id));
                stream.write("notifications/resources/updated", &params);
            }
        }
    }

    /// Removes a stream whose client disconnected.
    pub(crate) fn remove(&self, number: u64) {
        let removed = self.state.lock().open.remove(&number);
        if let Some(stream) = removed {
            stream.resource_subscriptions.release_all(&self.releaser);
        }
    }

    /// Notifies the streams that subscribed to changed lists; `changed` says which of the lists of some servers changed.
    pub(crate) fn notify_lists_changed(&self, changed: impl Fn(&ServerSelection) -> ChangedLists) {
        let state = self.state.lock();
        for stream in state.open.values() {
            let wanted = changed(&stream.servers).and(stream.lists);
            for method in wanted.methods() {
                stream.notify(method, "");
            }
            if wanted.tools {
                stream.client.tool_list().announced();
            }
        }
    }

    /// Notifies the streams whose clients see something else of the catalog now.
    pub(crate) fn notify_views_changed(&self, view_of: &dyn Fn(&Viewer) -> CatalogViewKey) {
        for stream in self.state.lock().open.values_mut() {
            let view = view_of(&stream.viewer);
            if std::mem::replace(&mut stream.view, view.clone()) != view {
                for method in ChangedLists::ALL.and(stream.lists).methods() {
                    stream.notify(method, "");
                }
            }
        }
    }

    pub(crate) fn end_for_client(&self, client: &ClientId) {
        self.end_where(|stream| stream.client.entry.id == *client);
    }

    pub(crate) fn end_all(&self) {
        self.end_where(|_| true);
    }

    fn end_where(&self, is_ended: impl Fn(&ListenStream) -> bool) {
        let ended: Vec<_> = self.state.lock().open.extract_if(|_, stream| is_ended(stream)).collect();
        for (_, stream) in ended {
            stream.end();
            stream.resource_subscriptions.release_all(&self.releaser);
        }
    }
}
