//! The commands that a window may call. Each is thin: it checks which window asks, and passes on to
//! the core or to the shell. A new one has to be named in `build.rs` and in a capability file too.
#![allow(clippy::let_underscore_must_use, reason = "the toolkit's macro for async commands writes one")]

use gatehouse_app::Heard;
use gatehouse_model::command::{Status, StatusReport};
use gatehouse_model::{Envelope, ErrorCode, Problem};
use tauri::ipc::Channel;
use tauri::{AppHandle, State, WebviewWindow};

use crate::host::Host;
use crate::preferences::{self, Preferences};
use crate::{links, window};

/// What runs, what waits, what is wrong.
#[tauri::command]
pub(crate) async fn status(window: WebviewWindow, host: State<'_, Host>) -> Result<StatusReport, Problem> {
    only_main(&window)?;
    host.run(&Status {}).await
}

/// Starts the core once more if it could not be started.
#[tauri::command]
pub(crate) async fn start_again(window: WebviewWindow, host: State<'_, Host>) -> Result<(), Problem> {
    only_main(&window)?;
    host.start_again().await
}

/// Sends what happens from now on; `null` says that something was missed.
#[tauri::command]
pub(crate) async fn events(
    window: WebviewWindow,
    host: State<'_, Host>,
    channel: Channel<Option<Envelope>>,
) -> Result<(), Problem> {
    only_main(&window)?;
    host.listen(move |heard| {
        let message = match heard {
            Heard::Event(envelope) => Some(Envelope::clone(&envelope)),
            Heard::Missed => None,
        };
        channel.send(message).is_ok()
    })
    .await
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
