//! Builds the application and its windows, and ends it. The application exits only after the core has
//! stopped.

use std::sync::Arc;

use gatehouse_desktop::{Desktop, DesktopOptions, KeychainUse, server_link_in};
use gatehouse_model::UserError;
use tauri::plugin::TauriPlugin;
use tauri::{App, AppHandle, DragDropEvent, Manager, RunEvent, Window, WindowEvent, Wry};
use tauri_plugin_autostart::MacosLauncher;

use crate::commands::{main as of_main, prompt as of_prompt};
use crate::platform::TauriPlatform;
use crate::process::data_folder;
use crate::process::process_start::ProcessStart;
use crate::process::single_instance::instance_id;
use crate::process::start_mode::{HIDDEN, StartMode};
use crate::shell::notifications::SystemNotifications;
use crate::shell::shortcut;
use crate::shell::tray::SystemTray;
use crate::windows;
use crate::windows::main_window::{self, MAIN, MainWindowState};
use crate::windows::prompt_window::{PROMPT, TauriPromptWindow};

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
        .plugin(tauri_plugin_autostart::init(MacosLauncher::LaunchAgent, Some(vec![HIDDEN])))
        .manage(process_start)
        .manage(MainWindowState::default())
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
            of_main::page_state,
            of_main::set_page_state,
            of_main::has_pause_shortcut,
            of_main::starts_at_login,
            of_main::set_starts_at_login,
            of_main::update_status,
            of_main::check_update,
            of_main::install_update,
            of_main::cancel_update,
            of_main::open_link,
            of_main::pick_file,
            of_main::painted,
            of_main::show_prompt,
            of_main::close_main,
            of_main::quit,
            of_prompt::prompt_pending,
            of_prompt::prompt_answer,
            of_prompt::prompt_reveal,
            of_prompt::prompt_trust_labels,
            of_prompt::prompt_generate,
            of_prompt::prompt_stop_generating,
            of_prompt::prompt_opinion,
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
        match event {
            // Without a code, the last window was closed, after which Gatehouse keeps running.
            RunEvent::ExitRequested { api, code: None, .. } => api.prevent_exit(),
            RunEvent::ExitRequested { api, code: Some(_), .. } => {
                main_window::save_placement(app);
                if !app.state::<Desktop>().may_exit() {
                    api.prevent_exit();
                }
            }
            #[cfg(target_os = "macos")]
            RunEvent::Reopen { .. } => main_window::raise(app),
            // Elsewhere a link is an argument of a start.
            #[cfg(target_os = "macos")]
            RunEvent::Opened { urls } => {
                main_window::raise(app);
                offer_server_link(app, urls.into_iter().map(String::from));
            }
            _ => {}
        }
    });
    Ok(())
}

/// A second start in the same session raises the window of the first, unless it is one in the background, and exits. A link
/// among its arguments is handed over. It is registered before everything else, so that the second process touches nothing;
/// on Linux, it has ended before that already.
fn single_instance() -> TauriPlugin<Wry> {
    let plugin = tauri_plugin_single_instance::Builder::new().callback(|app, args, _| {
        offer_server_link(app, args.iter().skip(1).cloned());
        match StartMode::from_args(args) {
            StartMode::Window => main_window::raise(app),
            StartMode::Hidden => {}
        }
    });
    plugin.dbus_id(instance_id()).build()
}

/// Shows the first link among these arguments in the main window, if there is one; if the window is closed, when it is open.
fn offer_server_link(app: &AppHandle, arguments: impl IntoIterator<Item = String>) {
    if let (Some(link), Some(desktop)) = (server_link_in(arguments), app.try_state::<Desktop>()) {
        desktop.offer_server_link(&link);
    }
}

/// Closing a window does not quit the application.
fn window_event(window: &Window, event: &WindowEvent) {
    let app = window.app_handle();
    match event {
        WindowEvent::CloseRequested { api, .. } => {
            api.prevent_close();
            match window.label() {
                MAIN => app.state::<Desktop>().on_main_close_requested(),
                PROMPT => app.state::<Desktop>().on_prompt_close_requested(),
                _ => {}
            }
        }
        WindowEvent::DragDrop(DragDropEvent::Drop { paths, .. }) if window.label() == MAIN => {
            app.state::<Desktop>().offer_bundle_file(paths);
        }
        WindowEvent::Destroyed => windows::on_destroyed(app, window),
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
    let (notifications, notification_task) = SystemNotifications::new();
    let (desktop, start) = Desktop::new(DesktopOptions {
        data_dir,
        keychain: KeychainUse::IfAvailable,
        platform: Arc::new(TauriPlatform::new(app.handle().clone(), tray.clone(), notifications)),
        prompt_window: Box::new(TauriPromptWindow::new(app.handle().clone())),
        runtime: tauri::async_runtime::handle().inner().clone(),
    })?;
    app.manage(desktop.clone());
    let arguments = std::env::args_os().skip(1).filter_map(|argument| argument.into_string().ok());
    offer_server_link(app.handle(), arguments);
    let handle = app.handle().clone();
    desktop.spawn(async move {
        wait_for_termination().await;
        handle.exit(0);
    });
    desktop.spawn(notification_task.run(app.handle().clone()));
    let mode = StartMode::of_process();
    desktop.spawn(start_deferred(app.handle().clone(), desktop.clone(), tray, mode));
    // The window first: its processes take longer to start than the core, which would only slow them down.
    if mode == StartMode::Window {
        main_window::open(app.handle())?;
    }
    // Not a task of the desktop: quitting waits for it anyway, and must not cancel it.
    tauri::async_runtime::spawn(async move { desktop.start(start).await });
    Ok(())
}

/// Start-up work that can wait until the main window, if there is one, has painted: the tray and the shortcut.
async fn start_deferred(app: AppHandle, desktop: Desktop, tray: SystemTray, mode: StartMode) {
    if mode == StartMode::Window {
        desktop.wait_for_first_paint().await;
    }
    tray.install(&app);
    desktop.draw_tray();
    desktop.set_has_pause_shortcut(shortcut::listen(&app));
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
    fn main_window_takes_dropped_files() {
        let config: serde_json::Value = serde_json::from_str(include_str!("../tauri.conf.json")).unwrap();
        assert_eq!(config["app"]["windows"][0]["label"], MAIN);
        assert_eq!(config["app"]["windows"][0]["dragDropEnabled"], true);
    }
}
