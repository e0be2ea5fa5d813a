//! `approvals …`: lists pending approvals and answers them.

use gatehouse_model::command::ApprovalsAnswer;
use gatehouse_model::{AskId, ErrorCode, Problem};

use crate::cli::ApprovalsVerb;
use crate::failure::Failure;
use crate::output::Output;
use crate::questions;
use crate::session::Session;
use crate::watch;
use crate::watch::answer::{Word, answer};
use crate::watch::question;

pub(crate) async fn run(verb: ApprovalsVerb, session: &mut Session, output: &Output) -> Result<(), Failure> {
    match verb {
        ApprovalsVerb::List => {
            let pending = questions::read(session, &[]).await?;
            output.show(&pending, |pending| {
                if pending.is_empty() {
                    return vec!["Nothing waits.".to_owned()];
                }
                let all = pending.len();
                pending.iter().enumerate().flat_map(|(at, ask)| question::lines(ask, at + 1, all)).collect()
            })
        }
        ApprovalsVerb::Watch => watch::run(session, output).await,
        ApprovalsVerb::Answer { ask, answer: word, reason } => {
            let word = Word::read(&word, &reason.join(" ")).map_err(Failure::Usage)?;
            let id = AskId::new(ask);
            let pending = questions::read(session, &[]).await?;
            let pending = pending.iter().find(|pending| pending.id == id).ok_or_else(|| {
                Problem::new(ErrorCode::StaleAnswer, format!("There is no question {id} that waits."))
            })?;
            let answer = answer(pending, &word).map_err(Failure::Usage)?;
            session.run(&ApprovalsAnswer { answers: vec![answer] }).await?;
            output.done("Answered.")
        }
    }
}
