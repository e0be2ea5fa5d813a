//! The commands that a window may call. Each is thin: it checks which window asks, and passes on to
//! the core or to the shell. A new one has to be named in `build.rs` and in a capability file too.

use gatehouse_model::command::StatusReport;
use gatehouse_model::{ErrorCode, Problem};
use tauri::{AppHandle, WebviewWindow};

use crate::preferences::{self, Preferences};
use crate::{links, window};

/// What runs, what waits, what is wrong.
#[tauri::command]
pub(crate) async fn status(window: WebviewWindow) -> Result<StatusReport, Problem> {
    only_main(&window)?;
    Err(Problem::new(ErrorCode::NotRunning, "The core does not run."))
}

/// How the user likes the window to look.
#[tauri::command]
pub(crate) fn preferences(app: AppHandle, window: WebviewWindow) -> Result<Preferences, Problem> {
    only_main(&window)?;
    preferences::load(&app)
}

/// Keeps how the user likes the window to look.
#[tauri::command]
pub(crate) fn set_preferences(
    app: AppHandle,
    window: WebviewWindow,
    preferences: Preferences,
) -> Result<(), Problem> {
    only_main(&window)?;
    preferences::save(&app, preferences)
}

/// Opens an address in the browser.
#[tauri::command]
pub(crate) fn open_link(window: WebviewWindow, address: String) -> Result<(), Problem> {
    only_main(&window)?;
    links::open_link(&address)
}

/// The capability files say so already; this holds even if one of them is wrong.
fn only_main(window: &WebviewWindow) -> Result<(), Problem> {
    if window.label() == window::MAIN {
        return Ok(());
    }
    Err(Problem::new(ErrorCode::NotPermitted, "This window may not do that."))
}
