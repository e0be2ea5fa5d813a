//! Commands for the prompt window: reading and answering pending approvals, and the window's own size
//! and visibility.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use gatehouse_model::ask::Elicited;
use gatehouse_model::command::{ApprovalsAnswer, ApprovalsList, ApprovalsReveal, Command};
use gatehouse_model::{Ask, AskAnswer, AskId, CallHash, ErrorCode, Problem};
use tauri::ipc::{Channel, Response};
use tauri::{AppHandle, State, WebviewWindow};

use super::{only, raw};
use crate::host::Host;
use crate::links;
use crate::main_window;
use crate::pages::{self, MainPage, Page};
use crate::preferences::{self, Preferences};
use crate::prompt::policy::Input;
use crate::prompt::window::PROMPT;
use crate::prompt::{Prompt, Signal};

/// The pending approvals; details of those that the page already has (`known`) are left out.
#[tauri::command]
pub(crate) async fn prompt_pending(
    window: WebviewWindow,
    host: State<'_, Host>,
    known: Vec<AskId>,
) -> Result<Response, Problem> {
    only(&window, PROMPT)?;
    host.execute(Command::ApprovalsList(ApprovalsList { known })).await.map(raw)
}

/// Answers approval requests that were shown together. Refused if the window has only just come up.
#[tauri::command]
pub(crate) async fn prompt_answer(
    window: WebviewWindow,
    host: State<'_, Host>,
    prompt: State<'_, Prompt>,
    answers: Vec<AskAnswer>,
) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    prompt.may_answer()?;
    host.run(&ApprovalsAnswer { answers }).await
}

/// One argument of a pending call without its mask, because the user pressed Show.
#[tauri::command]
pub(crate) async fn prompt_reveal(
    window: WebviewWindow,
    host: State<'_, Host>,
    id: AskId,
    hash: CallHash,
    argument: u32,
) -> Result<Response, Problem> {
    only(&window, PROMPT)?;
    host.execute(Command::ApprovalsReveal(ApprovalsReveal { id, hash, argument })).await.map(raw)
}

/// Sends signals about the window and the approval requests.
#[tauri::command]
pub(crate) fn prompt_signals(
    window: WebviewWindow,
    prompt: State<'_, Prompt>,
    channel: Channel<Signal>,
) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    prompt.listen(channel);
    Ok(())
}

#[tauri::command]
pub(crate) fn prompt_preferences(app: AppHandle, window: WebviewWindow) -> Result<Preferences, Problem> {
    only(&window, PROMPT)?;
    preferences::load(&app)
}

/// Hides the window without answering anything.
#[tauri::command]
pub(crate) fn prompt_put_away(window: WebviewWindow, prompt: State<'_, Prompt>) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    prompt.input(Input::PutAway);
    Ok(())
}

/// Sets the window's height to that of its content.
#[tauri::command]
pub(crate) fn prompt_fit(
    window: WebviewWindow,
    prompt: State<'_, Prompt>,
    height: f64,
) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    prompt.fit(height);
    Ok(())
}

/// Opens the main window on the page of pending approvals.
#[tauri::command]
pub(crate) fn prompt_open_main(
    app: AppHandle,
    window: WebviewWindow,
    page: State<'_, MainPage>,
) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    main_window::raise(&app);
    if !page.tell(pages::Signal::Open(Page::Approvals)) {
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
) -> Result<(), Problem> {
    only(&window, PROMPT)?;
    let waiting = host.run(&ApprovalsList { known: Vec::new() }).await?;
    if !waiting.iter().any(|pending| is_about(&pending.ask, &address)) {
        return Err(Problem::new(ErrorCode::StaleAnswer, "No question that waits is about this page."));
    }
    links::open_link(&address)
}

fn is_about(ask: &Ask, address: &str) -> bool {
    matches!(ask, Ask::Elicitation(wanted) if matches!(&wanted.want, Elicited::Url { url, .. } if url == address))
}
