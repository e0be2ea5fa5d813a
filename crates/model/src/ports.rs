//! Traits for what inner crates need from the outside: no crate below `app` depends on windows.

use std::future::Future;
use std::pin::Pin;

use crate::approval::{ApprovalAnswer, ApprovalRequest};
use crate::error::UserError;
use crate::event::Event;
use crate::record::AuditEvent;

/// A boxed future, for trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Puts an approval request to a person and waits for the answer. An implementation has its own deadline
/// and returns [`ApprovalAnswer::Cancel`] if there is no answer: a lost window, a time-out and an error never
/// allow anything.
pub trait AskUser: Send + Sync {
    /// Requests an answer. Dropping the future withdraws the request.
    fn ask(&self, ask: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer>;
}

/// Opens an address in the user's browser, after a check of its scheme.
pub trait OpenUrl: Send + Sync {
    /// Opens the address.
    fn open(&self, url: &str) -> Result<(), String>;
}

/// Receives events. Never blocks and never fails: a subscriber that lags reads the snapshot again.
pub trait EventSink: Send + Sync {
    /// Publishes one event under the next sequence number.
    fn emit(&self, event: Event);
}

/// Appends entries to the audit log (PERM-14).
pub trait AuditLog: Send + Sync {
    /// Appends one entry. It is on disk when this succeeds; if it fails, the change that the entry
    /// describes must not take effect.
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), UserError>>;
}
