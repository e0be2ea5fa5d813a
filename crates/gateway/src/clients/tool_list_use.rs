//! Whether a client works with an old tool list (GATE-7): it has listed its tools, was told that the list changed, did
//! not list them again, and calls a tool all the same. People are shown this, and nothing is decided by it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a client may take to list its tools again.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// What one session, or one client of the stateless revision, did with its tool list.
#[derive(Default)]
pub(crate) struct ToolListUse(Mutex<ListState>);

#[derive(Clone, Copy, Default)]
enum ListState {
    /// It hasn't listed its tools, so there is no list that could be old.
    #[default]
    NotListed,
    Current,
    /// It was told of a change at this time.
    Announced(Instant),
    /// It called a tool after the grace period.
    Stale,
}

impl ToolListUse {
    /// The client listed its tools. Returns whether its list was stale before.
    pub(crate) fn listed(&self) -> bool {
        matches!(std::mem::replace(&mut *self.0.lock(), ListState::Current), ListState::Stale)
    }

    /// A notification that the tools changed was sent to the client.
    pub(crate) fn announced(&self) {
        let mut state = self.0.lock();
        if matches!(*state, ListState::Current) {
            *state = ListState::Announced(Instant::now());
        }
    }

    /// The client calls a tool. Returns whether its list has become stale by that.
    pub(crate) fn called(&self) -> bool {
        let mut state = self.0.lock();
        match *state {
            ListState::Announced(at) if at.elapsed() >= GRACE => {
                *state = ListState::Stale;
                true
            }
            ListState::NotListed | ListState::Current | ListState::Announced(_) | ListState::Stale => false,
        }
    }

    pub(crate) fn is_stale(&self) -> bool {
        matches!(*self.0.lock(), ListState::Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn list_is_stale_after_an_ignored_announcement_and_a_call() {
        let list = ToolListUse::default();
        list.announced();
        tokio::time::advance(GRACE).await;
        assert!(!list.called(), "without a list");
        assert!(!list.listed());
        assert!(!list.called(), "nothing has changed");
        list.announced();
        tokio::time::advance(GRACE / 2).await;
        list.announced();
        assert!(!list.called(), "it may still be about to list again");
        tokio::time::advance(GRACE / 2).await;
        assert!(!list.is_stale(), "it may never call again");
        assert!(list.called() && list.is_stale());
        assert!(!list.called() && list.is_stale(), "said once");
        assert!(list.listed() && !list.is_stale() && !list.called());
    }
}
