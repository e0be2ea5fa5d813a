//! Commands for the prompt window: reading and answering pending approvals, and the window's own size
//! and visibility.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use gatehouse_desktop::{Desktop, Preferences, PromptSignal, WindowCommand};
use gatehouse_model::command::{ApprovalsOpinion, ApprovalsReveal};
use gatehouse_model::{ApprovalId, CallHash, SubmittedAnswer, UserError};
use tauri::ipc::{Channel, Response};
use tauri::{State, WebviewWindow};

use super::{ensure_window, page_sink, raw_response};

/// The pending approvals; details of those that the page already has (`known`) are left out.
#[tauri::command]
pub(crate) async fn prompt_pending(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    known: Vec<ApprovalId>,
) -> Result<Response, UserError> {
    ensure_window(&window, WindowCommand::PromptPending)?;
    desktop.prompt_pending(known).await.map(raw_response)
}

/// Answers approval requests that were shown together. Refused if the window has only just come up.
#[tauri::command]
pub(crate) async fn prompt_answer(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    answers: Vec<SubmittedAnswer>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptAnswer)?;
    desktop.prompt_answer(answers).await
}

/// One argument of a pending call without its mask, because the user pressed Show.
#[tauri::command]
pub(crate) async fn prompt_reveal(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    id: ApprovalId,
    hash: CallHash,
    argument: u32,
) -> Result<Response, UserError> {
    ensure_window(&window, WindowCommand::PromptReveal)?;
    desktop.prompt_reveal(ApprovalsReveal { id, hash, argument }).await.map(raw_response)
}

/// Trusts the labels of the server that a pending call is for, or ceases to. Refused if the window has only just
/// come up.
#[tauri::command]
pub(crate) async fn prompt_trust_labels(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    id: ApprovalId,
    hash: CallHash,
    trusted: bool,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptTrustLabels)?;
    desktop.prompt_trust_labels(&id, &hash, trusted).await
}

/// Lets the model for sampling write an answer to a pending request. Refused if the window has only just come up.
#[tauri::command]
pub(crate) async fn prompt_generate(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    id: ApprovalId,
    run: String,
) -> Result<Response, UserError> {
    ensure_window(&window, WindowCommand::PromptGenerate)?;
    desktop.prompt_generate(id, &run).await.map(raw_response)
}

/// Stops a model that writes an answer.
#[tauri::command]
pub(crate) async fn prompt_stop_generating(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    run: String,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptStopGenerating)?;
    desktop.prompt_stop_generating(&run).await
}

/// A model's opinion about a pending call.
#[tauri::command]
pub(crate) async fn prompt_opinion(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    id: ApprovalId,
    hash: CallHash,
) -> Result<Response, UserError> {
    ensure_window(&window, WindowCommand::PromptOpinion)?;
    desktop.prompt_opinion(ApprovalsOpinion { id, hash }).await.map(raw_response)
}

/// Sends signals about the window and the approval requests.
#[tauri::command]
pub(crate) fn prompt_signals(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    channel: Channel<PromptSignal>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptSignals)?;
    desktop.listen_to_prompt_signals(page_sink(channel));
    Ok(())
}

#[tauri::command]
pub(crate) fn prompt_preferences(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<Preferences, UserError> {
    ensure_window(&window, WindowCommand::PromptPreferences)?;
    desktop.preferences()
}

/// Hides the window without answering anything.
#[tauri::command]
pub(crate) fn prompt_put_away(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptPutAway)?;
    desktop.prompt_put_away();
    Ok(())
}

/// Sets the window's height to that of its content.
#[tauri::command]
pub(crate) fn prompt_fit(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    height: f64,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptFit)?;
    desktop.prompt_fit(height);
    Ok(())
}

/// Opens the main window on the page of pending approvals.
#[tauri::command]
pub(crate) fn prompt_open_main(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptOpenMain)?;
    desktop.prompt_open_main();
    Ok(())
}

/// Opens the page that an approval request is about in the browser.
#[tauri::command]
pub(crate) async fn prompt_open_link(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    address: String,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PromptOpenLink)?;
    desktop.prompt_open_link(&address).await
}
