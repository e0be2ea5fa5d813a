//! `approvals watch`: shows each approval request as it arrives and takes the answers, from a person at
//! a terminal or line by line from a script. It never answers by itself: when it ends, or Gatehouse is
//! gone, pending approvals stay pending until they expire.

pub(crate) mod answer;
mod board;
pub(crate) mod question;
mod script;
mod terminal;

use std::io::BufRead as _;

use gatehouse_app::control::ControlEvents;
use gatehouse_app::events::Heard;
use gatehouse_model::ask::Subject;
use gatehouse_model::command::ApprovalsAnswer;
use gatehouse_model::{AskAnswer, Event, Problem};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::output::{self, Output};
use crate::plain;
use crate::questions;
use crate::session::Session;
use board::{Board, Change};

pub(crate) async fn run(session: &mut Session, output: &Output) -> Result<(), Failure> {
    // The snapshot is read after the stream was opened, so that nothing is lost in between.
    let events = session.events().await?;
    let mut desk = Desk { board: Board::default(), events, session, to_read: Some(Reading::All) };
    let first = desk.next().await?;
    if output::at_terminal() && !output.is_json() {
        return terminal::run(desk, first, output).await;
    }
    script::run(desk, first, output).await
}

/// The pending approvals, the event stream that changes them, and the session for answers.
struct Desk<'a> {
    board: Board,
    events: ControlEvents,
    session: &'a mut Session,
    /// What has to be read before the next event.
    to_read: Option<Reading>,
}

/// Why the pending approvals are read again.
#[derive(Clone, Copy)]
enum Reading {
    /// One is new or changed.
    New,
    /// Events were missed, so others may have ended.
    All,
}

impl Desk<'_> {
    /// Waits for something that changes the pending approvals.
    async fn next(&mut self) -> Result<Vec<Change>, Failure> {
        let reading = match self.to_read {
            Some(reading) => reading,
            None => match self.events.next().await? {
                Heard::Event(envelope) => match &envelope.event {
                    // An event only says that there is something to read; it does not contain it.
                    Event::ApprovalRequested { .. } | Event::ApprovalChanged { .. } => Reading::New,
                    other => return Ok(self.board.hear(other)),
                },
                Heard::Missed => Reading::All,
            },
        };
        // Reading large arguments takes a while, and the caller may drop this future before it is done.
        // Then they are read by the next call.
        self.to_read = Some(reading);
        let pending = questions::read(self.session, &self.board.known()).await?;
        self.to_read = None;
        Ok(match reading {
            Reading::New => self.board.add(pending),
            Reading::All => self.board.replace(pending),
        })
    }

    /// Sends an answer; if it is rejected, the error is shown to the user and the watch goes on.
    async fn answer(&mut self, answer: AskAnswer) -> Result<Result<(), Problem>, Failure> {
        match self.session.run(&ApprovalsAnswer { answers: vec![answer] }).await {
            Ok(()) => Ok(Ok(())),
            Err(Failure::Problem(problem)) if problem.code != gatehouse_model::ErrorCode::NotRunning => {
                Ok(Err(problem))
            }
            Err(failure) => Err(failure),
        }
    }
}

/// Lines of standard input, read on a separate thread since reads from a terminal block.
fn typed_lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The subject of an approval request, in words.
pub(crate) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Tool { name } => plain::line(name),
        Subject::Resource { uri } => format!("the resource {}", plain::line(uri)),
        Subject::Prompt { name } => format!("the prompt {}", plain::line(name)),
        Subject::Completion { reference } => format!("completions for {}", plain::line(reference)),
    }
}
