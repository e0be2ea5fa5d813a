//! Notifications of a server that belong to no request and are passed on to clients. Everything else that a server
//! announces is handled where it arrives.

use std::sync::Arc;

use gatehouse_model::server::LogLevel;

/// A notification for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedNotification {
    pub kind: NotificationKind,
    /// The params as JSON text, an object, without the server's secrets.
    pub params: Arc<str>,
}

/// What a notification is about, which decides who gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    /// `notifications/resources/updated`
    ResourceUpdated { uri: String },
    /// `notifications/message` while no client has a call in flight: otherwise it belongs to that call, or could tell
    /// one client about another's.
    Log { level: LogLevel },
    /// `notifications/elicitation/complete`: the user has finished with the page of a URL elicitation.
    ElicitationCompleted { id: String },
    /// `notifications/tasks/status` (2025-11-25): the state of the task with this id.
    TaskStatus { task: String },
    /// A method that the protocol doesn't have, while no client has a call in flight, as with [`Self::Log`].
    Custom { method: String },
}
