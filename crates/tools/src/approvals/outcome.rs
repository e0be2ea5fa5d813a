//! What an approval request ends with for the calls that wait for it, and how long a call may wait.

use std::time::Duration;

use gatehouse_model::ApprovalId;
use tokio::time::Instant;

use crate::shared_runs::{ActiveRun, RunSubscription};

/// A user's approval of one call, valid once, with the run that identical calls share.
#[derive(Debug)]
pub(crate) struct OneTimeApproval {
    pub(crate) id: ApprovalId,
    pub(crate) run: ActiveRun,
    /// Value of the pause counter when the request was made. An approval is void after a pause.
    pub(super) pauses: u64,
}

/// Outcome of an approval request for a call.
#[derive(Debug)]
pub(crate) enum CallApprovalOutcome {
    /// The call may run once.
    Allowed(OneTimeApproval),
    /// The call must not run; with the user's reason.
    Denied { id: ApprovalId, reason: Option<String> },
    /// An identical call was allowed to run. This one must be judged again and then shares that run.
    Shared(RunSubscription),
    /// The rules changed, or the approval was used by an identical call: the call must be judged again.
    Reevaluate,
    /// There was no answer in time.
    Lapsed { id: ApprovalId },
}

/// The time span in which a call may wait for the user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitBudget {
    /// When the call came in.
    pub(crate) since: Instant,
    /// Client time-out estimate: this long after `since`, the client is told to call again.
    pub(crate) client_timeout: Duration,
}

impl WaitBudget {
    /// When the client is told to call again.
    pub(crate) fn deadline(self) -> Instant {
        self.since + self.client_timeout
    }

    pub(super) fn remaining(self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }
}
