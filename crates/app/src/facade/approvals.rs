//! Questions to a person. Nothing here answers one: answers are handed to the queue, which checks
//! that they fit the question as it stands.

use std::sync::Arc;

use gatehouse_model::ask::RevealedArgument;
use gatehouse_model::command::ApprovalsReveal;
use gatehouse_model::{AskAnswer, PendingAsk, Problem};
use gatehouse_store::Owner;

use super::Parts;

pub(super) async fn list(parts: &Arc<Parts>) -> Result<Vec<PendingAsk>, Problem> {
    Ok(parts.tools.approvals().pending())
}

/// Shows what is masked, to the one who asks. The reply is the only place that it goes to.
pub(super) fn reveal(parts: &Parts, wanted: &ApprovalsReveal) -> Result<RevealedArgument, Problem> {
    let place = usize::try_from(wanted.argument).unwrap_or(usize::MAX);
    parts.tools.approvals().reveal(&wanted.id, &wanted.hash, place)
}

pub(super) async fn answer(parts: &Arc<Parts>, answers: Vec<AskAnswer>) -> Result<(), Problem> {
    parts.tools.approvals().answer(answers, answered_by(parts.owner)).await
}

/// The word for who answers questions.
pub(super) fn answered_by(owner: Owner) -> &'static str {
    match owner {
        Owner::Window => "window",
        Owner::Serve => "operator",
    }
}
