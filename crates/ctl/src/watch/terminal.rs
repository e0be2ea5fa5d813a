//! The watch at a terminal: one approval request at a time, answered by a short word and Enter. Input
//! typed before a request was shown, or within half a second after it, is discarded.

use std::time::Duration;

use gatehouse_model::{AskId, PendingAsk};
use tokio::time::Instant;

use super::answer::{Word, answer, wider_words};
use super::board::Change;
use super::{Desk, question, typed_lines};
use crate::failure::Failure;
use crate::output::Output;

/// How long a request is shown before it can be answered.
const AWAKE_AFTER: Duration = Duration::from_millis(500);

/// The keys for wider answers, with their words.
const KEYS: [(&str, &str, &str); 4] = [
    ("r", "always-reads", "always allow reads of this server"),
    ("t", "always-tool", "always allow this tool"),
    ("q", "tool-until-quit", "this tool until Gatehouse quits"),
    ("15", "tool-15m", "this tool for 15 minutes"),
];

/// State of the dialogue.
enum Stage {
    /// No request is shown.
    Idle,
    /// A request is shown and cannot be answered yet.
    Asleep { id: AskId, until: Instant },
    /// It can be answered.
    Awake { id: AskId },
    /// It will be denied; the reason is being prompted for.
    Reason { id: AskId },
}

struct Talk<'a, 'b> {
    desk: Desk<'a>,
    output: &'b Output,
    stage: Stage,
    skipped: Vec<AskId>,
}

pub(super) async fn run(desk: Desk<'_>, _first: Vec<Change>, output: &Output) -> Result<(), Failure> {
    let mut lines = typed_lines();
    let mut talk = Talk { desk, output, stage: Stage::Idle, skipped: Vec::new() };
    talk.show_next()?;
    if matches!(talk.stage, Stage::Idle) {
        output.line("Nothing waits. Questions are shown here as they come; Ctrl+C ends the watch.")?;
    }
    loop {
        let wakes = match &talk.stage {
            Stage::Asleep { until, .. } => Some(*until),
            Stage::Idle | Stage::Awake { .. } | Stage::Reason { .. } => None,
        };
        tokio::select! {
            changes = talk.desk.next() => talk.changed(&changes?)?,
            () = sleep_until(wakes), if wakes.is_some() => talk.wake()?,
            line = lines.recv() => match line {
                Some(line) => talk.typed(line.trim()).await?,
                None => return Ok(()),
            },
        }
    }
}

async fn sleep_until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        tokio::time::sleep_until(moment).await;
    }
}

impl Talk<'_, '_> {
    fn current(&self) -> Option<&AskId> {
        match &self.stage {
            Stage::Idle => None,
            Stage::Asleep { id, .. } | Stage::Awake { id } | Stage::Reason { id } => Some(id),
        }
    }

    fn changed(&mut self, changes: &[Change]) -> Result<(), Failure> {
        for change in changes {
            match change {
                Change::Asked(pending) if self.current() == Some(&pending.id) => {
                    self.output.line("The question is another one now:")?;
                    self.show(pending)?;
                }
                Change::Asked(_) if self.current().is_some() => {
                    self.output.line(&format!("({} questions wait.)", self.desk.board.pending().len()))?;
                }
                Change::Asked(_) => {}
                Change::Waits(id, waiting) if self.current() == Some(id) => {
                    self.output.line(if *waiting {
                        question::WAITS_AGAIN
                    } else {
                        question::NO_LONGER_WAITS
                    })?;
                }
                Change::Waits(..) => {}
                Change::Gone(id, how) => {
                    self.skipped.retain(|skipped| skipped != id);
                    self.output.line(&format!("{id}: {}", question::gone(*how)))?;
                    if self.current() == Some(id) {
                        self.stage = Stage::Idle;
                    }
                }
            }
        }
        self.show_next()
    }

    fn show_next(&mut self) -> Result<(), Failure> {
        if self.current().is_some() {
            return Ok(());
        }
        let next =
            self.desk.board.pending().iter().find(|pending| !self.skipped.contains(&pending.id)).cloned();
        match next {
            Some(pending) => self.show(&pending),
            None => Ok(()),
        }
    }

    fn show(&mut self, pending: &PendingAsk) -> Result<(), Failure> {
        let all = self.desk.board.pending();
        let at = all.iter().position(|other| other.id == pending.id).map_or(1, |at| at + 1);
        for line in question::lines(pending, at, all.len()) {
            self.output.line(&line)?;
        }
        self.stage = Stage::Asleep { id: pending.id.clone(), until: Instant::now() + AWAKE_AFTER };
        Ok(())
    }

    fn wake(&mut self) -> Result<(), Failure> {
        // Input typed so far was not meant for this request.
        forget_typed();
        let Stage::Asleep { id, .. } = &self.stage else { return Ok(()) };
        let id = id.clone();
        if let Some(pending) = self.desk.board.find(&id) {
            let offered = wider_words(pending);
            let wider = KEYS.iter().filter(|(_, word, _)| offered.contains(word));
            let wider: String = wider.map(|(key, _, text)| format!(" · {key} {text}")).collect();
            self.output
                .line(&format!("a allow once{wider} · d deny · D deny with a reason · s skip, then Enter"))?;
        }
        self.stage = Stage::Awake { id };
        Ok(())
    }

    async fn typed(&mut self, line: &str) -> Result<(), Failure> {
        let id = match &self.stage {
            Stage::Idle => return Ok(()),
            Stage::Asleep { .. } => return self.output.line("(too soon, ignored)"),
            Stage::Reason { id } => {
                let (id, word) =
                    (id.clone(), Word::Deny(Some(line.to_owned()).filter(|line| !line.is_empty())));
                return self.answer(&id, &word).await;
            }
            Stage::Awake { id } => id.clone(),
        };
        let word = match line {
            "" => return Ok(()),
            "a" => Word::Allow,
            "d" => Word::Deny(None),
            "D" => {
                self.stage = Stage::Reason { id };
                return self.output.line("Reason that the model gets to read, then Enter:");
            }
            "s" => {
                self.skipped.push(id);
                self.stage = Stage::Idle;
                self.output.line("Skipped; it goes on waiting.")?;
                return self.show_next();
            }
            key => {
                match KEYS.iter().find(|(known, ..)| *known == key).map(|(_, word, _)| Word::read(word, "")) {
                    Some(Ok(word)) => word,
                    Some(Err(_)) | None => return self.output.line("That is not one of the answers."),
                }
            }
        };
        self.answer(&id, &word).await
    }

    async fn answer(&mut self, id: &AskId, word: &Word) -> Result<(), Failure> {
        self.stage = Stage::Awake { id: id.clone() };
        let Some(pending) = self.desk.board.find(id) else { return Ok(()) };
        let said = match answer(pending, word) {
            Ok(answer) => self.desk.answer(answer).await?.map_err(|problem| problem.to_string()),
            Err(words) => Err(words),
        };
        match said {
            // The event of the answer makes the next request show.
            Ok(()) => Ok(()),
            Err(words) => self.output.line(&crate::plain::lines(&words)),
        }
    }
}

#[cfg(unix)]
fn forget_typed() {
    if let Err(error) = nix::sys::termios::tcflush(std::io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH) {
        tracing::debug!(%error, "what was typed could not be forgotten");
    }
}

#[cfg(not(unix))]
fn forget_typed() {}
