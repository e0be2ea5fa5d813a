//! What the gateway needs of the tools: one narrow door, so that it can be driven without them.
//!
//! There is no second way to a tool from here.

use gatehouse_model::{BoxFuture, ClientId, SessionId};
use gatehouse_tools::{CallEnd, Caller, ToolCall, ToolManager};
use serde_json::value::RawValue;
use tokio::sync::watch;

/// The door to the tools. [`ToolManager`] is the real one.
pub trait ToolDoor: Send + Sync {
    /// Moves whenever the list of tools has become another one.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Shows the definitions of all tools as clients get them.
    fn with_list(&self, read: &mut dyn FnMut(&[Box<RawValue>]));

    /// Runs one call through the policy. Ends soon after its `cancel` is cancelled.
    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallEnd>;

    /// A session ended: what was granted for it ends too.
    fn session_ended(&self, session: &SessionId);

    /// A client was revoked.
    fn client_gone(&self, client: &ClientId);
}

impl ToolDoor for ToolManager {
    fn changes(&self) -> watch::Receiver<u64> {
        self.catalogue_changes()
    }

    fn with_list(&self, read: &mut dyn FnMut(&[Box<RawValue>])) {
        read(self.catalogue().list_json());
    }

    fn call(&self, caller: Caller, call: ToolCall) -> BoxFuture<'static, CallEnd> {
        let manager = self.clone();
        Box::pin(async move { ToolManager::call(&manager, caller, call).await })
    }

    fn session_ended(&self, session: &SessionId) {
        ToolManager::session_ended(self, session);
    }

    fn client_gone(&self, client: &ClientId) {
        ToolManager::client_gone(self, client);
    }
}
