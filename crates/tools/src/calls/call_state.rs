//! What the pipeline knows of one call on its way: its resolved target, its verdict, and its approval.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::verdict_trace::JudgedCheck;
use gatehouse_model::{CallHash, Decision, Rule, Verdict};
use gatehouse_servers::{ServerHandle, ServerLists};
use tokio::time::Instant;

use super::input_required::CarriedApproval;
use crate::approvals::OneTimeApproval;
use crate::catalog::definition_source::DefinitionSource;
use crate::pending_call::PendingCall;
use crate::shared_runs::RunHandle;
use crate::task_table::BegunTask;

/// A call with its target in the current state.
pub(crate) struct ResolvedCall {
    pub(crate) pending_call: Arc<PendingCall>,
    pub(crate) handle: ServerHandle,
    /// The lists that the definition comes from; `None` if there is none.
    pub(crate) lists: Option<Arc<ServerLists>>,
}

/// Progress of a call. Used to write its record if the call is cancelled.
pub(crate) struct CallState {
    pub(crate) resolved: ResolvedCall,
    pub(crate) verdict: Verdict,
    /// The checks that the policy made when it judged the call last.
    pub(super) judged: Vec<JudgedCheck>,
    pub(crate) waited: Duration,
    /// The definition that an approval request last showed.
    pub(crate) shown: Option<DefinitionSource>,
    /// When the call came in. The client's time-out starts then.
    pub(crate) started: Instant,
    pub(super) sent: bool,
    /// Whether it was sent again because the server had lost its session.
    pub(super) sent_again: bool,
    /// The task that the call became.
    pub(super) task: Option<BegunTask>,
}

impl CallState {
    /// The state of a call that came in at `started` and isn't judged yet.
    pub(super) fn new(resolved: ResolvedCall, started: Instant) -> Self {
        Self {
            resolved,
            verdict: Verdict { decision: Decision::Deny, rule: Rule::DefaultAsk },
            judged: Vec::new(),
            waited: Duration::ZERO,
            shown: None,
            started,
            sent: false,
            sent_again: false,
            task: None,
        }
    }
}

/// An approval of one exact call.
pub(crate) struct CallApproval {
    pub(super) hash: CallHash,
    pub(super) rule: Rule,
    pub(super) carried: Option<CarriedApproval>,
    /// The user's answer to this exact call; `None` for carried-over approvals and the user's own calls.
    pub(super) one_time: Option<OneTimeApproval>,
}

impl CallApproval {
    pub(super) fn from_user(pending_call: &PendingCall, rule: Rule) -> Self {
        Self { hash: pending_call.hash.clone(), rule, carried: None, one_time: None }
    }

    pub(super) fn from_answer(pending_call: &PendingCall, rule: Rule, one_time: OneTimeApproval) -> Self {
        Self { hash: pending_call.hash.clone(), rule, carried: None, one_time: Some(one_time) }
    }

    pub(super) fn from_earlier_round(pending_call: &PendingCall, carried: CarriedApproval) -> Self {
        let rule = carried.rule.clone();
        Self { hash: pending_call.hash.clone(), rule, carried: Some(carried), one_time: None }
    }

    pub(super) fn run(&self) -> Option<RunHandle> {
        self.one_time.as_ref().map(|approval| approval.run.id())
    }
}
