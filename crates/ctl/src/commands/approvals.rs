//! `approvals …`: lists pending approvals and answers them.

use gatehouse_model::approval::{ApprovalRequest, Warning};
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsGenerate, ApprovalsPractice};
use gatehouse_model::{
    ApprovalId, CallHash, ErrorCode, PendingApproval, SubmittedAnswer, UserError, message,
};
use serde::Serialize;

use crate::approval_list;
use crate::cli::{AnswerAllArg, AnswerArgs, ApprovalsVerb};
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
        ApprovalsVerb::Generate { id } => {
            let wanted = ApprovalsGenerate { id: ApprovalId::new(id), run: None };
            let draft = session.run(&wanted).await?;
            output.show(&draft, |draft| approval_text::draft(draft, &wanted.id))
        }
        ApprovalsVerb::Practice => {
            let result = session.run(&ApprovalsPractice {}).await?;
            output.show(&result, |result| {
                let what = if result.is_allowed {
                    message!("ctl.approvals.practiceAllowed")
                } else {
                    message!("ctl.approvals.practiceDenied")
                };
                vec![terminal_text::message(&what)]
            })
        }
        ApprovalsVerb::Answer(AnswerArgs { all: Some(answer), reason, .. }) => {
            answer_all(answer, reason, session, output).await
        }
        ApprovalsVerb::Answer(wanted) => answer_one(wanted, session, output).await,
    }
}

async fn answer_one(
    wanted: AnswerArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let AnswerArgs { id, answer: word, words, content, all: _, reason } = wanted;
    let command = match content {
        Some(content) => AnswerCommand::Accept(content),
        None => {
            let reason = reason.unwrap_or_else(|| words.join(" "));
            AnswerCommand::read(&word.unwrap_or_default(), &reason).map_err(CliError::usage)?
        }
    };
    let id = ApprovalId::new(id.unwrap_or_default());
    session.require_operator_key().await?;
    let pending = approval_list::read(session, &[]).await?;
    let pending = pending.iter().find(|pending| pending.id == id).ok_or_else(|| {
        UserError::new(ErrorCode::StaleAnswer, message!("error.ctl.noRequest", id = id.as_str()))
    })?;
    let answer = answer(pending, &command).map_err(CliError::usage)?;
    session.run(&ApprovalsAnswer { answers: vec![answer] }).await?;
    output.done(&message!("ctl.approvals.answered"))
}

const ALLOW: &str = "allow";

/// What became of one approval request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnsweredRequest {
    id: ApprovalId,
    /// The hash of the call that was shown and answered.
    hash: Option<CallHash>,
    /// Why it was not answered.
    error: Option<UserError>,
    request: ApprovalRequest,
}

/// Answers the requests that wait now, one by one and as they were read: one that came later, or is for another call
/// by now, is not answered.
async fn answer_all(
    wanted: AnswerAllArg,
    reason: Option<String>,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let command = match wanted {
        AnswerAllArg::Allow => {
            AnswerCommand::read(ALLOW, reason.as_deref().unwrap_or_default()).map_err(CliError::usage)?
        }
        AnswerAllArg::Deny => AnswerCommand::Deny(reason),
    };
    session.require_operator_key().await?;
    let pending = approval_list::read(session, &[]).await?;
    let count = pending.len();
    if count == 0 && !output.is_json() {
        return output.line(&terminal_text::message(&message!("ctl.approvals.none")));
    }
    let mut answered = Vec::with_capacity(count);
    for (at, pending) in pending.into_iter().enumerate() {
        if !output.is_json() {
            for line in approval_text::lines(&pending, at + 1, count) {
                output.line(&line)?;
            }
        }
        let error = match answer_for_all(&pending, wanted, &command) {
            Ok(answer) => send(answer, session).await?,
            Err(error) => Some(error),
        };
        if !output.is_json() {
            let said = match (&error, wanted) {
                (Some(error), _) => terminal_text::error(error),
                (None, AnswerAllArg::Allow) => terminal_text::message(&message!("ctl.approvals.allowed")),
                (None, AnswerAllArg::Deny) => terminal_text::message(&message!("ctl.approvals.denied")),
            };
            output.line(&format!("{}: {said}", pending.id))?;
        }
        let hash = watch::hash(&pending).cloned();
        answered.push(AnsweredRequest { id: pending.id, hash, error, request: pending.request });
    }
    if output.is_json() {
        output.json(&answered)?;
    }
    if answered.iter().any(|one| one.error.is_some()) { Err(CliError::Unanswered) } else { Ok(()) }
}

/// Sends one answer. That a request cannot be answered any more does not keep the others from being answered.
async fn send(answer: SubmittedAnswer, session: &mut ControlSession) -> Result<Option<UserError>, CliError> {
    match session.run(&ApprovalsAnswer { answers: vec![answer] }).await {
        Ok(()) => Ok(None),
        Err(CliError::UserError(error))
            if !matches!(error.code, ErrorCode::NotRunning | ErrorCode::NotPermitted) =>
        {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}

/// The answer to one of all requests. An allow is for calls alone and for each this once: whatever else waits, such as
/// a changed server, or a rule that the allow would bind to a program, lasts longer and has to be answered by itself.
fn answer_for_all(
    pending: &PendingApproval,
    wanted: AnswerAllArg,
    command: &AnswerCommand,
) -> Result<SubmittedAnswer, UserError> {
    let is_lasting = match &pending.request {
        ApprovalRequest::Call(call) => {
            call.warnings.iter().any(|warning| matches!(warning, Warning::UnboundGrant { .. }))
        }
        ApprovalRequest::Client(_)
        | ApprovalRequest::Command(_)
        | ApprovalRequest::ConfigChange(_)
        | ApprovalRequest::Elicitation(_)
        | ApprovalRequest::Sampling(_)
        | ApprovalRequest::StepUp(_) => true,
    };
    let refused = |why| UserError::new(ErrorCode::BadRequest, why);
    if wanted == AnswerAllArg::Allow && is_lasting {
        return Err(refused(message!("error.ctl.ownAnswer")));
    }
    answer(pending, command).map_err(refused)
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{Message, approval::ApprovalAnswer};

    use super::*;
    use crate::approval_list::tests::asked;

    #[test]
    fn one_answer_for_all_allows_each_call_once_and_binds_no_rule() {
        let call = asked("ask-1", Some("1"), false);
        let answer = answer_for_all(&call, AnswerAllArg::Allow, &AnswerCommand::Allow).unwrap();
        assert_eq!(answer.hash.as_ref(), watch::hash(&call));
        assert!(
            matches!(&answer.answer, ApprovalAnswer::Allow { choice } if *choice == gatehouse_model::GrantChoice::once())
        );
        let mut unbound = call;
        let ApprovalRequest::Call(request) = &mut unbound.request else { panic!("no call") };
        request.warnings.push(Warning::UnboundGrant {
            grant: "grt-1".into(),
            what: Message::new("rule.allow.this"),
            program: "node".into(),
        });
        assert!(answer_for_all(&unbound, AnswerAllArg::Allow, &AnswerCommand::Allow).is_err());
        assert!(answer_for_all(&unbound, AnswerAllArg::Deny, &AnswerCommand::Deny(None)).is_ok());
    }
}
