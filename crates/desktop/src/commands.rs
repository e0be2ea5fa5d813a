//! The commands that windows may run. Each is listed with its window in `window_commands`; the toolkit
//! checks the window with [`WindowCommand::ensure_from`] before it runs the command.

use std::collections::BTreeMap;

use gatehouse_model::approval::ElicitationMode;
use gatehouse_model::command::{
    ApprovalsAnswer, ApprovalsGenerate, ApprovalsList, ApprovalsOpinion, ApprovalsReveal, Command,
    ServersStopRun, ServersTrustLabels,
};
use gatehouse_model::grant::{AccessClassification, ClassReason};
use gatehouse_model::{
    ApprovalId, ApprovalRequest, CallHash, ErrorCode, EventEnvelope, Secret, SubmittedAnswer, UserError,
    message,
};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::desktop::Desktop;
use crate::event_forwarder::on_core_start;
use crate::main_page::{MainPageSignal, PageSink, PageTarget};
use crate::preferences::Preferences;
use crate::prompt::{PromptInput, PromptSignal};
use crate::secrets::{PassphraseResult, VaultView};
use crate::updates::UpdateStatus;
use crate::window_commands::WindowCommand;

impl WindowCommand {
    /// Checks that the calling window may run this command. The capability files enforce the same; this
    /// is defence in depth in case one of them is wrong.
    ///
    /// # Errors
    /// [`ErrorCode::NotPermitted`] for every other window.
    pub fn ensure_from(self, label: &str) -> Result<(), UserError> {
        if label == self.window().label() {
            return Ok(());
        }
        Err(UserError::new(ErrorCode::NotPermitted, message!("error.desktop.otherWindow")))
    }
}

/// Commands for the main window.
impl Desktop {
    /// Runs any command of the core with the operator's authority, since a person operates the window.
    pub async fn command(&self, name: &str, args: &Value) -> Result<Box<RawValue>, UserError> {
        let command = parse_window_command(name, args)?;
        self.host().execute(command).await
    }

    /// Sends events from now on; `None` means that events were missed. A `None` is sent first, because
    /// what the page read before it subscribed may be outdated.
    pub async fn listen_to_events(&self, page: PageSink<Option<EventEnvelope>>) {
        if let Err(error) = self.host().wait_until_ready().await {
            tracing::debug!(%error, "the page subscribed before the core runs");
        }
        self.page().listen_to_events(page);
        self.page().send_event(None);
    }

    /// Sends the shell's signals to the page.
    pub fn listen_to_main_signals(&self, page: PageSink<MainPageSignal>) {
        self.page().listen_to_signals(page);
    }

    /// Starts the core again if it could not be started.
    pub async fn start_again(&self) -> Result<(), UserError> {
        self.host().start_again(|outcome| on_core_start(self.receivers(), outcome)).await
    }

    /// Where secrets are stored, and whether the vault waits for its passphrase.
    pub async fn vault(&self) -> Result<VaultView, UserError> {
        self.host().vault().await
    }

    /// Unlocks the vault, and starts the core with it.
    ///
    /// # Errors
    /// If the vault is not locked, or the core does not start.
    pub async fn unlock_vault(&self, passphrase: Secret) -> Result<PassphraseResult, UserError> {
        self.host().unlock_vault(passphrase, |outcome| on_core_start(self.receivers(), outcome)).await
    }

    /// Starts the core with secrets in memory for this run.
    ///
    /// # Errors
    /// If the vault is not locked, or the core does not start.
    pub async fn put_vault_aside(&self) -> Result<(), UserError> {
        self.host().put_vault_aside(|outcome| on_core_start(self.receivers(), outcome)).await
    }

    /// Creates a vault to replace the store in memory, and starts the core with it.
    ///
    /// # Errors
    /// If secrets are not in memory, or the vault cannot be created, or the core does not start.
    pub async fn make_vault(&self, passphrase: Secret) -> Result<(), UserError> {
        self.host().make_vault(passphrase, |outcome| on_core_start(self.receivers(), outcome)).await
    }

    /// Changes the passphrase of the vault.
    pub async fn change_passphrase(&self, old: Secret, new: Secret) -> Result<PassphraseResult, UserError> {
        self.host().change_passphrase(old, new).await
    }

    /// The stored preferences. The prompt window may read them too.
    pub fn preferences(&self) -> Result<Preferences, UserError> {
        self.platform().load_preferences()
    }

    /// What the user has begun in the main page and not finished: JSON values by name, that a new page begins with.
    #[must_use]
    pub fn page_state(&self) -> BTreeMap<String, String> {
        self.kept_page_state().entries()
    }

    /// Keeps one such value in memory, or removes it.
    ///
    /// # Errors
    /// If there is no room for it; then nothing changes.
    pub fn set_page_state(&self, name: String, value: Option<String>) -> Result<(), UserError> {
        self.kept_page_state().set(name, value)
    }

    /// Where an update is in its course.
    #[must_use]
    pub fn update_status(&self) -> UpdateStatus {
        self.updates().status()
    }

    /// Looks for an update. Returns what came of it.
    pub async fn check_update(&self) -> UpdateStatus {
        self.updates().check().await
    }

    /// Downloads and installs the update that was found. Returns what came of it.
    pub async fn install_update(&self) -> UpdateStatus {
        self.updates().install().await
    }

    /// Ends the search for an update, or its download.
    pub fn cancel_update(&self) {
        self.updates().cancel();
    }

    /// Whether Gatehouse starts at login, as the system says now.
    pub fn starts_at_login(&self) -> Result<bool, UserError> {
        self.platform().starts_at_login().map_err(|error| {
            UserError::new(ErrorCode::Internal, message!("error.desktop.loginItemUnread"))
                .with_cause(format!("{error}."))
        })
    }

    /// Makes Gatehouse start at login, without a window, or no longer. Returns what the system says then.
    pub fn set_starts_at_login(&self, starts: bool) -> Result<bool, UserError> {
        self.platform().set_starts_at_login(starts).map_err(|error| {
            UserError::new(ErrorCode::Internal, message!("error.desktop.loginItemUnchanged"))
                .with_cause(format!("{error}."))
                .with_hint(message!("error.desktop.loginItemHint"))
        })?;
        self.starts_at_login()
    }

    /// Opens an address in the browser.
    pub fn open_link(&self, address: &str) -> Result<(), UserError> {
        self.browser().open_link(address)
    }

    /// Lets the user choose a file with one of these endings, in the system's dialog. Returns its path, which says nothing of
    /// what is in it, or nothing if none was chosen.
    ///
    /// # Errors
    /// If an ending is no plain one.
    pub async fn pick_file(&self, endings: Vec<String>) -> Result<Option<String>, UserError> {
        let is_plain = |ending: &String| ending.chars().all(|c| c.is_ascii_alphanumeric());
        if !endings.iter().all(is_plain) {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.desktop.badEnding")));
        }
        let path = self.platform().pick_file(endings).await;
        // A path that is no text cannot be sent to the page, and so not come back.
        Ok(path.and_then(|path| path.into_os_string().into_string().ok()))
    }

    /// The page shows useful content. Returns whether this is the first time.
    #[must_use]
    pub fn mark_painted(&self) -> bool {
        self.page().mark_painted()
    }

    /// Brings the prompt window to the front if there are pending approvals.
    pub fn show_prompt(&self) {
        self.prompt().input(PromptInput::Raise);
    }

    /// Closes the main window; Gatehouse keeps running.
    pub fn close_main(&self) {
        self.page().detach();
        self.platform().close_main();
    }

    /// Quits Gatehouse.
    pub fn quit(&self) {
        self.platform().exit();
    }
}

/// Commands for the prompt window.
impl Desktop {
    /// The pending approvals; details of those that the page already has (`known`) are left out.
    pub async fn prompt_pending(&self, known: Vec<ApprovalId>) -> Result<Box<RawValue>, UserError> {
        self.host().execute(Command::ApprovalsList(ApprovalsList { known })).await
    }

    /// Answers approval requests that were shown together.
    ///
    /// # Errors
    /// If the window is hidden or has only just come up, or if an answer is refused.
    pub async fn prompt_answer(&self, answers: Vec<SubmittedAnswer>) -> Result<(), UserError> {
        self.prompt().ensure_can_answer()?;
        self.host().run(&ApprovalsAnswer { answers }).await
    }

    /// One argument of a pending call without its mask, because the user pressed Show.
    pub async fn prompt_reveal(&self, request: ApprovalsReveal) -> Result<Box<RawValue>, UserError> {
        self.host().execute(Command::ApprovalsReveal(request)).await
    }

    /// Trusts the read-only labels of the server that a pending call is for, or ceases to, where the request
    /// offers that. The call is judged again.
    ///
    /// # Errors
    /// If the window is hidden or has only just come up, or if the request has changed.
    pub async fn prompt_trust_labels(
        &self,
        id: &ApprovalId,
        hash: &CallHash,
        trusted: bool,
    ) -> Result<(), UserError> {
        self.prompt().ensure_can_answer()?;
        let pending = self.host().run(&ApprovalsList { known: vec![id.clone()] }).await?;
        let shown = pending.into_iter().find(|pending| pending.id == *id).map(|pending| pending.request);
        match shown {
            Some(ApprovalRequest::Call(call)) if call.hash == *hash && offers_trust(&call.class, trusted) => {
                let generation = Some(call.server.generation);
                let server = call.server.id.to_string();
                self.host().run(&ServersTrustLabels { server, trusted, generation }).await
            }
            _ => Err(UserError::new(ErrorCode::StaleAnswer, message!("error.desktop.labelsUnasked"))),
        }
    }

    /// Lets the model for sampling write an answer to a pending sampling request, because the user pressed the button.
    /// Nothing is sent to the server.
    ///
    /// # Errors
    /// If the window is hidden or has only just come up; those of the core.
    pub async fn prompt_generate(&self, id: ApprovalId, run: &str) -> Result<Box<RawValue>, UserError> {
        self.prompt().ensure_can_answer()?;
        let run = Some(prompt_run(run));
        self.host().execute(Command::ApprovalsGenerate(ApprovalsGenerate { id, run })).await
    }

    /// Stops what [`Self::prompt_generate`] began under this name. Nothing else can be stopped from this window.
    pub async fn prompt_stop_generating(&self, run: &str) -> Result<(), UserError> {
        self.host().run(&ServersStopRun { run: prompt_run(run) }).await
    }

    /// A model's opinion about a pending call, where the user wants opinions. It decides nothing.
    pub async fn prompt_opinion(&self, wanted: ApprovalsOpinion) -> Result<Box<RawValue>, UserError> {
        self.host().execute(Command::ApprovalsOpinion(wanted)).await
    }

    /// Sends signals about the window and the approval requests.
    pub fn listen_to_prompt_signals(&self, page: PageSink<PromptSignal>) {
        self.prompt().listen(page);
    }

    /// Hides the window without answering anything.
    pub fn prompt_put_away(&self) {
        self.prompt().input(PromptInput::Dismissed);
    }

    /// Sets the window's height to that of its content, in logical pixels.
    pub fn prompt_fit(&self, height: f64) {
        self.prompt().fit(height);
    }

    /// Opens the main window on the page of pending approvals.
    pub fn prompt_open_main(&self) {
        self.open_main(PageTarget::Approvals);
    }

    /// Opens the page that an approval request is about in the browser. No other page can be opened from
    /// this window.
    ///
    /// # Errors
    /// If no pending request is about the page, or it cannot be opened.
    pub async fn prompt_open_link(&self, address: &str) -> Result<(), UserError> {
        let pending = self.host().run(&ApprovalsList { known: Vec::new() }).await?;
        if !pending.iter().any(|pending| is_about(&pending.request, address)) {
            return Err(UserError::new(ErrorCode::StaleAnswer, message!("error.desktop.linkUnasked")));
        }
        self.browser().open_link(address)
    }
}

/// What a run of the prompt window is called in the core, apart from those of the main window.
fn prompt_run(run: &str) -> String {
    format!("prompt:{run}")
}

/// The command with this name. A window is not a client: it may not call tools with a client's token.
fn parse_window_command(name: &str, args: &Value) -> Result<Command, UserError> {
    let args = to_raw_value(args).map_err(|error| {
        UserError::new(ErrorCode::BadRequest, message!("error.desktop.argumentsUnread"))
            .with_cause(format!("{error}."))
    })?;
    match Command::parse(name, &args)? {
        Command::Call(_) => {
            Err(UserError::new(ErrorCode::NotPermitted, message!("error.desktop.noToolCalls")))
        }
        command => Ok(command),
    }
}

/// Whether trusting the server's labels, or ceasing to, changes the class of a call.
fn offers_trust(class: &AccessClassification, trusted: bool) -> bool {
    let reason = if trusted { ClassReason::UntrustedLabel } else { ClassReason::TrustedLabel };
    class.reason == reason
}

fn is_about(request: &ApprovalRequest, address: &str) -> bool {
    matches!(request, ApprovalRequest::Elicitation(wanted) if matches!(&wanted.want, ElicitationMode::Url { url, .. } if url == address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::window_commands::WINDOW_COMMANDS;

    #[test]
    fn rejects_tool_calls_from_windows() {
        let list = parse_window_command("servers.list", &json!({})).unwrap();
        assert_eq!(list.name(), "servers.list");
        let code = |name, args| parse_window_command(name, &args).unwrap_err().code;
        let call = json!({"token": "t", "tool": "time__now", "arguments": "{}"});
        assert_eq!(code("call", call), ErrorCode::NotPermitted);
        assert_eq!(code("servers.list", json!({"more": 1})), ErrorCode::BadRequest);
        assert_eq!(code("servers.lost", json!({})), ErrorCode::BadRequest);
    }

    #[test]
    fn each_command_is_for_one_window() {
        for command in WINDOW_COMMANDS {
            let is_for_prompt = command.name().starts_with("prompt_");
            assert_eq!(command.ensure_from("prompt").is_ok(), is_for_prompt, "{}", command.name());
            assert_eq!(command.ensure_from("main").is_ok(), !is_for_prompt, "{}", command.name());
            assert!(command.ensure_from("other").is_err(), "{}", command.name());
            assert_eq!(WindowCommand::from_name(command.name()), Some(*command));
        }
        assert_eq!(WindowCommand::from_name("prompt_everything"), None);
    }
}
