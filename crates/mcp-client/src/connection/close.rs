//! The end of a connection. Its reason is set once and may be read by any number of callers.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::{CloseCause, CloseReason};

/// The three stages of a connection's end: requested, reason known, nothing left.
pub(crate) struct CloseSignal {
    requested: CancellationToken,
    known: watch::Sender<Option<CloseReason>>,
    gone: CancellationToken,
}

impl Default for CloseSignal {
    fn default() -> Self {
        Self {
            requested: CancellationToken::new(),
            known: watch::Sender::new(None),
            gone: CancellationToken::new(),
        }
    }
}

impl CloseSignal {
    /// Requests the end.
    pub(crate) fn request_close(&self) {
        self.requested.cancel();
    }

    /// Waits until the end is requested.
    pub(crate) async fn close_requested(&self) {
        self.requested.cancelled().await;
    }

    /// Sets the reason. Only the first one counts.
    pub(crate) fn set_reason(&self, reason: CloseReason) {
        self.known.send_if_modified(|known| {
            let first = known.is_none();
            if first {
                *known = Some(reason);
            }
            first
        });
    }

    /// The reason, if the connection has ended.
    pub(crate) fn current_reason(&self) -> Option<CloseReason> {
        self.known.borrow().clone()
    }

    pub(crate) async fn wait_for_reason(&self) -> CloseReason {
        let mut known = self.known.subscribe();
        match known.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| CloseReason::new(CloseCause::Requested)),
            Err(_) => CloseReason::new(CloseCause::Requested),
        }
    }

    /// Marks that nothing of the connection is left.
    pub(crate) fn mark_closed(&self) {
        self.gone.cancel();
    }

    /// Waits until nothing of the connection is left.
    pub(crate) async fn wait_until_closed(&self) {
        self.gone.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn first_reason_wins_for_all_waiters() {
        let closing = CloseSignal::default();
        closing.set_reason(CloseReason::new(CloseCause::Exited(1)));
        closing.set_reason(CloseReason::new(CloseCause::Requested));
        assert_eq!(closing.wait_for_reason().await.cause, CloseCause::Exited(1));
        assert_eq!(closing.wait_for_reason().await.cause, CloseCause::Exited(1));
    }
}
