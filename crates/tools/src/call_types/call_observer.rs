//! Learns how a tool call goes on while it runs. It decides nothing, and nothing waits for it.

use std::time::Duration;

use gatehouse_model::{ApprovalId, CallId, Verdict};
use gatehouse_servers::Redactor;

/// Follows one call of Gatehouse's own conversations.
pub trait CallObserver: Send + Sync {
    /// The call has its id. The redactor knows the secrets of its server.
    fn began(&self, call: &CallId, redactor: Redactor);

    /// An approval request for it waits for the user.
    fn waits(&self, approval: &ApprovalId);

    /// It waits for the user no longer, for whatever reason.
    fn goes_on(&self);

    /// How it was judged, once it has ended or become a task, and how long it waited for the user.
    fn judged(&self, verdict: &Verdict, waited: Duration);
}
