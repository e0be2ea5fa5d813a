//! The main window: creating, raising and hiding it.

use tauri::webview::WebviewWindowBuilder;
use tauri::{App, AppHandle, Manager};

use gatehouse_desktop::WindowKind;

use super::navigation::is_own_page;

pub(crate) const MAIN: &str = WindowKind::Main.label();

/// Creates the window from the configuration.
pub(crate) fn open(app: &App) -> tauri::Result<()> {
    let config = app.config().app.windows.iter().find(|window| window.label == MAIN);
    let config = config.ok_or(tauri::Error::WindowNotFound)?.clone();
    WebviewWindowBuilder::from_config(app.handle(), &config)?
        .devtools(cfg!(debug_assertions))
        .on_navigation(is_own_page)
        .build()?;
    Ok(())
}

/// Brings the window to the front, also if it is minimised or hidden.
pub(crate) fn raise(app: &AppHandle) {
    with_window(app, "raise", |window| {
        window.unminimize()?;
        window.show()?;
        window.set_focus()
    });
}

/// Hides the window; everything else keeps running.
pub(crate) fn hide(app: &AppHandle) {
    with_window(app, "hide", tauri::WebviewWindow::hide);
}

fn with_window(app: &AppHandle, what: &str, how: impl FnOnce(&tauri::WebviewWindow) -> tauri::Result<()>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    if let Err(error) = how(&window) {
        tracing::warn!(%error, what, "the main window could not be changed");
    }
}
