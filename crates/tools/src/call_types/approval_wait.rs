//! How long a call may wait for the user, and whether that is why it ended, for a client that has another way than a text
//! to be told to call again (PERM-11). It decides nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The terms on which one call waits for the user.
#[derive(Debug, Default)]
pub struct ApprovalWait {
    limit: Option<Duration>,
    is_over: AtomicBool,
}

impl ApprovalWait {
    /// A wait of at most `limit`, counted from when the call came in. The client time-out estimate applies as well.
    #[must_use]
    pub fn new(limit: Option<Duration>) -> Self {
        Self { limit, is_over: AtomicBool::new(false) }
    }

    /// The longest wait that the client wants.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// How long the call may wait, given the client time-out estimate.
    pub(crate) fn shorten(&self, client_timeout: Duration) -> Duration {
        self.limit.map_or(client_timeout, |limit| limit.min(client_timeout))
    }

    /// The time is over, and the call ends without an answer of the user.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Whether the call ended because the time was over. The approval request stays, and the answer will count for the
    /// next identical call.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shortens() {
        let s = Duration::from_secs;
        for (limit, estimate, wait) in
            [(None, 50, 50), (Some(3), 50, 3), (Some(60), 50, 50), (Some(0), 50, 0)]
        {
            let terms = ApprovalWait::new(limit.map(s));
            assert_eq!((terms.shorten(s(estimate)), terms.is_over()), (s(wait), false), "{limit:?}");
        }
    }
}
