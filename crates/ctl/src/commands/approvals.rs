//! `approvals …`: lists pending approvals and answers them.

use gatehouse_model::command::ApprovalsAnswer;
use gatehouse_model::{ApprovalId, ErrorCode, UserError, message};

use crate::approval_list;
use crate::cli::ApprovalsVerb;
use crate::commands::watch;
use crate::commands::watch::answer::{AnswerCommand, answer};
use crate::commands::watch::approval_text;
use crate::error::CliError;
use crate::output::Printer;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ApprovalsVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ApprovalsVerb::List => {
            let pending = approval_list::read(session, &[]).await?;
            output.show(&pending, |pending| {
                if pending.is_empty() {
                    return vec![terminal_text::message(&message!("ctl.approvals.none"))];
                }
                let all = pending.len();
                pending
                    .iter()
                    .enumerate()
                    .flat_map(|(at, pending)| approval_text::lines(pending, at + 1, all))
                    .collect()
            })
        }
        ApprovalsVerb::Watch => watch::run(session, output).await,
        ApprovalsVerb::Answer { id, answer: word, reason } => {
            let word = AnswerCommand::read(&word, &reason.join(" ")).map_err(CliError::usage)?;
            let id = ApprovalId::new(id);
            let pending = approval_list::read(session, &[]).await?;
            let pending = pending.iter().find(|pending| pending.id == id).ok_or_else(|| {
                UserError::new(ErrorCode::StaleAnswer, message!("error.ctl.noRequest", id = id.as_str()))
            })?;
            let answer = answer(pending, &word).map_err(CliError::usage)?;
            session.run(&ApprovalsAnswer { answers: vec![answer] }).await?;
            output.done(&message!("ctl.approvals.answered"))
        }
    }
}
