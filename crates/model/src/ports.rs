//! What the inner parts need from the outside, as traits: nobody below `app` knows a window.

use std::future::Future;
use std::pin::Pin;

use crate::ask::{Answer, Ask};
use crate::error::Problem;
use crate::event::Event;
use crate::record::AuditEvent;

/// A boxed future, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Puts a question to a person and waits for the answer. An implementation has a deadline of its
/// own and answers [`Answer::Cancel`] when nobody does: a lost window, a time-out and an error are
/// never a yes.
pub trait AskUser: Send + Sync {
    /// Asks. Dropping the future withdraws the question.
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer>;
}

/// Opens an address in the user's browser, after a check of its scheme.
pub trait OpenUrl: Send + Sync {
    /// Opens it; the error says why it could not.
    fn open(&self, url: &str) -> Result<(), String>;
}

/// Takes events. Never blocks and never fails: a listener that lags re-reads the snapshot.
pub trait EventSink: Send + Sync {
    /// Publishes one event under the next sequence number.
    fn emit(&self, event: Event);
}

/// Writes entries of the audit (PERM-14).
pub trait AuditLog: Send + Sync {
    /// Appends one entry. It is on disk when this succeeds; when it fails, whatever the entry would allow
    /// must not take effect.
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Problem>>;
}
