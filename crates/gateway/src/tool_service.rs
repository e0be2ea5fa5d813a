//! What the gateway needs of the tools, as one narrow trait, so that the gateway can be tested without them.
//!
//! The gateway has no other way to reach a tool, a resource or a prompt.

use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientId, ServerId, SessionId};
use gatehouse_tools::{
    AccessCall, CallResponse, Caller, CatalogList, CatalogVersions, ResolvedTarget, ResourceUpdate, ToolCall,
    ToolManager,
};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

/// Entry point for calls and catalog lookups. [`ToolManager`] is the real implementation.
pub trait ToolService: Send + Sync {
    /// Watches the versions of the catalog lists.
    fn catalog_versions(&self) -> watch::Receiver<CatalogVersions>;

    /// Passes one of the lists to `read`, each item as raw JSON as clients see it.
    fn with_list(&self, list: CatalogList, read: &mut dyn FnMut(&[Box<RawValue>]));

    /// Server and upstream URI of a resource.
    fn resource(&self, uri: &str) -> Option<ResolvedTarget>;

    /// Server and upstream URI of a resource template or a resource.
    fn template(&self, uri: &str) -> Option<ResolvedTarget>;

    /// Server and upstream name of a prompt, by the name that clients use.
    fn prompt(&self, name: &str) -> Option<ResolvedTarget>;

    /// Evaluates the policy for a tool call and runs the call. Returns soon after the call's `cancel` token
    /// is cancelled.
    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallResponse>;

    /// Evaluates the policy for any other access and runs it. Returns soon after the call's `cancel` token is
    /// cancelled.
    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse>;

    /// Resource updates from now on, as reported by the servers. Delivery is only guaranteed for resources
    /// that were subscribed to with [`ToolService::access`].
    fn resource_updates(&self) -> broadcast::Receiver<ResourceUpdate>;

    /// Sets the log level for servers: the most verbose one that any client requested.
    fn set_log_level(&self, level: Option<LogLevel>);

    /// Releases one subscription made with [`ToolService::access`].
    fn unsubscribe(&self, server: ServerId, target: String) -> BoxFuture<'static, ()>;

    /// Called when a session ended: grants that were limited to it end too.
    fn session_ended(&self, session: &SessionId);

    /// Called when a client was revoked.
    fn client_revoked(&self, client: &ClientId);
}

impl ToolService for ToolManager {
    fn catalog_versions(&self) -> watch::Receiver<CatalogVersions> {
        self.catalog_changes()
    }

    fn with_list(&self, list: CatalogList, read: &mut dyn FnMut(&[Box<RawValue>])) {
        read(self.catalog().list(list));
    }

    fn resource(&self, uri: &str) -> Option<ResolvedTarget> {
        self.catalog().resource(uri)
    }

    fn template(&self, uri: &str) -> Option<ResolvedTarget> {
        self.catalog().template(uri)
    }

    fn prompt(&self, name: &str) -> Option<ResolvedTarget> {
        self.catalog().prompt(name)
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallResponse> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::call(&manager, caller, call).await })
    }

    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::access(&manager, caller, call).await })
    }

    fn resource_updates(&self) -> broadcast::Receiver<ResourceUpdate> {
        ToolManager::updates(self)
    }

    fn set_log_level(&self, level: Option<LogLevel>) {
        self.set_clients_log_level(level);
    }

    fn unsubscribe(&self, server: ServerId, target: String) -> BoxFuture<'static, ()> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::unwatch(&manager, &server, &target).await })
    }

    fn session_ended(&self, session: &SessionId) {
        ToolManager::session_ended(self, session);
    }

    fn client_revoked(&self, client: &ClientId) {
        ToolManager::client_gone(self, client);
    }
}
