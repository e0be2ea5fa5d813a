//! Pending approvals. Answers are passed to the approval queue, which checks that they match the request
//! as it is now.

use std::sync::Arc;

use gatehouse_model::approval::RevealedArgument;
use gatehouse_model::command::ApprovalsReveal;
use gatehouse_model::{ApprovalId, ApprovalRequest, PendingApproval, SubmittedAnswer, UserError};
use gatehouse_store::Owner;

use super::AppState;
use crate::models::ChosenModels;

pub(super) async fn list(
    state: &Arc<AppState>,
    known: &[ApprovalId],
) -> Result<Vec<PendingApproval>, UserError> {
    let mut pending = state.tools.approvals().pending_omitting(known);
    let ChosenModels { sampling, opinion } = state.models.chosen_models();
    for pending in &mut pending {
        pending.model = match &pending.request {
            ApprovalRequest::Sampling(_) => sampling.clone(),
            ApprovalRequest::Call(_) => opinion.clone(),
            ApprovalRequest::Client(_)
            | ApprovalRequest::Command(_)
            | ApprovalRequest::ConfigChange(_)
            | ApprovalRequest::Elicitation(_)
            | ApprovalRequest::StepUp(_) => None,
        };
    }
    Ok(pending)
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
