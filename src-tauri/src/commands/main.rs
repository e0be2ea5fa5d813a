//! Commands for the main window.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use gatehouse_model::command::Command;
use gatehouse_model::{ErrorCode, EventEnvelope, Secret, UserError};
use serde_json::Value;
use serde_json::value::to_raw_value;
use tauri::ipc::{Channel, Response};
use tauri::{AppHandle, State, WebviewWindow};

use super::{ensure_window, raw_response};
use crate::host::Host;
use crate::i18n::Locale;
use crate::main_page::{self, MainPage};
use crate::main_window::{self, MAIN};
use crate::preferences::{self, Preferences};
use crate::process_start::ProcessStart;
use crate::prompt::Prompt;
use crate::prompt::policy::PromptInput;
use crate::secrets::{PassphraseResult, VaultView};
use crate::tray::Tray;
use crate::{event_forwarder, links};

/// Runs any command of the core with the operator's authority, since a person operates the window.
#[tauri::command]
pub(crate) async fn command(
    window: WebviewWindow,
    host: State<'_, Host>,
    name: String,
    args: Value,
) -> Result<Response, UserError> {
    ensure_window(&window, MAIN)?;
    let command = parse_window_command(&name, &args)?;
    host.execute(command).await.map(raw_response)
}

/// The command with this name. A window is not a client: it may not call tools with a client's token.
fn parse_window_command(name: &str, args: &Value) -> Result<Command, UserError> {
    let args = to_raw_value(args).map_err(|error| {
        UserError::new(ErrorCode::BadRequest, "The arguments cannot be read.").with_cause(format!("{error}."))
    })?;
    match Command::parse(name, &args)? {
        Command::Call(_) => Err(UserError::new(ErrorCode::NotPermitted, "A window may not call tools.")),
        command => Ok(command),
    }
}

/// Sends events from now on; `null` means that events were missed. A `null` is sent first, because what
/// the page read before it subscribed may be outdated.
#[tauri::command]
pub(crate) async fn events(
    window: WebviewWindow,
    host: State<'_, Host>,
    page: State<'_, MainPage>,
    channel: Channel<Option<EventEnvelope>>,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    if let Err(problem) = host.wait_until_ready().await {
        tracing::debug!(%problem, "the page listens for the start");
    }
    page.listen_to_events(channel);
    page.send_event(None);
    Ok(())
}

/// Sends the shell's signals to the page.
#[tauri::command]
pub(crate) fn main_signals(
    window: WebviewWindow,
    page: State<'_, MainPage>,
    channel: Channel<main_page::MainPageSignal>,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    page.listen_to_signals(channel);
    Ok(())
}

/// Starts the core again if it could not be started.
#[tauri::command]
pub(crate) async fn start_again(
    app: AppHandle,
    window: WebviewWindow,
    host: State<'_, Host>,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    host.start_again(|outcome| event_forwarder::on_core_start(&app, outcome)).await
}

/// Where secrets are kept, and whether the vault waits for its passphrase.
#[tauri::command]
pub(crate) async fn vault(window: WebviewWindow, host: State<'_, Host>) -> Result<VaultView, UserError> {
    ensure_window(&window, MAIN)?;
    host.vault().await
}

/// Unlocks the vault, and starts the core with it.
#[tauri::command]
pub(crate) async fn unlock_vault(
    app: AppHandle,
    window: WebviewWindow,
    host: State<'_, Host>,
    passphrase: Secret,
) -> Result<PassphraseResult, UserError> {
    ensure_window(&window, MAIN)?;
    host.unlock_vault(passphrase, |outcome| event_forwarder::on_core_start(&app, outcome)).await
}

/// Starts the core with secrets in memory for this run.
#[tauri::command]
pub(crate) async fn put_vault_aside(
    app: AppHandle,
    window: WebviewWindow,
    host: State<'_, Host>,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    host.put_vault_aside(|outcome| event_forwarder::on_core_start(&app, outcome)).await
}

/// Creates a vault to replace the store in memory, and starts the core with it.
#[tauri::command]
pub(crate) async fn make_vault(
    app: AppHandle,
    window: WebviewWindow,
    host: State<'_, Host>,
    passphrase: Secret,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    host.make_vault(passphrase, |outcome| event_forwarder::on_core_start(&app, outcome)).await
}

/// Changes the passphrase of the vault.
#[tauri::command]
pub(crate) async fn change_passphrase(
    window: WebviewWindow,
    host: State<'_, Host>,
    old: Secret,
    new: Secret,
) -> Result<PassphraseResult, UserError> {
    ensure_window(&window, MAIN)?;
    host.change_passphrase(old, new).await
}

#[tauri::command]
pub(crate) fn preferences(app: AppHandle, window: WebviewWindow) -> Result<Preferences, UserError> {
    ensure_window(&window, MAIN)?;
    preferences::load(&app)
}

/// Stores the preferences and applies them to the prompt window and the tray.
#[tauri::command]
pub(crate) fn set_preferences(
    app: AppHandle,
    window: WebviewWindow,
    prompt: State<'_, Prompt>,
    tray: State<'_, Tray>,
    preferences: Preferences,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    preferences::save(&app, preferences)?;
    prompt.apply_preferences(&app, &preferences);
    tray.set_locale(Locale::from_preference(preferences.language));
    Ok(())
}

/// Opens an address in the browser.
#[tauri::command]
pub(crate) fn open_link(window: WebviewWindow, address: String) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    links::open_link(&address)
}

/// The page shows useful content for the first time.
#[tauri::command]
pub(crate) fn painted(
    window: WebviewWindow,
    page: State<'_, MainPage>,
    process_start: State<'_, ProcessStart>,
) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    if page.mark_painted() {
        let ms = process_start.elapsed().as_secs_f64() * 1_000.0;
        tracing::info!(ms = ms.round(), "first useful paint");
    }
    Ok(())
}

/// Brings the prompt window to the front if there are pending approvals.
#[tauri::command]
pub(crate) fn show_prompt(window: WebviewWindow, prompt: State<'_, Prompt>) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    prompt.input(PromptInput::Raise);
    Ok(())
}

/// Hides the main window; Gatehouse keeps running.
#[tauri::command]
pub(crate) fn hide_main(app: AppHandle, window: WebviewWindow) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    main_window::hide(&app);
    Ok(())
}

/// Quits Gatehouse.
#[tauri::command]
pub(crate) fn quit(app: AppHandle, window: WebviewWindow) -> Result<(), UserError> {
    ensure_window(&window, MAIN)?;
    app.exit(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
}
