//! What the gateway needs of the tools: one narrow door, so that it can be driven without them.
//!
//! There is no second way to a tool from here.

use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ClientId, ServerId, SessionId};
use gatehouse_tools::{AccessCall, CallEnd, Caller, Changes, ListOf, Place, ToolCall, ToolManager, Updated};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

/// The door to the tools. [`ToolManager`] is the real one.
pub trait ToolDoor: Send + Sync {
    /// Moves whenever a list has become another one.
    fn changes(&self) -> watch::Receiver<Changes>;

    /// Shows one of the lists as clients get it.
    fn with_list(&self, list: ListOf, read: &mut dyn FnMut(&[Box<RawValue>]));

    /// Whose a resource is.
    fn resource(&self, uri: &str) -> Option<Place>;

    /// Whose a resource template is, or a resource.
    fn template(&self, uri: &str) -> Option<Place>;

    /// Whose a prompt is, by the name that clients use.
    fn prompt(&self, name: &str) -> Option<Place>;

    /// Runs one call through the policy. Ends soon after its `cancel` is cancelled.
    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallEnd>;

    /// Takes anything else than a tool call through the policy. Ends soon after its `cancel` is cancelled.
    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallEnd>;

    /// Resources that changed, as their servers say, from now on. Only those that somebody subscribed to by
    /// [`ToolDoor::access`] are told of for sure.
    fn updates(&self) -> broadcast::Receiver<Updated>;

    /// The most that any client wants servers to log.
    fn set_log_level(&self, level: Option<LogLevel>);

    /// Gives back one subscription that [`ToolDoor::access`] made.
    fn unwatch(&self, server: ServerId, target: String) -> BoxFuture<'static, ()>;

    /// A session ended: what was granted for it ends too.
    fn session_ended(&self, session: &SessionId);

    /// A client was revoked.
    fn client_gone(&self, client: &ClientId);
}

impl ToolDoor for ToolManager {
    fn changes(&self) -> watch::Receiver<Changes> {
        self.catalogue_changes()
    }

    fn with_list(&self, list: ListOf, read: &mut dyn FnMut(&[Box<RawValue>])) {
        read(self.catalogue().list(list));
    }

    fn resource(&self, uri: &str) -> Option<Place> {
        self.catalogue().resource(uri)
    }

    fn template(&self, uri: &str) -> Option<Place> {
        self.catalogue().template(uri)
    }

    fn prompt(&self, name: &str) -> Option<Place> {
        self.catalogue().prompt(name)
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallEnd> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::call(&manager, caller, call).await })
    }

    fn access(&self, caller: Caller, call: AccessCall) -> BoxFuture<'static, CallEnd> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::access(&manager, caller, call).await })
    }

    fn updates(&self) -> broadcast::Receiver<Updated> {
        ToolManager::updates(self)
    }

    fn set_log_level(&self, level: Option<LogLevel>) {
        self.set_clients_log_level(level);
    }

    fn unwatch(&self, server: ServerId, target: String) -> BoxFuture<'static, ()> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::unwatch(&manager, &server, &target).await })
    }

    fn session_ended(&self, session: &SessionId) {
        ToolManager::session_ended(self, session);
    }

    fn client_gone(&self, client: &ClientId) {
        ToolManager::client_gone(self, client);
    }
}
