//! The watch without a terminal: approval requests are written as text or as one JSON object per line,
//! answers are read as lines `<ask-id> allow|deny [reason…]|…`.

use gatehouse_model::AskId;
use serde_json::json;

use super::answer::{Word, answer};
use super::board::{Change, How};
use super::{Desk, question, typed_lines};
use crate::failure::Failure;
use crate::output::Output;

pub(super) async fn run(mut desk: Desk<'_>, first: Vec<Change>, output: &Output) -> Result<(), Failure> {
    tell(&desk, &first, output)?;
    let mut lines = typed_lines();
    let mut listening = true;
    loop {
        tokio::select! {
            changes = desk.next() => tell(&desk, &changes?, output)?,
            line = lines.recv(), if listening => match line {
                Some(line) => take(&mut desk, line.trim(), output).await?,
                None => listening = false,
            },
        }
    }
}

async fn take(desk: &mut Desk<'_>, line: &str, output: &Output) -> Result<(), Failure> {
    if line.is_empty() {
        return Ok(());
    }
    let mut words = line.splitn(3, char::is_whitespace);
    let (id, word, rest) =
        (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next().unwrap_or(""));
    let id = AskId::new(id);
    let made = Word::read(word, rest).and_then(|word| match desk.board.find(&id) {
        Some(pending) => answer(pending, &word),
        None => Err(format!("There is no question {} that waits.", crate::plain::cut(id.as_str(), 40))),
    });
    let said = match made {
        Ok(answer) => desk.answer(answer).await?.map_err(|problem| problem.to_string()),
        Err(words) => Err(words),
    };
    if let Err(words) = said {
        output.aside(&crate::plain::lines(&words));
    }
    Ok(())
}

fn tell(desk: &Desk<'_>, changes: &[Change], output: &Output) -> Result<(), Failure> {
    for change in changes {
        match (change, output.is_json()) {
            (Change::Asked(pending), true) => output.json(pending)?,
            (Change::Asked(pending), false) => {
                let all = desk.board.pending();
                let at = all.iter().position(|other| other.id == pending.id).map_or(all.len(), |at| at + 1);
                for line in question::lines(pending, at, all.len()) {
                    output.line(&line)?;
                }
                output.line(&question::how_to_answer(pending))?;
            }
            (Change::Waits(id, waiting), true) => {
                output.json(&json!({ "changed": id, "waiting": waiting }))?
            }
            (Change::Waits(id, false), false) => {
                output.line(&format!("{id}: {}", question::NO_LONGER_WAITS))?
            }
            (Change::Waits(id, true), false) => output.line(&format!("{id}: {}", question::WAITS_AGAIN))?,
            (Change::Gone(id, How::Answered { allowed }), true) => {
                output.json(&json!({ "answered": id, "allowed": allowed }))?;
            }
            (Change::Gone(id, How::Over), true) => output.json(&json!({ "over": id }))?,
            (Change::Gone(id, how), false) => output.line(&format!("{id}: {}", question::gone(*how)))?,
        }
    }
    Ok(())
}
