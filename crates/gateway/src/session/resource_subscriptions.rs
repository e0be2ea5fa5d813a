//! Resource subscriptions of clients, per session or per listening stream. Each holds one subscription at the
//! server, which is released when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use gatehouse_model::ServerId;
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;

use crate::tool_service::ToolService;

/// A resource and its server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceRef {
    pub(crate) server: ServerId,
    /// Its URI at the server.
    pub(crate) target: String,
}

/// A subscription of a client.
#[derive(Clone, Debug)]
pub(crate) struct ResourceSubscription {
    pub(crate) resource: ResourceRef,
    /// The URI that the client knows the resource by.
    pub(crate) uri: String,
}

/// The resources that one session or stream subscribed to, with the URIs that the client knows them by.
#[derive(Default)]
pub(crate) struct ResourceSubscriptions(Mutex<HashMap<ResourceRef, String>>);

impl ResourceSubscriptions {
    pub(crate) fn contains(&self, resource: &ResourceRef) -> bool {
        self.0.lock().contains_key(resource)
    }

    /// Adds a subscription; `false` if it exists.
    pub(crate) fn insert(&self, subscription: ResourceSubscription) -> bool {
        self.0.lock().insert(subscription.resource, subscription.uri).is_none()
    }

    /// Removes a subscription; `false` if there is none.
    pub(crate) fn remove(&self, resource: &ResourceRef) -> bool {
        self.0.lock().remove(resource).is_some()
    }

    /// The URI that the client knows a resource by.
    pub(crate) fn uri(&self, resource: &ResourceRef) -> Option<String> {
        self.0.lock().get(resource).cloned()
    }

    /// All URIs, sorted.
    pub(crate) fn uris(&self) -> Vec<String> {
        let mut uris: Vec<String> = self.0.lock().values().cloned().collect();
        uris.sort();
        uris
    }

    pub(crate) fn release_all(&self, releaser: &SubscriptionReleaser) {
        for (resource, _) in self.0.lock().drain() {
            releaser.release(resource);
        }
    }
}

/// Releases subscriptions at the servers, in tasks of their own.
#[derive(Clone)]
pub(crate) struct SubscriptionReleaser {
    tool_service: Arc<dyn ToolService>,
    tasks: TaskTracker,
}

impl SubscriptionReleaser {
    pub(crate) fn new(tool_service: Arc<dyn ToolService>, tasks: TaskTracker) -> Self {
        Self { tool_service, tasks }
    }

    pub(crate) fn release(&self, resource: ResourceRef) {
        self.tasks.spawn(self.tool_service.unsubscribe(resource.server, resource.target));
    }
}
