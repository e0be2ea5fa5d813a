//! Pending approvals. Answers are passed to the approval queue, which checks that they match the request
//! as it is now.

use std::sync::Arc;

use gatehouse_model::approval::RevealedArgument;
use gatehouse_model::command::ApprovalsReveal;
use gatehouse_model::{ApprovalId, PendingApproval, SubmittedAnswer, UserError};
use gatehouse_store::Owner;

use super::AppState;

pub(super) async fn list(
    state: &Arc<AppState>,
    known: &[ApprovalId],
) -> Result<Vec<PendingApproval>, UserError> {
    Ok(state.tools.approvals().pending_omitting(known))
}

/// Reveals a masked argument to the caller. The value goes into the reply and nowhere else.
pub(super) fn reveal(state: &AppState, wanted: &ApprovalsReveal) -> Result<RevealedArgument, UserError> {
    let place = usize::try_from(wanted.argument).unwrap_or(usize::MAX);
    state.tools.approvals().reveal(&wanted.id, &wanted.hash, place)
}

pub(super) async fn answer(state: &Arc<AppState>, answers: Vec<SubmittedAnswer>) -> Result<(), UserError> {
    state.tools.approvals().answer(answers, answered_by(state.owner)).await
}

/// The word, in the audit and the status, for where approval requests are answered.
pub(super) fn answered_by(owner: Owner) -> &'static str {
    match owner {
        Owner::Window => "window",
        Owner::Serve => "operator",
    }
}
