//! What the gateway needs of the tools, as one narrow trait, so that the gateway can be tested without them.
//!
//! The gateway has no other way to reach a tool, a resource or a prompt.

use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientEntry, ClientId, ServerId, SessionId};
use gatehouse_tools::{
    AccessCall, CacheHints, CallResponse, Caller, CatalogList, CatalogViewKey, ListVersions, ResolvedTarget,
    ServerDescription, ServerNotification, ServerSelection, TaskCall, TaskNotice, ToolCall, ToolManager,
    Viewer,
};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

/// Entry point for calls and catalog lookups. [`ToolManager`] is the real implementation.
pub trait ToolService: Send + Sync {
    /// The enabled server with exactly this name, if the viewer sees it.
    fn server_named(&self, viewer: &Viewer, name: &str) -> Option<ServerId>;

    /// Waits for one attempt to connect a server, if nothing is known of it yet. The error says why it can't be
    /// used, as a sentence for the client.
    fn await_first_lists(
        &self,
        server: ServerId,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), String>>;

    /// How the servers behind an endpoint that the viewer sees describe themselves.
    fn descriptions(&self, viewer: &Viewer, servers: &ServerSelection) -> Vec<ServerDescription>;

    /// Watches the versions of the catalog lists.
    fn catalog_versions(&self) -> watch::Receiver<ListVersions>;

    /// Identifies what a viewer sees of the catalog. Viewers with equal keys get equal lists of one version.
    fn view_key(&self, viewer: &Viewer) -> CatalogViewKey;

    /// Changes whenever the key of a viewer may have changed.
    fn view_changes(&self) -> watch::Receiver<u64>;

    /// Whether any profile has project folders, so that it matters where a client works.
    fn has_project_folders(&self) -> bool;

    /// Whether the viewer sees a server. Nothing that comes from another one may reach it.
    fn sees_server(&self, viewer: &Viewer, server: &ServerId) -> bool;

    /// Passes one of the lists of an endpoint to `read`, each item as raw JSON as the viewer sees it. Of tools, it is the
    /// list for clients without tasks.
    fn with_list(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        list: CatalogList,
        read: &mut dyn FnMut(&[&RawValue]),
    );

    /// What each server of an endpoint that the viewer sees says about caching one of its lists.
    fn cache_hints(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        list: CatalogList,
    ) -> Vec<Option<CacheHints>>;

    /// Passes the list of tools of an endpoint to `read` as [`Self::with_list`] does, for clients with tasks.
    fn with_task_tools(&self, viewer: &Viewer, servers: &ServerSelection, read: &mut dyn FnMut(&[&RawValue]));

    /// Server and upstream URI of a resource that the viewer sees.
    fn resource(&self, viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget>;

    /// Server and upstream URI of a resource template or a resource that the viewer sees.
    fn template(&self, viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget>;

    /// Server and upstream name of a prompt that the viewer sees, by the name that clients use.
    fn prompt(&self, viewer: &Viewer, servers: &ServerSelection, name: &str) -> Option<ResolvedTarget>;

    /// Evaluates the policy for a tool call and runs the call. Returns soon after the call's `cancel` token
    /// is cancelled.
    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallResponse>;

    /// Evaluates the policy for any other access and runs it. Returns soon after the call's `cancel` token is
    /// cancelled.
    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse>;

    /// Answers a request about the tasks that the client's calls became. Returns soon after its `cancel` token is
    /// cancelled.
    fn task_call(&self, caller: Caller, call: TaskCall) -> BoxFuture<'static, CallResponse>;

    /// What a server says of one of its tasks without having been asked, as the client that has the task gets it; `None`
    /// if no client has it.
    fn task_notice(&self, server: &ServerId, task: &str, params: &RawValue) -> Option<TaskNotice>;

    /// The notifications for clients that servers send from now on. Updates are only guaranteed for resources that
    /// were subscribed to with [`ToolService::access`].
    fn notifications(&self) -> broadcast::Receiver<ServerNotification>;

    /// Sets the log level for servers: the most verbose one that any client requested.
    fn set_log_level(&self, level: Option<LogLevel>);

    /// Releases one subscription made with [`ToolService::access`].
    fn unsubscribe(&self, server: ServerId, target: String) -> BoxFuture<'static, ()>;

    /// Called when a session ended: grants that were limited to it end too.
    fn session_ended(&self, session: &SessionId);

    /// Called when a client was added by OAuth.
    fn client_added(&self, client: &ClientEntry);

    /// Called when a client was revoked.
    fn client_revoked(&self, client: &ClientId);
}

impl ToolService for ToolManager {
    fn server_named(&self, viewer: &Viewer, name: &str) -> Option<ServerId> {
        let server = ToolManager::server_named(self, name)?;
        self.client_catalog(viewer).sees_server(&server).then_some(server)
    }

    fn await_first_lists(
        &self,
        server: ServerId,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), String>> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::await_first_lists(&manager, &server, &cancel).await })
    }

    fn descriptions(&self, viewer: &Viewer, servers: &ServerSelection) -> Vec<ServerDescription> {
        self.client_catalog(viewer).descriptions(servers)
    }

    fn catalog_versions(&self) -> watch::Receiver<ListVersions> {
        self.catalog_changes()
    }

    fn view_key(&self, viewer: &Viewer) -> CatalogViewKey {
        ToolManager::view_key(self, viewer)
    }

    fn view_changes(&self) -> watch::Receiver<u64> {
        self.profiles().changes()
    }

    fn has_project_folders(&self) -> bool {
        self.profiles().has_folders()
    }

    fn sees_server(&self, viewer: &Viewer, server: &ServerId) -> bool {
        self.client_catalog(viewer).sees_server(server)
    }

    fn with_list(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        list: CatalogList,
        read: &mut dyn FnMut(&[&RawValue]),
    ) {
        self.client_catalog(viewer).with_list(servers, list, read);
    }

    fn cache_hints(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        list: CatalogList,
    ) -> Vec<Option<CacheHints>> {
        self.client_catalog(viewer).cache_hints(servers, list)
    }

    fn with_task_tools(
        &self,
        viewer: &Viewer,
        servers: &ServerSelection,
        read: &mut dyn FnMut(&[&RawValue]),
    ) {
        self.client_catalog(viewer).with_task_tools(servers, read);
    }

    fn resource(&self, viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        self.client_catalog(viewer).resource(servers, uri)
    }

    fn template(&self, viewer: &Viewer, servers: &ServerSelection, uri: &str) -> Option<ResolvedTarget> {
        self.client_catalog(viewer).template(servers, uri)
    }

    fn prompt(&self, viewer: &Viewer, servers: &ServerSelection, name: &str) -> Option<ResolvedTarget> {
        self.client_catalog(viewer).prompt(servers, name)
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallResponse> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::call(&manager, caller, call).await })
    }

    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallResponse> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::access(&manager, caller, call).await })
    }

    fn task_call(&self, caller: Caller, call: TaskCall) -> BoxFuture<'static, CallResponse> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::task_call(&manager, caller, call).await })
    }

    fn task_notice(&self, server: &ServerId, task: &str, params: &RawValue) -> Option<TaskNotice> {
        ToolManager::task_notice(self, server, task, params)
    }

    fn notifications(&self) -> broadcast::Receiver<ServerNotification> {
        ToolManager::notifications(self)
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

    fn client_added(&self, client: &ClientEntry) {
        self.permissions().client_added(client);
    }

    fn client_revoked(&self, client: &ClientId) {
        ToolManager::client_gone(self, client);
    }
}
