//! Commands for the main window.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use std::collections::BTreeMap;

use gatehouse_desktop::{
    Desktop, MainPageSignal, PassphraseResult, Preferences, UpdateStatus, VaultView, WindowCommand,
};
use gatehouse_model::{EventEnvelope, Secret, UserError};
use serde_json::Value;
use tauri::ipc::{Channel, Response};
use tauri::{State, WebviewWindow};

use super::{ensure_window, page_sink, raw_response};
use crate::process::process_start::ProcessStart;

/// Runs any command of the core.
#[tauri::command]
pub(crate) async fn command(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    name: String,
    args: Value,
) -> Result<Response, UserError> {
    ensure_window(&window, WindowCommand::Command)?;
    desktop.command(&name, &args).await.map(raw_response)
}

/// Sends events from now on; `null` means that events were missed.
#[tauri::command]
pub(crate) async fn events(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    channel: Channel<Option<EventEnvelope>>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::Events)?;
    desktop.listen_to_events(page_sink(channel)).await;
    Ok(())
}

/// Sends the shell's signals to the page.
#[tauri::command]
pub(crate) fn main_signals(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    channel: Channel<MainPageSignal>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::MainSignals)?;
    desktop.listen_to_main_signals(page_sink(channel));
    Ok(())
}

/// Starts the core again if it could not be started.
#[tauri::command]
pub(crate) async fn start_again(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::StartAgain)?;
    desktop.start_again().await
}

/// Where secrets are stored, and whether the vault waits for its passphrase.
#[tauri::command]
pub(crate) async fn vault(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<VaultView, UserError> {
    ensure_window(&window, WindowCommand::Vault)?;
    desktop.vault().await
}

/// Unlocks the vault, and starts the core with it.
#[tauri::command]
pub(crate) async fn unlock_vault(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    passphrase: Secret,
) -> Result<PassphraseResult, UserError> {
    ensure_window(&window, WindowCommand::UnlockVault)?;
    desktop.unlock_vault(passphrase).await
}

/// Starts the core with secrets in memory for this run.
#[tauri::command]
pub(crate) async fn put_vault_aside(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::PutVaultAside)?;
    desktop.put_vault_aside().await
}

/// Creates a vault to replace the store in memory, and starts the core with it.
#[tauri::command]
pub(crate) async fn make_vault(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    passphrase: Secret,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::MakeVault)?;
    desktop.make_vault(passphrase).await
}

/// Changes the passphrase of the vault.
#[tauri::command]
pub(crate) async fn change_passphrase(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    old: Secret,
    new: Secret,
) -> Result<PassphraseResult, UserError> {
    ensure_window(&window, WindowCommand::ChangePassphrase)?;
    desktop.change_passphrase(old, new).await
}

#[tauri::command]
pub(crate) fn preferences(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<Preferences, UserError> {
    ensure_window(&window, WindowCommand::Preferences)?;
    desktop.preferences()
}

/// Stores the preferences and applies them to the prompt window and the tray.
#[tauri::command]
pub(crate) fn set_preferences(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    preferences: Preferences,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::SetPreferences)?;
    desktop.set_preferences(preferences)
}

/// What the user has begun in the page and not finished.
#[tauri::command]
pub(crate) fn page_state(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<BTreeMap<String, String>, UserError> {
    ensure_window(&window, WindowCommand::PageState)?;
    Ok(desktop.page_state())
}

/// Keeps something of that for the next page, or removes it.
#[tauri::command]
pub(crate) fn set_page_state(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    name: String,
    value: Option<String>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::SetPageState)?;
    desktop.set_page_state(name, value)
}

/// Where an update is in its course.
#[tauri::command]
pub(crate) fn update_status(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<UpdateStatus, UserError> {
    ensure_window(&window, WindowCommand::UpdateStatus)?;
    Ok(desktop.update_status())
}

/// Looks for an update.
#[tauri::command]
pub(crate) async fn check_update(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<UpdateStatus, UserError> {
    ensure_window(&window, WindowCommand::CheckUpdate)?;
    Ok(desktop.check_update().await)
}

/// Downloads and installs the update that was found.
#[tauri::command]
pub(crate) async fn install_update(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<UpdateStatus, UserError> {
    ensure_window(&window, WindowCommand::InstallUpdate)?;
    Ok(desktop.install_update().await)
}

/// Ends the search for an update, or its download.
#[tauri::command]
pub(crate) fn cancel_update(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::CancelUpdate)?;
    desktop.cancel_update();
    Ok(())
}

/// Whether the global shortcut that pauses everything works.
#[tauri::command]
pub(crate) fn has_pause_shortcut(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
) -> Result<Option<bool>, UserError> {
    ensure_window(&window, WindowCommand::HasPauseShortcut)?;
    Ok(desktop.has_pause_shortcut())
}

/// Whether Gatehouse starts at login.
#[tauri::command]
pub(crate) fn starts_at_login(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<bool, UserError> {
    ensure_window(&window, WindowCommand::StartsAtLogin)?;
    desktop.starts_at_login()
}

/// Makes Gatehouse start at login, or no longer; what the system says then.
#[tauri::command]
pub(crate) fn set_starts_at_login(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    starts: bool,
) -> Result<bool, UserError> {
    ensure_window(&window, WindowCommand::SetStartsAtLogin)?;
    desktop.set_starts_at_login(starts)
}

/// Opens an address in the browser.
#[tauri::command]
pub(crate) fn open_link(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    address: String,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::OpenLink)?;
    desktop.open_link(&address)
}

/// Lets the user choose a file.
#[tauri::command]
pub(crate) async fn pick_file(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    endings: Vec<String>,
) -> Result<Option<String>, UserError> {
    ensure_window(&window, WindowCommand::PickFile)?;
    desktop.pick_file(endings).await
}

/// The page shows useful content for the first time.
#[tauri::command]
pub(crate) fn painted(
    window: WebviewWindow,
    desktop: State<'_, Desktop>,
    process_start: State<'_, ProcessStart>,
) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::Painted)?;
    if desktop.mark_painted() {
        let ms = process_start.elapsed().as_secs_f64() * 1_000.0;
        tracing::info!(ms = ms.round(), "first useful paint");
    }
    Ok(())
}

/// Brings the prompt window to the front if there are pending approvals.
#[tauri::command]
pub(crate) fn show_prompt(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::ShowPrompt)?;
    desktop.show_prompt();
    Ok(())
}

/// Closes the main window; Gatehouse keeps running.
#[tauri::command]
pub(crate) fn close_main(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::CloseMain)?;
    desktop.close_main();
    Ok(())
}

/// Quits Gatehouse.
#[tauri::command]
pub(crate) fn quit(window: WebviewWindow, desktop: State<'_, Desktop>) -> Result<(), UserError> {
    ensure_window(&window, WindowCommand::Quit)?;
    desktop.quit();
    Ok(())
}
