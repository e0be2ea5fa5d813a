//! `approvals watch`: shows each question as it comes and takes the answers, from a person at a
//! terminal or line by line from a script. It never answers by itself: when it ends, or Gatehouse
//! is gone, what waits goes on waiting until its time is over.

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
    // The snapshot after the stream has begun, so that nothing falls in between.
    let events = session.events().await?;
    let mut desk = Desk { board: Board::default(), events, session, to_read: Some(Reading::All) };
    let first = desk.next().await?;
    if output::at_terminal() && !output.is_json() {
        return terminal::run(desk, first, output).await;
    }
    script::run(desk, first, output).await
}

/// The questions, the stream that changes them, and the way back for answers.
struct Desk<'a> {
    board: Board,
    events: ControlEvents,
    session: &'a mut Session,
    /// What is to be read before the next event.
    to_read: Option<Reading>,
}

/// Why the questions are read.
#[derive(Clone, Copy)]
enum Reading {
    /// One is new or changed.
    New,
    /// Events were missed, so that others may be gone.
    All,
}

impl Desk<'_> {
    /// Waits for something that changes the questions.
    async fn next(&mut self) -> Result<Vec<Change>, Failure> {
        let reading = match self.to_read {
            Some(reading) => reading,
            None => match self.events.next().await? {
                Heard::Event(envelope) => match &envelope.event {
                    // An event says that there is something to read, and does not carry it.
                    Event::ApprovalRequested { .. } | Event::ApprovalChanged { .. } => Reading::New,
                    other => return Ok(self.board.hear(other)),
                },
                Heard::Missed => Reading::All,
            },
        };
        // Large questions take a while, and the caller may turn to something else before they are read. Then
        // they are read the next time.
        self.to_read = Some(reading);
        let pending = questions::read(self.session, &self.board.known()).await?;
        self.to_read = None;
        Ok(match reading {
            Reading::New => self.board.add(pending),
            Reading::All => self.board.replace(pending),
        })
    }

    /// Sends an answer; a problem with it is for the person, not the end of the watch.
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

/// Lines of standard input, read on a thread of their own since a terminal cannot be waited for
/// otherwise.
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

/// What a question is about, in words.
pub(crate) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Tool { name } => plain::line(name),
        Subject::Resource { uri } => format!("the resource {}", plain::line(uri)),
        Subject::Prompt { name } => format!("the prompt {}", plain::line(name)),
        Subject::Completion { reference } => format!("completions for {}", plain::line(reference)),
    }
}
