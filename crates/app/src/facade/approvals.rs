//! Pending approvals. Answers are passed to the approval queue, which checks that they match the request
//! as it is now.

use std::sync::Arc;

use gatehouse_model::ask::RevealedArgument;
use gatehouse_model::command::ApprovalsReveal;
use gatehouse_model::{AskAnswer, AskId, PendingAsk, Problem};
use gatehouse_store::Owner;

use super::Parts;

pub(super) async fn list(parts: &Arc<Parts>, known: &[AskId]) -> Result<Vec<PendingAsk>, Problem> {
    Ok(parts.tools.approvals().pending_beside(known))
}

/// Reveals a masked argument to the caller. The value goes into the reply and nowhere else.
pub(super) fn reveal(parts: &Parts, wanted: &ApprovalsReveal) -> Result<RevealedArgument, Problem> {
    let place = usize::try_from(wanted.argument).unwrap_or(usize::MAX);
    parts.tools.approvals().reveal(&wanted.id, &wanted.hash, place)
}

pub(super) async fn answer(parts: &Arc<Parts>, answers: Vec<AskAnswer>) -> Result<(), Problem> {
    parts.tools.approvals().answer(answers, answered_by(parts.owner)).await
}

/// The word, in the audit and the status, for where approval requests are answered.
pub(super) fn answered_by(owner: Owner) -> &'static str {
    match owner {
        Owner::Window => "window",
        Owner::Serve => "operator",
    }
}
