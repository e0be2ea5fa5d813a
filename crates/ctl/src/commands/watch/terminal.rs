//! The watch at a terminal: one approval request at a time, answered by a short word and Enter. Input
//! typed before a request was shown, or within half a second after it, is discarded.

use std::time::Duration;

use gatehouse_model::approval::{ApprovalRequest, ElicitationMode};
use gatehouse_model::provider::SamplingDraft;
use gatehouse_model::{ApprovalId, Message, PendingApproval, message};
use tokio::time::Instant;

use super::answer::{AnswerCommand, answer, wider_words};
use super::content::ContentDialogue;
use super::pending_approvals::ApprovalChange;
use super::{ApprovalWatch, approval_text, stdin_lines};
use crate::error::CliError;
use crate::output::Printer;
use crate::terminal_text;

/// How long a request is shown before it can be answered.
const INPUT_DELAY: Duration = Duration::from_millis(500);

/// A key for an answer that is wider than one call.
struct WiderAnswer {
    key: &'static str,
    /// The answer as the command line takes it.
    word: &'static str,
    text: fn() -> Message,
}

const WIDER_ANSWERS: [WiderAnswer; 4] = [
    WiderAnswer { key: "r", word: "always-reads", text: || message!("ctl.answer.wider.reads") },
    WiderAnswer { key: "t", word: "always-tool", text: || message!("ctl.answer.wider.tool") },
    WiderAnswer { key: "q", word: "tool-until-quit", text: || message!("ctl.answer.wider.quit") },
    WiderAnswer { key: "15", word: "tool-15m", text: || message!("ctl.answer.wider.15m") },
];

/// State of the dialogue.
enum PromptState {
    /// No request is shown.
    Idle,
    /// A request is shown and cannot be answered yet.
    Locked { id: ApprovalId, until: Instant },
    /// It can be answered.
    Ready { id: ApprovalId },
    /// It will be denied; the reason is being prompted for.
    Reason { id: ApprovalId },
    /// What it asks for is being typed. Nothing of it is sent.
    Content { id: ApprovalId, dialogue: ContentDialogue },
    /// All of that was typed and is shown. Until then nothing confirms it, so that pasted lines cannot.
    ContentLocked { id: ApprovalId, dialogue: ContentDialogue, until: Instant },
    /// It can be sent.
    ContentReady { id: ApprovalId, dialogue: ContentDialogue },
}

struct TerminalWatch<'a, 'b> {
    watch: ApprovalWatch<'a>,
    output: &'b Printer,
    state: PromptState,
    skipped: Vec<ApprovalId>,
}

pub(super) async fn run(
    watch: ApprovalWatch<'_>,
    _first: Vec<ApprovalChange>,
    output: &Printer,
) -> Result<(), CliError> {
    let mut lines = stdin_lines();
    let mut terminal = TerminalWatch { watch, output, state: PromptState::Idle, skipped: Vec::new() };
    terminal.show_next()?;
    if matches!(terminal.state, PromptState::Idle) {
        output.line(&terminal_text::message(&message!("ctl.approvals.noneYet")))?;
    }
    loop {
        let unlock_at = match &terminal.state {
            PromptState::Locked { until, .. } | PromptState::ContentLocked { until, .. } => Some(*until),
            PromptState::Idle
            | PromptState::Ready { .. }
            | PromptState::Reason { .. }
            | PromptState::Content { .. }
            | PromptState::ContentReady { .. } => None,
        };
        tokio::select! {
            changes = terminal.watch.next() => terminal.apply_changes(&changes?)?,
            () = sleep_until(unlock_at), if unlock_at.is_some() => terminal.unlock()?,
            line = lines.recv() => match line {
                Some(line) => terminal.handle_line(&line).await?,
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

impl TerminalWatch<'_, '_> {
    fn current(&self) -> Option<&ApprovalId> {
        match &self.state {
            PromptState::Idle => None,
            PromptState::Locked { id, .. }
            | PromptState::Ready { id }
            | PromptState::Reason { id }
            | PromptState::Content { id, .. }
            | PromptState::ContentLocked { id, .. }
            | PromptState::ContentReady { id, .. } => Some(id),
        }
    }

    fn apply_changes(&mut self, changes: &[ApprovalChange]) -> Result<(), CliError> {
        for change in changes {
            match change {
                ApprovalChange::Added(pending) if self.current() == Some(&pending.id) => {
                    self.output.line(&terminal_text::message(&message!("ctl.answer.afterAnother")))?;
                    self.show(pending)?;
                }
                ApprovalChange::Added(_) if self.current().is_some() => {
                    let count = self.watch.pending_approvals.pending().len();
                    let count = u32::try_from(count).unwrap_or(u32::MAX);
                    let waiting = message!("ctl.approvals.waiting", count = count);
                    self.output.line(&terminal_text::message(&waiting))?;
                }
                ApprovalChange::Added(_) => {}
                ApprovalChange::WaitingChanged(id, waiting) if self.current() == Some(id) => {
                    self.output.line(&approval_text::client_waits(*waiting))?;
                }
                ApprovalChange::WaitingChanged(..) => {}
                ApprovalChange::Removed(id, outcome) => {
                    self.skipped.retain(|skipped| skipped != id);
                    self.output.line(&format!("{id}: {}", approval_text::outcome_text(*outcome)))?;
                    if self.current() == Some(id) {
                        self.state = PromptState::Idle;
                    }
                }
            }
        }
        self.show_next()
    }

    fn show_next(&mut self) -> Result<(), CliError> {
        if self.current().is_some() {
            return Ok(());
        }
        let next = self
            .watch
            .pending_approvals
            .pending()
            .iter()
            .find(|pending| !self.skipped.contains(&pending.id))
            .cloned();
        match next {
            Some(pending) => self.show(&pending),
            None => Ok(()),
        }
    }

    fn show(&mut self, pending: &PendingApproval) -> Result<(), CliError> {
        let all = self.watch.pending_approvals.pending();
        let at = all.iter().position(|other| other.id == pending.id).map_or(1, |at| at + 1);
        for line in approval_text::lines(pending, at, all.len()) {
            self.output.line(&line)?;
        }
        self.state = PromptState::Locked { id: pending.id.clone(), until: Instant::now() + INPUT_DELAY };
        Ok(())
    }

    fn unlock(&mut self) -> Result<(), CliError> {
        // Input typed so far was not meant for this request.
        discard_typed_input();
        match std::mem::replace(&mut self.state, PromptState::Idle) {
            PromptState::Locked { id, .. } => {
                if let Some(pending) = self.watch.pending_approvals.find(&id) {
                    self.output.line(&terminal_text::message(&offer(pending)))?;
                }
                self.state = PromptState::Ready { id };
            }
            PromptState::ContentLocked { id, dialogue, .. } => {
                self.output.line(&terminal_text::message(&message!("ctl.answer.offerSend")))?;
                self.state = PromptState::ContentReady { id, dialogue };
            }
            other => self.state = other,
        }
        Ok(())
    }

    async fn handle_line(&mut self, typed: &str) -> Result<(), CliError> {
        let line = typed.trim();
        match std::mem::replace(&mut self.state, PromptState::Idle) {
            PromptState::Idle => Ok(()),
            locked @ (PromptState::Locked { .. } | PromptState::ContentLocked { .. }) => {
                self.state = locked;
                self.output.line(&terminal_text::message(&message!("ctl.answer.tooSoon")))
            }
            PromptState::Reason { id } => {
                let word = AnswerCommand::Deny(Some(line.to_owned()).filter(|line| !line.is_empty()));
                self.answer(&id, &word).await
            }
            PromptState::Ready { id } => {
                self.state = PromptState::Ready { id: id.clone() };
                self.handle_key(id, line).await
            }
            PromptState::Content { id, mut dialogue } => {
                if let Err(why) = dialogue.enter(typed) {
                    self.output.line(&terminal_text::message(&why))?;
                }
                self.continue_content(id, dialogue)
            }
            PromptState::ContentReady { id, dialogue } => match line {
                "y" => self.answer(&id, &AnswerCommand::Accept(dialogue.content())).await,
                "r" => self.start_content(id),
                "d" => self.answer(&id, &AnswerCommand::Deny(None)).await,
                "s" => self.skip(id),
                other => {
                    self.state = PromptState::ContentReady { id, dialogue };
                    if other.is_empty() {
                        return Ok(());
                    }
                    self.output.line(&terminal_text::message(&message!("ctl.answer.cannot")))
                }
            },
        }
    }

    /// Takes the key for a request that can be answered.
    async fn handle_key(&mut self, id: ApprovalId, line: &str) -> Result<(), CliError> {
        let takes_content = self
            .watch
            .pending_approvals
            .find(&id)
            .is_some_and(|pending| ContentDialogue::start(pending).is_some());
        let word = match line {
            "" => return Ok(()),
            "a" if takes_content => return self.start_content(id),
            "m" if self.model_of(&id).is_some() => return self.generate(id).await,
            "a" => AnswerCommand::Allow,
            "d" => AnswerCommand::Deny(None),
            "D" => {
                self.state = PromptState::Reason { id };
                return self.output.line(&terminal_text::message(&message!("ctl.answer.reason")));
            }
            "s" => return self.skip(id),
            key => {
                match WIDER_ANSWERS
                    .iter()
                    .find(|answer| answer.key == key)
                    .map(|answer| AnswerCommand::read(answer.word, ""))
                {
                    Some(Ok(word)) => word,
                    Some(Err(_)) | None => {
                        return self.output.line(&terminal_text::message(&message!("ctl.answer.cannot")));
                    }
                }
            }
        };
        self.answer(&id, &word).await
    }

    fn skip(&mut self, id: ApprovalId) -> Result<(), CliError> {
        self.skipped.push(id);
        self.state = PromptState::Idle;
        self.output.line(&terminal_text::message(&message!("ctl.answer.skipped")))?;
        self.show_next()
    }

    /// What the model is called that can write the answer to a request.
    fn model_of(&self, id: &ApprovalId) -> Option<String> {
        let pending = self.watch.pending_approvals.find(id)?;
        pending.model.clone().filter(|_| matches!(pending.request, ApprovalRequest::Sampling(_)))
    }

    /// Lets a model write the answer, and shows it. Nothing is sent to the server before the person says so.
    async fn generate(&mut self, id: ApprovalId) -> Result<(), CliError> {
        self.state = PromptState::Ready { id: id.clone() };
        let Some(model) = self.model_of(&id) else { return Ok(()) };
        self.output.line(&terminal_text::message(&message!("ctl.sampling.generating", model = model)))?;
        match self.watch.generate(&id).await? {
            Ok(SamplingDraft { content, text, .. }) => {
                self.continue_content(id, ContentDialogue::Draft { text, content })
            }
            Err(error) => {
                self.output.line(&terminal_text::error(&error))?;
                let offer = self.watch.pending_approvals.find(&id).map(offer);
                offer.map_or(Ok(()), |offer| self.output.line(&terminal_text::message(&offer)))
            }
        }
    }

    /// Begins to take what a request asks for, from the first field on.
    fn start_content(&mut self, id: ApprovalId) -> Result<(), CliError> {
        self.state = PromptState::Ready { id: id.clone() };
        match self.watch.pending_approvals.find(&id).and_then(ContentDialogue::start) {
            Some(Ok(dialogue)) => self.continue_content(id, dialogue),
            Some(Err(why)) => self.output.line(&terminal_text::message(&why)),
            None => Ok(()),
        }
    }

    /// Asks for the next part, or shows all of it once it is complete.
    fn continue_content(&mut self, id: ApprovalId, dialogue: ContentDialogue) -> Result<(), CliError> {
        if !dialogue.is_complete() {
            for line in dialogue.prompt() {
                self.output.line(&line)?;
            }
            self.state = PromptState::Content { id, dialogue };
            return Ok(());
        }
        self.output.line(&terminal_text::message(&message!("ctl.form.summary")))?;
        for line in dialogue.summary() {
            self.output.line(&line)?;
        }
        self.state = PromptState::ContentLocked { id, dialogue, until: Instant::now() + INPUT_DELAY };
        Ok(())
    }

    async fn answer(&mut self, id: &ApprovalId, word: &AnswerCommand) -> Result<(), CliError> {
        self.state = PromptState::Ready { id: id.clone() };
        let Some(pending) = self.watch.pending_approvals.find(id) else { return Ok(()) };
        let offer = offer(pending);
        let sent = match answer(pending, word) {
            Ok(answer) => self.watch.answer(answer).await?.map_err(|error| terminal_text::error(&error)),
            Err(why) => Err(terminal_text::message(&why)),
        };
        match sent {
            // The event of the answer makes the next request show.
            Ok(()) => Ok(()),
            Err(words) => {
                self.output.line(&words)?;
                self.output.line(&terminal_text::message(&offer))
            }
        }
    }
}

/// The keys that a request can be answered with.
fn offer(pending: &PendingApproval) -> Message {
    match &pending.request {
        ApprovalRequest::Sampling(_) => match &pending.model {
            Some(model) => message!("ctl.answer.offerReplyModel", model = model),
            None => message!("ctl.answer.offerReply"),
        },
        ApprovalRequest::Elicitation(request) if matches!(request.want, ElicitationMode::Form { .. }) => {
            message!("ctl.answer.offerForm")
        }
        _ => {
            let offered = wider_words(pending);
            let wider = WIDER_ANSWERS.iter().filter(|answer| offered.contains(&answer.word));
            let wider: String = wider
                .map(|answer| format!(" · {} {}", answer.key, terminal_text::message(&(answer.text)())))
                .collect();
            message!("ctl.answer.offer", wider = wider)
        }
    }
}

#[cfg(unix)]
fn discard_typed_input() {
    if let Err(error) = nix::sys::termios::tcflush(std::io::stdin(), nix::sys::termios::FlushArg::TCIFLUSH) {
        tracing::debug!(%error, "what was typed could not be forgotten");
    }
}

#[cfg(not(unix))]
fn discard_typed_input() {}
