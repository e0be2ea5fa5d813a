//! Resource subscriptions of clients, per session or per listening stream. Each holds one subscription at the
//! server, which is released when it ends.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gatehouse_mcp_wire::raw::{Members, object, quoted, raw};
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

/// Maximum number of resources that a session is subscribed to.
const MAX_PER_SESSION: usize = 1024;

/// The `_meta` member that names the stream of a `subscriptions/listen` request. Each connection has its own.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The params of `notifications/resources/updated` for a client: those of the server, with the URI that the client knows
/// and, on a `subscriptions/listen` stream, the stream's id as raw JSON.
pub(crate) fn updated_params(params: &str, uri: &str, subscription: Option<&str>) -> String {
    let members = Members::read(params).unwrap_or_default();
    let uri = raw(quoted(uri));
    let subscription = subscription.map(|id| raw(id.to_owned()));
    let others = members.get("_meta").and_then(|meta| Members::of(meta).ok()).unwrap_or_default();
    let others = others.iter().filter(|(name, _)| *name != SUBSCRIPTION_ID);
    let own = subscription.as_deref().map(|id| (SUBSCRIPTION_ID, id));
    let meta = raw(object(own.into_iter().chain(others)));
    let has_meta = meta.get() != "{}";
    let rest = members.iter().filter(|(name, _)| !["uri", "_meta"].contains(name));
    let first = has_meta.then_some(("_meta", &*meta)).into_iter().chain([("uri", &*uri)]);
    object(first.chain(rest))
}

/// The resources that one session or stream subscribed to, with the URIs that the client knows them by.
#[derive(Default)]
pub(crate) struct ResourceSubscriptions {
    active: Mutex<HashMap<ResourceRef, String>>,
    /// URIs from before a restart that aren't subscribed to again yet.
    unrestored: Mutex<BTreeSet<String>>,
}

impl ResourceSubscriptions {
    /// No subscriptions, with these to be restored.
    pub(crate) fn to_restore(uris: Vec<String>) -> Self {
        Self { active: Mutex::default(), unrestored: Mutex::new(uris.into_iter().collect()) }
    }

    /// The URIs that are still to be restored, sorted.
    pub(crate) fn unrestored(&self) -> Vec<String> {
        self.unrestored.lock().iter().cloned().collect()
    }

    pub(crate) fn is_unrestored(&self, uri: &str) -> bool {
        self.unrestored.lock().contains(uri)
    }

    /// Records that a URI was restored, or needn't be any more. `false` if that was known.
    pub(crate) fn settle(&self, uri: &str) -> bool {
        self.unrestored.lock().remove(uri)
    }

    /// The URIs that are subscribed to or are still to be restored, sorted.
    pub(crate) fn uris_to_save(&self) -> Vec<String> {
        let mut uris = self.unrestored.lock().clone();
        uris.extend(self.active.lock().values().cloned());
        uris.into_iter().collect()
    }

    pub(crate) fn contains(&self, resource: &ResourceRef) -> bool {
        self.active.lock().contains_key(resource)
    }

    /// Whether a session can't have more of them.
    pub(crate) fn is_full(&self) -> bool {
        self.active.lock().len() >= MAX_PER_SESSION
    }

    /// Adds a subscription; `false` if it exists.
    pub(crate) fn insert(&self, subscription: ResourceSubscription) -> bool {
        self.active.lock().insert(subscription.resource, subscription.uri).is_none()
    }

    /// Removes a subscription; `false` if there is none.
    pub(crate) fn remove(&self, resource: &ResourceRef) -> bool {
        self.active.lock().remove(resource).is_some()
    }

    /// The URI that the client knows a resource by.
    pub(crate) fn uri(&self, resource: &ResourceRef) -> Option<String> {
        self.active.lock().get(resource).cloned()
    }

    /// All URIs, sorted.
    pub(crate) fn uris(&self) -> Vec<String> {
        let mut uris: Vec<String> = self.active.lock().values().cloned().collect();
        uris.sort();
        uris
    }

    pub(crate) fn release_all(&self, releaser: &SubscriptionReleaser) {
        self.unrestored.lock().clear();
        for (resource, _) in self.active.lock().drain() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_all_members_of_updates() {
        for (params, subscription, expected) in [
            (r#"{"uri":"a://1"}"#, None, r#"{"uri":"b://1"}"#),
            (
                r#"{"x":1.0, "uri":"a://1","_meta":{"k":null}}"#,
                None,
                r#"{"_meta":{"k":null},"uri":"b://1","x":1.0}"#,
            ),
            (
                r#"{"uri":"a://1","_meta":{"io.modelcontextprotocol/subscriptionId":"g7","k":1}}"#,
                Some("3"),
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":3,"k":1},"uri":"b://1"}"#,
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"g7"},"uri":"a://1"}"#,
                None,
                r#"{"uri":"b://1"}"#,
            ),
        ] {
            assert_eq!(updated_params(params, "b://1", subscription), expected, "{params}");
        }
    }
}
