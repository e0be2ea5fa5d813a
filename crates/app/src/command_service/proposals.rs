//! Proposals (CTL-1): a program without the operator's authority asks for a command, the window shows it whole, and exactly
//! what was shown runs if the user accepts it.
//!
//! A command is resolved before it is shown: names become ids, and files are read, so that nothing that other programs
//! change meanwhile can change what runs. What can still change is described again after the answer and compared.

mod description;
mod fields;
mod permissions;
mod servers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gatehouse_gateway::peer_process;
use gatehouse_model::approval::{ApprovalAnswer, ApprovalRequest, CommandRequest};
use gatehouse_model::command::Command;
use gatehouse_model::connection::FileChange;
use gatehouse_model::grant::FieldChange;
use gatehouse_model::{AskUser as _, ErrorCode, Message, UserError, message};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::AppState;

/// Most proposals that wait at the same time.
const MOST_PENDING: usize = 4;
/// So many declined proposals, and nobody is asked again for [`DECLINED_FOR`]: else a program could repeat one until it is
/// accepted by mistake.
const MOST_DECLINED: usize = 3;
const DECLINED_FOR: Duration = Duration::from_secs(600);
/// Most bytes of a proposal. Nobody reads more, and nothing is left out.
const MOST_BYTES: usize = 64 * 1024;

/// Puts proposals to the user.
pub(super) struct Proposals {
    slots: Semaphore,
    /// When proposals were declined since one was accepted.
    declined: Mutex<Vec<Instant>>,
}

impl Default for Proposals {
    fn default() -> Self {
        Self { slots: Semaphore::new(MOST_PENDING), declined: Mutex::default() }
    }
}

impl Proposals {
    /// Asks the user about a command, and returns the one to run in its place if the user accepts it. Dropping this
    /// withdraws the proposal. `process` is the peer process of the control connection, if it is known.
    ///
    /// # Errors
    /// What is wrong with the command, before anybody is asked; [`ErrorCode::NotPermitted`] if it isn't accepted, or too
    /// many proposals are pending; [`ErrorCode::StaleAnswer`] if it no longer is what was shown.
    pub(super) async fn confirm(
        &self,
        state: &Arc<AppState>,
        command: Command,
        process: Option<u32>,
    ) -> Result<Command, UserError> {
        let Ok(_slot) = self.slots.try_acquire() else {
            return Err(UserError::new(ErrorCode::NotPermitted, message!("error.app.tooManyProposals"))
                .with_hint(message!("error.app.tooManyProposalsHint")));
        };
        if self.is_declined() {
            return Err(UserError::new(ErrorCode::NotPermitted, message!("error.app.proposalsDeclined"))
                .with_hint(message!("error.app.proposalsDeclinedHint")));
        }
        let name = command.name();
        servers::check_visible(state, &command).await?;
        let proposal = Box::pin(description::describe(state, command)).await?;
        let peer = match process {
            Some(process) => peer_process::inspect_process(process).await,
            None => None,
        };
        let request = CommandRequest {
            command: name.to_owned(),
            what: proposal.shown.what.clone(),
            notes: proposal.shown.notes.clone(),
            changes: proposal.shown.changes.clone(),
            files: proposal.shown.files.clone(),
            seen_from: peer.and_then(|peer| peer.seen_from).map(Arc::unwrap_or_clone),
        };
        let shown = || serde_json::to_vec(&request).map_or(usize::MAX, |text| text.len());
        if proposal.given.unwrap_or_else(shown) > MOST_BYTES {
            let what = message!("error.app.proposalTooLarge", size = (MOST_BYTES / 1024).to_string());
            return Err(UserError::new(ErrorCode::NotPermitted, what)
                .with_hint(message!("error.app.proposalTooLargeHint")));
        }
        let not_confirmed = |what: Message| UserError::new(ErrorCode::NotPermitted, what);
        match state.tools.approvals().ask(ApprovalRequest::Command(request)).await {
            ApprovalAnswer::Accept { .. } => self.declined.lock().clear(),
            ApprovalAnswer::Decline => {
                self.declined.lock().push(Instant::now());
                return Err(not_confirmed(message!("error.app.proposalDeclined", command = name)));
            }
            ApprovalAnswer::Allow { .. } | ApprovalAnswer::Deny { .. } | ApprovalAnswer::Cancel => {
                return Err(not_confirmed(message!("error.app.proposalUnanswered", command = name))
                    .with_hint(message!("error.app.proposalUnansweredHint")));
            }
        }
        let now = Box::pin(description::describe(state, proposal.command.clone())).await?;
        if !now.shown.is_same(&proposal.shown) {
            return Err(UserError::new(ErrorCode::StaleAnswer, message!("error.app.proposalStale"))
                .with_hint(message!("error.app.proposalStaleHint")));
        }
        Ok(proposal.command)
    }

    /// Whether the user declined too many proposals to be asked again now.
    fn is_declined(&self) -> bool {
        let mut declined = self.declined.lock();
        declined.retain(|at| at.elapsed() < DECLINED_FOR);
        declined.len() >= MOST_DECLINED
    }
}

/// A command with everything resolved, and what the user sees of it.
struct ProposedCommand {
    command: Command,
    shown: ShownCommand,
    /// How many bytes of it the program gave, where it can't see all that is shown: what is refused for its size must not
    /// depend on what is hidden. Elsewhere, what is shown counts.
    given: Option<usize>,
}

impl ProposedCommand {
    fn new(command: Command, shown: ShownCommand) -> Self {
        Self { command, shown, given: None }
    }
}

/// What the user sees of a command.
struct ShownCommand {
    what: Message,
    notes: Vec<Message>,
    changes: Vec<FieldChange>,
    files: Vec<FileChange>,
}

impl ShownCommand {
    fn new(what: Message) -> Self {
        Self { what, notes: Vec::new(), changes: Vec::new(), files: Vec::new() }
    }

    fn with_note(mut self, note: Message) -> Self {
        self.notes.push(note);
        self
    }

    /// Whether the command still does the same. Notes can name the time until which something holds, and follow from the
    /// command.
    fn is_same(&self, other: &Self) -> bool {
        self.what == other.what && self.changes == other.changes && self.files == other.files
    }

    fn with_changes(self, changes: Vec<FieldChange>) -> Self {
        Self { changes, ..self }
    }
}
