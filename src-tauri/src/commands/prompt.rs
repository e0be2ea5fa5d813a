//! Commands for the prompt window: reading and answering pending approvals, and the window's own size
//! and visibility.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use gatehouse_model::approval::ElicitationMode;
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsList, ApprovalsReveal, Command};
use gatehouse_model::{ApprovalId, ApprovalRequest, CallHash, ErrorCode, SubmittedAnswer, UserError};
use tauri::ipc::{Channel, Response};
use tauri::{AppHandle, State, WebviewWindow};

use super::{ensure_window, raw_response};
use crate::host::Host;
use crate::links;
use crate::main_page::{self, MainPage, PageTarget};
use crate::main_window;
use crate::preferences::{self, Preferences};
use crate::prompt::policy::PromptInput;
use crate::prompt::window::PROMPT;
use crate::prompt::{Prompt, PromptSignal};

/// The pending approvals; details of those that the page already has (`known`) are left out.
#[tauri::command]
pub(crate) async fn prompt_pending(
    window: WebviewWindow,
    host: State<'_, Host>,
    known: Vec<ApprovalId>,
) -> Result<Response, UserError> {
    ensure_window(&window, PROMPT)?;
    host.execute(Command::ApprovalsList(ApprovalsList { known })).await.map(raw_response)
}

/// Answers approval requests that were shown together. Refused if the window has only just come up.
#[tauri::command]
pub(crate) async fn prompt_answer(
    window: WebviewWindow,
    host: State<'_, Host>,
    prompt: State<'_, Prompt>,
    answers: Vec<SubmittedAnswer>,
) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    prompt.ensure_can_answer()?;
    host.run(&ApprovalsAnswer { answers }).await
}

/// One argument of a pending call without its mask, because the user pressed Show.
#[tauri::command]
pub(crate) async fn prompt_reveal(
    window: WebviewWindow,
    host: State<'_, Host>,
    id: ApprovalId,
    hash: CallHash,
    argument: u32,
) -> Result<Response, UserError> {
    ensure_window(&window, PROMPT)?;
    host.execute(Command::ApprovalsReveal(ApprovalsReveal { id, hash, argument })).await.map(raw_response)
}

/// Sends signals about the window and the approval requests.
#[tauri::command]
pub(crate) fn prompt_signals(
    window: WebviewWindow,
    prompt: State<'_, Prompt>,
    channel: Channel<PromptSignal>,
) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    prompt.listen(channel);
    Ok(())
}

#[tauri::command]
pub(crate) fn prompt_preferences(app: AppHandle, window: WebviewWindow) -> Result<Preferences, UserError> {
    ensure_window(&window, PROMPT)?;
    preferences::load(&app)
}

/// Hides the window without answering anything.
#[tauri::command]
pub(crate) fn prompt_put_away(window: WebviewWindow, prompt: State<'_, Prompt>) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    prompt.input(PromptInput::Dismissed);
    Ok(())
}

/// Sets the window's height to that of its content.
#[tauri::command]
pub(crate) fn prompt_fit(
    window: WebviewWindow,
    prompt: State<'_, Prompt>,
    height: f64,
) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    prompt.fit(height);
    Ok(())
}

/// Opens the main window on the page of pending approvals.
#[tauri::command]
pub(crate) fn prompt_open_main(
    app: AppHandle,
    window: WebviewWindow,
    page: State<'_, MainPage>,
) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    main_window::raise(&app);
    if !page.send_signal(main_page::MainPageSignal::Open(PageTarget::Approvals)) {
        tracing::warn!("the main window does not listen");
    }
    Ok(())
}

/// Opens the page that an approval request is about in the browser. No other page can be opened from
/// this window.
#[tauri::command]
pub(crate) async fn prompt_open_link(
    window: WebviewWindow,
    host: State<'_, Host>,
    address: String,
) -> Result<(), UserError> {
    ensure_window(&window, PROMPT)?;
    let waiting = host.run(&ApprovalsList { known: Vec::new() }).await?;
    if !waiting.iter().any(|pending| is_about(&pending.ask, &address)) {
        return Err(UserError::new(ErrorCode::StaleAnswer, "No question that waits is about this page."));
    }
    links::open_link(&address)
}

fn is_about(ask: &ApprovalRequest, address: &str) -> bool {
    matches!(ask, ApprovalRequest::Elicitation(wanted) if matches!(&wanted.want, ElicitationMode::Url { url, .. } if url == address))
}
