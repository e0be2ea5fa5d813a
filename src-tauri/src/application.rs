//! Builds the application and its windows, and ends it. The application exits only after the core has
//! stopped.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;

use gatehouse_desktop::{Desktop, DesktopOptions, KeychainUse};
use gatehouse_model::UserError;
use tauri::plugin::TauriPlugin;
use tauri::{App, AppHandle, Manager, RunEvent, Window, WindowEvent, Wry};

use crate::commands::{main as of_main, prompt as of_prompt};
use crate::platform::TauriPlatform;
use crate::process::data_folder;
use crate::process::process_start::ProcessStart;
use crate::shell::shortcut;
use crate::shell::tray::SystemTray;
use crate::windows::main_window::{self, MAIN};
use crate::windows::prompt_window::{PROMPT, TauriPromptWindow};

/// The application's identifier, the same as in the configuration.
const IDENTIFIER: &str = "app.gatehouse.desktop";

/// Why the application could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Toolkit(#[from] tauri::Error),
    #[error(transparent)]
    Gatehouse(#[from] UserError),
}

/// Runs the application until it is quit and the core has stopped.
pub(crate) fn run(process_start: ProcessStart) -> Result<(), StartError> {
    let app = tauri::Builder::default()
        .plugin(single_instance())
        .plugin(tauri_plugin_store::Builder::new().build())
        .manage(process_start)
        .invoke_handler(tauri::generate_handler![
            of_main::command,
            of_main::events,
            of_main::main_signals,
            of_main::start_again,
            of_main::vault,
            of_main::unlock_vault,
            of_main::put_vault_aside,
            of_main::make_vault,
            of_main::change_passphrase,
            of_main::preferences,
            of_main::set_preferences,
            of_main::open_link,
            of_main::painted,
            of_main::show_prompt,
            of_main::hide_main,
            of_main::quit,
            of_prompt::prompt_pending,
            of_prompt::prompt_answer,
            of_prompt::prompt_reveal,
            of_prompt::prompt_signals,
            of_prompt::prompt_preferences,
            of_prompt::prompt_put_away,
            of_prompt::prompt_fit,
            of_prompt::prompt_open_main,
            of_prompt::prompt_open_link,
        ])
        .on_window_event(window_event)
        .setup(|app| setup_app(app).map_err(Into::into))
        .build(tauri::generate_context!())?;
    app.run(|app, event| {
        if let RunEvent::ExitRequested { api, .. } = event
            && !app.state::<Desktop>().may_exit()
        {
            api.prevent_exit();
        }
    });
    Ok(())
}

/// A second start in the same session raises the window of the first and exits. It is registered before
/// everything else, so that the second process touches nothing.
fn single_instance() -> TauriPlugin<Wry> {
    let plugin = tauri_plugin_single_instance::Builder::new().callback(|app, _, _| main_window::raise(app));
    match data_folder::data_dir_override() {
        // If a data folder is named, the instance is that of this folder.
        Some(folder) => plugin.dbus_id(instance_name(IDENTIFIER, &folder)).build(),
        None => plugin.build(),
    }
}

/// Name of the instance for a data folder.
fn instance_name(identifier: &str, folder: &Path) -> String {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut hasher = DefaultHasher::new();
    whole.hash(&mut hasher);
    format!("{identifier}.Folder{:016x}", hasher.finish())
}

/// Closing a window does not quit the application.
fn window_event(window: &Window, event: &WindowEvent) {
    let WindowEvent::CloseRequested { api, .. } = event else { return };
    api.prevent_close();
    let app = window.app_handle();
    match window.label() {
        MAIN => app.state::<Desktop>().on_main_close_requested(),
        PROMPT => app.state::<Desktop>().on_prompt_close_requested(),
        _ => {}
    }
}

fn setup_app(app: &App) -> Result<(), StartError> {
    let data_dir = data_folder::data_dir(app.handle())?;
    // Before anything is written there. The core reports errors of the folder again.
    let log = gatehouse_app::prepare_folder(&data_dir).map_err(UserError::from);
    if let Err(error) = log.and_then(|folder| gatehouse_app::logging::start(&folder)) {
        eprintln!("Gatehouse writes no log: {error}");
    }
    let tray = SystemTray::default();
    let (desktop, start) = Desktop::new(DesktopOptions {
        data_dir,
        keychain: KeychainUse::IfAvailable,
        platform: Arc::new(TauriPlatform::new(app.handle().clone(), tray.clone())),
        prompt_window: Box::new(TauriPromptWindow::new(app.handle().clone())),
        runtime: tauri::async_runtime::handle().inner().clone(),
    })?;
    app.manage(desktop.clone());
    let handle = app.handle().clone();
    desktop.spawn(async move {
        wait_for_termination().await;
        handle.exit(0);
    });
    desktop.spawn(start_deferred(app.handle().clone(), desktop.clone(), tray));
    // Not a task of the desktop: quitting waits for it anyway, and must not cancel it.
    tauri::async_runtime::spawn(async move { desktop.start(start).await });
    Ok(main_window::open(app)?)
}

/// Start-up work that can wait until the main window has painted: the hidden prompt window, the tray and
/// the shortcut.
async fn start_deferred(app: AppHandle, desktop: Desktop, tray: SystemTray) {
    desktop.wait_for_first_paint().await;
    desktop.preload_prompt();
    tray.install(&app);
    desktop.draw_tray();
    shortcut::listen(&app);
}

/// Waits for a signal to terminate.
async fn wait_for_termination() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::error!(%error, "Ctrl+C cannot be received");
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instance_name_depends_on_folder() {
        let name = |folder| instance_name(IDENTIFIER, Path::new(folder));
        assert_eq!(name("/home/ana/a"), name("/home/ana/a"));
        assert_ne!(name("/home/ana/a"), name("/home/ana/b"));
        assert!(name("/home/ana/a").chars().all(|c| c.is_ascii_alphanumeric() || c == '.'));
        let config: serde_json::Value = serde_json::from_str(include_str!("../tauri.conf.json")).unwrap();
        assert_eq!(config["identifier"], IDENTIFIER);
    }
}
