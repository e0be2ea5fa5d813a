//! The watch without a terminal: approval requests are written as text or as one JSON object per line,
//! answers are read as lines `<ask-id> allow|deny [reason…]|…`.

use gatehouse_model::{ApprovalId, message};
use serde_json::json;

use super::answer::{AnswerCommand, answer};
use super::pending_approvals::{ApprovalChange, ApprovalOutcome};
use super::{ApprovalWatch, approval_text, stdin_lines};
use crate::error::CliError;
use crate::output::Printer;
use crate::terminal_text;

pub(super) async fn run(
    mut watch: ApprovalWatch<'_>,
    first: Vec<ApprovalChange>,
    output: &Printer,
) -> Result<(), CliError> {
    print_changes(&watch, &first, output)?;
    let mut lines = stdin_lines();
    let mut listening = true;
    loop {
        tokio::select! {
            changes = watch.next() => print_changes(&watch, &changes?, output)?,
            line = lines.recv(), if listening => match line {
                Some(line) => handle_line(&mut watch, line.trim(), output).await?,
                None => listening = false,
            },
        }
    }
}

async fn handle_line(watch: &mut ApprovalWatch<'_>, line: &str, output: &Printer) -> Result<(), CliError> {
    if line.is_empty() {
        return Ok(());
    }
    let mut words = line.splitn(3, char::is_whitespace);
    let (id, word, rest) =
        (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
    let id = ApprovalId::new(id);
    let parsed = AnswerCommand::read(word, rest).and_then(|word| match watch.pending_approvals.find(&id) {
        Some(pending) => answer(pending, &word),
        None => Err(message!("error.ctl.noRequest", id = terminal_text::truncate(id.as_str(), 40))),
    });
    let sent = match parsed {
        Ok(answer) => watch.answer(answer).await?.map_err(|error| terminal_text::error(&error)),
        Err(why) => Err(terminal_text::message(&why)),
    };
    if let Err(words) = sent {
        output.note(&words);
    }
    Ok(())
}

fn print_changes(
    watch: &ApprovalWatch<'_>,
    changes: &[ApprovalChange],
    output: &Printer,
) -> Result<(), CliError> {
    for change in changes {
        match (change, output.is_json()) {
            (ApprovalChange::Added(pending), true) => output.json(pending)?,
            (ApprovalChange::Added(pending), false) => {
                let all = watch.pending_approvals.pending();
                let at = all.iter().position(|other| other.id == pending.id).map_or(all.len(), |at| at + 1);
                for line in approval_text::lines(pending, at, all.len()) {
                    output.line(&line)?;
                }
                output.line(&approval_text::how_to_answer(pending))?;
            }
            (ApprovalChange::WaitingChanged(id, waiting), true) => {
                output.json(&json!({ "changed": id, "waiting": waiting }))?
            }
            (ApprovalChange::WaitingChanged(id, waiting), false) => {
                output.line(&format!("{id}: {}", approval_text::client_waits(*waiting)))?
            }
            (ApprovalChange::Removed(id, ApprovalOutcome::Answered { allowed }), true) => {
                output.json(&json!({ "answered": id, "allowed": allowed }))?;
            }
            (ApprovalChange::Removed(id, ApprovalOutcome::Expired | ApprovalOutcome::Withdrawn), true) => {
                output.json(&json!({ "over": id }))?
            }
            (ApprovalChange::Removed(id, outcome), false) => {
                output.line(&format!("{id}: {}", approval_text::outcome_text(*outcome)))?
            }
        }
    }
    Ok(())
}
