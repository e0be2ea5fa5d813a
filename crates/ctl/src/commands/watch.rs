//! `approvals watch`: shows each approval request as it arrives and takes the answers, from a person at
//! a terminal or line by line from a script. It never answers by itself: when it ends, or Gatehouse is
//! gone, pending approvals stay pending until they expire.

pub(crate) mod answer;
pub(crate) mod approval_text;
mod content;
mod form;
mod pending_approvals;
mod script;
mod terminal;

pub(crate) use pending_approvals::hash;

use std::io::BufRead as _;

use gatehouse_app::control::ControlEvents;
use gatehouse_app::events::StreamEvent;
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsGenerate};
use gatehouse_model::provider::SamplingDraft;
use gatehouse_model::{ApprovalId, Event, SubmittedAnswer, UserError};
use tokio::sync::mpsc;

use crate::approval_list;
use crate::error::CliError;
use crate::output::{self, Printer};
use crate::session::ControlSession;
use pending_approvals::{ApprovalChange, PendingApprovals};

pub(crate) async fn run(session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    // The snapshot is read after the stream was opened, so that nothing is lost in between.
    let events = session.events().await?;
    let mut watch = ApprovalWatch {
        pending_approvals: PendingApprovals::default(),
        events,
        session,
        to_read: Some(FetchScope::All),
    };
    let first = watch.next().await?;
    if output::is_interactive() && !output.is_json() {
        return terminal::run(watch, first, output).await;
    }
    script::run(watch, first, output).await
}

/// The pending approvals, the event stream that changes them, and the session for answers.
struct ApprovalWatch<'a> {
    pending_approvals: PendingApprovals,
    events: ControlEvents,
    session: &'a mut ControlSession,
    /// What has to be read before the next event.
    to_read: Option<FetchScope>,
}

/// Why the pending approvals are read again.
#[derive(Clone, Copy)]
enum FetchScope {
    /// One is new or changed.
    New,
    /// Events were missed, so others may have ended.
    All,
}

impl ApprovalWatch<'_> {
    /// Waits for something that changes the pending approvals.
    async fn next(&mut self) -> Result<Vec<ApprovalChange>, CliError> {
        let reading = match self.to_read {
            Some(reading) => reading,
            None => match self.events.next().await? {
                StreamEvent::Event(envelope) => match &envelope.event {
                    // An event only says that there is something to read; it does not contain it.
                    Event::ApprovalRequested { .. } | Event::ApprovalChanged { .. } => FetchScope::New,
                    other => return Ok(self.pending_approvals.apply_event(other)),
                },
                StreamEvent::Missed => FetchScope::All,
            },
        };
        // Reading large arguments takes a while, and the caller may drop this future before it is done.
        // Then they are read by the next call.
        self.to_read = Some(reading);
        let pending = approval_list::read(self.session, &self.pending_approvals.known()).await?;
        self.to_read = None;
        Ok(match reading {
            FetchScope::New => self.pending_approvals.add(pending),
            FetchScope::All => self.pending_approvals.replace(pending),
        })
    }

    /// Sends an answer; if it is rejected, the error is shown to the user and the watch goes on.
    async fn answer(&mut self, answer: SubmittedAnswer) -> Result<Result<(), UserError>, CliError> {
        match self.session.run(&ApprovalsAnswer { answers: vec![answer] }).await {
            Ok(()) => Ok(Ok(())),
            Err(CliError::UserError(error)) if error.code != gatehouse_model::ErrorCode::NotRunning => {
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }
}

impl ApprovalWatch<'_> {
    /// Lets the user's model write an answer to a sampling request; if that fails, the error is shown and the watch goes
    /// on.
    async fn generate(&mut self, id: &ApprovalId) -> Result<Result<SamplingDraft, UserError>, CliError> {
        match self.session.run(&ApprovalsGenerate { id: id.clone(), run: None }).await {
            Ok(draft) => Ok(Ok(draft)),
            Err(CliError::UserError(error)) if error.code != gatehouse_model::ErrorCode::NotRunning => {
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }
}

/// Lines of standard input, read on a separate thread since reads from a terminal block.
fn stdin_lines() -> mpsc::Receiver<String> {
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
